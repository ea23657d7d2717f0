"""A drive: one number that commands a hand, such as the target of a joint or a pressure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, NamedTuple

from pydantic import Field, GetCoreSchemaHandler
from pydantic_core import core_schema

from softgrasp.description.base import Number, text_with_unit


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
