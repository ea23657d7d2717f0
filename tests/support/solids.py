"""Solids that are not convex."""

import numpy as np
import trimesh
from numpy.typing import ArrayLike

L_RIM = np.array([[0, 0], [3, 0], [3, 1], [1, 1], [1, 3], [0, 3]]) * 0.02


def prism(rim: ArrayLike, height: float) -> trimesh.Trimesh:
    """A polygon (n, 2), anticlockwise and all in sight of its first corner, up to a height [m]."""
    rim = np.asarray(rim, dtype=float)
    n = len(rim)
    vertices = np.vstack([np.column_stack([rim, np.full(n, z)]) for z in (0.0, height)])
    lid = np.array([(0, i, i + 1) for i in range(1, n - 1)])
    near, far = np.arange(n), np.roll(np.arange(n), -1)
    sides = [np.column_stack([near, far, far + n]), np.column_stack([near, far + n, near + n])]
    return trimesh.Trimesh(vertices, np.vstack([lid[:, ::-1], lid + n, *sides]), process=False)


def l_solid() -> trimesh.Trimesh:
    """An L of area 5 squares of 20 mm, 20 mm thick."""
    return prism(L_RIM, 0.02)
