"""Right-handed form of a hand: left and right hands have mirrored grasps.

The searches depend on the axes of the grid, on the order of fingers and on that of surface points.
``right_handed`` reflects left hands and sorts both by positions, so that mirror images of a hand
are searched alike whatever the order of their files is; the result is reflected back.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from softgrasp.description.actuation import Actuator
from softgrasp.grasp_synthesis.closing_motion import closing_of, tips_of
from softgrasp.grasp_synthesis.hand_model import ClosingHand, Digit, Indices, arrange
from softgrasp.grasp_synthesis.object_field import ObjectField
from softgrasp.grasp_synthesis.orientation import hinge_axes
from softgrasp.mechanics.transforms import Array

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
        """Reflect joints, tip and centres of mass of a finger."""
        flip = self.reflection
        return digit._replace(
            joints=tuple(j._replace(axis=flip.axial(j.axis)) for j in digit.joints),
            tip=flip.vector(digit.tip),
            weights=tuple((body, mass, flip.vector(c)) for body, mass, c in digit.weights),
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
