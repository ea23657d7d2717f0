"""Names of everything in a generated model, in one place."""

from __future__ import annotations

from collections.abc import Iterator

from softgrasp.description.hand import Hand
from softgrasp.description.scene import GraspScene
from softgrasp.description.soft_digit import SoftDigit
from softgrasp.description.soft_finger import Freedom, SoftFinger

OBJECT = "object"
PALM = "palm"
TABLE = "table"
ARM = "arm"
WRIST = "wrist"
"""Joint, and its actuator, that lifts the hand."""
START = "start"
"""Keyframe 0: the state from which the hand closes."""


def phalanx_body(finger: str, phalanx: str) -> str:
    """Body, and first geom, of a phalanx: ``F1_P2``."""
    return f"{finger}_{phalanx}"


def joint(finger: str, joint_name: str) -> str:
    """Joint, and its actuator: ``F1_J2``."""
    return f"{finger}_{joint_name}"


def soft_link(finger: str, index: int) -> str:
    """Body, and geom, of a soft finger's link, ``L0`` at the palm: ``F1_L0``."""
    return f"{finger}_L{index}"


def pressure(finger: str) -> str:
    """Tendon and actuator that put a soft finger under pressure: ``F1_pressure``."""
    return f"{finger}_pressure"


def tip_site(finger: str) -> str:
    """Site at the fingertip: ``F1_tip``."""
    return f"{finger}_tip"


def contact_sensor(body: str) -> str:
    """Sensor of the contact forces between a body of the hand and the object."""
    return f"{body}_contact"


def sensor_site(sensor: str) -> str:
    """Frame of a force and torque sensor: ``sensor_wrist``."""
    return f"sensor_{sensor}"


def sensor_part(sensor: str, part: str) -> str:
    """Force, or torque, of a force and torque sensor: ``sensor_wrist_force``."""
    return f"sensor_{sensor}_{part}"


def joint_names(hand: Hand) -> list[str]:
    """All joints, finger by finger, those of the soft fingers last."""
    rigid = [joint(f.name, row.joint_name) for f in hand.fingers for row in f.phalanges]
    return rigid + [name for digit in hand.soft_fingers for name in soft_joint_names(digit)]


def soft_joint_names(digit: SoftDigit, only: Freedom | None = None) -> list[str]:
    """The joints of a soft finger: ``F1_J1``, or as ``finger_joint_names`` calls them."""
    return [joint(digit.name, own) for own in finger_joint_names(digit.finger, only)]


def finger_joint_names(finger: SoftFinger, only: Freedom | None = None) -> list[str]:
    """The coordinates of a soft finger that belongs to no hand, or those of one kind.

    ``J1`` bends in the plane, ``J1y`` and ``J1z`` those of a spatial finger, ``J1t`` twists, and
    ``J1s`` stretches.
    """
    ends = {"y": "" if finger.planar else "y", "z": "z", "twist": "t", "stretch": "s"}
    wanted = [one for one in finger.freedoms if only in (None, one[1])]
    return [f"J{place + 1}{ends[freedom]}" for place, freedom in wanted]


def drive_names(hand: Hand) -> list[str]:
    """The actuators of a hand in the order of its drives."""
    rigid = [joint(f.name, row.joint_name) for f in hand.fingers for row in f.phalanges]
    return rigid + [pressure(digit.name) for digit in hand.soft_fingers]


def carrier_joints(scene: GraspScene) -> list[str]:
    """Joints, and their actuators, of what carries the hand: an arm, or a wrist that lifts."""
    if scene.arm is not None:
        return [joint(ARM, row.joint_name) for row in scene.arm.chain.phalanges]
    return [WRIST] if scene.lift is not None else []


def scene_joints(scene: GraspScene) -> list[str]:
    """All joints that a run records: the hand's, then those of what carries it."""
    return joint_names(scene.hand) + carrier_joints(scene)


def scene_drives(scene: GraspScene) -> list[str]:
    """All actuators of a scene in the order of their targets: the hand's, then the carrier's."""
    return drive_names(scene.hand) + carrier_joints(scene)


def phalanges(hand: Hand) -> Iterator[tuple[str, str, str, int]]:
    """(body, finger, phalanx, drive index) of every phalanx that has a body."""
    index = 0
    for finger in hand.fingers:
        for row, body in zip(finger.phalanges, finger.has_body, strict=True):
            if body:
                yield phalanx_body(finger.name, row.name), finger.name, row.name, index
            index += 1


def parts(hand: Hand) -> dict[str, tuple[str, str]]:
    """(finger, phalanx or soft link) of every body that can touch, the palm left out."""
    found = {body: (finger, phalanx) for body, finger, phalanx, _ in phalanges(hand)}
    for digit in hand.soft_fingers:
        for index in range(len(digit.finger.links)):
            found[soft_link(digit.name, index)] = (digit.name, f"L{index}")
    return found
