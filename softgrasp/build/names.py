"""Names of everything in a generated model, in one place."""

from __future__ import annotations

from collections.abc import Iterator

from softgrasp.description.hand import Hand

OBJECT = "object"
PALM = "palm"
START = "start"
"""Keyframe 0: the state from which the hand closes."""


def phalanx_body(finger: str, phalanx: str) -> str:
    """Body, and first geom, of a phalanx: ``F1_P2``."""
    return f"{finger}_{phalanx}"


def joint(finger: str, joint_name: str) -> str:
    """Joint, and its actuator: ``F1_J2``."""
    return f"{finger}_{joint_name}"


def tip_site(finger: str) -> str:
    """Site at the fingertip: ``F1_tip``."""
    return f"{finger}_tip"


def contact_sensor(body: str) -> str:
    """Sensor of the contact forces between a body of the hand and the object."""
    return f"{body}_contact"


def joint_names(hand: Hand) -> list[str]:
    """All joints, finger by finger."""
    return [joint(f.name, row.joint_name) for f in hand.fingers for row in f.phalanges]


def phalanges(hand: Hand) -> Iterator[tuple[str, str, str, int]]:
    """(body, finger, phalanx, joint index) of every phalanx that has a body."""
    index = 0
    for finger in hand.fingers:
        for row, body in zip(finger.phalanges, finger.has_body, strict=True):
            if body:
                yield phalanx_body(finger.name, row.name), finger.name, row.name, index
            index += 1
