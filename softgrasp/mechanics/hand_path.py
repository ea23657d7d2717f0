"""Paths of a hand through the world: lines, turns and shakes that begin and end at rest."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.transform import Rotation

from softgrasp.errors import BuildError
from softgrasp.mechanics.transforms import Array, minimum_jerk

STEEPEST = np.radians(85.0)
"""Beyond this turn about the middle axis the three angles of a wrist are not told apart [rad]."""


def eased(samples: int) -> Array:
    """Shares of a way from rest to rest at the samples that follow its beginning, (n,).

    Args:
        samples: Their number; the last one is 1.
    """
    return minimum_jerk(np.arange(1, samples + 1) / samples)


def moved(pose: Array, displacement: ArrayLike, rotation: ArrayLike, about: ArrayLike) -> Array:
    """Poses of a hand that is displaced and turned about a point that it carries, (n, 4, 4).

    Args:
        pose: Where it begins in the world, (4, 4).
        displacement: Of the point in the world [m], (n, 3).
        rotation: Rotation vectors in the world [rad], (n, 3).
        about: The point in the hand's frame [m], (3,).
    """
    rotations = Rotation.from_rotvec(np.asarray(rotation, dtype=float)).as_matrix()
    arm = pose[:3, :3] @ np.asarray(about, dtype=float)
    poses = np.tile(pose, (len(rotations), 1, 1))
    poses[:, :3, :3] = rotations @ pose[:3, :3]
    poses[:, :3, 3] += np.asarray(displacement, dtype=float) + arm - rotations @ arm
    return poses


def shaken(cycles: int, samples: int) -> Array:
    """A sine wave of amplitude one that swells and fades, at the samples after its beginning, (n,).

    Its envelope rises over the first cycle and falls over the last one (over half a cycle each
    where there is only one) as the way from rest to rest does, so that displacement, speed and
    acceleration are zero at both ends.

    Args:
        cycles: Whole sine waves.
        samples: Number of samples.
    """
    phase = cycles * np.arange(1, samples + 1) / samples
    fade = min(1.0, 0.5 * cycles)
    envelope = minimum_jerk(np.minimum(np.minimum(phase, cycles - phase) / fade, 1.0))
    return np.asarray(envelope * np.sin(2.0 * np.pi * phase))


def unit(direction: ArrayLike) -> Array:
    """A direction with length one, (3,)."""
    vector = np.asarray(direction, dtype=float)
    return np.asarray(vector / np.linalg.norm(vector))


def wrist_values(home: Array, poses: Array, before: ArrayLike) -> Array:
    """Joints of a wrist that take a hand to poses: x, y, z [m], then turns about z, y, x [rad].

    The joints stand in this order, and their axes are those of the world where the hand is at
    home: R = Rz·Ry·Rx·R_home.

    Args:
        home: Pose of the hand in the world where all of them are zero, (4, 4).
        poses: Where it has to be, (n, 4, 4).
        before: Their values right before, from which turns go on without jumps, (6,).

    Returns:
        Shape (n, 6).

    Raises:
        BuildError: The second turn would be so steep that the other two are one.
    """
    rotations = Rotation.from_matrix(poses[:, :3, :3] @ home[:3, :3].T)
    angles = rotations.as_euler("ZYX")
    steepest = float(np.abs(angles[:, 1]).max(initial=0.0))
    if steepest > STEEPEST:
        raise BuildError(
            f"sequence: expected turns of at most {np.degrees(STEEPEST):.0f}° about y of the world "
            f"on a wrist whose hinges turn about z, y and x, found {np.degrees(steepest):.1f}°; "
            "turn the scene (hand_pose, object) so that the large turn is about x or z"
        )
    values = np.concatenate([poses[:, :3, 3] - home[:3, 3], angles], axis=1)
    whole = np.concatenate([np.asarray(before, dtype=float)[None], values])
    whole[:, 3:] = np.unwrap(whole[:, 3:], axis=0)
    return np.asarray(whole[1:])
