"""Joints of a compiled model → HingeJoint and SliderJoint nodes."""

from __future__ import annotations

import math
from collections.abc import Sequence

import mujoco

from softgrasp.build.webots.frames import Frame, vector
from softgrasp.build.webots.joint_laws import JointLaw
from softgrasp.formats.wbt.node import Node, Value

MAX_TORQUE = 1e6
"""What a motor may give [N·m or N]: the limits of servos are kept by the controller, as Webots
would clip the damping of the rotor with the torque. The controller takes hold of every motor before
the first step; untouched ones would keep their joints where they are."""
MAX_SPEED = 1e4
"""[rad/s or m/s]"""


def joint_node(
    model: mujoco.MjModel,
    start: mujoco.MjData,
    law: JointLaw,
    parent: Frame,
    end: Node,
    *,
    devices: bool,
) -> Node:
    """A joint between two solids.

    Args:
        model: The compiled scene.
        start: Its state at the start, whose poses the solids have in the file.
        law: Of the joint.
        parent: Frame of the solid that carries it; axis and anchor are seen from there.
        end: The solid that it moves.
        devices: Whether it belongs to a robot, so that it has a sensor, and a motor if driven.
    """
    joint = model.joint(law.name).id
    parameters: dict[str, Value] = {"axis": vector(parent.rotation.T @ start.xaxis[joint])}
    if not law.slides:
        anchor = parent.rotation.T @ (start.xanchor[joint] - parent.position)
        parameters["anchor"] = vector(anchor)
    if law.start != law.zero:
        parameters["position"] = law.start - law.zero
    stops = _stops(law)
    if stops is not None:
        parameters["minStop"], parameters["maxStop"] = stops
    if law.spring:
        parameters["springConstant"] = law.spring
    if law.damper:
        parameters["dampingConstant"] = law.damper
    kind, parameters_type = ("SliderJoint", "Joint") if law.slides else ("HingeJoint", "HingeJoint")
    return Node(
        kind,
        {
            "jointParameters": Node(f"{parameters_type}Parameters", parameters),
            "device": _devices(law) if devices else [],
            "endPoint": end,
        },
    )


def motor_name(joint: str) -> str:
    """The motor of a joint."""
    return f"{joint}_motor"


def sensor_name(joint: str) -> str:
    """The position sensor of a joint."""
    return f"{joint}_position"


def law_remarks(laws: Sequence[JointLaw]) -> tuple[str, ...]:
    """What the joints of a world do otherwise than those of the model."""
    remarks = []
    over = [law for law in laws if law.excess > 0.0]
    if over:
        worst = max(over, key=lambda law: law.excess / law.spring)
        remarks.append(
            f"springs of {len(over)} joints damp more than they should, most that of {worst.name} "
            f"by {worst.excess:.2g} N·m·s/rad: Webots takes springs implicitly, and at this time "
            "step that alone is more; where they come to rest is not changed"
        )
    free = [law.name for law in laws if law.limits is not None and _stops(law) is None]
    if free:
        remarks.append(
            f"limits of {', '.join(free)} are left to the targets: stops of Webots reach half a "
            "turn to either side of the start"
        )
    return tuple(remarks)


def _stops(law: JointLaw) -> tuple[float, float] | None:
    """Stops from the zero of Webots; None where it cannot have them."""
    if law.limits is None:
        return None
    low, high = (limit - law.zero for limit in law.limits)
    within = low <= 0.0 <= high
    reach = math.inf if law.slides else math.pi
    return (low, high) if within and -reach <= low < high <= reach else None


def _devices(law: JointLaw) -> list[Value]:
    devices: list[Value] = []
    if law.driven:
        kind, limit_field = (
            ("LinearMotor", "maxForce") if law.slides else ("RotationalMotor", "maxTorque")
        )
        devices.append(
            Node(
                kind,
                {
                    "name": motor_name(law.name),
                    "maxVelocity": MAX_SPEED,
                    limit_field: MAX_TORQUE,
                    "sound": "",  # Webots would look for the file
                },
            )
        )
    devices.append(Node("PositionSensor", {"name": sensor_name(law.name)}))
    return devices
