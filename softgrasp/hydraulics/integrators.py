"""Time integration of hydraulic drives, alone and coupled to an arm, and recordings in time.

``DriveStepper`` is exact for torques that are constant during a step. ``CoupledStepper`` couples
the drives to a moving arm: the water is far stiffer than the arm, so a step of the drives is given
to the arm as a pressure that falls with the opened volume q,

    mean P_a = P₀ − Z q,

which is exact for a constant rate of q and the tube resistance of that step. An arm that takes Z as
an implicit damper finds its step, the drives take the q of that step, and both have exchanged the
same work, mean P_a · q · h. Z is positive, so the coupling of a constant resistance creates no
energy at any step; tests run 0.1 to 2 ms.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.interpolate import make_interp_spline

from softgrasp.errors import DescriptionError
from softgrasp.hydraulics.description import HydraulicArm
from softgrasp.hydraulics.drive import (
    Channel,
    DriveModel,
    FlowWatch,
    affine_moves,
    drive_model,
    poiseuille_resistance,
    slide_and_stick,
)
from softgrasp.mechanics import Array

SAME = 1e-12
"""Torques that differ by less are the same [N·m]."""


@dataclass(frozen=True)
class TipRecording:
    """Positions of section ends over time, simulated or measured.

    Args:
        times: Increasing times [s], (t,).
        ends: In the frame of the base [m], (t, sections, 3).

    Raises:
        DescriptionError: The times do not rise, a number is not finite, or there are not as many
            times as ends.
    """

    times: Array
    ends: Array

    def __post_init__(self) -> None:
        """Check the arrays."""
        times, ends = np.asarray(self.times, dtype=float), np.asarray(self.ends, dtype=float)
        if times.ndim != 1 or ends.ndim != 3 or ends.shape[::2] != (len(times), 3):
            raise DescriptionError(
                "expected times (t,) and ends (t, sections, 3), found shapes "
                f"{times.shape} and {ends.shape}",
                field="ends",
            )
        if len(times) < 2 or not np.isfinite(times).all() or (np.diff(times) <= 0.0).any():
            raise DescriptionError(
                "expected at least two increasing times, found others", field="times"
            )
        if not np.isfinite(ends).all():
            raise DescriptionError("expected finite numbers, found others", field="ends")

    @property
    def speeds(self) -> Array:
        """Speeds of the ends by central differences [m/s], (t, sections)."""
        return np.asarray(np.linalg.norm(np.gradient(self.ends, self.times, axis=0), axis=2))

    def at(self, times: Array) -> Array:
        """Interpolate the ends at other times within the recorded range [m]."""
        return np.asarray(make_interp_spline(self.times, self.ends, k=1)(times))


def settling_times(recording: TipRecording, band: float = 0.02) -> Array:
    """Compute when the section ends have settled at their final positions [s], (sections,).

    Args:
        recording: Recording that is long enough for the ends to come to rest.
        band: Largest distance from the final position, over that of first and last position [–].
    """
    last = recording.ends[-1]
    travel = np.linalg.norm(last - recording.ends[0], axis=-1)
    away = np.linalg.norm(recording.ends - last, axis=-1) > band * travel
    steps = np.arange(1, len(recording.times) + 1)[:, None]
    after = np.minimum((away * steps).max(axis=0), len(recording.times) - 1)
    return np.asarray(recording.times[after])


@dataclass(frozen=True)
class TorqueTable:
    """Motor torques over time, linear between the times and constant before and after.

    Args:
        times: Increasing times [s], (t,).
        torques: Motor torques, one per chamber [N·m], (t, k).

    Raises:
        DescriptionError: The shapes do not fit, the times do not increase, or a number is not
            finite.
    """

    times: Array
    torques: Array

    def __post_init__(self) -> None:
        """Check the arrays."""
        times, torques = np.asarray(self.times, float), np.asarray(self.torques, float)
        if times.ndim != 1 or torques.ndim != 2 or len(times) != len(torques) or not len(times):
            raise DescriptionError(
                f"expected times (t,) and torques (t, chambers), found shapes {times.shape} and "
                f"{torques.shape}",
                field="torques",
            )
        if not (np.isfinite(times).all() and np.isfinite(torques).all()):
            raise DescriptionError("expected finite numbers, found others", field="torques")
        if (np.diff(times) <= 0.0).any():
            raise DescriptionError("expected increasing times, found others", field="times")
        object.__setattr__(self, "times", times)
        object.__setattr__(self, "torques", torques)

    def __call__(self, time: float) -> Array:
        """Interpolate the torques at a time [N·m], (k,)."""
        return np.array([np.interp(time, self.times, column) for column in self.torques.T])

    @property
    def changes(self) -> list[tuple[float, float]]:
        """Intervals (start, end) in which the torques change [s]."""
        intervals: list[tuple[float, float]] = []
        changing = np.abs(np.diff(self.torques, axis=0)).max(axis=1, initial=0.0) > SAME
        for begin, end, moves in zip(
            self.times[:-1].tolist(), self.times[1:].tolist(), changing.tolist(), strict=True
        ):
            if moves and intervals and intervals[-1][1] == begin:
                intervals[-1] = (intervals[-1][0], end)
            elif moves:
                intervals.append((begin, end))
        return intervals


MEAN = 3
"""Index of the mean chamber pressure, after the states of a channel."""
FLOW_FRACTION = 4.0 / 7.0
"""Of a change of the flow that is taken: Blasius's resistance grows with Q^¾, and all of it would
overshoot."""
CORRECTIONS, SETTLED = 30, 1e-10
"""Times that a step is done again with the resistance of its mean flow, at most, and the relative
change of the flow at which that ends."""
UNIT_PUSH = np.array([[1.0], [0.0], [0.0]])
"""A unit acceleration of the piston, as the input of a channel."""
Inputs = Callable[[float], ArrayLike]
"""One number per chamber at a time [s]."""
SAMPLE = 0.01
"""Time between two rows of a recording [s], as the paper's."""


class _Stepper:
    """States of the hydraulic drives in time; arguments and errors as for ``DriveStepper``."""

    def __init__(self, model: DriveModel, timestep: float) -> None:
        if not 0.0 < timestep < np.inf:
            raise DescriptionError(
                f"expected a step above 0 s, found {timestep:g} s", field="timestep"
            )
        self.model, self.timestep = model, timestep
        self.states = np.zeros((model.channels, 3))
        """Speeds of the pistons [m/s], pressures of chambers and of cylinders [Pa]."""
        self.time = 0.0
        self._flow = np.zeros(model.channels)
        self._law = FlowWatch(model.drive.tube, model.drive.fluid)

    @property
    def pressures(self) -> Array:
        """Chamber pressures [Pa], (channels,)."""
        return self.states[:, 1].copy()

    @property
    def largest_reynolds(self) -> float:
        """Largest Reynolds number of the mean flow of any step so far."""
        return self._law.largest

    def _slid(self, resistances: Array, *inputs: Array) -> Array:
        """Compute the states after a step with dry friction, where pistons may stick or slip."""
        matrices = self.model.matrices(resistances)
        channels = zip(matrices, self.model.inertias, *inputs, strict=True)
        return np.stack(
            [
                slide_and_stick(Channel(self.model.drive.piston, *channel), state, self.timestep)
                for channel, state in zip(channels, self.states, strict=True)
            ]
        )


class CoupledStepper(_Stepper):
    """Integrates the drives of a moving arm step by step, by the matrix exponential.

    A step is ``press``, then the step of the arm, then ``advance``. The resistance of a tube is
    that of the flow of the steps before. Where a piston with dry friction stops or starts within a
    step, the arm feels the pressure of a step without that.

    Args:
        model: The equations, with the compliance of the water alone (``coupling="state"``).
        timestep: Time step [s].

    Raises:
        DescriptionError: The step is not positive.

    Warns:
        SoftgraspWarning: Once, where the law of the tube does not hold at the flow through it.
    """

    def __init__(self, model: DriveModel, timestep: float) -> None:
        super().__init__(model, timestep)
        self._forces = np.zeros(model.channels)
        self._closed = np.zeros((model.channels, 4))
        self._key = np.empty(0)
        self._moves = np.empty(0)
        self._inputs = np.zeros((model.channels, 4, 2))
        self._inputs[:, 0, 0] = 1.0 / model.drive.piston.mass
        self._inputs[:, 1, 1] = -1.0 / model.compliances
        self._weights = np.concatenate([model.inertias, model.inertias[:, 1:2]], axis=1)

    def press(self, torques: ArrayLike) -> tuple[Array, Array]:
        """Begin a step: return the pressures and their decrease during it.

        Args:
            torques: Constant motor torques [N·m], (channels,) or one for all.

        Returns:
            Mean pressures of the step for an arm at rest [Pa], and their decrease with the
            volume rate that the arm opens [Pa·s/m³], both (channels,).

        Raises:
            DescriptionError: A torque is more than the motor has, or not one a channel.
        """
        self._forces = self.model.screw_forces(torques)
        piston, speeds = self.model.drive.piston, self.states[:, 0]
        excess = self._forces - piston.area * self.states[:, 2]
        stuck = (speeds == 0.0) & (np.abs(excess) <= piston.friction) & (piston.friction > 0.0)
        directions = np.where(speeds == 0.0, np.sign(excess), np.sign(speeds))
        moves = self._moves_of(self.model.resistance(self._flow), stuck)
        pushed = np.where(stuck, 0.0, self._forces - directions * piston.friction)
        start = np.concatenate([self.states, np.zeros((len(stuck), 1))], axis=1)
        self._closed = np.einsum("cij,cj->ci", moves[:, :4, :4], start)
        self._closed += moves[:, :4, 4] * pushed[:, None]
        return self._closed[:, MEAN].copy(), -moves[:, MEAN, 5]

    def advance(self, swept: Array) -> None:
        """Complete the step that ``press`` began.

        Args:
            swept: Volume that the arm has opened in its chambers over the step [m³/s], (channels,).
        """
        before = self.states[:, 1]
        if self.model.drive.piston.friction:
            after = self._slid(self.model.resistance(self._flow), self._forces, swept)
        else:
            after = self._closed[:, :3] + self._moves[:, :3, 5] * swept[:, None]
        mean = swept + self.model.compliances * (after[:, 1] - before) / self.timestep
        self._flow = self._flow + FLOW_FRACTION * (mean - self._flow)
        self._law.watch(self._flow, self.time)
        self.states, self.time = after, self.time + self.timestep

    def _moves_of(self, resistances: Array, stuck: Array) -> Array:
        """Return the map from states, force and volume rate to next states, (channels, 6, 6)."""
        key = np.where(stuck, -resistances, resistances)
        if not np.array_equal(key, self._key):
            matrices = np.zeros((self.model.channels, 4, 4))
            matrices[:, :3, :3] = self.model.matrices(resistances)
            matrices[stuck, 0] = 0.0
            matrices[:, MEAN, 1] = 1.0 / self.timestep
            self._key = key
            self._moves = affine_moves(matrices, self._weights, self._inputs, self.timestep)
        return self._moves


class DriveStepper(_Stepper):
    """Integrates the drives of an arm at rest step by step, by the matrix exponential.

    With laminar flow a step of any length is exact; with turbulent flow the resistance is that of
    the step's mean flow. Dry friction stops and starts the pistons at the instant where it does.

    Args:
        model: The equations.
        timestep: Time step [s].

    Raises:
        DescriptionError: The step is not positive.

    Warns:
        SoftgraspWarning: Once, where the law of the tube does not hold at the flow through it.
    """

    def __init__(self, model: DriveModel, timestep: float) -> None:
        super().__init__(model, timestep)
        tube, fluid = model.drive.tube, model.drive.fluid
        self._laminar = np.full(model.channels, poiseuille_resistance(tube, fluid))
        self._moves = self._exponentials(self._laminar)

    def step(self, torques: ArrayLike) -> Array:
        """Advance by one step with constant torques [N·m], (channels,) or one for all.

        Returns:
            Pressures of the chambers after it [Pa], (channels,).

        Raises:
            DescriptionError: A torque is more than the motor has, or not one a channel.
        """
        after = self._after(self.model.screw_forces(torques))
        self._law.watch(self._flow, self.time)
        self.states, self.time = after, self.time + self.timestep
        return self.pressures

    def _after(self, forces: Array) -> Array:
        """Return the states after a step, with tube resistance and mean flow solved together."""
        after = self._moved(forces, self.model.resistance(self._flow))
        for _ in range(CORRECTIONS):
            change = FLOW_FRACTION * (self._mean_flow(after) - self._flow)
            self._flow = self._flow + change
            resistances = self.model.resistance(self._flow)
            if (np.abs(change) <= SETTLED * np.abs(self._flow)).all():
                break
            laminar = (resistances == self._laminar).all()
            if laminar and (self.model.resistance(self._mean_flow(after)) == self._laminar).all():
                break
            after = self._moved(forces, resistances)
        self._flow = self._mean_flow(after)
        return after

    def _moved(self, forces: Array, resistances: Array) -> Array:
        """Return the states after a step at given tube resistances."""
        piston = self.model.drive.piston
        if piston.friction:
            return self._slid(resistances, forces)
        laminar = (resistances == self._laminar).all()
        moves = self._moves if laminar else self._exponentials(resistances)
        pushed = moves[:, :3, 3] * (forces / piston.mass)[:, None]
        return np.asarray(np.einsum("cij,cj->ci", moves[:, :3, :3], self.states) + pushed)

    def _exponentials(self, resistances: Array) -> Array:
        """Return the map from a state and unit acceleration to the next state, (channels, 4, 4)."""
        matrices = self.model.matrices(resistances)
        return affine_moves(matrices, self.model.inertias, UNIT_PUSH, self.timestep)

    def _mean_flow(self, after: Array) -> Array:
        """Return the mean flow through the tubes in the step [m³/s]: the volume taken in."""
        taken = self.model.compliances * (after[:, 1] - self.states[:, 1])
        return np.asarray(taken / self.timestep)


@dataclass(frozen=True)
class PressureRecording:
    """Recorded chamber pressures.

    Args:
        times: [s], (t,).
        chambers: Pressures in the chambers [Pa], (t, k).
        cylinders: Pressures in the cylinders [Pa], (t, k).
        largest_reynolds: Largest Reynolds number of the flow in a tube.
    """

    times: Array
    chambers: Array
    cylinders: Array
    largest_reynolds: float = 0.0

    def __call__(self, time: float) -> Array:
        """Interpolate the chamber pressures at a time [Pa], (k,).

        Before the first and after the last they stay.
        """
        last = len(self.times) - 2
        index = min(max(int(np.searchsorted(self.times, time)) - 1, 0), last)
        begin, end = self.times[index], self.times[index + 1]
        fraction = min(max((time - begin) / (end - begin), 0.0), 1.0)
        return np.asarray(
            (1.0 - fraction) * self.chambers[index] + fraction * self.chambers[index + 1]
        )


def drive_pressures(
    arm: HydraulicArm, torques: Inputs, duration: float, *, timestep: float = 1e-3
) -> PressureRecording:
    """Simulate the pressures that the hydraulic drives of an arm generate.

    The arm answers with the compliance of its chambers at rest; its motion does not act back.

    Args:
        arm: The arm.
        torques: Motor torques, one per chamber [N·m]; taken in the middle of each step.
        duration: [s]
        timestep: [s]

    Raises:
        DescriptionError: A time is not positive, or a torque more than a motor has.

    Warns:
        SoftgraspWarning: The flow in the tubes is beyond the law that it follows.
    """
    refuse_no_time(duration=duration)
    return pressures_under(drive_model(arm), torques, duration, timestep)


def pressures_under(
    model: DriveModel, torques: Inputs, duration: float, timestep: float, start: ArrayLike = 0.0
) -> PressureRecording:
    """Simulate the pressures of given drives, from pistons at rest.

    Args:
        model: The equations.
        torques: As there.
        duration: [s]
        timestep: [s]
        start: Pressures in chambers and cylinders at the beginning [Pa], (k,) or one for all.
    """
    stepper = DriveStepper(model, timestep)
    stepper.states[:, 1:] = np.broadcast_to(start, model.channels)[:, None]
    states = [stepper.states]
    for index in range(round(duration / timestep)):
        stepper.step(torques((index + 0.5) * timestep))
        states.append(stepper.states)
    states_array = np.stack(states)
    times = np.arange(len(states), dtype=np.float64) * timestep
    return PressureRecording(
        times, states_array[:, :, 1], states_array[:, :, 2], stepper.largest_reynolds
    )


def inputs_of(pressures: Inputs | ArrayLike) -> Inputs:
    """Return inputs as a function of time; constant ones as a constant function."""
    if callable(pressures):
        return pressures
    fixed = np.asarray(pressures, dtype=float)
    return lambda _: fixed


def refuse_no_time(**times: float | None) -> None:
    """Refuse times that are specified and not positive.

    Raises:
        DescriptionError: Names the field.
    """
    for field, value in times.items():
        if value is not None and not 0.0 < value < np.inf:
            raise DescriptionError(f"expected a time above 0 s, found {value:g} s", field=field)
