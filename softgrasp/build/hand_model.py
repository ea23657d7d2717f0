"""A hand alone as a MuJoCo model, to look at or to use elsewhere."""

from __future__ import annotations

import mujoco

from softgrasp.build import names
from softgrasp.build.compiling import compiled
from softgrasp.build.hand import add_hand
from softgrasp.build.visual import FLOOR_GAP, add_visuals
from softgrasp.description.hand import Hand
from softgrasp.description.pose import Pose
from softgrasp.mechanics.dh import forward_kinematics


def build_hand_spec(hand: Hand) -> mujoco.MjSpec:
    """The hand with its position servos, without an object; keyframe 0 is its start posture."""
    spec = mujoco.MjSpec()
    spec.modelname = hand.name
    spec.compiler.degree = False
    add_hand(spec, hand, Pose(), "servo")
    rigid = [row.start for row in hand.joints]
    bent = [0.0] * (len(names.joint_names(hand)) - len(rigid))
    start = [drive.start for drive in hand.drives]
    spec.add_key(name=names.START, qpos=rigid + bent, ctrl=start)
    lowest = [
        float(forward_kinematics(finger, [0.0] * len(finger.phalanges))[:, 2, 3].min())
        for finger in hand.fingers
    ]
    lowest += [digit.base.position[2] - digit.length for digit in hand.soft_fingers]
    add_visuals(spec, min(lowest) - FLOOR_GAP)
    return spec


def hand_to_mjcf(hand: Hand) -> str:
    """The hand alone as MJCF text.

    Raises:
        BuildError: MuJoCo refuses the hand.
    """
    spec = build_hand_spec(hand)
    compiled(spec, hand.name)
    return str(spec.to_xml())
