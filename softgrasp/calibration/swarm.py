"""Particle swarms by pyswarms (global best), as paper 000 uses them."""

from __future__ import annotations

import logging.config
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from softgrasp.calibration.search import Search
from softgrasp.mechanics.transforms import Array

FAILED = 1e30
"""Fitness of a particle that cannot be simulated: pyswarms takes no number that is not one."""


@dataclass(frozen=True)
class Swarm:
    """Settings of a swarm; those of the repository of paper 000 where not given.

    Args:
        particles: How many.
        iterations: How many.
        cognitive: Pull of a particle's own best, c₁ of eq (1).
        social: Pull of the swarm's best, c₂.
        inertia: ω.
    """

    particles: int = 14
    iterations: int = 100
    cognitive: float = 2.0
    social: float = 2.0
    inertia: float = 0.4


def swarm_search(search: Search, swarm: Swarm, seed: int) -> Array:
    """The best parameters that a swarm finds, (p,).

    Args:
        search: What to evaluate; its history is filled, a step an iteration.
        swarm: Settings.
        seed: Of everything random.
    """
    block, done = search.stage.block, 0

    def costs(positions: Array) -> Array:
        nonlocal done
        done += 1
        fitness = search.fitness(positions, fraction=done / swarm.iterations)
        return np.where(np.isfinite(fitness), fitness, FAILED)

    with _quiet(), _seeded(seed):
        from pyswarms.single.global_best import GlobalBestPSO

        optimiser = GlobalBestPSO(
            n_particles=swarm.particles,
            dimensions=len(block.names),
            options={"c1": swarm.cognitive, "c2": swarm.social, "w": swarm.inertia},
            bounds=(block.lower, block.upper),
        )
        _, position = optimiser.optimize(costs, iters=swarm.iterations, verbose=False)
    return np.asarray(position)


@contextmanager
def _seeded(seed: int) -> Iterator[None]:
    """The global random state of numpy, which pyswarms uses, seeded and put back."""
    before = np.random.get_state()  # noqa: NPY002
    np.random.seed(seed)  # noqa: NPY002
    try:
        yield
    finally:
        np.random.set_state(before)  # noqa: NPY002


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep pyswarms from writing report.log into the working directory, and from our log."""
    before, logger = logging.config.dictConfig, logging.getLogger("pyswarms")
    level = logger.level
    logging.config.dictConfig = lambda *_: None
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logging.config.dictConfig = before
        logger.setLevel(level)
