"""Time series of a result in the form that figures need."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from softgrasp.build import names
from softgrasp.description.finger import Finger, Phalanx
from softgrasp.description.mechanism import Actuator
from softgrasp.description.soft_digit import SoftDigit
from softgrasp.mechanics.transforms import Array, euler_from_quaternions, relative_quaternions
from softgrasp.simulation.result import GraspResult, column

MOST_POINTS = 2000
"""A curve of a figure has no more points than can be told apart in print."""


def spans(times: Array, on: NDArray[np.bool_]) -> list[tuple[float, float]]:
    """(begin, end) [s] of every stretch in which a signal (T,) is on; it ends where it is off."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], on, [False]]).astype(np.int8)))
    last = len(times) - 1
    return [(float(times[a]), float(times[min(b, last)])) for a, b in edges.reshape(-1, 2).tolist()]


def merged(stretches: list[tuple[float, float]], apart: float) -> list[tuple[float, float]]:
    """The same stretches, those with at most ``apart`` [s] between them as one."""
    found: list[tuple[float, float]] = []
    for begin, end in stretches:
        if found and begin - found[-1][1] <= apart:
            begin = found.pop()[0]
        found.append((begin, end))
    return found


def thinned(times: Array, values: Array) -> tuple[Array, Array]:
    """At most ``MOST_POINTS`` evenly spaced rows of times (T,) and values (T, …), ends kept."""
    rows = np.linspace(0, len(times) - 1, min(len(times), MOST_POINTS)).round().astype(int)
    return times[rows], values[rows]


def peaks(times: Array, values: Array) -> tuple[Array, Array]:
    """At most ``MOST_POINTS`` rows, each the largest of its stretch, of times and values (T,)."""
    stretch = -(-len(times) // MOST_POINTS)
    begins = np.arange(0, len(times), stretch)
    return times[begins], np.maximum.reduceat(values, begins)


def displacement_mm(result: GraspResult, index: int = 0) -> Array:
    """Way of an object's centre since the start, in the world, (T, 3) [mm]."""
    position, _ = result.tracks[index]
    return np.asarray(1e3 * (position - position[0]))


def rotation_deg(result: GraspResult, index: int = 0) -> Array:
    """Turn since the start about (x, y, z) of intrinsic z-y-x, without jumps, (T, 3) [deg]."""
    _, quaternion = result.tracks[index]
    turned = relative_quaternions(quaternion, quaternion[0])
    return np.asarray(np.degrees(np.unwrap(euler_from_quaternions(turned), axis=0)))


class DrivePanel(NamedTuple):
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
    own: list[str]
    """Bodies that it moves first."""
    later: list[str]
    """Bodies that it moves with them."""


def drive_rows(result: GraspResult) -> Iterator[list[DrivePanel]]:
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
    result: GraspResult, finger: Finger, row: Phalanx, own: list[str], later: list[str]
) -> DrivePanel:
    unit, factor = ("°", 180.0 / np.pi) if row.joint == "revolute" else (" mm", 1e3)
    low, high = (factor * limit for limit in row.limits)
    name = finger.joint_of(row)
    target, drive = None, drive_of_joint(result, name)
    if drive is not None:
        target = factor * result.joint_target[:, column(result.actuator_names, drive)]
    values = factor * result.joint_position[:, column(result.joint_names, name)]
    title = (
        row.joint_name if finger.own_names else f"{finger.name} {row.joint_name}".replace("_", " ")
    )
    return DrivePanel(title, unit, (low, high), values, target, own, later)


def drive_of_joint(result: GraspResult, joint: str) -> str | None:
    """The actuator whose target is the variable of a joint; None where there is none."""
    return next((d.name for d in result.scene.drives if d.joint == joint), None)


def _number_panels(result: GraspResult) -> list[DrivePanel]:
    """The drives whose targets are no joint's variable, such as those on tendons."""
    return [
        DrivePanel(
            title=f"target of {drive.name}",
            unit="",
            limits=drive.limits,
            values=result.joint_target[:, column(result.actuator_names, drive.name)],
            target=None,
            own=list(drive.stops),
            later=[],
        )
        for drive in result.scene.drives
        if drive.joint is None and drive.unit != "Pa" and drive.limits[1] > drive.limits[0]
    ]


def _wrist_rows(result: GraspResult) -> Iterator[list[DrivePanel]]:
    """Slides, and hinges where they turned, of a wrist that goes through a sequence."""
    known = result.joint_names.tolist()
    for joints in (names.WRIST_JOINTS[:3], names.WRIST_JOINTS[3:]):
        if not set(joints) <= set(known):
            continue
        turns = joints != names.WRIST_JOINTS[:3]
        unit, factor = ("°", 180.0 / np.pi) if turns else (" mm", 1e3)
        targets = [result.joint_target[:, column(result.actuator_names, name)] for name in joints]
        if turns and not any(target.any() for target in targets):
            continue
        values = [result.joint_position[:, column(result.joint_names, name)] for name in joints]
        yield [
            DrivePanel(name.replace("_", " "), unit, None, factor * value, factor * target, [], [])
            for name, value, target in zip(joints, values, targets, strict=True)
        ]


UNITS = {"rad": ("°", 180.0 / np.pi), "m": (" mm", 1e3), "": ("", 1.0)}
"""How the unit of a drive is shown, and its factor; others are shown as they are."""


def _torque_row(result: GraspResult, finger: Finger) -> Iterator[list[DrivePanel]]:
    """The torques of a finger's joints, where motors drive them."""
    joints = {finger.joint_of(row) for row in finger.phalanges}
    row = [
        _actuator_panel(result, actuator)
        for actuator in result.scene.mechanism.actuators
        if _is_motor_of_one(actuator) and actuator.arms[0][0] in joints
    ]
    if row:
        yield row


def _mechanism_rows(result: GraspResult) -> Iterator[list[DrivePanel]]:
    """Tendons and synergies."""
    panels = [
        _actuator_panel(result, actuator)
        for actuator in result.scene.mechanism.actuators
        if actuator.rate and not _is_motor_of_one(actuator)
    ]
    across = max((len(finger.phalanges) for finger in result.scene.hand.fingers), default=1)
    for first in range(0, len(panels), across):
        yield panels[first : first + across]


def _is_motor_of_one(actuator: Actuator) -> bool:
    return not actuator.stiffness and len(actuator.arms) == 1 and actuator.arms[0][1] == 1.0


def _actuator_panel(result: GraspResult, actuator: Actuator) -> DrivePanel:
    """A drive that is no joint: its way where it is a servo, else what it pulls with."""
    drive = actuator.drive
    unit, factor = UNITS.get(drive.unit, (f" {drive.unit}", 1.0))
    low, high = (factor * limit for limit in drive.limits)
    target = factor * result.joint_target[:, column(result.actuator_names, drive.name)]
    bodies = _moved_by(result, actuator)
    title = drive.name.replace("_", " ")
    if not actuator.stiffness:
        return DrivePanel(title, unit, (low, high), target, None, bodies, [])
    columns = [column(result.joint_names, joint) for joint, _ in actuator.arms]
    length = result.joint_position[:, columns] @ np.array([arm for _, arm in actuator.arms])
    return DrivePanel(
        title, unit, (low, high), factor * (length - actuator.zero), target, bodies, []
    )


def _moved_by(result: GraspResult, actuator: Actuator) -> list[str]:
    """Bodies that can touch and that a drive moves; all of the fingers for a synergy."""
    known = set(result.contact_bodies.tolist())
    joints = {joint for joint, _ in actuator.arms}
    own = {
        finger.body_of(row): finger.joint_of(row) in joints
        for finger in result.scene.hand.fingers
        for row in finger.phalanges
        if finger.body_of(row) in known
    }
    return [body for body, moved in own.items() if moved or not any(own.values())]


def _soft_panels(result: GraspResult, index: int, digit: SoftDigit) -> list[DrivePanel]:
    assert result.pressure is not None
    assert result.curvature is not None
    links = [names.soft_link(digit.name, link) for link in range(len(digit.finger.links))]
    low, high = (1e-3 * limit for limit in digit.limits)
    pressure, curvature = 1e-3 * result.pressure[:, index], result.curvature[:, index]
    return [
        DrivePanel(f"{digit.name} pressure", " kPa", (low, high), pressure, None, links, []),
        DrivePanel(f"{digit.name} curvature", "/m", None, curvature, None, links, []),
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
