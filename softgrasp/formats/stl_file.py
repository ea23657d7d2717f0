"""Triangles as binary STL, the mesh format that every reader of URDF knows."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike


def stl_of(vertices: ArrayLike, faces: ArrayLike) -> bytes:
    """A triangle mesh as binary STL, in single precision as that format is.

    Args:
        vertices: (n, 3) [m].
        faces: Indices of corners, outward by the right-hand rule, (m, 3).
    """
    import trimesh

    mesh = trimesh.Trimesh(np.asarray(vertices), np.asarray(faces), process=False)
    return bytes(trimesh.exchange.stl.export_stl(mesh))


def hull_stl(points: ArrayLike) -> bytes:
    """The convex hull of points (n, 3) [m] as binary STL."""
    import trimesh

    hull = trimesh.convex.convex_hull(np.asarray(points))
    return stl_of(hull.vertices, hull.faces)
