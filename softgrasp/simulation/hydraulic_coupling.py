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

from softgrasp.errors import DescriptionError, SoftgraspWarning
from softgrasp.mechanics.hydraulic.coupled_stepper import CoupledStepper
from softgrasp.mechanics.hydraulic.drive_model import drive_model, pressure_of_torque
from softgrasp.mechanics.hydraulic.lumped_model import checked_pressures
from softgrasp.mechanics.hydraulic.motion import SAMPLE, Inputs, PressureRecording
from softgrasp.mechanics.transforms import Array
from softgrasp.simulation.hydraulic_arm import ArmChain, ChainRecording

CAVITATES = -9.9e4
"""Pressure over that of the air at which water at 20 °C boils [Pa]."""
FORCE, VELOCITY = 0, 2
"""Places of the force and of the velocity's factor among the numbers of an actuator's bias."""


def move_driven_chain(
    chain: ArmChain,
    torques: Inputs,
    duration: float,
    *,
    timestep: float | None = None,
    sample: float = SAMPLE,
) -> tuple[ChainRecording, PressureRecording]:
    """The motion of a chain from its straight state at rest, and the pressures of all steps.

    Args:
        chain: The arm.
        torques: Of the motors, one a chamber [N·m]; taken in the middle of each step.
        duration: [s]
        timestep: [s]; a safe one where not given.
        sample: Time between two rows of the recording of the chain [s].

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
    coupling = _Coupling(chain, torques)
    with _free_chambers(chain.model):
        recording = chain.move(coupling, duration, timestep=timestep, sample=sample)
        coupling(float(chain.data.time))
    return recording, coupling.recording()


class _Coupling:
    """The drives at the chambers of a chain, which are the tendons of its model.

    It is called once or more with the time of every step, as pressures of ``ArmChain.move`` are.

    Args:
        chain: The arm.
        torques: Of the motors.
    """

    def __init__(self, chain: ArmChain, torques: Inputs) -> None:
        self._chain, self._torques = chain, torques
        limits = [(part.pressure_min, part.pressure_max) for part in chain.arm.chambers]
        self._low = np.array([low for low, _ in limits])
        self._high = np.array([np.inf if high is None else high for _, high in limits])
        self._areas = np.array([chamber.area for chamber in chain.arm.chambers])
        self._volumes = self._areas[:, None] * tendon_jacobian(chain.model)
        self._drives: CoupledStepper | None = None
        self._times: list[float] = []
        self._states: list[Array] = []
        self._controls = self._low
        self._warned = False

    def __call__(self, time: float) -> Array:
        """Bring the drives to a time, and set what the chambers do in the step that begins there.

        Returns:
            Pressures of the chambers within their limits [Pa], (k,).
        """
        if self._times and time == self._times[-1]:
            return self._controls
        if self._drives is None:
            timestep = self._chain.model.opt.timestep
            self._drives = CoupledStepper(drive_model(self._chain.arm, "state"), timestep)
        else:
            self._drives.advance(self._volumes @ self._chain.data.qvel)
        self._times.append(time)
        self._states.append(self._drives.states)
        self._watch(self._drives.pressures, time)
        self._press(self._drives, time)
        return self._controls

    def recording(self) -> PressureRecording:
        """The pressures of all steps."""
        states, drives = np.stack(self._states), self._drives
        largest = drives.largest_reynolds if drives else 0.0
        return PressureRecording(np.array(self._times), states[:, :, 1], states[:, :, 2], largest)

    def _press(self, drives: CoupledStepper, time: float) -> None:
        """Give the step its pressures and how they fall.

        The pressure that a chamber would have if it stood still is none that it has to stand: what
        is beyond the limits of a control, the bias of the actuator adds.
        """
        torques, arm = self._torques(time + 0.5 * drives.timestep), self._chain.arm
        pressures, falls = drives.press(torques)
        at_rest = pressure_of_torque(arm.drive, torques)
        if ((at_rest < self._low) | (at_rest > self._high)).any():
            checked_pressures(arm, at_rest)
        self._controls = np.clip(pressures, self._low, self._high)
        bias = self._chain.model.actuator_biasprm
        bias[:, FORCE] = self._areas * (pressures - self._controls)
        bias[:, VELOCITY] = -falls * self._areas**2

    def _watch(self, pressures: Array, time: float) -> None:
        lowest = int(np.argmin(pressures))
        if pressures[lowest] < CAVITATES and not self._warned:
            self._warned = True
            warnings.warn(
                f"{self._chain.arm.name}: chamber {lowest + 1}: expected pressures above "
                f"{CAVITATES:g} Pa, where water boils, found {pressures[lowest]:.0f} Pa at "
                f"{time:.3g} s; a real chamber would not be drawn along like that",
                SoftgraspWarning,
                stacklevel=5,
            )


@contextmanager
def _free_chambers(model: mujoco.MjModel) -> Iterator[None]:
    """Chambers whose pressure may fall with the volume."""
    kinds, numbers = model.actuator_biastype.copy(), model.actuator_biasprm.copy()
    model.actuator_biastype[:] = mujoco.mjtBias.mjBIAS_AFFINE
    try:
        yield
    finally:
        model.actuator_biastype[:], model.actuator_biasprm[:] = kinds, numbers


def tendon_jacobian(model: mujoco.MjModel) -> Array:
    """Lengths of fixed tendons over the joints, which stays, (ntendon, nv)."""
    jacobian = np.zeros((model.ntendon, model.nv))
    for tendon, (first, count) in enumerate(zip(model.tendon_adr, model.tendon_num, strict=True)):
        part = slice(int(first), int(first + count))
        jacobian[tendon, model.jnt_dofadr[model.wrap_objid[part]]] = model.wrap_prm[part]
    return jacobian
