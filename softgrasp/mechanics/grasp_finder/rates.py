"""How fast each drive goes, such that all fingers arrive together."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from softgrasp.description.drive import Actuator
from softgrasp.mechanics.grasp_finder.closing import Closing
from softgrasp.mechanics.grasp_finder.hand import ClosingHand
from softgrasp.mechanics.grasp_finder.sweep import Meeting, Sweep
from softgrasp.mechanics.transforms import Array

FASTEST = {"rad": 1.5, "m": 0.05}
"""Rate of the fastest drive [rad/s, m/s]."""
CLOSING_TIME = 1.2
"""In which a drive whose target is no angle and no way goes through its range [s]."""
DISTAL = 0.15
"""Part of its way that every joint but a finger's first one goes in a precision grasp [–]."""
SLOWEST = 0.3
"""Of the fastest group of drives: a slower one would hardly close [–]."""


def weights_of(closing: Closing, kind: str) -> Array:
    """Parts of their ways that drives go: in a precision grasp, the first joints go ahead."""
    if kind == "power":
        return np.ones(len(closing.start))
    return np.where(closing.order > 0, DISTAL, 1.0)


def rates_of(
    hand: ClosingHand,
    closing: Closing,
    weights: Array,
    arrivals: Array,
    fastest: Mapping[str, float],
) -> Array:
    """Rates of all drives, in their units a second, (nd,).

    Args:
        hand: The hand.
        closing: How it closes.
        weights: Parts of their ways that drives go together.
        arrivals: When the fingers of each group arrive, over the last one's arrival, (g,).
        fastest: Largest rate of drives by name, where one is known.
    """
    speeds = np.zeros(len(closing.start))
    for group, arrival in zip(closing.groups, arrivals.tolist(), strict=True):
        indices = list(group)
        speeds[indices] = arrival * (weights * (closing.end - closing.start))[indices]
    longest = max(
        (
            abs(v) / _fastest(d, fastest)
            for v, d in zip(speeds.tolist(), hand.actuators, strict=True)
        ),
        default=0.0,
    )
    return speeds / longest if longest > 0.0 else speeds


def _fastest(actuator: Actuator, known: Mapping[str, float]) -> float:
    low, high = actuator.limits
    rate = FASTEST.get(actuator.unit, max(high - low, 1e-12) / CLOSING_TIME)
    return min(rate, known.get(actuator.name, np.inf))


def arrivals_of(sweep: Sweep, meeting: Meeting | None, groups: int) -> Array:
    """When the fingers of each group of drives arrive, over the last one's arrival, (g,).

    Args:
        sweep: The closing hand.
        meeting: Of its fingers with one ball; None where no finger moves.
        groups: How many groups there are.
    """
    arrivals = np.full(groups, np.nan)
    if meeting is not None:
        for group in range(groups):
            in_group = (sweep.groups == group) & meeting.touched[0]
            if in_group.any():
                arrivals[group] = meeting.fraction[0][in_group].min()
    if np.isnan(arrivals).all():
        return np.ones(groups)
    arrivals = np.where(np.isnan(arrivals), np.nanmean(arrivals), arrivals)
    return np.asarray(np.maximum(arrivals, SLOWEST * arrivals.max()))
