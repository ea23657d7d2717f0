"""Start poses and postures for the synthesis of grasps: palm seeds and antipodal seeds.

A palm seed puts the palm before a point of the surface, with the approach along the inward normal.
An antipodal seed lays the opposition of the fingers along an antipodal pair. Rolls follow the
principal axes of the object or are drawn at random. Everything is relative to the object, so a
moved object has moved seeds.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from softgrasp.grasp_synthesis.grasp_energy import Candidates, ContactLink, equal_forces
from softgrasp.grasp_synthesis.kinematic_tree import KinematicTree
from softgrasp.grasp_synthesis.object_surface import ObjectSurface, SurfaceSamples, antipodal_pairs
from softgrasp.mechanics.transforms import Array

FRICTION = 0.5
"""Friction coefficient of antipodal pairs [–]."""
PALM_SEEDS = 0.6
"""Fraction of palm seeds [–]; the others are antipodal."""
ALIGNED = 0.6
"""Fraction of palm seeds whose roll follows the narrowest direction of the object [–]."""
TILT = 0.35
"""Largest angle between approach and inward normal [rad]."""
NEAR_AXIS = 0.03
"""Distance from the approach axis within which surfaces count as before the palm [m]."""
GAP = 3e-3
"""Smallest distance of palm and object [m]."""
SPREAD = 0.15
"""Standard deviation of actuators that do not close, over their range [–]."""
CLOSED = (0.05, 0.5)
"""Fractions of the closing motion between which the start postures are [–]."""
DRAWN = 2000
"""Number of surface samples."""


class GraspingHand(NamedTuple):
    """A hand for the synthesis of postures."""

    tree: KinematicTree
    links: tuple[ContactLink, ...]
    start: Array
    """Targets of the open hand, (nu,)."""
    rates: Array
    """Closing rates, (nu,); zero for actuators that do not close the hand."""
    center: Array
    """Centre of its grasp, (3,) [m]."""
    approach: Array
    """Unit vector from the finger bases to the centre, (3,)."""

    @property
    def closed(self) -> Array:
        """Targets of the closed hand, (nu,)."""
        low, high = self.tree.limits.T
        return np.where(self.rates > 0.0, high, np.where(self.rates < 0.0, low, self.start))

    def closing(self, fractions: Array) -> Array:
        """Return the targets at fractions (s,) of the closing motion, (s, nu)."""
        end = np.minimum(np.abs(self.closed - self.start), 1.6) * np.sign(self.rates)
        return np.asarray(self.start + fractions[:, None] * end)

    @property
    def opposition(self) -> Array:
        """Unit vector along which the fingers close, perpendicular to the approach, (3,)."""
        targets = self.closing(np.array([0.3, 0.5]))
        velocity = self.tree.point_velocities(targets, self.rates).reshape(-1, 3)
        velocity -= np.outer(velocity @ self.approach, self.approach)
        _, axes = np.linalg.eigh(velocity.T @ velocity)
        axis = axes[:, -1] - self.approach * (axes[:, -1] @ self.approach)
        return np.asarray(axis / np.linalg.norm(axis))

    @property
    def palm_distance(self) -> float:
        """Distance from the palm to the grasp's centre along the approach [m]."""
        position, _ = self.tree.point_positions(self.tree.postures(self.start[None]))
        relative = position[0] - self.center
        along = relative @ self.approach
        beside = np.linalg.norm(relative - np.outer(along, self.approach), axis=1)
        before = along[(beside < NEAR_AXIS) & (along < 0.0)]
        return float(-before.max()) if len(before) else NEAR_AXIS


def seed_candidates(
    hand: GraspingHand,
    surface: ObjectSurface,
    random: np.random.Generator,
    count: int,
    tips_only: float,
) -> Candidates:
    """Draw start poses and postures of a hand around an object.

    Args:
        hand: The hand.
        surface: The object.
        random: Source of all draws.
        count: Number of candidates.
        tips_only: Fraction of candidates whose contacts are fingertips only [–].
    """
    samples = surface.sample(random, DRAWN)
    palms = round(PALM_SEEDS * count)
    rotation_a, middle_a = _palm_poses(hand, samples, random, palms)
    rotation_b, middle_b = _antipodal_poses(hand, surface, samples.points, random, count - palms)
    rotation = np.concatenate([rotation_a, rotation_b])
    middle = np.concatenate([middle_a, middle_b])
    position = middle - rotation @ hand.center
    fractions = random.uniform(*CLOSED, size=count)
    targets = hand.closing(fractions)
    low, high = hand.tree.limits.T
    free = (hand.rates == 0.0) * SPREAD * (high - low)
    targets = np.clip(targets + free * random.normal(size=targets.shape), low, high)
    tips = np.array([link.tip for link in hand.links])
    only = random.random(count) < tips_only
    contacts = np.where(only[:, None] & tips.any(), tips, np.ones_like(tips))
    return Candidates(rotation, position, targets, contacts, equal_forces(contacts))


def _palm_poses(
    hand: GraspingHand, samples: SurfaceSamples, random: np.random.Generator, count: int
) -> tuple[Array, Array]:
    """Return rotations (count, 3, 3) and grasp centres (count, 3) of palm seeds."""
    points, normals = samples
    chosen = random.integers(len(points), size=count)
    approach = -normals[chosen] + np.tan(TILT) * random.normal(size=(count, 3)) / 2.0
    approach /= np.linalg.norm(approach, axis=1)[:, None]
    narrow = np.linalg.eigh(np.cov(points.T)).eigenvectors[:, 0]
    narrow = narrow + 0.2 * random.normal(size=(count, 3))
    drawn = random.normal(size=(count, 3))
    across = np.where(random.random(count)[:, None] < ALIGNED, narrow, drawn)
    stand_off = random.uniform(GAP, hand.palm_distance + 0.01, size=count)
    target = points[chosen]
    # in front of everything that is before the palm
    back = _height(points, target, approach)
    palm = target - np.maximum(stand_off, back + GAP)[:, None] * approach
    rotation = _orient(hand, approach, across)
    return rotation, palm + hand.palm_distance * approach


def _antipodal_poses(
    hand: GraspingHand,
    surface: ObjectSurface,
    points: Array,
    random: np.random.Generator,
    count: int,
) -> tuple[Array, Array]:
    """Return rotations (count, 3, 3) and grasp centres (count, 3) of antipodal seeds."""
    pairs = antipodal_pairs(surface, random, DRAWN, FRICTION)
    if not len(pairs.widths):
        return _palm_poses(hand, surface.sample(random, DRAWN), random, count)
    # narrow pairs are grasped more easily
    weight = 1.0 / np.maximum(pairs.widths, 0.01)
    chosen = random.choice(len(weight), size=count, p=weight / weight.sum())
    first, second = pairs.first.points[chosen], pairs.second.points[chosen]
    across = (second - first) / pairs.widths[chosen, None]
    across *= np.where(random.random(count) < 0.5, 1.0, -1.0)[:, None]
    approach = random.normal(size=(count, 3))
    approach -= (approach * across).sum(axis=1)[:, None] * across
    approach /= np.linalg.norm(approach, axis=1)[:, None]
    middle = 0.5 * (first + second)
    back = _height(points, middle, approach)
    away = np.maximum(hand.palm_distance * random.uniform(0.5, 1.1, size=count), back + GAP)
    palm = middle - away[:, None] * approach
    return _orient(hand, approach, across), palm + hand.palm_distance * approach


def _orient(hand: GraspingHand, approach: Array, across: Array) -> Array:
    """Return rotations that map approach and opposition of the hand to directions (s, 3)."""
    across = across - (across * approach).sum(axis=1)[:, None] * approach
    length = np.linalg.norm(across, axis=1)[:, None]
    other = np.cross(approach, [[0.6, 0.64, 0.48]])
    across = np.where(length > 1e-6, across / np.maximum(length, 1e-9), other)
    across /= np.linalg.norm(across, axis=1)[:, None]
    world = np.stack([approach, across, np.cross(approach, across)], axis=2)
    opposition = hand.opposition
    local = np.stack([hand.approach, opposition, np.cross(hand.approach, opposition)], axis=1)
    return np.asarray(world @ local.T)


def _height(points: Array, base: Array, approach: Array) -> Array:
    """Compute how far an object extends against approach directions beside their axes, (s,) [m]."""
    relative = points[None] - base[:, None]
    along = -np.einsum("sni,si->sn", relative, approach)
    beside = np.square(relative).sum(axis=2) - np.square(along)
    return np.asarray(np.where(beside < NEAR_AXIS**2, along, 0.0).max(axis=1))
