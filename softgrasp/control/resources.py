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
        for own in joint.commands:
            name, (low, high) = f"{joint.name}/{own.name}", _range(own, part)
            if name in self.commands:
                raise DescriptionError(f"expected one command interface '{name}', found two")
            rest = part.backbone.length if own.name == "l" and isinstance(part, Bendable) else 0.0
            start = min(max(rest, low), high) if own.initial_value is None else own.initial_value
            if not low <= start <= high:
                raise DescriptionError(
                    f"expected a range and an initial value within the limits of '{joint.name}', "
                    f"found {start:g} in [{low:g}, {high:g}]",
                    field=name,
                )
            self.commands[name] = Command(start, low, high)
        for own in joint.states:
            self.states[f"{joint.name}/{own.name}"] = own.initial_value or 0.0
        if isinstance(part, Bendable) and f"{joint.name}/phi" not in self.commands:
            told = [own.initial_value for own in joint.states if own.name == "phi"]
            first = next((value for value in told if value is not None), part.limits.phi_min)
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
        wanted = list(names)
        for name in wanted:
            if name not in self.commands:
                hint = did_you_mean(name, self.commands)
                raise DescriptionError(f"no command interface '{name}'; {hint}", field=owner)
            for other in (name, *self._instead_of(name)):
                held = self.commands[other].owner
                if held and (held != owner or other != name):
                    raise DescriptionError(
                        f"expected '{other}' to be free, found it claimed by '{held}'", field=owner
                    )
        for name in wanted:
            self.commands[name].owner = owner

    def _instead_of(self, name: str) -> list[str]:
        """Interfaces that command the same segment in the other way."""
        joint, _, own = name.rpartition("/")
        ways = own.startswith(MOMENTS)
        beside = (other.rpartition("/") for other in self.commands)
        return [
            f"{of}/{other}"
            for of, _, other in beside
            if of == joint and other.startswith(MOMENTS) != ways
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
        own = self.commands.get(name)
        if own is None or own.owner != owner:
            holder = "nobody" if own is None or not own.owner else f"'{own.owner}'"
            raise DescriptionError(
                f"expected '{name}' to be claimed by '{owner}', found it with {holder}"
            )
        if not math.isfinite(value):
            raise DescriptionError(f"expected a finite command of '{name}', found {value}")
        if name.endswith("/phi"):
            # the same plane may be told by angles that are whole turns apart
            turned = angle_within(value, own.low, own.high)
            value = turned if math.isclose(math.cos(turned - value), 1.0) else value
        own.value = min(max(value, own.low), own.high)
        beyond = value - own.value
        was_limited, own.limited = own.limited, 0
        if abs(beyond) > ROUNDING:
            own.limited = 1 if beyond > 0.0 else -1
        if own.limited not in (0, was_limited):
            warnings.warn(
                f"'{name}': expected a command from {own.low:g} to {own.high:g}, found {value:g} "
                f"of '{owner}'; it is kept within",
                SoftgraspWarning,
                stacklevel=2,
            )

    def commanded(self, name: str) -> float:
        """The command of an interface, or the fixed value of one that cannot be commanded."""
        own = self.commands.get(name)
        return self._fixed.get(name, 0.0) if own is None else own.value


def _range(own: Interface, part: Bendable | RigidJoint) -> tuple[float, float]:
    """Bounds of an interface: its own, and those of the part."""
    low = -math.inf if own.min is None else own.min
    high = math.inf if own.max is None else own.max
    first, last = _part_range(own.name, part)
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
