"""Points on the faces of convex hulls and inside them."""

from __future__ import annotations

import numpy as np

from softgrasp.formats.mesh_solid import Hull
from softgrasp.mechanics.transforms import Array

SPACING = 3e-3
"""Distance of points on a surface [m]."""
INNER_SPACING = 8e-3
"""Distance of points inside [m]."""
MAX_CELLS = 100_000
"""Of the grid around one hull; a larger one gets them farther apart."""
MAX_POINTS = 1500
"""Of one hull; a large one gets them farther apart."""


def inside(hull: Hull) -> Array:
    """A grid inside a hull, (n, 3) [m]."""
    low, high = hull.vertices.min(axis=0), hull.vertices.max(axis=0)
    step = max(INNER_SPACING, float(np.prod(high - low) / MAX_CELLS) ** (1.0 / 3.0))
    axes = [np.arange(a + step / 2, b, step) for a, b in zip(low, high, strict=True)]
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    a, b, c = hull.vertices[hull.faces].transpose(1, 0, 2)
    normals = np.cross(b - a, c - a)
    within = (grid @ normals.T <= np.einsum("ij,ij->i", normals, a)).all(axis=1)
    return np.asarray(grid[within])


def on_faces(hull: Hull) -> Array:
    """Corners of a hull and points spread over its faces, (n, 3)."""
    triangles = hull.vertices[hull.faces]
    edges = np.linalg.norm(triangles - np.roll(triangles, 1, axis=1), axis=2).max(axis=1)
    areas = np.linalg.norm(
        np.cross(*(triangles[:, 1:] - triangles[:, :1]).transpose(1, 0, 2)), axis=1
    )
    spacing = max(SPACING, float(np.sqrt(areas.sum() / 2.0 / MAX_POINTS)))
    points = [hull.vertices]
    steps = np.ceil(edges / spacing).astype(int)
    for count in np.unique(steps[steps > 1]):
        first, second = np.meshgrid(np.arange(count + 1), np.arange(count + 1), indexing="ij")
        kept = first + second <= count
        weights = np.stack([first[kept], second[kept], (count - first - second)[kept]], -1) / count
        points.append((weights @ triangles[steps == count]).reshape(-1, 3))
    return _apart(np.vstack(points), spacing / 2.0)


def _apart(points: Array, spacing: float) -> Array:
    """One point of each cell of a grid."""
    cells = np.round((points - points.min(axis=0)) / spacing).astype(np.int64)
    sides = cells.max(axis=0) + 1
    key = (cells[:, 0] * sides[1] + cells[:, 1]) * sides[2] + cells[:, 2]
    _, first = np.unique(key, return_index=True)
    return points[np.sort(first)]
