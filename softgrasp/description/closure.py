"""How a hand closes: every joint grows at its own constant rate until contact (paper 004)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import Field, GetCoreSchemaHandler
from pydantic_core import core_schema

from softgrasp.description.base import Count, Description, NonNegative, Number


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


class PositionIncrementClosure(Description):
    """Position increments with debounced contact detection (paper 004, §2.2.3).

    At every control sample each active joint's target grows by its rate times the control
    period, unless its phalanx or a later one of its finger is in contact; it starts again when
    contact is lost. Contact is established at the sample at which the last ``samples`` normal
    forces, the current one included, are all above ``threshold``; lost at the first one below.
    The pressure of a soft finger grows alike, but through contact: it is what grips.
    """

    rates: Rates | None = None
    """Closing rates [rad/s, m/s or Pa/s]; those of the hand's grasp where they are not given."""
    pressure: Number | None = None
    """Where the pressure of soft fingers stops growing [Pa]; where the hand's grasp says."""
    clamp_pressure: bool = False
    """Stop at a soft finger's limit, with a warning, where ``pressure`` lies outside."""
    samples: Count = 10
    """Consecutive control samples above the threshold that establish contact."""
    threshold: NonNegative = 0.1
    """Normal force above which a sample counts [N]."""
    active: tuple[bool, ...] | None = None
    """Which drives move, one a drive; all where it is not given."""
    settle_time: NonNegative = 0.2
    """A run without a given duration ends after this long without moving targets [s]."""
