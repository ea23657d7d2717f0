"""The continuum joint trajectory controller (cJTC, paper 002): from shape to shape in step."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from softgrasp.control.bends import STRAIGHT, curvature_of, vector_of
from softgrasp.control.resources import ResourceManager
from softgrasp.description.robot import Robot
from softgrasp.errors import DescriptionError, did_you_mean
from softgrasp.mechanics.transforms import Array, minimum_jerk

PEAK = 1.875
"""Largest speed of a quintic from rest to rest, in ways a time."""


class JointTrajectoryController:
    """Moves all segments to target curvatures by one quintic in (u, v).

    The way between two points of the disc κ ≤ κ_max stays in it, and no segment is faster than its
    ``kappa_dot_max``.
    """

    def __init__(self, robot: Robot, name: str = "continuum_joint_trajectory_controller") -> None:
        """Set up by the robot's description."""
        self.name = name
        self._parts = {part.name: part for part in robot.bendables}
        self._begin: dict[str, Array] = {}
        self._target: dict[str, Array] = {}
        self._phis: dict[str, float] = {}
        self._start_time, self.duration = 0.0, 0.0

    def claims(self) -> list[str]:
        """Curvature and plane of every segment; only the curvature of planar ones."""
        parts = self._parts.values()
        return [f"{p.name}/{k}" for p in parts for k in ("kappa", "phi")[: 2 - p.planar]]

    def start(self, resources: ResourceManager, now: float) -> None:
        """Stand still at the curvatures that are commanded."""
        for name in self._parts:
            self._phis[name] = resources.commanded(f"{name}/phi")
            place = vector_of(resources.commanded(f"{name}/kappa"), self._phis[name])
            self._begin[name] = self._target[name] = place
        self._start_time, self.duration = now, 0.0

    def go(
        self, target: Mapping[str, tuple[float, float]], now: float, duration: float | None = None
    ) -> float:
        """Begin to move to a shape; returns how long that takes [s].

        Args:
            target: κ [1/m] and φ [rad] of the segments that move.
            now: Time at which it begins [s].
            duration: How long to take [s]; as short as the rates allow where not given.

        Raises:
            DescriptionError: A segment does not exist, bends too far, or would be too fast.
        """
        place = {name: self._at(name, now) for name in self._parts}
        ends = dict(place)
        for name, (kappa, phi) in target.items():
            if name not in self._parts:
                raise DescriptionError(f"no bendable '{name}'; {did_you_mean(name, self._parts)}")
            most = self._parts[name].kappa_max
            if not abs(kappa) <= most * (1.0 + STRAIGHT):
                raise DescriptionError(
                    f"expected a curvature of at most {most:g} 1/m, found {kappa:g}",
                    field=f"bendable '{name}'",
                )
            ends[name] = vector_of(kappa, phi)
        least = max((self._least(name, ends[name] - place[name]) for name in ends), default=0.0)
        if duration is not None and duration < least * (1.0 - 1e-12):
            raise DescriptionError(
                f"expected at least {least:.4g} s for these rates, found {duration:.4g} s",
                field="duration",
            )
        self._begin, self._target = place, ends
        self._start_time, self.duration = now, least if duration is None else duration
        return self.duration

    def update(self, resources: ResourceManager, now: float, period: float) -> None:
        """Command the shape of the end of this period."""
        for name, part in self._parts.items():
            vector = self._at(name, now + period)
            if part.planar:
                kappa = float(vector @ vector_of(1.0, self._phis[name]))
                resources.command(f"{name}/kappa", kappa, self.name)
                continue
            kappa, self._phis[name] = curvature_of(vector, self._phis[name])
            resources.command(f"{name}/kappa", kappa, self.name)
            resources.command(f"{name}/phi", self._phis[name], self.name)

    def samples(self, rate: float) -> tuple[Array, dict[str, Array]]:
        """The whole motion at a rate [Hz]: times (n,) from 0 to its end and (u, v), (n, 2) each."""
        count = math.ceil(self.duration * rate - 1e-9) + 1
        times = np.minimum(np.arange(count) / rate, self.duration)
        begin = self._start_time
        vectors = {
            name: np.stack([self._at(name, begin + time) for time in times.tolist()])
            for name in self._parts
        }
        return times, vectors

    def _least(self, name: str, way: Array) -> float:
        rate = self._parts[name].limits.kappa_dot_max
        return 0.0 if rate is None else PEAK * float(np.hypot(*way)) / rate

    def _at(self, name: str, time: float) -> Array:
        if self.duration <= 0.0:
            return self._target[name]
        share = min(max((time - self._start_time) / self.duration, 0.0), 1.0)
        way = self._target[name] - self._begin[name]
        return np.asarray(self._begin[name] + float(minimum_jerk(share)) * way)
