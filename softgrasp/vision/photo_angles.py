"""Joint angles from joint points: what paper 000 measures, and what a simulation turns.

Paper 000 (eq 3) takes the directions of the segments between joint points and their differences:
``segments``. A joint line that is not straight in the unloaded finger has differences at rest: the
finger ``paper000`` those that ``design_angles`` gives, −2, 8.6, −5.3, 3.3, 0.2, 3.9 and 0.6
degrees. A hinge of the simulated finger stands at 0 there. ``hinges`` are the differences against
the unloaded finger, the coordinates of ``SoftFinger``:

    hinges = segments − design_angles(finger)
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from softgrasp.description.soft_finger import SoftFinger
from softgrasp.mechanics.transforms import Array

Convention = Literal["hinges", "segments"]


def design_slopes(finger: SoftFinger) -> Array:
    """Directions joint to joint and on to the tip, unloaded, positive towards −z, (n,) [rad]."""
    points = np.array([joint.position for joint in finger.joints] + [finger.tip])
    steps = np.diff(points, axis=0)
    return np.asarray(np.arctan2(-steps[:, 2], steps[:, 0]))


def design_angles(finger: SoftFinger) -> Array:
    """The angles of paper 000 (eq 3) of the straight, unloaded finger, (n,) [rad]."""
    return np.diff(design_slopes(finger), prepend=0.0)


def segment_angles(points: Array, tilt: float = 0.0) -> Array:
    """Differences of the directions of segments (paper 000, eq 3).

    Args:
        points: Joint points from the base, and the tip where it is known, (m, 2) [pixels].
        tilt: Direction of the finger's base in the picture, positive downwards [rad]; from it the
            first segment counts.

    Returns:
        Positive for a finger that bends downwards, (m − 1,) [rad].
    """
    steps = np.diff(points, axis=0)
    headings = np.unwrap(np.arctan2(steps[:, 1], steps[:, 0]))
    return np.diff(headings, prepend=tilt)


def hinge_angles(points: Array, finger: SoftFinger, tilt: float = 0.0) -> Array:
    """Rotations of the hinges of a finger, (m − 1,) [rad]; see ``segment_angles``."""
    angles = segment_angles(points, tilt)
    return np.asarray(angles - design_angles(finger)[: len(angles)])
