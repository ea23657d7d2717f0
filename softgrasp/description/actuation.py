"""Actuation of a hand: actuators, closing rates, coupled joints, tendons and synergies.

An ``Actuator`` is one command input of a model, such as the target of a joint's servo or a
pressure. ``Rates`` are the closing rates of the actuators of a hand. ``Coupling`` makes a joint
follow another one, as ``mimic`` does in URDF; ``Tendon`` runs over pulleys in several joints;
``Synergies`` are directions in which joints move together, q = q_m + S z (Santello et al. 1998).
"""

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
    require_unique,
    text_with_unit,
)

JointName = Annotated[str, Field(min_length=1)]
"""Name of a joint in the model, such as ``F1_J3``."""


class Actuator(NamedTuple):
    """A command input that a closure moves; one actuator of the MuJoCo model."""

    name: str
    """Name of the actuator in the model."""
    label: str
    """Name for messages, such as ``joint 'F1_J2'``."""
    unit: str
    """Unit of its target: rad, m, Pa, N·m, N, or empty for a number without unit."""
    limits: tuple[float, float]
    """Lowest and highest target."""
    start: float
    """Target from which the hand closes."""
    stops: tuple[str, ...] = ()
    """Bodies whose contact stops the actuator; none where it continues through contact."""
    joint: str | None = None
    """Joint whose variable the target is, if it is one."""

    def format_values(self, *values: float) -> str:
        """Format targets with their unit, and angles also in degrees."""
        return text_with_unit(self.unit, values)


class Rates(tuple[float, ...]):
    """Closing rates [rad/s, m/s or Pa/s]: one for all, one per finger link or one per actuator."""

    __slots__ = ()

    def for_fingers(self, counts: Sequence[int], word: str = "joint") -> tuple[float, ...]:
        """Return one rate per actuator, finger by finger.

        Args:
            counts: Number of actuators of each finger.
            word: Word for an actuator in messages.

        Raises:
            ValueError: The number of rates fits neither one finger nor the hand.
        """
        if len(self) == 1:
            return tuple(self) * sum(counts)
        if len(self) == sum(counts):
            return tuple(self)
        if all(len(self) == count for count in counts):
            return tuple(self) * len(counts)
        raise ValueError(f"expected {_numbers(counts, word)}, found {len(self)}")

    @classmethod
    def __get_pydantic_core_schema__(
        cls, source: Any, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        numbers = handler.generate_schema(Annotated[tuple[Number, ...], Field(min_length=1)])
        return core_schema.no_info_after_validator_function(
            cls,
            core_schema.no_info_before_validator_function(
                _as_sequence,
                numbers,
                json_schema_input_schema=core_schema.union_schema(
                    [handler.generate_schema(Number), numbers]
                ),
            ),
            serialization=core_schema.plain_serializer_function_ser_schema(list),
        )


def _numbers(counts: Sequence[int], word: str) -> str:
    """Describe for a message how many rates a hand expects."""
    whole = f"1 rate or {sum(counts)} (one per {word})"
    if len(set(counts)) > 1:
        listed = ", ".join(map(str, counts))
        return f"{whole}, as its fingers have different numbers of {word}s ({listed})"
    if counts[0] == 1 or len(counts) == 1:
        return whole
    return f"1 rate, {counts[0]} (one per {word} of a finger) or {sum(counts)} (one per {word})"


def _as_sequence(value: Any) -> Any:
    return (value,) if isinstance(value, int | float) and not isinstance(value, bool) else value


class Coupling(Description):
    """A joint that follows another one: variable = ``ratio`` · leader's variable + ``offset``."""

    joint: JointName
    """The joint that follows."""
    leader: JointName
    """The joint that it follows."""
    ratio: Number = 1.0
    """Its travel over that of the leader [rad/rad, m/m, rad/m or m/rad]."""
    offset: Number = 0.0
    """Its variable where the leader's is 0 [rad or m]."""


class Pulley(Description):
    """Pulley in a joint, over which a tendon runs."""

    joint: JointName
    """The joint, such as ``F1_J2``."""
    radius: Number
    """Pulley radius [m]; the joint torque is radius · tension. Negative where the tendon opens the
    joint."""

    @model_validator(mode="after")
    def _some_radius(self) -> Self:
        if self.radius == 0.0:
            raise FieldError("expected a radius other than zero, found 0", "radius")
        return self


class Tendon(Description):
    """A tendon over one or more joints, pulled by one actuator; it cannot push.

    A tendon over the joints of several fingers is a differential: its tension is the same in all of
    them.
    """

    name: Annotated[str, Field(min_length=1, pattern=r"^[A-Za-z0-9_.-]+$")]
    """Its actuator is called ``<name>_tendon``."""
    pulleys: Annotated[tuple[Pulley, ...], Field(min_length=1)]
    """Pulleys on which it acts, one per joint."""
    tension_limit: Positive = 100.0
    """Highest tension [N]."""
    stiffness: Positive = 2e4
    """Stiffness of the tendon with its actuator [N/m]."""
    excursion: Positive | None = None
    """Largest length that the actuator pulls in [m]; what the joints need by default."""

    @model_validator(mode="after")
    def _each_joint_once(self) -> Self:
        joints = ((part.joint, ("pulleys", index)) for index, part in enumerate(self.pulleys))
        require_unique(joints, "joint")
        return self


class Synergies(Description):
    """A mean posture and the directions in which joints move together.

    The columns of ``matrix`` need be neither orthogonal nor of length 1.
    """

    joints: Annotated[tuple[JointName, ...], Field(min_length=1)]
    """Names of the joints, such as ``index_MCP_flex``."""
    mean: tuple[Number, ...]
    """Posture q_m at z = 0, one value per joint [rad or m]."""
    matrix: tuple[tuple[Number, ...], ...]
    """S, one row per joint and one column per synergy [rad or m for z = 1]."""
    opened: tuple[Number, ...] = ()
    """Weights z of the open hand, from which it closes; weights that are not specified are zero."""
    source: str = ""
    """Source of the numbers."""

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        joints = len(self.joints)
        if len(self.mean) != joints:
            raise FieldError(
                f"expected {joints} values, one per joint, found {len(self.mean)}", "mean"
            )
        widths = {len(row) for row in self.matrix}
        if len(self.matrix) != joints or len(widths) != 1 or 0 in widths:
            columns = " or ".join(str(width) for width in sorted(widths)) or "0"
            raise FieldError(
                f"expected a matrix of {joints} rows, one per joint, each with one number per "
                f"synergy, found {len(self.matrix)} × {columns}",
                "matrix",
            )
        if len(self.opened) > self.count:
            raise FieldError(
                f"expected at most {self.count} values, one per synergy, found {len(self.opened)}",
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
        """Compute the joint variables q_m + S z by joint name [rad or m].

        Args:
            weights: z, one per synergy.

        Raises:
            ValueError: The number of weights is not the number of synergies.
        """
        return {
            joint: mean + sum(part * weight for part, weight in zip(row, weights, strict=True))
            for joint, mean, row in zip(self.joints, self.mean, self.matrix, strict=True)
        }
