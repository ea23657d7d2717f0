"""Convex hulls of wrenches: facets, volume, vertices, and points that do not lie in a plane.

Qhull (Barber, Dobkin and Huhdanpaa 1996) makes the hulls. In six dimensions symmetric grasps have
many wrenches on common facets, on which exact Qhull fails now and then; its joggled input (QJ)
never does, and is twice as fast. What joggling moves is measured and allowed for.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls
from scipy.spatial import ConvexHull, QhullError

from softgrasp.errors import SimulationError
from softgrasp.mechanics.quality.support import Support
from softgrasp.mechanics.transforms import Array

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
