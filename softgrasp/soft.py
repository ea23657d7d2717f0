"""Soft fingers: equilibria, motion, and fingers from meshes or constant-curvature segments."""

from __future__ import annotations

from softgrasp._lazy import lazy_names

NAMES = {
    "continuum.rld": ("finger_from_bendable",),
    "io.soft_finger.finger": ("finger_from_mesh", "soft_hand_from_mesh"),
    "sim.soft_dynamics": (
        "FingerMotion", "INTEGRATORS", "is_stable", "move_finger", "stable_step_of",
        "stable_timestep",
    ),
    "sim.soft_statics": (
        "buckling_factor", "damp_finger", "Equilibrium", "equilibrium", "solve_loaded_shape",
        "robot_equilibrium", "RobotEquilibrium",
    ),
}  # fmt: skip
"""Public names by the module that defines them; ``=name`` is the module itself."""

__all__, __getattr__, __dir__ = lazy_names(__name__, NAMES)
