"""Time series of a result in the form that figures need."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from softgrasp.build import names
from softgrasp.description.finger import Finger, Phalanx
from softgrasp.description.soft_digit import SoftDigit
from softgrasp.mechanics.transforms import Array, euler_from_quaternions, relative_quaternions
from softgrasp.render.instants import body_label
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


def displacement_mm(result: GraspResult) -> Array:
    """Way of the object's centre since the start, in the world, (T, 3) [mm]."""
    return np.asarray(1e3 * (result.object_position - result.object_position[0]))


def rotation_deg(result: GraspResult) -> Array:
    """Turn since the start about (x, y, z) of intrinsic z-y-x, without jumps, (T, 3) [deg]."""
    turned = relative_quaternions(result.object_quat_wxyz, result.object_quat_wxyz[0])
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
    """The joints of each rigid finger, then pressure and curvature of each soft one."""
    known = set(result.contact_bodies.tolist())
    for finger in result.scene.hand.fingers:
        bodies = [finger.body_of(row) for row in finger.phalanges]
        yield [
            _joint_panel(
                result,
                finger,
                row,
                [body for body in bodies[index : index + 1] if body in known],
                [body for body in bodies[index + 1 :] if body in known],
            )
            for index, row in enumerate(finger.phalanges)
        ]
    for index, digit in enumerate(result.scene.hand.soft_fingers):
        yield _soft_panels(result, index, digit)


def _joint_panel(
    result: GraspResult, finger: Finger, row: Phalanx, own: list[str], later: list[str]
) -> DrivePanel:
    unit, factor = ("°", 180.0 / np.pi) if row.joint == "revolute" else (" mm", 1e3)
    low, high = (factor * limit for limit in row.limits)
    name = finger.joint_of(row)
    target = None
    if name in result.actuator_names:
        target = factor * result.joint_target[:, column(result.actuator_names, name)]
    values = factor * result.joint_position[:, column(result.joint_names, name)]
    return DrivePanel(
        body_label(finger.name, row.joint_name), unit, (low, high), values, target, own, later
    )


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
