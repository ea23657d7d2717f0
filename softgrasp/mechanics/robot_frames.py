"""Where the frames of a U(C)RDF robot stand in one another."""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

from softgrasp.description.bendable import Origin
from softgrasp.description.robot import RigidJoint
from softgrasp.mechanics.transforms import Array, rotation_from_euler


def origin_frame(origin: Origin) -> Array:
    """An ``<origin>`` as a frame, (4, 4)."""
    frame = np.eye(4)
    frame[:3, :3] = rotation_from_euler(origin.rpy)
    frame[:3, 3] = origin.xyz
    return frame


def joint_frame(joint: RigidJoint, position: float = 0.0) -> Array:
    """A rigid joint's child link in its parent link, (4, 4), at a joint variable [rad or m]."""
    origin = origin_frame(joint.origin)
    if joint.type == "fixed":
        return origin
    axis = np.asarray(joint.axis, dtype=float)
    along = position * axis / np.linalg.norm(axis)
    move = np.eye(4)
    if joint.type == "prismatic":
        move[:3, 3] = along
    else:
        move[:3, :3] = Rotation.from_rotvec(along).as_matrix()
    return origin @ move
