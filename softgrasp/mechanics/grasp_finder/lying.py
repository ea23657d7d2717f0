"""How long things lie in a hand: along the axis about which its fingers bend."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from softgrasp.mechanics.grasp_finder.closing import Closing, tips_of
from softgrasp.mechanics.grasp_finder.hand import ClosingHand
from softgrasp.mechanics.transforms import Array

ONE_WAY = 0.6
"""Share of the bending axes that lie along one direction, where there is one [–]."""


class Lying(NamedTuple):
    """How a long thing lies."""

    axis: tuple[float, float, float]
    """Unit vector along it, in the hand's frame."""
    around: bool
    """Whether the fingers stand around it, instead of bending about it."""


def lying_of(hand: ClosingHand, closing: Closing, posture: Array, place: Array) -> Lying:
    """How a long thing lies between the fingers.

    Fingers that bend about one axis hold it along that axis; where they stand around the palm it
    lies along the way out of it; jaws that slide hold it across both ways.

    Args:
        hand: The hand.
        closing: How it closes.
        posture: Targets where the fingers arrive, (nd,).
        place: Middle of the thing [m], (3,).
    """
    frames = hand.frames(posture[None])
    out = place - hand.middle
    moving = np.flatnonzero(closing.start != closing.end)
    axes = np.array([
        frames[joint.body][0, :3, :3] @ joint.axis
        for digit in hand.digits
        for joint in digit.joints
        if joint.drive in moving and joint.axis.any()
    ]).reshape(-1, 3)  # fmt: skip
    if not len(axes):
        tips = tips_of(hand, frames)[:, 0]
        if len(tips) < 2:
            return Lying((0.0, 0.0, 1.0), around=False)
        return Lying(_unit(np.cross(np.linalg.svd(tips - tips.mean(axis=0))[2][0], out)), False)
    shares, ways = np.linalg.eigh(axes.T @ axes / len(axes))
    if shares[-1] < ONE_WAY:
        return Lying(_unit(out), around=True)
    along = ways[:, -1]
    return Lying(_unit(along * np.sign(along[np.argmax(np.abs(along))])), around=False)


def _unit(way: Array) -> tuple[float, float, float]:
    length = float(np.linalg.norm(way))
    x, y, z = (way / length).tolist() if length > 1e-9 else (0.0, 0.0, 1.0)
    return (x, y, z)
