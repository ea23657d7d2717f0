"""The continuum joint trajectory controller (cJTC, paper 002): from shape to shape in step."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from softgrasp.control.bend_command import BendCommand, bend_commands
from softgrasp.control.position_command import PositionCommand, position_commands
from softgrasp.control.resources import ResourceManager
from softgrasp.description.robot import Robot
from softgrasp.errors import DescriptionError, did_you_mean
from softgrasp.mechanics.quintic import Quintic
from softgrasp.mechanics.transforms import Array

PEAK = 1.875
"""Largest speed of a quintic from rest to rest, in ways a time."""
SAMPLES = 400
"""Instants of a motion at which its speeds are compared with their limits."""
NEAR_STRAIGHT = 0.01
"""A way that passes straight nearer than this share of its largest curvature turns its plane there
at once: the plane of a straight segment means nothing."""
LONGER, LONGEST = 1.02, 60.0
"""Factor between durations that are tried where a motion begins with a speed, and the largest one
over that from rest."""

Target = Sequence[float] | float
"""(κ, φ) of a bendable [1/m, rad], κ alone of a planar one, or the position of a rigid joint."""


class JointTrajectoryController:
    """Moves all segments and rigid joints to targets, each by a quintic, all in the same time.

    A segment moves in (u, v) = κ (cos φ, sin φ): the way between two points of the disc κ ≤ κ_max
    stays in it. None is faster than its ``kappa_dot_max``, ``phi_dot_max`` or ``velocity``. A new
    target takes over the speed and the acceleration of the motion so far.
    """

    def __init__(self, robot: Robot, name: str = "continuum_joint_trajectory_controller") -> None:
        """Set up by the robot's description.

        Raises:
            DescriptionError: Nothing of the robot is commanded by curvature or position.
        """
        self.name = name
        self._parts: dict[str, BendCommand | PositionCommand] = {
            **bend_commands(robot),
            **position_commands(robot),
        }
        if not self._parts:
            raise DescriptionError(
                "expected command interfaces kappa or position, found none", field=robot.name
            )
        self._resources: ResourceManager | None = None
        self._pieces: list[tuple[float, dict[str, Quintic]]] = []
        """When each motion begins [s], and the motions by name."""

    @property
    def duration(self) -> float:
        """How long the whole motion takes [s]."""
        if not self._pieces:
            return 0.0
        begin, last = self._pieces[-1]
        return begin - self._pieces[0][0] + max(motion.duration for motion in last.values())

    def claims(self) -> list[str]:
        """All curvatures, planes and positions that are commanded."""
        return [claim for part in self._parts.values() for claim in part.claims]

    def start(self, resources: ResourceManager, now: float) -> None:
        """Stand still at what is commanded."""
        self._resources = resources
        positions = {name: part.vector(resources) for name, part in self._parts.items()}
        self._pieces = [(now, {name: Quintic(at, at, 0.0) for name, at in positions.items()})]

    def go(self, target: Mapping[str, Target], now: float, duration: float | None = None) -> float:
        """Begin to move to a shape; returns how long that takes [s].

        Args:
            target: Of the segments and joints that move, by name.
            now: Time at which it begins [s].
            duration: How long to take [s]; as short as the rates allow where not given.

        Raises:
            DescriptionError: Something does not exist, is out of its range or not finite, or the
                motion would be too fast; nothing has changed then.
        """
        piece = self._piece(self._states(now), target, now, duration)
        self._pieces = [(now, piece)]
        return self.duration

    def follow(self, points: Iterable[tuple[float, Mapping[str, Target]]], now: float) -> float:
        """Begin to move through several shapes, at rest in each; returns how long it takes [s].

        Args:
            points: How long each piece takes [s], and where it ends.
            now: Time at which the first one begins [s].

        Raises:
            DescriptionError: As ``go``; nothing has changed then.
        """
        states, begin, pieces = self._states(now), now, []
        for duration, target in points:
            piece = self._piece(states, target, begin, duration)
            pieces.append((begin, piece))
            begin += duration
            states = {
                name: np.stack([m.end, 0.0 * m.end, 0.0 * m.end]) for name, m in piece.items()
            }
        if not pieces:
            raise DescriptionError("expected at least one point, found none", field="points")
        self._pieces = pieces
        return self.duration

    def update(self, resources: ResourceManager, now: float, period: float) -> None:
        """Command the shape of the end of this period."""
        for name, states in self._states(now + period).items():
            part = self._parts[name]
            part.write(resources, self.name, part.admitted(resources, states[0]))

    def samples(self, rate: float) -> tuple[Array, dict[str, Array]]:
        """The whole motion at a rate [Hz]: times (n,) from 0 to its end, vectors (n, 2) or (n, 1).

        Raises:
            DescriptionError: The rate is not above 0.
        """
        if not 0.0 < rate < math.inf:
            raise DescriptionError(f"expected a number above 0, found {rate}", field="rate")
        count = math.ceil(self.duration * rate - 1e-9) + 1
        times = np.minimum(np.arange(count) / rate, self.duration)
        begin = self._pieces[0][0] if self._pieces else 0.0
        states = [self._states(begin + time) for time in times.tolist()]
        return times, {name: np.stack([each[name][0] for each in states]) for name in self._parts}

    def _states(self, time: float) -> dict[str, Array]:
        """Place, velocity and acceleration of everything, (3, n) each."""
        if not math.isfinite(time):
            raise DescriptionError(f"expected a finite time, found {time}", field="now")
        if not self._pieces:
            raise DescriptionError(
                f"expected controller '{self.name}' to be started, found it inactive"
            )
        begin, piece = next(
            (one for one in reversed(self._pieces) if one[0] <= time), self._pieces[0]
        )
        return {
            name: np.stack([motion.at(time - begin, order) for order in range(3)])
            for name, motion in piece.items()
        }

    def _piece(
        self,
        states: Mapping[str, Array],
        target: Mapping[str, Target],
        now: float,
        duration: float | None,
    ) -> dict[str, Quintic]:
        assert self._resources is not None  # a state was there
        ends = {name: state[0] for name, state in states.items()}
        for name, vector in target.items():
            if name not in self._parts:
                known = did_you_mean(name, self._parts)
                raise DescriptionError(f"no bendable or rigid joint '{name}'; {known}")
            ends[name] = self._parts[name].aimed(self._resources, vector)
        if duration is not None and not 0.0 <= duration < math.inf:
            raise DescriptionError(
                f"expected a finite number of at least 0, found {duration}", field="duration"
            )
        min_duration = max(self._min_duration(name, states[name], ends[name]) for name in ends)
        if duration is not None and duration < min_duration * (1.0 - 1e-12):
            raise DescriptionError(
                f"expected at least {min_duration:.4g} s for these rates, found {duration:.4g} s",
                field="duration",
            )
        time = min_duration if duration is None else duration
        return {name: _motion(states[name], ends[name], time) for name in ends}

    def _min_duration(self, name: str, state: Array, end: Array) -> float:
        """The shortest time in which a part may go from a state of motion to a place [s]."""
        rate, turning = self._parts[name].rate, self._parts[name].rotation_rate
        distance = float(np.linalg.norm(end - state[0]))
        at_rest = 0.0 if rate is None else PEAK * distance / rate
        if not state[1:].any():
            return max(at_rest, _turning_time(state[0], end, turning))
        # with a speed at its begin a motion is tried: longer ones swing farther out
        time = max(at_rest, 1e-3)
        for _ in range(math.ceil(math.log(LONGEST) / math.log(LONGER))):
            if self._is_within(name, _motion(state, end, time)):
                return time
            time *= LONGER
        raise DescriptionError(
            "expected a target that can be reached within its rates and its range from the motion "
            "so far, found none; wait until it has ended",
            field=f"'{name}'",
        )

    def _is_within(self, name: str, motion: Quintic) -> bool:
        assert self._resources is not None  # a motion goes on
        part, times = self._parts[name], np.linspace(0.0, motion.duration, SAMPLES)
        positions, speeds = motion.at(times), motion.at(times, 1)
        begin = float(np.linalg.norm(speeds[0]))
        rate = math.inf if part.rate is None else max(part.rate, begin)
        if np.linalg.norm(speeds, axis=1).max() > rate * (1.0 + 1e-9):
            return False
        if (
            part.rotation_rate is not None
            and _max_rotation_rate(positions, speeds) > part.rotation_rate * 1.001
        ):
            return False
        return all(
            np.abs(part.admitted(self._resources, position) - position).max() < 1e-9
            for position in positions
        )


def _at_rest(position: Array) -> Array:
    return np.stack([position, 0.0 * position, 0.0 * position])


def _motion(state: Array, end: Array, duration: float) -> Quintic:
    return Quintic(state[0], end, duration, state[1], state[2])


def _turning_time(begin: Array, end: Array, rate: float | None) -> float:
    """The time from rest to rest on a straight way in which its plane turns no faster [s]."""
    if rate is None or begin.size != 2:
        return 0.0
    motion = Quintic(begin, end, 1.0)
    times = np.linspace(0.0, 1.0, 10 * SAMPLES)
    return _max_rotation_rate(motion.at(times), motion.at(times, 1)) / rate


def _max_rotation_rate(positions: Array, speeds: Array) -> float:
    """Largest speed of the plane [rad/s]; where it passes straight, that is left out."""
    sizes = np.linalg.norm(positions, axis=1)
    if sizes.min() <= NEAR_STRAIGHT * sizes.max():
        # it turns at once where nothing is bent, and stands still on the rest of a straight way
        return 0.0
    across = np.abs(positions[:, 0] * speeds[:, 1] - positions[:, 1] * speeds[:, 0])
    return float((across / sizes**2).max())
