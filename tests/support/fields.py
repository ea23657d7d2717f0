"""The fields of a description as error sentences list them."""

from __future__ import annotations

from softgrasp.description.base import Description


def fields(kind: type[Description]) -> str:
    """All fields, in alphabetical order."""
    return ", ".join(sorted(kind.model_fields))
