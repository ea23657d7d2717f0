"""The shortest reach of a convex body: its nearest facet, found with few of all points.

Cutting planes: the hull of some of a body's points lies in it, so its nearest facet is a lower
bound of the reach min h(u) over unit u; the body's reach along the facet's normal is an upper
bound, and the point that has it joins the hull. Far from the origin the hull stays coarse. For a
polytope this ends with the exact value.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

from softgrasp.mechanics.quality.growing_hull import SEEN, GrowingHull
from softgrasp.mechanics.quality.hull import FLAT, Facets, distinct, facets_of, spanning_points
from softgrasp.mechanics.quality.support import Support
from softgrasp.mechanics.transforms import Array

AT_ONCE = 8
"""Facets that are looked behind in one round, before zero is inside; and the lowest of all."""
INSIDE = 1e-6
"""A ball about zero of this share of the size is enough for a hull to grow from."""
INEXACT = 1e-6
"""A hull whose vertices are farther from their facets, as a share, has told nothing."""
NUDGES = (1e-4, 1e-3, 1e-2)
"""How far points are moved inwards that would make flat simplices where they are."""
MAX_FACETS = 20_000
"""A hull that has grown so large is not refined further, and the bounds stay apart; a second."""


@dataclass(frozen=True)
class Nearest:
    """What is known of the shortest reach min h(u) of a convex body, u of unit length."""

    lower: float
    upper: float
    direction: Array
    """u that has ``upper``."""
    met: bool = True
    """Whether the bounds have met, as near as was asked."""
    flat: bool = False
    """Whether the body is flat across ``direction``."""


@dataclass(frozen=True)
class _Goal:
    size: float
    relative_tolerance: float
    enough: float
    max_facets: int

    def met(self, lower: float, upper: float, slack: float = 0.0) -> bool:
        near = (
            max(self.relative_tolerance * upper, 1e-3 * self.relative_tolerance * self.size) + slack
        )
        return upper - lower <= near or upper <= FLAT * self.size or lower > self.enough


def shortest_reach(
    support: Support,
    dimension: int,
    size: float,
    relative_tolerance: float = FLAT,
    *,
    enough: float = np.inf,
    max_facets: int = MAX_FACETS,
) -> Nearest:
    """The shortest reach of a convex body that is known by its support function.

    Stops early where the body does not hold zero inside; the upper bound is then at most zero.

    Args:
        support: Of the body.
        dimension: d.
        size: Length of the longest vectors in it.
        relative_tolerance: Bounds will do that differ by this share of the reach, or by a thousandth of this
            share of ``size``.
        enough: A lower bound above it will do.
        max_facets: A hull of more facets is not refined further.
    """
    points, flat = spanning_points(support, dimension, size)
    if flat is not None:
        level = min(0.0, float(support(flat[None])[0][0]))
        return Nearest(level, level, flat, flat=True)
    goal = _Goal(size, relative_tolerance, enough, max_facets)
    near, points = _around_zero(support, points, goal)
    if near.met or near.lower <= INSIDE * size:
        return near
    return _refined(support, points, near, goal)


def nearest_of(facets: Facets, support: Support) -> Nearest:
    """The shortest reach among all facets of a polytope that is known by its support function."""
    lowest = np.argsort(facets.offsets)[:AT_ONCE]
    # joggling has moved the offsets a little, and the reach undoes it
    reach, _ = support(facets.normals[lowest])
    best = int(np.argmin(reach))
    value = float(reach[best])
    return Nearest(value, value, facets.normals[lowest[best]])


def _around_zero(support: Support, points: Array, goal: _Goal) -> tuple[Nearest, Array]:
    """Bounds and points whose hull has zero inside, as long as the body has it inside."""
    upper, direction = np.inf, np.zeros(points.shape[1])
    while True:
        facets = facets_of(points)
        order = np.argsort(facets.offsets)[:AT_ONCE]
        reach, support_points = support(facets.normals[order])
        best = int(np.argmin(reach))
        if reach[best] < upper:
            upper, direction = float(reach[best]), facets.normals[order[best]]
        lower = float(facets.offsets[order[0]]) - facets.moved
        beyond = reach > facets.offsets[order] + facets.moved + FLAT * goal.size
        met = goal.met(lower, upper, 2.0 * facets.moved) or not beyond.any()
        if met or lower > INSIDE * goal.size or len(facets.offsets) > goal.max_facets:
            return Nearest(min(lower, upper), upper, direction, met), points
        points = np.vstack([points, distinct(support_points[beyond], goal.size)])


def _refined(support: Support, points: Array, near: Nearest, goal: _Goal) -> Nearest:
    """Bounds from a hull that grows from a small body in the ball that is known to fit."""
    hull = GrowingHull(*_cross_polytope(points.shape[1], 0.99 * near.lower))
    for point in points:
        hull.add(point)
    upper, direction = near.upper, near.direction
    random = np.random.default_rng(0)
    while True:
        lowest = int(hull.offsets.argmin())
        ahead = hull.planes[lowest] * hull.offsets[lowest]
        reach, support_points = support(ahead[None])
        if reach[0] < upper:
            upper, direction = float(reach[0]), ahead
        lower = float(hull.offsets[lowest])
        met = goal.met(lower, upper, 2.0 * SEEN * upper)
        if (
            met
            or len(hull.offsets) > goal.max_facets
            or not _added(hull, support_points[0], lower, random)
        ):
            error = hull.error()
            lower *= max(1.0 - error, 0.0)
            return Nearest(min(lower, upper), upper, direction, met and error < INEXACT)


def _added(hull: GrowingHull, point: Array, radius: float, random: np.random.Generator) -> bool:
    """Take a point into a hull, or, where that makes flat simplices, one a little inside of it."""
    if hull.add(point):
        return True
    for fraction in NUDGES:
        inner = random.normal(size=len(point))
        inner *= 0.9 * radius / np.linalg.norm(inner)  # in the ball that fits, so in the body
        if hull.add((1.0 - fraction) * point + fraction * inner):
            return True
    return False


def _cross_polytope(dimension: int, radius: float) -> tuple[Array, Array]:
    """Corners on the axes, and the simplices between them, one an orthant."""
    corners = radius * np.vstack([np.eye(dimension), -np.eye(dimension)])
    axes = np.arange(dimension)
    orthants = np.array(list(product([0, dimension], repeat=dimension)))
    return corners, axes + orthants
