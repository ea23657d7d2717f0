"""Where the links of a soft finger are, for joint angles of any number of instants at once."""

from __future__ import annotations

from itertools import groupby
from operator import itemgetter

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.transform import Rotation

from softgrasp.description.soft_finger import SoftFinger
from softgrasp.errors import DescriptionError
from softgrasp.mechanics.transforms import Array

AXES = {"twist": "X", "y": "Y", "z": "Z"}


def joint_positions(finger: SoftFinger, angles: ArrayLike) -> Array:
    """Joints and tip in the finger's base frame, (..., n + 1, 3) [m].

    Args:
        finger: The finger.
        angles: Coordinates as ``SoftFinger.freedoms`` orders them [rad, or m of a stretch],
            (..., n); of a spatial finger (..., 2n).

    Raises:
        DescriptionError: Another number of angles.
    """
    angles = np.asarray(angles, dtype=float)
    expected_count = len(finger.freedoms)
    if angles.shape[-1:] != (expected_count,):
        raise DescriptionError(
            f"expected {expected_count} angles, found shape {angles.shape}", field="angles"
        )
    points = np.array([joint.position for joint in finger.joints] + [finger.tip])
    steps = np.diff(points, axis=0)
    if expected_count > len(finger.joints):
        flat = _followed(finger, points[0], steps, angles.reshape(-1, expected_count))
        return flat.reshape(*angles.shape[:-1], *points.shape)
    link_vectors = _rotated_in_plane(steps, np.cumsum(angles, axis=-1))
    begin = np.broadcast_to(points[0], (*angles.shape[:-1], 1, 3))
    return np.cumsum(np.concatenate([begin, link_vectors], axis=-2), axis=-2)


def _rotated_in_plane(steps: Array, absolute_angles: Array) -> Array:
    """Steps (n, 3) turned about y by angles (..., n)."""
    x, y, z = steps.T
    cosine, sine = np.cos(absolute_angles), np.sin(absolute_angles)
    return np.stack(
        [x * cosine + z * sine, y + 0.0 * absolute_angles, z * cosine - x * sine], axis=-1
    )


def _followed(finger: SoftFinger, start: Array, steps: Array, rows: Array) -> Array:
    """Joints and tip for rows of coordinates (r, c), joint after joint, (r, n + 1, 3)."""
    rotation, at = Rotation.identity(len(rows)), np.tile(start, (len(rows), 1))
    points = np.empty((len(rows), len(steps) + 1, 3))
    columns = iter(rows.T)
    for index, freedoms in groupby(finger.freedoms, key=itemgetter(0)):
        for _, axis in freedoms:
            value = next(columns)[:, None]
            if axis == "stretch":
                at = at + rotation.apply(value * [1.0, 0.0, 0.0])
            else:
                rotation = rotation * Rotation.from_euler(AXES[axis], value)
        points[:, index] = at
        at = at + rotation.apply(steps[index])
    points[:, -1] = at
    return points
