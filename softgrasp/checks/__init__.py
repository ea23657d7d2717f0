"""Checks of hands, objects, meshes and robots, and repairs of robots."""

from __future__ import annotations

from softgrasp._lazy import lazy_names

NAMES = {
    "checks.json_schema": ("schema_of",),
    "checks.repair": ("Repair", "repair_robot", "repairs"),
    "checks.report": ("Finding", "Inspection"),
}
"""Public names by the module that defines them; ``=name`` is the module itself."""

__all__, __getattr__, __dir__ = lazy_names(__name__, NAMES)
