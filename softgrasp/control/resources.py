"""The interfaces that hardware offers, and who has claimed them."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable
from dataclasses import dataclass

from softgrasp.control.bends import angle_within
from softgrasp.description.bendable import Bendable
from softgrasp.description.control_system import ControlledJoint, Interface
from softgrasp.description.robot import RigidJoint, Robot
from softgrasp.errors import DescriptionError, SoftgraspWarning, did_you_mean

ROUNDING = 1e-9
"""A command that is beyond its range by less is no mistake."""
MOMENTS = "moment"
"""Interfaces whose names begin so command a bending moment in the place of a curvature."""


@dataclass
class Command:
    """A quantity that can be commanded.

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
    """Command and state interfaces by their names, such as ``segment1/kappa``.

    ``initial_value``, ``min`` and ``max`` of the U(C)RDF are honoured, and the limits of the
    bendable or the joint besides. A bendable whose ``phi`` is not commanded keeps its initial value
    (0 where there is none).
    """

    def __init__(self, robot: Robot) -> None:
        """Offer what the ``ros2_control`` elements of a robot name.

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
        """Let hardware offer a bending moment [N·m] in the place of a curvature."""
        self.commands[name] = Command(0.0, -math.inf, math.inf)

    def claim(self, names: Iterable[str], owner: str) -> None:
        """Give command interfaces to a controller, all of them or none.

        Raises:
            DescriptionError: One does not exist, belongs to another controller, or commands a
                segment in another way than one that does.
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
        """Interfaces that command the same segment in the other way."""
        joint, _, interface_name = name.rpartition("/")
        is_moment = interface_name.startswith(MOMENTS)
        beside = (other.rpartition("/") for other in self.commands)
        return [
            f"{of}/{other}"
            for of, _, other in beside
            if of == joint and other.startswith(MOMENTS) != is_moment
        ]

    def release(self, owner: str) -> None:
        """Take all interfaces from a controller."""
        for command in self.commands.values():
            if command.owner == owner:
                command.owner = ""

    def command(self, name: str, value: float, owner: str) -> None:
        """Command a value; it is kept within the limits of its interface.

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
            # the same plane may be told by angles that are whole turns apart
            wrapped = angle_within(value, interface.low, interface.high)
            value = wrapped if math.isclose(math.cos(wrapped - value), 1.0) else value
        interface.value = min(max(value, interface.low), interface.high)
        beyond = value - interface.value
        was_limited, interface.limited = interface.limited, 0
        if abs(beyond) > ROUNDING:
            interface.limited = 1 if beyond > 0.0 else -1
        if interface.limited not in (0, was_limited):
            warnings.warn(
                f"'{name}': expected a command from {interface.low:g} to {interface.high:g}, found {value:g} "
                f"of '{owner}'; it is kept within",
                SoftgraspWarning,
                stacklevel=2,
            )

    def commanded(self, name: str) -> float:
        """The command of an interface, or the fixed value of one that cannot be commanded."""
        interface = self.commands.get(name)
        return self._fixed.get(name, 0.0) if interface is None else interface.value


def _range(interface: Interface, part: Bendable | RigidJoint) -> tuple[float, float]:
    """Bounds of an interface: its own, and those of the part."""
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
