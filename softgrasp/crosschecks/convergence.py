"""How answers change as the time step shrinks."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from softgrasp.mechanics.transforms import Array

ROUNDING = 1e-12
"""Changes below this part of the values are rounding [–]."""


@dataclass(frozen=True)
class Convergence:
    """An engine's answers at several time steps, each half of the one before."""

    timesteps: Array
    """Descending [s], (m,)."""
    deviation: Array
    """Largest difference from the answer at the finest step, in the unit of the values, (m,)."""
    order: float
    """p of error ∝ hᵖ, from the three finest steps; NaN where there are fewer, or no change."""

    @property
    def shrinking(self) -> bool:
        """Whether every smaller step is nearer to the finest."""
        return bool((np.diff(self.deviation) < 0.0).all())


def convergence(timesteps: ArrayLike, values: ArrayLike) -> Convergence:
    """Deviations and order of answers.

    The order is log₂(|x(4h) − x(2h)| / |x(2h) − x(h)|): differences of neighbouring steps need no
    exact answer, while those from the finest step seem to fall faster than errors do.

    Args:
        timesteps: Descending, each half of the one before [s], (m,).
        values: An answer a step, (m, ...).
    """
    steps = np.asarray(timesteps, dtype=float)
    answers = np.asarray(values, dtype=float).reshape(len(steps), -1)
    deviation = np.abs(answers - answers[-1]).max(axis=1)
    changes = np.abs(np.diff(answers, axis=0)).max(axis=1)
    order = math.nan
    min_change = ROUNDING * float(np.abs(answers).max(initial=0.0))
    if len(changes) >= 2 and (changes[-2:] > min_change).all():
        order = math.log2(float(changes[-2] / changes[-1]))
    return Convergence(steps, deviation, order)


def halved(timestep: float, times: int, shortest: float = 0.0) -> list[float]:
    """A time step and its halves [s], those below the shortest of an engine left out.

    Args:
        timestep: The first [s].
        times: How often to halve it.
        shortest: [s]
    """
    steps = [timestep / 2**part for part in range(times + 1)]
    return [step for step in steps if step >= shortest * (1.0 - 1e-9)]
