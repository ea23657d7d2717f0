"""Quantities of running episodes from which tasks compute progress, success and observations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from softgrasp.mechanics.transforms import Array

TOUCH = 0.05
"""Normal force from which on a body of the hand counts as touching [N]."""


@dataclass(eq=False)
class Features:
    """Noise-free quantities of n episodes, world frame where no other is named."""

    joint: Array
    """Positions of hand, wrist and further actuated joints, (n, nj) [rad or m]."""
    target: Array
    """Targets of the actuators, scaled to −1…1 between their limits, (n, nu)."""
    force: Array
    """Normal force of each body of the hand on the object, (n, nb) [N]."""
    object: Array
    """Position of the object, (n, 3) [m]."""
    palm: Array
    """Position of the palm, or of the tip of an arm, (n, 3) [m]."""
    relative: Array
    """Position of the object in the palm frame, (n, 3) [m]."""
    rotation: Array
    """Quaternion (w, x, y, z) of the object in the palm frame, (n, 4)."""
    velocity: Array
    """Velocity of the object in the palm frame, (n, 3) [m/s]."""
    extra: Array
    """Further positions that the task observes, (n, ne) [m or rad]."""
    goal: Array
    """Goal of the episode, (n, ng)."""
    start: Array
    """Position of the object at the start of the episode, (n, 3) [m]."""
    start_rotation: Array
    """Quaternion of the object in the palm frame at the start, (n, 4)."""
    decision: NDArray[np.int64]
    """Number of decisions so far, (n,)."""
    fingers: Array
    """Whether each finger touches the object, (n, nf) of 0 and 1."""

    @property
    def height(self) -> Array:
        """Height of the object above its start, (n,) [m]."""
        return self.object[:, 2] - self.start[:, 2]

    @property
    def angle(self) -> Array:
        """Rotation of the object about y of the palm since the start, (n,) [rad]."""
        return 2.0 * np.arctan2(
            *(_relative(self.rotation, self.start_rotation)[:, index] for index in (2, 0))
        )


def _relative(quaternions: Array, before: Array) -> Array:
    """Return the rotations q·q₀⁻¹ with w ≥ 0, (n, 4)."""
    w, x, y, z = quaternions.T
    a, b, c, d = (before * [1.0, -1.0, -1.0, -1.0]).T
    product = np.stack(
        [
            w * a - x * b - y * c - z * d,
            w * b + x * a + y * d - z * c,
            w * c - x * d + y * a + z * b,
            w * d + x * c - y * b + z * a,
        ],
        axis=1,
    )
    return np.where(product[:, :1] < 0.0, -product, product)
