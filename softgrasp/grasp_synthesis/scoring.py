"""How good places are for a ball: opposed, alike for other sizes, near the palm or the tips."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from softgrasp.grasp_synthesis.closing_motion import (
    PARALLEL,
    Approach,
    Closing,
    Flags,
    Meeting,
    Sweep,
    tips_of,
)
from softgrasp.grasp_synthesis.hand_model import ClosingHand, sunk
from softgrasp.mechanics.transforms import Array

# --------------------
# How long things lie in a hand, and which way up a hand can hold them.


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


# --------------------
# How well contacts on a ball oppose one another.


FRICTION = 0.25
"""Coefficient with which contacts are judged [–]; wood and fruit have 0.5."""


def directions(count: int = 96) -> Array:
    """Unit vectors spread evenly over the sphere, (count, 3): a Fibonacci lattice."""
    index = np.arange(count) + 0.5
    z = 1.0 - 2.0 * index / count
    around = np.pi * (1.0 + np.sqrt(5.0)) * index
    ring = np.sqrt(1.0 - z * z)
    return np.stack([ring * np.cos(around), ring * np.sin(around), z], axis=-1)


DIRECTIONS = directions()


def enclosures(
    normals: Array,
    touching: NDArray[np.bool_],
    directions: Array = DIRECTIONS,
    friction: float = FRICTION,
) -> tuple[Array, Array]:
    """Least and mean force that contacts of unit normal force give in any direction [–].

    The forces of each contact lie in its friction cone, so a contact gives n·u + µ·|u − (n·u)n| in
    the direction u. Above 0 the least one says that no push takes the ball away; two opposite
    contacts have µ.

    Args:
        normals: Into the ball, (m, k, 3).
        touching: Which of them are there, (m, k).
        directions: Unit vectors that are looked along, (n, 3).
        friction: Coefficient µ [–].

    Returns:
        Least and mean, (m,); −1 where nothing touches.
    """
    along = normals @ directions.T
    support = along + friction * np.sqrt(np.clip(1.0 - along * along, 0.0, None))
    support = np.where(touching[:, :, None], support, -1.0)
    best = support.max(axis=1)
    return best.min(axis=1), best.mean(axis=1)


CLEAR_OF_FINGERS, CLEAR_OF_PALM = 2e-3, 1e-3
"""Gaps between ball and open hand [m]."""
NEAR_PALM = 10e-3
"""A ball that is nearer to the palm than this can lean on it in a power grasp [m]."""
LOOSE, PUSHED_ON = 5e-3, 0.6
"""Gap to the palm beyond which a ball that inner links touch is pushed on by the outer links, which
close farther [m], and what a power grasp loses where all fingers do that [–]."""
OPPOSED = -0.2
"""Cosine below which two contacts oppose one another."""
OTHERS = (4.0 / 3.0, 2.0 / 3.0)
"""Sizes of other balls that should fit the same place, over that of the first one."""
FAR = 1.7
"""Distances from a place up to which fingers are looked for, in radii of the ball: for balls of
several sizes, and for it alone."""
ASIDE = 2.0
"""What a place loses for each metre between touching points and the middles of last links [1/m]."""
TIGHT = 0.3
"""What a place loses where the larger ball would have to be moved first [–]."""

ENCLOSED = 0.05
"""Least force in any direction from which a ball counts as enclosed [–]."""
GIVES = 600.0
MAX_LOSS = 0.6
"""What a place loses for each metre that a ball sinks [1/m], and at most [–]: as much as one where
it is not enclosed."""


class Target(NamedTuple):
    """What a grasp is for."""

    kind: str
    """``power`` or ``precision``."""
    up: Array
    """Unit vector against gravity, (3,)."""
    directions: Array = DIRECTIONS
    """Unit vectors along which contacts are asked for forces, (n, 3)."""


Still = tuple[Array, Array]
"""Distance of places from what stands still [m], (m,), and unit vectors away from it, (m, 3)."""


def clear(sweep: Sweep, approach: Approach, still: Still, radius: float) -> Flags:
    """Which balls are clear of the open hand and before its palm, (m,)."""
    away = (still[0] >= radius + CLEAR_OF_PALM) & sweep.before_palm(approach.positions)
    if not len(approach.apart):
        return away
    return np.asarray(away & (approach.apart[:, 0].min(axis=0) >= radius + CLEAR_OF_FINGERS))


def met(approach: Approach, radius: float) -> Flags:
    """Which balls two fingers meet; all balls where no two fingers meet one, (m,)."""
    fingers = (approach.apart.min(axis=1) <= radius).sum(axis=0)
    two = fingers >= 2
    return np.asarray(two if two.any() else fingers >= 0)


def scores_of_positions(
    sweep: Sweep,
    approach: Approach,
    still: Still,
    target: Target,
    radius: float,
    others: Sequence[float] = OTHERS,
) -> tuple[Array, Array]:
    """How good places are for a ball and others like it, and how well it is enclosed, (m,) both.

    Args:
        sweep: The closing hand.
        approach: How its fingers come to the places.
        still: How far they are from what stands still.
        target: What the grasp is for.
        radius: Of the ball [m].
        others: Sizes of other balls, over its.
    """
    if not sweep.paths:
        return np.zeros(len(approach.positions)), np.full(len(approach.positions), -1.0)
    meeting = sweep.meet(approach, radius)
    score, enclosure = _scores_of(sweep, meeting, still, target, radius)
    lost = np.full(len(score), MAX_LOSS)
    held = np.flatnonzero(enclosure > ENCLOSED)
    sunken = sunk_by(sweep, meeting.of(held), still[0][held] - radius, target)
    lost[held] = np.minimum(GIVES * sunken, MAX_LOSS)
    score = score - lost * (1 + len(others))
    if not others:
        return score, enclosure
    for scale in others:
        meeting = sweep.meet(approach, scale * radius)
        score = score + _scores_of(sweep, meeting, still, target, scale * radius)[0]
    larger = max(others) * radius
    tight = still[0] < larger + CLEAR_OF_PALM
    tight |= approach.apart[:, 0].min(axis=0) < larger + CLEAR_OF_FINGERS
    return (score - TIGHT * tight) / (1 + len(others)), enclosure


def _scores_of(
    sweep: Sweep, meeting: Meeting, still: Still, target: Target, radius: float
) -> tuple[Array, Array]:
    """The same of one size alone."""
    apart, away = still
    gap, touched = apart - radius, meeting.touched
    if target.kind == "precision":
        touched = touched & meeting.outermost
    enclosure, mean = enclosures(meeting.normals, touched, target.directions)
    if target.kind == "power":
        normals = np.concatenate([meeting.normals, away[:, None]], axis=1)
        leans = np.concatenate([touched, (gap <= NEAR_PALM)[:, None]], axis=1)
        on_palm, mean = enclosures(normals, leans, target.directions)
        # fingers that oppose one another come before fingers that oppose the palm
        score = np.maximum(enclosure, 0.9 * on_palm - 0.1) + 0.2 * on_palm
        enclosure = np.maximum(enclosure, on_palm)
    else:
        score = enclosure
    count = touched.sum(axis=1)
    touched_fraction = touched / np.maximum(count, 1)[:, None]
    score = score + 0.2 * mean + 0.03 * count - 2.0 * _alone(sweep, meeting, touched)
    # fingers that go equally far meet smaller and larger things at one time too
    late = np.where(touched, meeting.fraction, -np.inf).max(axis=1)
    early = np.where(touched, meeting.fraction, np.inf).min(axis=1)
    score -= 0.5 * np.where(count > 0, late - early, 0.0)
    score -= ASIDE * (meeting.from_middle * touched_fraction).sum(axis=1)
    if target.kind == "power":
        inner = (touched_fraction * ~meeting.outermost).sum(axis=1)
        score -= PUSHED_ON * np.where(gap > LOOSE, inner, 0.0)
        return score - 5.0 * np.clip(gap - CLEAR_OF_PALM, 0.0, 0.1), enclosure
    score -= 5.0 * (meeting.from_tip * touched_fraction).sum(axis=1)
    return score - 0.3 * (meeting.touched & ~meeting.outermost).sum(axis=1), enclosure


def sunk_by(sweep: Sweep, meeting: Meeting, gap: Array, target: Target) -> Array:
    """How far balls sink as the servos give way [m], (m,).

    Args:
        sweep: The closing hand.
        meeting: Of its fingers with the balls.
        gap: Between the balls and what stands still [m], (m,).
        target: What the grasp is for.
    """
    compliances_of_paths = [
        path.hinges.gives(meeting.points[:, k], meeting.step[:, k], meeting.link[:, k], target.up)
        for k, path in enumerate(sweep.paths)
    ]
    compliances, alone = (
        np.stack(part, axis=1) for part in zip(*compliances_of_paths, strict=True)
    )
    leans = (gap <= NEAR_PALM) if target.kind == "power" else np.zeros(len(gap), dtype=bool)
    return sunk(compliances, alone, meeting.touched, leans, target.up)


def _alone(sweep: Sweep, meeting: Meeting, touched: Flags) -> Array:
    """Part of the motion for which the first finger of a group pushes with none against it, (m,).

    Fingers with drives of their own wait for one another; those of one drive cannot.
    """
    alone = np.zeros(len(touched))
    for group in sorted(set(sweep.groups.tolist()) - {-1}):
        columns = np.flatnonzero(sweep.groups == group)
        if len(columns) < 2:
            continue
        fractions = np.where(touched[:, columns], meeting.fraction[:, columns], np.inf)
        first = np.argmin(fractions, axis=1)
        rows = np.arange(len(touched))
        normals = meeting.normals[:, columns]
        against = np.einsum("mkj,mj->mk", normals, normals[rows, first]) < OPPOSED
        then = np.where(against, fractions, np.inf).min(axis=1)
        met = np.isfinite(then)
        alone[met] = np.maximum(alone[met], then[met] - fractions[rows, first][met])
    return alone
