"""The hand with the wrist or the arm that carries it; a sweep has one for all its grasps."""

from __future__ import annotations

from functools import lru_cache

import mujoco

from softgrasp.build.arm import add_arm, add_arm_servos
from softgrasp.build.hand import Actuation, add_hand
from softgrasp.build.hydraulic_carrier import add_chambers, add_hydraulic_arm, load_with
from softgrasp.build.mechanism import add_mechanism
from softgrasp.build.names import hand_body
from softgrasp.build.wrist import add_free_wrist, add_wrist
from softgrasp.description.arm import Arm
from softgrasp.description.hydraulic_carrier import HydraulicCarrier
from softgrasp.description.mechanism import Mechanism
from softgrasp.description.pose import Pose
from softgrasp.description.surroundings import Lift


@lru_cache(maxsize=8)
def carried_hand(
    mechanism: Mechanism,
    pose: Pose,
    actuation: Actuation,
    arm: Arm | HydraulicCarrier | None,
    lift: Lift | None,
    on_wrist: bool,
    base: Pose | None = None,
) -> tuple[mujoco.MjSpec, tuple[str, ...]]:
    """The hand with what carries it, to be copied, and its bodies that can touch.

    A sweep asks for the same one with every grasp. The base is that of a hydraulic arm at rest,
    whose hand is then where it is.
    """
    if isinstance(arm, HydraulicCarrier):
        return hand_on_arm(mechanism, arm, base or Pose())
    spec = mujoco.MjSpec()
    spec.compiler.degree = False
    if arm is None:
        bodies = add_hand(spec, mechanism.hand, pose, actuation)
        add_mechanism(spec, mechanism)
        palm, prescribed = hand_body(mechanism.hand), actuation == "prescribed"
        if on_wrist:
            add_free_wrist(spec, palm, pose, prescribed=prescribed)
        elif lift is not None:
            add_wrist(spec, palm, pose, lift.height, prescribed=prescribed)
        return spec, tuple(bodies)
    flange, pose = add_arm(spec, arm, pose, actuation)
    bodies = add_hand(spec, mechanism.hand, pose, actuation, flange)
    add_mechanism(spec, mechanism)
    add_arm_servos(spec, arm, actuation)
    return spec, tuple(bodies)


def hand_on_arm(
    mechanism: Mechanism, carrier: HydraulicCarrier, base: Pose
) -> tuple[mujoco.MjSpec, tuple[str, ...]]:
    """The hand on a hydraulic arm whose base is there, and its bodies that can touch."""
    spec = mujoco.MjSpec()
    spec.compiler.degree = False
    end, pose = add_hydraulic_arm(spec, carrier, base)
    bodies = add_hand(spec, mechanism.hand, pose, "servo", end)
    add_mechanism(spec, mechanism)
    add_chambers(spec, carrier)
    load_with(spec, carrier, hand_body(mechanism.hand))
    return spec, tuple(bodies)
