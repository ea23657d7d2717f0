"""Which turns and mirror images of a closing hand are the same hand, and what they leave in place.

A place that they leave where it is has fingers that are images of one another arrive at one time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from softgrasp.grasp_synthesis.closing_motion import Meeting, Path, Sweep
from softgrasp.grasp_synthesis.hand_model import nearest, placed
from softgrasp.grasp_synthesis.scoring import DIRECTIONS
from softgrasp.mechanics.transforms import Array

MATCH = 5e-4
"""By how much a fingertip may miss its image anywhere on its way [m]."""
SPARSE = 1.5
"""Distances between points of a surface within which one of an image has to lie [–]."""
LITTLE = 1e-6
"""Weight of the middle of the palm over that of a fingertip [–]."""
FIXED = 0.99
"""Share of a way that stays, in the mean over all motions, where each of them leaves it [–]."""
MAX_FINGERS = 6
"""Of hands that are looked at: of more, the ways to exchange them are too many."""

Order = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Symmetry:
    """Rigid motions and mirror images that take a closing hand to itself."""

    motions: Array
    """(n, 4, 4); the first one leaves all where it is."""
    images: NDArray[np.int64]
    """Number of the finger that each finger is taken to, (n, k)."""
    middle: Array
    """Mean of the fingertips on all of their ways, (3,) [m]."""
    rotation: Array
    """Axes that turn with the hand, as columns, (3, 3)."""

    @cached_property
    def free_axes(self) -> Array:
        """Directions along which all of it leaves places where they are, as rows, (d, 3)."""
        mean = self.motions[:, :3, :3].mean(axis=0)
        # as seen from the hand, so that the directions turn with it
        eigenvalues, eigenvectors = np.linalg.eigh(
            self.rotation.T @ (mean + mean.T) @ self.rotation / 2.0
        )
        return np.asarray((self.rotation @ eigenvectors[:, eigenvalues > FIXED]).T)

    @cached_property
    def origin(self) -> Array:
        """The place nearest to ``middle`` that stays where it is, (3,) [m]."""
        rotation_parts = (self.motions[:, :3, :3] - np.eye(3)).reshape(-1, 3)
        missed = -(self.motions @ [*self.middle, 1.0])[:, :3] + self.middle
        moved = np.linalg.lstsq(rotation_parts, missed.ravel(), rcond=1e-2)[0]
        return np.asarray(self.middle + moved)

    @property
    def directions(self) -> Array:
        """Unit vectors that are spread evenly and turn with the hand, (n, 3)."""
        return np.asarray(DIRECTIONS @ self.rotation.T)

    @property
    def trivial(self) -> bool:
        """Whether every place stays where it is."""
        return len(self.free_axes) == 3

    def along(self, vectors: Array) -> Array:
        """The parts of directions (n, 3) that stay."""
        return np.asarray(vectors @ self.free_axes.T @ self.free_axes)

    def nearest(self, positions: Array) -> Array:
        """The places nearest to others (n, 3) that stay where they are [m]."""
        return np.asarray(self.origin + self.along(positions - self.origin))

    def holds(self, position: Array) -> bool:
        """Whether a place stays where it is."""
        return bool(np.linalg.norm(self.nearest(position) - position) <= MATCH)

    def alike(self, finger: int) -> list[int]:
        """Numbers of the fingers that are images of one, itself among them."""
        return sorted(set(self.images[:, finger].tolist()))


def symmetry_of(sweep: Sweep) -> Symmetry:
    """The symmetry of what the fingers of a closing hand touch with; the palm is not looked at.

    Args:
        sweep: The closing hand.
    """
    paths = sweep.paths
    tips = np.array([path.tips for path in paths]).reshape(-1, 3)
    middle = tips.mean(axis=0) if len(tips) else np.zeros(3)
    candidates = [(np.eye(4), tuple(range(len(paths))))]
    if 2 <= len(paths) <= MAX_FINGERS:
        candidates += [
            (motion, order)
            for order in _orders(paths)
            for motion in _motions(paths, order, sweep.middle)
            if _same(paths, order, motion)
        ]
    motions, images = (np.array(column) for column in zip(*candidates, strict=True))
    return Symmetry(motions, images, middle, _axes(paths, middle))


def evened(meeting: Meeting, symmetry: Symmetry) -> Meeting:
    """A meeting in which fingers that are images of one another arrive at one time.

    Args:
        meeting: With balls at places that stay where they are.
        symmetry: Of the closing hand.
    """
    touched, fractions = meeting.touched.copy(), meeting.fraction.copy()
    for finger in range(touched.shape[1]):
        alike = symmetry.alike(finger)
        touched_alike = meeting.touched[:, alike]
        touched[:, finger] = touched_alike.any(axis=1)
        mean = np.where(touched_alike, meeting.fraction[:, alike], 0.0).sum(axis=1)
        mean /= np.maximum(touched_alike.sum(axis=1), 1)
        fractions[:, finger] = np.where(touched[:, finger], mean, meeting.fraction[:, finger])
    return meeting._replace(touched=touched, fraction=fractions)


def _orders(paths: Sequence[Path]) -> Iterator[Order]:
    """Ways to exchange fingers of which each goes as far as its image."""
    travels = [np.linalg.norm(path.tips - path.tips[0], axis=1) for path in paths]
    alike = [
        [j for j, other in enumerate(travels) if np.abs(travel - other).max() <= 2.0 * MATCH]
        for travel in travels
    ]

    def longer(order: Order) -> Iterator[Order]:
        if len(order) == len(paths):
            yield order
            return
        for image in alike[len(order)]:
            if image not in order and _apart(paths, (*order, image)):
                yield from longer((*order, image))

    return longer(())


def _apart(paths: Sequence[Path], order: Order) -> bool:
    """Whether the last image is as far from the others as the finger is from theirs."""
    last = len(order) - 1
    for other, image in enumerate(order[:-1]):
        here = np.linalg.norm(paths[last].tips - paths[other].tips, axis=1)
        there = np.linalg.norm(paths[order[last]].tips - paths[image].tips, axis=1)
        if np.abs(here - there).max() > 2.0 * MATCH:
            return False
    return True


def _motions(paths: Sequence[Path], order: Order, palm: Array) -> Iterator[Array]:
    """The turn and the mirror image that bring fingertips nearest to their images (Kabsch 1976).

    What tips on one line leave open the middle of the palm tells.
    """
    one = np.concatenate([path.tips for path in paths])
    other = np.concatenate([paths[image].tips for image in order])
    first, second = one.mean(axis=0), other.mean(axis=0)
    spread = (other - second).T @ (one - first)
    spread += LITTLE * len(one) * np.outer(palm - second, palm - first)
    # what is open then stays as it is
    left, _, right = np.linalg.svd(spread + 1e-9 * np.linalg.norm(spread) * np.eye(3))
    for sign in (1.0, -1.0):
        sides = np.diag([1.0, 1.0, sign * np.linalg.det(left @ right)])
        motion = np.eye(4)
        motion[:3, :3] = left @ sides @ right
        motion[:3, 3] = second - motion[:3, :3] @ first
        still = order == tuple(range(len(paths))) and np.abs(motion - np.eye(4)).max() < 1e-6
        if not still:
            yield motion


def _same(paths: Sequence[Path], order: Order, motion: Array) -> bool:
    """Whether a motion takes every finger to its image, its surface too."""
    motions = motion[None]
    for path, image in zip(paths, order, strict=True):
        other = paths[image]
        missed = placed(path.tips, motions)[0] - other.tips
        if np.linalg.norm(missed, axis=1).max() > MATCH:
            return False
        for step in (0, -1):
            here, there = path.surface(step), other.surface(step)
            missed, _ = nearest(placed(here, motions)[0], there)
            if missed.max() > SPARSE * other.spacing:
                return False
    return True


def _axes(paths: Sequence[Path], middle: Array) -> Array:
    """Axes from the way of the first finger, as columns; those of the file where it shows none."""
    if not paths:
        return np.eye(3)
    open_, closed = paths[0].tips[0] - middle, paths[0].tips[-1] - middle
    across = np.cross(open_, closed)
    if np.linalg.norm(across) < 1e-3 * (open_ @ open_ + closed @ closed):
        return np.eye(3)
    x, z = open_ / np.linalg.norm(open_), across / np.linalg.norm(across)
    return np.stack([x, np.cross(z, x), z], axis=1)
