"""Cross-sections of closed meshes by planes normal to x, and the pieces between such planes.

Area, centroid and second moment of a section are exact: line integrals along its outline after
Green's theorem. A vertex in a plane counts as below it, so that outlines are closed and the volumes
of the pieces sum to the volume of the whole. ``trimesh.section`` cuts one plane at a time and
returns paths without their orientation; 500 planes at once are needed here.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from softgrasp.io.mesh_files import mass_properties
from softgrasp.io.mesh_repair import caps_of
from softgrasp.mechanics.transforms import Array, triple

Faces: TypeAlias = NDArray[np.int64]


class Sections(NamedTuple):
    """Properties of the cross-sections of a solid by n planes."""

    areas: Array
    """[m²], (n,); zero where a plane misses the solid."""
    centers: Array
    """Centroids (y, z) [m], (n, 2); NaN where a plane misses the solid."""
    second_moments: Array
    """∫ (z − z of the centroid)² dA [m⁴], (n,), for bending in the x–z plane."""


@dataclass(frozen=True, eq=False)
class Piece:
    """Part of a solid between two planes, in the frame of the solid."""

    vertices: Array
    """(m, 3) [m]"""
    faces: Faces
    """(k, 3) of a closed surface, outward by the right-hand rule."""
    volume: float
    """Volume [m³]."""
    center: Array
    """Centroid (3,) [m]."""

    @property
    def size(self) -> tuple[float, float, float]:
        """Edges of the bounding box [m]."""
        return triple(np.ptp(self.vertices, axis=0))


class _Outlines(NamedTuple):
    """Line segments of the outlines of n sections; material is on the left, seen from +x."""

    plane: NDArray[np.intp]
    """Index of the plane, (s,)."""
    starts: Array
    """(y, z) [m], (s, 2)."""
    ends: Array
    """(y, z) [m], (s, 2)."""
    edges: NDArray[np.int64]
    """The two mesh edges that a segment connects, as pairs of vertices, (s, 2, 2)."""


def sections(vertices: Array, faces: Faces, stations: Array, *, filled: bool = False) -> Sections:
    """Compute cross-sections of a solid by planes normal to x.

    Args:
        vertices: (m, 3) [m].
        faces: (k, 3) of a closed surface, outward by the right-hand rule.
        stations: x of the planes in ascending order [m], (n,).
        filled: Count holes, such as the chambers of a hollow finger, as material.
    """
    outlines = _outlines(vertices, faces, stations)
    if filled:
        outlines = _of_sign(outlines, len(vertices), 1.0)
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


def extents(
    vertices: Array, faces: Faces, stations: Array, *, holes: bool = False
) -> tuple[Array, Array]:
    """Return lowest and highest (y, z) of sections, or their ``holes`` [m], (n, 2); or infinity."""
    outlines = _outlines(vertices, faces, stations)
    if holes:
        outlines = _of_sign(outlines, len(vertices), -1.0)
    low, high = np.full((len(stations), 2), np.inf), np.full((len(stations), 2), -np.inf)
    np.minimum.at(low, outlines.plane, outlines.starts)
    np.maximum.at(high, outlines.plane, outlines.starts)
    return low, high


def part_counts(
    vertices: Array, faces: Faces, stations: Array, smallest: float
) -> NDArray[np.intp]:
    """Count the parts of sections, (n,), that have more than ``smallest`` of their area [–]."""
    loops = _loops(_outlines(vertices, faces, stations), len(vertices))
    outer = np.maximum(loops.areas, 0.0)
    whole = np.bincount(loops.plane, weights=outer, minlength=len(stations))
    counts = outer > smallest * whole[loops.plane]
    return np.bincount(loops.plane[counts], minlength=len(stations))


def slices(vertices: Array, faces: Faces, stations: Iterable[float]) -> list[Piece]:
    """Cut a solid, as of ``sections``, by n planes at ascending x [m] into n + 1 closed pieces."""
    pieces = []
    for station in stations:
        vertices, below, faces = _cut(vertices, faces, station)
        pieces.append(_closed(vertices, below))
    return [*pieces, _closed(vertices, faces)]


def _outlines(vertices: Array, faces: Faces, stations: Array) -> _Outlines:
    """Intersect faces with planes; a vertex in a plane counts as below it."""
    along = vertices[:, 0][faces]
    first = np.searchsorted(stations, along.min(axis=1), side="left")
    crossed = np.searchsorted(stations, along.max(axis=1), side="left") - first
    face = np.repeat(np.arange(len(faces)), crossed)
    plane = first[face] + np.arange(len(face)) - np.repeat(np.cumsum(crossed) - crossed, crossed)
    corners, one_above = lone_corner_first(faces[face], along[face] > stations[plane, None])
    edges = edges_across(corners)
    # a segment runs against its face if the lone vertex is above the plane
    edges = np.where(one_above[:, None, None], edges, edges[:, ::-1])
    starts, ends = (_crossing(vertices[edges[:, side]], stations[plane]) for side in (0, 1))
    return _Outlines(plane, starts, ends, edges)


def _crossing(edges: Array, station: Array) -> Array:
    """Compute (y, z) where edges (s, 2, 3) intersect the planes x = station (s,)."""
    begin, end = edges[:, 0], edges[:, 1]
    fraction = (station - begin[:, 0]) / (end[:, 0] - begin[:, 0])
    return np.asarray(begin[:, 1:] + fraction[:, None] * (end - begin)[:, 1:])


def _cross(pieces: _Outlines) -> Array:
    """Twice the signed area between each segment and the axis, (s,)."""
    starts, ends = pieces.starts, pieces.ends
    return np.asarray(starts[:, 0] * ends[:, 1] - ends[:, 0] * starts[:, 1])


class _Loops(NamedTuple):
    """Closed outlines that segments make."""

    loop: NDArray[np.intp]
    """Index of the loop, (s,)."""
    areas: Array
    """Areas [m²], negative for holes, (l,)."""
    plane: NDArray[np.intp]
    """Index of the plane, (l,)."""


def _loops(pieces: _Outlines, vertices: int) -> _Loops:
    """Join the segments that share a mesh edge; ``vertices`` is the number of mesh vertices."""
    edge = pieces.edges[..., 0] * vertices + pieces.edges[..., 1]
    names, edge = np.unique(edge, return_inverse=True)
    node = pieces.plane[:, None] * len(names) + edge.reshape(-1, 2)
    nodes, node = np.unique(node, return_inverse=True)
    start, end = node.reshape(-1, 2).T
    links = coo_array((np.ones(len(start)), (start, end)), shape=(len(nodes), len(nodes)))
    loop = np.asarray(connected_components(links, directed=False)[1][start], dtype=np.intp)
    plane = np.zeros(int(loop.max(initial=-1)) + 1, dtype=np.intp)
    plane[loop] = pieces.plane
    areas = 0.5 * np.bincount(loop, weights=_cross(pieces))
    return _Loops(loop, np.asarray(areas, dtype=np.float64), plane)


def _of_sign(pieces: _Outlines, vertices: int, sign: float) -> _Outlines:
    """Return the outer outlines, or with −1 those of holes, which have a negative area."""
    loops = _loops(pieces, vertices)
    kept = sign * loops.areas[loops.loop] > 0.0
    plane, starts, ends, edges = pieces
    return _Outlines(plane[kept], starts[kept], ends[kept], edges[kept])


def _cut(vertices: Array, faces: Faces, station: float) -> tuple[Array, Faces, Faces]:
    """Return vertices with those in the plane appended, and the faces below and above it.

    Faces that share an edge share its point in the plane, so both parts are open only at the cut.
    """
    above = vertices[:, 0][faces] > station
    whole = above.sum(axis=1)
    crossing = (whole == 1) | (whole == 2)
    corners, one_above = lone_corner_first(faces[crossing], above[crossing])
    edges = edges_across(corners)
    edge, number = np.unique(edges.reshape(-1, 2), axis=0, return_inverse=True)
    begin, end = vertices[edge].transpose(1, 0, 2)
    fraction = (station - begin[:, 0]) / (end[:, 0] - begin[:, 0])
    points = begin + fraction[:, None] * (end - begin)
    points[:, 0] = station
    first, second = (number.reshape(-1, 2) + len(vertices)).T
    apex, left, right = corners.T
    lone = np.stack([apex, first, second], -1)
    pair = np.stack([first, left, right, first, right, second], -1).reshape(-1, 2, 3)
    return (
        np.vstack([vertices, points]),
        np.vstack([faces[whole == 0], lone[~one_above], pair[one_above].reshape(-1, 3)]),
        np.vstack([faces[whole == 3], lone[one_above], pair[~one_above].reshape(-1, 3)]),
    )


def _closed(vertices: Array, faces: Faces) -> Piece:
    """Make a piece with only the vertices it uses, its cuts closed by triangle fans."""
    used, faces = np.unique(faces, return_inverse=True)
    vertices, faces = vertices[used], faces.reshape(-1, 3)
    caps = caps_of(vertices, faces)
    points, closed = np.vstack([vertices, caps.middles]), np.vstack([faces, caps.fans])
    properties = mass_properties(points[closed])
    return Piece(points, closed, float(properties.volume), np.asarray(properties.center_mass))


# Faces that a plane cuts
def lone_corner_first(faces: Faces, above: NDArray[np.bool_]) -> tuple[Faces, NDArray[np.bool_]]:
    """Rotate vertex order so that the vertex alone on its side (``above``, (k, 3)) is first.

    Returns:
        Faces (k, 3) with the same winding, and whether that vertex is above (k,).
    """
    one_above = above.sum(axis=1) == 1
    alone = np.where(one_above, np.argmax(above, axis=1), np.argmin(above, axis=1))
    order = (alone[:, None] + np.arange(3)) % 3
    return np.take_along_axis(faces, order, axis=1), one_above


def edges_across(corners: Faces) -> Faces:
    """Return the edges (k, 2, 2) from the first vertex of faces to the second and third.

    Their vertices are in ascending order, so that neighbours share the point on an edge.
    """
    return np.sort(np.stack([corners[:, [0, 1]], corners[:, [0, 2]]], axis=1), axis=2)
