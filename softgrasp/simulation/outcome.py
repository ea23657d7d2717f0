"""How a grasp ended: statuses whose value is the sentence that the user needs."""

from __future__ import annotations

from enum import Enum


class GraspStatus(Enum):
    """How a run ended; an outcome, not an error."""

    CLOSED = "the hand has closed on the object and stands still"
    NO_CONTACT = "the hand has closed without establishing contact with the object"
    TIMED_OUT = "time ran out while joints were still closing"
    EJECTED = "the object has left the hand"
    DIVERGED = "the simulation has diverged"


EJECTION_DISTANCE = 2.0
"""An object that ends without contact this many of its own radii away has left the hand."""


def grasp_status(
    *,
    touched: bool,
    in_contact: bool,
    moving: bool,
    displacement: float,
    object_radius: float,
) -> GraspStatus:
    """The status of a run that did not diverge.

    Args:
        touched: Whether any body of the hand touched the object at any time.
        in_contact: Whether contact is established with any body at the end.
        moving: Whether targets were still moving at the end.
        displacement: How far the object's centre has gone [m].
        object_radius: Radius of a ball around the object [m].
    """
    gone = touched and displacement > EJECTION_DISTANCE * object_radius
    if not in_contact and gone:
        return GraspStatus.EJECTED
    if moving:
        return GraspStatus.TIMED_OUT
    return GraspStatus.CLOSED if in_contact else GraspStatus.NO_CONTACT
