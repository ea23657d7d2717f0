"""Values with their source: who specified each field of a grasp, and how it came about.

A field has several sources: the command, the scene, the files of hand and object, a material, a
computation, the default. ``merge`` takes each field from the first source that says it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Generic, Literal, NamedTuple, TypeVar

T = TypeVar("T")
Source = Literal["pair", "scene", "hand", "material", "computed", "default"]
"""Who specified a value: the contact of one pair (a further object, a surrounding body), the scene,
the file of the hand, the material of the object, a computation, the default."""


class SourceValues(NamedTuple):
    """What one source says, by field; a field that is missing or None is left to others."""

    source: Source
    values: Mapping[str, Any]
    reason: str = ""
    """Which one of its kind, or how it was computed."""


class Resolved(NamedTuple, Generic[T]):
    """A value, and who specified it."""

    value: T
    source: Source
    reason: str = ""
    rank: int = 0
    """Place of its source among all that were asked, from 0."""


def merge(sources: Iterable[SourceValues]) -> dict[str, Resolved[Any]]:
    """Return each field from the first source that says it.

    Args:
        sources: Sources in the order of their rank; what the last one says is complete, and may be
            None.
    """
    merged: dict[str, Resolved[Any]] = {}
    *others, last = sources
    for rank, specified in enumerate((*others, last)):
        for name, value in specified.values.items():
            if name not in merged and (value is not None or specified is last):
                merged[name] = Resolved(value, specified.source, specified.reason, rank)
    return {name: merged[name] for name in last.values}
