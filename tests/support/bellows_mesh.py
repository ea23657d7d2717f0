"""Bellows fingers as meshes whose valleys are known: a flat side, and round lobes above it."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import trimesh
from numpy.typing import NDArray

from softgrasp.mechanics.transforms import Array

MIN_STEPS = 8
"""Pieces of the outline of a whole lobe, however coarse the mesh."""


class BellowsMesh(NamedTuple):
    """A bellows finger: base in the plane x = 0, flat side on z = 0, bellows up."""

    surface: trimesh.Trimesh
    """Watertight [m]."""
    valleys: Array
    """Places of the valleys along x [m], (n,)."""
    joints: Array
    """Centroids of the cross-sections at the valleys [m], (n, 3)."""


def bellows_mesh(
    valleys: int | Sequence[float] = 7,
    *,
    length: float = 0.0635,
    width: float = 0.02,
    height: float = 0.021,
    depth: float | Sequence[float] = 0.008,
    taper: float = 0.0,
    resolution: float = 1e-3,
) -> BellowsMesh:
    """A finger of rectangular cross-section with half-elliptic lobes between its valleys.

    Without arguments it has the size of the finger of paper 000.
    """
    if isinstance(valleys, int):
        positions = np.arange(1, valleys + 1) * length / (valleys + 1)
    else:
        positions = np.asarray(valleys, dtype=float)
    remains = height - np.broadcast_to(np.asarray(depth, dtype=float), positions.shape)
    stations, outline = _side_view(positions, length, height, remains, resolution)
    surface = _extruded(stations, (1.0 - taper * stations / length) * outline, width, resolution)
    middles = 0.5 * (1.0 - taper * positions / length) * remains
    return BellowsMesh(surface, positions, np.stack([positions, 0.0 * positions, middles], -1))


def _side_view(
    valley_positions: Array, length: float, height: float, remains: Array, resolution: float
) -> tuple[Array, Array]:
    """Where the rings of vertices stand, and how high the upper side is there without taper [m].

    Lobes are cut in half by the two ends.
    """
    bounds = np.concatenate(
        [[-valley_positions[0]], valley_positions, [2.0 * length - valley_positions[-1]]]
    )
    floors = np.pad(remains, 1, mode="edge")
    stations, outline = [np.array([length])], [np.array([height])]
    for lobe in range(len(bounds) - 1):
        pitch = bounds[lobe + 1] - bounds[lobe]
        steps = max(round(pitch / resolution / 2), MIN_STEPS // 2)
        fractions = np.arange(2 * steps) / (2 * steps)
        fractions = fractions[
            steps * (lobe == 0) : steps if lobe == len(valley_positions) else None
        ]
        floor = floors[lobe] + fractions * (floors[lobe + 1] - floors[lobe])
        stations.insert(-1, bounds[lobe] + fractions * pitch)
        outline.insert(-1, floor + (height - floor) * 2.0 * np.sqrt(fractions * (1.0 - fractions)))
    return np.concatenate(stations), np.concatenate(outline)


def _extruded(stations: Array, outline: Array, width: float, resolution: float) -> trimesh.Trimesh:
    """The closed surface of a block of cells, as high at each station as the outline says."""
    across = max(round(width / resolution), 1)
    layers = max(round(float(outline.max()) / resolution), 1)
    x = stations[:, None, None]
    y = width * np.linspace(-0.5, 0.5, across + 1)[None, :, None]
    z = outline[:, None, None] * np.linspace(0.0, 1.0, layers + 1)
    nodes = np.stack(np.broadcast_arrays(x, y, z), -1)
    number = np.arange(nodes[..., 0].size).reshape(nodes.shape[:3])
    faces = np.vstack(
        [
            _triangles(np.take(number, side, axis), outward=(side == -1) == (axis != 1))
            for axis in range(3)
            for side in (0, -1)
        ]
    )
    used, faces = np.unique(faces, return_inverse=True)
    return trimesh.Trimesh(nodes.reshape(-1, 3)[used], faces.reshape(-1, 3), process=False)


def _triangles(grid: NDArray[np.int64], *, outward: bool) -> NDArray[np.int64]:
    """Two triangles a cell of a grid of vertex numbers."""
    a, b, c, d = (
        part.ravel() for part in (grid[:-1, :-1], grid[1:, :-1], grid[1:, 1:], grid[:-1, 1:])
    )
    faces = np.vstack([np.stack([a, b, c], -1), np.stack([a, c, d], -1)])
    return faces if outward else faces[:, ::-1]
