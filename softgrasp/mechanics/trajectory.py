"""Trajectories: quintic polynomials, rest-to-rest motions of the hand, joint paths of arms.

``Quintic`` is scipy's ``BPoly`` with a rest at its end. The displacements of lifts, moves and
shakes follow minimum-jerk profiles (``ease``, ``shaken``); ``wrist_values`` converts poses of the
hand to the joints of a floating wrist, ``joint_path`` to those of a serial arm, by Newton's method
on its Jacobian.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from operator import mul

import numpy as np
import scipy
from numpy.typing import ArrayLike
from scipy.spatial.transform import Rotation

from softgrasp.description.finger import Finger
from softgrasp.errors import BuildError
from softgrasp.mechanics.hand_kinematics import forward_kinematics
from softgrasp.mechanics.transforms import Array, euler_from_rotation, minimum_jerk

# Profiles in time.


class Quintic:
    """Motion from a position, velocity and acceleration to rest at another position.

    From rest to rest it is the minimum-jerk motion. A ``BPoly`` of scipy that stays at the end
    after its duration, which may be zero.
    """

    def __init__(
        self,
        begin: ArrayLike,
        end: ArrayLike,
        duration: float,
        velocity: ArrayLike = 0.0,
        acceleration: ArrayLike = 0.0,
    ) -> None:
        """Compute the polynomial.

        Args:
            begin: Position at the start, (n,).
            end: Position at the end, (n,).
            duration: [s]; with 0 it is at the end at once.
            velocity: At the start, (n,) [1/s].
            acceleration: At the start, (n,) [1/s²].
        """
        self.end, self.duration = np.asarray(end, dtype=float), duration
        start = np.zeros((3, *self.end.shape))
        start[0], start[1], start[2] = begin, velocity, acceleration
        stop = np.stack([self.end, np.zeros_like(self.end), np.zeros_like(self.end)])
        self._times = [0.0, duration] if duration > 0.0 else [0.0, 1.0]
        self._polynomial = scipy.interpolate.BPoly.from_derivatives(self._times, [start, stop])
        self._coefficients = self._polynomial.c[:, 0].T.tolist()

    def at(self, time: ArrayLike | float, derivative: int = 0) -> Array:
        """Return position, velocity or acceleration at times since the start [s], (..., n)."""
        rest = self.end if derivative == 0 else np.zeros_like(self.end)
        if isinstance(time, float) and time >= self.duration:
            return rest.copy()
        if isinstance(time, float) and derivative == 0:
            return self._position(max(time, 0.0))
        times = np.asarray(time, dtype=float)
        values = self._polynomial(np.clip(times, 0.0, max(self.duration, 0.0)), derivative)
        return np.where((times >= self.duration)[..., None], rest, values)

    def _position(self, time: float) -> Array:
        """Return the position at one time, (n,), bit-equal to ``BPoly`` in a quarter of its time.

        Controllers need one in every period.
        """
        weights = _weights(time / self._times[1])
        return np.array([sum(map(mul, weights, coefficient)) for coefficient in self._coefficients])


@lru_cache(maxsize=16)
def _weights(s: float) -> list[float]:
    """Return the Bernstein polynomials of degree 5, (6,); motions of one duration share them."""
    r = 1.0 - s
    return [math.comb(5, k) * s**k * r ** (5 - k) for k in range(6)]


def ease(samples: int) -> Array:
    """Return the fractions of a rest-to-rest motion at the samples after its start, (n,).

    Args:
        samples: Number of samples; the last fraction is 1.
    """
    return minimum_jerk(np.arange(1, samples + 1) / samples)


def shaken(cycles: int, samples: int) -> Array:
    """Return a sine wave of amplitude one with a smooth envelope, at the samples after its start.

    Its envelope rises over the first cycle and falls over the last one (over half a cycle each
    where there is only one) with a minimum-jerk profile, so displacement, speed and acceleration
    are zero at both ends. It is scaled to reach the amplitude with one or two cycles as well; its
    largest acceleration is ``description.task.SHAKE_PEAKS`` times that of a sine.

    Args:
        cycles: Number of sine cycles.
        samples: Number of samples n.

    Returns:
        Shape (n,).
    """
    phase = cycles * np.arange(1, samples + 1) / samples
    fade = min(1.0, 0.5 * cycles)
    envelope = minimum_jerk(np.minimum(np.minimum(phase, cycles - phase) / fade, 1.0))
    wave = envelope * np.sin(2.0 * np.pi * phase)
    peak = float(np.abs(wave).max(initial=0.0))
    return np.asarray(wave / peak if peak > 0.0 else wave)


# Poses of a hand.

MAX_MIDDLE_ANGLE = np.radians(85.0)
"""Largest angle about the middle axis of a wrist [rad]; beyond it the other two are not
distinct."""


def move(pose: Array, displacement: ArrayLike, rotation: ArrayLike, about: ArrayLike) -> Array:
    """Return poses of a hand that is displaced and rotated about a point fixed to it, (n, 4, 4).

    Args:
        pose: Start pose in the world, (4, 4).
        displacement: Displacement of the point in the world [m], (n, 3).
        rotation: Rotation vectors in the world [rad], (n, 3).
        about: The point in the hand's frame [m], (3,).
    """
    rotations = Rotation.from_rotvec(np.asarray(rotation, dtype=float)).as_matrix()
    arm = pose[:3, :3] @ np.asarray(about, dtype=float)
    poses = np.tile(pose, (len(rotations), 1, 1))
    poses[:, :3, :3] = rotations @ pose[:3, :3]
    poses[:, :3, 3] += np.asarray(displacement, dtype=float) + arm - rotations @ arm
    return poses


def unit(direction: ArrayLike) -> Array:
    """Normalise a direction, (3,)."""
    vector = np.asarray(direction, dtype=float)
    return np.asarray(vector / np.linalg.norm(vector))


def wrist_values(
    home: Array, poses: Array, before: ArrayLike, center: ArrayLike = (0.0, 0.0, 0.0)
) -> Array:
    """Compute the joints of a wrist at poses of the hand: x, y, z [m], angles about z, y, x [rad].

    The joints are in this order, and their axes are those of the world where the hand is at home: R
    = Rz·Ry·Rx·R_home. The hinges intersect in ``center``, so that x, y and z are its displacement.

    Args:
        home: Pose of the hand in the world where all joints are zero, (4, 4).
        poses: Target poses, (n, 4, 4).
        before: Joint values before the first pose, from which angles continue without jumps, (6,).
        center: Intersection of the hinges in the frame of the hand, (3,) [m].

    Returns:
        Shape (n, 6).

    Raises:
        BuildError: The angle about y is so large that the other two axes coincide.
    """
    rotations = Rotation.from_matrix(poses[:, :3, :3] @ home[:3, :3].T)
    angles = euler_from_rotation(rotations)[:, ::-1]
    steepest = float(np.abs(angles[:, 1]).max(initial=0.0))
    if steepest > MAX_MIDDLE_ANGLE:
        limit = f"{np.degrees(MAX_MIDDLE_ANGLE):.0f}°"
        raise BuildError(
            f"sequence: expected rotations of at most {limit} about y of the world on a wrist with "
            f"axes z, y and x, found {np.degrees(steepest):.1f}°; "
            "rotate the scene (hand_pose, object) so that the large rotation is about x or z"
        )
    point = np.append(center, 1.0)
    values = np.concatenate([((poses - home) @ point)[:, :3], angles], axis=1)
    whole = np.concatenate([np.asarray(before, dtype=float)[None], values])
    whole[:, 3:] = np.unwrap(whole[:, 3:], axis=0)
    return np.asarray(whole[1:])


# Joint paths of a serial arm.

TOLERANCE = 1e-9
"""Distance [m] and angle [rad] within which a pose counts as reached."""


def straight_path(
    chain: Finger, start: Sequence[float], displacement: ArrayLike, fractions: ArrayLike
) -> Array:
    """Compute joint angles that translate the flange along a straight line, (n, nj) [rad].

    Args:
        chain: The arm; revolute joints.
        start: Its joint angles at the beginning [rad].
        displacement: The whole line in the arm's base frame [m], (3,).
        fractions: Fractions of the line, from 0 to 1, ascending, (n,).

    Raises:
        BuildError: The arm does not reach a point.
    """
    home = forward_kinematics(chain, start)[-1]
    goals = []
    for fraction in np.asarray(fractions, dtype=float).tolist():
        goal = home.copy()
        goal[:3, 3] += fraction * np.asarray(displacement, dtype=float)
        goals.append(goal)
    return joint_path(chain, start, np.array(goals).reshape(-1, 4, 4), "the lift")


def joint_path(chain: Finger, start: Sequence[float], goals: Array, what: str) -> Array:
    """Compute joint angles that bring the flange to successive nearby poses, (n, nj) [rad].

    Args:
        chain: The arm; revolute joints.
        start: Its joint angles before the first pose [rad].
        goals: Poses of the flange in the arm's base frame, (n, 4, 4).
        what: Name of the path in messages.

    Raises:
        BuildError: The arm does not reach a pose.
    """
    joints, path = np.array(start, dtype=float), []
    for goal in goals:
        joints = _reached(chain, joints, goal, what)
        path.append(joints)
    return np.array(path).reshape(-1, len(start))


def flange_jacobian(chain: Finger, frames: Array) -> Array:
    """Compute the geometric Jacobian of the flange in the base frame, linear rows first, (6, nj).

    Args:
        chain: The arm; revolute joints.
        frames: Its frames from ``forward_kinematics``.
    """
    # a joint's axis is z of the frame before it, or of its own
    first = 0 if chain.convention == "standard" else 1
    turning = frames[first : first + len(chain.phalanges)]
    axes, origins = turning[:, :3, 2], turning[:, :3, 3]
    linear = np.cross(axes, frames[-1, :3, 3] - origins)
    return np.asarray(np.concatenate([linear, axes], axis=1).T)


def _reached(chain: Finger, joints: Array, goal: Array, what: str) -> Array:
    """Solve the inverse kinematics of one pose by Newton's method."""
    for _ in range(30):
        frames = forward_kinematics(chain, joints.tolist())
        rotation_vector = Rotation.from_matrix(goal[:3, :3] @ frames[-1, :3, :3].T).as_rotvec()
        gap = np.concatenate([goal[:3, 3] - frames[-1, :3, 3], rotation_vector])
        if np.abs(gap).max() < TOLERANCE:
            return joints
        joints = joints + np.linalg.lstsq(flange_jacobian(chain, frames), gap, rcond=None)[0]
    raise BuildError(
        f"arm '{chain.name}': expected every point of {what} within reach, found one beyond it at "
        f"{np.round(goal[:3, 3], 4).tolist()} m from its base; choose another start or a "
        f"{'lower lift' if what == 'the lift' else 'shorter path'}"
    )
