"""Convex hulls of wrenches: facets, volume, vertices, and points that do not lie in a plane.

Qhull (Barber, Dobkin and Huhdanpaa 1996) makes the hulls. In six dimensions symmetric grasps have
many wrenches on common facets, on which exact Qhull fails now and then; its joggled input (QJ)
never does, and is twice as fast. What joggling moves is measured and allowed for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls
from scipy.spatial import ConvexHull, QhullError

from softgrasp.errors import SimulationError
from softgrasp.mechanics.transforms import Array
from softgrasp.quality.contact_models import Cones

FLAT = 1e-9
"""A body thinner than this share of its size is flat; so near to the origin is at it."""


@dataclass(frozen=True)
class Facets:
    """Facets of a hull, n·x ≤ offset."""

    normals: Array
    offsets: Array
    volume: float
    moved: float
    """How far the input was joggled, at most."""


def facets_of(points: Array) -> Facets:
    """All facets and the volume of the hull of points that do not lie in a plane, (n, d).

    Raises:
        SimulationError: Qhull gives up.
    """
    hull = _hull(points)
    normals, offsets = hull.equations[:, :-1], -hull.equations[:, -1]
    apart = np.einsum("fd,fvd->fv", normals, points[hull.simplices]) - offsets[:, None]
    # vertices are moved in all directions, and this sees one
    moved = float(2.0 * np.sqrt(points.shape[1]) * np.abs(apart).max())
    return Facets(normals, offsets, float(hull.volume), moved)


def all_vertices(support: Support, dimension: int, size: float, max_points: int) -> Array | None:
    """Points whose hull is a polytope that is known by its support function; None if too many.

    Args:
        support: Of the polytope, which is not flat.
        dimension: d.
        size: Length of the longest vectors in it.
        max_points: Give up where more points are needed.
    """
    points, _ = spanning_points(support, dimension, size)
    while len(points) <= max_points:
        facets = facets_of(points)
        reach, support_points = support(facets.normals)
        beyond = reach > facets.offsets + facets.moved + FLAT * size
        fresh = distinct(np.vstack([points, support_points[beyond]]), size)
        if len(fresh) == len(points):
            return points
        points = fresh
    return None


def spanning_points(support: Support, dimension: int, size: float) -> tuple[Array, Array | None]:
    """Points of a body that do not lie in a plane; or some, and the normal of the plane they fill.

    The normal points where the body, being flat, lies towards the origin or through it:
    h(u) ≤ 0.
    """
    axes = np.eye(dimension)
    points = distinct(support(np.vstack([axes, -axes]))[1], size)
    while True:
        _, values, right = np.linalg.svd(points - points.mean(axis=0))
        rank = int((values > FLAT * size).sum())
        if rank == dimension:
            return points, None
        across = right[rank:]
        ahead, first = support(across)
        behind, second = support(-across)
        width = ahead + behind
        thinnest = int(np.argmin(width))
        if width[thinnest] <= FLAT * size * dimension:
            normal = across[thinnest]
            return points, normal if ahead[thinnest] <= 0.0 else -normal
        points = distinct(np.vstack([points, first, second]), size)


def nearest_point(points: Array) -> Array:
    """The point of the hull of points that is nearest to zero, (d,)."""
    # in min |Aλ|² + s²(Σλ − 1)² over λ ≥ 0 the scale of λ is free, so its direction is exact
    scale = float(np.linalg.norm(points, axis=1).max())
    right_side = np.append(np.zeros(points.shape[1]), scale)
    weights, _ = nnls(np.vstack([points.T, np.full(len(points), scale)]), right_side)
    return np.asarray(weights @ points / weights.sum())


def distinct(points: Array, size: float) -> Array:
    """Points without repeats, in an order that depends on nothing but them."""
    _, kept = np.unique(np.round(points / size, 12) + 0.0, axis=0, return_index=True)
    return points[np.sort(kept)]


def _hull(points: Array) -> ConvexHull:
    for options in ("Qt", "QJ") if points.shape[1] <= 3 else ("QJ", "QJ1e-8"):
        try:
            return ConvexHull(points, qhull_options=options)
        except QhullError as error:
            message = str(error).strip().splitlines()[0]
    raise SimulationError(f"the hull of {len(points)} wrenches could not be made: {message}")


# --------------------
# A hull around zero that grows point by point, in arrays, and knows the inverse of each facet.
#
# Facets are simplices; with their vertices as rows of V, the facet's plane is n·x = 1 with
# n = V⁻¹·1. A new point w replaces the facets that it sees (n·w > 1) by simplices over the border
# of
# what it sees; replacing one row of V changes V⁻¹ by one outer product (Sherman and Morrison
# 1950),
# so nothing has to be solved.
#
# That the smallest facet distance is a lower bound of the reach of the hull in any direction
# needs
# no convexity, and so holds whatever rounding does to what is seen: a simplex over a seen facet
# lies
# beyond that facet's plane and does not hold zero, so the surface goes on surrounding zero.


SEEN = 1e-9
"""A point is beyond a facet if n·w is above 1 by more."""
SINGULAR = 1e-6
"""A simplex that is flatter, as seen from zero, ends the growth."""


class GrowingHull:
    """A hull with zero inside; the one thing here that has state.

    Args:
        points: (n, d).
        simplices: Indices of points (f, d), which surround zero.
    """

    vertices: NDArray[np.intp]
    """Indices of each facet's points, (f, d)."""
    planes: Array
    """n of each facet n·x = 1, (f, d)."""
    offsets: Array
    """Distances 1/|n| of the facets from zero, (f,)."""

    def __init__(self, points: Array, simplices: Array) -> None:
        self.points = list(points)
        self.vertices = np.asarray(simplices, dtype=np.intp)
        self.inverses = np.asarray(np.linalg.inv(points[self.vertices]))
        self._random = np.random.default_rng(0)
        # a facet is named by the exclusive or of the names of its vertices: so ridges are found
        self._names = self._random.integers(0, 2**63, len(points), dtype=np.int64)
        self._facets = np.bitwise_xor.reduce(self._names[self.vertices], axis=1)
        self.planes, self.offsets = _measured(self.inverses)

    def add(self, point: Array) -> bool:
        """Take a point in; False where it is not outside, or a new simplex would be flat."""
        seen = self.planes @ point > 1.0 + SEEN
        if not seen.any():
            return False
        dimension = len(point)
        vertices, inverses = self.vertices[seen], self.inverses[seen]
        ridges = (self._facets[seen][:, None] ^ self._names[vertices]).ravel()
        _, first, count = np.unique(ridges, return_index=True, return_counts=True)
        facet, corner = np.divmod(first[count == 1], dimension)
        rows = np.arange(len(facet))
        parts = point @ inverses[facet]
        coordinate = parts[rows, corner]
        if np.abs(coordinate).min() < SINGULAR:
            return False
        parts[rows, corner] -= 1.0
        column = inverses[facet, :, corner] / coordinate[:, None]
        fresh = inverses[facet] - column[:, :, None] * parts[:, None, :]
        replaced = vertices[facet]
        replaced[rows, corner] = len(self.points)
        name = self._random.integers(0, 2**63, dtype=np.int64)
        names = ridges.reshape(len(vertices), dimension)[facet, corner] ^ name
        self.points.append(point)
        self._names = np.append(self._names, name)
        # a step of Newton (Schulz 1933) keeps rounding from adding up
        corners = np.asarray(self.points)[replaced]
        fresh = fresh @ (2.0 * np.eye(dimension) - corners @ fresh)
        self._replace(~seen, replaced, fresh, names)
        return True

    def _replace(
        self,
        kept: NDArray[np.bool_],
        vertices: NDArray[np.intp],
        inverses: Array,
        names: NDArray[np.int64],
    ) -> None:
        planes, offsets = _measured(inverses)
        self.vertices = np.concatenate([self.vertices[kept], vertices])
        self.inverses = np.concatenate([self.inverses[kept], inverses])
        self._facets = np.concatenate([self._facets[kept], names])
        self.planes = np.concatenate([self.planes[kept], planes])
        self.offsets = np.concatenate([self.offsets[kept], offsets])

    def error(self) -> float:
        """How far vertices are from their facets' planes, as a share of 1: what rounding did."""
        corners = np.asarray(self.points)[self.vertices]
        return float(np.abs(np.einsum("fvd,fd->fv", corners, self.planes) - 1.0).max())


def _measured(inverses: Array) -> tuple[Array, Array]:
    planes = inverses.sum(axis=2)
    return planes, 1.0 / np.sqrt((planes**2).sum(axis=1))


# --------------------
# Support functions of wrench spaces: how far they reach in a direction, and with which wrench.
#
# A grasp wrench space is a convex body; h(u) = max {u·w : w in it} says all about it. L1 means
# the
# hull of the union of the contacts' unit wrenches, L∞ the Minkowski sum of the hulls of zero and
# each
# contact's unit wrenches (Ferrari and Canny, Planning optimal grasps, ICRA 1992).


Support = Callable[[Array], tuple[Array, Array]]
"""Directions (m, d) → reach (m,) and a wrench that reaches it, (m, d)."""
NORMS = ("L1", "Linf")


def of_pyramids(edges: Array, norm: str) -> Support:
    """Support function of friction pyramids, primitive wrenches (n, e, d)."""

    def best_of_each(directions: Array) -> tuple[Array, Array]:
        reach = np.einsum("md,ned->mne", directions, edges)
        which = reach.argmax(axis=2)
        contacts = np.arange(len(edges))
        return reach.max(axis=2), edges[contacts[None], which]

    return _joined(best_of_each, norm)


def of_cones(cones: Cones, norm: str) -> Support:
    """Support function of the round cones themselves: a·u + |b·u| for each contact."""

    def best_of_each(directions: Array) -> tuple[Array, Array]:
        along = directions @ cones.axes.T
        sideways = np.einsum("md,nad->mna", directions, cones.across)
        lengths = np.linalg.norm(sideways, axis=2)
        rim = sideways / np.where(lengths > 0.0, lengths, 1.0)[..., None]
        wrenches = cones.axes[None] + np.einsum("mna,nad->mnd", rim, cones.across)
        return along + lengths, wrenches

    return _joined(best_of_each, norm)


def _joined(best_of_each: Support, norm: str) -> Support:
    def union(directions: Array) -> tuple[Array, Array]:
        reach, wrenches = best_of_each(directions)
        which, rows = reach.argmax(axis=1), np.arange(len(reach))
        return reach[rows, which], wrenches[rows, which]

    def together(directions: Array) -> tuple[Array, Array]:
        reach, wrenches = best_of_each(directions)
        pushing = reach > 0.0
        return (reach * pushing).sum(axis=1), (wrenches * pushing[..., None]).sum(axis=1)

    return union if norm == "L1" else together


# --------------------
# The shortest reach of a convex body: its nearest facet, found with few of all points.
#
# Cutting planes: the hull of some of a body's points lies in it, so its nearest facet is a lower
# bound of the reach min h(u) over unit u; the body's reach along the facet's normal is an upper
# bound, and the point that has it joins the hull. Far from the origin the hull stays coarse. For
# a
# polytope this ends with the exact value.


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
        relative_tolerance: Largest difference of the bounds, as a fraction of the reach, or a
            thousandth of it as a fraction of ``size``.
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
