"""Runs and grasps in the formats of other programs: datasets, grasp files, USD, rerun."""

from __future__ import annotations

from softgrasp._lazy import lazy_names

NAMES = {
    "description.grasps": ("Grasp", "GraspSet"),
    "exports.episodes": ("Episode", "episode_of", "write_lerobot", "write_minari"),
    "exports.grasps": ("grasp_set", "load_grasps", "save_grasps"),
    "exports.rerun": ("write_rerun",),
    "exports.usd": ("write_usd",),
}
"""Public names by the module that defines them; ``=name`` is the module itself."""

__all__, __getattr__, __dir__ = lazy_names(__name__, NAMES)
