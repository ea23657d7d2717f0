"""Inverse kinematics of serial arms: all branches within the joint limits, and the nearest one.

Damped least squares (Levenberg–Marquardt) from many starting postures at once, as arrays, with the
joints clipped to their limits. An arm of six revolute joints reaches a pose in up to 16 isolated
postures; the search finds those that its starting postures lead to, and one of them may be missed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache, partial, reduce
from itertools import product

import numpy as np
from scipy.spatial.transform import Rotation

from softgrasp.description.finger import Finger
from softgrasp.mechanics.hand_kinematics import chain_links, forward_kinematics, slide
from softgrasp.mechanics.transforms import Array, rotate_about

STEPS, WARM_STEPS = 30, 12
"""Largest number of steps from the starting postures, and from the previous posture."""
TOLERANCE = 1e-9
"""Largest error of a solution [m and rad]."""
DAMPING = 1e-3
"""Initial factor of damping [–]."""
INCREMENT = 1e-6
"""Increments of finite differences [rad or m]."""
SAME = 1e-3
"""Largest difference of two postures that count as one [rad or m]."""
FRACTIONS = (0.2, 0.8)
"""Starting values of a joint, over its range [–]; the last joint starts in the middle."""
Gaps = Callable[[Array], tuple[Array, Array]]
Solutions = Array
"""Postures of an arm, (n, nj) [rad or m]."""


def nearest_posture(chain: Finger, goal: Array, near: Array) -> Array | None:
    """Return the posture within the joint limits that reaches a pose, nearest to another posture.

    Args:
        chain: The arm.
        goal: Pose of the flange in the arm's base frame, (4, 4).
        near: Posture [rad or m], (nj,), as the previous one of a motion.

    Returns:
        Posture, (nj,); None where no posture was found.
    """
    warm = _solutions(chain, goal, near[None], WARM_STEPS)
    # the posture that continues a motion is the nearest one, and needs no search
    if len(warm) and np.abs(warm[0] - near).max() < math.radians(30.0):
        return np.asarray(warm[0])
    solutions = postures(chain, goal)
    solutions = np.array([_unwrap(chain, posture, near) for posture in (*warm, *solutions)])
    if not len(solutions):
        return None
    return np.asarray(solutions[np.argmin(np.square(solutions - near).sum(axis=1))])


def postures(chain: Finger, goal: Array) -> Solutions:
    """Return postures within the joint limits that reach a pose, each branch once.

    Args:
        chain: The arm.
        goal: Pose of the flange in the arm's base frame, (4, 4).

    Returns:
        Postures, (n, nj) [rad or m]; (0, nj) where none was found.
    """
    distinct: list[Array] = []
    for posture in _solutions(chain, goal, _starts(chain), STEPS):
        unwrapped = [_unwrap(chain, posture, other) for other in distinct]
        if all(
            np.abs(first - second).max() > SAME
            for first, second in zip(unwrapped, distinct, strict=True)
        ):
            distinct.append(posture)
    return np.array(distinct).reshape(-1, len(chain.phalanges))


@lru_cache(maxsize=16)
def _starts(chain: Finger) -> Array:
    """Return the starting postures: two values of each joint but the last, (2^(nj − 1), nj)."""
    low, high = np.array([row.limits for row in chain.phalanges]).T
    parts = product(*([FRACTIONS] * (len(low) - 1)), (0.5,))
    return np.asarray(low + np.array(list(parts)) * (high - low))


def _unwrap(chain: Finger, posture: Array, near: Array) -> Array:
    """Add full turns to revolute joints, within their limits, to come near another posture."""
    result = posture.copy()
    for index, row in enumerate(chain.phalanges):
        if row.joint == "revolute":
            values = np.arange(-2, 3) * math.tau + posture[index]
            inside = values[(values >= row.limits[0]) & (values <= row.limits[1])]
            if len(inside):
                result[index] = inside[np.argmin(np.abs(inside - near[index]))]
    return result


def _solutions(chain: Finger, goal: Array, starts: Array, steps: int) -> Solutions:
    """Return the postures that reach the goal, from those starts that lead to one."""
    low, high = np.array([row.limits for row in chain.phalanges]).T
    joints, gap = minimise_squares(partial(_gaps, chain, goal), starts, (low, high), steps)
    return np.asarray(joints[np.abs(gap).max(axis=1) < TOLERANCE])


def minimise_squares(
    gaps: Gaps, starts: Array, limits: tuple[Array, Array], steps: int
) -> tuple[Array, Array]:
    """Minimise sums of squares within limits by damped least squares, from all starts at once.

    Args:
        gaps: Returns the gaps to a goal for values (n, nv), (n, m), and how they shrink with them,
            (n, m, nv).
        starts: Values to start from, (n, nv).
        limits: Lowest and highest values, (nv,) each.
        steps: Largest number of steps.

    Returns:
        Values, (n, nv), and what is left of the gaps, (n, m).
    """
    low, high = limits
    joints = np.clip(starts, low, high)
    gap, jacobian = gaps(joints)
    damping = np.full(len(joints), DAMPING)
    for _ in range(steps):
        active = np.flatnonzero(np.abs(gap).max(axis=1) >= TOLERANCE)
        if not len(active):
            break
        state = joints[active], gap[active], jacobian[active]
        trial = np.clip(state[0] + _damped_step(*state, damping[active], low, high), low, high)
        new_gap, new_jacobian = gaps(trial)
        better = np.square(new_gap).sum(axis=1) < np.square(state[1]).sum(axis=1)
        kept = active[better]
        joints[kept], gap[kept], jacobian[kept] = (
            trial[better],
            new_gap[better],
            new_jacobian[better],
        )
        damping[active] = np.clip(damping[active] * np.where(better, 0.1, 10.0), 1e-12, 1e3)
    return joints, gap


def gaps_by_differences(gaps: Callable[[Array], Array], values: Array) -> tuple[Array, Array]:
    """Return gaps, (n, m), and how they shrink with the values, (n, m, nv), by differences.

    Args:
        gaps: Returns the gaps for values (n, nv).
        values: Values, (n, nv).
    """
    count = values.shape[1]
    steps = np.concatenate([np.zeros((1, count)), INCREMENT * np.eye(count)])
    spread = gaps((values[:, None] + steps).reshape(-1, count)).reshape(len(values), 1 + count, -1)
    slope = (spread[:, :1] - spread[:, 1:]) / INCREMENT
    return spread[:, 0], np.swapaxes(slope, 1, 2).copy()


def _damped_step(
    joints: Array, gap: Array, jacobian: Array, damping: Array, low: Array, high: Array
) -> Array:
    """Return the steps of damped least squares; joints pressed against a limit do not move."""
    downhill = np.einsum("nij,ni->nj", jacobian, gap)
    free = ~(((joints <= low) & (downhill < 0.0)) | ((joints >= high) & (downhill > 0.0)))
    jacobian = jacobian * free[:, None]
    normal = np.einsum("nij,nik->njk", jacobian, jacobian)
    normal += damping[:, None, None] * np.eye(joints.shape[1])
    return np.asarray(np.linalg.solve(normal, (downhill * free)[..., None])[..., 0])


def _gaps(chain: Finger, goal: Array, joints: Array) -> tuple[Array, Array]:
    """Return the errors of postures, position first, (n, 6), and their Jacobians, (n, 6, nj)."""
    origins, end = _links(chain)
    frame = np.broadcast_to(np.eye(4), (len(joints), 4, 4))
    axes, centres = [], []
    for row, origin, value in zip(chain.phalanges, origins, joints.T, strict=True):
        frame = frame @ origin
        axes.append(frame[:, :3, 2])
        centres.append(frame[:, :3, 3])
        frame = frame @ (rotate_about("z", value) if row.joint == "revolute" else slide(value))
    frame = frame @ end
    rotation_vector = Rotation.from_matrix(
        goal[:3, :3] @ np.swapaxes(frame[:, :3, :3], 1, 2)
    ).as_rotvec()
    gap = np.concatenate([goal[:3, 3] - frame[:, :3, 3], rotation_vector], axis=1)
    axis, centre = np.stack(axes, axis=1), np.stack(centres, axis=1)
    revolute = np.array([row.joint == "revolute" for row in chain.phalanges])[:, None]
    linear = np.where(revolute, np.cross(axis, frame[:, None, :3, 3] - centre), axis)
    angular = np.where(revolute, axis, 0.0)
    return gap, np.swapaxes(np.concatenate([linear, angular], axis=2), 1, 2).copy()


@lru_cache(maxsize=16)
def _links(chain: Finger) -> tuple[tuple[Array, ...], Array]:
    """Return each joint's frame in the previous one, and the flange in the last, at zero."""
    origins = tuple(link.origin for link in chain_links(chain))
    flange = forward_kinematics(chain, [0.0] * len(origins))[-1]
    return origins, np.linalg.inv(reduce(np.matmul, origins)) @ flange
