"""How fast each drive goes, such that all fingers arrive together."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from softgrasp.description.drive import Drive
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
        (abs(v) / _fastest(d, fastest) for v, d in zip(speeds.tolist(), hand.drives, strict=True)),
        default=0.0,
    )
    return speeds / longest if longest > 0.0 else speeds


def _fastest(drive: Drive, known: Mapping[str, float]) -> float:
    low, high = drive.limits
    own = FASTEST.get(drive.unit, max(high - low, 1e-12) / CLOSING_TIME)
    return min(own, known.get(drive.name, np.inf))


def arrivals_of(sweep: Sweep, meeting: Meeting | None, groups: int) -> Array:
    """When the fingers of each group of drives arrive, over the last one's arrival, (g,).

    Args:
        sweep: The closing hand.
        meeting: Of its fingers with one ball; None where no finger moves.
        groups: How many groups there are.
    """
    found = np.full(groups, np.nan)
    if meeting is not None:
        for group in range(groups):
            own = (sweep.groups == group) & meeting.touched[0]
            if own.any():
                found[group] = meeting.share[0][own].min()
    if np.isnan(found).all():
        return np.ones(groups)
    found = np.where(np.isnan(found), np.nanmean(found), found)
    return np.asarray(np.maximum(found, SLOWEST * found.max()))
