"""A solid cut into pieces by planes square to x, each piece closed again."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import trimesh
from numpy.typing import NDArray

from softgrasp.formats.mesh_repair import caps_of
from softgrasp.formats.mesh_sections import edges_across, lone_corner_first
from softgrasp.mechanics.transforms import Array

Faces: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Piece:
    """What lies between two planes, in the frame of the whole."""

    vertices: Array
    """(m, 3) [m]"""
    faces: Faces
    """(k, 3) of a closed surface, outward by the right-hand rule."""
    volume: float
    """[m³]"""
    center: Array
    """Centroid (3,) [m]."""

    @property
    def size(self) -> tuple[float, float, float]:
        """Edges of the box around it [m]."""
        x, y, z = np.ptp(self.vertices, axis=0).tolist()
        return x, y, z


def slices(vertices: Array, faces: Faces, stations: Iterable[float]) -> list[Piece]:
    """Cut a solid; n places give n + 1 pieces, whose volumes sum to the whole.

    Args:
        vertices: (m, 3) [m].
        faces: (k, 3) of a closed surface, outward by the right-hand rule.
        stations: x of the planes in ascending order [m], (n,).
    """
    pieces = []
    for station in stations:
        vertices, below, faces = _cut(vertices, faces, station)
        pieces.append(_closed(vertices, below))
    return [*pieces, _closed(vertices, faces)]


def _cut(vertices: Array, faces: Faces, station: float) -> tuple[Array, Faces, Faces]:
    """Vertices with those in the plane behind them, faces below the plane, faces above it.

    A vertex in the plane counts as below it. Faces that share an edge share the point at which the
    plane passes it, so both parts are as closed as the whole, but for the cut.
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
    one, two = (number.reshape(-1, 2) + len(vertices)).T
    apex, left, right = corners.T
    lone = np.stack([apex, one, two], -1)
    pair = np.stack([one, left, right, one, right, two], -1).reshape(-1, 2, 3)
    return (
        np.vstack([vertices, points]),
        np.vstack([faces[whole == 0], lone[~one_above], pair[one_above].reshape(-1, 3)]),
        np.vstack([faces[whole == 3], lone[one_above], pair[~one_above].reshape(-1, 3)]),
    )


def _closed(vertices: Array, faces: Faces) -> Piece:
    """A piece of its own vertices only, its cuts closed by fans."""
    used, faces = np.unique(faces, return_inverse=True)
    vertices, faces = vertices[used], faces.reshape(-1, 3)
    caps = caps_of(vertices, faces)
    points, closed = np.vstack([vertices, caps.middles]), np.vstack([faces, caps.fans])
    properties = trimesh.triangles.mass_properties(points[closed])
    return Piece(points, closed, float(properties.volume), np.asarray(properties.center_mass))
