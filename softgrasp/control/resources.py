"""The interfaces that hardware offers, and who has claimed them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from softgrasp.description.bendable import Bendable
from softgrasp.description.control_system import ControlledJoint, Interface
from softgrasp.description.robot import Robot
from softgrasp.errors import DescriptionError, did_you_mean


@dataclass
class Command:
    """A quantity that can be commanded.

    Args:
        value: What is commanded now.
        low: Lowest value that is taken.
        high: Highest one.
        owner: The controller that has claimed it; empty where none has.
    """

    value: float
    low: float
    high: float
    owner: str = ""


class ResourceManager:
    """Command and state interfaces by their names, such as ``segment1/kappa``.

    ``initial_value``, ``min`` and ``max`` of the U(C)RDF are honoured, and the limits of the
    bendable besides. One whose ``phi`` is not commanded keeps its initial value, or 0.
    """

    def __init__(self, robot: Robot) -> None:
        """Offer what the ``ros2_control`` elements of a robot name.

        Raises:
            DescriptionError: The robot has none.
        """
        if not robot.control:
            raise DescriptionError(
                "expected a ros2_control element that names its interfaces, found none",
                field=robot.name,
            )
        self.commands: dict[str, Command] = {}
        self.states: dict[str, float] = {}
        self._fixed: dict[str, float] = {}
        bendables = {part.name: part for part in robot.bendables}
        for system in robot.control:
            for joint in system.joints:
                self._offer(joint, bendables.get(joint.name))

    def _offer(self, joint: ControlledJoint, part: Bendable | None) -> None:
        for own in joint.commands:
            low, high = _range(own, part)
            start = own.initial_value if own.initial_value is not None else min(max(0.0, low), high)
            self.commands[f"{joint.name}/{own.name}"] = Command(start, low, high)
        for own in joint.states:
            self.states[f"{joint.name}/{own.name}"] = own.initial_value or 0.0
        if part is not None and f"{joint.name}/phi" not in self.commands:
            told = [own.initial_value for own in joint.states if own.name == "phi"]
            first = next((value for value in told if value is not None), part.limits.phi_min)
            self._fixed[f"{joint.name}/phi"] = first or 0.0

    def claim(self, names: Iterable[str], owner: str) -> None:
        """Give command interfaces to a controller, all of them or none.

        Raises:
            DescriptionError: One does not exist, or belongs to another controller.
        """
        wanted = list(names)
        for name in wanted:
            if name not in self.commands:
                hint = did_you_mean(name, self.commands)
                raise DescriptionError(f"no command interface '{name}'; {hint}", field=owner)
            held = self.commands[name].owner
            if held not in ("", owner):
                raise DescriptionError(
                    f"expected '{name}' to be free, found it claimed by '{held}'", field=owner
                )
        for name in wanted:
            self.commands[name].owner = owner

    def release(self, owner: str) -> None:
        """Take all interfaces from a controller."""
        for command in self.commands.values():
            if command.owner == owner:
                command.owner = ""

    def command(self, name: str, value: float, owner: str) -> None:
        """Command a value; it is kept within the limits of its interface.

        Raises:
            DescriptionError: The interface is not the controller's, or the value is not finite.
        """
        own = self.commands.get(name)
        if own is None or own.owner != owner:
            holder = "nobody" if own is None or not own.owner else f"'{own.owner}'"
            raise DescriptionError(
                f"expected '{name}' to be claimed by '{owner}', found it with {holder}"
            )
        if not math.isfinite(value):
            raise DescriptionError(f"expected a finite command of '{name}', found {value}")
        own.value = min(max(value, own.low), own.high)

    def commanded(self, name: str) -> float:
        """The command of an interface, or the fixed value of one that cannot be commanded."""
        own = self.commands.get(name)
        return self._fixed.get(name, 0.0) if own is None else own.value


def _range(own: Interface, part: Bendable | None) -> tuple[float, float]:
    low = -math.inf if own.min is None else own.min
    high = math.inf if own.max is None else own.max
    if part is None:
        return low, high
    if own.name.startswith("kappa"):
        return max(low, -part.kappa_max), min(high, part.kappa_max)
    limits = part.limits
    if own.name == "phi" and limits.phi_min is not None and limits.phi_max is not None:
        return max(low, limits.phi_min), min(high, limits.phi_max)
    return low, high
