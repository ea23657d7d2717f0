"""Chain of cells and drives that act on each other, by turns in every step.

In a step the chambers of the arm are what ``CoupledStepper`` makes of the drives: pressures that
fall with the volume that the arm opens. MuJoCo takes that fall as a damper of the chamber's tendon,
with the velocities at the end of the step (``implicitfast``), so that the step is stable whatever
its length is against the water's; then the drives take the volume that the arm has opened.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import mujoco
import numpy as np

from softgrasp.description.hydraulic_arm import HydraulicArm
from softgrasp.errors import DescriptionError, SoftgraspWarning
from softgrasp.mechanics.hydraulic.coupled_stepper import CoupledStepper
from softgrasp.mechanics.hydraulic.drive_model import drive_model, pressure_of_torque
from softgrasp.mechanics.hydraulic.lumped_model import checked_pressures
from softgrasp.mechanics.hydraulic.motion import SAMPLE, Inputs, PressureRecording
from softgrasp.mechanics.transforms import Array
from softgrasp.simulation.hydraulic_arm import ArmChain, ChainRecording

CAVITATES = -9.9e4
"""Pressure over that of the air at which water at 20 °C boils [Pa]."""
VELOCITY = 2
"""Place of the velocity's factor among the numbers of an actuator's bias."""


def move_with_drive(
    chain: ArmChain,
    torques: Inputs,
    duration: float,
    *,
    timestep: float | None = None,
    sample: float = SAMPLE,
) -> tuple[ChainRecording, PressureRecording]:
    """The motion of a chain from its straight state at rest, and the pressures in its chambers.

    Args:
        chain: The arm.
        torques: Of the motors, one a chamber [N·m]; taken in the middle of each step.
        duration: [s]
        timestep: [s]; a safe one where not given.
        sample: Time between two rows of the recordings [s].

    Raises:
        DescriptionError: A time is not positive, a torque more than its motor has, its pressure at
            rest beyond the limits of the chamber, or the chain has lags of its own.
        DivergedError: The motion diverges.

    Warns:
        SoftgraspWarning: The flow in the tubes is beyond the law that it follows, or water would
            boil.
    """
    if chain.model.na:
        raise DescriptionError(
            f"{chain.arm.name}: expected a chain without lags, whose drives are simulated, found "
            "one with lags",
            field="lagged",
        )
    substeps = chain.substeps(duration, timestep, sample)
    rows = round(duration / sample)
    for time in (sample * np.arange(rows + 1)).tolist():
        checked_pressures(chain.arm, pressure_of_torque(chain.arm.drive, torques(time)))
    coupling = _Coupling(chain.model, chain.arm, torques, sample / substeps)
    with _free_chambers(chain.model):
        found = chain.steps(
            rows,
            substeps,
            sample,
            press=coupling.press,
            look=coupling.look,
            after=coupling.advance,
        )
        coupling.look(chain.data)
    states = np.stack(coupling.rows)
    largest = coupling.drives.largest_reynolds
    return found, PressureRecording(found.times, states[:, :, 1], states[:, :, 2], largest)


class _Coupling:
    """The drives at the chambers of a chain, which are the tendons of its model.

    Args:
        model: Of the chain.
        arm: The arm.
        torques: Of the motors.
        timestep: [s]
    """

    def __init__(
        self, model: mujoco.MjModel, arm: HydraulicArm, torques: Inputs, timestep: float
    ) -> None:
        self.drives = CoupledStepper(drive_model(arm, "state"), timestep)
        self.rows: list[Array] = []
        self._model, self._arm, self._torques = model, arm, torques
        self._areas = np.array([chamber.area for chamber in arm.chambers])
        self._volumes = self._areas[:, None] * tendon_jacobian(model)
        self._warned = False

    def press(self, data: mujoco.MjData) -> None:
        """Give the step its pressures and how they fall."""
        middle = float(data.time) + 0.5 * self.drives.timestep
        pressures, falls = self.drives.press(self._torques(middle))
        data.ctrl[:] = pressures
        self._model.actuator_biasprm[:, VELOCITY] = -falls * self._areas**2

    def advance(self, data: mujoco.MjData) -> None:
        """Let the drives follow the step of the arm."""
        self.drives.advance(self._volumes @ data.qvel)
        self._watch()

    def look(self, _: mujoco.MjData) -> None:
        """Keep the states of the drives."""
        self.rows.append(self.drives.states.copy())

    def _watch(self) -> None:
        lowest = int(np.argmin(self.drives.states[:, 1]))
        pressure = float(self.drives.states[lowest, 1])
        if pressure < CAVITATES and not self._warned:
            self._warned = True
            warnings.warn(
                f"{self._arm.name}: chamber {lowest + 1}: expected pressures above {CAVITATES:g} "
                f"Pa, where water boils, found {pressure:.0f} Pa at {self.drives.time:.3g} s; a "
                "real chamber would not be drawn along like that",
                SoftgraspWarning,
                stacklevel=5,
            )


@contextmanager
def _free_chambers(model: mujoco.MjModel) -> Iterator[None]:
    """Chambers whose pressure may fall with the volume, and without limits of their controls.

    The pressure that a chamber would have if it stood still is no pressure that it has to stand.
    """
    flags, kinds = int(model.opt.disableflags), model.actuator_biastype.copy()
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CLAMPCTRL
    model.actuator_biastype[:] = mujoco.mjtBias.mjBIAS_AFFINE
    try:
        yield
    finally:
        model.opt.disableflags = flags
        model.actuator_biastype[:] = kinds
        model.actuator_biasprm[:, VELOCITY] = 0.0


def tendon_jacobian(model: mujoco.MjModel) -> Array:
    """Lengths of fixed tendons over the joints, which stays, (ntendon, nv)."""
    found = np.zeros((model.ntendon, model.nv))
    for tendon, (first, count) in enumerate(zip(model.tendon_adr, model.tendon_num, strict=True)):
        part = slice(int(first), int(first + count))
        found[tendon, model.jnt_dofadr[model.wrap_objid[part]]] = model.wrap_prm[part]
    return found
