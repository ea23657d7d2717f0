"""Scores of positions of a spherical object: enclosure, robustness to size, and clearance.

A position scores by the smallest force that contacts of unit normal force exert in any direction,
for the ball and for balls of two other sizes, minus losses for late and off-centre contacts and for
a gap to the palm.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from softgrasp.grasp_synthesis.sweep import BallContacts, Flags, Proximity, Sweep
from softgrasp.mechanics.transforms import Array

FRICTION = 0.25
"""Coefficient of friction assumed at contacts [–], half of that of wood and fruit."""
CLEAR_OF_FINGERS, CLEAR_OF_PALM = 2e-3, 1e-3
"""Smallest gaps between ball and fingers, and ball and palm, with the hand open [m]."""
NEAR_PALM = 10e-3
"""Gap below which a ball can rest on the palm in a power grasp [m]."""
LOOSE_GAP, INNER_LINK_LOSS = 5e-3, 0.6
"""Gap to the palm above which a ball touched by inner links is pushed away as the outer links close
further [m], and loss of a power grasp in which all fingers do so [–]."""
OPPOSED = -0.2
"""Cosine of normals below which two contacts oppose each other [–]."""
SIZE_RATIOS = (4.0 / 3.0, 2.0 / 3.0)
"""Radii of other balls that should fit the same position, over that of the first one [–]."""
MAX_DISTANCE = 1.7
"""Distance from a position within which fingers are considered, in radii of the ball [–]."""
OFF_CENTER_LOSS = 2.0
"""Loss per distance of contact points from the middles of the last links [1/m]."""
TIGHT_LOSS = 0.3
"""Loss where the larger ball does not fit the open hand [–]."""
ENCLOSED = 0.05
"""Smallest force in any direction above which a ball is enclosed [–]."""
NOT_ENCLOSED_LOSS = 0.6
"""Loss of a ball that is not enclosed [–]."""
Clearance = tuple[Array, Array]
"""Distances of positions from what does not move, (m,) [m], and unit vectors away from it, (m,
3)."""


def directions(count: int = 96) -> Array:
    """Compute unit vectors evenly distributed on the sphere by a Fibonacci lattice, (count, 3)."""
    index = np.arange(count) + 0.5
    z = 1.0 - 2.0 * index / count
    around = np.pi * (1.0 + np.sqrt(5.0)) * index
    ring = np.sqrt(1.0 - z * z)
    return np.stack([ring * np.cos(around), ring * np.sin(around), z], axis=-1)


DIRECTIONS = directions()


class Target(NamedTuple):
    """Grasp type for which positions are scored."""

    kind: str
    """``power`` or ``precision``."""
    directions: Array = DIRECTIONS
    """Unit vectors in which contact forces are evaluated, (n, 3)."""


# Enclosure


def enclosures(
    normals: Array,
    touching: NDArray[np.bool_],
    directions: Array = DIRECTIONS,
    friction: float = FRICTION,
) -> tuple[Array, Array]:
    """Compute smallest and mean force of unit contact forces over all directions [–].

    In the direction u a contact with normal n exerts at most n·u + µ·|u − (n·u)n|, within its
    friction cone. Two opposite contacts have the smallest force µ.

    Args:
        normals: Contact normals pointing into the ball, (m, k, 3).
        touching: Which contacts exist, (m, k).
        directions: Unit vectors u, (n, 3).
        friction: Coefficient of friction µ [–].

    Returns:
        Smallest and mean force, (m,); −1 without contacts.
    """
    along = normals @ directions.T
    support = along + friction * np.sqrt(np.clip(1.0 - along * along, 0.0, None))
    support = np.where(touching[:, :, None], support, -1.0)
    best = support.max(axis=1)
    return best.min(axis=1), best.mean(axis=1)


# Scores of positions


def clear_positions(
    sweep: Sweep, proximity: Proximity, clearance: Clearance, radius: float
) -> Flags:
    """Mask of spheres that are clear of the open hand and in front of its palm, (m,)."""
    away = (clearance[0] >= radius + CLEAR_OF_PALM) & sweep.in_front_of_palm(proximity.positions)
    if not len(proximity.apart):
        return away
    return np.asarray(away & (proximity.apart[:, 0].min(axis=0) >= radius + CLEAR_OF_FINGERS))


def reached_by_two(proximity: Proximity, radius: float) -> Flags:
    """Mask of spheres that at least two fingers reach; all spheres where there are none, (m,)."""
    fingers = (proximity.apart.min(axis=1) <= radius).sum(axis=0)
    two = fingers >= 2
    return np.asarray(two if two.any() else fingers >= 0)


def scores_of_positions(
    sweep: Sweep,
    proximity: Proximity,
    clearance: Clearance,
    target: Target,
    radius: float,
    others: Sequence[float] = SIZE_RATIOS,
) -> tuple[Array, Array]:
    """Score positions for a sphere and for other radii; return scores and enclosures, (m,).

    Args:
        sweep: The closing hand.
        proximity: Distances of the fingers from the positions.
        clearance: Distances of the parts that do not move.
        target: Grasp type.
        radius: Radius of the ball [m].
        others: Radii of other balls over that of the ball.
    """
    if not sweep.paths:
        return np.zeros(len(proximity.positions)), np.full(len(proximity.positions), -1.0)
    contacts = sweep.meet(proximity, radius)
    score, enclosure = _scores_of(sweep, contacts, clearance, target, radius)
    score = score - NOT_ENCLOSED_LOSS * (enclosure <= ENCLOSED) * (1 + len(others))
    if not others:
        return score, enclosure
    for scale in others:
        contacts = sweep.meet(proximity, scale * radius)
        score = score + _scores_of(sweep, contacts, clearance, target, scale * radius)[0]
    larger = max(others) * radius
    tight = clearance[0] < larger + CLEAR_OF_PALM
    tight |= proximity.apart[:, 0].min(axis=0) < larger + CLEAR_OF_FINGERS
    return (score - TIGHT_LOSS * tight) / (1 + len(others)), enclosure


def _scores_of(
    sweep: Sweep, contacts: BallContacts, clearance: Clearance, target: Target, radius: float
) -> tuple[Array, Array]:
    """Score positions for one sphere radius."""
    apart, away = clearance
    gap, touched = apart - radius, contacts.touched
    if target.kind == "precision":
        touched = touched & contacts.outermost
    enclosure, mean = enclosures(contacts.normals, touched, target.directions)
    score = enclosure
    if _opposes_palm(sweep, target):
        normals = np.concatenate([contacts.normals, away[:, None]], axis=1)
        supported = np.concatenate([touched, (gap <= NEAR_PALM)[:, None]], axis=1)
        on_palm, mean = enclosures(normals, supported, target.directions)
        # opposing fingers are preferred to fingers that oppose the palm
        score = np.maximum(enclosure, 0.9 * on_palm - 0.1) + 0.2 * on_palm
        enclosure = np.maximum(enclosure, on_palm)
    count = touched.sum(axis=1)
    touched_fraction = touched / np.maximum(count, 1)[:, None]
    score = score + 0.2 * mean + 0.03 * count - 2.0 * _unopposed_fraction(sweep, contacts, touched)
    # fingers with equal travel touch smaller and larger objects at the same time too
    late = np.where(touched, contacts.fraction, -np.inf).max(axis=1)
    early = np.where(touched, contacts.fraction, np.inf).min(axis=1)
    score -= 0.5 * np.where(count > 0, late - early, 0.0)
    score -= OFF_CENTER_LOSS * (contacts.from_middle * touched_fraction).sum(axis=1)
    if target.kind == "power":
        inner = (touched_fraction * ~contacts.outermost).sum(axis=1)
        score -= INNER_LINK_LOSS * np.where(gap > LOOSE_GAP, inner, 0.0)
        return score - 5.0 * np.clip(gap - CLEAR_OF_PALM, 0.0, 0.1), enclosure
    score -= 5.0 * (contacts.from_tip * touched_fraction).sum(axis=1)
    return score - 0.3 * (contacts.touched & ~contacts.outermost).sum(axis=1), enclosure


def _opposes_palm(sweep: Sweep, target: Target) -> bool:
    """Return whether fingers press a ball onto the palm: in power grasps, and by a single jaw."""
    return target.kind == "power" or len(sweep.paths) == 1


def _unopposed_fraction(sweep: Sweep, contacts: BallContacts, touched: Flags) -> Array:
    """Compute the fraction of the motion in which a finger pushes unopposed, (m,).

    It applies to fingers of one actuator group, which cannot wait for each other.
    """
    unopposed = np.zeros(len(touched))
    for group in sorted(set(sweep.groups.tolist()) - {-1}):
        columns = np.flatnonzero(sweep.groups == group)
        if len(columns) < 2:
            continue
        fractions = np.where(touched[:, columns], contacts.fraction[:, columns], np.inf)
        first = np.argmin(fractions, axis=1)
        rows = np.arange(len(touched))
        normals = contacts.normals[:, columns]
        against = np.einsum("mkj,mj->mk", normals, normals[rows, first]) < OPPOSED
        then = np.where(against, fractions, np.inf).min(axis=1)
        met = np.isfinite(then)
        unopposed[met] = np.maximum(unopposed[met], then[met] - fractions[rows, first][met])
    return unopposed
