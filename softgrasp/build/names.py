"""Names of everything in a generated model, in one place."""

from __future__ import annotations

from softgrasp.description.hand import Hand
from softgrasp.description.scene import GraspScene
from softgrasp.description.soft_digit import SoftDigit
from softgrasp.description.soft_finger import Freedom, SoftFinger
from softgrasp.formats.mjcf.read import BASE

OBJECT = "object"
PALM = "palm"
TABLE = "table"
ARM = "arm"
WRIST = "wrist"
"""Joint, and its actuator, that lifts the hand."""
MODEL_BASE = BASE
"""Body that carries a hand's own model; its palm is one of its own bodies."""
START = "start"
"""Keyframe 0: the state from which the hand closes."""


def arm_body(link: str) -> str:
    """Body of a link of the arm: ``arm_L2``."""
    return f"{ARM}_{link}"


def arm_joint(joint_name: str) -> str:
    """Joint of the arm, and its actuator: ``arm_J2``."""
    return f"{ARM}_{joint_name}"


def soft_link(finger: str, index: int) -> str:
    """Body, and geom, of a soft finger's link, ``L0`` at the palm: ``F1_L0``."""
    return f"{finger}_L{index}"


def tip_site(finger: str) -> str:
    """Site at the fingertip: ``F1_tip``."""
    return f"{finger}_tip"


def coupling(joint: str) -> str:
    """Equality that makes a joint follow another: ``F1_J3_follows``."""
    return f"{joint}_follows"


def contact_sensor(body: str) -> str:
    """Sensor of the contact forces between a body of the hand and the object."""
    return f"{body}_contact"


def hand_body(hand: Hand) -> str:
    """The body whose frame is the hand's: the palm, or what carries an attached model."""
    return PALM if hand.model is None else MODEL_BASE


def joint_names(hand: Hand) -> list[str]:
    """All joints, finger by finger, those of the soft fingers last."""
    rigid = [finger.joint_of(row) for finger in hand.fingers for row in finger.phalanges]
    return rigid + [name for digit in hand.soft_fingers for name in soft_joint_names(digit)]


def soft_joint_names(digit: SoftDigit, only: Freedom | None = None) -> list[str]:
    """The joints of a soft finger: ``F1_J1``, or as ``finger_joint_names`` calls them."""
    return [f"{digit.name}_{own}" for own in finger_joint_names(digit.finger, only)]


def finger_joint_names(finger: SoftFinger, only: Freedom | None = None) -> list[str]:
    """The coordinates of a soft finger that belongs to no hand, or those of one kind.

    ``J1`` bends in the plane, ``J1y`` and ``J1z`` those of a spatial finger, ``J1t`` twists, and
    ``J1s`` stretches.
    """
    ends = {"y": "" if finger.planar else "y", "z": "z", "twist": "t", "stretch": "s"}
    wanted = [one for one in finger.freedoms if only in (None, one[1])]
    return [f"J{place + 1}{ends[freedom]}" for place, freedom in wanted]


def carrier_joints(scene: GraspScene) -> list[str]:
    """Joints, and their actuators, of what carries the hand: an arm, or a wrist that lifts."""
    if scene.arm is not None:
        return [arm_joint(row.joint_name) for row in scene.arm.chain.phalanges]
    return [WRIST] if scene.lift is not None else []


def scene_joints(scene: GraspScene) -> list[str]:
    """All joints that a run records: the hand's, then those of what carries it."""
    return joint_names(scene.hand) + carrier_joints(scene)


def scene_drives(scene: GraspScene) -> list[str]:
    """All actuators of a scene in the order of their targets: the hand's, then the carrier's."""
    return [drive.name for drive in scene.drives] + carrier_joints(scene)


def parts(hand: Hand) -> dict[str, tuple[str, str]]:
    """(finger, phalanx or soft link) of every body that can touch, the palm left out."""
    found = {
        body: (finger.name, body.removeprefix(f"{finger.name}_") if row.bodies else row.name)
        for finger in hand.fingers
        for row in finger.phalanges
        for body in finger.bodies_of(row)
    }
    for digit in hand.soft_fingers:
        for index in range(len(digit.finger.links)):
            found[soft_link(digit.name, index)] = (digit.name, f"L{index}")
    return found
