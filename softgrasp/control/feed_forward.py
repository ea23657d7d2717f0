"""The continuum feed-forward controller (cFFC, paper 002): a stick moves the curvature."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from softgrasp.control.bend_command import bend_commands
from softgrasp.control.bends import STRAIGHT
from softgrasp.control.resources import ResourceManager
from softgrasp.description.robot import Robot
from softgrasp.errors import DescriptionError, did_you_mean
from softgrasp.mechanics.transforms import Array

DEADZONE = 0.1
"""Deflection below which a stick does nothing; what is left is stretched to the whole range."""
Sticks = Callable[[float], Mapping[str, tuple[float, float]]]
"""Deflections (x, y) of the stick of each segment at a time [s], each at most 1 long."""


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
        """Curvature and plane of its segments; only the curvature where the plane is fixed."""
        return [claim for command in self._commands.values() for claim in command.claims]

    def start(self, resources: ResourceManager, now: float) -> None:
        """Go on from the curvatures that are commanded."""
        self._vectors = {
            name: command.vector(resources) for name, command in self._commands.items()
        }

    def update(self, resources: ResourceManager, now: float, period: float) -> None:
        """Move the curvatures by the sticks' deflections.

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
    """A stick's deflection without its dead zone, at most 1 long, (2,)."""
    deflection_xy = np.asarray(stick, dtype=float)
    length = float(np.hypot(*deflection_xy))
    if length <= DEADZONE:
        return np.zeros(2)
    return np.asarray(deflection_xy / length * min((length - DEADZONE) / (1.0 - DEADZONE), 1.0))


def rate_limited(vector: Array, push: Array, angle: float) -> Array:
    """A push of a vector whose part across turns it by no more than an angle, (2,)."""
    size = float(np.hypot(*vector))
    if size <= STRAIGHT:
        return push
    along = vector / size
    across = np.array([-along[1], along[0]])
    outwards = float(push @ along)
    limit = max(size + outwards, 0.0) * np.tan(min(angle, 1.5))
    return np.asarray(outwards * along + float(np.clip(push @ across, -limit, limit)) * across)
