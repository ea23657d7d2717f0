"""Whether and when a hand let go of its object for good: what is seen of it then is free fall."""

from __future__ import annotations

import numpy as np

from softgrasp.mechanics.transforms import Array
from softgrasp.simulation.outcome import GraspStatus
from softgrasp.simulation.result import GraspResult

GONE = (GraspStatus.EJECTED, GraspStatus.DIVERGED, GraspStatus.NO_CONTACT)
"""Statuses of runs that say nothing of an object in the hand."""


def out_of_hand(result: GraspResult) -> bool:
    """Whether the run ends without the object in the hand, and was not asked to.

    A run that diverged ends with numbers of nothing, which its status says.
    """
    if result.status is GraspStatus.DIVERGED:
        return False
    dropped = result.held is False and not (_forces(result)[-1] > 0.0).any()
    return result.status in GONE or dropped


def was_touched(result: GraspResult) -> bool:
    """Whether the hand ever touched the object."""
    return bool((_forces(result) > 0.0).any())


def let_go_s(result: GraspResult) -> float | None:
    """When the hand touched the object for the last time before it fell [s].

    None where it is in the hand at the end, and where nothing ever touched it. What brushes it
    during a hold test that began without any contact is free fall.
    """
    if not out_of_hand(result):
        return None
    touching = np.asarray((_forces(result) > 0.0).any(axis=1))
    if result.hold is not None:
        begin = int(np.searchsorted(result.time, result.hold.start_s))
        if touching[:begin].any() and not touching[max(begin - 1, 0) : begin + 1].any():
            touching = touching[:begin]
    touched = np.flatnonzero(touching)
    return float(result.time[touched[-1]]) if touched.size else None


def how_it_ended(result: GraspResult) -> str:
    """What became of an object that is out of the hand."""
    return "it left the hand" if was_touched(result) else "it was never in the hand"


def _forces(result: GraspResult) -> Array:
    """Normal forces on the object that is to be grasped [N], (T, nb)."""
    several = result.object_normal_force
    return result.normal_force if several is None else several[..., 0]
