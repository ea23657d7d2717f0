"""Positions, velocities and accelerations of the segment ends of an arm in its base frame."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from softgrasp.mechanics.hydraulic.bend_motion import bend_motion
from softgrasp.mechanics.transforms import Array


class ArmMotion(NamedTuple):
    """Of the ends of n segments; vectors in the base frame, those named ``own`` in the end's.

    Args:
        frames: (n, 4, 4).
        linear: Velocity over the rates of all states, (n, 3, 4n).
        own_angular: Angular velocity over the rates of all states, in the end's frame, (n, 3, 4n).
        velocity: [m/s], (n, 3).
        acceleration: At constant rates [m/s²], (n, 3).
        own_spin: Angular velocity in the end's frame [rad/s], (n, 3).
        own_angular_acceleration: At constant rates, in the end's frame [rad/s²], (n, 3).
    """

    frames: Array
    linear: Array
    local_angular: Array
    velocity: Array
    acceleration: Array
    local_spin: Array
    local_angular_acceleration: Array

    @property
    def angular(self) -> Array:
        """Angular velocity over the rates of all states in the base frame, (n, 3, 4n)."""
        return np.asarray(self.frames[:, :3, :3] @ self.local_angular)


def arm_motion(strains: Array, rates: Array) -> ArmMotion:
    """The motion of an arm.

    Args:
        strains: (u, v, l, τ) of its segments, (n, 4).
        rates: Of the strains [1/s], (n, 4).
    """
    count = len(strains)
    frames = np.empty((count, 4, 4))
    linear, angular = np.zeros((2, count, 3, 4 * count))
    speed, gain, spin, spin_gain = np.zeros((4, count, 3))
    base = np.eye(4)
    velocity, acceleration, omega, alpha = np.zeros((4, 3))
    columns = np.zeros((2, 3, 4 * count))
    for i in range(count):
        rotation = base[:3, :3]
        local = bend_motion(strains[i], rates[i])
        frames[i] = base @ local.frame
        arm = rotation @ local.frame[:3, 3]
        segment_jacobian = rotation @ local.jacobian[:3], rotation @ local.jacobian[3:]
        # what a segment does at its base moves its end, and what it does itself comes on top
        columns[0] -= _cross_matrix(arm) @ columns[1]
        columns[0][:, 4 * i : 4 * i + 4] = segment_jacobian[0]
        columns[1][:, 4 * i : 4 * i + 4] = segment_jacobian[1]
        moving, turning = segment_jacobian[0] @ rates[i], segment_jacobian[1] @ rates[i]
        swing, carried = _cross_matrix(omega), rotation @ local.convective[:3]
        acceleration = acceleration + _cross_matrix(alpha) @ arm + carried
        acceleration = acceleration + swing @ (swing @ arm + 2.0 * moving)
        velocity = velocity + swing @ arm + moving
        alpha = alpha + swing @ turning + rotation @ local.convective[3:]
        omega = omega + turning
        back = frames[i, :3, :3].T
        linear[i], angular[i] = columns[0], back @ columns[1]
        speed[i], gain[i] = velocity, acceleration
        spin[i], spin_gain[i] = back @ omega, back @ alpha
        base = frames[i]
    return ArmMotion(frames, linear, angular, speed, gain, spin, spin_gain)


def _cross_matrix(vector: Array) -> Array:
    x, y, z = vector
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
