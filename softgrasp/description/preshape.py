"""Named start postures of a hand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from softgrasp.description.base import Description, Number


class Preshape(Description):
    """A posture of the whole hand from which it can close."""

    name: Annotated[str, Field(min_length=1)]
    positions: tuple[Number, ...]
    """One number a drive [rad, m or Pa]."""


def _from_mapping(value: Any) -> Any:
    """``{open: [...], pinch: [...]}`` as a list of preshapes."""
    if isinstance(value, Mapping):
        return [{"name": name, "positions": positions} for name, positions in value.items()]
    return value


Preshapes = Annotated[tuple[Preshape, ...], BeforeValidator(_from_mapping)]
"""In files a mapping of names to positions."""
