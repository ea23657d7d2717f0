"""Motion of the lumped model of a hydraulic arm: under pressures, and with its drives.

``move_driven_arm`` integrates arm, water and pistons as one system with ``solve_ivp``; it checks
the coupled stepping and integrates the energy supplied, stored and lost along with the states.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike
from scipy.integrate import solve_ivp

from examples.paper003.drive_power import drive_energy, drive_power, drive_rates
from examples.paper003.segment_model import LumpedModel, arm_motion, checked_states, lumped_model
from softgrasp.description import TipLoad
from softgrasp.errors import DescriptionError, DivergedError, did_you_mean
from softgrasp.hydraulics.description import HydraulicArm
from softgrasp.hydraulics.drive import DriveModel, check_pressures, drive_model
from softgrasp.hydraulics.integrators import SAMPLE, Inputs, TipRecording, inputs_of, refuse_no_time
from softgrasp.hydraulics.run import ArmShapes
from softgrasp.mechanics import Array

Method = Literal["RK23", "RK45", "DOP853", "Radau", "BDF", "LSODA"]
"""Method of ``scipy.integrate.solve_ivp``."""
PIECES = 24
"""Pieces of a section along which the arcs of the lumped model are drawn."""
PRESSURE = 1e6
"""Pressures count in this unit for the tolerance [Pa]."""


@dataclass(frozen=True)
class ArmRecording(TipRecording):
    """Recorded motion of the lumped model.

    Args:
        times: [s], (t,).
        ends: Ends of the sections in the frame of the base [m], (t, sections, 3).
        strains: (u, v, l, τ) of the segments, (t, n, 4).
        rates: Rates of the strains, (t, n, 4).
    """

    strains: Array
    rates: Array


def move_arm(
    arm: HydraulicArm,
    pressures: Inputs | ArrayLike,
    duration: float,
    *,
    strains: ArrayLike | None = None,
    rates: ArrayLike | None = None,
    sample: float = SAMPLE,
    method: Method = "LSODA",
    tolerance: float = 1e-7,
) -> ArmRecording:
    """Simulate the lumped model under chamber pressures.

    Args:
        arm: The arm.
        pressures: Pressures of all chambers [Pa]: (k,), or a function of time such as a
            PressureRecording.
        duration: [s]
        strains: To start from, (n, 4); straight where not given.
        rates: To start with, (n, 4); at rest where not given.
        sample: Time between two rows of the recording [s].
        method: Integration method of scipy; LSODA, Radau and BDF suit stiff arms; explicit
                methods (RK23, RK45, DOP853) need a very long time for them.
        tolerance: Relative and absolute.

    Raises:
        DescriptionError: A time is not positive, a pressure beyond the limits of its chamber,
            strains or rates do not fit, or there is no such method.
        DivergedError: The integration came to no end.
    """
    times = _row_times(duration, sample, method)
    model, input_at = lumped_model(arm), inputs_of(pressures)
    for time in times:
        check_pressures(arm, input_at(float(time)))

    def slope(time: float, flat: Array) -> Array:
        at, moving = flat.reshape(2, -1, 4)
        accelerations = model.accelerations(at, moving, check_pressures(arm, input_at(time)))
        return np.concatenate([moving.ravel(), accelerations.ravel()])

    start = _start_state(model, strains, rates)
    flat = _integrated(arm, slope, start, times, method, rtol=tolerance, atol=tolerance)
    states = flat.reshape(len(times), 2, -1, 4)
    ends = np.stack([model.section_ends(at) for at in states[:, 0]])
    return ArmRecording(times=times, ends=ends, strains=states[:, 0], rates=states[:, 1])


def _row_times(duration: float, sample: float, method: str) -> Array:
    """Return the times of recorded samples [s], after a check of times and method."""
    refuse_no_time(duration=duration, sample=sample)
    if method not in get_args(Method):
        message = f"no method '{method}'; {did_you_mean(method, get_args(Method))}"
        raise DescriptionError(message, field="method")
    return np.linspace(0.0, duration, max(round(duration / sample), 1) + 1)


def _start_state(model: LumpedModel, strains: ArrayLike | None, rates: ArrayLike | None) -> Array:
    """Return strains and their rates at the start, (8n,); straight and at rest by default."""
    begin = [
        model.straight if strains is None else checked_states(model, strains, "strains"),
        np.zeros((model.segments, 4)) if rates is None else checked_states(model, rates, "rates"),
    ]
    return np.concatenate([part.ravel() for part in begin])


def _integrated(
    arm: HydraulicArm,
    slope: Callable[[float, Array], Array],
    start: Array,
    times: Array,
    method: Method,
    **options: Any,
) -> Array:
    """Integrate from a state and return the states at all times, (t, n).

    Raises:
        DivergedError: The integration came to no end.
    """
    span = (0.0, float(times[-1]))
    done = solve_ivp(slope, span, start, method=method, t_eval=times, **options)
    if not done.success:
        raise DivergedError(f"{arm.name}: expected a motion of {span[1]:g} s: {done.message}")
    return np.asarray(done.y.T)


@dataclass(frozen=True)
class DrivenRecording(ArmRecording):
    """Recorded motion of the lumped model with its hydraulic drives.

    Args:
        times: [s], (t,).
        ends: Ends of the sections in the frame of the base [m], (t, sections, 3).
        strains: (u, v, l, τ) of the segments, (t, n, 4).
        rates: Rates of the strains, (t, n, 4).
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
        """Chamber pressures [Pa], (t, k)."""
        return np.asarray(self.drives[:, :, 1])

    @property
    def gap(self) -> Array:
        """Return supplied minus lost and stored energy [J], (t,); 0 for exact integration."""
        return np.asarray(self.supplied - self.lost - self.stored)


@dataclass(frozen=True)
class _Together:
    """Coupled equations of an arm and its drives; the state ends with two energies."""

    arm: LumpedModel
    fluid: DriveModel
    torques: Inputs

    def split(self, flat: Array) -> tuple[Array, Array, Array]:
        """Split a state: strains (n, 4), rates (n, 4) and drive states (k, 3)."""
        size = 4 * self.arm.segments
        moving = flat[: 2 * size].reshape(2, -1, 4)
        return moving[0], moving[1], flat[2 * size : -2].reshape(-1, 3)

    def slope(self, time: float, flat: Array) -> Array:
        strains, rates, drives = self.split(flat)
        torques = np.asarray(self.torques(time), dtype=float)
        swept = np.einsum("nxk,nx->k", self.arm.chambers, rates)
        gains = self.arm.accelerations(strains, rates, drives[:, 1])
        power = drive_power(self.fluid, drives, torques, swept)
        load, taken = _arm_powers(self.arm, strains, rates)
        works = [power.supplied.sum() + load, power.lost.sum() + taken]
        parts = [rates, gains, drive_rates(self.fluid, drives, torques, swept), np.array(works)]
        return np.concatenate([part.ravel() for part in parts])

    def energy(self, flat: Array) -> float:
        """Energy of pistons, water and arm, gravity included [J]."""
        strains, rates, drives = self.split(flat)
        bare = self.arm.arm.replace(tip_load=TipLoad())
        arm = lumped_model(bare).energy(strains, rates, np.zeros(self.fluid.channels))
        return arm + float(drive_energy(self.fluid, drives).sum())


def _arm_powers(model: LumpedModel, strains: Array, rates: Array) -> tuple[float, float]:
    """Compute power of the tip load, and power lost to material and surroundings [W]."""
    motion, load = arm_motion(strains, rates), model.arm.tip_load
    rotation = motion.frames[-1, :3, :3]
    spin = rotation @ motion.local_spin[-1]
    held = rotation if load.frame == "tip" else np.eye(3)
    power_in = (held @ load.force) @ motion.velocity[-1] + (held @ load.moment) @ spin
    squares = [(part**2).sum(axis=1) for part in (motion.velocity, motion.local_spin)]
    around = (model.drag * np.stack(squares, axis=1)).sum()
    return float(power_in), float(around + (model.damping * rates**2).sum())


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
    """Simulate the lumped model and its drives as one coupled system.

    Args:
        arm: The arm; without dry friction of the pistons, which has no smooth equation.
        torques: Motor torques [N·m]: (k,), or a function of time such as a TorqueTable.
        duration: [s]
        strains: To start from, (n, 4); straight where not given.
        rates: To start with, (n, 4); at rest where not given.
        sample: Time between two rows of the recording, and longest step [s].
        method: Integration method of scipy; the equations are stiff: LSODA or Radau.
        tolerance: Relative; absolute for SI units, and for pressures in MPa.

    Raises:
        DescriptionError: A time is not positive, a torque more than a motor has, pistons have dry
            friction, or strains or rates do not fit.
        DivergedError: The integration came to no end.
    """
    times = _row_times(duration, sample, method)
    _refuse_friction(arm)
    model, fluid = lumped_model(arm), drive_model(arm, "state")
    torques_at = inputs_of(torques)
    for time in times.tolist():
        fluid.screw_forces(torques_at(time))
    together = _Together(model, fluid, torques_at)
    scale = np.ones(8 * model.segments + 3 * fluid.channels + 2)
    scale[8 * model.segments : -2].reshape(-1, 3)[:, 1:] = PRESSURE
    start = np.append(_start_state(model, strains, rates), np.zeros(3 * fluid.channels + 2))
    states = _integrated(
        arm,
        together.slope,
        start,
        times,
        method,
        rtol=tolerance,
        atol=tolerance * scale,
        max_step=sample,
    )
    return _recording(together, times, states)


def _refuse_friction(arm: HydraulicArm) -> None:
    friction = arm.drive.piston.friction
    if friction:
        raise DescriptionError(
            f"expected pistons without dry friction, which has no smooth equation, found "
            f"{friction:g} N; run_arm includes it",
            field="drive.piston.friction",
        )


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


def lumped_shapes(arm: HydraulicArm, strains: Array) -> ArmShapes:
    """Compute the shapes of the lumped model at strains (u, v, l, τ) of its segments, (t, n, 4)."""
    pieces = max(PIECES // arm.segments, 1)
    positions = np.stack([_arc_points(row, pieces) for row in strains])
    split = strains.reshape(len(strains), len(arm.sections), arm.segments, 4)
    return ArmShapes(
        backbone=positions,
        ends=positions[:, arm.segments * pieces :: arm.segments * pieces],
        bends=split[..., :2].sum(axis=2),
        lengths=split[..., 2].sum(axis=2),
    )


def _arc_points(strains: Array, pieces: int) -> Array:
    """Return points along the arcs of one state, base first [m], (n · pieces + 1, 3)."""
    cut = np.repeat(strains, pieces, axis=0)
    cut[:, :3] /= pieces
    # a segment is twisted at its end (Chen et al. 2022, eq 3), so only its last piece is
    cut[np.arange(len(cut)) % pieces != pieces - 1, 3] = 0.0
    frames = arm_motion(cut, np.zeros_like(cut)).frames
    return np.concatenate([np.zeros((1, 3)), frames[:, :3, 3]])
