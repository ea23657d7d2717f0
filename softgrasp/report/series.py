"""Time series of a result in the form that figures need."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from softgrasp.build import names
from softgrasp.description.finger import Finger, Phalanx
from softgrasp.description.mechanism import ClosureActuator
from softgrasp.description.soft_digit import MountedSoftFinger
from softgrasp.mechanics.transforms import Array, euler_from_quaternions, relative_quaternions
from softgrasp.simulation.result import GraspResult, column

MAX_POINTS = 2000
"""A curve of a figure has no more points than can be told apart in print."""


def spans(times: Array, on: NDArray[np.bool_]) -> list[tuple[float, float]]:
    """(begin, end) [s] of every stretch in which a signal (T,) is on; it ends where it is off."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], on, [False]]).astype(np.int8)))
    last = len(times) - 1
    return [(float(times[a]), float(times[min(b, last)])) for a, b in edges.reshape(-1, 2).tolist()]


def merged(stretches: list[tuple[float, float]], apart: float) -> list[tuple[float, float]]:
    """The same stretches, those with at most ``apart`` [s] between them as one."""
    merged_spans: list[tuple[float, float]] = []
    for begin, end in stretches:
        if merged_spans and begin - merged_spans[-1][1] <= apart:
            begin = merged_spans.pop()[0]
        merged_spans.append((begin, end))
    return merged_spans


def thinned(times: Array, values: Array) -> tuple[Array, Array]:
    """At most ``MAX_POINTS`` evenly spaced rows of times (T,) and values (T, …), ends kept."""
    rows = np.linspace(0, len(times) - 1, min(len(times), MAX_POINTS)).round().astype(int)
    return times[rows], values[rows]


def peaks(times: Array, values: Array) -> tuple[Array, Array]:
    """At most ``MAX_POINTS`` rows, each the largest of its stretch, of times and values (T,)."""
    chunk = -(-len(times) // MAX_POINTS)
    begins = np.arange(0, len(times), chunk)
    return times[begins], np.maximum.reduceat(values, begins)


def displacement_mm(result: GraspResult, index: int = 0) -> Array:
    """Way of an object's centre since the start, in the world, (T, 3) [mm]."""
    position, _ = result.tracks[index]
    return np.asarray(1e3 * (position - position[0]))


def rotation_deg(result: GraspResult, index: int = 0) -> Array:
    """Turn since the start about (x, y, z) of intrinsic z-y-x, without jumps, (T, 3) [deg]."""
    _, quaternion = result.tracks[index]
    rotations = relative_quaternions(quaternion, quaternion[0])
    return np.asarray(np.degrees(np.unwrap(euler_from_quaternions(rotations), axis=0)))


class ActuatorPanel(NamedTuple):
    """A joint, or the pressure or curvature of a soft finger, as it is shown."""

    title: str
    unit: str
    """What follows a number: ``°``, `` mm``, `` kPa`` or ``/m``."""
    limits: tuple[float, float] | None
    """Lowest and highest value in the unit."""
    values: Array
    """In the unit, (T,)."""
    target: Array | None
    """In the unit, (T,)."""
    phalanx_bodies: list[str]
    """Bodies that it moves first."""
    later: list[str]
    """Bodies that it moves with them."""


def actuator_rows(result: GraspResult) -> Iterator[list[ActuatorPanel]]:
    """The joints of each finger, with the torques that close it, or its pressure and curvature.

    Tendons and synergies come last.
    """
    known = set(result.contact_bodies.tolist())
    for finger in result.scene.hand.fingers:
        bodies = [finger.bodies_of(row) for row in finger.phalanges]
        yield [
            _joint_panel(
                result,
                finger,
                row,
                [body for body in bodies[index] if body in known],
                [body for later in bodies[index + 1 :] for body in later if body in known],
            )
            for index, row in enumerate(finger.phalanges)
        ]
        yield from _torque_row(result, finger)
    if result.scene.hand.model is not None and (numbers := _number_panels(result)):
        yield numbers
    for index, digit in enumerate(result.scene.hand.soft_fingers):
        yield _soft_panels(result, index, digit)
    yield from _wrist_rows(result)
    yield from _mechanism_rows(result)


def _joint_panel(
    result: GraspResult, finger: Finger, row: Phalanx, phalanx_bodies: list[str], later: list[str]
) -> ActuatorPanel:
    unit, factor = ("°", 180.0 / np.pi) if row.joint == "revolute" else (" mm", 1e3)
    low, high = (factor * limit for limit in row.limits)
    name = finger.joint_of(row)
    target, command = None, actuator_of_joint(result, name)
    if command is not None:
        target = factor * result.joint_target[:, column(result.actuator_names, command)]
    values = factor * result.joint_position[:, column(result.joint_names, name)]
    title = (
        row.joint_name
        if finger.verbatim_names
        else f"{finger.name} {row.joint_name}".replace("_", " ")
    )
    return ActuatorPanel(title, unit, (low, high), values, target, phalanx_bodies, later)


def actuator_of_joint(result: GraspResult, joint: str) -> str | None:
    """The actuator whose target is the variable of a joint; None where there is none."""
    return next((d.name for d in result.scene.actuators if d.joint == joint), None)


def _number_panels(result: GraspResult) -> list[ActuatorPanel]:
    """The drives whose targets are no joint's variable, such as those on tendons."""
    return [
        ActuatorPanel(
            title=f"target of {command.name}",
            unit="",
            limits=command.limits,
            values=result.joint_target[:, column(result.actuator_names, command.name)],
            target=None,
            phalanx_bodies=list(command.stops),
            later=[],
        )
        for command in result.scene.actuators
        if command.joint is None and command.unit != "Pa" and command.limits[1] > command.limits[0]
    ]


def _wrist_rows(result: GraspResult) -> Iterator[list[ActuatorPanel]]:
    """Slides, and hinges where they turned, of a wrist that goes through a sequence."""
    known = result.joint_names.tolist()
    for joints in (names.WRIST_JOINTS[:3], names.WRIST_JOINTS[3:]):
        if not set(joints) <= set(known):
            continue
        is_angle = joints != names.WRIST_JOINTS[:3]
        unit, factor = ("°", 180.0 / np.pi) if is_angle else (" mm", 1e3)
        targets = [result.joint_target[:, column(result.actuator_names, name)] for name in joints]
        if is_angle and not any(target.any() for target in targets):
            continue
        values = [result.joint_position[:, column(result.joint_names, name)] for name in joints]
        yield [
            ActuatorPanel(
                name.replace("_", " "), unit, None, factor * value, factor * target, [], []
            )
            for name, value, target in zip(joints, values, targets, strict=True)
        ]


UNITS = {"rad": ("°", 180.0 / np.pi), "m": (" mm", 1e3), "": ("", 1.0)}
"""How the unit of a drive is shown, and its factor; others are shown as they are."""


def _torque_row(result: GraspResult, finger: Finger) -> Iterator[list[ActuatorPanel]]:
    """The torques of a finger's joints, where motors drive them."""
    joints = {finger.joint_of(row) for row in finger.phalanges}
    row = [
        _actuator_panel(result, actuator)
        for actuator in result.scene.mechanism.actuators
        if _is_motor_of_one(actuator) and actuator.arms[0][0] in joints
    ]
    if row:
        yield row


def _mechanism_rows(result: GraspResult) -> Iterator[list[ActuatorPanel]]:
    """Tendons and synergies."""
    panels = [
        _actuator_panel(result, actuator)
        for actuator in result.scene.mechanism.actuators
        if actuator.rate and not _is_motor_of_one(actuator)
    ]
    across = max((len(finger.phalanges) for finger in result.scene.hand.fingers), default=1)
    for first in range(0, len(panels), across):
        yield panels[first : first + across]


def _is_motor_of_one(actuator: ClosureActuator) -> bool:
    return not actuator.stiffness and len(actuator.arms) == 1 and actuator.arms[0][1] == 1.0


def _actuator_panel(result: GraspResult, actuator: ClosureActuator) -> ActuatorPanel:
    """A drive that is no joint: its way where it is a servo, else what it pulls with."""
    command = actuator.actuator
    unit, factor = UNITS.get(command.unit, (f" {command.unit}", 1.0))
    low, high = (factor * limit for limit in command.limits)
    target = factor * result.joint_target[:, column(result.actuator_names, command.name)]
    bodies = _moved_by(result, actuator)
    title = command.name.replace("_", " ")
    if not actuator.stiffness:
        return ActuatorPanel(title, unit, (low, high), target, None, bodies, [])
    columns = [column(result.joint_names, joint) for joint, _ in actuator.arms]
    length = result.joint_position[:, columns] @ np.array([arm for _, arm in actuator.arms])
    return ActuatorPanel(
        title, unit, (low, high), factor * (length - actuator.zero), target, bodies, []
    )


def _moved_by(result: GraspResult, actuator: ClosureActuator) -> list[str]:
    """Bodies that can touch and that a drive moves; all of the fingers for a synergy."""
    known = set(result.contact_bodies.tolist())
    joints = {joint for joint, _ in actuator.arms}
    moved_of_body = {
        finger.body_of(row): finger.joint_of(row) in joints
        for finger in result.scene.hand.fingers
        for row in finger.phalanges
        if finger.body_of(row) in known
    }
    return [
        body for body, moved in moved_of_body.items() if moved or not any(moved_of_body.values())
    ]


def _soft_panels(result: GraspResult, index: int, digit: MountedSoftFinger) -> list[ActuatorPanel]:
    assert result.pressure is not None
    assert result.curvature is not None
    links = [names.soft_link(digit.name, link) for link in range(len(digit.finger.links))]
    low, high = (1e-3 * limit for limit in digit.limits)
    pressure, curvature = 1e-3 * result.pressure[:, index], result.curvature[:, index]
    return [
        ActuatorPanel(f"{digit.name} pressure", " kPa", (low, high), pressure, None, links, []),
        ActuatorPanel(f"{digit.name} curvature", "/m", None, curvature, None, links, []),
    ]


def body_rows(result: GraspResult) -> list[list[str]]:
    """The bodies that can touch, finger by finger; the palm is not among them.

    Of a soft finger, whose links are many, those that touched at some time.
    """
    hand = result.scene.hand
    touched = {contact.body for contact in result.contacts if contact.first_touch_s is not None}
    soft = {digit.name for digit in hand.soft_fingers}
    rows: dict[str, list[str]] = {}
    for body, (finger, _) in names.parts(hand).items():
        if finger not in soft or body in touched:
            rows.setdefault(finger, []).append(body)
    return list(rows.values())


def touching(result: GraspResult, bodies: list[str]) -> NDArray[np.bool_]:
    """Whether contact is established with any of some bodies, (T,)."""
    columns = [column(result.contact_bodies, body) for body in bodies]
    return np.asarray(result.in_contact[:, columns].any(axis=1))
