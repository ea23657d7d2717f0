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

TOLERANCE = 1e-9
"""How far beyond its range a target may be, over its size."""


class BendCommand:
    """(u, v) as commands ``kappa`` and ``phi``, or ``kappa`` alone where ``phi`` is fixed."""

    def __init__(self, robot: Robot, part: Bendable) -> None:
        """Look up what the robot's ``ros2_control`` commands of a segment.

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
        """Largest speed of the plane, ``phi_dot_max`` [rad/s]; of one that turns."""
        return None if self.fixed else self.part.limits.phi_dot_max

    @property
    def claims(self) -> list[str]:
        """Names of its command interfaces."""
        return [self._kappa] if self.fixed else [self._kappa, self._phi]

    def vector(self, resources: ResourceManager) -> Array:
        """What is commanded now [1/m], (2,)."""
        return vector_of(resources.commanded(self._kappa), resources.commanded(self._phi))

    def aimed(self, resources: ResourceManager, target: Sequence[float] | float) -> Array:
        """The vector of a target κ [1/m] and φ [rad], (2,); κ alone where the plane is fixed.

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
            f"expected a curvature from {interface.low:g} to {interface.high:g} 1/m and a plane from "
            f"{plane_range.low:g} to {plane_range.high:g} rad, found {kappa:g} and {phi:g}"
        )

    def admitted(self, resources: ResourceManager, vector: Array) -> Array:
        """The nearest vector that can be commanded [1/m], (2,)."""
        interface = resources.commands[self._kappa]
        if self.fixed:
            towards = vector_of(1.0, resources.commanded(self._phi))
            return np.asarray(np.clip(vector @ towards, interface.low, interface.high) * towards)
        plane = resources.commands[self._phi]
        kappa, phi = curvature_of(within(vector, interface.high), resources.commanded(self._phi))
        return vector_of(max(kappa, interface.low), angle_within(phi, plane.low, plane.high))

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
