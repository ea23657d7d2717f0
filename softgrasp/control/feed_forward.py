"""The continuum feed-forward controller (cFFC, paper 002): a stick moves the curvature."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from softgrasp.control.bends import curvature_of, vector_of, within
from softgrasp.control.resources import ResourceManager
from softgrasp.description.robot import Robot
from softgrasp.errors import DescriptionError, did_you_mean

DEADZONE = 0.1
"""Deflection below which a stick does nothing; what is left is stretched to the whole range."""
Sticks = Callable[[float], Mapping[str, tuple[float, float]]]
"""Deflections (x, y) of the stick of each segment at a time [s], each at most 1 long."""


class FeedForwardController:
    """Adds ``kappa_dot_max`` · deflection · time to (u, v), within ``kappa_max``."""

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
            DescriptionError: A segment does not exist, or has no ``kappa_dot_max``.
        """
        self.name, self._sticks = name, sticks
        known = {part.name: part for part in robot.bendables}
        self._parts = []
        for segment in segments if segments is not None else list(known):
            if segment not in known:
                raise DescriptionError(f"no bendable '{segment}'; {did_you_mean(segment, known)}")
            if known[segment].limits.kappa_dot_max is None:
                raise DescriptionError(
                    "expected kappa_dot_max, the rate of a stick at its stop, found none",
                    field=f"bendable '{segment}'",
                )
            self._parts.append(known[segment])
        self._vectors: dict[str, np.ndarray] = {}
        self._phis: dict[str, float] = {}

    def claims(self) -> list[str]:
        """Curvature and plane of its segments; only the curvature of planar ones."""
        return [f"{p.name}/{k}" for p in self._parts for k in ("kappa", "phi")[: 2 - p.planar]]

    def start(self, resources: ResourceManager, now: float) -> None:
        """Go on from the curvatures that are commanded."""
        for part in self._parts:
            phi = resources.commanded(f"{part.name}/phi")
            self._phis[part.name] = phi
            self._vectors[part.name] = vector_of(resources.commanded(f"{part.name}/kappa"), phi)

    def update(self, resources: ResourceManager, now: float, period: float) -> None:
        """Move the curvatures by the sticks' deflections."""
        sticks = self._sticks(now)
        for part in self._parts:
            rate = part.limits.kappa_dot_max or 0.0
            high = resources.commands[f"{part.name}/kappa"].high
            push = deflection(sticks.get(part.name, (0.0, 0.0)))
            moved = self._vectors[part.name] + rate * period * push
            if part.planar:
                plane = vector_of(1.0, self._phis[part.name])
                command = resources.commands[f"{part.name}/kappa"]
                kappa = float(np.clip(moved @ plane, command.low, command.high))
                self._vectors[part.name] = kappa * plane
                resources.command(f"{part.name}/kappa", kappa, self.name)
                continue
            self._vectors[part.name] = within(moved, high)
            kappa, phi = curvature_of(self._vectors[part.name], self._phis[part.name])
            self._phis[part.name] = phi
            resources.command(f"{part.name}/kappa", kappa, self.name)
            resources.command(f"{part.name}/phi", phi, self.name)


def deflection(stick: tuple[float, float]) -> np.ndarray:
    """A stick's deflection without its dead zone, at most 1 long, (2,)."""
    given = np.asarray(stick, dtype=float)
    length = float(np.hypot(*given))
    if length <= DEADZONE:
        return np.zeros(2)
    return np.asarray(given / length * min((length - DEADZONE) / (1.0 - DEADZONE), 1.0))
