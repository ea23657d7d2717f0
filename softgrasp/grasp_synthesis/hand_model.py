"""What the finder asks of a hand: drives, fingers, and where its links are for given targets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from softgrasp.description.actuation import Actuator
from softgrasp.description.finger import Finger
from softgrasp.description.hand import Hand
from softgrasp.mechanics.geometry import farthest_first
from softgrasp.mechanics.hand_kinematics import chain_links, link_frames
from softgrasp.mechanics.transforms import Array

# --------------------
# A described hand, whose links are rows of fingers, as the finder sees it.


ALONG_Z = np.array([0.0, 0.0, 1.0])


class DescribedHand:
    """Postures of a hand's rigid fingers; drives of a wrist stand still."""

    def __init__(self, hand: Hand, surfaces: Mapping[str, Array]) -> None:
        """Look once at what stands on what.

        Args:
            hand: The hand; its grasps are not looked at.
            surfaces: Points (n, 3) [m] on each body in its frame, by its name; ``palm`` holds those
                of the palm in the hand's frame, some inside it too.
        """
        self._hand = hand
        self.actuators = hand.actuators
        self.up = ALONG_Z
        self.rest = [min(max(0.0, d.limits[0]), d.limits[1]) for d in hand.actuators]
        shared = _shared(hand)
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
        """Frames of all links for postures (s, nd), (s, 4, 4) each."""
        postures = [self._hand.posture(row) for row in targets.tolist()]
        joints = {name: np.array([posture[name] for posture in postures]) for name in postures[0]}
        return link_frames(self._hand, joints)

    def _digit(self, end: Finger, shared: set[str]) -> Digit:
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
    """The fingers on which no other one stands."""
    carriers = {finger.on for finger in hand.fingers}
    return [
        finger
        for finger in hand.fingers
        if not carriers & {finger.body_of(row) for row in finger.phalanges}
    ]


def _path_to(hand: Hand, end: Finger) -> Sequence[Finger]:
    """A finger and those that it stands on, from the palm outwards."""
    path = [end]
    while path[0].on:
        on = path[0].on
        path.insert(
            0, next(f for f in hand.fingers if on in {f.body_of(row) for row in f.phalanges})
        )
    return path


def _shared(hand: Hand) -> set[str]:
    """Names of fingers that carry all others: a wrist's."""
    paths = [{finger.name for finger in _path_to(hand, end)} for end in _ends_of(hand)]
    return set.intersection(*paths) if len(paths) > 1 else set()


def _carrier_of(hand: Hand, shared: set[str]) -> str:
    """The body of a wrist that carries all fingers, empty where they stand on the palm."""
    wrist = [finger for finger in hand.fingers if finger.name in shared]
    return wrist[-1].body_of(wrist[-1].phalanges[-1]) if wrist else ""


# --------------------
# Points on the links of a hand, as many as a look needs.


COARSE_POINTS, FINE_POINTS = 60, 200
"""Of a link, for the first look and for the last one."""


class Skins(NamedTuple):
    """Points on the links of a hand in their frames, (n, 3) each [m]."""

    coarse: Mapping[str, Array]
    fine: Mapping[str, Array]


def thinned(hand: ClosingHand) -> Skins:
    """Points on the links of a hand, as many as the first and the last look need."""
    fine = {body: spread(points, FINE_POINTS) for body, points in hand.skins.items()}
    return Skins({body: points[:COARSE_POINTS] for body, points in fine.items()}, fine)


# --------------------
# Points on links: thinned, placed, and the nearest ones.


Indices = NDArray[np.int64]


def nearest(positions: Array, cloud: Array) -> tuple[Array, Indices]:
    """Distance of places (n, 3) from the nearest point of a cloud [m] and its number, (n,) each."""
    # few points: one product of matrices is quicker than a search tree
    squares = (cloud * cloud).sum(axis=1) - 2.0 * (positions @ cloud.T)
    point = squares.argmin(axis=1)
    squared = squares[np.arange(len(positions)), point] + (positions * positions).sum(axis=1)
    return np.sqrt(np.maximum(squared, 0.0)), point


def spread(points: Array, count: int) -> Array:
    """At most so many of the points (n, 3), each the farthest from those before it.

    Any first part of them is spread over the surface too.
    """
    return np.asarray(points[farthest_first(points, count)])


def length(vectors: Array) -> Array:
    """Of (m, 3): (m,)."""
    return np.asarray(np.sqrt(np.einsum("mi,mi->m", vectors, vectors)))


def local(positions: Array, frames: Array) -> Array:
    """Places (m, 3) as seen from frames (s, 4, 4): (s, m, 3)."""
    return np.asarray((positions[None] - frames[:, None, :3, 3]) @ frames[:, :3, :3])


def placed(points: Array, frames: Array) -> Array:
    """Points (n, 3) at frames (s, 4, 4): (s, n, 3)."""
    return np.asarray(points @ frames[:, :3, :3].transpose(0, 2, 1) + frames[:, None, :3, 3])


def moved(points: Array, frames: Array) -> Array:
    """Points (m, 3), each at a frame of its own (m, 4, 4): (m, 3)."""
    return np.asarray(np.einsum("mij,mj->mi", frames[:, :3, :3], points) + frames[:, :3, 3])


# --------------------
# How far a held ball sinks, as the servos of the fingers give way under its weight and theirs.
#
# The fingers hold still at their touching points as springs: with the levers l of the hinges
# between
# palm and point, which are held with stiffness k, a point gives C = Σ l·lᵀ / k for a force on it
# (K⁻¹ = J·K_q⁻¹·Jᵀ, Salisbury 1980, active stiffness control). Friction is taken to hold.


WEIGHT = 1.0
"""Of the ball [N]."""
GRAVITY = 9.81
"""[m/s²]"""
CONTACT = 1e-5
"""What any touching point gives [m/N]."""


@dataclass(frozen=True, eq=False)
class Hinges:
    """The hinges of a finger that give way, at all steps of a closing motion."""

    axes: Array
    """(j, s, 3)"""
    positions: Array
    """Origins of their links, which lie on the axes, (j, s, 3) [m]."""
    of_actuator: Array
    """1 where a drive holds a hinge, which give way as one, (d, j)."""
    stiffness: Array
    """Of each of those drives, (d,) [N·m/rad]."""
    carries: NDArray[np.bool_]
    """Whether a hinge lies between the palm and a moving link, (j, b)."""
    torques: Array
    """Of the links' own weight, for gravity against each axis of the hand, (d, s, 3) [N·m]."""

    def gives(
        self, points: Array, step: NDArray[np.int64], link: NDArray[np.int64], up: Array
    ) -> tuple[Array, Array]:
        """Compliance of touching points [m/N], (m, 3, 3), and how far they sink alone [m], (m, 3).

        Args:
            points: In the hand's frame [m], (m, 3).
            step: At which they touch, (m,).
            link: Number of the moving link that they are on, (m,).
            up: Unit vector against gravity, (3,).
        """
        arms = points - self.positions[:, step]
        each = _crossed(self.axes[:, step], arms) * self.carries[:, link, None]
        levers = np.einsum("dj,jmi->dmi", self.of_actuator, each)
        deflections = levers / self.stiffness[:, None, None]
        compliance = np.einsum("dmi,dmj->mij", levers, deflections) + CONTACT * np.eye(3)
        return compliance, np.einsum("dmi,dm->mi", deflections, self.torques[:, step] @ up)


def hinges_of(digit: Digit, frames: Mapping[str, Array], moving: list[str]) -> Hinges:
    """The hinges of a finger with a stiffness.

    Args:
        digit: The finger.
        frames: Of all links, (s, 4, 4) each.
        moving: Its links that move and can touch.
    """
    hinges = [joint for joint in digit.joints if joint.axis.any() and np.isfinite(joint.stiffness)]
    steps = len(frames[digit.tip_body])
    axes = np.array([frames[j.body][:, :3, :3] @ j.axis for j in hinges]).reshape(-1, steps, 3)
    origins = np.array([frames[j.body][:, :3, 3] for j in hinges]).reshape(-1, steps, 3)
    numbers = {actuator: n for n, actuator in enumerate(dict.fromkeys(j.actuator for j in hinges))}
    stiffness = np.ones(len(numbers))
    torques = np.zeros((len(numbers), steps, 3))
    for index, joint in reversed(list(enumerate(hinges))):
        stiffness[numbers[joint.actuator]] = joint.stiffness
        for body, mass, center in digit.weights:
            if _carried(digit, joint.body, body):
                arm = (frames[body] @ [*center, 1.0])[:, :3] - origins[index]
                # a·(r × (−m·g·u)) = −m·g·(a × r)·u
                moment = -mass * GRAVITY * _crossed(axes[index], arm)
                torques[numbers[joint.actuator]] += moment
    carries = [[_carried(digit, joint.body, body) for body in moving] for joint in hinges]
    return Hinges(
        axes=axes,
        positions=origins,
        of_actuator=np.array([[float(j.actuator == d) for j in hinges] for d in numbers]).reshape(
            len(numbers), len(hinges)
        ),
        stiffness=stiffness,
        carries=np.array(carries, dtype=bool).reshape(len(hinges), len(moving)),
        torques=torques,
    )


def _carried(digit: Digit, by: str, body: str) -> bool:
    """Whether a link hangs on the joint that moves another one."""
    order = {name: index for index, name in enumerate(digit.bodies)}
    return order.get(by, -1) <= order.get(body, len(order))


def _crossed(one: Array, other: Array) -> Array:
    """Cross products, (..., 3): quicker than numpy's own on small arrays."""
    (a, b, c), (x, y, z) = np.moveaxis(one, -1, 0), np.moveaxis(other, -1, 0)
    return np.stack([b * z - c * y, c * x - a * z, a * y - b * x], axis=-1)


def sunk(
    compliances: Array,
    alone: Array,
    touched: NDArray[np.bool_],
    leans: NDArray[np.bool_],
    up: Array,
) -> Array:
    """How far balls sink [m], (m,): K⁻¹·(weight + Σ Kᵢ·dᵢ) with Kᵢ = Cᵢ⁻¹ and K = Σ Kᵢ.

    Args:
        compliances: Of the touching points [m/N], (m, k, 3, 3).
        alone: How far these sink alone [m], (m, k, 3).
        touched: Which of them are there, (m, k).
        leans: Which balls lean on the palm, which does not give way, (m,).
        up: Unit vector against gravity, (3,).
    """
    stiff = np.linalg.inv(compliances) * touched[..., None, None]
    force = np.einsum("mkij,mkj->mi", stiff, alone) - WEIGHT * up
    whole = stiff.sum(axis=1) + (leans / CONTACT)[:, None, None] * np.eye(3)
    whole += 1e-3 * np.eye(3)  # a ball that nothing holds sinks far, and not infinitely far
    return np.asarray(np.linalg.norm(np.linalg.solve(whole, force[..., None])[..., 0], axis=1))


class DigitJoint(NamedTuple):
    """A joint of a finger that a drive moves."""

    actuator: int
    """Number of the drive; one that moves several joints of a finger is named at each."""
    body: str
    """The link that the joint moves."""
    axis: Array
    """Unit vector of a hinge in the frame of that link, (3,); zeros of a slide."""
    stiffness: float = np.inf
    """Of what holds a hinge where its drive wants it [N·m/rad]; infinite where it does not give."""


class Digit(NamedTuple):
    """A finger as far as it stands on nothing that all fingers share."""

    name: str
    joints: tuple[DigitJoint, ...]
    """From the palm outwards."""
    bodies: tuple[str, ...]
    """Links with a surface, from the palm outwards; the last one carries the tip."""
    tip_body: str
    tip: Array
    """The end in the frame of ``tip_body`` [m], (3,)."""
    weights: tuple[tuple[str, float, Array], ...] = ()
    """Links that hang on their joints, as their weight is not compensated: link, mass [kg], and
    centre of mass in its frame [m], (3,)."""


class ClosingHand(Protocol):
    """A hand that can be put in postures; all in one frame, called the hand's [m]."""

    @property
    def actuators(self) -> Sequence[Actuator]:
        """Everything that commands the hand; drives of no finger stand still."""

    @property
    def rest(self) -> Sequence[float]:
        """Targets of the posture that the hand is described in."""

    @property
    def digits(self) -> Sequence[Digit]:
        """Its fingers."""

    @property
    def skins(self) -> Mapping[str, Array]:
        """Points on the surface of each link of a finger, in the frame of the link, (n, 3)."""

    @property
    def palm(self) -> Array:
        """Points on and in what no finger's drive moves, the hand at rest, (n, 3); may be none."""

    @property
    def middle(self) -> Array:
        """Middle of the palm, (3,)."""

    @property
    def up(self) -> Array | None:
        """Unit vector against gravity, (3,); None where a hand is turned as long things lie."""

    def frames(self, targets: Array) -> Mapping[str, Array]:
        """Frames of the links for s postures, (s, 4, 4) each.

        Args:
            targets: One a drive, (s, nd).
        """
