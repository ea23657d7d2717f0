"""How gravity grows in a hold test."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from softgrasp.description.success import SuccessCriterion
from softgrasp.mechanics.transforms import Array, minimum_jerk

STEP = 0.01
"""Gravity stays for about this time [s] before it grows again, so that the physics need not wait
for the controller at every sample."""


def gravity_steps(
    criterion: SuccessCriterion, before: Array, period: float
) -> Iterator[tuple[int, Array]]:
    """Gravity from its value before the test to the full load, as small weights that are put on.

    The weights are large in the middle of the ramp and ever smaller towards its end (minimum
    jerk): where there are 20 of them the last one is 0.1 % of the load, which is therefore not
    overshot.

    Args:
        criterion: The hold test.
        before: Gravity before it [m/s²], (3,).
        period: Of the controller [s].

    Yields:
        Control samples, and gravity during them [m/s²]; the time under full load is the last.
    """
    ramp = max(round(criterion.ramp_time / period), 1)
    weights = min(max(round(criterion.ramp_time / STEP), 1), ramp)
    rise = np.array(criterion.gravity) - before
    for weight, share in enumerate(minimum_jerk(np.arange(1, weights + 1) / weights), start=1):
        yield ramp * weight // weights - ramp * (weight - 1) // weights, before + share * rise
    yield round(criterion.hold_time / period), np.array(criterion.gravity)
