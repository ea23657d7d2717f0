"""When a grasp counts as held: gravity grows after the closure and the object stays."""

from __future__ import annotations

from softgrasp.description.base import Description, NonNegative, Positive, Vec3


class SuccessCriterion(Description):
    """A hold test: after the closure, ramp gravity up, wait, and see how far the object went."""

    gravity: Vec3 = (0.0, 0.0, -9.81)
    """Acceleration that is reached at the end of the ramp [m/s²]."""
    ramp_time: NonNegative = 0.2
    """[s]"""
    hold_time: Positive = 0.6
    """Time under full load after the ramp [s]."""
    max_drop: Positive = 5e-4
    """Largest distance of the object's centre from where the ramp began [m]."""
    max_rotation: Positive = 0.1
    """Largest turn of the object since the ramp began [rad]."""
