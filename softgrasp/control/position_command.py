"""How the position of a rigid joint is commanded."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from softgrasp.control.resources import ResourceManager
from softgrasp.description.robot import RigidJoint, Robot
from softgrasp.errors import DescriptionError
from softgrasp.mechanics.transforms import Array


class PositionCommand:
    """A joint variable as a vector of one number [rad or m]."""

    rotation_rate = None
    """It has no plane that turns."""

    def __init__(self, joint: RigidJoint) -> None:
        """Command a joint."""
        self._joint, self._name = joint, f"{joint.name}/position"

    @property
    def rate(self) -> float | None:
        """Its largest speed [rad/s or m/s]."""
        return self._joint.velocity or None

    @property
    def claims(self) -> list[str]:
        """Name of its command interface."""
        return [self._name]

    def vector(self, resources: ResourceManager) -> Array:
        """What is commanded now, (1,)."""
        return np.array([resources.commanded(self._name)])

    def aimed(self, resources: ResourceManager, target: Sequence[float] | float) -> Array:
        """A target as a vector, (1,).

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
        return np.clip(vector, interface.low, interface.high)

    def write(self, resources: ResourceManager, owner: str, vector: Array) -> None:
        """Command a position."""
        resources.command(self._name, float(vector[0]), owner)


def position_commands(robot: Robot) -> dict[str, PositionCommand]:
    """Commands of all rigid joints whose position is commanded, by their names."""
    commanded = {
        joint.name
        for system in robot.control
        for joint in system.joints
        if any(interface.name == "position" for interface in joint.commands)
    }
    return {joint.name: PositionCommand(joint) for joint in robot.joints if joint.name in commanded}
