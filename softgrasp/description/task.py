"""Tasks: phases of wrist and fingers, and the criterion for a held object.

A ``Sequence`` of phases (approach, preshape, close, hold, lift, move, shake, place, release) states
what wrist and fingers do in order; every phase begins and ends at rest. Displacements and rotations
are those of the hand in the world frame; only ``approach`` and the reference points ``about`` are
in the hand's frame.

A ``SuccessCriterion`` states the loads and motions after the closure and the limits that the grasp
has to satisfy. It is saved with every result, so that the meaning of ``held`` is always known.
Shipped criteria are in ``assets/criteria``.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from softgrasp.description.base import (
    MAX_SUPPORT,
    Accepts,
    Count,
    Description,
    FieldError,
    NonNegative,
    Positive,
    UpToOne,
    Vec3,
)


class _Phase(Description):
    """Base of all phases of a motion sequence."""

    name: str = ""
    """Name in results; the type by default."""

    moves_wrist: ClassVar[bool] = False
    """Whether the phase moves the wrist."""

    @property
    def label(self) -> str:
        """The name, or the type without a name."""
        return self.name or str(self.type)  # type: ignore[attr-defined]  # every phase has one


class ApproachPhase(_Phase):
    """The hand moves from an offset to its pose in the scene, its fingers in the start posture.

    It can only be the first phase.
    """

    moves_wrist: ClassVar[bool] = True
    type: Literal["approach"] = "approach"
    offset: Vec3 | None = None
    """Start position relative to the hand's pose, in its frame [m]; 0.10 m back on the line from
    the grasp's centre to the finger bases by default."""
    time: Positive = 1.0
    """Duration [s]."""


class PreshapePhase(_Phase):
    """The fingers move to a preshape of the hand; only before they close."""

    type: Literal["preshape"] = "preshape"
    preshape: Annotated[str, Field(min_length=1)]
    """Name of a posture of the hand."""
    time: Positive = 0.5
    """Duration [s]."""


class ClosePhase(_Phase):
    """The closure of the scene; every motion sequence has exactly one."""

    type: Literal["close"] = "close"


class HoldPhase(_Phase):
    """Keep the wrist still."""

    type: Literal["hold"] = "hold"
    time: Positive = 0.5
    """Duration [s]."""


class LiftPhase(_Phase):
    """A vertical motion along z of the world."""

    moves_wrist: ClassVar[bool] = True
    type: Literal["lift"] = "lift"
    height: Positive = 0.10
    """Height of the lift [m]."""
    time: Positive = 1.0
    """Duration [s]."""


class MovePhase(_Phase):
    """A displacement, a rotation, or both simultaneously."""

    moves_wrist: ClassVar[bool] = True
    type: Literal["move"] = "move"
    displacement: Vec3 = (0.0, 0.0, 0.0)
    """Displacement of the point ``about`` in the world [m]."""
    rotation_vector: Vec3 = (0.0, 0.0, 0.0)
    """Rotation vector in the world [rad]: its direction is the axis, its length the angle."""
    about: Vec3 = (0.0, 0.0, 0.0)
    """Centre of rotation in the hand's frame [m]."""
    time: Positive = 1.0
    """Duration [s]."""
    max_force: Positive | None = None
    """Force at which the motion stops, for a guarded move: that of everything else on the hand and
    the object in it, less that at the start of the move [N]; None: it goes on."""

    @model_validator(mode="after")
    def _moves(self) -> Self:
        if not any((*self.displacement, *self.rotation_vector)):
            raise ValueError("expected a displacement or a rotation, found neither")
        return self


MARGIN_BELOW = 0.01
"""Distance that a ``place`` goes further down than the hand was raised [m]."""
SHAKE_PEAKS = (2.3167, 1.2225, 1.1122)
"""Largest acceleration of a shake of one, two, or more cycles over that of a sine of its amplitude
and frequency, because it grows and fades (``mechanics.trajectory.shaken``) [–]."""


class ShakePhase(_Phase):
    """Sine oscillation along a direction, about an axis, or both, with a smooth envelope.

    The envelope rises over the first and falls over the last cycle (half a cycle each where there
    is only one), so that the hand starts and ends at rest at its pose.
    """

    moves_wrist: ClassVar[bool] = True
    type: Literal["shake"] = "shake"
    direction: Vec3 = (0.0, 0.0, 1.0)
    """Direction in the world; its length is not used."""
    amplitude: NonNegative | None = None
    """Largest displacement along the direction [m]; 0.02 without an angle, else 0."""
    axis: Vec3 = (0.0, 0.0, 1.0)
    """Axis in the world; its length is not used."""
    angle: NonNegative = 0.0
    """Largest rotation about the axis [rad]."""
    about: Vec3 | None = None
    """Centre of rotation in the hand's frame [m]; the grasp's centre by default."""
    frequency: Positive = 3.0
    """Frequency [Hz]."""
    cycles: Count = 4
    """Number of periods."""

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
        """The amplitude with its default [m]."""
        if self.amplitude is None:
            return 0.0 if self.angle else 0.02
        return self.amplitude

    @property
    def time(self) -> float:
        """Duration [s]."""
        return self.cycles / self.frequency

    @property
    def peak_rate(self) -> float:
        """Largest acceleration over the amplitude, (2πf)² times ``SHAKE_PEAKS`` [1/s²]."""
        factor = SHAKE_PEAKS[min(self.cycles, len(SHAKE_PEAKS)) - 1]
        return factor * (2.0 * math.pi * self.frequency) ** 2

    @property
    def peak_acceleration(self) -> float:
        """Largest acceleration of the wrist along the direction [m/s²]."""
        return self.reach * self.peak_rate


class _LettingGo(_Phase):
    """Base of the phases in which the hand lets the object go."""

    time: Positive = 0.5
    """Duration [s]."""
    max_fall: Positive = 0.005
    """Largest distance by which an object that is ``PLACED`` sinks from here on [m]."""
    max_tilt: Positive = 0.2
    """Largest angle of its vertical axis to where that axis was at the start of the run [rad]."""


class ReleasePhase(_LettingGo):
    """The fingers go back to where they began to close, within ``time``."""

    type: Literal["release"] = "release"


class PlacePhase(_LettingGo):
    """The hand goes down until the object presses on something, lets go, and goes back.

    It is a guarded move, a release and a move; results name them ``lower``, ``release`` and
    ``retreat``, after the name of the phase where it has one.
    """

    moves_wrist: ClassVar[bool] = True
    type: Literal["place"] = "place"
    depth: Positive | None = None
    """Longest way down [m]; by default 10 mm more than lifts and moves have raised the hand."""
    max_force: Positive = 1.0
    """Force at which the hand stops on its way down [N]; see ``MovePhase.max_force``."""
    lower_time: Positive = 2.0
    """Time for the whole depth [s]."""
    retreat: Vec3 = (0.0, 0.0, 0.1)
    """Displacement of the hand after the release, in the world [m]."""
    retreat_time: Positive = 1.0
    """Duration of the retreat [s]."""

    def parts(self, raised: float) -> tuple[MovePhase, ReleasePhase, MovePhase]:
        """Return the phases that it consists of.

        Args:
            raised: Height by which the hand has been raised since the closure [m].
        """
        before = f"{self.name}: " if self.name else ""
        down = max(raised, 0.0) + MARGIN_BELOW if self.depth is None else self.depth
        limits: dict[str, Any] = {"max_fall": self.max_fall, "max_tilt": self.max_tilt}
        return (
            MovePhase(
                name=f"{before}lower", displacement=(0.0, 0.0, -down), time=self.lower_time,
                max_force=self.max_force,
            ),
            ReleasePhase(name=f"{before}release", time=self.time, **limits),
            MovePhase(name=f"{before}retreat", displacement=self.retreat, time=self.retreat_time),
        )  # fmt: skip


def unfold(sequence: tuple[Phase, ...]) -> tuple[Phase, ...]:
    """Replace every ``place`` of a sequence by its parts."""
    phases: list[Phase] = []
    raised = 0.0
    for phase in sequence:
        for part in phase.parts(raised) if isinstance(phase, PlacePhase) else (phase,):
            phases.append(part)
            if isinstance(part, LiftPhase):
                raised += part.height
            elif isinstance(part, MovePhase):
                raised += part.displacement[2]
    return tuple(phases)


def _from_word(value: Any) -> Any:
    """Convert the name of a phase type to a phase with its defaults."""
    return {"type": value} if isinstance(value, str) else value


_Motion = HoldPhase | LiftPhase | MovePhase | ShakePhase
Motion = Annotated[_Motion, Field(discriminator="type")]
"""A phase that may follow a closed grasp."""
Phase = Annotated[
    ApproachPhase | PreshapePhase | ClosePhase | _Motion | ReleasePhase | PlacePhase,
    Field(discriminator="type"),
]
"""Any phase of a sequence; in files the type alone is a phase with its defaults."""
Sequence = Accepts[
    tuple[Annotated[Phase, BeforeValidator(_from_word)], ...], tuple[Phase | str, ...]
]
Motions = Accepts[
    tuple[Annotated[Motion, BeforeValidator(_from_word)], ...], tuple[Motion | str, ...]
]
ALL = "all"
"""Name of all surroundings together."""
MIN_LENGTH = 1e-9
"""Shortest direction vector that is accepted."""


class Pull(Description):
    """A growing force on the object's centre that pulls it out of the closed hand."""

    direction: Vec3
    """Direction in the world; its length is not used."""
    time: Positive = 1.0
    """Time in which the force grows to the largest that friction can hold, the sum of µ·N of all
    contacts of the closed hand, or to the object's weight on Earth where that is larger [s]."""
    max_ratio: Positive = 3.0
    """Final force over that force, where the object has not slipped [–]."""
    min_force: NonNegative | None = None
    """Force that the grasp has to withstand [N]; None: the force is measured only."""

    @model_validator(mode="after")
    def _somewhere(self) -> Self:
        if not any(self.direction):
            raise FieldError("expected a direction, found three zeros", "direction")
        if math.hypot(*self.direction) < MIN_LENGTH:
            message = f"expected a direction longer than {MIN_LENGTH:g}, found {self.direction}"
            raise FieldError(message, "direction")
        return self


class SuccessCriterion(Description):
    """Test loads and motions after closing, in this order, and the limits of a successful grasp.

    First gravity grows and remains, then the wrist performs ``motion``, and then each of
    ``directions`` and ``pulls`` is tested from the same closed state. The position of the object is
    measured in the frame of the palm.
    """

    name: str = "hold"
    gravity: Vec3 | None = (0.0, 0.0, -9.81)
    """Gravity at the end of the ramp [m/s²]; None, or absent beside ``motion``, ``directions`` or
    ``pulls``: gravity of the scene."""
    ramp_time: NonNegative = 0.2
    """Time in which gravity, or the load of a direction, grows [s]."""
    hold_time: Positive = 0.6
    """Time under full gravity after the ramp [s]."""
    motion: Motions = ()  # type: ignore[assignment]
    """Phases of the wrist: hold, lift, move, shake."""
    directions: tuple[Vec3, ...] = ()
    """Accelerations a in the world [m/s²]; each is applied as the force m·a at the object's centre,
    in addition to gravity, m being its mass."""
    direction_time: Positive = 2.0
    """Duration of each direction, its ramp included [s]."""
    pulls: tuple[Pull, ...] = ()
    """Growing forces until the object slips, each from the same closed state as directions."""
    max_drop: Positive = 5e-4
    """Largest distance of the object's centre from its position at the start of the test, or of the
    direction [m]."""
    max_rotation: Positive = 0.1
    """Largest rotation of the object since then [rad]."""
    min_contacts: Count = 1
    """Smallest number of bodies of the hand in contact at the end of the test, and of a
    direction."""
    max_creep: Positive | None = None
    """Largest mean speed of the object in the hand under full load [m/s]; None: no limit."""
    min_lift: NonNegative | None = None
    """Smallest height gain of the object from the start to the end of the test [m]."""
    max_support: UpToOne = MAX_SUPPORT
    """Largest fraction of the load that surroundings, other objects and the mount may bear [–]; 1
    for a grasp that is meant to lean on them."""
    removes: tuple[str, ...] = ()
    """Names of surroundings that are taken away at the start of the test, or ``all``."""
    source: str = ""
    """Source of the protocol."""
    deviations: str = ""
    """Differences from the source."""

    @model_validator(mode="before")
    @classmethod
    def _no_gravity_beside_others(cls, data: Any) -> Any:
        more = ("directions", "motion", "pulls")
        does_more = isinstance(data, dict) and any(data.get(name) for name in more)
        return {"gravity": None} | data if does_more else data

    @property
    def max_duration(self) -> float:
        """Maximum duration of the whole test [s]."""
        ramp = 0.0 if self.gravity is None else self.ramp_time + self.hold_time
        moving = sum(phase.time for phase in self.motion)
        pulling = sum(pull.time * pull.max_ratio for pull in self.pulls)
        return ramp + moving + len(self.directions) * self.direction_time + pulling

    @property
    def is_plain(self) -> bool:
        """Return whether the test is only a ramp of gravity, which every engine supports."""
        more = self.motion or self.directions or self.pulls or self.removes
        return self.gravity is not None and not more
