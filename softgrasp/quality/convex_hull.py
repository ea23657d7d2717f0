"""Convex hulls of wrenches: facets, volume, vertices, and distance of the origin from the surface.

A wrench space is a convex body; its support function h(u) = max {u·w : w in it} determines it. The
smallest reach min h(u) over unit u is ε. Cutting planes find it from few points: the hull of some
points of the body is inside it, so its nearest facet is a lower bound; the reach of the body along
the normal of that facet is an upper bound, and the point that attains it joins the hull. For a
polytope the iteration ends with the exact value.

Qhull (Barber, Dobkin and Huhdanpaa 1996; ``scipy.spatial.ConvexHull``) computes hulls. In six
dimensions symmetric grasps have many wrenches on common facets, where exact Qhull sometimes fails;
its joggled input (QJ) never does and is twice as fast. The displacement of joggling is measured and
taken into account. ``GrowingHull`` remains next to Qhull, which with QJ has to compute the whole
hull again for every added point: for 3 to 16 random contacts Qhull takes 0.8–3.2 (median 1.4) of
its time for ε of L1 pyramids with results equal within 6e-10, 0.8–3.3 for L∞, and 2.6–17 for the
round cones, of which it does not resolve all within ``MAX_FACETS``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

import numpy as np
import scipy
from numpy.typing import NDArray
from scipy.spatial import ConvexHull, QhullError

from softgrasp.errors import SimulationError
from softgrasp.mechanics.transforms import Array
from softgrasp.quality.contact_models import Cones

FLAT = 1e-9
"""Thickness below which a body is flat, and distance of points taken as equal, over its size
[–]."""
AT_ONCE = 8
"""Number of facets nearest to the origin that one round refines before the origin is inside."""
INSIDE = 1e-6
"""Radius over size of a ball about the origin from which a hull can grow [–]."""
INEXACT = 1e-6
"""Relative distance of vertices from their facets above which a result is discarded [–]."""
NUDGES = (1e-4, 1e-3, 1e-2)
"""Fractions by which points that would make flat simplices are displaced inwards."""
MAX_FACETS = 20_000
"""Number of facets at which refinement ends without the bounds meeting, after about a second."""
SEEN = 1e-9
"""A point w is beyond the facet n·x = 1 if n·w is above 1 by more than this."""
SINGULAR = 1e-6
"""Smallest barycentric coordinate of a new simplex; flatter ones are rejected."""
NORMS = ("L1", "Linf")
Support = Callable[[Array], tuple[Array, Array]]
"""Directions (m, d) → reach (m,) and a wrench that attains it, (m, d)."""


@dataclass(frozen=True)
class Facets:
    """Facets of a hull, n·x ≤ offset."""

    normals: Array
    offsets: Array
    volume: float
    moved: float
    """Upper bound of the displacement by joggling."""


@dataclass(frozen=True)
class Nearest:
    """Bounds of the smallest reach min h(u) of a convex body over unit vectors u."""

    lower: float
    upper: float
    direction: Array
    """u at which h(u) = ``upper``."""
    met: bool = True
    """Whether the bounds agree within the tolerance."""
    flat: bool = False
    """Whether the body is flat across ``direction``."""


# Support functions


def of_pyramids(edges: Array, norm: str) -> Support:
    """Return the support function of friction pyramids, primitive wrenches (n, e, d)."""

    def best_of_each(directions: Array) -> tuple[Array, Array]:
        reach = np.einsum("md,ned->mne", directions, edges)
        which = reach.argmax(axis=2)
        contacts = np.arange(len(edges))
        return reach.max(axis=2), edges[contacts[None], which]

    return _join(best_of_each, norm)


def of_cones(cones: Cones, norm: str) -> Support:
    """Return the support function of the round cones, a·u + |b·u| for each contact."""

    def best_of_each(directions: Array) -> tuple[Array, Array]:
        along = directions @ cones.axes.T
        sideways = np.einsum("md,nad->mna", directions, cones.across)
        lengths = np.linalg.norm(sideways, axis=2)
        rim = sideways / np.where(lengths > 0.0, lengths, 1.0)[..., None]
        wrenches = cones.axes[None] + np.einsum("mna,nad->mnd", rim, cones.across)
        return along + lengths, wrenches

    return _join(best_of_each, norm)


def _join(best_of_each: Support, norm: str) -> Support:
    """Combine contacts by the union of their wrenches (L1), or the Minkowski sum (L∞)."""

    def union(directions: Array) -> tuple[Array, Array]:
        reach, wrenches = best_of_each(directions)
        which, rows = reach.argmax(axis=1), np.arange(len(reach))
        return reach[rows, which], wrenches[rows, which]

    def minkowski_sum(directions: Array) -> tuple[Array, Array]:
        reach, wrenches = best_of_each(directions)
        pushing = reach > 0.0
        return (reach * pushing).sum(axis=1), (wrenches * pushing[..., None]).sum(axis=1)

    return union if norm == "L1" else minkowski_sum


# Hulls by Qhull


def facets_of(points: Array) -> Facets:
    """Compute all facets and the volume of the hull of points that span the space, (n, d).

    Raises:
        SimulationError: Qhull fails.
    """
    hull = _hull(points)
    normals, offsets = hull.equations[:, :-1], -hull.equations[:, -1]
    apart = np.einsum("fd,fvd->fv", normals, points[hull.simplices]) - offsets[:, None]
    # vertices are displaced in all directions, of which this is one
    moved = float(2.0 * np.sqrt(points.shape[1]) * np.abs(apart).max())
    return Facets(normals, offsets, float(hull.volume), moved)


def _hull(points: Array) -> ConvexHull:
    """Compute a hull: exact in up to three dimensions where that succeeds, else joggled."""
    for options in ("Qt", "QJ") if points.shape[1] <= 3 else ("QJ", "QJ1e-8"):
        try:
            return ConvexHull(points, qhull_options=options)
        except QhullError as error:
            message = str(error).strip().splitlines()[0]
    raise SimulationError(f"the hull of {len(points)} wrenches could not be computed: {message}")


def all_vertices(support: Support, dimension: int, size: float, max_points: int) -> Array | None:
    """Compute the vertices of a polytope from its support function; None if there are too many.

    Args:
        support: Support function of a polytope that is not flat.
        dimension: d.
        size: Length of the longest vectors in the polytope.
        max_points: Maximum number of points.
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
    """Compute points of a body that span the space; for a flat body also the normal of its plane.

    The normal u of a flat body has h(u) ≤ 0.
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
    """Compute the point of the hull of points that is nearest to the origin, (d,)."""
    # min |Aλ|² + s²(Σλ − 1)² over λ ≥ 0 has the exact direction of λ; its scale is divided out
    scale = float(np.linalg.norm(points, axis=1).max())
    right_side = np.append(np.zeros(points.shape[1]), scale)
    weights, _ = scipy.optimize.nnls(np.vstack([points.T, np.full(len(points), scale)]), right_side)
    return np.asarray(weights @ points / weights.sum())


def distinct(points: Array, size: float) -> Array:
    """Remove duplicates, in an order that depends on the points only."""
    _, kept = np.unique(np.round(points / size, 12) + 0.0, axis=0, return_index=True)
    return points[np.sort(kept)]


# Smallest reach


def shortest_reach(
    support: Support,
    dimension: int,
    size: float,
    relative_tolerance: float = FLAT,
    *,
    enough: float = np.inf,
    max_facets: int = MAX_FACETS,
) -> Nearest:
    """Compute the smallest reach of a convex body from its support function by cutting planes.

    Ends early where the origin is not inside the body; the upper bound is then at most zero.

    Args:
        support: Support function of the body.
        dimension: d.
        size: Length of the longest vectors in the body.
        relative_tolerance: Largest difference of the bounds, as a fraction of the reach, or a
            thousandth of it as a fraction of ``size``.
        enough: Lower bound above which the search ends.
        max_facets: Number of facets of a hull at which refinement ends.
    """
    points, flat = spanning_points(support, dimension, size)
    if flat is not None:
        level = min(0.0, float(support(flat[None])[0][0]))
        return Nearest(level, level, flat, flat=True)
    goal = _Goal(size, relative_tolerance, enough, max_facets)
    near, points = _around_zero(support, points, goal)
    if near.met or near.lower <= INSIDE * size:
        return near
    return _refine(support, points, near, goal)


def nearest_of(facets: Facets, support: Support) -> Nearest:
    """Return the smallest reach along the facet normals of a polytope."""
    lowest = np.argsort(facets.offsets)[:AT_ONCE]
    # the reach has no error of joggling, which the offsets have
    reach, _ = support(facets.normals[lowest])
    best = int(np.argmin(reach))
    value = float(reach[best])
    return Nearest(value, value, facets.normals[lowest[best]])


@dataclass(frozen=True)
class _Goal:
    """Termination criterion of the cutting planes."""

    size: float
    relative_tolerance: float
    enough: float
    max_facets: int

    def met(self, lower: float, upper: float, slack: float = 0.0) -> bool:
        """Return whether bounds are close enough to end the search."""
        near = (
            max(self.relative_tolerance * upper, 1e-3 * self.relative_tolerance * self.size) + slack
        )
        return upper - lower <= near or upper <= FLAT * self.size or lower > self.enough


def _around_zero(support: Support, points: Array, goal: _Goal) -> tuple[Nearest, Array]:
    """Refine whole hulls until one contains the origin, or the body is found not to."""
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


def _refine(support: Support, points: Array, near: Nearest, goal: _Goal) -> Nearest:
    """Refine the bounds by a hull that grows from a cross-polytope inside an inscribed sphere."""
    corners = (0.99 * near.lower) * np.vstack([np.eye(points.shape[1]), -np.eye(points.shape[1])])
    axes = np.arange(points.shape[1])
    orthants = np.array(list(product([0, points.shape[1]], repeat=points.shape[1])))
    hull = GrowingHull(*(corners, axes + orthants))
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
            or not _add(hull, support_points[0], lower, random)
        ):
            error = hull.error()
            lower *= max(1.0 - error, 0.0)
            return Nearest(min(lower, upper), upper, direction, met and error < INEXACT)


def _add(hull: GrowingHull, point: Array, radius: float, random: np.random.Generator) -> bool:
    """Add a point to a hull or, where simplices would be flat, one slightly inside of it."""
    if hull.add(point):
        return True
    for fraction in NUDGES:
        inner = random.normal(size=len(point))
        # inside the ball that fits, so inside the body
        inner *= 0.9 * radius / np.linalg.norm(inner)
        if hull.add((1.0 - fraction) * point + fraction * inner):
            return True
    return False


# A hull that grows point by point


class GrowingHull:
    """Convex hull about the origin to which points are added one by one.

    Facets are simplices; with the vertices of a facet as rows of V, its plane is n·x = 1 with n =
    V⁻¹·1. A new point w replaces the facets that it sees (n·w > 1) by simplices over the border of
    the region seen. Replacing a row of V changes V⁻¹ by an outer product (Sherman and Morrison
    1950), so no system has to be solved.

    The smallest facet distance is a lower bound of the reach in every direction even if rounding
    makes the hull slightly concave: a simplex over a seen facet is beyond the plane of that facet
    and does not contain the origin, so the surface continues to enclose it.

    Args:
        points: Vertices, (n, d).
        simplices: Indices of the points of each facet, (f, d); the facets enclose the origin.
    """

    vertices: NDArray[np.intp]
    """Indices of each facet's points, (f, d)."""
    planes: Array
    """n of each facet n·x = 1, (f, d)."""
    offsets: Array
    """Distances 1/|n| of the facets from the origin, (f,)."""

    def __init__(self, points: Array, simplices: Array) -> None:
        self.points = list(points)
        self.vertices = np.asarray(simplices, dtype=np.intp)
        self.inverses = np.asarray(np.linalg.inv(points[self.vertices]))
        self._random = np.random.default_rng(0)
        # a facet has the exclusive or of the keys of its vertices as key, so ridges can be matched
        self._keys = self._random.integers(0, 2**63, len(points), dtype=np.int64)
        self._facets = np.bitwise_xor.reduce(self._keys[self.vertices], axis=1)
        self.planes, self.offsets = _planes_of(self.inverses)

    def add(self, point: Array) -> bool:
        """Add a point; return False where it is not outside, or a new simplex would be flat.

        Rounding can let a point see all facets, which then have no border.
        """
        seen = self.planes @ point > 1.0 + SEEN
        if not seen.any():
            return False
        dimension = len(point)
        vertices, inverses = self.vertices[seen], self.inverses[seen]
        ridges = (self._facets[seen][:, None] ^ self._keys[vertices]).ravel()
        _, first, count = np.unique(ridges, return_index=True, return_counts=True)
        facet, corner = np.divmod(first[count == 1], dimension)
        rows = np.arange(len(facet))
        parts = point @ inverses[facet]
        coordinate = parts[rows, corner]
        if not len(facet) or np.abs(coordinate).min() < SINGULAR:
            return False
        parts[rows, corner] -= 1.0
        column = inverses[facet, :, corner] / coordinate[:, None]
        fresh = inverses[facet] - column[:, :, None] * parts[:, None, :]
        replaced = vertices[facet]
        replaced[rows, corner] = len(self.points)
        key = self._random.integers(0, 2**63, dtype=np.int64)
        keys = ridges.reshape(len(vertices), dimension)[facet, corner] ^ key
        self.points.append(point)
        self._keys = np.append(self._keys, key)
        # a Newton step (Schulz 1933) keeps rounding errors from accumulating
        corners = np.asarray(self.points)[replaced]
        fresh = fresh @ (2.0 * np.eye(dimension) - corners @ fresh)
        self._replace(~seen, replaced, fresh, keys)
        return True

    def _replace(
        self,
        kept: NDArray[np.bool_],
        vertices: NDArray[np.intp],
        inverses: Array,
        keys: NDArray[np.int64],
    ) -> None:
        """Replace the facets visible from a new point."""
        planes, offsets = _planes_of(inverses)
        self.vertices = np.concatenate([self.vertices[kept], vertices])
        self.inverses = np.concatenate([self.inverses[kept], inverses])
        self._facets = np.concatenate([self._facets[kept], keys])
        self.planes = np.concatenate([self.planes[kept], planes])
        self.offsets = np.concatenate([self.offsets[kept], offsets])

    def error(self) -> float:
        """Compute the largest relative distance of vertices from the planes of their facets."""
        corners = np.asarray(self.points)[self.vertices]
        return float(np.abs(np.einsum("fvd,fd->fv", corners, self.planes) - 1.0).max())


def _planes_of(inverses: Array) -> tuple[Array, Array]:
    """Compute normals and distances of facets from the inverses of their vertices."""
    planes = inverses.sum(axis=2)
    return planes, 1.0 / np.sqrt((planes**2).sum(axis=1))
