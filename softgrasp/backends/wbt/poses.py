"""Poses and masses of Solids, and the fields of nodes that hold poses."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.transform import Rotation

from softgrasp.backends.wbt.schema import Node, Numbers, Value
from softgrasp.mechanics import Array


class Pose(NamedTuple):
    """Pose of an inner frame in an outer one: x_outer = rotation · x_inner + position."""

    rotation: Array
    """(3, 3)"""
    position: Array
    """(3,) [m]"""

    def __matmul__(self, inner: Pose) -> Pose:
        """Return the pose of a frame of the inner one in the outer one."""
        return Pose(self.rotation @ inner.rotation, self.apply(inner.position))

    def apply(self, point: ArrayLike) -> Array:
        """Transform a point (3,) of the inner frame to the outer one [m]."""
        return np.asarray(self.rotation @ np.asarray(point, dtype=float) + self.position)

    def inside(self, other: Pose) -> Pose:
        """Return the pose in another frame, where both are in the same one."""
        back = other.rotation.T
        return Pose(back @ self.rotation, back @ (self.position - other.position))


IDENTITY = Pose(np.eye(3), np.zeros(3))


def pose_of(translation: ArrayLike, rotation: ArrayLike) -> Pose:
    """Return the pose of fields of a node.

    Args:
        translation: (3,) [m].
        rotation: Axis of any length and angle [rad], (4,); no rotation where the axis is zero.
    """
    *axis, angle = np.asarray(rotation, dtype=float)
    rotation_vector = np.array(axis) * (angle / (math.hypot(*axis) or 1.0))
    matrix = Rotation.from_rotvec(rotation_vector).as_matrix()
    return Pose(np.asarray(matrix), np.asarray(translation, dtype=float))


def set_pose(node: Node, pose: Pose) -> None:
    """Write a pose as the first fields of a node, except for defaults."""
    fields: dict[str, Value] = {}
    if pose.position.any():
        fields["translation"] = vector(pose.position)
    axis_and_angle = axis_angle(pose.rotation)
    if axis_and_angle[3] != 0.0:
        fields["rotation"] = axis_and_angle
    node.fields = fields | node.fields


def symmetric(diagonal: Numbers, products: Numbers) -> Array:
    """Return the inertia (3, 3) of [I11 I22 I33] and [I12 I13 I23]."""
    (xx, yy, zz), (xy, xz, yz) = diagonal, products
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def vector(values: Array) -> Numbers:
    """Convert numbers to the content of a field."""
    return tuple(float(value) for value in values)


def axis_angle(rotation: Array) -> Numbers:
    """Convert a rotation matrix to a unit axis and an angle [rad]; the identity is about z."""
    rotation_vector = Rotation.from_matrix(rotation).as_rotvec()
    angle = math.sqrt(float(rotation_vector @ rotation_vector))
    if angle < 1e-14:
        return (0.0, 0.0, 1.0, 0.0)
    return (*vector(rotation_vector / angle), angle)


class Mass(NamedTuple):
    """Mass, centre of mass and inertia of a rigid solid."""

    mass: float
    """Mass [kg]."""
    center: Array
    """Centre of mass in the frame of the solid, (3,) [m]."""
    inertia: Array
    """About the centre of mass, along the axes of the solid, (3, 3) [kg·m²]."""

    def placed(self, pose: Pose) -> Mass:
        """Transform the mass properties to the outer frame of ``pose``."""
        rotated = pose.rotation @ self.inertia @ pose.rotation.T
        return Mass(self.mass, pose.apply(self.center), rotated)

    def scaled(self, factor: float) -> Mass:
        """Scale the density by a factor."""
        return Mass(self.mass * factor, self.center, self.inertia * factor)


def together(pieces: Sequence[Mass]) -> Mass:
    """Combine the mass properties of at least one solid in one frame by Steiner's theorem."""
    total = sum(piece.mass for piece in pieces)
    center = sum((piece.mass * piece.center for piece in pieces), np.zeros(3)) / total
    inertia = np.zeros((3, 3))
    for piece in pieces:
        arm = piece.center - center
        inertia += piece.inertia + piece.mass * (arm @ arm * np.eye(3) - np.outer(arm, arm))
    return Mass(total, center, inertia)
