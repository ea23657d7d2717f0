"""Arm and drives as one system: the lumped model, the water and the pistons together.

It steps nothing by turns, and is the check of what does (``coupled_stepper.py``). Along with the
states it integrates what motors and load have supplied and what friction, tubes and surroundings
have taken, so that a run can be judged by its energy.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.integrate import solve_ivp

from softgrasp.description.hydraulic_arm import HydraulicArm
from softgrasp.description.hydraulic_drive import TipLoad
from softgrasp.errors import DescriptionError, DivergedError
from softgrasp.mechanics.hydraulic.arm_motion import arm_motion
from softgrasp.mechanics.hydraulic.drive_model import DriveModel, drive_model
from softgrasp.mechanics.hydraulic.lumped_model import LumpedModel, checked_states, lumped_model
from softgrasp.mechanics.hydraulic.motion import (
    SAMPLE,
    ArmRecording,
    Inputs,
    Method,
    inputs_of,
    refuse_no_time,
)
from softgrasp.mechanics.transforms import Array

PRESSURE = 1e6
"""Pressures count in this unit for the tolerance [Pa]."""


@dataclass(frozen=True)
class DrivenRecording(ArmRecording):
    """The lumped model and its drives in time.

    Args:
        times: [s], (t,).
        ends: Ends of the sections in the frame of the base [m], (t, sections, 3).
        strains: (u, v, l, τ) of the segments, (t, n, 4).
        rates: Of the strains, (t, n, 4).
        drives: Speeds of the pistons [m/s], pressures of chambers and of cylinders [Pa], (t, k, 3).
        supplied: Work of the motors and of the load at the tip since the start [J], (t,).
        lost: To friction of pistons, tubes, material and surroundings since the start [J], (t,).
        stored: In pistons, water and arm, more than at the start [J], (t,).
    """

    drives: Array
    supplied: Array
    lost: Array
    stored: Array

    @property
    def pressures(self) -> Array:
        """In the chambers [Pa], (t, k)."""
        return np.asarray(self.drives[:, :, 1])

    @property
    def gap(self) -> Array:
        """Supplied less lost and stored [J], (t,); 0 but for the error of the integration."""
        return np.asarray(self.supplied - self.lost - self.stored)


@dataclass(frozen=True)
class _Together:
    """The equations of an arm and its drives; a state is flat, its last two numbers are works."""

    arm: LumpedModel
    fluid: DriveModel
    torques: Inputs

    def split(self, flat: Array) -> tuple[Array, Array, Array]:
        """Strains (n, 4), rates (n, 4) and states of the drives (k, 3)."""
        size = 4 * self.arm.segments
        moving = flat[: 2 * size].reshape(2, -1, 4)
        return moving[0], moving[1], flat[2 * size : -2].reshape(-1, 3)

    def slope(self, time: float, flat: Array) -> Array:
        strains, rates, drives = self.split(flat)
        torques = np.asarray(self.torques(time), dtype=float)
        swept = np.einsum("nxk,nx->k", self.arm.chambers, rates)
        gains = self.arm.accelerations(strains, rates, drives[:, 1])
        power = self.fluid.power(drives, torques, swept)
        load, taken = _arm_powers(self.arm, strains, rates)
        works = [power.supplied.sum() + load, power.lost.sum() + taken]
        parts = [rates, gains, self.fluid.rates(drives, torques, swept), np.array(works)]
        return np.concatenate([part.ravel() for part in parts])

    def energy(self, flat: Array) -> float:
        """In pistons, water and arm, its weight among it [J]."""
        strains, rates, drives = self.split(flat)
        bare = self.arm.arm.replace(tip_load=TipLoad())
        arm = lumped_model(bare).energy(strains, rates, np.zeros(self.fluid.channels))
        return arm + float(self.fluid.energy(drives).sum())


def move_driven_arm(
    arm: HydraulicArm,
    torques: Inputs | ArrayLike,
    duration: float,
    *,
    strains: ArrayLike | None = None,
    rates: ArrayLike | None = None,
    sample: float = SAMPLE,
    method: Method = "LSODA",
    tolerance: float = 1e-7,
) -> DrivenRecording:
    """The motion of the lumped model and its drives, which act on each other.

    Args:
        arm: The arm; without dry friction of the pistons, which has no smooth equation.
        torques: Of the motors [N·m]: (k,), or a function of time such as a TorqueTable.
        duration: [s]
        strains: To start from, (n, 4); straight where not given.
        rates: To start with, (n, 4); at rest where not given.
        sample: Time between two rows of the recording, and longest step [s].
        method: Of the integration; the water is stiff, LSODA and Radau bear it.
        tolerance: Relative; absolute for SI units, and for pressures in MPa.

    Raises:
        DescriptionError: A time is not positive, a torque more than a motor has, pistons have dry
            friction, or strains or rates do not fit.
        DivergedError: The integration came to no end.
    """
    refuse_no_time(duration, "duration")
    refuse_no_time(sample, "sample")
    _refuse_friction(arm)
    model, fluid = lumped_model(arm), drive_model(arm, "state")
    times = np.linspace(0.0, duration, max(round(duration / sample), 1) + 1)
    torques_at = inputs_of(torques)
    for time in times.tolist():
        fluid.screw_forces(torques_at(time))
    begin = [
        model.straight if strains is None else checked_states(model, strains, "strains"),
        np.zeros((model.segments, 4)) if rates is None else checked_states(model, rates, "rates"),
        np.zeros(3 * fluid.channels + 2),
    ]
    together = _Together(model, fluid, torques_at)
    scale = np.ones(8 * model.segments + 3 * fluid.channels + 2)
    scale[8 * model.segments : -2].reshape(-1, 3)[:, 1:] = PRESSURE
    done = solve_ivp(
        together.slope,
        (0.0, duration),
        np.concatenate([part.ravel() for part in begin]),
        method=method,
        t_eval=times,
        rtol=tolerance,
        atol=tolerance * scale,
        max_step=sample,
    )
    if not done.success:
        raise DivergedError(f"{arm.name}: expected a motion of {duration:g} s: {done.message}")
    return _recording(together, times, done.y.T)


def _recording(together: _Together, times: Array, states: Array) -> DrivenRecording:
    strains, rates, drives = (
        np.stack(part) for part in zip(*map(together.split, states), strict=True)
    )
    energies = np.array([together.energy(state) for state in states])
    return DrivenRecording(
        times=times,
        ends=np.stack([together.arm.section_ends(at) for at in strains]),
        strains=strains,
        rates=rates,
        drives=drives,
        supplied=states[:, -2],
        lost=states[:, -1],
        stored=energies - energies[0],
    )


def _arm_powers(model: LumpedModel, strains: Array, rates: Array) -> tuple[float, float]:
    """Of the load at the tip, and lost in the material and to the surroundings [W]."""
    motion, load = arm_motion(strains, rates), model.arm.tip_load
    rotation = motion.frames[-1, :3, :3]
    spin = rotation @ motion.local_spin[-1]
    held = rotation if load.frame == "tip" else np.eye(3)
    power_in = (held @ load.force) @ motion.velocity[-1] + (held @ load.moment) @ spin
    squares = [(part**2).sum(axis=1) for part in (motion.velocity, motion.local_spin)]
    around = (model.drag * np.stack(squares, axis=1)).sum()
    return float(power_in), float(around + (model.damping * rates**2).sum())


def _refuse_friction(arm: HydraulicArm) -> None:
    friction = arm.drive.piston.friction
    if friction:
        raise DescriptionError(
            f"expected pistons without dry friction, which has no smooth equation, found "
            f"{friction:g} N; drive_arm takes it",
            field="drive.piston.friction",
        )
