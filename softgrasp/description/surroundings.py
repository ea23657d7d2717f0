"""What stands around a grasp and does not move: tables, walls and blocks."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Discriminator, Tag, field_validator

from softgrasp.description.base import Description, Number, Positive, Vec3
from softgrasp.description.contact import Contact


class Table(Description):
    """A horizontal table top that does not move."""

    type: Literal["table"] = "table"
    name: str = ""
    """Its kind, with a number from the second one on, where it is not given."""
    height: Number | None = None
    """World z of its top [m]; right under the object where it is not given."""
    center: tuple[Number, Number] | None = None
    """World x and y of its middle [m]; under the object where it is not given."""
    size: tuple[Positive, Positive] = (0.6, 0.6)
    """Edges along x and y of the world [m]."""
    contact: Contact | None = None
    """Its contact with objects and hand; as theirs where it is not given."""


class Wall(Description):
    """A slab whose face looks along a normal: upright, sloping, or a ceiling."""

    type: Literal["wall"] = "wall"
    name: str = ""
    """Its kind, with a number from the second one on, where it is not given."""
    point: Vec3
    """Middle of its face in the world [m]."""
    normal: Vec3
    """Out of its face, in the world; of any length."""
    size: tuple[Positive, Positive] = (0.3, 0.3)
    """Edges of its face [m]: the level one, then the one that rises most; of a level face along x
    and y of the world."""
    thickness: Positive = 0.02
    """Behind its face [m]."""
    contact: Contact | None = None
    """Its contact with objects and hand; as theirs where it is not given."""

    @field_validator("normal")
    @classmethod
    def _points_somewhere(cls, value: Vec3) -> Vec3:
        if max(map(abs, value)) < 1e-9:
            raise ValueError(f"expected a direction that is not zero, found {value}")
        return value


class Block(Description):
    """A box that does not move."""

    type: Literal["block"] = "block"
    name: str = ""
    """Its kind, with a number from the second one on, where it is not given."""
    position: Vec3
    """Its middle in the world [m]."""
    euler: Vec3 = (0.0, 0.0, 0.0)
    """Turns about x, y, z of intrinsic z-y-x [rad]."""
    size: tuple[Positive, Positive, Positive]
    """Edges along its own x, y and z [m]."""
    contact: Contact | None = None
    """Its contact with objects and hand; as theirs where it is not given."""


def _kind(value: Any) -> Any:
    """A table where nothing else is said: it was the only kind once."""
    if isinstance(value, dict):
        return value.get("type", "table")
    return getattr(value, "type", "table")


Surrounding = Annotated[
    Annotated[Table, Tag("table")] | Annotated[Wall, Tag("wall")] | Annotated[Block, Tag("block")],
    Discriminator(_kind),
]


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
