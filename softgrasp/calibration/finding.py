"""The parameters of a stage by any of the methods."""

from __future__ import annotations

from softgrasp.calibration.least_squares import least_squares_search
from softgrasp.calibration.search import Search
from softgrasp.calibration.swarm import Swarm, swarm_search
from softgrasp.mechanics.transforms import Array

METHODS = ("pso", "least-squares", "pso+least-squares")


def optimum_of(search: Search, method: str, swarm: Swarm, seed: int) -> Array:
    """The parameters that a method finds, (p,).

    Args:
        search: What to evaluate; its history is filled.
        method: One of ``METHODS``.
        swarm: Settings of a swarm.
        seed: Of the swarm.
    """
    start = search.stage.block.middle
    if method == "least-squares":
        return least_squares_search(search, start)
    position = swarm_search(search, swarm, seed)
    if method == "pso+least-squares" and search.stage.smooth:
        position = least_squares_search(search, position)
        if search.best_position is not None:
            # least squares may leave an objective that is no sum of squares worse than it was
            position = search.best_position
    return position
