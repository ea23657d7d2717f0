"""Polynomials of degree five between two states of motion."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.transform import Rotation

from softgrasp.description.finger import Finger
from softgrasp.errors import BuildError
from softgrasp.mechanics.hand_kinematics import forward_kinematics
from softgrasp.mechanics.transforms import Array, minimum_jerk


class Quintic:
    """From a place, a velocity and an acceleration to rest at another place.

    From rest to rest it is the minimum-jerk motion: its largest speed is 1.875 ways a time.
    """

    def __init__(
        self,
        begin: ArrayLike,
        end: ArrayLike,
        duration: float,
        velocity: ArrayLike = 0.0,
        acceleration: ArrayLike = 0.0,
    ) -> None:
        """Solve for the coefficients.

        Args:
            begin: (n,)
            end: (n,)
            duration: [s]; at 0 it stands at the end.
            velocity: At the begin, (n,) [1/s].
            acceleration: At the begin, (n,) [1/s²].
        """
        start, self.end = np.asarray(begin, dtype=float), np.asarray(end, dtype=float)
        self.duration = duration
        one = np.zeros_like(start) + np.asarray(velocity, dtype=float) * duration
        two = np.zeros_like(start) + np.asarray(acceleration, dtype=float) * duration**2
        change = self.end - start
        self._coefficients = np.stack([
            start,
            one,
            0.5 * two,
            10.0 * change - 6.0 * one - 1.5 * two,
            -15.0 * change + 8.0 * one + 1.5 * two,
            6.0 * change - 3.0 * one - 0.5 * two,
        ])  # fmt: skip

    def at(self, time: ArrayLike, derivative: int = 0) -> Array:
        """Place, velocity or acceleration at times since the begin [s], (..., n)."""
        time_array = np.asarray(time, dtype=float)[..., None]
        if self.duration <= 0.0:
            rest = np.broadcast_to(self.end, (*time_array.shape[:-1], len(self.end)))
            return np.array(rest if derivative == 0 else np.zeros_like(rest))
        fraction = np.clip(time_array / self.duration, 0.0, 1.0)
        polynomial = np.polynomial.Polynomial
        columns = [
            polynomial(column).deriv(derivative)(fraction[..., 0])
            if derivative
            else polynomial(column)(fraction[..., 0])
            for column in self._coefficients.T
        ]
        values = np.stack(columns, axis=-1) / self.duration**derivative
        ended = time_array >= self.duration
        return np.where(ended, self.end if derivative == 0 else 0.0, values)


# --------------------
# Paths of a hand through the world: lines, turns and shakes that begin and end at rest.


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


# --------------------
# Joint paths of a serial arm: its flange along straight lines, or through given poses.


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
