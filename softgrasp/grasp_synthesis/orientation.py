"""Orientation of elongated objects in a hand, and of the hand against gravity."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from softgrasp.grasp_synthesis.closing_motion import PARALLEL, Closing, tips_of
from softgrasp.grasp_synthesis.hand_model import ClosingHand
from softgrasp.mechanics.transforms import Array, triple

AXIS_FRACTION = 0.6
"""Smallest fraction of the bending axes along one direction for that to be the common axis [–]."""
ALIGNED = 0.94
"""Cosine of 20°, below which two directions are taken as one [–]."""
PERPENDICULAR = 1e-3
"""Cosine below which two directions are perpendicular [–]."""
INITIAL_FRACTION = 0.05
"""Fraction of the closing motion that gives the initial direction of the fingertips [–]."""


class ObjectAxis(NamedTuple):
    """Axis along which elongated objects lie in a hand."""

    axis: tuple[float, float, float]
    """Unit vector along the object, hand frame."""
    around: bool
    """Whether the fingers are arranged around the axis instead of bending about it."""

    def along(self, direction: Array) -> ObjectAxis:
        """Replace the axis by a direction within 20° of it; keep it otherwise.

        Args:
            direction: Axis projected onto the symmetry of the hand, (3,).
        """
        return self._replace(axis=_unit(direction)) if direction @ self.axis > ALIGNED else self


def object_axis_of(hand: ClosingHand, closing: Closing, posture: Array) -> ObjectAxis:
    """Determine the axis of an elongated object between the fingers.

    Fingers that bend about one common axis hold the object along that axis; fingers around the palm
    hold it along the palm normal; sliding jaws hold it across both the palm normal and their
    travel.

    Args:
        hand: The hand.
        closing: Its closing motion.
        posture: Targets at which the fingers touch, (nd,).
    """
    axes = np.concatenate([np.zeros((0, 3)), *hinge_axes(hand, closing, posture)])
    frames = hand.frames(posture[None])
    tips = tips_of(hand, frames)[:, 0]
    out = tips.mean(axis=0) - hand.middle
    if not len(axes):
        if len(tips) < 2:
            return ObjectAxis((0.0, 0.0, 1.0), around=False)
        ends = hand.frames(np.array([closing.start, closing.end]))
        line = np.linalg.svd(np.diff(tips_of(hand, ends), axis=1)[:, 0])[2][0]
        jaw = frames[hand.digits[0].bodies[0]][0, :3, :3]
        return ObjectAxis(_unit(np.cross(line, _along_jaws(out, line, jaw))), around=False)
    eigenvalues, eigenvectors = np.linalg.eigh(axes.T @ axes / len(axes))
    if eigenvalues[-1] < AXIS_FRACTION:
        return ObjectAxis(_unit(out), around=True)
    along = eigenvectors[:, -1]
    return ObjectAxis(_unit(along * np.sign(along[np.argmax(np.abs(along))])), around=False)


def up_directions(hand: ClosingHand, closing: Closing) -> list[Array]:
    """Return candidate unit vectors against gravity in the hand frame.

    With the first one elongated objects are upright, or the hand reaches down where its fingers are
    arranged around them; with the second one, where there is one, the palm faces down.

    Args:
        hand: The hand.
        closing: Its closing motion.
    """
    object_axis = object_axis_of(hand, closing, closing.start)
    axis = np.array(object_axis.axis)
    if object_axis.around:
        return [-axis]
    candidates = [axis if axis[2] >= 0.0 else -axis]
    rest = np.where(closing.start == closing.end, closing.start, hand.rest)
    frames = hand.frames(np.array([rest, rest + INITIAL_FRACTION * (closing.end - rest)]))
    before, after = tips_of(hand, frames).swapaxes(0, 1)
    bends = [
        bool((np.abs(axes @ axis) >= PARALLEL).any())
        for axes in hinge_axes(hand, closing, closing.start)
    ]
    inwards = (after - before)[bends].sum(axis=0)
    inwards -= axis * (inwards @ axis)
    if np.linalg.norm(inwards) > 0.0:
        candidates.append(_snap(-np.array(_unit(inwards))))
    return candidates


def _along_jaws(out: Array, line: Array, jaw: Array) -> Array:
    """Return the axis of sliding jaws ``jaw`` (3, 3) across their travel ``line``, if near.

    The middle of a palm that is not symmetric is beside it.
    """
    across = out - line * (out @ line)
    axes = [axis * np.sign(axis @ across) for axis in jaw.T if abs(axis @ line) < PERPENDICULAR]
    best = max(axes, key=lambda axis: float(axis @ across), default=across)
    return best if best @ across > ALIGNED * np.linalg.norm(across) else across


def _snap(direction: Array) -> Array:
    """Return the axis of the hand frame within 20° of a unit vector, or the vector itself."""
    nearest = int(np.argmax(np.abs(direction)))
    if abs(direction[nearest]) < ALIGNED:
        return direction
    return np.asarray(np.eye(3)[nearest] * np.sign(direction[nearest]))


def hinge_axes(hand: ClosingHand, closing: Closing, posture: Array) -> list[Array]:
    """Compute the axes of the hinges that close each finger, (n, 3) each.

    Args:
        hand: The hand.
        closing: Its closing motion.
        posture: Targets of the posture, (nd,).
    """
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
    """Normalize a vector; z for a zero vector."""
    length = float(np.linalg.norm(direction))
    return triple(direction / length) if length > 1e-9 else (0.0, 0.0, 1.0)
