"""Conversion of descriptions to MuJoCo models."""

from __future__ import annotations

from softgrasp._lazy import lazy_names

NAMES = {
    "model.dh_convention": ("with_convention",),
}
"""Public names by the module that defines them; ``=name`` is the module itself."""

__all__, __getattr__, __dir__ = lazy_names(__name__, NAMES)
