"""Closed surfaces of primitive shapes as triangles, for the skin of what deforms."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from softgrasp.description.geometry import Cuboid, Cylinder, Ellipsoid, Shape, Sphere
from softgrasp.mechanics.transforms import Array

Faces = NDArray[np.int64]

EDGE = 13
"""Points along an edge of the cube that every surface is made of."""


def surface_of(shape: Shape) -> tuple[Array, Faces]:
    """Vertices (n, 3) [m] and triangles (m, 3), counterclockwise from outside.

    Args:
        shape: A cuboid, cylinder, ellipsoid or sphere.

    Raises:
        TypeError: It is none of these.
    """
    cube, faces = _cube()
    match shape:
        case Sphere(radius=radius):
            return _welded(radius * _ball(cube), faces)
        case Ellipsoid(radii=radii):
            return _welded(_ball(cube) * radii, faces)
        case Cylinder(radius=radius, height=height):
            return _welded(_drum(cube) * [radius, radius, 0.5 * height], faces, caps=True)
        case Cuboid(size=size):
            return 0.5 * cube * size, faces
    raise TypeError(f"expected a shape that can be deformable, found {shape.type}")


def _cube() -> tuple[Array, Faces]:
    """A cube from −1 to 1, six faces of EDGE × EDGE points each; edges have points of both."""
    line = np.linspace(-1.0, 1.0, EDGE)
    across, along = (grid.ravel() for grid in np.meshgrid(line, line, indexing="ij"))
    number = np.arange(EDGE * EDGE).reshape(EDGE, EDGE)
    a, b, c, d = number[:-1, :-1], number[1:, :-1], number[:-1, 1:], number[1:, 1:]
    square = np.stack([np.stack([a, b, d], -1), np.stack([a, d, c], -1)], 2).reshape(-1, 3)
    points: list[Array] = []
    faces: list[Faces] = []
    for axis in range(3):
        for side in (-1.0, 1.0):
            sheet = np.empty((EDGE * EDGE, 3))
            sheet[:, axis] = side
            sheet[:, (axis + 1) % 3], sheet[:, (axis + 2) % 3] = across, along
            faces.append((square if side > 0 else square[:, ::-1]) + len(points) * EDGE * EDGE)
            points.append(sheet)
    return np.concatenate(points), np.concatenate(faces)


def _welded(points: Array, faces: Faces, *, caps: bool = False) -> tuple[Array, Faces]:
    """One point for those in one place, so that light sees no seam; caps keep their edges."""
    sheet = np.arange(len(points)) // (EDGE * EDGE)
    apart = np.where(caps & (sheet >= 4), 1.0, 0.0)
    keys = np.column_stack([points.round(9), apart])
    _, first, where = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    corners = where.ravel()[faces]
    flat = (corners == np.roll(corners, 1, axis=1)).any(axis=1)
    return points[first], corners[~flat]


def _ball(cube: Array) -> Array:
    """The cube's points on the unit ball, evenly by angle."""
    bent = np.tan(0.25 * np.pi * cube)
    return np.asarray(bent / np.linalg.norm(bent, axis=1, keepdims=True))


def _drum(cube: Array) -> Array:
    """The cube's points on a cylinder of radius 1 from −1 to 1."""
    flat = np.abs(cube[:, :2]).max(axis=1, keepdims=True)
    length = np.maximum(np.linalg.norm(np.tan(0.25 * np.pi * cube[:, :2]), axis=1), 1e-12)
    round_ = np.tan(0.25 * np.pi * cube[:, :2]) / length[:, None] * flat
    return np.column_stack([round_, cube[:, 2]])
