"""Names of the bodies, joints, actuators, sensors and keyframes of generated models."""

from __future__ import annotations

import re

from softgrasp.description.arm import HandCarrier
from softgrasp.description.hand import Hand
from softgrasp.description.scene import GraspScene
from softgrasp.description.soft_finger import Freedom, MountedSoftFinger, SoftFinger
from softgrasp.io.mjcf.model import BASE
from softgrasp.model.hand_carrier import carrier_model

OBJECT = "object"
"""Body of the object to be grasped; further ones are ``object2``, ``object3`` and so on."""
PALM = "palm"
ARM = "arm"
"""Base body of an arm; the names of all its other elements begin with it."""
TABLE = "table"
WRIST = "wrist"
"""Joint, and its actuator, that lifts the hand."""
WRIST_JOINTS = ("wrist_x", "wrist_y", "wrist_z", "wrist_turn_z", "wrist_turn_y", "wrist_turn_x")
"""Joints, and their actuators, of a wrist that moves through a sequence, from the world on."""
MODEL_BASE = BASE
"""Body that carries an attached hand model, whose palm is one of its bodies."""
START = "start"
"""Keyframe 0: the state from which the hand closes."""
_OBJECT = re.compile(rf"{OBJECT}\d*")
_SURROUNDING = re.compile(r"(table|wall|block)\d*")


def object_body(index: int) -> str:
    """Return the body name of an object: ``object`` for the first one, ``object2`` for the next."""
    return _count(OBJECT, index)


def object_bodies(scene: GraspScene) -> list[str]:
    """Return the body names of all objects, the object to be grasped first."""
    return [object_body(index) for index in range(1 + len(scene.objects))]


def surrounding_bodies(scene: GraspScene) -> list[str]:
    """Return the body and geom names of surroundings, such as ``table``, ``wall`` and ``wall2``."""
    kinds = [part.type for part in scene.surroundings]
    return [_count(kind, kinds[:index].count(kind)) for index, kind in enumerate(kinds)]


def display_names(scene: GraspScene) -> dict[str, str]:
    """Map the bodies of objects and surroundings to their names in the scene."""
    objects = zip(object_bodies(scene), scene.object_names, strict=True)
    return dict([*objects, *zip(surrounding_bodies(scene), scene.surrounding_names, strict=True)])


def is_object(body: str) -> bool:
    """Whether a body is that of an object."""
    return _OBJECT.fullmatch(body) is not None


def is_around(body: str) -> bool:
    """Return whether a body is one of the surroundings."""
    return _SURROUNDING.fullmatch(body) is not None


def object_joints(body: str) -> tuple[str, str, str]:
    """Return the joint names of a planar object: along x and z of the world, and about y."""
    return (f"{body}_x", f"{body}_z", f"{body}_turn")


def _count(word: str, index: int) -> str:
    """Append a number to a name from the second occurrence on."""
    return word if index == 0 else f"{word}{index + 1}"


def arm_body(link: str) -> str:
    """Return the body name of a link of the arm, such as ``arm_L2``."""
    return f"{ARM}_{link}"


def arm_joint(joint_name: str) -> str:
    """Return the name of an arm joint and its actuator, such as ``arm_J2``."""
    return f"{ARM}_{joint_name}"


def soft_link(finger: str, index: int) -> str:
    """Return the body and geom name of a link of a soft finger, such as ``F1_L0`` at the palm."""
    return f"{finger}_L{index}"


def tip_site(finger: str) -> str:
    """Return the site name at the fingertip, such as ``F1_tip``."""
    return f"{finger}_tip"


def coupling(joint: str) -> str:
    """Return the name of the equality of a coupled joint, such as ``F1_J3_follows``."""
    return f"{joint}_follows"


def contact_sensor(body: str, index: int = 0) -> str:
    """Return the name of the sensor of contact forces between a body of the hand and an object."""
    return _count(f"{body}_contact", index)


def sensor_site(sensor: str) -> str:
    """Return the site name of a force and torque sensor, such as ``sensor_wrist``."""
    return f"sensor_{sensor}"


def sensor_part(sensor: str, part: str) -> str:
    """Return the name of the force or torque part of a sensor, such as ``sensor_wrist_force``."""
    return f"sensor_{sensor}_{part}"


def hand_body(hand: Hand) -> str:
    """Return the body name of the hand frame: the palm, or the carrier of an attached model."""
    return PALM if hand.model is None else MODEL_BASE


def joint_names(hand: Hand) -> list[str]:
    """Return the names of all joints of a hand, finger by finger, soft fingers last."""
    rigid = [finger.joint_of(row) for finger in hand.fingers for row in finger.phalanges]
    return rigid + [name for digit in hand.soft_fingers for name in soft_joint_names(digit)]


def soft_joint_names(digit: MountedSoftFinger, only: Freedom | None = None) -> list[str]:
    """Return the joint names of a soft finger: finger name and one of ``finger_joint_names``."""
    return [f"{digit.name}_{joint_name}" for joint_name in finger_joint_names(digit.finger, only)]


def finger_joint_names(finger: SoftFinger, only: Freedom | None = None) -> list[str]:
    """Return the joint names of a soft finger outside a hand, or those of one kind.

    ``J1`` bends a planar finger, ``J1y`` and ``J1z`` bend a spatial one, ``J1t`` twists and ``J1s``
    stretches.
    """
    ends = {"y": "" if finger.planar else "y", "z": "z", "twist": "t", "stretch": "s"}
    freedoms = [item for item in finger.freedoms if only in (None, item[1])]
    return [f"J{index + 1}{ends[freedom]}" for index, freedom in freedoms]


def carrier_joints(scene: GraspScene) -> list[str]:
    """Return the joint names of the carrier of the hand: an arm or a wrist."""
    if isinstance(scene.arm, HandCarrier):
        return carrier_model(scene.arm).joints()
    if scene.arm is not None:
        return [arm_joint(row.joint_name) for row in scene.arm.chain.phalanges]
    if scene.on_wrist:
        return list(WRIST_JOINTS)
    return [WRIST] if scene.lift is not None else []


def carrier_actuators(scene: GraspScene) -> list[str]:
    """Return the actuator names of the carrier: its joint names, except if it is compliant."""
    if isinstance(scene.arm, HandCarrier):
        return carrier_model(scene.arm).actuators()
    return carrier_joints(scene)


def scene_joints(scene: GraspScene) -> list[str]:
    """Return the names of all recorded joints: hand, sliders, then carrier."""
    sliders = [slider.name for slider in scene.mechanism.sliders]
    return joint_names(scene.hand) + sliders + carrier_joints(scene)


def scene_actuators(scene: GraspScene) -> list[str]:
    """Return all actuator names of a scene in the order of their targets: hand, then carrier."""
    return [actuator.name for actuator in scene.actuators] + carrier_actuators(scene)


def parts(hand: Hand) -> dict[str, tuple[str, str]]:
    """Map every body that can touch, except the palm, to (finger, phalanx or soft link)."""
    parts_by_name = {
        body: (finger.name, body.removeprefix(f"{finger.name}_") if row.bodies else row.name)
        for finger in hand.fingers
        for row in finger.phalanges
        for body in finger.bodies_of(row)
    }
    for digit in hand.soft_fingers:
        for index in range(len(digit.finger.links)):
            parts_by_name[soft_link(digit.name, index)] = (digit.name, f"L{index}")
    return parts_by_name


def scene_label(scene: GraspScene) -> str:
    """Return hand and object names for messages of the compiler."""
    placed = (scene.object, *(placed.object for placed in scene.objects))
    objects = " and ".join(described.name for described in placed)
    return f"{scene.hand.name} with {objects}"
