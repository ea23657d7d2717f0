"""A few of many points, spread as far as they go."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from softgrasp.mechanics.transforms import Array


def farthest_first(points: Array, count: int) -> NDArray[np.int64]:
    """Numbers of at most so many points, each the farthest from those before it.

    The first one is the farthest from their mean. Any first part is spread over all of them, too.

    Args:
        points: (n, d).
        count: How many.
    """
    if len(points) == 0:
        return np.zeros(0, dtype=np.int64)
    chosen = [int(((points - points.mean(axis=0)) ** 2).sum(axis=1).argmax())]
    apart = np.full(len(points), np.inf)
    for _ in range(min(count, len(points)) - 1):
        away = points - points[chosen[-1]]
        np.minimum(apart, np.einsum("ij,ij->i", away, away), out=apart)
        chosen.append(int(apart.argmax()))
    return np.array(chosen, dtype=np.int64)
