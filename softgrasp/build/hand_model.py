"""A hand alone as a MuJoCo model, to look at or to use elsewhere."""

from __future__ import annotations

import mujoco
import numpy as np

from softgrasp.build import names
from softgrasp.build.attached_hand import settle
from softgrasp.build.compiling import compiled
from softgrasp.build.hand import add_hand
from softgrasp.build.visual import FLOOR_GAP, add_visuals
from softgrasp.description.geometry import Pose
from softgrasp.description.hand import Hand
from softgrasp.mechanics.hand_kinematics import lowest_point


def build_hand_spec(hand: Hand) -> mujoco.MjSpec:
    """The hand with its position servos, without an object; keyframe 0 is its start posture."""
    spec = mujoco.MjSpec()
    spec.modelname = hand.name
    spec.compiler.degree = False
    add_hand(spec, hand, Pose(), "servo")
    start = [actuator.start for actuator in hand.actuators]
    rigid = hand.posture(start)
    bent = [0.0] * (len(names.joint_names(hand)) - len(rigid))
    if hand.model is None:
        spec.add_key(name=names.START, qpos=[*rigid.values(), *bent], ctrl=start)
    else:
        spec = spec.copy()  # see ``attach``
        spec.add_key(name=names.START, qpos=_settled(spec, hand, rigid), ctrl=start)
    straight = dict.fromkeys(rigid, 0.0)
    lowest = [lowest_point(hand, straight, np.eye(4))] if hand.fingers else []
    lowest += [digit.base.position[2] - digit.length for digit in hand.soft_fingers]
    add_visuals(spec, min(lowest) - FLOOR_GAP)
    return spec


def _settled(spec: mujoco.MjSpec, hand: Hand, joints: dict[str, float]) -> list[float]:
    """``qpos`` of an attached model with its joints where they start."""
    model = compiled(spec, hand.name)
    position = np.array(model.qpos0)
    for name, value in joints.items():
        position[model.joint(name).qposadr[0]] = value
    targets: list[float] = settle(model, hand, position).tolist()
    return targets


def hand_to_mjcf(hand: Hand) -> str:
    """The hand alone as MJCF text.

    Raises:
        BuildError: MuJoCo refuses the hand.
    """
    spec = build_hand_spec(hand)
    compiled(spec, hand.name)
    return str(spec.to_xml())
