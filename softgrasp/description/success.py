"""When a grasp counts as held: what is done to it after the closure, and what it has to bear.

A criterion is data: it is saved whole with every result, so that nobody has to guess what ``held``
means in it. Shipped ones lie in ``assets/criteria``.
"""

from __future__ import annotations

import math
from typing import Any, Self

from pydantic import model_validator

from softgrasp.description.base import Count, Description, NonNegative, Positive, Vec3
from softgrasp.description.problems import FieldError
from softgrasp.description.sequence import Motions

SHORTEST = 1e-9
"""Directions have at least this length."""


class Pull(Description):
    """A growing force on the object's centre that pulls it out of the closed hand."""

    direction: Vec3
    """In the world; its length does not matter."""
    time: Positive = 1.0
    """In which the force grows to what friction holds at most, the sum of µ·N of all contacts of
    the closed hand; where that is less than the object's weight on Earth, to that weight [s]."""
    max_ratio: Positive = 3.0
    """It ends at this many times that force, where the object has not slipped."""
    min_force: NonNegative | None = None
    """Force that the grasp has to bear [N]; None: it is measured and not judged."""

    @model_validator(mode="after")
    def _somewhere(self) -> Self:
        if not any(self.direction):
            raise FieldError("expected a direction, found three zeros", "direction")
        if math.hypot(*self.direction) < SHORTEST:
            raise FieldError(
                f"expected a direction longer than {SHORTEST:g}, found {self.direction}",
                "direction",
            )
        return self


class SuccessCriterion(Description):
    """What is done to a closed grasp, in this order, and what is allowed to happen meanwhile.

    First gravity grows and stays, then the wrist goes through ``motion``, and then every one of
    ``directions`` and ``pulls`` is tried from one and the same closed state. Where the object goes
    is measured in the frame of the palm.
    """

    name: str = "hold"
    gravity: Vec3 | None = (0.0, 0.0, -9.81)
    """Acceleration that is reached at the end of the ramp [m/s²]; None, or not given beside
    ``motion``, ``directions`` or ``pulls``: gravity stays as it is in the scene."""
    ramp_time: NonNegative = 0.2
    """Time in which gravity, or the load of a direction, grows [s]."""
    hold_time: Positive = 0.6
    """Time under full gravity after the ramp [s]."""
    motion: Motions = ()
    """What the wrist does: hold, lift, move, shake."""
    directions: tuple[Vec3, ...] = ()
    """Accelerations a [m/s²] in the world; each is put on as the force m·a at the object's centre,
    beside gravity, m being its mass."""
    direction_time: Positive = 2.0
    """Time that each direction lasts, its ramp included [s]."""
    pulls: tuple[Pull, ...] = ()
    """Growing forces until the object slips, each from the same closed state as directions."""
    max_drop: Positive = 5e-4
    """Largest distance of the object's centre from where the test, or the direction, began [m]."""
    max_rotation: Positive = 0.1
    """Largest turn of the object since then [rad]."""
    min_contacts: Count = 1
    """Bodies of the hand that have to be in contact at the end of the test, and of a direction."""
    max_creep: Positive | None = None
    """Largest mean speed of the object in the hand under full load [m/s]; None: not judged."""
    min_lift: NonNegative | None = None
    """How much higher the object has to be at the end than when the test began [m]."""
    source: str = ""
    """Whose protocol it is."""
    deviations: str = ""
    """What in it is not as in the source."""

    @model_validator(mode="before")
    @classmethod
    def _no_gravity_beside_others(cls, data: Any) -> Any:
        more = ("directions", "motion", "pulls")
        does_more = isinstance(data, dict) and any(data.get(name) for name in more)
        return {"gravity": None} | data if does_more else data

    @property
    def max_duration(self) -> float:
        """Time that all of it takes at most [s]."""
        ramp = 0.0 if self.gravity is None else self.ramp_time + self.hold_time
        moving = sum(phase.time for phase in self.motion)
        pulling = sum(pull.time * pull.max_ratio for pull in self.pulls)
        return ramp + moving + len(self.directions) * self.direction_time + pulling

    @property
    def is_plain(self) -> bool:
        """Whether it is only a ramp of gravity, which every engine can do."""
        return self.gravity is not None and not (self.motion or self.directions or self.pulls)
