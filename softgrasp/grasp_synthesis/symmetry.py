"""Symmetry of a closing hand: rotations and reflections that map its fingers onto each other.

A position that the symmetry leaves fixed is reached by symmetric fingers at the same time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from softgrasp.grasp_synthesis.hand_model import arrange, nearest
from softgrasp.grasp_synthesis.scoring import DIRECTIONS
from softgrasp.grasp_synthesis.sweep import BallContacts, FingerPath, Sweep
from softgrasp.mechanics.transforms import Array

TOLERANCE = 5e-4
"""Largest distance of a fingertip from its image on its path [m]."""
SPARSE = 1.5
"""Largest distance of a surface point from the image surface, over the point spacing [–]."""
PALM_WEIGHT = 1e-6
"""Weight of the middle of the palm over that of a fingertip in the fit of motions [–]."""
INVARIANT = 0.99
"""Eigenvalue of the mean motion above which a direction is invariant [–]."""
MAX_FINGERS = 6
"""Largest number of fingers, as the number of permutations grows with its factorial."""
Order = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Symmetry:
    """Rotations and reflections that map a closing hand onto itself."""

    motions: Array
    """Homogeneous transforms, (n, 4, 4); the first one is the identity."""
    images: NDArray[np.int64]
    """Index of the finger that each finger is mapped to, (n, k)."""
    middle: Array
    """Mean of the fingertips over their paths, (3,) [m]."""
    rotation: Array
    """Axes fixed to the hand as columns, (3, 3)."""

    @cached_property
    def free_axes(self) -> Array:
        """Unit vectors along which positions are invariant, as rows, (d, 3)."""
        mean = self.motions[:, :3, :3].mean(axis=0)
        # in axes of the hand, so that the directions rotate with it
        eigenvalues, eigenvectors = np.linalg.eigh(
            self.rotation.T @ (mean + mean.T) @ self.rotation / 2.0
        )
        return np.asarray((self.rotation @ eigenvectors[:, eigenvalues > INVARIANT]).T)

    @cached_property
    def origin(self) -> Array:
        """Invariant position nearest to ``middle``, (3,) [m]."""
        rotation_parts = (self.motions[:, :3, :3] - np.eye(3)).reshape(-1, 3)
        missed = -(self.motions @ [*self.middle, 1.0])[:, :3] + self.middle
        moved = np.linalg.lstsq(rotation_parts, missed.ravel(), rcond=1e-2)[0]
        return np.asarray(self.middle + moved)

    @property
    def directions(self) -> Array:
        """Evenly distributed unit vectors that rotate with the hand, (n, 3)."""
        return np.asarray(DIRECTIONS @ self.rotation.T)

    @property
    def trivial(self) -> bool:
        """Return whether the identity is the only symmetry, so that every position is invariant."""
        return len(self.free_axes) == 3

    def along(self, vectors: Array) -> Array:
        """Project directions (n, 3) onto those that are invariant under the symmetry."""
        return np.asarray(vectors @ self.free_axes.T @ self.free_axes)

    def nearest(self, positions: Array) -> Array:
        """Return the invariant positions nearest to positions (n, 3) [m]."""
        return np.asarray(self.origin + self.along(positions - self.origin))

    def holds(self, position: Array) -> bool:
        """Return whether a position is invariant under the symmetry."""
        return bool(np.linalg.norm(self.nearest(position) - position) <= TOLERANCE)

    def alike(self, finger: int) -> list[int]:
        """Return the indices of all fingers that are images of a finger, itself included."""
        return sorted(set(self.images[:, finger].tolist()))


def symmetry_of(sweep: Sweep) -> Symmetry:
    """Determine the symmetry of the fingers of a closing hand, regardless of the palm."""
    paths = sweep.paths
    tips = np.array([path.tips for path in paths]).reshape(-1, 3)
    middle = tips.mean(axis=0) if len(tips) else np.zeros(3)
    candidates = [(np.eye(4), tuple(range(len(paths))))]
    if 1 <= len(paths) <= MAX_FINGERS:
        candidates += [
            (motion, order)
            for order in _orders(paths)
            for motion in _motions(paths, order, sweep.middle)
            if _same(paths, order, motion)
        ]
    motions, images = (np.array(column) for column in zip(*candidates, strict=True))
    return Symmetry(motions, images, middle, _axes(paths, middle))


def symmetrize(contacts: BallContacts, symmetry: Symmetry) -> BallContacts:
    """Average the contact times of fingers that are images of each other.

    Args:
        contacts: Contacts with balls at invariant positions.
        symmetry: Symmetry of the closing hand.
    """
    touched, fractions = contacts.touched.copy(), contacts.fraction.copy()
    for finger in range(touched.shape[1]):
        alike = symmetry.alike(finger)
        touched_alike = contacts.touched[:, alike]
        touched[:, finger] = touched_alike.any(axis=1)
        mean = np.where(touched_alike, contacts.fraction[:, alike], 0.0).sum(axis=1)
        mean /= np.maximum(touched_alike.sum(axis=1), 1)
        fractions[:, finger] = np.where(touched[:, finger], mean, contacts.fraction[:, finger])
    return contacts._replace(touched=touched, fraction=fractions)


def _orders(paths: Sequence[FingerPath]) -> Iterator[Order]:
    """Yield permutations of fingers whose travel equals that of their images."""
    travels = [np.linalg.norm(path.tips - path.tips[0], axis=1) for path in paths]
    alike = [
        [j for j, other in enumerate(travels) if np.abs(travel - other).max() <= 2.0 * TOLERANCE]
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


def _apart(paths: Sequence[FingerPath], order: Order) -> bool:
    """Return whether the last finger has the same distances from the others as its image."""
    last = len(order) - 1
    for other, image in enumerate(order[:-1]):
        here = np.linalg.norm(paths[last].tips - paths[other].tips, axis=1)
        there = np.linalg.norm(paths[order[last]].tips - paths[image].tips, axis=1)
        if np.abs(here - there).max() > 2.0 * TOLERANCE:
            return False
    return True


def _motions(paths: Sequence[FingerPath], order: Order, palm: Array) -> Iterator[Array]:
    """Yield the rotation and the reflection that best map fingertips to their images (Kabsch 1976).

    Where the fingertips are on one line, the middle of the palm determines the remaining angle.
    """
    one = np.concatenate([path.tips for path in paths])
    other = np.concatenate([paths[image].tips for image in order])
    first, second = one.mean(axis=0), other.mean(axis=0)
    spread = (other - second).T @ (one - first)
    spread += PALM_WEIGHT * len(one) * np.outer(palm - second, palm - first)
    # the identity is added for angles that remain undetermined
    left, _, right = np.linalg.svd(spread + 1e-9 * np.linalg.norm(spread) * np.eye(3))
    for sign in (1.0, -1.0):
        sides = np.diag([1.0, 1.0, sign * np.linalg.det(left @ right)])
        motion = np.eye(4)
        motion[:3, :3] = left @ sides @ right
        motion[:3, 3] = second - motion[:3, :3] @ first
        is_identity = order == tuple(range(len(paths))) and np.abs(motion - np.eye(4)).max() < 1e-6
        if not is_identity:
            yield motion


def _same(paths: Sequence[FingerPath], order: Order, motion: Array) -> bool:
    """Return whether a motion maps tip and surface of every finger to its image."""
    motions = motion[None]
    for path, image in zip(paths, order, strict=True):
        other = paths[image]
        missed = arrange(path.tips, motions)[0] - other.tips
        if np.linalg.norm(missed, axis=1).max() > TOLERANCE:
            return False
        for step in (0, -1):
            here, there = path.surface(step), other.surface(step)
            missed, _ = nearest(arrange(here, motions)[0], there)
            if missed.max() > SPARSE * other.spacing:
                return False
    return True


def _axes(paths: Sequence[FingerPath], middle: Array) -> Array:
    """Compute reference axes from the path of the first finger; hand axes if it is straight."""
    if not paths:
        return np.eye(3)
    open_, closed = paths[0].tips[0] - middle, paths[0].tips[-1] - middle
    across = np.cross(open_, closed)
    if np.linalg.norm(across) < 1e-3 * (open_ @ open_ + closed @ closed):
        return np.eye(3)
    x, z = open_ / np.linalg.norm(open_), across / np.linalg.norm(across)
    return np.stack([x, np.cross(z, x), z], axis=1)
