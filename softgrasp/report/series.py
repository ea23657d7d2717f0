"""Time series of a result in the form that figures need."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from softgrasp.build import names
from softgrasp.description.finger import Phalanx
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


def displacement_mm(result: GraspResult) -> Array:
    """Way of the object's centre since the start, in the world, (T, 3) [mm]."""
    return np.asarray(1e3 * (result.object_position - result.object_position[0]))


def rotation_deg(result: GraspResult) -> Array:
    """Turn since the start about (x, y, z) of intrinsic z-y-x, without jumps, (T, 3) [deg]."""
    turned = relative_quaternions(result.object_quat_wxyz, result.object_quat_wxyz[0])
    return np.asarray(np.degrees(np.unwrap(euler_from_quaternions(turned), axis=0)))


class JointPanel(NamedTuple):
    """How a joint is shown."""

    name: str
    title: str
    unit: str
    """What follows a number: ``°`` or `` mm``."""
    factor: float
    """From SI to the unit."""
    limits: tuple[float, float]
    """Lowest and highest joint variable in the unit."""


def joint_rows(result: GraspResult) -> Iterator[list[JointPanel]]:
    """The joints, finger by finger."""
    for finger in result.scene.hand.fingers:
        yield [_joint_panel(finger.name, row) for row in finger.phalanges]


def _joint_panel(finger: str, row: Phalanx) -> JointPanel:
    unit, factor = ("°", 180.0 / np.pi) if row.joint == "revolute" else (" mm", 1e3)
    low, high = (factor * limit for limit in row.limits)
    name = names.joint(finger, row.joint_name)
    return JointPanel(name, f"{finger} {row.joint_name}", unit, factor, (low, high))


def body_rows(result: GraspResult) -> list[list[str]]:
    """The bodies that can touch, finger by finger; the palm is not among them."""
    rows: dict[str, list[str]] = {finger.name: [] for finger in result.scene.hand.fingers}
    for body, finger, _, _ in names.phalanges(result.scene.hand):
        rows[finger].append(body)
    return [row for row in rows.values() if row]


def behind(result: GraspResult, joint: str) -> tuple[list[str], list[str]]:
    """The body that a joint moves, if it has one, and the later ones of its finger."""
    for finger in result.scene.hand.fingers:
        joints = [names.joint(finger.name, row.joint_name) for row in finger.phalanges]
        if joint in joints:
            bodies = [names.phalanx_body(finger.name, row.name) for row in finger.phalanges]
            first = joints.index(joint)
            known = set(result.contact_bodies.tolist())
            own, later = bodies[first : first + 1], bodies[first + 1 :]
            return [b for b in own if b in known], [b for b in later if b in known]
    return [], []


def touching(result: GraspResult, bodies: list[str]) -> NDArray[np.bool_]:
    """Whether contact is established with any of some bodies, (T,)."""
    columns = [column(result.contact_bodies, body) for body in bodies]
    return np.asarray(result.in_contact[:, columns].any(axis=1))
