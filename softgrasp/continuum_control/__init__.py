"""Controllers of continuum robots after ros2_control (Witucki et al. 2025)."""

from __future__ import annotations

from softgrasp.plugin_api import lazy_names

NAMES = {
    "continuum_control.controllers": (
        "FeedForwardController", "ImpedanceController", "JointTrajectoryController",
        "StateBroadcaster",
    ),
    "continuum_control.manager": ("ControlledRobot",),
}  # fmt: skip
"""Public names by the module that defines them; ``=name`` is the module itself."""

__all__, __getattr__, __dir__ = lazy_names(__name__, NAMES)
