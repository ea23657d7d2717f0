"""How long things lie in a hand, and which way up a hand can hold them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from softgrasp.mechanics.grasp_finder.closing import PARALLEL, Closing, tips_of
from softgrasp.mechanics.grasp_finder.hand import ClosingHand
from softgrasp.mechanics.transforms import Array

AXIS_FRACTION = 0.6
"""Share of the bending axes that lie along one direction, where there is one [–]."""
DRAWN = 0.94
"""Cosine above which a palm is taken to face along an axis of its file [–]: 20°."""
BEGINNING = 0.05
"""Part of the closing motion that shows which way fingertips go [–]."""


class Lying(NamedTuple):
    """How a long thing lies."""

    axis: tuple[float, float, float]
    """Unit vector along it, in the hand's frame."""
    around: bool
    """Whether the fingers stand around it, instead of bending about it."""

    def along(self, direction: Array) -> Lying:
        """The same along a direction near by; as it is where the direction is another one.

        Args:
            direction: The axis as the hand's symmetry has it, (3,).
        """
        return self._replace(axis=_unit(direction)) if direction @ self.axis > DRAWN else self


def lying_of(hand: ClosingHand, closing: Closing, posture: Array) -> Lying:
    """How a long thing lies between the fingers.

    Fingers that bend about one axis hold it along that axis; where they stand around the palm it
    lies along the way out of it; jaws that slide hold it across both ways.

    Args:
        hand: The hand.
        closing: How it closes.
        posture: Targets where the fingers arrive, (nd,).
    """
    axes = np.concatenate([np.zeros((0, 3)), *_axes(hand, closing, posture)])
    tips = tips_of(hand, hand.frames(posture[None]))[:, 0]
    out = tips.mean(axis=0) - hand.middle
    if not len(axes):
        if len(tips) < 2:
            return Lying((0.0, 0.0, 1.0), around=False)
        return Lying(_unit(np.cross(np.linalg.svd(tips - tips.mean(axis=0))[2][0], out)), False)
    eigenvalues, eigenvectors = np.linalg.eigh(axes.T @ axes / len(axes))
    if eigenvalues[-1] < AXIS_FRACTION:
        return Lying(_unit(out), around=True)
    along = eigenvectors[:, -1]
    return Lying(_unit(along * np.sign(along[np.argmax(np.abs(along))])), around=False)


def up_directions(hand: ClosingHand, closing: Closing) -> list[Array]:
    """Unit vectors against gravity, the hand turned so that long things stand or lie in it.

    The first one has long things stand upright, or the hand reach down where its fingers stand
    around them; the second one, where there is one, has the palm face down.

    Args:
        hand: The hand.
        closing: How it closes.
    """
    lying = lying_of(hand, closing, closing.start)
    axis = np.array(lying.axis)
    if lying.around:
        return [-axis]
    candidates = [axis if axis[2] >= 0.0 else -axis]
    rest = np.where(closing.start == closing.end, closing.start, hand.rest)
    frames = hand.frames(np.array([rest, rest + BEGINNING * (closing.end - rest)]))
    before, after = tips_of(hand, frames).swapaxes(0, 1)
    bends = [
        bool((np.abs(axes @ axis) >= PARALLEL).any())
        for axes in _axes(hand, closing, closing.start)
    ]
    inwards = (after - before)[bends].sum(axis=0)
    inwards -= axis * (inwards @ axis)
    if np.linalg.norm(inwards) > 0.0:
        candidates.append(_drawn(-np.array(_unit(inwards))))
    return candidates


def _drawn(direction: Array) -> Array:
    """The axis of the hand's frame next to a unit vector, as hands are drawn; or the vector."""
    nearest = int(np.argmax(np.abs(direction)))
    if abs(direction[nearest]) < DRAWN:
        return direction
    return np.asarray(np.eye(3)[nearest] * np.sign(direction[nearest]))


def _axes(hand: ClosingHand, closing: Closing, posture: Array) -> list[Array]:
    """Axes of the hinges that close each finger, (n, 3) each."""
    frames = hand.frames(posture[None])
    moving = np.flatnonzero(closing.start != closing.end)
    return [
        np.array([
            frames[joint.body][0, :3, :3] @ joint.axis
            for joint in digit.joints
            if joint.actuator in moving and joint.axis.any()
        ]).reshape(-1, 3)
        for digit in hand.digits
    ]  # fmt: skip


def _unit(direction: Array) -> tuple[float, float, float]:
    length = float(np.linalg.norm(direction))
    x, y, z = (direction / length).tolist() if length > 1e-9 else (0.0, 0.0, 1.0)
    return (x, y, z)
