"""A soft finger's side view: smooth above, bellows below with a valley at every joint.

Each rigid link has a profile of its own, an upper and a lower line in the x–z plane of the straight
finger. The valleys end exactly in the joints, so that they stay there whichever way the links turn:
what is measured in a picture of them can be compared with what was put in.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from softgrasp.description.soft_finger import SoftFinger
from softgrasp.mechanics.transforms import Array

Faces = npt.NDArray[np.int64]

DEPTH = 0.4
"""Depth of the valleys over the distance of the joints [–]."""
FAN = np.radians(40.0)
"""How far a link's round shoulder reaches back over its joint: it fills the gap that opens above a
joint that bends downwards by up to this angle [rad]."""
THINNER = 0.97
"""Width of a fan over that of the links [–]."""
STATIONS, FAN_STATIONS = 25, 11


@dataclass(frozen=True, eq=False)
class Profile:
    """Upper and lower line of a link in the straight finger, (k, 2) each: x and z [m].

    Points with one index lie above each other, or in the fan around the joint.
    """

    upper: Array
    lower: Array
    fan: int = 0
    """How many points there are in the fan, the first ones."""

    def prism(self, half_width: float) -> tuple[Array, Faces]:
        """The closed surface of the profile drawn out along y to both sides.

        Returns:
            Vertices [m], (4k, 3), and triangles, counterclockwise from outside, (m, 3).
        """
        count = len(self.upper)
        flat = np.concatenate([self.upper, self.lower])
        # the fan lies inside the link before it: two faces in one plane would flicker
        half = half_width * np.where(np.arange(2 * count) % count < self.fan, THINNER, 1.0)
        vertices = np.concatenate([np.insert(flat, 1, side * half, axis=1) for side in (-1, 1)])
        up, low = np.arange(count), np.arange(count) + count
        front = _strip(low, up)
        back = _strip(up + 2 * count, low + 2 * count)
        rim = np.concatenate([low, up[::-1], low[:1]])
        faces = np.concatenate([front, back, _strip(rim + 2 * count, rim)])
        corners = vertices[faces]
        areas = np.linalg.norm(
            np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1
        )
        return vertices, faces[areas > 1e-14]


def link_profiles(finger: SoftFinger) -> list[Profile]:
    """Profiles of all links from the base outwards, ``len(finger.links)`` of them."""
    joints = np.array([joint.position for joint in finger.joints])[:, [0, 2]]
    tip, end_height = np.array(finger.tip)[[0, 2]], finger.links[-1].size[2]
    pitch = _pitches(joints, tip)
    top = top_level(finger)
    return [
        _base(joints[0], base_start(finger), pitch[0], top),
        *(_bellow(joint, after, top) for joint, after in pairwise(joints)),
        _last(joints[-1], tip, end_height, top),
    ]


def top_level(finger: SoftFinger) -> float:
    """Height of the smooth upper side of the straight finger above the base frame [m]."""
    heights = [link.size[2] for link in finger.links]
    highest = max(joint.position[2] for joint in finger.joints)
    return max(highest + 0.5 * float(np.median(heights)), finger.tip[2] + 0.5 * heights[-1])


def base_start(finger: SoftFinger) -> float:
    """Where the clamped link begins [m]; half a joint distance before the first joint, or more."""
    first, link = finger.joints[0].position, finger.links[0]
    joints = np.array([joint.position for joint in finger.joints])[:, [0, 2]]
    half = 0.5 * _pitches(joints, np.array(finger.tip)[[0, 2]])[0]
    return float(min(link.center[0] - 0.5 * link.size[0], first[0] - half))


def _pitches(joints: Array, tip: Array) -> Array:
    return np.asarray(np.linalg.norm(np.diff(np.vstack([joints, tip]), axis=0), axis=1))


def _base(joint: Array, start: float, pitch: float, top: float) -> Profile:
    x = np.linspace(start, joint[0], STATIONS)
    before = np.minimum((joint[0] - x) / pitch, 0.5)
    low = joint[1] - 4.0 * DEPTH * pitch * before * (1.0 - before)
    return Profile(np.column_stack([x, np.full(STATIONS, top)]), np.column_stack([x, low]))


def _bellow(joint: Array, after: Array, top: float) -> Profile:
    fractions = np.linspace(0.0, 1.0, STATIONS)[:, None]
    chord_vector = after - joint
    chord, down = joint + fractions * chord_vector, np.array([chord_vector[1], -chord_vector[0]])
    low = chord + 4.0 * DEPTH * fractions * (1.0 - fractions) * down
    return _with_fan(joint, np.column_stack([chord[:, 0], np.full(STATIONS, top)]), low)


def _last(joint: Array, tip: Array, height: float, top: float) -> Profile:
    fractions = np.linspace(0.0, 1.0, STATIONS)
    x = joint[0] + fractions * (tip[0] - joint[0])
    # level at the joint and at the tip: no corners but the two of the end
    high = top + (tip[1] + 0.5 * height - top) * fractions**2 * (3.0 - 2.0 * fractions)
    low = joint[1] + (tip[1] - 0.5 * height - joint[1]) * fractions * (2.0 - fractions)
    return _with_fan(joint, np.column_stack([x, high]), np.column_stack([x, low]))


def _with_fan(joint: Array, upper: Array, lower: Array) -> Profile:
    """A shoulder around the joint, which the upper line continues without a corner."""
    radius = upper[0, 1] - joint[1]
    angles = np.linspace(FAN, 0.0, FAN_STATIONS)[:-1]
    fan = joint + radius * np.column_stack([-np.sin(angles), np.cos(angles)])
    center = np.tile(joint, (len(fan), 1))
    return Profile(np.concatenate([fan, upper]), np.concatenate([center, lower]), len(fan))


def _strip(first: Faces, second: Faces) -> Faces:
    """Triangles between two lines of vertices; counterclockwise with the first line below."""
    a, b, c, d = first[:-1], first[1:], second[:-1], second[1:]
    return np.concatenate([np.stack([a, b, d], -1), np.stack([a, d, c], -1)])
