"""Search for the pose of a described object in a closing hand.

Poses are combinations of grid positions and of orientations that lay the principal axes of the
object along the axes of the hand. The fingers of each pose close until a link touches; the joints
up to that link stop and the others close further, as in a run. A pose scores by the smallest
generalized force (force, and torque over the object's radius) that friction cones at the contacts
exert in any direction, minus losses for fingers that touch before others oppose them and for a gap
to the palm (power) or contacts off the tips (precision). The search uses no random numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from softgrasp.grasp_synthesis.closing_motion import closing_of, weights_of
from softgrasp.grasp_synthesis.hand_model import ClosingHand, Indices, arrange, spread
from softgrasp.grasp_synthesis.object_field import ObjectField, cube_rotations, distinct
from softgrasp.grasp_synthesis.symmetry import MirroredField, object_axis_of, right_handed
from softgrasp.mechanics.transforms import Array

STEPS = 13
"""Number of steps of the closing motion."""
LINK_POINTS, PALM_POINTS = 80, 250
"""Number of surface points of a link and of the parts that do not move."""
CELLS = 11
"""Number of grid positions along the longest side of the space between the fingers."""
CLEARANCE = 1e-3
"""Smallest gap between the object and the open hand [m]."""
NEAR = 0.02
"""Bound of a gap above which it is not computed exactly [m]."""
MAX_POSES = 800
"""Number of clear poses whose contacts are computed."""
MAX_WRAPPED = 100
"""Number of poses whose further contacts of outer links are computed."""
TOUCHING = 1.5e-3
"""Gap below which a link or the palm counts as touching [m]."""
FRICTION = 0.35
"""Coefficient of friction assumed at contacts [–]."""
KRONECKER_RATIO = 1.1127756842787055
"""Root of x⁷ = x + 1, whose powers make an evenly distributed sequence in six dimensions
(M. Roberts, The unreasonable effectiveness of quasirandom sequences, 2018) [–]."""
LINK_PATCH, PALM_PATCH, PATCH_RATIO = 6e-3, 15e-3, 0.4
"""Radii of the contact patches of a link and of the palm [m], and their largest ratio to the
smallest half extent of the object [–]."""
LATEST = 0.95
"""Fraction of the closing motion after which a contact is too late to press [–]."""
INNER = 0.4
"""Weight of further contacts of a finger over that of its strongest one [–]."""
UNOPPOSED_LOSS, GAP_LOSS, FAR_GAP = 0.5, 0.25, 0.03
"""Loss per fraction of the closing motion in which fingers push the object unopposed, loss for a
palm at ``FAR_GAP`` from the object in a power grasp [–], and that gap [m]."""
ACROSS_BONUS = 0.5
"""Bonus of a very long object that lies along the axis about which the fingers bend [–]."""
OFF_CENTER_LOSS = 4.0
"""Loss per distance beside the middle of the fingers [1/m], which decides between equal grasps."""
OFF_TIP_LOSS = 0.3
"""Loss for a precision grasp in which inner links touch [–]."""
OPPOSED = -0.2
"""Cosine of normals below which two contacts oppose each other [–]."""
UPRIGHT = 0.97
"""Cosine to the vertical above which an upright object stands [–]."""
NEIGHBOR_WEIGHT = 0.5
"""Weight of the mean score of neighbouring positions over that of the position itself [–]."""
TIP_SIZE = 0.01
"""Distance from the outermost point of a finger up to which its points are the fingertip [m]."""
MAX_CANDIDATES, APART = 12, 0.015
"""Number of candidates that are tried, and smallest distance between two of one orientation
[m]."""
CENTROID_RADIUS, CENTROID_SCORE, CENTROID_LOSS = 2.0, 0.08, 0.15
"""Distance up to which positions are averaged, in cells, difference of scores that reduces the
weight of a position to 1/e, and largest loss of the average [–]."""
RESOLUTION = 6
"""Decimal places up to which scores are compared; what differs less is decided by the order."""
Flags = NDArray[np.bool_]


class ObjectGrasp(NamedTuple):
    """Pose of an object in a hand, frame of the ``ClosingHand``."""

    position: Array
    """Centre of mass, (3,) [m]."""
    rotation: Array
    """Rotation of the object's frame, (3, 3)."""
    score: float
    balance: float
    """Smallest generalized force in any direction, 0 where the contacts balance no load [–]."""
    arrivals: Array
    """Contact time of each actuator group over that of the last one, (g,) [–]."""


@dataclass(frozen=True, eq=False)
class Poses:
    """m poses of the object with their scores."""

    positions: Array
    """(m, 3) [m]"""
    orientation: Indices
    """Index of the orientation, (m,)."""
    gap: Array
    """Distance from the parts of the hand that do not move, (m,) [m]."""

    def of(self, chosen: Indices) -> Poses:
        """Select some of the poses."""
        return Poses(self.positions[chosen], self.orientation[chosen], self.gap[chosen])


class Contacts(NamedTuple):
    """Contacts of m poses with c links."""

    touched: Flags
    """(m, c)"""
    points: Array
    """(m, c, 3) [m], from the centre of mass, hand axes."""
    normals: Array
    """Unit vectors into the object, (m, c, 3)."""
    fraction: Array
    """Fraction of the closing motion at the first contact of the finger, (m, c) [–]."""

    def of(self, chosen: Indices) -> Contacts:
        """Select some of the poses."""
        return Contacts._make(column[chosen] for column in self)


Column = tuple[Flags, Array, Array, Array]
"""Contacts of m poses with one link: the columns of ``Contacts``."""


class ObjectSearch:
    """Search for poses of one object in the closing motion of a hand."""

    def __init__(
        self, hand: ClosingHand, start: Sequence[float], kind: str, field: ObjectField
    ) -> None:
        """Sample the closing motion.

        Args:
            hand: The hand.
            start: Actuator targets of the open hand, (nd,).
            kind: ``power`` or ``precision``.
            field: The object.
        """
        hand = right_handed(hand)
        self.hand, self.kind = hand, kind
        self._mirrored = None if hand.reflection.is_identity else MirroredField(field)
        self.field = field if self._mirrored is None else self._mirrored
        closing = closing_of(hand)
        moves = closing.start != closing.end
        begin = np.array(start, dtype=float)
        end = np.where(moves, closing.end, begin)
        self.closing = replace(closing, start=begin, end=end)
        self.weights = weights_of(self.closing, kind)
        self.fractions = np.linspace(0.0, 1.0, STEPS)
        self._points = {
            body: spread(points, LINK_POINTS) for body, points in hand.skins.items() if len(points)
        }
        travel = self.weights * (end - begin)
        self._targets = begin + self.fractions[:, None] * travel
        self._frames = hand.frames(self._targets)
        self._digits = [self._moving(digit.bodies) for digit in hand.digits]
        self._wrapped: dict[tuple[int, int, str], dict[str, Array]] = {}
        still = [
            arrange(points, self._frames[body][:1])[0]
            for body, points in self._points.items()
            if not any(body in bodies for bodies in self._digits)
        ]
        self._still = np.concatenate([spread(hand.palm, PALM_POINTS), *still])

    def _moving(self, bodies: Sequence[str]) -> list[str]:
        """Return the links of a finger that the closing motion moves."""
        return [
            body
            for body in bodies
            if body in self._points and np.ptp(self._frames[body], axis=0).max() > 1e-9
        ]

    # Axes of the hand and orientations

    @cached_property
    def axes(self) -> Array:
        """Axes of the hand as columns, (3, 3): outward, along its long objects, across both."""
        tips = self._tips[:, 0]
        out = tips.mean(axis=0) - self.hand.middle
        posture = self._targets[STEPS // 2]
        along = np.array(object_axis_of(self.hand, self.closing, posture).axis)
        if abs(along @ out) > 0.9 * np.linalg.norm(out):  # fingers around the palm
            out = along
            along = tips[0] - tips.mean(axis=0)
        along -= out * (along @ out) / (out @ out)
        columns = [out / np.linalg.norm(out), along / np.linalg.norm(along)]
        return np.stack([*columns, np.cross(*columns)], axis=1)

    @cached_property
    def _tips(self) -> Array:
        """Middles of the fingertips, (k, s, 3) [m]."""
        tips = []
        for digit in self.hand.digits:
            points = self.hand.skins[digit.tip_body]
            near = np.linalg.norm(points - digit.tip, axis=1) <= TIP_SIZE
            tip = points[near].mean(axis=0) if near.any() else digit.tip
            tips.append((self._frames[digit.tip_body] @ [*tip, 1.0])[:, :3])
        return np.array(tips)

    def orientations(self, upright: Array | None) -> Array:
        """Return orientations in which the principal axes lie along the axes of the hand.

        Args:
            upright: Unit vector against gravity for an object that has to stand, (3,); None for
                any orientation.
        """
        if upright is not None:
            return distinct(self.field, self._standing(upright))
        return distinct(self.field, self.axes @ cube_rotations() @ self.field.axes.T)

    def _standing(self, upright: Array) -> Array:
        """Return orientations whose z axis points up, at multiples of 45° to the hand."""
        flat = [axis - upright * (axis @ upright) for axis in self.axes.T]
        x = max(flat, key=lambda axis: float(np.linalg.norm(axis)))
        x = x / np.linalg.norm(x)
        y = np.cross(upright, x)
        angles = np.arange(8) * np.pi / 4.0
        columns = [(np.cos(a) * x + np.sin(a) * y) for a in angles]
        return np.array([np.stack([c, np.cross(upright, c), upright], axis=1) for c in columns])

    # Positions

    def _grid(self) -> tuple[Array, tuple[int, int, int], float]:
        """Return positions between palm and fingertips, the grid's shape and its cell [m]."""
        reached = np.concatenate([self._tips.reshape(-1, 3), self.hand.middle[None]])
        local = reached @ self.axes
        low, high = local.min(axis=0), local.max(axis=0)
        # a large object is farther out than the fingertips
        high[0] += 0.5 * float(self.field.half_sizes.min())
        cell = max(float((high - low).max()) / CELLS, 4e-3)
        middle = (low + high) / 2.0
        sides = []
        for axis in range(3):
            half = int(np.ceil((high[axis] - low[axis]) / 2.0 / cell))
            sides.append(middle[axis] + cell * np.arange(-half, half + 1))
        grid = np.stack(np.meshgrid(*sides, indexing="ij"), axis=-1).reshape(-1, 3)
        shape = (len(sides[0]), len(sides[1]), len(sides[2]))
        return grid @ self.axes.T, shape, cell

    def _clear(self, positions: Array, rotation: Array) -> tuple[Array, Flags]:
        """Return gaps from fixed parts (m,) [m], and whether the open hand is clear of it, (m,)."""
        gap = self._gaps(self._still, positions, rotation)
        clear = gap >= CLEARANCE
        for bodies in self._digits:
            for body in bodies:
                left = np.flatnonzero(clear)
                points = arrange(self._points[body], self._frames[body][:1])[0]
                clear[left] &= self._gaps(points, positions[left], rotation) >= CLEARANCE
        return gap, clear

    def _gaps(self, points: Array, positions: Array, rotation: Array) -> Array:
        """Compute the smallest distance of points (n, 3) from the object at positions, (m,)."""
        if not len(points) or not len(positions):
            return np.full(len(positions), np.inf)
        middle, reach = _ball_around(points)
        origins = positions @ rotation
        gaps = self.field.distances(middle @ rotation - origins) - reach
        near = np.flatnonzero(gaps < NEAR)
        for first in range(0, len(near), 200):  # so that the arrays fit the processor's cache
            rows = near[first : first + 200]
            seen = (points @ rotation)[None] - origins[rows, None]
            gaps[rows] = self.field.distances(seen).min(axis=1)
        return np.asarray(gaps)

    # Contacts

    def _first_contacts(
        self, poses: Poses, rotations: Array, bodies: Sequence[str], frames: Array
    ) -> tuple[Indices, Indices, Array]:
        """Return step (s without one), link and fraction of a finger's first contact, (m,) each."""
        steps = frames.shape[1]
        smallest = np.full((len(bodies), steps, len(poses.orientation)), np.inf)
        for index in np.unique(poses.orientation):
            rows = np.flatnonzero(poses.orientation == index)
            rotation = rotations[index]
            origin = poses.positions[rows] @ rotation
            for link, body in enumerate(bodies):
                points = self._points[body]
                middle, reach = _ball_around(points)
                moved = arrange(points, frames[link]) @ rotation
                centers = arrange(middle[None], frames[link])[:, 0] @ rotation
                bound = self.field.distances(centers[:, None] - origin[None]) <= reach + 5e-3
                at, row = np.nonzero(bound)
                for first in range(0, len(at), 500):
                    part = slice(first, first + 500)
                    seen = moved[at[part]] - origin[row[part], None]
                    smallest[link, at[part], rows[row[part]]] = self.field.distances(seen).min(1)
        hit = smallest.min(axis=0) <= 0.0
        met = hit.any(axis=0)
        step = np.where(met, hit.argmax(axis=0), steps)
        at = np.minimum(step, steps - 1)
        columns = np.arange(len(poses.orientation))
        link = smallest[:, at, columns].argmin(axis=0)
        now = smallest[link, at, columns]
        before = np.minimum(smallest[:, np.maximum(at - 1, 0), columns].min(axis=0), 0.05)
        part = np.clip(before / np.maximum(before - now, 1e-9), 0.0, 1.0)
        return step, link, np.where(met, np.maximum(at - 1 + part, 0.0), steps)

    def _contacts(self, poses: Poses, rotations: Array, *, wrapped: bool) -> Contacts:
        """Determine the contacts of palm and fingers, outer links closed further if wrapped."""
        columns: list[Column] = []
        met = []
        for number, bodies in enumerate(self._digits):
            if not bodies:
                continue
            frames = np.array([self._frames[body] for body in bodies])
            met.append((number, *self._first_contacts(poses, rotations, bodies, frames)))
        met = self._stopped_together(met)
        for number, step, link, fraction in met:
            columns += self._of_finger(poses, rotations, number, step, link, fraction, wrapped)
        columns.append(self._on_palm(poses, rotations))
        touched, points, normals, fractions = zip(*columns, strict=True)
        return Contacts(*(np.stack(c, axis=1) for c in (touched, points, normals, fractions)))

    def _stopped_together(
        self, met: list[tuple[int, Indices, Indices, Array]]
    ) -> list[tuple[int, Indices, Indices, Array]]:
        """Remove contacts of fingers that stop because another finger with their actuator touches.

        A contact within one step of the first one of its group counts.
        """
        group = np.array(self.closing.group_of)
        result = []
        for number, step, link, fraction in met:
            alike = [f for n, _, _, f in met if group[n] == group[number] >= 0]
            earliest = np.min([fraction, *alike], axis=0)
            late = fraction > earliest + 1.0
            result.append((number, np.where(late, STEPS, step), link, fraction))
        return result

    def _of_finger(
        self,
        poses: Poses,
        rotations: Array,
        number: int,
        step: Indices,
        link: Indices,
        fraction: Array,
        wrapped: bool,
    ) -> Iterator[Column]:
        """Yield one column of contacts for each link of a finger."""
        bodies = self._digits[number]
        count = len(step)
        touched = np.zeros((count, len(bodies)), dtype=bool)
        points, normals = np.zeros((count, len(bodies), 3)), np.zeros((count, len(bodies), 3))
        for at, first in {(int(a), int(b)) for a, b in zip(step, link, strict=True)}:
            if at >= STEPS or self.fractions[at] > LATEST:
                continue
            rows = np.flatnonzero((step == at) & (link == first))
            stages = [(rows, {body: self._frames[body][at] for body in bodies})]
            if wrapped and first + 1 < len(bodies):
                stages = self._further(poses.of(rows), rows, rotations, number, at, first)
            for chosen, frames in stages:
                for index, body in enumerate(bodies):
                    cloud = arrange(self._points[body], frames[body][None])[0]
                    seen, where = self._nearest(cloud, poses.of(chosen), rotations)
                    near = seen <= TOUCHING
                    touched[chosen, index] = near | (index == first)
                    points[chosen, index], normals[chosen, index] = where
        part = np.minimum(fraction / (STEPS - 1), 1.0)
        for index in range(len(bodies)):
            yield touched[:, index], points[:, index], normals[:, index], part

    def _further(
        self, poses: Poses, rows: Indices, rotations: Array, number: int, at: int, first: int
    ) -> list[tuple[Indices, dict[str, Array]]]:
        """Close links beyond the first that touches until they touch; return rows with frames."""
        bodies = self._digits[number]
        frames = self._wrapping(number, at, bodies[first])
        outer = bodies[first + 1 :]
        step, _, _ = self._first_contacts(
            poses, rotations, outer, np.array([frames[body] for body in outer])
        )
        last = len(frames[bodies[0]]) - 1
        return [
            (rows[step == s], {body: frames[body][min(int(s), last)] for body in bodies})
            for s in np.unique(step)
        ]

    def _wrapping(self, number: int, at: int, body: str) -> dict[str, Array]:
        """Return frames of a finger whose joints up to a link stopped at a step, others close."""
        key = (number, at, body)
        if key not in self._wrapped:
            digit = self.hand.digits[number]
            inner = digit.bodies[: digit.bodies.index(body) + 1]
            stopped = sorted({j.actuator for j in digit.joints if j.body in inner})
            later = self._targets[at:].copy()
            later[:, stopped] = self._targets[at, stopped]
            frames = self.hand.frames(later)
            self._wrapped[key] = {b: frames[b] for b in self._digits[number]}
        return self._wrapped[key]

    def _nearest(
        self, cloud: Array, poses: Poses, rotations: Array
    ) -> tuple[Array, tuple[Array, Array]]:
        """Return the smallest distance of points, that point from the centre, and the normal."""
        count = len(poses.orientation)
        smallest = np.zeros(count)
        points, normals = np.zeros((count, 3)), np.zeros((count, 3))
        for index in np.unique(poses.orientation):
            rows = np.flatnonzero(poses.orientation == index)
            rotation = rotations[index]
            seen = (cloud @ rotation)[None] - (poses.positions[rows] @ rotation)[:, None]
            apart = self.field.distances(seen)
            lowest = apart.min(axis=1)
            weights = np.exp((lowest[:, None] - apart) / 1e-3)
            weights /= weights.sum(axis=1, keepdims=True)
            middle = np.einsum("mn,mni->mi", weights, seen)
            smallest[rows] = lowest
            points[rows] = middle @ rotation.T
            normals[rows] = self.field.normals(middle) @ rotation.T
        return smallest, (points, normals)

    def _on_palm(self, poses: Poses, rotations: Array) -> Column:
        """Return the column of contacts with the palm."""
        if not len(self._still) or self.kind != "power":
            none = np.zeros((len(poses.orientation), 3))
            return none[:, 0] > 0.0, none, none, none[:, 0]
        apart, (points, normals) = self._nearest(self._still, poses, rotations)
        return apart <= CLEARANCE + 4.0 * TOUCHING, points, normals, np.zeros(len(apart))

    # Scores

    @cached_property
    def _loads(self) -> Array:
        """Unit generalized forces, (n, 6), that mirror images of a hand have in common."""
        index = np.arange(40) + 0.5
        # Kronecker sequence in six dimensions
        steps = KRONECKER_RATIO ** -np.arange(1.0, 7.0)
        vectors = np.modf(index[:, None] * steps)[0] * 2.0 - 1.0
        vectors = np.concatenate([vectors, np.eye(6), vectors * [1, 1, 1, 0, 0, 0]])
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        reflected = []
        for signs in product((1.0, -1.0), repeat=3):
            other = np.array(signs)
            # torques are axial vectors
            reflected.append(vectors * [*other, *(other * other.prod())])
        both = np.concatenate(reflected)
        loads = np.concatenate([both, -both])
        return np.hstack([loads[:, :3] @ self.axes.T, loads[:, 3:] @ self.axes.T])

    def _balance(self, contacts: Contacts) -> Array:
        """Compute the smallest generalized force in any direction, (m,) [–].

        A finger counts with its strongest contact and a part of the others.
        """
        loads = self._loads
        size = self.field.radius
        supports = np.zeros((len(contacts.touched), len(loads)))
        column = 0
        for bodies in [*self._digits, ["palm"]]:
            if not bodies:
                continue
            patch = PALM_PATCH if bodies == ["palm"] else LINK_PATCH
            patch = min(patch, PATCH_RATIO * float(self.field.half_sizes.min()))
            strongest = np.zeros(supports.shape)
            total = np.zeros(supports.shape)
            for _ in bodies:
                arm, normal = contacts.points[:, column] / size, contacts.normals[:, column]
                # force of the contact that does most work on the load
                work = loads[None, :, :3] + np.cross(loads[None, :, 3:], arm[:, None])
                along = np.einsum("mni,mi->mn", work, normal)
                twist = (
                    loads[None, :, 3:]
                    - np.einsum("ni,mi->mn", loads[:, 3:], normal)[..., None] * normal[:, None]
                )
                along += patch / size * np.sqrt(np.einsum("mni,mni->mn", twist, twist))
                across = np.sqrt(
                    np.maximum(np.einsum("mni,mni->mn", work, work) - along * along, 0.0)
                )
                value = np.maximum(along + FRICTION * across, 0.0)
                value *= contacts.touched[:, column, None]
                strongest = np.maximum(strongest, value)
                total += value
                column += 1
            supports += (1.0 - INNER) * strongest + INNER * total
        return np.asarray(supports.min(axis=1))

    def _scored(self, poses: Poses, contacts: Contacts) -> tuple[Array, Array]:
        """Return scores and balances of poses, (m,) each."""
        balance = np.zeros(len(poses.orientation))
        several = np.flatnonzero(contacts.touched.sum(axis=1) > 1)
        for first in range(0, len(several), 100):
            part = several[first : first + 100]
            balance[part] = self._balance(contacts.of(part))
        score = balance - UNOPPOSED_LOSS * self._unopposed(contacts)
        if self.kind == "power":
            score -= GAP_LOSS * np.clip(poses.gap / FAR_GAP, 0.0, 1.0)
        else:
            score -= OFF_TIP_LOSS * self._off_tips(contacts)
        return score, balance

    def _unopposed(self, contacts: Contacts) -> Array:
        """Compute the fraction of the motion in which the first contact is not opposed, (m,)."""
        times = np.where(contacts.touched, contacts.fraction, 2.0)
        times[:, -1] = np.where(contacts.touched[:, -1], times[:, :-1].min(axis=1), 2.0)
        first = np.argmin(times[:, :-1], axis=1)
        rows = np.arange(len(times))
        against = np.einsum("mci,mi->mc", contacts.normals, contacts.normals[rows, first]) < OPPOSED
        then = np.where(against & contacts.touched, times, 2.0).min(axis=1)
        return np.where(then <= 1.0, then - times[rows, first], 1.0)

    def _off_tips(self, contacts: Contacts) -> Array:
        """Compute the fraction of the fingers' contacts that are not on last links, (m,)."""
        last = np.cumsum([len(bodies) for bodies in self._digits if bodies]) - 1
        inner = np.ones(contacts.touched.shape[1], dtype=bool)
        inner[[*last, -1]] = False
        count = np.maximum(contacts.touched.sum(axis=1), 1)
        return np.asarray((contacts.touched & inner).sum(axis=1) / count)

    # Search

    def best(
        self, upright: Array | None = None, rotation: Array | None = None
    ) -> Iterator[ObjectGrasp]:
        """Yield the best poses, best first; none where no clear pose touches two fingers.

        Args:
            upright: As for ``orientations``.
            rotation: The only orientation to try, (3, 3); chosen by default.
        """
        if not any(self._digits):
            return
        if self._mirrored is None:
            yield from self._best(upright, rotation)
            return
        reflection, plane = self.hand.reflection, self._mirrored.plane
        upright = None if upright is None else reflection.vector(upright)
        rotation = None if rotation is None else reflection.linear @ rotation @ plane
        for grasp in self._best(upright, rotation):
            yield grasp._replace(
                position=reflection.point(grasp.position),
                rotation=reflection.linear @ grasp.rotation @ plane,
            )

    def _best(self, upright: Array | None, rotation: Array | None) -> Iterator[ObjectGrasp]:
        """Yield the best poses in the frame of the right-handed hand, best first."""
        rotations = self.orientations(upright) if rotation is None else rotation[None]
        positions, shape, cell = self._grid()
        poses, scores = self._coarse(positions, shape, rotations)
        chosen: list[tuple[int, Array]] = []
        for index in np.argsort(-scores.round(RESOLUTION), kind="stable").tolist():
            orientation = poses.orientation[index]
            center = self._centroid(poses, scores, index, cell)
            if all(
                poses.orientation[other] != orientation or np.linalg.norm(center - c) > APART
                for other, c in chosen
            ):
                chosen.append((index, center))
                starts = np.array([center, poses.positions[index]])
                yield self._nearby(starts, rotations[orientation])
            if len(chosen) == MAX_CANDIDATES:
                break

    @staticmethod
    def _centroid(poses: Poses, scores: Array, index: int, cell: float) -> Array:
        """Average the positions around a pose by their scores, (3,) [m].

        It depends less on the sampling of surfaces than the position of the best score.
        """
        offsets = poses.positions - poses.positions[index]
        near = np.linalg.norm(offsets, axis=1) <= CENTROID_RADIUS * cell
        near &= poses.orientation == poses.orientation[index]
        weights = np.exp((scores[near] - scores[index]) / CENTROID_SCORE)
        return np.asarray(weights @ poses.positions[near] / weights.sum())

    def _coarse(
        self, positions: Array, shape: tuple[int, int, int], rotations: Array
    ) -> tuple[Poses, Array]:
        """Score the positions of the grid in all orientations; return the best poses."""
        every = []
        for index, rotation in enumerate(rotations):
            gap, clear = self._clear(positions, rotation)
            rows = np.flatnonzero(clear)
            every.append((rows, np.full(len(rows), index), gap[rows]))
        rows, orientation, gap = (np.concatenate(c) for c in zip(*every, strict=True))
        if len(rows) > MAX_POSES:
            key = gap
            if self.kind == "precision":
                key = np.linalg.norm(positions[rows] - self._tips.mean(axis=(0, 1)), axis=1)
            nearest = np.sort(np.argsort(key.round(RESOLUTION), kind="stable")[:MAX_POSES])
            rows, orientation, gap = rows[nearest], orientation[nearest], gap[nearest]
        poses = Poses(positions[rows], orientation, gap)
        if not len(rows):
            return poses, gap
        prior = self._prior(rotations)
        scores, _ = self._scored(poses, self._contacts(poses, rotations, wrapped=False))
        preferred = prior[orientation] - self._off_center(poses.positions)
        scores += preferred
        top = np.sort(np.argsort(-scores.round(RESOLUTION), kind="stable")[:MAX_WRAPPED])
        poses, rows, orientation = poses.of(top), rows[top], orientation[top]
        scores, _ = self._scored(poses, self._contacts(poses, rotations, wrapped=True))
        scores += preferred[top]
        return poses, self._smoothed(scores, rows, orientation, shape)

    def _off_center(self, positions: Array) -> Array:
        """Return the loss of positions beside the middle of the fingers, (m,)."""
        middle = self._tips.mean(axis=(0, 1))
        return np.asarray(OFF_CENTER_LOSS * np.abs((positions - middle) @ self.axes[:, 1]))

    def _prior(self, rotations: Array) -> Array:
        """Return the bonus of orientations that lay a long object across the fingers, (o,)."""
        middle, longest = np.sort(self.field.half_sizes)[1:]
        axis = self.field.axes[:, int(np.argmax(self.field.half_sizes))]
        return np.asarray(
            ACROSS_BONUS * (1.0 - middle / longest) * np.abs(rotations @ axis @ self.axes[:, 1])
        )

    def _smoothed(
        self, scores: Array, rows: Indices, orientation: Indices, shape: tuple[int, int, int]
    ) -> Array:
        """Average the scores with those of neighbouring grid positions, (m,)."""
        cells = np.stack(np.unravel_index(rows, shape), axis=1)
        apart = np.abs(cells[:, None] - cells[None]).sum(axis=2)
        near = (apart <= 1) & (orientation[:, None] == orientation[None])
        worst = float(scores.min())
        mean = (near @ scores + (7 - near.sum(axis=1)) * worst) / 7.0
        return np.asarray((1.0 - NEIGHBOR_WEIGHT) * scores + NEIGHBOR_WEIGHT * mean)

    def _nearby(self, starts: Array, rotation: Array) -> ObjectGrasp:
        """Return the first of two positions (2, 3) unless it is not clear or scores worse."""
        gap, clear = self._clear(starts, rotation)
        poses = Poses(starts, np.zeros(len(starts), dtype=int), gap)
        contacts = self._contacts(poses, rotation[None], wrapped=True)
        scores, balances = self._scored(poses, contacts)
        row = 0 if clear[0] and scores[0] >= scores[1] - CENTROID_LOSS else 1
        arrivals = self._arrivals(contacts.of(np.array([row])))
        score, balance = float(scores[row]), float(balances[row])
        return ObjectGrasp(starts[row], rotation, score, balance, arrivals)

    def _arrivals(self, contacts: Contacts) -> Array:
        """Compute the contact time of each actuator group over that of the last one, (g,)."""
        arrivals = np.full(len(self.closing.groups), np.nan)
        column = 0
        for number, bodies in enumerate(self._digits):
            mine = slice(column, column + len(bodies))
            column += len(bodies)
            group = self.closing.group_of[number]
            if bodies and group >= 0 and contacts.touched[0, mine].any():
                time = contacts.fraction[0, mine].min()
                arrivals[group] = np.fmin(arrivals[group], time)
        if np.isnan(arrivals).all():
            return np.ones(len(arrivals))
        arrivals = np.where(np.isnan(arrivals), np.nanmean(arrivals), arrivals)
        return np.asarray(np.maximum(arrivals / max(arrivals.max(), 1e-9), 0.3))


def _ball_around(points: Array) -> tuple[Array, float]:
    """Return middle (3,) and radius of a ball around points (n, 3) [m]."""
    middle = points.mean(axis=0)
    return middle, float(np.linalg.norm(points - middle, axis=1).max())
