"""Triangles on our shapes, for what draws triangles only."""

from __future__ import annotations

from typing import Any

import numpy as np
import trimesh
from numpy.typing import NDArray

from softgrasp.description.geometry import Capsule, Cuboid, Cylinder, Ellipsoid, Shape, Sphere
from softgrasp.mechanics.transforms import Array

Triangles = tuple[Array, NDArray[np.int64]]
"""Corners (n, 3) [m] and, counter-clockwise as seen from outside, their numbers (m, 3)."""

ROUND = 32
"""Corners around a circle."""


def shape_triangles(shape: Shape) -> Triangles:
    """Triangles on the surface of a primitive, in its frame.

    Args:
        shape: A sphere, capsule, cylinder, cuboid or ellipsoid.

    Raises:
        TypeError: It is another shape.
    """
    mesh: trimesh.Trimesh = _mesh_of(shape)
    return np.asarray(mesh.vertices, dtype=float), np.asarray(mesh.faces, dtype=np.int64)


def _mesh_of(shape: Shape) -> Any:
    match shape:
        case Sphere():
            return trimesh.creation.icosphere(subdivisions=3, radius=shape.radius)
        case Ellipsoid():
            return trimesh.creation.icosphere(subdivisions=3).apply_scale(shape.radii)
        case Capsule():
            return trimesh.creation.capsule(shape.length, shape.radius, count=[ROUND, ROUND])
        case Cylinder():
            return trimesh.creation.cylinder(shape.radius, shape.height, sections=ROUND)
        case Cuboid():
            return trimesh.creation.box(shape.size)
    raise TypeError(f"expected a primitive, found {type(shape).__name__}")
