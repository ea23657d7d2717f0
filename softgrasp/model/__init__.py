"""Conversion of descriptions to MuJoCo models."""

from __future__ import annotations

from softgrasp._lazy import lazy_names

NAMES = {
    "model.arm": ("add_arm", "hand_posture"),
    "model.compile": ("compiled",),
    "model.hand": ("add_hand", "build_hand_spec"),
    "model.names": ("=names",),
    "model.object": ("object_pose",),
    "model.family": ("Family",),
    "model.robot": (
        "add_bendable", "bend_joints", "robot_model", "robot_spec", "segment_actuator_names",
        "slide_joints", "twist_joints",
    ),
    "model.shapes": ("mass_properties", "TOUCHING_GROUPS", "VISUAL_GROUP"),
    "model.soft_finger": ("finger_model",),
    "model.timestep": ("damped_spring_limit", "spring_limit"),
    "model.visual": ("=visual",),
}  # fmt: skip
"""Public names by the module that defines them; ``=name`` is the module itself."""

__all__, __getattr__, __dir__ = lazy_names(__name__, NAMES)
