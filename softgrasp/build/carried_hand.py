"""The hand with the wrist or the arm that carries it; a sweep has one for all its grasps."""

from __future__ import annotations

from functools import lru_cache

import mujoco

from softgrasp.build.arm import add_arm, add_arm_servos
from softgrasp.build.carrier_model import carrier_model
from softgrasp.build.hand import Actuation, add_hand
from softgrasp.build.mechanism import add_mechanism
from softgrasp.build.names import hand_body
from softgrasp.build.wrist import add_free_wrist, add_wrist
from softgrasp.description.arm import Arm, HandCarrier
from softgrasp.description.closure_base import ActuationModel
from softgrasp.description.geometry import Pose
from softgrasp.description.object import Lift
from softgrasp.description.scene import GraspScene


@lru_cache(maxsize=8)
def carried_hand(
    mechanism: ActuationModel,
    pose: Pose,
    actuation: Actuation,
    arm: Arm | HandCarrier | None,
    lift: Lift | None,
    on_wrist: bool,
    base: Pose | None = None,
) -> tuple[mujoco.MjSpec, tuple[str, ...]]:
    """The hand with what carries it, to be copied, and its bodies that can touch.

    A sweep asks for the same one with every grasp. The base is that of a compliant carrier at
    rest, whose hand is then where it is.
    """
    if isinstance(arm, HandCarrier):
        return carrier_model(arm).with_hand(mechanism, base or Pose())
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


def hand_posture(scene: GraspScene, targets: tuple[float, ...] | list[float]) -> dict[str, float]:
    """Joints of the hand, and sliders, with the drives at their targets, (nd,)."""
    sliders = {slider.name for slider in scene.mechanism.sliders}
    slid = {
        actuator.name: actuator.start for actuator in scene.actuators if actuator.name in sliders
    }
    # where a closure moves joints otherwise than by their servos, no phase moves them before it
    hand_targets = (
        scene.closing_motion.start if scene.mechanism.actuators else targets[: len(scene.actuators)]
    )
    return scene.hand.posture(hand_targets) | slid
