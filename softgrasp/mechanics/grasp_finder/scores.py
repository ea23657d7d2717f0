"""How good places are for a ball: opposed, alike for other sizes, near the palm or the tips."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from softgrasp.mechanics.grasp_finder.enclosure import DIRECTIONS, enclosures
from softgrasp.mechanics.grasp_finder.give import sunk
from softgrasp.mechanics.grasp_finder.sweep import Approach, Flags, Meeting, Sweep
from softgrasp.mechanics.transforms import Array

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
