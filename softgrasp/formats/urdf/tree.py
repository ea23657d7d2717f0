"""Which link of a robot is the palm, and which chains of joints are fingers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from softgrasp.description.robot import RigidJoint, Robot

WRIST = "wrist"


class Chain(NamedTuple):
    """Joints one behind the other, none of whose links but the last one branches."""

    name: str
    on: str
    """The link on which its first joint stands."""
    joints: tuple[RigidJoint, ...]


class HandTree(NamedTuple):
    """A robot without fixed joints as a palm with chains."""

    root: str
    """The link that stands still."""
    palm: str
    """The link from which the fingers branch: the root, or the last one of the wrist."""
    chains: tuple[Chain, ...]
    """The wrist first, where there is one; then fingers, each behind what it stands on."""


def hand_tree(robot: Robot) -> HandTree:
    """Find palm, wrist and fingers.

    The palm is the first link from the root outwards that carries more than one moving joint; the
    joints before it are the wrist. A robot that never branches is one finger on its root.
    """
    before, palm = _run(robot, robot.root)
    fingers = list(_chains(robot, palm))
    if not fingers:  # one chain that never branches
        return HandTree(robot.root, robot.root, _named([Chain("", robot.root, before)]))
    wrist = [Chain(WRIST, robot.root, before)] if before else []
    return HandTree(robot.root, palm, _named([*wrist, *fingers]))


def _chains(robot: Robot, link: str) -> Iterator[Chain]:
    """The chains that begin on a link, each followed by those on its end."""
    for joint in _on(robot, link):
        behind, last = _run(robot, joint.child)
        yield Chain("", link, (joint, *behind))
        yield from _chains(robot, last)


def _run(robot: Robot, link: str) -> tuple[tuple[RigidJoint, ...], str]:
    """The joints from a link outwards to the first link that carries none or several."""
    chain: list[RigidJoint] = []
    while len(on_it := _on(robot, link)) == 1:
        chain.append(on_it[0])
        link = on_it[0].child
    return tuple(chain), link


def _on(robot: Robot, link: str) -> list[RigidJoint]:
    return [joint for joint in robot.joints if joint.parent == link]


def _named(chains: Sequence[Chain]) -> tuple[Chain, ...]:
    """Chains called by what the names of their links begin with alike."""
    preferred = [chain.name or _common([joint.child for joint in chain.joints]) for chain in chains]
    named: list[Chain] = []
    for chain, name in zip(chains, preferred, strict=True):
        unique = name if preferred.count(name) == 1 else chain.joints[0].child
        named.append(chain._replace(name=unique))
    return tuple(named)


def _common(links: Sequence[str]) -> str:
    """The words that the names of links begin with alike; the first name where there are none.

    ``index_L1`` and ``index_L2`` make ``index``.
    """
    words = [name.split("_") for name in links]
    alike = []
    for column in zip(*words, strict=False):
        if len(set(column)) > 1:
            break
        alike.append(column[0])
    return "_".join(alike) or links[0]
