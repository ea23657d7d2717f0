"""What a result tells of objects and soft fingers at its end."""

from __future__ import annotations

from softgrasp.description.base import Description, Vec3, Vec4


class ObjectMotion(Description):
    """Where an object started and where it ended, in the world."""

    name: str
    initial_position_m: Vec3
    final_position_m: Vec3
    initial_quat_wxyz: Vec4
    final_quat_wxyz: Vec4
    displacement_m: Vec3
    rotation_rad: Vec3
    """Turn since the start about (x, y, z) of intrinsic z-y-x."""


class SoftFingerEnd(Description):
    """A soft finger at the end of a run."""

    finger: str
    pressure_Pa: float
    curvature_1_m: float
    """Bending angle from base to tip over the length."""
    discretisation_error_m: float | None
    """How far the tip of its chain of links is from that of the beam that it stands for, at this
    pressure with nothing in its way; see ``Equilibrium.discretisation_error``."""
