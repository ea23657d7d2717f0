"""Symmetry, orientation and handedness of a closing hand.

Rotations and reflections of a ``Symmetry`` map the fingers onto each other; a position that it
leaves fixed is reached by symmetric fingers at the same time. ``object_axis_of`` and
``up_directions`` orient elongated objects in a hand, and the hand against gravity.

Left and right hands have mirrored grasps. The searches depend on the axes of the grid, on the order
of fingers and on that of surface points. ``right_handed`` reflects left hands and sorts both by
positions, so that mirror images of a hand are searched alike whatever the order of their files is;
the result is reflected back.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from softgrasp.description.actuation import Actuator
from softgrasp.grasp_synthesis.closing_motion import PARALLEL, Closing, closing_of, tips_of
from softgrasp.grasp_synthesis.hand_model import ClosingHand, Digit, Indices, arrange, nearest
from softgrasp.grasp_synthesis.object_field import ObjectField
from softgrasp.grasp_synthesis.scoring import DIRECTIONS
from softgrasp.grasp_synthesis.sweep import BallContacts, FingerPath, Sweep
from softgrasp.mechanics.transforms import Array, triple

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
    item = np.concatenate([path.tips for path in paths])
    other = np.concatenate([paths[image].tips for image in order])
    first, second = item.mean(axis=0), other.mean(axis=0)
    spread = (other - second).T @ (item - first)
    spread += PALM_WEIGHT * len(item) * np.outer(palm - second, palm - first)
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


def tip_compliance(hand: ClosingHand) -> float:
    """Estimate how far forces on the fingertips displace an object held by them [m/N].

    With the distances l of the fingertip from the hinges, held with stiffness k, a finger yields by
    Σ l²/k at most (Salisbury 1980, active stiffness control); the fingers are springs side by side.

    Args:
        hand: The hand.
    """
    frames = hand.frames(np.array([hand.rest]))
    springs = 0.0
    for digit, (tip,) in zip(hand.digits, tips_of(hand, frames), strict=True):
        levers = [
            ((tip - frames[joint.body][0, :3, 3]) ** 2).sum() / joint.stiffness
            for joint in digit.joints
            if joint.axis.any()
        ]
        springs += 1.0 / max(sum(levers), 1e-12)
    return 1.0 / max(springs, 1e-12)


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


CHIRAL = 0.02
"""Skewness of the positions of fingertips about the palm above which a hand has a side [–]."""
PATH = np.linspace(0.0, 1.0, 5)
"""Fractions of the closing motion at which they are compared [–]."""
SORTED_ALONG = np.array([0.836, 0.479, 0.268])
"""Direction along which fingers and surface points are sorted, in no symmetry plane [–]."""


class Reflection(NamedTuple):
    """Reflection in a plane, or the identity; it is its own inverse."""

    matrix: Array
    """Homogeneous transform, (4, 4)."""

    @property
    def linear(self) -> Array:
        """Return the part for vectors, (3, 3)."""
        return np.asarray(self.matrix[:3, :3])

    @property
    def is_identity(self) -> bool:
        """Return whether it changes nothing."""
        return bool(np.trace(self.matrix) > 3.5)

    def point(self, point: Array) -> Array:
        """Reflect positions, (…, 3) [m]."""
        return np.asarray(point @ self.linear.T + self.matrix[:3, 3])

    def vector(self, vector: Array) -> Array:
        """Reflect vectors, (…, 3)."""
        return np.asarray(vector @ self.linear.T)

    def axial(self, vector: Array) -> Array:
        """Reflect axes of rotation, (…, 3)."""
        return self.vector(vector) * (1.0 if self.is_identity else -1.0)


IDENTITY = Reflection(np.eye(4))


def in_plane(normal: Array, point: Array) -> Reflection:
    """Make the reflection in the plane through a point (3,) [m] with a unit normal (3,)."""
    matrix = np.eye(4)
    matrix[:3, :3] -= 2.0 * np.outer(normal, normal)
    matrix[:3, 3] = 2.0 * (normal @ point) * normal
    return Reflection(matrix)


class RightHand:
    """A hand, reflected where it is a left one, with sorted fingers and surface points."""

    def __init__(self, hand: ClosingHand, reflection: Reflection) -> None:
        """Reflect and sort.

        Args:
            hand: The hand.
            reflection: That of ``reflection_of``.
        """
        self._hand, self.reflection = hand, reflection
        self.actuators: Sequence[Actuator] = hand.actuators
        self.rest: Sequence[float] = hand.rest
        self.up = None if hand.up is None else reflection.vector(hand.up)
        self.middle = reflection.point(hand.middle)
        palm = reflection.point(hand.palm)
        self.palm = palm[_order(palm)]
        begin = self.frames(np.array([hand.rest]))
        self.skins = {
            body: self._sorted(reflection.vector(points), begin[body])
            for body, points in hand.skins.items()
        }
        digits = [self._reflected(digit) for digit in hand.digits]
        tips = [arrange(d.tip[None], begin[d.tip_body])[0, 0] for d in digits]
        self.digits = [digits[index] for index in _order(np.array(tips).reshape(-1, 3))]

    def frames(self, targets: Array) -> dict[str, Array]:
        """Compute the frames of the links for s postures, (s, 4, 4) each.

        Args:
            targets: Actuator targets, (s, nd).
        """
        frames = self._hand.frames(targets)
        if self.reflection.is_identity:
            return dict(frames)
        within = np.eye(4)
        within[:3, :3] = self.reflection.linear
        return {body: self.reflection.matrix @ frame @ within for body, frame in frames.items()}

    @staticmethod
    def _sorted(points: Array, frame: Array) -> Array:
        return np.asarray(points[_order(arrange(points, frame)[0])])

    def _reflected(self, digit: Digit) -> Digit:
        """Reflect joints and tip of a finger."""
        flip = self.reflection
        return digit._replace(
            joints=tuple(j._replace(axis=flip.axial(j.axis)) for j in digit.joints),
            tip=flip.vector(digit.tip),
        )


class MirroredField(ObjectField):
    """Signed distances from the mirror image of an object in a plane of its principal axes."""

    def __init__(self, field: ObjectField) -> None:
        """Choose the plane in which the object differs least from its image."""
        self.__dict__.update(field.__dict__)
        self._field = field
        planes = [in_plane(axis, np.zeros(3)).linear for axis in field.axes.T]
        missed = [np.abs(field.distances(field.samples @ plane)).max() for plane in planes]
        self.plane = planes[int(np.argmin(np.round(missed, 5)))]
        """Reflection in that plane, (3, 3)."""
        self.samples = field.samples @ self.plane

    def distances(self, points: Array) -> Array:
        """Compute signed distances of points (…, 3) [m] in the object's frame, negative inside."""
        return self._field.distances(points @ self.plane)

    def normals(self, points: Array) -> Array:
        """Compute unit vectors into the object at points (n, 3) [m] near its surface, (n, 3)."""
        return np.asarray(self._field.normals(points @ self.plane) @ self.plane)


def right_handed(hand: ClosingHand) -> RightHand:
    """Return the right-handed form of a hand."""
    return hand if isinstance(hand, RightHand) else RightHand(hand, reflection_of(hand))


def reflection_of(hand: ClosingHand) -> Reflection:
    """Return the reflection that makes a left hand a right one; the identity for other hands.

    The plane is one of the hand frame, as files of left and right hands are mirrored in such a one:
    that about whose normal fingers bend. Hands whose fingertips lie mainly on its positive side are
    right ones.
    """
    closing = closing_of(hand)
    postures = closing.start + PATH[:, None] * (closing.end - closing.start)
    axes = hinge_axes(hand, closing, postures[len(PATH) // 2])
    hinges = np.concatenate([np.zeros((1, 3)), *axes])
    if not hinges.any():
        return IDENTITY
    normal = np.eye(3)[int(np.argmax(np.round((hinges**2).sum(axis=0), 5)))]
    position = (tips_of(hand, hand.frames(postures)) - hand.middle) @ normal
    if (position**3).mean() >= -CHIRAL * (position**2).mean() ** 1.5:
        return IDENTITY
    return in_plane(normal, np.zeros(3))


def _order(points: Array) -> Indices:
    """Return the order of points (n, 3) along ``SORTED_ALONG``, (n,)."""
    return np.argsort(points @ SORTED_ALONG, kind="stable")
