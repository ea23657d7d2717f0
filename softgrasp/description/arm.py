"""What carries a hand: a serial arm of rigid links, or a carrier that an extension adds."""

from __future__ import annotations

from abc import abstractmethod
from typing import Annotated, Any, ClassVar, Self

from pydantic import BeforeValidator, Field, InstanceOf, SerializeAsAny, model_validator

from softgrasp.description.base import Description, FieldError, NonNegative, Number, Positive
from softgrasp.description.finger import Finger
from softgrasp.description.geometry import Pose
from softgrasp.errors import DescriptionError
from softgrasp.extensions import CARRIERS, load


class Arm(Description):
    """A chain of Denavit–Hartenberg rows from a base to a flange, and where the hand sits on it.

    It stands so that the hand starts where the scene has it, with the joints at their ``start``.
    Its joints are held and moved by servos; its links are seen but do not touch.
    """

    name: Annotated[str, Field(min_length=1)]
    chain: Finger
    tool: Pose = Pose()
    """Frame of the hand in that of the flange, which is the last one of the chain."""
    source: str = ""
    """Where the numbers come from."""


class HandCarrier(Description):
    """Base of compliant hand carriers, which no target pose leads; see ``extensions.CARRIERS``.

    Its joints have springs, it bears the weight of the hand, and at the start of a run it is at
    rest.
    """

    kind: ClassVar[str]
    """Key in ``extensions.CARRIERS``, and name of a required field."""
    motion_hint: ClassVar[str]
    """Clause for messages: what moves it instead of poses."""

    @property
    @abstractmethod
    def name(self) -> str:
        """Name of the carrier."""

    @property
    @abstractmethod
    def start(self) -> tuple[float, ...]:
        """Targets of its actuators at the start of a run."""

    @property
    @abstractmethod
    def mounted(self) -> bool:
        """Whether its base has a pose in the world, from which that of the hand follows."""


def carrier_kind(tree: Any) -> str | None:
    """Return the kind of the carrier that plain data describes; None for a rigid arm."""
    kinds = CARRIERS if isinstance(tree, dict) else ()
    return next((kind for kind in kinds if kind in tree), None)


def _carrier_from_tree(value: Any) -> Any:
    """Make a carrier of plain data that describes one; return anything else unchanged."""
    kind = carrier_kind(value)
    if kind is None:
        return value
    try:
        return load(CARRIERS[kind].description)(**value)
    except DescriptionError as error:
        raise FieldError(error.message, *error.location) from None


AnyArm = Annotated[
    Arm | SerializeAsAny[InstanceOf[HandCarrier]], BeforeValidator(_carrier_from_tree)
]
"""A rigid arm or another carrier; plain data is recognised by the field of its kind."""


# --------------------
# What a simulated robot does: from posture to posture, round and round.


Posture = Annotated[tuple[Number, ...], Field(min_length=1)]


class RobotProgram(Description):
    """Moves of an arm through postures, from the last one back to the first, for ever.

    Between two postures all joints move together and at rest at both ends (minimum jerk).
    """

    name: Annotated[str, Field(min_length=1)]
    arm: Arm
    postures: Annotated[tuple[Posture, ...], Field(min_length=1)]
    """Joint variables of the arm, one a row [rad or m]; the robot starts in the first."""
    move_time: Positive = 2.0
    """Of one move [s]."""
    rest_time: NonNegative = 0.5
    """In a posture, before the move to the next [s]."""
    source: str = ""

    @model_validator(mode="after")
    def _postures_can_be_taken(self) -> Self:
        rows = self.arm.chain.phalanges
        for posture_index, posture in enumerate(self.postures):
            if len(posture) != len(rows):
                raise FieldError(
                    f"expected {len(rows)} joint variables, one a row of the arm "
                    f"'{self.arm.name}', found {len(posture)}",
                    *("postures", posture_index),
                )
            for index, (value, row) in enumerate(zip(posture, rows, strict=True)):
                low, high = row.limits
                if not low <= value <= high:
                    raise FieldError(
                        f"expected joint {index + 1} of the arm '{self.arm.name}' within "
                        f"{low:.6g} … {high:.6g}, found {value:.6g}",
                        *("postures", posture_index, index),
                    )
        return self

    @property
    def period(self) -> float:
        """Time of one round [s]."""
        return len(self.postures) * (self.move_time + self.rest_time)
