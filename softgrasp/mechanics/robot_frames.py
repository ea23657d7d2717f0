"""Where the frames of a U(C)RDF robot stand in one another."""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

from softgrasp.description.bendable import Origin
from softgrasp.description.robot import RigidJoint
from softgrasp.mechanics.transforms import Array, position_of, rotation_from_euler


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


def rpy_of(frame: Array) -> tuple[float, float, float]:
    """Roll, pitch and yaw of a frame [rad], exact also where the pitch is ±90°."""
    r = frame[:3, :3]
    yaw = np.arctan2(r[1, 0], r[0, 0])
    pitch = np.arctan2(-r[2, 0], np.hypot(r[0, 0], r[1, 0]))
    # after the yaw is taken off, the roll is well defined whatever yaw was chosen
    sine, cosine = np.sin(yaw), np.cos(yaw)
    roll = np.arctan2(sine * r[0, 2] - cosine * r[1, 2], cosine * r[1, 1] - sine * r[0, 1])
    return float(roll), float(pitch), float(yaw)


def origin_of(frame: Array) -> Origin:
    """A frame (4, 4) as an ``<origin>``."""
    return Origin(xyz=position_of(frame), rpy=rpy_of(frame))
