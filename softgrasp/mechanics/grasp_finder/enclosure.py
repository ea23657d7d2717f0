"""How well contacts on a ball oppose one another."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from softgrasp.mechanics.transforms import Array

FRICTION = 0.25
"""Coefficient with which contacts are judged [–]; wood and fruit have 0.5."""


def directions(count: int = 96) -> Array:
    """Unit vectors spread evenly over the sphere, (count, 3): a Fibonacci lattice."""
    index = np.arange(count) + 0.5
    z = 1.0 - 2.0 * index / count
    around = np.pi * (1.0 + np.sqrt(5.0)) * index
    ring = np.sqrt(1.0 - z * z)
    return np.stack([ring * np.cos(around), ring * np.sin(around), z], axis=-1)


DIRECTIONS = directions()


def enclosures(
    normals: Array,
    touching: NDArray[np.bool_],
    directions: Array = DIRECTIONS,
    friction: float = FRICTION,
) -> tuple[Array, Array]:
    """Least and mean force that contacts of unit normal force give in any direction [–].

    The forces of each contact lie in its friction cone, so a contact gives n·u + µ·|u − (n·u)n| in
    the direction u. Above 0 the least one says that no push takes the ball away; two opposite
    contacts have µ.

    Args:
        normals: Into the ball, (m, k, 3).
        touching: Which of them are there, (m, k).
        directions: Unit vectors that are looked along, (n, 3).
        friction: Coefficient µ [–].

    Returns:
        Least and mean, (m,); −1 where nothing touches.
    """
    along = normals @ directions.T
    support = along + friction * np.sqrt(np.clip(1.0 - along * along, 0.0, None))
    support = np.where(touching[:, :, None], support, -1.0)
    best = support.max(axis=1)
    return best.min(axis=1), best.mean(axis=1)
