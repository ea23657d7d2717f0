"""The hand with the wrist or the arm that carries it; a sweep has one for all its grasps."""

from __future__ import annotations

from functools import lru_cache

import mujoco

from softgrasp.build.arm import add_arm, add_arm_servos
from softgrasp.build.hand import Actuation, add_hand
from softgrasp.build.names import hand_body
from softgrasp.build.wrist import add_wrist
from softgrasp.description.arm import Arm
from softgrasp.description.hand import Hand
from softgrasp.description.pose import Pose
from softgrasp.description.surroundings import Lift


@lru_cache(maxsize=8)
def carried_hand(
    hand: Hand, pose: Pose, actuation: Actuation, arm: Arm | None, lift: Lift | None
) -> tuple[mujoco.MjSpec, tuple[str, ...]]:
    """The hand with what carries it, to be copied, and its bodies that can touch.

    A sweep asks for the same one with every grasp.
    """
    spec = mujoco.MjSpec()
    spec.compiler.degree = False
    if arm is None:
        bodies = add_hand(spec, hand, pose, actuation)
        if lift is not None:
            add_wrist(
                spec, hand_body(hand), pose, lift.height, prescribed=actuation == "prescribed"
            )
        return spec, tuple(bodies)
    flange, pose = add_arm(spec, arm, pose, actuation)
    bodies = add_hand(spec, hand, pose, actuation, flange)
    add_arm_servos(spec, arm, actuation)
    return spec, tuple(bodies)
