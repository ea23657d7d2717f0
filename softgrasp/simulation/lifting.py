"""Where the wrist or the arm has to be while it lifts the hand."""

from __future__ import annotations

import numpy as np

from softgrasp.description.arm import Arm
from softgrasp.description.object import Lift
from softgrasp.description.scene import GraspScene
from softgrasp.mechanics.trajectory import straight_path
from softgrasp.mechanics.transforms import Array, minimum_jerk
from softgrasp.model.arm import arm_base
from softgrasp.model.scene import start_targets


def lift_path(scene: GraspScene, lift: Lift, samples: int) -> Array:
    """Targets of what carries the hand, straight up from rest to rest, (samples, n) [m or rad].

    Raises:
        BuildError: The arm does not reach.
    """
    fractions = minimum_jerk(np.arange(1, samples + 1) / samples)
    if scene.arm is None:
        return np.asarray(lift.height * fractions[:, None])
    assert isinstance(scene.arm, Arm)  # a compliant carrier does not lift
    up = arm_base(scene.arm, scene.hand_pose)[:3, :3].T @ [0.0, 0.0, lift.height]
    start = start_targets(scene)[len(scene.actuators) :]
    return straight_path(scene.arm.chain, start, up, fractions)
