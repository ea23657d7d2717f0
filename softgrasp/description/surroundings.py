"""What stands around a grasp: tables."""

from __future__ import annotations

from typing import Literal

from softgrasp.description.base import Description, Number, Positive
from softgrasp.description.contact import Contact


class Table(Description):
    """A horizontal table top that does not move."""

    type: Literal["table"] = "table"
    height: Number | None = None
    """World z of its top [m]; right under the object where it is not given."""
    center: tuple[Number, Number] | None = None
    """World x and y of its middle [m]; under the object where it is not given."""
    size: tuple[Positive, Positive] = (0.6, 0.6)
    """Edges along x and y of the world [m]."""
    contact: Contact | None = None
    """Its contact with object and hand; as object and hand where it is not given."""


class Lift(Description):
    """What the hand's wrist does after the closure: lift the object, and hold it there.

    The object is held where it is off the table at the end and has drifted in the hand by less
    than is allowed since the wrist began to move.
    """

    height: Positive = 0.10
    """[m], up along z of the world."""
    time: Positive = 1.0
    """The wrist starts and ends at rest and takes this long [s]."""
    hold_time: Positive = 2.0
    """Time at the top [s]."""
    max_drop: Positive = 5e-3
    """Largest distance of the object's centre from where the hand took it [m], hand frame."""
    max_rotation: Positive = 0.35
    """Largest turn of the object in the hand [rad]."""
