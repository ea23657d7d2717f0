"""How the bending of one segment is commanded: in every plane, or in one that stands still."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from softgrasp.control.bends import angle_within, curvature_of, vector_of, within
from softgrasp.control.resources import ResourceManager
from softgrasp.description.bendable import Bendable
from softgrasp.description.robot import Robot
from softgrasp.errors import DescriptionError, did_you_mean
from softgrasp.mechanics.transforms import Array


class BendCommand:
    """(u, v) as commands ``kappa`` and ``phi``, or ``kappa`` alone where ``phi`` is fixed."""

    def __init__(self, robot: Robot, part: Bendable) -> None:
        """Look up what the robot's ``ros2_control`` commands of a segment.

        Raises:
            DescriptionError: Its curvature is not commanded.
        """
        self.part, self._kappa, self._phi = part, f"{part.name}/kappa", f"{part.name}/phi"
        commanded = {
            f"{joint.name}/{own.name}"
            for system in robot.control
            for joint in system.joints
            for own in joint.commands
        }
        if self._kappa not in commanded:
            raise DescriptionError(
                f"expected a command interface '{self._kappa}', found none",
                field=f"bendable '{part.name}'",
            )
        self.fixed = part.planar or self._phi not in commanded

    @property
    def claims(self) -> list[str]:
        """Names of its command interfaces."""
        return [self._kappa] if self.fixed else [self._kappa, self._phi]

    def vector(self, resources: ResourceManager) -> Array:
        """What is commanded now [1/m], (2,)."""
        return vector_of(resources.commanded(self._kappa), resources.commanded(self._phi))

    def admitted(self, resources: ResourceManager, vector: Array) -> Array:
        """The nearest vector that can be commanded [1/m], (2,)."""
        own = resources.commands[self._kappa]
        if self.fixed:
            towards = vector_of(1.0, resources.commanded(self._phi))
            return np.asarray(np.clip(vector @ towards, own.low, own.high) * towards)
        plane = resources.commands[self._phi]
        kappa, phi = curvature_of(within(vector, own.high), resources.commanded(self._phi))
        return vector_of(max(kappa, own.low), angle_within(phi, plane.low, plane.high))

    def write(self, resources: ResourceManager, owner: str, vector: Array) -> None:
        """Command an admitted vector; ``phi`` is kept where it is straight."""
        phi = resources.commanded(self._phi)
        if self.fixed:
            resources.command(self._kappa, float(vector @ vector_of(1.0, phi)), owner)
            return
        kappa, phi = curvature_of(vector, phi)
        plane = resources.commands[self._phi]
        resources.command(self._kappa, kappa, owner)
        resources.command(self._phi, angle_within(phi, plane.low, plane.high), owner)


def bend_commands(robot: Robot, segments: Sequence[str] | None = None) -> dict[str, BendCommand]:
    """Commands of segments by their names; of all whose curvature is commanded, where not given.

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
