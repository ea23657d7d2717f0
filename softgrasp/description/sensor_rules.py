"""What sensors need of their scene; each rule raises a FieldError where it does not fit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from softgrasp.description.problems import FieldError, refuse_twins
from softgrasp.description.sensors import ForceTorqueSensor, JointTorqueSensor, TactileSensor
from softgrasp.errors import did_you_mean

if TYPE_CHECKING:
    from softgrasp.description.hand import Hand
    from softgrasp.description.scene import GraspScene


def sensors_fit(scene: GraspScene) -> None:
    """Refuse sensors on what the hand does not have, and a closure that would feel nothing."""
    names = ((sensor.name, ("sensors", k, "name")) for k, sensor in enumerate(scene.sensors))
    refuse_twins(names, "sensor")
    bodies, joints = known_bodies(scene.hand), rigid_joints(scene.hand)
    for index, sensor in enumerate(scene.sensors):
        if isinstance(sensor, TactileSensor | ForceTorqueSensor):
            _require("body", sensor.body, bodies, ("sensors", index, "body"))
        if isinstance(sensor, JointTorqueSensor):
            _fits_joints(scene, sensor, joints, index)
    tactile = any(isinstance(sensor, TactileSensor) for sensor in scene.sensors)
    if scene.closure.sense == "sensor" and not tactile:
        raise FieldError(
            "expected a tactile sensor in the scene (sensors), by which the closure can sense, "
            "found none",
            "closure",
            "sense",
        )


def _fits_joints(
    scene: GraspScene, sensor: JointTorqueSensor, joints: list[str], index: int
) -> None:
    if not joints:
        raise FieldError(
            f"expected a hand with rigid joints, found '{scene.hand.name}' without",
            "sensors",
            index,
        )
    if scene.actuation == "prescribed":
        raise FieldError(
            "expected 'servo' for a sensor of joint torques, found 'prescribed', whose joints have "
            "no servo that could tell",
            "actuation",
        )
    for place, joint in enumerate(sensor.joints):
        _require("joint", joint, joints, ("sensors", index, "joints", place))


def known_bodies(hand: Hand) -> list[str]:
    """Bodies of a hand that a sensor can sit on, the palm first."""
    return ["palm", *(body for finger in _fingers(hand) for body in finger)]


def fingertips(hand: Hand) -> list[str]:
    """The last body of each finger."""
    return [finger[-1] for finger in _fingers(hand)]


def _fingers(hand: Hand) -> list[list[str]]:
    rigid = [
        [
            f"{finger.name}_{row.name}"
            for row, body in zip(finger.phalanges, finger.has_body, strict=True)
            if body
        ]
        for finger in hand.fingers
    ]
    soft = [[f"{f.name}_L{k}" for k in range(len(f.finger.links))] for f in hand.soft_fingers]
    return rigid + soft


def rigid_joints(hand: Hand) -> list[str]:
    """Joints of a hand that have servos."""
    return [f"{f.name}_{row.joint_name}" for f in hand.fingers for row in f.phalanges]


def _require(what: str, name: str, known: list[str], path: tuple[str | int, ...]) -> None:
    if name not in known:
        raise FieldError(f"no {what} '{name}' in the hand; {did_you_mean(name, known)}", *path)
