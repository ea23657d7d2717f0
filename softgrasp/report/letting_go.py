"""Whether and when a hand let go of its object for good: what is seen of it then is free fall."""

from __future__ import annotations

import numpy as np

from softgrasp.simulation.outcome import GraspStatus
from softgrasp.simulation.result import GraspResult

GONE = (GraspStatus.EJECTED, GraspStatus.DIVERGED, GraspStatus.NO_CONTACT)
"""Statuses of runs that end without the object in the hand."""


def out_of_hand(result: GraspResult) -> bool:
    """Whether the run ends without the object in the hand, and was not asked to."""
    dropped = result.held is False and not bool(result.in_contact[-1].any())
    return result.status in GONE or dropped


def let_go_s(result: GraspResult) -> float | None:
    """When the hand touched the object for the last time [s].

    None where it is in the hand at the end, and where nothing ever touched it.
    """
    touched = np.flatnonzero((result.normal_force > 0.0).any(axis=1))
    if not out_of_hand(result) or not touched.size:
        return None
    return float(result.time[touched[-1]])
