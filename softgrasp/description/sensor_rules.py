"""What sensors need of the hand and of the rest of their scene."""

from __future__ import annotations

from softgrasp.description.hand import Hand
from softgrasp.description.problems import FieldError, refuse_twins
from softgrasp.description.sensors import (
    AnySensor,
    ForceTorqueSensor,
    JointTorqueSensor,
    TactileSensor,
)
from softgrasp.errors import did_you_mean


def require_fitting_sensors(
    sensors: tuple[AnySensor, ...], hand: Hand, *, servos: bool, sensing_closure: bool
) -> None:
    """Refuse sensors on what the hand does not have, and a closure that would feel nothing.

    Args:
        sensors: Of a scene.
        hand: Its hand.
        servos: Whether servos drive the joints.
        sensing_closure: Whether the closure judges contact by tactile sensors.

    Raises:
        FieldError: Something does not fit.
    """
    names = ((sensor.name, ("sensors", k, "name")) for k, sensor in enumerate(sensors))
    refuse_twins(names, "sensor")
    bodies, joints = known_bodies(hand), servo_joints(hand)
    for index, sensor in enumerate(sensors):
        if isinstance(sensor, TactileSensor | ForceTorqueSensor):
            _require("body", sensor.body, bodies, ("sensors", index, "body"))
        if isinstance(sensor, JointTorqueSensor):
            _require_joints(sensor, hand, joints, index, servos=servos)
    if sensing_closure and not any(isinstance(sensor, TactileSensor) for sensor in sensors):
        raise FieldError(
            "expected a tactile sensor in the scene (sensors), by which the closure can sense, "
            "found none",
            "closure",
            "sense",
        )


def _require_joints(
    sensor: JointTorqueSensor, hand: Hand, joints: list[str], index: int, *, servos: bool
) -> None:
    if not joints:
        raise FieldError(
            f"expected a hand with rigid joints, found '{hand.name}' without",
            "sensors",
            index,
        )
    if not servos:
        raise FieldError(
            "expected 'servo' for a sensor of joint torques, found 'prescribed', whose joints have "
            "no servo that could tell",
            "actuation",
        )
    for position_index, joint in enumerate(sensor.joints):
        _require("joint", joint, joints, ("sensors", index, "joints", position_index))


def known_bodies(hand: Hand) -> list[str]:
    """Bodies of a hand that a sensor can sit on, the palm first."""
    palms = ["palm", *(palm.name for palm in hand.more_palms)]
    return [*palms, *(body for finger in _fingers(hand) for body in finger)]


def fingertips(hand: Hand) -> list[str]:
    """The last body of each finger."""
    return [finger[-1] for finger in _fingers(hand)]


def _fingers(hand: Hand) -> list[list[str]]:
    rigid = [
        [
            finger.body_of(row)
            for row, body in zip(finger.phalanges, finger.has_body, strict=True)
            if body
        ]
        for finger in hand.fingers
    ]
    soft = [[f"{f.name}_L{k}" for k in range(len(f.finger.links))] for f in hand.soft_fingers]
    return rigid + soft


def servo_joints(hand: Hand) -> list[str]:
    """Joints of a hand that have servos, as those that follow others have none."""
    return [actuator.joint for actuator in hand.actuators if actuator.joint is not None]


def _require(what: str, name: str, known: list[str], path: tuple[str | int, ...]) -> None:
    if name not in known:
        raise FieldError(f"no {what} '{name}' in the hand; {did_you_mean(name, known)}", *path)
