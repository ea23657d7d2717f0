"""Where the links of a soft finger are, for joint angles of any number of instants at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.transform import Rotation

from softgrasp.description.soft_finger import SoftFinger
from softgrasp.errors import DescriptionError
from softgrasp.mechanics.transforms import Array


def joint_positions(finger: SoftFinger, angles: ArrayLike) -> Array:
    """Joints and tip in the finger's base frame, (..., n + 1, 3) [m].

    Args:
        finger: The finger.
        angles: Joint angles [rad], (..., n); of a spatial finger (..., 2n), about y and z in turn.

    Raises:
        DescriptionError: Another number of angles.
    """
    angles = np.asarray(angles, dtype=float)
    joints = len(finger.joints)
    wanted = joints if finger.planar else 2 * joints
    if angles.shape[-1:] != (wanted,):
        raise DescriptionError(
            f"expected {wanted} angles, found shape {angles.shape}", field="angles"
        )
    points = np.array([joint.position for joint in finger.joints] + [finger.tip])
    steps = np.diff(points, axis=0)
    if finger.planar:
        ways = _turned_in_plane(steps, np.cumsum(angles, axis=-1))
    else:
        ways = _turned(steps, angles.reshape(*angles.shape[:-1], joints, 2))
    begin = np.broadcast_to(points[0], (*angles.shape[:-1], 1, 3))
    return np.cumsum(np.concatenate([begin, ways], axis=-2), axis=-2)


def _turned_in_plane(steps: Array, turns: Array) -> Array:
    """Steps (n, 3) turned about y by angles (..., n)."""
    x, y, z = steps.T
    cosine, sine = np.cos(turns), np.sin(turns)
    return np.stack([x * cosine + z * sine, y + 0.0 * turns, z * cosine - x * sine], axis=-1)


def _turned(steps: Array, angles: Array) -> Array:
    """Steps (n, 3) turned by all joints before them, about y and z at each, (..., n, 2)."""
    flat = angles.reshape(-1, *angles.shape[-2:])
    turn = Rotation.identity(len(flat))
    ways = []
    for index, step in enumerate(steps):
        turn = turn * Rotation.from_euler("YZ", flat[:, index])
        ways.append(turn.apply(step))
    return np.stack(ways, axis=1).reshape(*angles.shape[:-1], 3)
