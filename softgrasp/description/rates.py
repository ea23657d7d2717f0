"""How fast drives go while a hand closes: one number for all, one a row, or one a drive."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import Field, GetCoreSchemaHandler
from pydantic_core import core_schema

from softgrasp.description.base import Number


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
