"""A smooth skin over the rigid links of a soft finger, to be looked at."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import mujoco
import numpy as np

from softgrasp.build.visual import Rgba
from softgrasp.description.soft_finger import SoftFinger
from softgrasp.mechanics.transforms import Array

SIDES = 28
"""Points around the finger."""
RINGS = 9
"""Rings a link."""
ROUNDNESS = 0.45
"""Exponent of the superellipse that a section is: 1 an ellipse, 0 a box."""
RIPPLE = 0.22
"""Depth of the valleys between the bellows, over the height of the section."""
BLEND = 0.9
"""Part of the way to the next joint on which a bend is spread, on both sides."""
TIP_ROUNDING = 0.35
"""Length of the rounded end over the height of the section there."""


def add_finger_skin(
    spec: mujoco.MjSpec, name: str, finger: SoftFinger, bodies: Sequence[str], rgba: Rgba
) -> None:
    """Add a skin that bends with the links of a finger.

    Args:
        spec: The model; it holds the bodies already.
        name: Of the skin.
        finger: The finger.
        bodies: Bodies of its links. The first one's frame is the base of the finger; the others
            stand at the joints with the same axes while the finger is straight.
        rgba: Colour.
    """
    places = _ring_places(finger)
    rings = np.stack([_ring(finger, x) for x in places])
    ends = np.stack([rings[0].mean(axis=0), rings[-1].mean(axis=0)])
    vertices = np.concatenate([rings.reshape(-1, 3), ends])
    weights = _weights(finger, np.concatenate([np.repeat(places, SIDES), places[[0, -1]]]))
    origins = [(0.0, 0.0, 0.0), *(joint.position for joint in finger.joints)]
    used = [np.flatnonzero(column > 0.0) for column in weights.T]
    spec.add_skin(
        name=name,
        rgba=rgba,
        vert=vertices.ravel().tolist(),
        face=_faces(len(places)).ravel().tolist(),
        bodyname=list(bodies),
        bindpos=np.array(origins).ravel().tolist(),
        bindquat=[1.0, 0.0, 0.0, 0.0] * len(bodies),
        vertid=[vertex.tolist() for vertex in used],
        vertweight=[weights[vertex, bone].tolist() for bone, vertex in enumerate(used)],
    )


def _joint_places(finger: SoftFinger) -> Array:
    return np.array([joint.position[0] for joint in finger.joints])


def _ring_places(finger: SoftFinger) -> Array:
    """Where rings stand along the straight finger [m], closer together at the rounded tip."""
    first, last = finger.links[0], finger.links[-1]
    begin, end = first.center[0] - 0.5 * first.size[0], last.center[0] + 0.5 * last.size[0]
    bounds = np.concatenate([[begin], _joint_places(finger), [end]])
    even = [np.linspace(low, high, RINGS, endpoint=False) for low, high in pairwise(bounds)]
    rounded = end - TIP_ROUNDING * last.size[2]
    cap = end - (end - rounded) * (1.0 - np.sin(np.linspace(0.0, 0.5 * np.pi, RINGS)))
    body = np.concatenate(even)
    return np.concatenate([body[body < rounded], cap])


def _ring(finger: SoftFinger, x: float) -> Array:
    """Points around the section at a place [m], (SIDES, 3)."""
    centers = np.array([link.center for link in finger.links])
    sizes = np.array([link.size for link in finger.links])
    _, width, height = (float(np.interp(x, centers[:, 0], column)) for column in sizes.T)
    y, z = (float(np.interp(x, centers[:, 0], centers[:, axis])) for axis in (1, 2))
    last = finger.links[-1]
    end, reach = last.center[0] + 0.5 * last.size[0], TIP_ROUNDING * last.size[2]
    left = max(1.0 - (end - x) / reach, 0.0)
    shrink = max(np.sqrt(1.0 - min(left, 1.0) ** 2), 0.02)
    angle = 2.0 * np.pi * np.arange(SIDES) / SIDES
    across = np.sign(np.cos(angle)) * np.abs(np.cos(angle)) ** ROUNDNESS
    up = np.sign(np.sin(angle)) * np.abs(np.sin(angle)) ** ROUNDNESS
    valley = _valley(finger, x) if finger.planar else 0.0
    # the upper side is bellows, the lower one a layer that only bends
    upper = up > 0.0
    up = np.where(upper, up * (1.0 - RIPPLE * valley), up)
    across = across * np.where(upper, 1.0 - 0.5 * RIPPLE * valley * np.abs(up), 1.0)
    return np.stack(
        [
            np.full(SIDES, x),
            y + 0.5 * width * shrink * across,
            z + 0.5 * height * shrink * up,
        ],
        axis=1,
    )


def _valley(finger: SoftFinger, x: float) -> float:
    """1 at a joint, 0 half way to the next one, smooth between."""
    joints = _joint_places(finger)
    pitch = float(np.diff(joints).mean()) if len(joints) > 1 else finger.tip[0]
    away = min(float(np.abs(joints - x).min()) / (0.5 * pitch), 1.0)
    return float(0.5 + 0.5 * np.cos(np.pi * away)) ** 2


def _weights(finger: SoftFinger, places: Array) -> Array:
    """How much each link moves the vertices at some places, (nv, nb); rows sum to 1."""
    joints = _joint_places(finger)
    bounds = np.concatenate([[joints[0] - (finger.tip[0] - joints[-1])], joints, [finger.tip[0]]])
    ahead = np.ones((len(places), 1))
    for index, joint in enumerate(joints, start=1):
        back, forth = BLEND * (joint - bounds[index - 1]), BLEND * (bounds[index + 1] - joint)
        reach = 0.5 * min(back, forth)
        share = np.clip((places - joint + reach) / (2.0 * reach), 0.0, 1.0)
        ahead = np.hstack([ahead, (share**2 * (3.0 - 2.0 * share))[:, None]])
    return np.asarray(ahead - np.hstack([ahead[:, 1:], np.zeros((len(places), 1))]))


def _faces(rings: int) -> np.ndarray:
    """Triangles, outward by the right-hand rule, (nf, 3)."""
    ring, side = np.divmod(np.arange((rings - 1) * SIDES), SIDES)
    here, beside = ring * SIDES + side, ring * SIDES + (side + 1) % SIDES
    walls = [[here, beside, here + SIDES], [beside, beside + SIDES, here + SIDES]]
    turn = np.arange(SIDES)
    after, top = (turn + 1) % SIDES, (rings - 1) * SIDES
    first, last = np.full(SIDES, rings * SIDES), np.full(SIDES, rings * SIDES + 1)
    caps = [[first, after, turn], [last, top + turn, top + after]]
    return np.concatenate([np.stack(face, axis=1) for face in walls + caps])
