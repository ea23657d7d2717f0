"""The values of a plan's axes, row by row."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np

from softgrasp.description.sweep_plan import Axis, SweepPlan
from softgrasp.mechanics.transforms import Array


def combinations(plan: SweepPlan) -> list[dict[str, Any]]:
    """Values of all axes by their paths, in the order of the plan; repeats not counted."""
    paths = [axis.path for axis in plan.axes]
    return [dict(zip(paths, values, strict=True)) for values in _combinations(plan)]


def _combinations(plan: SweepPlan) -> Iterator[tuple[Any, ...]]:
    if plan.method == "grid":
        yield from product(*(_spaced(axis) for axis in plan.axes))
    elif plan.method == "list":
        yield from zip(*(axis.values or () for axis in plan.axes), strict=True)
        if not plan.axes:
            yield ()
    else:
        for fractions in _fractions(plan):
            pairs = zip(plan.axes, fractions.tolist(), strict=True)
            yield tuple(_between(axis, fraction) for axis, fraction in pairs)


def _spaced(axis: Axis) -> list[Any]:
    if axis.values is not None:
        return list(axis.values)
    steps = axis.steps or 1
    values = (_between(axis, index / max(steps - 1, 1)) for index in range(steps))
    return [float(f"{value:.12g}") for value in values]  # 0.6 and not 0.6000000000000001


def _between(axis: Axis, fraction: float) -> Any:
    """The value at a share of the way from the low to the high end, or of the list."""
    if axis.values is not None:
        return axis.values[min(int(fraction * len(axis.values)), len(axis.values) - 1)]
    assert axis.low is not None
    assert axis.high is not None
    if axis.log:
        return float(axis.low * (axis.high / axis.low) ** fraction)
    return axis.low + (axis.high - axis.low) * fraction


def _fractions(plan: SweepPlan) -> Array:
    """Samples in the unit cube, (samples, axes)."""
    from scipy.stats import qmc

    count, generator = plan.samples or 1, np.random.default_rng(plan.seed)
    if plan.method == "latin":
        return np.asarray(qmc.LatinHypercube(len(plan.axes), rng=generator).random(count))
    # Sobol points are balanced in powers of two; the first ones of the next power are taken
    power = max(int(np.ceil(np.log2(count))), 0)
    return np.asarray(qmc.Sobol(len(plan.axes), rng=generator).random_base2(power)[:count])
