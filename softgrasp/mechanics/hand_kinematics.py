"""Frames of all links of a hand, whose fingers may stand on one another."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from softgrasp.description.finger import Finger
from softgrasp.description.hand import Hand
from softgrasp.mechanics.dh import Link, chain_links
from softgrasp.mechanics.transforms import Array, rotate_about


def link_frames(hand: Hand, joints: Mapping[str, ArrayLike]) -> dict[str, Array]:
    """Frames of the links of the rigid fingers in the hand's frame, (..., 4, 4), by their bodies.

    A link's frame stands at its joint, z along the joint's axis, and moves with the joint.

    Args:
        hand: The hand.
        joints: Joint variables by name [rad or m], as ``Hand.posture`` gives them; of many postures
            at once, arrays of one shape.
    """
    frames: dict[str, Array] = {}
    for finger in hand.fingers:
        carry = frames[finger.on] if finger.on else np.eye(4)
        for row, link in zip(finger.phalanges, chain_links(finger), strict=True):
            value = joints[finger.joint_of(row)]
            moved = rotate_about("z", value) if row.joint == "revolute" else _slid(value)
            carry = carry @ link.origin @ moved
            frames[finger.body_of(row)] = carry
    return frames


def _slid(value: ArrayLike) -> Array:
    """Shifts along z [m], (..., 4, 4)."""
    value = np.asarray(value, dtype=float)
    frame = np.zeros((*value.shape, 4, 4))
    frame[..., range(4), range(4)] = 1.0
    frame[..., 2, 3] = value
    return frame


def fingertips(hand: Hand, joints: Mapping[str, ArrayLike]) -> dict[str, Array]:
    """Ends of the rigid fingers in the hand's frame [m], (..., 3), by the fingers' names."""
    frames = link_frames(hand, joints)
    return {finger.name: _end(frames, finger, chain_links(finger)[-1]) for finger in hand.fingers}


def lowest_point(hand: Hand, joints: Mapping[str, float], pose: Array) -> float:
    """The lowest end or joint of the rigid fingers in the world [m].

    Args:
        hand: The hand.
        joints: Joint variables by name [rad or m].
        pose: Of the hand in the world, (4, 4).
    """
    frames = link_frames(hand, joints)
    points = [frame[:3, 3] for frame in frames.values()]
    points += [_end(frames, finger, chain_links(finger)[-1]) for finger in hand.fingers]
    return float((np.array(points) @ pose[2, :3] + pose[2, 3]).min())


def _end(frames: Mapping[str, Array], finger: Finger, last: Link) -> Array:
    frame = frames[finger.body_of(finger.phalanges[-1])]
    return np.asarray(frame[..., :3, :3] @ last.end + frame[..., :3, 3])
