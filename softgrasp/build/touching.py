"""Which bodies of a scene can touch, and with which contact."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import NamedTuple

import mujoco

from softgrasp.build import names
from softgrasp.build.pairs import Pair, hand_pairs_around, object_pairs, pairs_of_objects
from softgrasp.description.contact import Contact
from softgrasp.description.scene import GraspScene


class Touching(NamedTuple):
    """Pairs of geoms that share a contact."""

    pairs: list[Pair]
    requested: Contact
    held: bool
    """Whether both sides are held in place (prescribed joints, a fixed object, surroundings)."""
    by_hand: bool = True
    """Whether one side is the hand; others stay where they are while it closes."""
    switches: bool = False
    """Whether its friction follows slip, where static and dynamic friction differ."""


def with_objects(scene: GraspScene, model: mujoco.MjModel) -> Iterator[Touching]:
    """The hand with every object, then every two objects.

    Of two objects the contact is that of the later one.
    """
    held, bodies = scene.actuation == "prescribed", names.object_bodies(scene)
    mounts = [scene.object_mount, *(placed.mount for placed in scene.objects)]
    for index, body in enumerate(bodies):
        fixed = held and mounts[index] == "fixed"
        yield Touching(object_pairs(model, body), scene.contact_of(index), fixed, switches=True)
    for (_, first), (later, second) in combinations(enumerate(bodies), 2):
        pairs = pairs_of_objects(model, first, second)
        contact = scene.contact_of(later)
        yield Touching(pairs, contact, held=False, by_hand=False, switches=True)


def with_surroundings(scene: GraspScene, model: mujoco.MjModel) -> Iterator[Touching]:
    """Every object, then the hand, with everything that stands around.

    What stands around says how it touches; where it does not, the object does.
    """
    held = scene.actuation == "prescribed"
    for part, around in zip(scene.surroundings, names.surrounding_bodies(scene), strict=True):
        for index, body in enumerate(names.object_bodies(scene)):
            contact = part.contact or scene.contact_of(index)
            pairs = pairs_of_objects(model, body, around)
            yield Touching(pairs, contact, held=False, by_hand=False)
        hand = hand_pairs_around(model, around)
        yield Touching(hand, part.contact or scene.requested_contact, held)
