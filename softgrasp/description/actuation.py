"""How a hand is actuated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, NamedTuple, Self

from pydantic import Field, GetCoreSchemaHandler, model_validator
from pydantic_core import core_schema

from softgrasp.description.base import (
    Description,
    FieldError,
    Number,
    Positive,
    refuse_twins,
    text_with_unit,
)


class Actuator(NamedTuple):
    """What a closure moves: one actuator of the model."""

    name: str
    """Of its actuator in the model."""
    label: str
    """What a sentence calls it: ``joint 'F1_J2'``."""
    unit: str
    """Of its target: rad, m, Pa, N·m, N, or empty for a number without one."""
    limits: tuple[float, float]
    """Lowest and highest target."""
    start: float
    """Target from which the hand closes."""
    stops: tuple[str, ...] = ()
    """Bodies whose contact stops it; none where it goes on through contact."""
    joint: str | None = None
    """The joint whose variable its target is, where it is one."""

    def format_values(self, *values: float) -> str:
        """Targets as a sentence shows them: with their unit, angles in degrees besides."""
        return text_with_unit(self.unit, values)


# --------------------
# How fast drives go while a hand closes: one number for all, one a row, or one a drive.


class Rates(tuple[float, ...]):
    """Closing rates [rad/s, m/s or Pa/s]: one for all, one a row of a finger, or one a drive."""

    __slots__ = ()

    def for_fingers(self, rows: Sequence[int], word: str = "joint") -> tuple[float, ...]:
        """One rate a drive, finger by finger.

        Args:
            rows: Number of drives of each finger.
            word: What a sentence calls a drive.

        Raises:
            ValueError: The number of rates fits neither one finger nor the hand.
        """
        if len(self) == 1:
            return tuple(self) * sum(rows)
        if len(self) == sum(rows):
            return tuple(self)
        if all(len(self) == count for count in rows):
            return tuple(self) * len(rows)
        raise ValueError(f"expected {_numbers(rows, word)}, found {len(self)}")

    @classmethod
    def __get_pydantic_core_schema__(
        cls, source: Any, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        numbers = handler.generate_schema(Annotated[tuple[Number, ...], Field(min_length=1)])
        return core_schema.chain_schema(
            [
                core_schema.no_info_plain_validator_function(_as_sequence),
                numbers,
                core_schema.no_info_plain_validator_function(cls),
            ],
            serialization=core_schema.plain_serializer_function_ser_schema(list),
        )


def _numbers(rows: Sequence[int], word: str) -> str:
    """How many rates a hand takes."""
    whole = f"1 rate or {sum(rows)} (one a {word})"
    if len(set(rows)) > 1:
        counts = ", ".join(map(str, rows))
        return f"{whole}, as its fingers have different numbers of {word}s ({counts})"
    if rows[0] == 1 or len(rows) == 1:
        return whole
    return f"1 rate, {rows[0]} (one a {word} of a finger) or {sum(rows)} (one a {word})"


def _as_sequence(value: Any) -> Any:
    return (value,) if isinstance(value, int | float) and not isinstance(value, bool) else value


# --------------------
# Joints that follow another one in a fixed ratio, as ``mimic`` says in URDF.


JointName = Annotated[str, Field(min_length=1)]


class Coupling(Description):
    """A joint that follows another one: own = ``ratio`` · leader + ``offset``."""

    joint: JointName
    """The joint that follows, as the model calls it: ``F1_J3``."""
    leader: JointName
    """The joint that it follows."""
    ratio: Number = 1.0
    """[rad/rad, m/m, rad/m or m/rad]"""
    offset: Number = 0.0
    """[rad or m]"""


# --------------------
# A tendon over pulleys in the joints of a hand, which one drive pulls.


class Pulley(Description):
    """Where a tendon runs over a joint."""

    joint: JointName
    """As the model calls it: ``F1_J2``."""
    radius: Number
    """[m]; negative where the tendon turns the joint backwards. Its torque is radius · tension."""

    @model_validator(mode="after")
    def _some_radius(self) -> Self:
        if self.radius == 0.0:
            raise FieldError("expected a radius other than zero, found 0", "radius")
        return self


class Tendon(Description):
    """One tendon, with one drive, over one or more joints; it only pulls.

    One over the joints of several fingers is a differential: all of them feel the same tension.
    """

    name: Annotated[str, Field(min_length=1, pattern=r"^[A-Za-z0-9_.-]+$")]
    """Its drive is called ``<name>_tendon``."""
    pulleys: Annotated[tuple[Pulley, ...], Field(min_length=1)]
    tension_limit: Positive = 100.0
    """Highest tension [N]."""
    stiffness: Positive = 2e4
    """Of the tendon with its drive [N/m]."""
    excursion: Positive | None = None
    """Longest way that the drive pulls [m]; as long as the joints need where it is not given."""

    @model_validator(mode="after")
    def _each_joint_once(self) -> Self:
        joints = ((part.joint, ("pulleys", index)) for index, part in enumerate(self.pulleys))
        refuse_twins(joints, "joint")
        return self


class Synergies(Description):
    """A mean posture and the directions in which joints move together.

    The columns of ``matrix`` need be neither orthogonal nor of length 1.
    """

    joints: Annotated[tuple[JointName, ...], Field(min_length=1)]
    """Joints, as the model calls them: ``index_MCP_flex``."""
    mean: tuple[Number, ...]
    """Posture q_m at z = 0, one a joint [rad or m]."""
    matrix: tuple[tuple[Number, ...], ...]
    """S, a row a joint and a column a synergy [rad or m, for a z of 1]."""
    opened: tuple[Number, ...] = ()
    """Weights z of the open hand, from which it closes; those that are not given are zero."""
    source: str = ""
    """Where the numbers come from."""

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        joints = len(self.joints)
        if len(self.mean) != joints:
            raise FieldError(
                f"expected {joints} values, one a joint, found {len(self.mean)}", "mean"
            )
        widths = {len(row) for row in self.matrix}
        if len(self.matrix) != joints or len(widths) != 1 or 0 in widths:
            columns = " or ".join(str(width) for width in sorted(widths)) or "0"
            raise FieldError(
                f"expected a matrix of {joints} rows, one a joint, each with one number a synergy, "
                f"found {len(self.matrix)} × {columns}",
                "matrix",
            )
        if len(self.opened) > self.count:
            raise FieldError(
                f"expected at most {self.count} values, one a synergy, found {len(self.opened)}",
                "opened",
            )
        for column in range(self.count):
            if not any(row[column] for row in self.matrix):
                raise FieldError(
                    f"expected synergies that move a joint, found column {column + 1} all zero",
                    "matrix",
                )
        return self

    @property
    def count(self) -> int:
        """Number of synergies."""
        return len(self.matrix[0])

    def posture(self, weights: Sequence[float]) -> dict[str, float]:
        """Joint variables by name at q_m + S z [rad or m].

        Args:
            weights: z, one a synergy.

        Raises:
            ValueError: There are not as many as synergies.
        """
        return {
            joint: mean + sum(part * weight for part, weight in zip(row, weights, strict=True))
            for joint, mean, row in zip(self.joints, self.mean, self.matrix, strict=True)
        }
