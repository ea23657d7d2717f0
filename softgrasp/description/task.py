"""What a wrist and the fingers do one after the other: approach, close, hold, lift, move, shake.

Every phase begins and ends at rest. Displacements and turns are those of the hand in the world;
only ``approach`` and the points to turn about are given in the hand's own frame.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from softgrasp.description.base import Count, Description, FieldError, NonNegative, Positive, Vec3


class _Phase(Description):
    """What all phases have."""

    name: str = ""
    """What results call it; its type where it is not given."""

    @property
    def label(self) -> str:
        """Its name, or its type."""
        return self.name or str(self.type)  # type: ignore[attr-defined]  # every phase has one

    @property
    def moves_wrist(self) -> bool:
        """Whether the wrist has to move for it."""
        return False


class ApproachPhase(_Phase):
    """The hand comes from an offset to its place in the scene, its fingers in their start posture.

    It can only be the first phase.
    """

    type: Literal["approach"] = "approach"
    offset: Vec3 | None = None
    """Where the hand comes from, seen from its place, in its own frame [m]; where it is not given,
    0.10 m back on the line from the grasp's centre to the finger bases."""
    time: Positive = 1.0
    """[s]"""

    @property
    def moves_wrist(self) -> bool:
        """It does."""
        return True


class PreshapePhase(_Phase):
    """The fingers go to a named start posture of the hand; only before they close."""

    type: Literal["preshape"] = "preshape"
    preshape: Annotated[str, Field(min_length=1)]
    time: Positive = 0.5
    """[s]"""


class ClosePhase(_Phase):
    """The closure of the scene, as long as it takes; every sequence has one."""

    type: Literal["close"] = "close"


class HoldPhase(_Phase):
    """Nothing moves but what the closure does where contact is lost."""

    type: Literal["hold"] = "hold"
    time: Positive = 0.5
    """[s]"""


class LiftPhase(_Phase):
    """Straight up along z of the world."""

    type: Literal["lift"] = "lift"
    height: Positive = 0.10
    """[m]"""
    time: Positive = 1.0
    """[s]"""

    @property
    def moves_wrist(self) -> bool:
        """It does."""
        return True


class MovePhase(_Phase):
    """A displacement, a turn, or both at once."""

    type: Literal["move"] = "move"
    displacement: Vec3 = (0.0, 0.0, 0.0)
    """Of the point ``about``, in the world [m]."""
    rotation_vector: Vec3 = (0.0, 0.0, 0.0)
    """Rotation vector in the world [rad]: its direction is the axis, its length the angle."""
    about: Vec3 = (0.0, 0.0, 0.0)
    """Point that the hand turns about, in the hand's frame [m]."""
    time: Positive = 1.0
    """[s]"""

    @model_validator(mode="after")
    def _moves(self) -> Self:
        if not any((*self.displacement, *self.rotation_vector)):
            raise ValueError("expected a displacement or a turn, found neither")
        return self

    @property
    def moves_wrist(self) -> bool:
        """It does."""
        return True


class ShakePhase(_Phase):
    """Sine waves along a direction, about an axis, or both, that swell and fade smoothly.

    The first and the last cycle are the swelling and the fading (half a cycle each where there is
    only one), so that the hand starts and ends at rest in its place.
    """

    type: Literal["shake"] = "shake"
    direction: Vec3 = (0.0, 0.0, 1.0)
    """In the world; its length does not matter."""
    amplitude: NonNegative | None = None
    """Largest displacement along the direction [m]; 0.02 where no angle is given, else 0."""
    axis: Vec3 = (0.0, 0.0, 1.0)
    """In the world; its length does not matter."""
    angle: NonNegative = 0.0
    """Largest turn about the axis [rad]."""
    about: Vec3 | None = None
    """Point that the hand turns about, in its frame [m]; the grasp's centre where not given."""
    frequency: Positive = 3.0
    """[Hz]"""
    cycles: Count = 4

    @model_validator(mode="after")
    def _shakes(self) -> Self:
        if not (self.reach or self.angle):
            raise ValueError("expected an amplitude or an angle, found neither")
        for name, used in (("direction", self.reach), ("axis", self.angle)):
            if used and not any(getattr(self, name)):
                raise FieldError("expected a direction, found a vector without length", name)
        return self

    @property
    def reach(self) -> float:
        """The amplitude, its default filled in [m]."""
        if self.amplitude is None:
            return 0.0 if self.angle else 0.02
        return self.amplitude

    @property
    def time(self) -> float:
        """How long it takes [s]."""
        return self.cycles / self.frequency

    @property
    def peak_acceleration(self) -> float:
        """Largest acceleration of the wrist along the direction, A·(2πf)² [m/s²]."""
        return self.reach * (2.0 * math.pi * self.frequency) ** 2

    @property
    def moves_wrist(self) -> bool:
        """It does."""
        return True


def _from_word(value: Any) -> Any:
    return {"type": value} if isinstance(value, str) else value


Motion = Annotated[HoldPhase | LiftPhase | MovePhase | ShakePhase, Field(discriminator="type")]
"""A phase that may follow a closed grasp."""
Phase = Annotated[
    ApproachPhase | PreshapePhase | ClosePhase | HoldPhase | LiftPhase | MovePhase | ShakePhase,
    Field(discriminator="type"),
]
"""Any phase of a sequence; in files, a phase with its defaults is its type alone."""
Sequence = tuple[Annotated[Phase, BeforeValidator(_from_word)], ...]
Motions = tuple[Annotated[Motion, BeforeValidator(_from_word)], ...]


# --------------------
# When a grasp counts as held: what is done to it after the closure, and what it has to bear.
#
# A criterion is data: it is saved whole with every result, so that nobody has to guess what
# ``held``
# means in it. Shipped ones lie in ``assets/criteria``.


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
