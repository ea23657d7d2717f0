"""Cross-sections of a solid by planes square to x: area, centroid, second moment, outline."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from softgrasp.mechanics.transforms import Array

Faces: TypeAlias = NDArray[np.int64]


class Sections(NamedTuple):
    """What n planes cut out of a solid."""

    areas: Array
    """[m²], (n,); zero where a plane meets nothing."""
    centers: Array
    """Centroids (y, z) [m], (n, 2); NaN where a plane meets nothing."""
    second_moments: Array
    """∫ (z − z of the centroid)² dA [m⁴], (n,): what bending in the x–z plane meets."""


class _Outlines(NamedTuple):
    """Pieces of the outlines of n sections; material is on the left, seen from +x."""

    plane: NDArray[np.intp]
    """Number of the plane, (s,)."""
    starts: Array
    """(y, z) [m], (s, 2)."""
    ends: Array
    """(y, z) [m], (s, 2)."""
    edges: NDArray[np.int64]
    """The two edges of the mesh between which a piece runs, as pairs of vertices, (s, 2, 2)."""


def sections(vertices: Array, faces: Faces, stations: Array, *, filled: bool = False) -> Sections:
    """Cut a solid by planes square to x.

    The integrals are exact, by Green's theorem along the outlines.

    Args:
        vertices: (m, 3) [m].
        faces: (k, 3) of a closed surface, outward by the right-hand rule.
        stations: x of the planes in ascending order [m], (n,).
        filled: Whether holes, such as the chambers of a hollow finger, count as material.
    """
    outlines = _outlines(vertices, faces, stations)
    if filled:
        outlines = _outer(outlines, len(vertices))
    plane, starts, ends, _ = outlines

    def summed(values: Array) -> Array:
        return np.asarray(
            np.bincount(plane, weights=values, minlength=len(stations)), dtype=np.float64
        )

    cross = _cross(outlines)
    areas = 0.5 * summed(cross)
    firsts = [summed(cross * (starts + ends)[:, axis]) / 6.0 for axis in (0, 1)]
    low, high = starts[:, 1], ends[:, 1]
    seconds = summed(cross * (low**2 + low * high + high**2)) / 12.0
    with np.errstate(divide="ignore", invalid="ignore"):
        centers = np.stack(firsts, -1) / areas[:, None]
    return Sections(areas, centers, seconds - areas * centers[:, 1] ** 2)


def extents(vertices: Array, faces: Faces, stations: Array) -> tuple[Array, Array]:
    """Lowest and highest (y, z) of sections [m], both (n, 2).

    Args:
        vertices: (m, 3) [m].
        faces: (k, 3) of a closed surface.
        stations: x of the planes in ascending order [m], (n,).
    """
    outlines = _outlines(vertices, faces, stations)
    low, high = np.full((len(stations), 2), np.inf), np.full((len(stations), 2), -np.inf)
    np.minimum.at(low, outlines.plane, outlines.starts)
    np.maximum.at(high, outlines.plane, outlines.starts)
    return low, high


def _outlines(vertices: Array, faces: Faces, stations: Array) -> _Outlines:
    """Where faces pass the planes.

    A vertex in a plane counts as below it, so that outlines are closed whatever the planes meet.
    """
    along = vertices[:, 0][faces]
    first = np.searchsorted(stations, along.min(axis=1), side="left")
    crossed = np.searchsorted(stations, along.max(axis=1), side="left") - first
    face = np.repeat(np.arange(len(faces)), crossed)
    plane = first[face] + np.arange(len(face)) - np.repeat(np.cumsum(crossed) - crossed, crossed)
    corners, one_above = lone_corner_first(faces[face], along[face] > stations[plane, None])
    edges = edges_across(corners)
    # a piece runs against its face where that has its lone corner above
    edges = np.where(one_above[:, None, None], edges, edges[:, ::-1])
    starts, ends = (_crossing(vertices[edges[:, side]], stations[plane]) for side in (0, 1))
    return _Outlines(plane, starts, ends, edges)


def lone_corner_first(faces: Faces, above: NDArray[np.bool_]) -> tuple[Faces, NDArray[np.bool_]]:
    """Turn faces that a plane cuts so that the corner which is alone on its side comes first.

    Args:
        faces: (k, 3).
        above: Which corners are above the plane, one or two a face, (k, 3).

    Returns:
        The faces (k, 3), wound as before, and whether that corner is above (k,).
    """
    one_above = above.sum(axis=1) == 1
    alone = np.where(one_above, np.argmax(above, axis=1), np.argmin(above, axis=1))
    order = (alone[:, None] + np.arange(3)) % 3
    return np.take_along_axis(faces, order, axis=1), one_above


def edges_across(corners: Faces) -> Faces:
    """The two edges (k, 2, 2) that lead from the first corner of faces to the second and third.

    Their vertices are in ascending order, so that neighbours find the same point on an edge.
    """
    return np.sort(np.stack([corners[:, [0, 1]], corners[:, [0, 2]]], axis=1), axis=2)


def _crossing(edges: Array, station: Array) -> Array:
    """(y, z) at which edges (s, 2, 3) pass x = place (s,)."""
    begin, end = edges[:, 0], edges[:, 1]
    fraction = (station - begin[:, 0]) / (end[:, 0] - begin[:, 0])
    return np.asarray(begin[:, 1:] + fraction[:, None] * (end - begin)[:, 1:])


def _cross(pieces: _Outlines) -> Array:
    """Twice the area between each piece and the axis, (s,)."""
    starts, ends = pieces.starts, pieces.ends
    return np.asarray(starts[:, 0] * ends[:, 1] - ends[:, 0] * starts[:, 1])


def _outer(pieces: _Outlines, vertices: int) -> _Outlines:
    """The outlines without those that run around holes, which have a negative area."""
    edge = pieces.edges[..., 0] * vertices + pieces.edges[..., 1]
    names, edge = np.unique(edge, return_inverse=True)
    node = pieces.plane[:, None] * len(names) + edge.reshape(-1, 2)
    nodes, node = np.unique(node, return_inverse=True)
    start, end = node.reshape(-1, 2).T
    links = coo_array((np.ones(len(start)), (start, end)), shape=(len(nodes), len(nodes)))
    loop = connected_components(links, directed=False)[1][start]
    kept = np.bincount(loop, weights=_cross(pieces))[loop] > 0.0
    plane, starts, ends, edges = pieces
    return _Outlines(plane[kept], starts[kept], ends[kept], edges[kept])
