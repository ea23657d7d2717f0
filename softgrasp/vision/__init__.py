"""Measurements in photographs and videos of a soft finger: joint angles and settling."""

from __future__ import annotations

from softgrasp._lazy import lazy_names

NAMES = {
    "vision.image": ("read_photo",),
    "vision.figures": ("pick_in_window", "save_overlay"),
    "vision.point_picking": ("angles_text", "measure_picks", "Picks", "read_depth"),
}
"""Public names by the module that defines them; ``=name`` is the module itself."""

__all__, __getattr__, __dir__ = lazy_names(__name__, NAMES)
