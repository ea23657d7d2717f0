"""Arms: serial arms of rigid links, other carriers of a hand, and programs of a simulated robot.

A scene's ``arm`` is an ``Arm``, whose servos follow poses of the hand, or a ``HandCarrier`` of an
extension (see ``extensions.CARRIERS``), which has springs and is moved by its actuators.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Annotated, Any, ClassVar, Self

from pydantic import BeforeValidator, Field, InstanceOf, SerializeAsAny, model_validator

from softgrasp.description.base import Description, FieldError, NonNegative, Number, Positive
from softgrasp.description.finger import Finger
from softgrasp.description.geometry import Pose
from softgrasp.errors import DescriptionError
from softgrasp.extensions import CARRIERS


class Arm(Description):
    """A serial arm in Denavit–Hartenberg parameters, from its base to a flange with the hand.

    Its base is placed so that the hand starts at its pose in the scene with the joints at their
    ``start``. Servos hold and move its joints; its links are visible but do not touch.
    """

    name: Annotated[str, Field(min_length=1)]
    chain: Finger
    """Joints and links from the base to the flange."""
    tool: Pose = Pose()
    """Frame of the hand in the flange frame, which is the last frame of the chain."""
    source: str = ""
    """Source of the numbers."""


class HandCarrier(Description):
    """Base of compliant carriers of a hand, which cannot follow poses; see ``extensions.CARRIERS``.

    Its joints have springs, it bears the weight of the hand, and it is at rest at the start.
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
        """Targets of the carrier's actuators at the start of a run."""

    @property
    @abstractmethod
    def mounted(self) -> bool:
        """Return whether the base pose in the world is given, which determines that of the hand."""


def carrier_kind(tree: Any) -> str | None:
    """Return the name of the carrier type in plain data; None for a rigid arm."""
    kinds = CARRIERS if isinstance(tree, dict) else ()
    return next((kind for kind in kinds if kind in tree), None)


def _carrier_from_tree(value: Any) -> Any:
    """Convert plain data of a compliant carrier; return anything else unchanged."""
    kind = carrier_kind(value)
    if kind is None:
        return value
    try:
        return CARRIERS.load(kind, "description")(**value)
    except DescriptionError as error:
        raise FieldError(error.message, *error.location) from None


AnyArm = Annotated[
    Arm | SerializeAsAny[InstanceOf[HandCarrier]], BeforeValidator(_carrier_from_tree)
]
"""A rigid arm or another carrier; plain data of a carrier has the field of its kind."""
Posture = Annotated[tuple[Number, ...], Field(min_length=1)]


class RobotProgram(Description):
    """Cyclic motion of an arm through postures; after the last posture follows the first.

    Between two postures all joints move simultaneously, at rest at both ends (minimum jerk).
    """

    name: Annotated[str, Field(min_length=1)]
    arm: Arm
    """The arm that moves."""
    postures: Annotated[tuple[Posture, ...], Field(min_length=1)]
    """Joint variables of the arm, one per row [rad or m]; the robot starts in the first posture."""
    move_time: Positive = 2.0
    """Duration of one motion [s]."""
    rest_time: NonNegative = 0.5
    """Time at rest in each posture [s]."""
    source: str = ""
    """Source of the program."""

    @model_validator(mode="after")
    def _postures_can_be_taken(self) -> Self:
        rows = self.arm.chain.phalanges
        for posture_index, posture in enumerate(self.postures):
            if len(posture) != len(rows):
                raise FieldError(
                    f"expected {len(rows)} joint variables, one per row of the arm "
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
        """Duration of one cycle [s]."""
        return len(self.postures) * (self.move_time + self.rest_time)
