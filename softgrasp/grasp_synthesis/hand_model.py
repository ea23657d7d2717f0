"""Interface of a hand for grasp synthesis, and its implementation for described hands.

A ``ClosingHand`` has actuators, fingers (``Digit``), surface points and forward kinematics. All
vectors are in the hand frame [m] unless noted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from softgrasp.description.actuation import Actuator
from softgrasp.description.finger import Finger
from softgrasp.description.hand import Hand
from softgrasp.mechanics.geometry import farthest_first
from softgrasp.mechanics.hand_kinematics import chain_links, link_frames
from softgrasp.mechanics.transforms import Array

ALONG_Z = np.array([0.0, 0.0, 1.0])
COARSE_POINTS, FINE_POINTS = 60, 200
"""Number of surface points of a link in the coarse and in the fine search."""
Indices = NDArray[np.int64]


class DigitJoint(NamedTuple):
    """A joint of a finger that an actuator moves."""

    actuator: int
    """Index of the actuator, which may move several joints of a finger."""
    body: str
    """Name of the link that the joint moves."""
    axis: Array
    """Unit vector along a hinge, (3,), link frame; zeros for a slide."""
    stiffness: float = np.inf
    """Stiffness with which a hinge is held [N·m/rad]; infinite for a rigid hinge."""


class Digit(NamedTuple):
    """A finger without the links that it shares with all other fingers."""

    name: str
    joints: tuple[DigitJoint, ...]
    """Joints from the palm outwards."""
    bodies: tuple[str, ...]
    """Names of the links from the palm outwards; the last one carries the tip."""
    tip_body: str
    """Name of the link with the tip."""
    tip: Array
    """Fingertip, (3,) [m], frame of ``tip_body``."""


class ClosingHand(Protocol):
    """A hand whose closing motion can be computed."""

    @property
    def actuators(self) -> Sequence[Actuator]:
        """All actuators of the hand; those of no finger are fixed."""

    @property
    def rest(self) -> Sequence[float]:
        """Targets of the posture in which the hand is described, (nd,)."""

    @property
    def digits(self) -> Sequence[Digit]:
        """Its fingers."""

    @property
    def skins(self) -> Mapping[str, Array]:
        """Surface points of each link of a finger, (n, 3) [m], link frame."""

    @property
    def palm(self) -> Array:
        """Points on and inside parts that no finger actuator moves, (n, 3); may be empty."""

    @property
    def middle(self) -> Array:
        """Middle of the palm, (3,)."""

    @property
    def up(self) -> Array | None:
        """Unit vector against gravity, hand frame, (3,); None where the search chooses it."""

    def frames(self, targets: Array) -> Mapping[str, Array]:
        """Compute the frames of the links for s postures, (s, 4, 4) each.

        Args:
            targets: Actuator targets, (s, nd).
        """


class SurfacePoints(NamedTuple):
    """Surface points of the links in their frames, (n, 3) each [m]."""

    coarse: Mapping[str, Array]
    fine: Mapping[str, Array]


# Described hands


class DescribedHand:
    """Hand of rigid fingers from its description; actuators of a wrist are fixed."""

    def __init__(self, hand: Hand, surfaces: Mapping[str, Array]) -> None:
        """Assemble fingers, palm and surface points.

        Args:
            hand: The hand; its grasps are not used.
            surfaces: Surface points of each body by name, (n, 3) [m], body frame; those of ``palm``
                in the hand frame, some of them inside it.
        """
        self._hand = hand
        self.actuators = hand.actuators
        self.up = ALONG_Z
        self.rest = [min(max(0.0, d.limits[0]), d.limits[1]) for d in hand.actuators]
        shared = _distribute(hand)
        self.digits = [self._digit(finger, shared) for finger in _ends_of(hand)]
        finger_bodies = {body for digit in self.digits for body in digit.bodies}
        self.skins = {body: points for body, points in surfaces.items() if body in finger_bodies}
        frames = self.frames(np.array([self.rest]))
        parts = {
            body: surfaces[body]
            for body in surfaces
            if body not in finger_bodies and body in frames
        }
        placed = {b: p @ frames[b][0, :3, :3].T + frames[b][0, :3, 3] for b, p in parts.items()}
        palm = surfaces.get("palm", np.zeros((0, 3)))
        self.palm = np.concatenate([palm, *placed.values()])
        carrier = _carrier_of(hand, shared)
        if carrier in placed:
            self.middle = np.asarray(placed[carrier].mean(axis=0))
        elif carrier == "" and len(palm):
            self.middle = np.asarray(palm.mean(axis=0))
        else:
            bases = [finger.base.position for finger in hand.fingers]
            self.middle = np.asarray(np.mean(bases, axis=0))

    def frames(self, targets: Array) -> dict[str, Array]:
        """Compute the frames of all links for postures (s, nd), (s, 4, 4) each."""
        postures = [self._hand.posture(row) for row in targets.tolist()]
        joints = {name: np.array([posture[name] for posture in postures]) for name in postures[0]}
        return link_frames(self._hand, joints)

    def _digit(self, end: Finger, shared: set[str]) -> Digit:
        """Assemble a finger from the chain that ends with it."""
        path = [finger for finger in _path_to(self._hand, end) if finger.name not in shared]
        rows = [(finger, row) for finger in path for row in finger.phalanges]
        leaders = {c.joint: c.leader for c in self._hand.couplings}
        numbers = {actuator.joint: n for n, actuator in enumerate(self._hand.actuators)}
        joints = []
        for finger, row in rows:
            name = finger.joint_of(row)
            while name in leaders:
                name = leaders[name]
            if name in numbers:
                axis = ALONG_Z if row.joint == "revolute" else np.zeros(3)
                held = self._hand.rows_by_joint[name].servo_stiffness
                joints.append(DigitJoint(numbers[name], finger.body_of(row), axis, held))
        bodies = tuple(finger.body_of(row) for finger, row in rows)
        return Digit(end.name, tuple(joints), bodies, bodies[-1], chain_links(end)[-1].end)


def _ends_of(hand: Hand) -> list[Finger]:
    """Return the fingers on which no other finger is mounted."""
    carriers = {finger.on for finger in hand.fingers}
    return [
        finger
        for finger in hand.fingers
        if not carriers & {finger.body_of(row) for row in finger.phalanges}
    ]


def _path_to(hand: Hand, end: Finger) -> Sequence[Finger]:
    """Return a finger and those that it is mounted on, from the palm outwards."""
    path = [end]
    while path[0].on:
        on = path[0].on
        path.insert(
            0, next(f for f in hand.fingers if on in {f.body_of(row) for row in f.phalanges})
        )
    return path


def _distribute(hand: Hand) -> set[str]:
    """Return the names of fingers on which all others are mounted, the joints of a wrist."""
    paths = [{finger.name for finger in _path_to(hand, end)[:-1]} for end in _ends_of(hand)]
    return set.intersection(*paths)


def _carrier_of(hand: Hand, shared: set[str]) -> str:
    """Return the body of the wrist that carries all fingers; empty without a wrist."""
    wrist = [finger for finger in hand.fingers if finger.name in shared]
    return wrist[-1].body_of(wrist[-1].phalanges[-1]) if wrist else ""


# Surface points


def thin_surfaces(hand: ClosingHand) -> SurfacePoints:
    """Reduce the surface points of a hand to the numbers of the coarse and the fine search."""
    fine = {body: spread(points, FINE_POINTS) for body, points in hand.skins.items()}
    return SurfacePoints({body: points[:COARSE_POINTS] for body, points in fine.items()}, fine)


def spread(points: Array, count: int) -> Array:
    """Select at most ``count`` of the points (n, 3) by farthest-point sampling.

    The first part of them is spread over the surface too.
    """
    return np.asarray(points[farthest_first(points, count)])


def nearest(positions: Array, cloud: Array) -> tuple[Array, Indices]:
    """Compute distance [m] and index of the nearest point of a cloud for positions (n, 3)."""
    # for few points a matrix product is faster than a search tree
    squares = (cloud * cloud).sum(axis=1) - 2.0 * (positions @ cloud.T)
    point = squares.argmin(axis=1)
    squared = squares[np.arange(len(positions)), point] + (positions * positions).sum(axis=1)
    return np.sqrt(np.maximum(squared, 0.0)), point


def length(vectors: Array) -> Array:
    """Compute the lengths of vectors (m, 3), (m,)."""
    return np.asarray(np.sqrt(np.einsum("mi,mi->m", vectors, vectors)))


def local(positions: Array, frames: Array) -> Array:
    """Transform positions (m, 3) into frames (s, 4, 4), (s, m, 3)."""
    return np.asarray((positions[None] - frames[:, None, :3, 3]) @ frames[:, :3, :3])


def arrange(points: Array, frames: Array) -> Array:
    """Transform points (n, 3) out of frames (s, 4, 4), (s, n, 3)."""
    return np.asarray(points @ frames[:, :3, :3].transpose(0, 2, 1) + frames[:, None, :3, 3])


def move(points: Array, frames: Array) -> Array:
    """Transform points (m, 3) out of frames (m, 4, 4), one each, (m, 3)."""
    return np.asarray(np.einsum("mij,mj->mi", frames[:, :3, :3], points) + frames[:, :3, 3])
