"""A rigid pose: where a child frame stands in its parent frame."""

from __future__ import annotations

import math

from pydantic import field_validator

from softgrasp.description.base import Description, Vec3, Vec4


class Pose(Description):
    """Position and orientation of a child frame in its parent frame, ``T_parent_child``."""

    position: Vec3 = (0.0, 0.0, 0.0)
    """Origin of the child frame in the parent frame [m]."""
    quaternion: Vec4 = (1.0, 0.0, 0.0, 0.0)
    """Unit quaternion (w, x, y, z); normalised when it is read."""

    @field_validator("quaternion")
    @classmethod
    def _normalise(cls, value: Vec4) -> Vec4:
        norm = math.sqrt(sum(part * part for part in value))
        if norm < 1e-9:
            raise ValueError(f"expected a quaternion that is not zero, found {value}")
        if abs(norm - 1.0) < 1e-14:
            return value
        w, x, y, z = (part / norm for part in value)
        return (w, x, y, z)
