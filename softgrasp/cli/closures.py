"""Closures as the command line shows them."""

from __future__ import annotations

from typing import Any

from softgrasp.description.closures.base import Closure


def parameters(kind: type[Closure]) -> dict[str, Any]:
    """Fields of a closure and their defaults, its own ones first; None where it chooses itself."""
    specific = {name for name in kind.model_fields if name not in Closure.model_fields}
    names = sorted(kind.model_fields, key=lambda name: name not in specific)
    return {name: kind.model_fields[name].default for name in names if name != "type"}
