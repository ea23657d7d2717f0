"""Rules of joints: their parts, positions, stops and motors."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator

from softgrasp.formats.wbt.access import number, text, vector
from softgrasp.formats.wbt.node import Node
from softgrasp.formats.wbt.places import JOINTS
from softgrasp.formats.wbt.rules.complaint import Complaint, above, of_type
from softgrasp.formats.wbt.world import World

PARAMETERS = ("HingeJointParameters", "JointParameters")
MOTORS = {"RotationalMotor": "maxTorque", "LinearMotor": "maxForce"}
_KINDS = {"RotationalMotor": "motor", "LinearMotor": "motor"}


def joints_are_whole(world: World) -> Iterator[Complaint]:
    """A joint has parameters and an end."""
    for joint in of_type(world, *JOINTS):
        for key in ("jointParameters", "endPoint"):
            if joint.node(key) is None:
                yield joint, f"{joint.type}.{key}: expected a node, found none"


def joints_have_one_device_a_kind(world: World) -> Iterator[Complaint]:
    """A joint has at most one motor, one sensor and one brake."""
    for joint in of_type(world, *JOINTS):
        counts = Counter(_KINDS.get(node.type, node.type) for node in joint.nodes("device"))
        for kind, count in counts.items():
            if count > 1:
                yield joint, f"{joint.type}.device: expected one {kind}, found {count}"


def driven_solids_have_physics(world: World) -> Iterator[Complaint]:
    """What a motor drives has physics; else the motor would move it without a force."""
    for joint in of_type(world, *JOINTS):
        end = joint.node("endPoint")
        is_driven = any(node.type in MOTORS for node in joint.nodes("device"))
        if is_driven and end is not None and end.node("physics") is None:
            name = text(end, "name")
            yield end, f"expected physics of '{name}', which a motor drives, found none"


def joint_numbers_make_sense(world: World) -> Iterator[Complaint]:
    """Axes point somewhere; springs, dampers and frictions are not negative."""
    for node in of_type(world, *PARAMETERS):
        if not any(vector(node, "axis")):
            yield node, f"{node.type}.axis: expected a direction, found 0 0 0"
        yield from above(node, ["springConstant", "dampingConstant", "staticFriction"])
    for node in of_type(world, *MOTORS):
        yield from above(node, [MOTORS[node.type], "maxVelocity"])


def positions_are_stated_once(world: World) -> Iterator[Complaint]:
    """The hidden position of a joint is the one of its parameters."""
    for joint in of_type(world, *JOINTS):
        parameters = joint.node("jointParameters")
        if "position" not in joint.fields or parameters is None:
            continue
        hidden, stated = number(joint, "position"), number(parameters, "position")
        if hidden != stated:
            where = f"{joint.type}.position"
            yield (
                joint,
                f"{where}: expected jointParameters.position ({stated:g}), found {hidden:g}",
            )


def positions_are_in_the_pose(world: World) -> Iterator[Complaint]:
    """The pose in the file is the one at jointParameters.position, not the one at 0.

    Only the plain case can be seen in the text: an end that is not turned at all.
    """
    for joint in of_type(world, "HingeJoint"):
        parameters, end = joint.node("jointParameters"), joint.node("endPoint")
        if parameters is None or end is None:
            continue
        position = number(parameters, "position")
        if _is_rotated(position) and not _is_rotated(vector(end, "rotation")[3]):
            yield (
                parameters,
                f"HingeJointParameters.position: expected an endPoint that is turned by it "
                f"({position:g} rad), found one that is not turned",
            )


def stops_are_around_zero(world: World) -> Iterator[Complaint]:
    """Stops of a hinge are in [-π, 0] and [0, π], others in order; 0 and 0 are no stops."""
    for node in of_type(world, *PARAMETERS):
        low, high = _range(node, "Stop")
        if node.type == "JointParameters":
            if low > high:
                text = f"{low:g}"
                yield (
                    node,
                    f"{node.type}.minStop: expected at most maxStop ({high:g}), found {text}",
                )
            continue
        if not -math.pi <= low <= 0:
            yield node, f"{node.type}.minStop: expected -pi to 0, found {low:g}"
        if not 0 <= high <= math.pi:
            yield node, f"{node.type}.maxStop: expected 0 to pi, found {high:g}"


def motors_stay_between_the_stops(world: World) -> Iterator[Complaint]:
    """The range of a motor is in order and within the stops of its joint."""
    for joint in of_type(world, *JOINTS):
        parameters = joint.node("jointParameters")
        for motor in joint.nodes("device"):
            if motor.type in MOTORS:
                yield from _motor_range(motor, parameters)


def _motor_range(motor: Node, parameters: Node | None) -> Iterator[Complaint]:
    low, high = _range(motor, "Position")
    if low == high == 0:
        return
    if low > high:
        yield (
            motor,
            f"{motor.type}.minPosition: expected at most maxPosition ({high:g}), found {low:g}",
        )
    low_stop, high_stop = (0.0, 0.0) if parameters is None else _range(parameters, "Stop")
    if low_stop == high_stop == 0:
        return
    if low < low_stop:
        yield (
            motor,
            f"{motor.type}.minPosition: expected at least minStop ({low_stop:g}), found {low:g}",
        )
    if high > high_stop:
        yield (
            motor,
            f"{motor.type}.maxPosition: expected at most maxStop ({high_stop:g}), found {high:g}",
        )


def _range(node: Node, what: str) -> tuple[float, float]:
    return number(node, f"min{what}"), number(node, f"max{what}")


def _is_rotated(angle: float) -> bool:
    return math.remainder(angle, 2 * math.pi) != 0
