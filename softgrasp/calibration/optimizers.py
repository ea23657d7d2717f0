"""Optimisers of a calibration: particle swarm, and bounded least squares.

``swarm_search`` is the global-best swarm of pyswarms, as in Hadi et al. (2025).
``least_squares_search`` is scipy's trust-region ``least_squares``, with a Jacobian of finite
differences that is evaluated in one batch; scipy's own differences evaluate one parameter after
the other. Where counts are measured there are no gradients, and one common factor is fitted
instead.
"""

from __future__ import annotations

import logging.config
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.optimize import least_squares

from softgrasp.calibration.stages import Search
from softgrasp.mechanics.transforms import Array

FAILED = 1e30
"""Objective of a particle that cannot be simulated; pyswarms does not accept NaN."""
NUDGE = 1e-6
"""Step of finite differences of smooth values, relative to the parameter's scale [–]."""
WIDE = 0.05
"""Step for settling times, which jump where an overshoot is lost [–]."""
FACTORS = 41
"""Number of common factors tried between the bounds, and again around the best."""
MAX_STEPS = 60
INSIDE = 1e-9
"""Distance of the start from the bounds, over the width between them; scipy needs a strictly
interior one."""


@dataclass(frozen=True)
class Swarm:
    """Settings of a particle swarm; defaults after the code of Hadi et al. (2025).

    Args:
        particles: Number of particles.
        iterations: Number of iterations.
        cognitive: Attraction to a particle's own best, c₁ of eq 1.
        social: Attraction to the swarm's best, c₂.
        inertia: Inertia weight ω.
    """

    particles: int = 14
    iterations: int = 100
    cognitive: float = 2.0
    social: float = 2.0
    inertia: float = 0.4


def swarm_search(search: Search, swarm: Swarm, seed: int) -> Array:
    """Return the best parameters of a swarm, (p,).

    Args:
        search: Search to evaluate; its history gets one step per iteration.
        swarm: Settings.
        seed: Seed of everything random.
    """
    block, done = search.stage.block, 0

    def costs(positions: Array) -> Array:
        nonlocal done
        done += 1
        fitness = search.fitness(positions, fraction=done / swarm.iterations)
        return np.where(np.isfinite(fitness), fitness, FAILED)

    with _seed(seed):
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
def _seed(seed: int) -> Iterator[None]:
    """Seed numpy's global random state, which pyswarms uses, and restore it.

    Pyswarms writes neither report.log in the working directory nor softgrasp's log meanwhile.
    """
    configure, logger = logging.config.dictConfig, logging.getLogger("pyswarms")
    level, state = logger.level, np.random.get_state()  # noqa: NPY002
    logging.config.dictConfig = lambda *_: None
    logger.setLevel(logging.CRITICAL)
    np.random.seed(seed)  # noqa: NPY002
    try:
        yield
    finally:
        np.random.set_state(state)  # noqa: NPY002
        logging.config.dictConfig = configure
        logger.setLevel(level)


def least_squares_search(search: Search, start: Array) -> Array:
    """Return the parameters with the smallest sum of squares, (p,).

    Args:
        search: Search to evaluate; its history gets one step per accepted point.
        start: Start parameters, (p,).
    """
    stage = search.stage
    if not stage.smooth:
        return _common_factor(search, start)
    block = stage.block

    @lru_cache(maxsize=1)  # the Jacobian follows at the same parameters
    def values(*parameters: float) -> Array:
        position = np.array([parameters])
        simulated = search.values(position)
        search.record(position, stage.fitness(simulated))
        return np.asarray(simulated[0])

    def residual(position: Array) -> Array:
        left: Array = values(*position) - stage.measured
        return np.nan_to_num(left, nan=1e6)

    def slopes(position: Array) -> Array:
        relative = np.nan_to_num(jacobian(search, position, values(*position)))
        return np.asarray(relative / block.scale(position))

    width = block.upper - block.lower
    solution = least_squares(
        residual, np.clip(start, block.lower + INSIDE * width, block.upper - INSIDE * width),
        jac=slopes, bounds=(block.lower, block.upper), x_scale=width, max_nfev=MAX_STEPS,
        xtol=1e-10, ftol=1e-10, gtol=1e-14,
    )  # fmt: skip
    return np.asarray(solution.x)


def _common_factor(search: Search, start: Array) -> Array:
    """Find one factor on all start parameters by a coarse, then a fine scan within the bounds."""
    block = search.stage.block
    low, high = float((block.lower / start).max()), float((block.upper / start).min())
    first, last = np.log([max(low, 1e-6), high]).tolist()
    best = start
    for part in (0.5, 1.0):
        factors = np.exp(np.linspace(first, last, FACTORS))
        points = np.clip(factors[:, None] * start, block.lower, block.upper)
        fitness = search.fitness(points, fraction=part)
        index = int(np.nanargmin(fitness)) if np.isfinite(fitness).any() else FACTORS // 2
        best = points[index]
        middle, width = float(np.log(factors[index])), (last - first) / (FACTORS - 1)
        first, last = middle - width, middle + width
    return best


def jacobian(search: Search, position: Array, at: Array) -> Array:
    """Compute derivatives of measured values over relative parameter changes, (m, p).

    Forward differences within the bounds in one batch; wide central ones where the stage is not
    smooth.

    Args:
        search: Search to evaluate.
        position: Parameters, (p,).
        at: Simulated values there, (m,).
    """
    block, smooth = search.stage.block, search.stage.smooth
    scale = block.scale(position)
    nudge = (NUDGE if smooth else WIDE) * scale
    ahead = np.minimum(position + nudge, block.upper)
    behind = position if smooth else np.maximum(position - nudge, block.lower)
    # backward differences at an upper bound
    edge = ahead - position < 0.5 * nudge
    ahead, behind = np.where(edge, position, ahead), np.where(edge, position - nudge, behind)
    count = len(position)
    ends = (np.where(np.eye(count, dtype=bool), end, position) for end in (ahead, behind))
    points = np.concatenate(list(ends))
    new = (points != position).any(axis=1)  # the others are not simulated again
    values = np.tile(at, (2 * count, 1))
    values[new] = search.values(points[new])
    steps = (ahead - behind) / scale
    return np.asarray(((values[:count] - values[count:]) / steps[:, None]).T)
