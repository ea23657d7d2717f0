"""Mathematics on arrays: transforms, kinematics, trajectories, contact and camera models."""

from __future__ import annotations

from softgrasp._lazy import lazy_names

NAMES = {
    "mechanics.actuation": ("Allocation",),
    "mechanics.camera": ("deproject", "distort", "project", "undistort"),
    "mechanics.contact_stiffness": ("hertz_patch_radius",),
    "mechanics.hand_kinematics": (
        "forward_kinematics", "join_hands", "PlacedHand", "synergy_weights", "variance_explained",
    ),
    "mechanics.inverse_kinematics": ("nearest_posture",),
    "mechanics.retargeting": (
        "finger_lines", "imitate_fingers", "retarget", "RetargetedPosture",
    ),
    "mechanics.robot_kinematics": ("origin_frame",),
    "mechanics.trajectory": ("Quintic",),
    "mechanics.transforms": (
        "Array", "position_of", "quaternion_of", "relative_quaternions", "rotation_angles",
        "transform",
    ),
}  # fmt: skip
"""Public names by the module that defines them; ``=name`` is the module itself."""

__all__, __getattr__, __dir__ = lazy_names(__name__, NAMES)
