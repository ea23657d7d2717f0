"""Joint paths of a serial arm: its flange along straight lines, or through given poses."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.transform import Rotation

from softgrasp.description.finger import Finger
from softgrasp.errors import BuildError
from softgrasp.mechanics.dh import forward_kinematics
from softgrasp.mechanics.transforms import Array

TOLERANCE = 1e-9
"""Distance [m] and angle [rad] within which a pose counts as reached."""
NEWTON_STEPS = 30


def straight_path(
    chain: Finger, start: Sequence[float], displacement: ArrayLike, fractions: ArrayLike
) -> Array:
    """Joint angles that move the flange along a straight line without turning it, (n, nj) [rad].

    Args:
        chain: The arm; revolute joints.
        start: Its joint angles at the beginning [rad].
        displacement: The whole line in the arm's base frame [m], (3,).
        fractions: Parts of the line, from 0 to 1 and in order, (n,).

    Raises:
        BuildError: The arm does not reach.
    """
    home = forward_kinematics(chain, start)[-1]
    goals = []
    for fraction in np.asarray(fractions, dtype=float).tolist():
        goal = home.copy()
        goal[:3, 3] += fraction * np.asarray(displacement, dtype=float)
        goals.append(goal)
    return joint_path(chain, start, np.array(goals).reshape(-1, 4, 4), "the lift")


def joint_path(chain: Finger, start: Sequence[float], goals: Array, what: str) -> Array:
    """Joint angles that take the flange through poses that are near to one another, (n, nj) [rad].

    Args:
        chain: The arm; revolute joints.
        start: Its joint angles before the first of them [rad].
        goals: Poses of the flange in the arm's base frame, (n, 4, 4).
        what: What a sentence calls the path.

    Raises:
        BuildError: The arm does not reach.
    """
    joints, path = np.array(start, dtype=float), []
    for goal in goals:
        joints = _reached(chain, joints, goal, what)
        path.append(joints)
    return np.array(path).reshape(-1, len(start))


def flange_jacobian(chain: Finger, frames: Array) -> Array:
    """Velocity and angular velocity of the flange by the joints, (6, nj), base frame.

    Args:
        chain: The arm; revolute joints.
        frames: Its frames, as ``forward_kinematics`` gives them.
    """
    # a joint turns about z of the frame before it, or of its own
    first = 0 if chain.convention == "standard" else 1
    turning = frames[first : first + len(chain.phalanges)]
    axes, origins = turning[:, :3, 2], turning[:, :3, 3]
    linear = np.cross(axes, frames[-1, :3, 3] - origins)
    return np.asarray(np.concatenate([linear, axes], axis=1).T)


def _reached(chain: Finger, joints: Array, goal: Array, what: str) -> Array:
    for _ in range(NEWTON_STEPS):
        frames = forward_kinematics(chain, joints.tolist())
        rotation_vector = Rotation.from_matrix(goal[:3, :3] @ frames[-1, :3, :3].T).as_rotvec()
        gap = np.concatenate([goal[:3, 3] - frames[-1, :3, 3], rotation_vector])
        if np.abs(gap).max() < TOLERANCE:
            return joints
        joints = joints + np.linalg.lstsq(flange_jacobian(chain, frames), gap, rcond=None)[0]
    raise BuildError(
        f"arm '{chain.name}': expected to reach every point of {what}, found none at "
        f"{np.round(goal[:3, 3], 4).tolist()} m of its base; choose another start or a "
        f"{'lower lift' if what == 'the lift' else 'shorter way'}"
    )
