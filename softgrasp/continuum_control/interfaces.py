"""Command and state interfaces of the hardware, and the controllers that claim them.

Segments are commanded by curvature κ and bending plane φ, in any plane or in a fixed one, and kept
as vectors (u, v) = κ (cos φ, sin φ), which are smooth through the straight shape; rigid joints by
position.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from softgrasp.description import Bendable, ControlledJoint, Interface, RigidJoint, Robot
from softgrasp.errors import DescriptionError, SoftgraspWarning, did_you_mean
from softgrasp.mechanics import Array

TOLERANCE = 1e-9
"""Relative tolerance of a target beyond its range."""
ROUNDING = 1e-9
"""A command that is beyond its range by less is no mistake."""
MOMENTS = "moment"
"""Prefix of interfaces that command a bending moment instead of a curvature."""
STRAIGHT = 1e-9
"""Curvature below which the bending plane keeps the angle that it had [1/m]."""


class BendCommand:
    """Command (u, v) by ``kappa`` and ``phi``, or ``kappa`` alone where ``phi`` is fixed."""

    rate_name = "kappa_dot_max"
    """Field of the description that limits its speed."""

    def __init__(self, robot: Robot, part: Bendable) -> None:
        """Look up the command interfaces of a segment in ``ros2_control``.

        Raises:
            DescriptionError: Its curvature is not commanded.
        """
        self.part, self._kappa, self._phi = part, f"{part.name}/kappa", f"{part.name}/phi"
        commanded = {
            f"{joint.name}/{interface.name}"
            for system in robot.control
            for joint in system.joints
            for interface in joint.commands
        }
        if self._kappa not in commanded:
            raise DescriptionError(
                f"expected a command interface '{self._kappa}', found none",
                field=f"bendable '{part.name}'",
            )
        self.fixed = part.planar or self._phi not in commanded

    @property
    def rate(self) -> float | None:
        """Largest speed of the vector, ``kappa_dot_max`` [1/(m·s)]."""
        return self.part.limits.kappa_dot_max

    @property
    def rotation_rate(self) -> float | None:
        """Largest rate of a rotating bending plane, ``phi_dot_max`` [rad/s]."""
        return None if self.fixed else self.part.limits.phi_dot_max

    @property
    def claims(self) -> list[str]:
        """Return the names of the command interfaces of the segment."""
        return [self._kappa] if self.fixed else [self._kappa, self._phi]

    def vector(self, resources: ResourceManager) -> Array:
        """Current command [1/m], (2,)."""
        return vector_of(resources.commanded(self._kappa), resources.commanded(self._phi))

    def aimed(self, resources: ResourceManager, target: Sequence[float] | float) -> Array:
        """Convert a target κ [1/m] and φ [rad] to a vector, (2,); κ alone for a fixed plane.

        Raises:
            DescriptionError: It is no such target, not finite, or not within the ranges.
        """
        numbers = np.atleast_1d(np.asarray(target, dtype=float))
        where = f"bendable '{self.part.name}'"
        if numbers.shape not in ((2,), (1,)[: int(self.fixed)]) or not np.isfinite(numbers).all():
            expected = "a finite kappa" if self.fixed else "finite kappa and phi"
            raise DescriptionError(f"expected {expected}, found {target}", field=where)
        kappa = float(numbers[0])
        phi = float(numbers[1]) if len(numbers) == 2 else resources.commanded(self._phi)
        vector = vector_of(kappa, phi)
        nearest = self.admitted(resources, vector)
        if float(np.abs(nearest - vector).max()) > TOLERANCE * max(abs(kappa), 1.0):
            raise DescriptionError(self._beyond(resources, kappa, phi), field=where)
        return vector

    def _beyond(self, resources: ResourceManager, kappa: float, phi: float) -> str:
        interface = resources.commands[self._kappa]
        if not max(interface.low, -interface.high) <= kappa <= interface.high:
            return f"expected a curvature of at most {interface.high:g} 1/m, found {kappa:g}"
        if self.fixed:
            plane = resources.commanded(self._phi)
            return f"expected a target in its plane at {plane:g} rad, found phi = {phi:g}"
        plane_range = resources.commands[self._phi]
        return (
            f"expected a curvature from {interface.low:g} to {interface.high:g} 1/m and a plane "
            f"from {plane_range.low:g} to {plane_range.high:g} rad, found {kappa:g} and {phi:g}"
        )

    def admitted(self, resources: ResourceManager, vector: Array) -> Array:
        """Return the nearest vector within the limits [1/m], (2,)."""
        interface = resources.commands[self._kappa]
        if self.fixed:
            x, y = self._plane(resources)
            along = min(max(self._along(vector, x, y), interface.low), interface.high)
            return np.array([along * x, along * y])
        plane = resources.commands[self._phi]
        kappa, phi = curvature_of(vector, plane.value)
        if interface.low <= kappa <= interface.high and plane.low <= phi <= plane.high:
            return vector
        kappa, phi = curvature_of(within(vector, interface.high), plane.value)
        return vector_of(max(kappa, interface.low), angle_within(phi, plane.low, plane.high))

    def _plane(self, resources: ResourceManager) -> tuple[float, float]:
        """Return the direction of the fixed plane."""
        phi = resources.commanded(self._phi)
        return math.cos(phi), math.sin(phi)

    @staticmethod
    def _along(vector: Array, x: float, y: float) -> float:
        """Return the component of a vector along a direction; floats of two numbers are faster."""
        u, v = vector.tolist()
        return float(u * x + v * y)

    def write(self, resources: ResourceManager, owner: str, vector: Array) -> None:
        """Command a vector within the limits; ``phi`` is kept where it is straight."""
        if self.fixed:
            kappa = self._along(vector, *self._plane(resources))
            resources.command(self._kappa, kappa, owner)
            return
        kappa, phi = curvature_of(vector, resources.commanded(self._phi))
        plane = resources.commands[self._phi]
        resources.command(self._kappa, kappa, owner)
        resources.command(self._phi, angle_within(phi, plane.low, plane.high), owner)


def moment_interfaces(part: Bendable) -> list[str]:
    """Return the interfaces that command bending moments of a segment instead of a curvature."""
    return [f"{part.name}/{MOMENTS}{end}" for end in ([""] if part.planar else ["_u", "_v"])]


def bend_commands(robot: Robot, segments: Sequence[str] | None = None) -> dict[str, BendCommand]:
    """Return bend commands by segment name, by default of all segments with curvature command.

    Raises:
        DescriptionError: A segment does not exist, or its curvature is not commanded.
    """
    known = {part.name: part for part in robot.bendables}
    for name in segments or ():
        if name not in known:
            raise DescriptionError(f"no bendable '{name}'; {did_you_mean(name, known)}")
    if segments is None:
        controlled = {joint.name for system in robot.control for joint in system.joints
                      if joint.commands}  # fmt: skip
        segments = [name for name in known if name in controlled]
    return {name: BendCommand(robot, known[name]) for name in segments}


class PositionCommand:
    """Command of a rigid joint's position, as a vector of one number [rad or m]."""

    rate_name = "velocity"
    """Field of the description that limits its speed."""
    rotation_rate = None
    """A fixed plane: there is no rotation."""

    def __init__(self, joint: RigidJoint) -> None:
        """Look up the command interface of a joint."""
        self._joint, self._name = joint, f"{joint.name}/position"

    @property
    def rate(self) -> float | None:
        """Largest speed [rad/s or m/s]."""
        return self._joint.velocity or None

    @property
    def claims(self) -> list[str]:
        """Return the name of the command interface of the joint."""
        return [self._name]

    def vector(self, resources: ResourceManager) -> Array:
        """Current command, (1,)."""
        return np.array([resources.commanded(self._name)])

    def aimed(self, resources: ResourceManager, target: Sequence[float] | float) -> Array:
        """Convert a target to a vector, (1,).

        Raises:
            DescriptionError: It is no finite number within the joint's range.
        """
        numbers = np.atleast_1d(np.asarray(target, dtype=float))
        interface = resources.commands[self._name]
        if numbers.shape != (1,) or not interface.low <= float(numbers[0]) <= interface.high:
            raise DescriptionError(
                f"expected a position from {interface.low:g} to {interface.high:g}, found {target}",
                field=f"joint '{self._joint.name}'",
            )
        return numbers

    def admitted(self, resources: ResourceManager, vector: Array) -> Array:
        """The nearest position in the range, (1,)."""
        interface = resources.commands[self._name]
        return np.array([min(max(float(vector[0]), interface.low), interface.high)])

    def write(self, resources: ResourceManager, owner: str, vector: Array) -> None:
        """Command a position."""
        resources.command(self._name, float(vector[0]), owner)


def position_commands(robot: Robot) -> dict[str, PositionCommand]:
    """Return position commands of all rigid joints that have one, by name."""
    commanded = {
        joint.name
        for system in robot.control
        for joint in system.joints
        if any(interface.name == "position" for interface in joint.commands)
    }
    return {joint.name: PositionCommand(joint) for joint in robot.joints if joint.name in commanded}


@dataclass
class Command:
    """A quantity that can be commanded: its limits and its current value.

    Args:
        value: What is commanded now.
        low: Lowest value that is taken.
        high: Highest one.
        owner: The controller that has claimed it; empty where none has.
        limited: −1 or 1 where the last command was below or above the range, else 0.
    """

    value: float
    low: float
    high: float
    owner: str = ""
    limited: int = 0


class ResourceManager:
    """Registry of command and state interfaces by their names, such as ``segment1/kappa``.

    ``initial_value``, ``min`` and ``max`` of the U(C)RDF are honoured, and the limits of the
    bendable or the joint besides. A bendable whose ``phi`` is not commanded keeps its initial value
    (0 where there is none).
    """

    def __init__(self, robot: Robot) -> None:
        """Make the interfaces that the ``ros2_control`` elements of a robot list.

        Raises:
            DescriptionError: The robot has none, or two of them command one interface.
        """
        if not robot.control:
            raise DescriptionError(
                "expected a ros2_control element that names its interfaces, found none",
                field=robot.name,
            )
        self.commands: dict[str, Command] = {}
        self.states: dict[str, float] = {}
        self.period = 0.0
        """Time between two ticks of the robot [s]; 0 without one."""
        self._fixed: dict[str, float] = {}
        bodies: dict[str, Bendable | RigidJoint] = {
            **{part.name: part for part in robot.bendables},
            **{joint.name: joint for joint in robot.joints},
        }
        for system in robot.control:
            for joint in system.joints:
                self._offer(joint, bodies[joint.name])

    def _offer(self, joint: ControlledJoint, part: Bendable | RigidJoint) -> None:
        for interface in joint.commands:
            name, (low, high) = f"{joint.name}/{interface.name}", _range(interface, part)
            if name in self.commands:
                raise DescriptionError(f"expected one command interface '{name}', found two")
            rest = (
                part.backbone.length
                if interface.name == "l" and isinstance(part, Bendable)
                else 0.0
            )
            start = (
                min(max(rest, low), high)
                if interface.initial_value is None
                else interface.initial_value
            )
            if not low <= start <= high:
                raise DescriptionError(
                    f"expected a range and an initial value within the limits of '{joint.name}', "
                    f"found {start:g} in [{low:g}, {high:g}]",
                    field=name,
                )
            self.commands[name] = Command(start, low, high)
        for interface in joint.states:
            self.states[f"{joint.name}/{interface.name}"] = interface.initial_value or 0.0
        if isinstance(part, Bendable) and f"{joint.name}/phi" not in self.commands:
            initial_angles = [
                interface.initial_value for interface in joint.states if interface.name == "phi"
            ]
            first = next(
                (value for value in initial_angles if value is not None), part.limits.phi_min
            )
            self._fixed[f"{joint.name}/phi"] = first or 0.0

    def offer_moment(self, name: str) -> None:
        """Add an interface for a bending moment [N·m] instead of a curvature."""
        self.commands[name] = Command(0.0, -math.inf, math.inf)

    def claim(self, names: Iterable[str], owner: str) -> None:
        """Claim command interfaces for a controller, all of them or none.

        Raises:
            DescriptionError: One does not exist, belongs to another controller, or commands a
                segment by another quantity than one that does.
        """
        requested = list(names)
        for name in requested:
            if name not in self.commands:
                hint = did_you_mean(name, self.commands)
                raise DescriptionError(f"no command interface '{name}'; {hint}", field=owner)
            for other in (name, *self._instead_of(name)):
                held = self.commands[other].owner
                if held and (held != owner or other != name):
                    raise DescriptionError(
                        f"expected '{other}' to be free, found it claimed by '{held}'", field=owner
                    )
        for name in requested:
            self.commands[name].owner = owner

    def _instead_of(self, name: str) -> list[str]:
        """Return interfaces that command the same segment by its other quantity."""
        joint, _, interface_name = name.rpartition("/")
        is_moment = interface_name.startswith(MOMENTS)
        beside = (other.rpartition("/") for other in self.commands)
        return [
            f"{of}/{other}"
            for of, _, other in beside
            if of == joint and other.startswith(MOMENTS) != is_moment
        ]

    def release(self, owner: str) -> None:
        """Release all interfaces of a controller."""
        for command in self.commands.values():
            if command.owner == owner:
                command.owner = ""

    def command(self, name: str, value: float, owner: str) -> None:
        """Set a command, limited to the range of its interface.

        Raises:
            DescriptionError: The interface is not the controller's, or the value is not finite.

        Warns:
            SoftgraspWarning: The value is beyond a limit that the one before was not beyond.
        """
        interface = self.commands.get(name)
        if interface is None or interface.owner != owner:
            holder = (
                "nobody" if interface is None or not interface.owner else f"'{interface.owner}'"
            )
            raise DescriptionError(
                f"expected '{name}' to be claimed by '{owner}', found it with {holder}"
            )
        if not math.isfinite(value):
            raise DescriptionError(f"expected a finite command of '{name}', found {value}")
        if name.endswith("/phi"):
            # the same plane may have angles that differ by whole revolutions
            wrapped = angle_within(value, interface.low, interface.high)
            value = wrapped if math.isclose(math.cos(wrapped - value), 1.0) else value
        interface.value = min(max(value, interface.low), interface.high)
        beyond = value - interface.value
        was_limited, interface.limited = interface.limited, 0
        if abs(beyond) > ROUNDING:
            interface.limited = 1 if beyond > 0.0 else -1
        if interface.limited not in (0, was_limited):
            warnings.warn(
                f"'{name}': expected a command from {interface.low:g} to {interface.high:g}, "
                f"found {value:g} of '{owner}'; it is clipped",
                SoftgraspWarning,
                stacklevel=2,
            )

    def commanded(self, name: str) -> float:
        """Return the command of an interface, or the constant value of an uncommanded one."""
        interface = self.commands.get(name)
        return self._fixed.get(name, 0.0) if interface is None else interface.value


def _range(interface: Interface, part: Bendable | RigidJoint) -> tuple[float, float]:
    """Return the bounds of an interface, intersected with those of its segment or joint."""
    low = -math.inf if interface.min is None else interface.min
    high = math.inf if interface.max is None else interface.max
    first, last = _part_range(interface.name, part)
    return max(low, first), min(high, last)


def _part_range(name: str, part: Bendable | RigidJoint) -> tuple[float, float]:
    bounds: tuple[float | None, float | None] = (None, None)
    if isinstance(part, RigidJoint):
        if name == "position" and part.type != "continuous":
            bounds = (part.lower, part.upper)
    elif name.startswith("kappa"):
        bounds = (-part.kappa_max, part.kappa_max)
    elif name == "phi":
        bounds = (part.limits.phi_min, part.limits.phi_max)
    elif part.limits.eps_min is not None and part.limits.eps_max is not None:
        length = part.backbone.length
        bounds = (length * (1.0 + part.limits.eps_min), length * (1.0 + part.limits.eps_max))
    low, high = bounds
    return -math.inf if low is None else low, math.inf if high is None else high


def vector_of(kappa: ArrayLike | float, phi: ArrayLike | float) -> Array:
    """Convert curvatures [1/m] and plane angles [rad] to (u, v), (..., 2)."""
    if isinstance(kappa, float) and isinstance(phi, float):  # in every control period
        return np.array([kappa * math.cos(phi), kappa * math.sin(phi)])
    kappa, phi = np.asarray(kappa, dtype=float), np.asarray(phi, dtype=float)
    return np.stack([kappa * np.cos(phi), kappa * np.sin(phi)], axis=-1)


def curvature_of(vector: ArrayLike, phi_before: float = 0.0) -> tuple[float, float]:
    """Convert (u, v) to κ [1/m] and φ [rad]; φ is unchanged where the segment is straight."""
    u, v = vector if isinstance(vector, list) else np.asarray(vector, dtype=float).tolist()
    kappa = math.hypot(u, v)
    return (kappa, math.atan2(v, u)) if kappa > STRAIGHT else (kappa, phi_before)


def within(vector: Array, longest: float) -> Array:
    """Shorten a vector to a maximum length."""
    u, v = vector.tolist()
    if math.hypot(u, v) * (1.0 + ROUNDING) <= longest:
        return vector
    length = float(np.hypot(u, v))
    return vector if length <= longest else vector * (longest / length)


def angle_within(angle: float, low: float, high: float) -> float:
    """Return an equivalent angle between two bounds, or the nearer bound [rad]."""
    if angle < low:
        angle += math.tau * math.ceil((low - angle) / math.tau)
    elif angle > high:
        angle -= math.tau * math.ceil((angle - high) / math.tau)
    if low <= angle <= high:
        return angle
    return min(low, high, key=lambda bound: abs(math.remainder(angle - bound, math.tau)))
