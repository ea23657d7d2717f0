"""Rotations and poses as Webots writes them: axis and angle, and a translation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]


def rotation_about(axis: ArrayLike, angle: float) -> Array:
    """(3, 3) matrix of a turn about an axis [rad], which need not be a unit vector (Rodrigues)."""
    x, y, z = np.asarray(axis, dtype=float)
    length = float(np.sqrt(x * x + y * y + z * z))
    if length == 0.0:
        return np.eye(3)
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]]) / length
    # 1 − cos a, written so that small angles keep their digits
    square: Array = cross @ cross
    return np.asarray(np.eye(3) + np.sin(angle) * cross + 2.0 * np.sin(angle / 2.0) ** 2 * square)


@dataclass(frozen=True, eq=False, slots=True)
class Pose:
    """A frame in another one: x_outer = rotation · x_inner + position."""

    rotation: Array
    """(3, 3)"""
    position: Array
    """(3,) [m]"""

    def __matmul__(self, inner: Pose) -> Pose:
        """The inner frame seen from where this one is seen."""
        return Pose(self.rotation @ inner.rotation, self.apply(inner.position))

    def apply(self, point: ArrayLike) -> Array:
        """A point (3,) of this frame, seen from outside [m]."""
        return np.asarray(self.rotation @ np.asarray(point, dtype=float) + self.position)

    def inverse(self) -> Pose:
        """The outer frame seen from this one."""
        return Pose(self.rotation.T, -self.rotation.T @ self.position)


IDENTITY = Pose(np.eye(3), np.zeros(3))


def pose_of(translation: ArrayLike, rotation: ArrayLike) -> Pose:
    """From a translation (3,) [m] and Webots' rotation (4,): axis and angle [rad]."""
    x, y, z, angle = np.asarray(rotation, dtype=float)
    return Pose(rotation_about((x, y, z), float(angle)), np.asarray(translation, dtype=float))
