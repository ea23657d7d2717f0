"""A described hand, whose links are rows of fingers, as the finder sees it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from softgrasp.description.finger import Finger
from softgrasp.description.hand import Hand
from softgrasp.mechanics.dh import chain_links
from softgrasp.mechanics.grasp_finder.hand import Digit, DigitJoint
from softgrasp.mechanics.hand_kinematics import link_frames
from softgrasp.mechanics.transforms import Array

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
