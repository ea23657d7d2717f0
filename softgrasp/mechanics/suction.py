"""Seal and load limits of a suction cup, after Mahler et al. (2018, Dex-Net 3.0).

The lip is a ring of n vertices below an apex. Springs connect neighbours (perimeter), every second
vertex (flexion), and the vertices with the apex (cone). The cup is moved along its axis on to a
surface; it seals where no spring changes its length by more than a limit and nothing protrudes
through the cone. ``sim.suction`` applies this to the contacts of a running model.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import numpy as np

from softgrasp.mechanics.transforms import Array

LoadLimit = Literal["pull", "shear", "moment", "torsion"]
INNER_RINGS = (0.0, 0.5)
"""Radii over that of the lip at which the surface must be below the cone [–]."""
OPENING_RATIO = 0.5
"""Moment at which an elastic lip begins to open, over normal force times radius [–]: the force per
length N/(2π·r) + M/(π·r²)·cos φ of a ring is zero at M = N·r/2."""


def lip_points(radius: float, count: int) -> Array:
    """Return the points of a lip around the origin, and of the rings inside, in its plane.

    Args:
        radius: Radius of the lip [m].
        count: Points of the lip.

    Returns:
        (1 + number of inner rings, count, 2) [m]; the first ring is the lip.
    """
    angles = math.tau * np.arange(count) / count
    ring = radius * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    return np.stack([ring, *(ratio * ring for ratio in INNER_RINGS)])


def lip_strain(depths: Array, radius: float, height: float) -> float:
    """Compute the largest relative change of length of the springs of a cup on a surface.

    Args:
        depths: Distance of the surface below the plane of the lip at its points, (n,) [m].
        radius: Radius of the lip [m].
        height: Height of the apex over the plane of the lip [m].
    """
    flat = np.column_stack([lip_points(radius, len(depths))[0], np.zeros(len(depths))])
    bent = flat + np.outer(depths - depths.mean(), [0.0, 0.0, 1.0])
    apex = np.array([0.0, 0.0, -height])

    def lengths(ring: Array) -> Array:
        springs = (np.roll(ring, 1, 0) - ring, np.roll(ring, 2, 0) - ring, ring - apex)
        return np.asarray(np.linalg.norm(np.concatenate(springs), axis=1))

    return float(np.abs(lengths(bent) / lengths(flat) - 1.0).max())


def is_blocked(depths: Array, height: float) -> bool:
    """Return whether a surface protrudes through the cone of a cup.

    Args:
        depths: Distance of the surface below the plane of the lip at ``lip_points``, (k, n) [m].
        height: Height of the apex over the plane of the lip [m].
    """
    lip = depths[0].mean()
    cone = [lip - height * (1.0 - ratio) for ratio in INNER_RINGS]
    return bool((depths[1:] < np.array(cone)[:, None]).any())


class LipLoad(NamedTuple):
    """Wrench of an object on the lip of a sealed cup."""

    suction: float
    """Pressure times area [N]."""
    normal: float
    """Sum of the contact forces along the axis [N]: suction less pull."""
    shear: float
    """Contact force across the axis [N]."""
    moment: float
    """Contact moment across the axis, at the centre of the lip [N·m]."""
    torsion: float
    """Contact moment about the axis [N·m]."""

    @property
    def pull(self) -> float:
        """Force that pulls the object off the cup [N]."""
        return self.suction - self.normal

    def usage(
        self, friction: float, radius: float, moment_limit: float | None = None
    ) -> dict[LoadLimit, float]:
        """Return each component over its limit [–]; the wrench leaves the limits at 1.

        The limits are ΔpA of the pull, µN of the shear, µ·r·N of the torsion, and of the moment the
        opening of the lip or the stated limit, whichever is lower.

        Args:
            friction: µ of lip and object [–].
            radius: Radius of the lip [m].
            moment_limit: Largest moment [N·m]; None for that of the opening only.
        """
        normal = max(self.normal, 0.0)
        moment = OPENING_RATIO * normal * radius
        limits: dict[LoadLimit, tuple[float, float]] = {
            "pull": (self.pull, self.suction),
            "shear": (self.shear, friction * normal),
            "moment": (self.moment, min(moment, moment_limit or math.inf)),
            "torsion": (abs(self.torsion), friction * radius * normal),
        }
        return {
            name: load / limit if limit > 0.0 else 0.0 for name, (load, limit) in limits.items()
        }
