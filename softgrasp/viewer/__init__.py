"""Interactive viewers: browser pages (viser)."""

from __future__ import annotations

from softgrasp._lazy import lazy_names

NAMES = {
    "viewer.page": ("Page", "require_viser", "set_camera"),
    "viewer.scene_markers": ("DrawnModel",),
    "viewer.views": ("ResultView",),
    "viewer.widgets": ("plain", "RunningChart"),
}
"""Public names by the module that defines them; ``=name`` is the module itself."""

__all__, __getattr__, __dir__ = lazy_names(__name__, NAMES)
