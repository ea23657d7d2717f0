"""Controllers of continuum robots (Witucki et al. 2025, Fig 4).

Feed-forward controller (cFFC): a deflection moves the curvature. Joint trajectory controller
(cJTC): all segments move from shape to shape in step. Impedance controller (the paper's outlook): a
segment with a chosen stiffness. State broadcaster (cJSB) and state publisher (cRSP): curvatures of
every period, and the frames of segments and discs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from softgrasp.continuum.pcc import segment_transform
from softgrasp.continuum_control.interfaces import (
    STRAIGHT,
    BendCommand,
    PositionCommand,
    ResourceManager,
    bend_commands,
    moment_interfaces,
    position_commands,
    vector_of,
)
from softgrasp.description import Bendable, Robot
from softgrasp.errors import DescriptionError, did_you_mean
from softgrasp.mechanics import Array, Quintic, origin_frame

DEADZONE = 0.1
"""Deflection below which a stick does nothing; what is left is stretched to the whole range."""
Sticks = Callable[[float], Mapping[str, tuple[float, float]]]
"""Deflections (x, y) commanded for each segment at a time [s], each of norm at most 1."""
PEAK = 1.875
"""Peak speed of a rest-to-rest quintic over its mean speed."""
SAMPLES = 400
"""Instants of a motion at which its speeds are compared with their limits."""
NEAR_STRAIGHT = 0.01
"""A path nearer to straight than this fraction of its largest curvature rotates its plane there
at once: the plane of a straight segment means nothing."""
LONGER, LONGEST = 1.02, 60.0
"""Factor between durations that are tried where a motion begins with a speed, and the largest one
over that from rest."""
Target = Sequence[float] | float
"""(κ, φ) of a bendable [1/m, rad], κ alone of a planar one, or the position of a rigid joint."""


class FeedForwardController:
    """Adds ``kappa_dot_max`` · deflection · time to (u, v), within ``kappa_max``.

    The plane of a bent segment turns by ``phi_dot_max`` at most.
    """

    def __init__(
        self,
        robot: Robot,
        sticks: Sticks,
        segments: Sequence[str] | None = None,
        name: str = "continuum_feed_forward_controller",
    ) -> None:
        """Set up by the robot's description.

        Args:
            robot: Gives limits and rates.
            sticks: Where the deflections come from.
            segments: Which bendables are moved; all where not given.
            name: Of the controller.

        Raises:
            DescriptionError: A segment does not exist, is not commanded, or has no
                ``kappa_dot_max``.
        """
        self.name, self._sticks = name, sticks
        self._commands = bend_commands(robot, segments)
        for segment, command in self._commands.items():
            if command.rate is None:
                raise DescriptionError(
                    "expected kappa_dot_max, the rate of a stick at its stop, found none",
                    field=f"bendable '{segment}'",
                )
        self._vectors: dict[str, Array] = {}

    def claims(self) -> list[str]:
        """Return curvature and plane of its segments; only curvature for a fixed plane."""
        return [claim for command in self._commands.values() for claim in command.claims]

    def start(self, resources: ResourceManager, now: float) -> None:
        """Start from the commanded curvatures."""
        self._vectors = {
            name: command.vector(resources) for name, command in self._commands.items()
        }

    def update(self, resources: ResourceManager, now: float, period: float) -> None:
        """Change the curvatures at rates proportional to the deflections of the sticks.

        Raises:
            DescriptionError: A stick moves a segment that is not this controller's, or its
                deflection is not finite.
        """
        sticks = self._sticks(now)
        for name, stick in sticks.items():
            if name not in self._commands:
                raise DescriptionError(
                    f"no segment '{name}' of '{self.name}'; {did_you_mean(name, self._commands)}"
                )
            if not np.isfinite(stick).all():
                raise DescriptionError(
                    f"expected a finite deflection, found {stick}", field=f"stick '{name}'"
                )
        for name, command in self._commands.items():
            push = (command.rate or 0.0) * period * deflection(sticks.get(name, (0.0, 0.0)))
            before = self._vectors[name]
            if command.rotation_rate is not None:
                push = rate_limited(before, push, command.rotation_rate * period)
            self._vectors[name] = command.admitted(resources, before + push)
            command.write(resources, self.name, self._vectors[name])


def deflection(stick: tuple[float, float]) -> Array:
    """Deflection without the dead zone, of norm at most 1, (2,)."""
    deflection_xy = np.asarray(stick, dtype=float)
    length = float(np.hypot(*deflection_xy))
    if length <= DEADZONE:
        return np.zeros(2)
    return np.asarray(deflection_xy / length * min((length - DEADZONE) / (1.0 - DEADZONE), 1.0))


def rate_limited(vector: Array, push: Array, angle: float) -> Array:
    """Limit how far a vector is rotated by an increment, (2,)."""
    size = float(np.hypot(*vector))
    if size <= STRAIGHT:
        return push
    along = vector / size
    across = np.array([-along[1], along[0]])
    outwards = float(push @ along)
    limit = max(size + outwards, 0.0) * np.tan(min(angle, 1.5))
    return np.asarray(outwards * along + float(np.clip(push @ across, -limit, limit)) * across)


class JointTrajectoryController:
    """Moves all segments and rigid joints to targets, each by a quintic, all in the same time.

    A segment moves in (u, v) = κ (cos φ, sin φ): the path between two points of the disc κ ≤ κ_max
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
        """Start times of the motions [s], and the motions by name."""

    @property
    def duration(self) -> float:
        """Duration of the whole motion [s]."""
        if not self._pieces:
            return 0.0
        begin, last = self._pieces[-1]
        return begin - self._pieces[0][0] + max(motion.duration for motion in last.values())

    def claims(self) -> list[str]:
        """Return all commanded curvatures, bending planes and joint positions."""
        return [claim for part in self._parts.values() for claim in part.claims]

    def start(self, resources: ResourceManager, now: float) -> None:
        """Hold the commanded positions."""
        self._resources = resources
        positions = {name: part.vector(resources) for name, part in self._parts.items()}
        self._pieces = [(now, {name: Quintic(at, at, 0.0) for name, at in positions.items()})]

    def go(self, target: Mapping[str, Target], now: float, duration: float | None = None) -> float:
        """Begin to move to a target shape; return the duration [s].

        Args:
            target: Of the segments and joints that move, by name.
            now: Time at which it begins [s].
            duration: How long to take [s]; as short as the rates allow by default.

        Raises:
            DescriptionError: Something does not exist, is out of its range or not finite, or the
                motion would be too fast, shorter than the control period, or leave its range; or
                nothing limits its speed, as there is neither a duration nor a rate. Nothing has
                changed then.
        """
        piece = self._piece(self._states(now), target, now, duration)
        self._pieces = [(now, piece)]
        return self.duration

    def follow(self, points: Iterable[tuple[float, Mapping[str, Target]]], now: float) -> float:
        """Begin to move through several shapes, at rest in each; return the duration [s].

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
        """Command the shape at the end of this control period."""
        begin, piece = self._current(now + period)
        for name, motion in piece.items():
            part = self._parts[name]
            position = motion.at(now + period - begin)
            part.write(resources, self.name, part.admitted(resources, position))

    def samples(self, rate: float) -> tuple[Array, dict[str, Array]]:
        """Sample the motion at a rate [Hz]: times (n,) from 0 to its end, vectors (n, 2) or (n, 1).

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
        """Position, velocity and acceleration of all joints, (3, n) each."""
        begin, piece = self._current(time)
        return {
            name: np.stack([motion.at(time - begin, order) for order in range(3)])
            for name, motion in piece.items()
        }

    def _current(self, time: float) -> tuple[float, dict[str, Quintic]]:
        """Return the start of the motions at a time, and the motions by name."""
        if not math.isfinite(time):
            raise DescriptionError(f"expected a finite time, found {time}", field="now")
        if not self._pieces:
            raise DescriptionError(
                f"expected controller '{self.name}' to be started, found it inactive"
            )
        return next(
            (piece for piece in reversed(self._pieces) if piece[0] <= time), self._pieces[0]
        )

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
        if duration is not None and duration < self._resources.period * (1.0 - 1e-9):
            raise DescriptionError(
                f"expected at least the control period, {self._resources.period:g} s, found "
                f"{duration:g} s: it would jump there",
                field="duration",
            )
        min_duration = max(self._min_duration(name, states[name], ends[name]) for name in ends)
        if duration is not None and duration < min_duration * (1.0 - 1e-12):
            raise DescriptionError(
                f"expected at least {min_duration:.4g} s for these rates, found {duration:.4g} s",
                field="duration",
            )
        time = min_duration if duration is None else duration
        for name in ends:
            self._refuse_jump(name, states[name], ends[name], time, duration)
        return {name: _motion(states[name], ends[name], time) for name in ends}

    def _refuse_jump(
        self, name: str, state: Array, end: Array, time: float, duration: float | None
    ) -> None:
        """Refuse a motion without a time, and one of a moving joint that leaves its range.

        Raises:
            DescriptionError: It is one of them.
        """
        part = self._parts[name]
        if time == 0.0 and np.abs(end - state[0]).max() > 0.0:
            raise DescriptionError(
                f"expected {part.rate_name} or a duration above 0 s, found neither; it would jump",
                field=f"'{name}'",
            )
        if duration is None and part.rate is None and np.abs(end - state[0]).max() > 0.0:
            raise DescriptionError(
                f"expected {part.rate_name} or a duration, found neither; nothing would limit its "
                "speed",
                field=f"'{name}'",
            )
        if state[1:].any() and not self._is_within(name, _motion(state, end, time)):
            raise DescriptionError(
                f"expected a motion within its range and its rates, found one that leaves them in "
                f"{time:.4g} s from its present speed",
                field=f"'{name}'",
            )

    def _min_duration(self, name: str, state: Array, end: Array) -> float:
        """Return the shortest time in which a joint moves from a moving state to a position [s]."""
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


def _motion(state: Array, end: Array, duration: float) -> Quintic:
    return Quintic(state[0], end, duration, state[1], state[2])


def _turning_time(begin: Array, end: Array, rate: float | None) -> float:
    """Return the rest-to-rest time of a straight path with limited bending-plane rate [s]."""
    if rate is None or begin.size != 2:
        return 0.0
    motion = Quintic(begin, end, 1.0)
    times = np.linspace(0.0, 1.0, 10 * SAMPLES)
    return _max_rotation_rate(motion.at(times), motion.at(times, 1)) / rate


def _max_rotation_rate(positions: Array, speeds: Array) -> float:
    """Return the largest rate of the bending plane [rad/s], except where the path is straight."""
    sizes = np.linalg.norm(positions, axis=1)
    if sizes.min() <= NEAR_STRAIGHT * sizes.max():
        # the plane rotates at once where nothing is bent, and is constant on the rest of the path
        return 0.0
    across = np.abs(positions[:, 0] * speeds[:, 1] - positions[:, 1] * speeds[:, 0])
    return float((across / sizes**2).max())


class ImpedanceController:
    """Impedance control: bending moments K (κ_d − κ) − D κ̇ plus those of the passive stiffness.

    It commands the moment EI κ + K (κ_d − κ) − D κ̇, so a load M at the end changes the curvature
    by M/K. Hardware has to offer moments (``moment``, or ``moment_u`` and ``moment_v``), as every
    model of a robot with tendons, chambers or moments does.
    """

    def __init__(
        self,
        robot: Robot,
        stiffness: float,
        damping: float = 0.0,
        *,
        filter_time: float = 0.02,
        name: str = "curvature_impedance_controller",
    ) -> None:
        """Set up by the robot's description.

        Args:
            robot: Gives the stiffness of its segments.
            stiffness: K [N·m²].
            damping: D [N·m²·s].
            filter_time: Time constant of the curvature's measured rate [s]; a large D at a long
                period needs a longer one.
            name: Of the controller.

        Raises:
            DescriptionError: A number is out of range, or a segment has no bending stiffness.
        """
        if not (
            0.0 < stiffness < np.inf and 0.0 <= damping < np.inf and 0.0 <= filter_time < np.inf
        ):
            raise DescriptionError(
                "expected a stiffness above 0, a damping and a filter_time of at least 0, found "
                f"{stiffness:g}, {damping:g} and {filter_time:g}"
            )
        self.name, self._parts = name, robot.bendables
        self._stiffness, self._damping, self._filter_time = stiffness, damping, filter_time
        for part in self._parts:
            if not part.backbone.bending_stiffness:
                raise DescriptionError(
                    "expected a bending_stiffness, found none", field=f"bendable '{part.name}'"
                )
        self.targets: dict[str, Array] = {}
        self._before: dict[str, Array] = {}
        self._rates: dict[str, Array] = {}

    def claims(self) -> list[str]:
        """Return the bending-moment interfaces of every segment."""
        return [interface for part in self._parts for interface in moment_interfaces(part)]

    def start(self, resources: ResourceManager, now: float) -> None:
        """Hold the commanded curvatures."""
        for part in self._parts:
            kappa, phi = (resources.commanded(f"{part.name}/{k}") for k in ("kappa", "phi"))
            self.targets[part.name] = vector_of(kappa, phi)
            self._before.pop(part.name, None)
            self._rates.pop(part.name, None)

    def aim(self, targets: Mapping[str, tuple[float, float]]) -> None:
        """Set the target curvatures κ [1/m] and bending planes φ [rad] of segments.

        Raises:
            DescriptionError: A segment does not exist, a number is not finite, or a curvature is
                beyond ``kappa_max``.
        """
        known = [part.name for part in self._parts]
        for name, numbers in targets.items():
            if name not in known:
                raise DescriptionError(f"no bendable '{name}'; {did_you_mean(name, known)}")
            if np.shape(numbers) != (2,) or not np.isfinite(numbers).all():
                raise DescriptionError(
                    f"expected finite kappa and phi, found {numbers}", field=f"bendable '{name}'"
                )
            max_curvature = self._parts[known.index(name)].kappa_max
            if abs(numbers[0]) > max_curvature * (1.0 + 1e-9):
                raise DescriptionError(
                    f"expected a curvature of at most kappa_max {max_curvature:g} 1/m, found "
                    f"{numbers[0]:g} 1/m",
                    field=f"bendable '{name}'",
                )
        self.targets |= {name: vector_of(kappa, phi) for name, (kappa, phi) in targets.items()}

    def update(self, resources: ResourceManager, now: float, period: float) -> None:
        """Command the bending moments of the control law at the measured curvatures."""
        for part in self._parts:
            kappa, phi = (resources.states.get(f"{part.name}/{k}", 0.0) for k in ("kappa", "phi"))
            here = vector_of(kappa, phi)
            change = (here - self._before.get(part.name, here)) / period
            kept = self._filter_time / (self._filter_time + period)
            rate = kept * self._rates.get(part.name, np.zeros(2)) + (1.0 - kept) * change
            self._before[part.name], self._rates[part.name] = here, rate
            bending_stiffness = part.backbone.bending_stiffness or 0.0
            moment = bending_stiffness * here + self._stiffness * (self.targets[part.name] - here)
            moment = moment - self._damping * rate
            if part.planar:
                plane = vector_of(1.0, resources.commanded(f"{part.name}/phi"))
                moment = np.array([moment @ plane])
            for interface, value in zip(moment_interfaces(part), moment.tolist(), strict=True):
                resources.command(interface, value, self.name)


class SegmentFrames(NamedTuple):
    """Frames of a segment at one time, in the frame of its parent link.

    They lie on an arc of the measured mean curvature: a segment that gravity or a load bends
    unevenly is elsewhere by as much.
    """

    parent: str
    child: str
    end: Array
    """Frame of the child link, (4, 4)."""
    discs: Array
    """Frames of the spacer discs at s = ℓ·d/n, (n, 4, 4)."""


def segment_frames(robot: Robot, states: JointStates) -> dict[str, SegmentFrames]:
    """Compute the frames of all segments by name from broadcast states."""
    states_of = zip(states.names, states.kappa, states.phi, states.length, strict=True)
    return {name: _frames(robot.bendable(name), *state) for name, *state in states_of}


def _frames(part: Bendable, kappa: float, phi: float, length: float) -> SegmentFrames:
    base, count = origin_frame(part.origin), part.backbone.discs
    arc_lengths = length * np.arange(1, count + 1) / max(count, 1)
    frame = part.end_frame
    discs = segment_transform(kappa, phi, arc_lengths, frame) if count else np.zeros((0, 4, 4))
    end = segment_transform(kappa, phi, length, frame)
    return SegmentFrames(part.parent, part.child, base @ end, base @ discs)


class JointStates(NamedTuple):
    """States of all segments at one time, in the order of the file."""

    time: float
    """Time [s]."""
    names: tuple[str, ...]
    kappa: tuple[float, ...]
    """Curvatures [1/m]."""
    phi: tuple[float, ...]
    """Angles of the bending planes [rad]."""
    length: tuple[float, ...]
    """[m]; as measured where the hardware does, else that of the description."""


class StateBroadcaster:
    """Stores the segment states of every control period and passes them to a callback."""

    def __init__(
        self,
        robot: Robot,
        listener: Callable[[JointStates], None] | None = None,
        name: str = "continuum_joint_state_broadcaster",
    ) -> None:
        """Broadcast the segments of a robot."""
        self.name, self.records = name, list[JointStates]()
        self._names = tuple(part.name for part in robot.bendables)
        self._lengths = {part.name: part.backbone.length for part in robot.bendables}
        self._listener = listener

    def claims(self) -> list[str]:
        """Return no interfaces, as this controller only reads."""
        return []

    def start(self, resources: ResourceManager, now: float) -> None:
        """Begin with the next control period."""

    def update(self, resources: ResourceManager, now: float, period: float) -> None:
        """Store the states of this control period and pass them on."""
        kappa, phi = (
            tuple(resources.states.get(f"{name}/{what}", 0.0) for name in self._names)
            for what in ("kappa", "phi")
        )
        length = tuple(
            resources.states.get(f"{name}/l") or default_length
            for name, default_length in self._lengths.items()
        )
        record = JointStates(now, self._names, kappa, phi, length)
        self.records.append(record)
        if self._listener is not None:
            self._listener(record)
