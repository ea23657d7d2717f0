"""Mathematics on arrays: transforms, kinematics, trajectories, contact and camera models."""

from __future__ import annotations

from softgrasp._lazy import lazy_names

NAMES = {
    "mechanics.camera": ("deproject", "distort", "project", "undistort"),
    "mechanics.contact_stiffness": ("hertz_patch_radius",),
    "mechanics.hand_kinematics": (
        "PlacedHand",
        "forward_kinematics",
        "joined_hands",
        "synergy_weights",
        "variance_explained",
    ),
}
"""Public names by the module that defines them; ``=name`` is the module itself."""

__all__, __getattr__, __dir__ = lazy_names(__name__, NAMES)
