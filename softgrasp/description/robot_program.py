"""What a simulated robot does: from posture to posture, round and round."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, model_validator

from softgrasp.description.arm import Arm
from softgrasp.description.base import Description, NonNegative, Number, Positive
from softgrasp.description.problems import FieldError

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
