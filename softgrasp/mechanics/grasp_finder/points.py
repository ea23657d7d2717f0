"""Points on links: thinned, placed, and the nearest ones."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from softgrasp.mechanics.farthest import farthest_first
from softgrasp.mechanics.transforms import Array

Indices = NDArray[np.int64]


def nearest(positions: Array, cloud: Array) -> tuple[Array, Indices]:
    """Distance of places (n, 3) from the nearest point of a cloud [m] and its number, (n,) each."""
    # few points: one product of matrices is quicker than a search tree
    squares = (cloud * cloud).sum(axis=1) - 2.0 * (positions @ cloud.T)
    point = squares.argmin(axis=1)
    squared = squares[np.arange(len(positions)), point] + (positions * positions).sum(axis=1)
    return np.sqrt(np.maximum(squared, 0.0)), point


def spread(points: Array, count: int) -> Array:
    """At most so many of the points (n, 3), each the farthest from those before it.

    Any first part of them is spread over the surface too.
    """
    return np.asarray(points[farthest_first(points, count)])


def length(vectors: Array) -> Array:
    """Of (m, 3): (m,)."""
    return np.asarray(np.sqrt(np.einsum("mi,mi->m", vectors, vectors)))


def local(positions: Array, frames: Array) -> Array:
    """Places (m, 3) as seen from frames (s, 4, 4): (s, m, 3)."""
    return np.asarray((positions[None] - frames[:, None, :3, 3]) @ frames[:, :3, :3])


def placed(points: Array, frames: Array) -> Array:
    """Points (n, 3) at frames (s, 4, 4): (s, n, 3)."""
    return np.asarray(points @ frames[:, :3, :3].transpose(0, 2, 1) + frames[:, None, :3, 3])


def moved(points: Array, frames: Array) -> Array:
    """Points (m, 3), each at a frame of its own (m, 4, 4): (m, 3)."""
    return np.asarray(np.einsum("mij,mj->mi", frames[:, :3, :3], points) + frames[:, :3, 3])
