"""Resolve scenes: every value that a description leaves open becomes concrete, with its origin."""

from __future__ import annotations

from softgrasp._lazy import lazy_names

NAMES = {
    "description.resolved": ("Origin", "ResolvedScene", "ResolvedValue"),
    "resolution.resolve": ("resolve",),
    "resolution.transfer": ("transfer_grasp", "TransferredGrasp"),
}
"""Public names by the module that defines them; ``=name`` is the module itself."""

__all__, __getattr__, __dir__ = lazy_names(__name__, NAMES)
