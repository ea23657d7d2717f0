"""How gravity, or another load, grows in a hold test."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from softgrasp.description.task import SuccessCriterion
from softgrasp.mechanics.transforms import Array

LONGEST = 0.01
"""Gravity stays for up to this time [s] before it grows again, so that the physics need not wait
for the controller at every sample."""
STEPS_PER_DECAY = 2
"""What is put on at once is at most the load that is still missing over this."""


def gravity_steps(
    criterion: SuccessCriterion, before: Array, period: float
) -> Iterator[tuple[int, Array]]:
    """Gravity from its value before the test to the full load, as weights that are put on.

    It follows a straight ramp in steps that shrink to one sample towards its end. An elastic
    grasp swings by as much again when a step is put on, and half of what is missing cannot
    overshoot the full load.

    Args:
        criterion: The hold test.
        before: Gravity before it [m/s²], (3,).
        period: Of the controller [s].

    Yields:
        Control samples, and gravity during them [m/s²]; the time under full load is the last.
    """
    full = before if criterion.gravity is None else np.array(criterion.gravity)
    rise = full - before
    for samples, fraction in load_fractions(criterion.ramp_time, period):
        yield samples, before + fraction * rise
    yield round(criterion.hold_time / period), full


def load_fractions(ramp_time: float, period: float) -> Iterator[tuple[int, float]]:
    """The steps of such a ramp: control samples, and the share of the load during them.

    Args:
        ramp_time: [s]
        period: Of the controller [s].
    """
    ramp = max(round(ramp_time / period), 1)
    longest = max(round(LONGEST / period), 1)
    done = 0
    while done < ramp:
        samples = min(longest, max((ramp - done) // STEPS_PER_DECAY, 1))
        done += samples
        yield samples, done / ramp
