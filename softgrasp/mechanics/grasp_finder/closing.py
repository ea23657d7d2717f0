"""Which drives close a hand, which way, and from where; the others stand still."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from softgrasp.description.drive import Drive
from softgrasp.description.finger import Finger
from softgrasp.description.hand import Hand
from softgrasp.mechanics.hand_kinematics import fingertips, link_frames
from softgrasp.mechanics.transforms import Array

PARALLEL = 0.7
"""Cosine to a finger's last axis above which a joint bends the finger instead of spreading it."""
MOST_OPEN = 0.35
"""How far a joint is opened beyond its zero [rad]."""
SYMMETRIC = 0.3
"""Difference of both sides of a range, over the range, below which its middle is at rest [–]."""
CHOICES = 5
"""Places of a joint that spreads fingers which are tried."""
UNDECIDED = 0.12
"""Change of the fingertips' distance from the palm, over it, that says nothing [–]."""


class Free(NamedTuple):
    """Drives that spread fingers alike: their ranges are equal, or mirror images."""

    drives: tuple[int, ...]
    places: Array
    """Places that they may stand in, nearest to zero first, (places, drives)."""


@dataclass(frozen=True)
class Closing:
    """How the drives of a hand move; arrays have one number a drive."""

    start: Array
    """Where each drive is while the hand is open [rad or m]."""
    end: Array
    """Where it would be without an object; as ``start`` for drives that stand still."""
    free: tuple[Free, ...]
    """Drives that stand still, but may do so in several places."""
    groups: tuple[tuple[int, ...], ...]
    """Drives that move the same fingers, together."""
    order: Array
    """0 of a finger's first closing joint, 1 of the next one, and so on."""


def ends_of(hand: Hand) -> tuple[Finger, ...]:
    """The fingers on which no other one stands."""
    carriers = {finger.on for finger in hand.fingers}
    return tuple(
        finger
        for finger in hand.fingers
        if not carriers & {finger.body_of(row) for row in finger.phalanges}
    )


def way_of(hand: Hand, end: Finger) -> tuple[Finger, ...]:
    """A finger and those that it stands on, from the palm outwards."""
    way = [end]
    while way[0].on:
        on = way[0].on
        way.insert(
            0, next(f for f in hand.fingers if on in {f.body_of(row) for row in f.phalanges})
        )
    return tuple(way)


def closing_of(hand: Hand, palm: Array) -> Closing:
    """Find how a hand closes.

    A drive closes if it slides, or turns about an axis like that of the last joint of a finger that
    it moves; it goes to the end of its range that brings the fingertips nearer to the palm, or,
    where that changes nothing, to one another. Wrists and joints that spread fingers stand still.

    Args:
        hand: The hand.
        palm: Middle of the palm in the hand's frame [m], (3,).
    """
    ends = ends_of(hand)
    shared = {
        f.joint_of(row) for f in hand.fingers if f.name in _shared(hand) for row in f.phalanges
    }
    start = np.array([_rest(drive) for drive in hand.drives])
    frames = link_frames(hand, hand.posture(start.tolist()))
    bends = [_bent(hand, drive, ends, frames) for drive in hand.drives]
    usable = [
        index
        for index, drive in enumerate(hand.drives)
        if drive.joint not in (None, *shared) and drive.limits[0] < drive.limits[1]
    ]
    closing = [index for index in usable if bends[index]]
    end = _closed(hand, start, closing, palm)
    for index in closing:
        start[index] = _opened(hand.drives[index], end[index])
    moved = {index: {f for f, _ in bends[index]} for index in closing}
    order = np.zeros(len(start), dtype=int)
    for name in {f for found in moved.values() for f in found}:
        along = sorted((dict(bends[i])[name], i) for i in closing if name in moved[i])
        for place, (_, index) in enumerate(along):
            order[index] = max(order[index], place)
    free = _free(hand, [index for index in usable if not bends[index]])
    return Closing(start, end, free, _groups(moved), order)


def _rest(drive: Drive) -> float:
    """Zero, or the limit next to it."""
    low, high = drive.limits
    return min(max(0.0, low), high)


def carrier_of(hand: Hand) -> str | None:
    """The body of a wrist that carries all fingers, None where they stand on the palm."""
    shared = [finger for finger in hand.fingers if finger.name in _shared(hand)]
    return shared[-1].body_of(shared[-1].phalanges[-1]) if shared else None


def _shared(hand: Hand) -> set[str]:
    """Names of fingers that carry all others: a wrist's."""
    ways = [{finger.name for finger in way_of(hand, end)} for end in ends_of(hand)]
    return set.intersection(*ways) if len(ways) > 1 else set()


def _bent(
    hand: Hand, drive: Drive, ends: Sequence[Finger], frames: Mapping[str, Array]
) -> list[tuple[str, int]]:
    """Fingers that a drive bends, each with the number of the bending joint along it."""
    moved = {drive.joint, *(c.joint for c in hand.couplings if _led_by(hand, c.joint, drive.joint))}
    found = []
    for finger in ends:
        way = [(f, row) for f in way_of(hand, finger) for row in f.phalanges]
        last = frames[finger.body_of(finger.phalanges[-1])][:3, 2]
        for place, (owner, row) in enumerate(way):
            if owner.joint_of(row) not in moved:
                continue
            axis = frames[owner.body_of(row)][:3, 2]
            if row.joint == "prismatic" or abs(axis @ last) >= PARALLEL:
                found.append((finger.name, place))
                break
    return found


def _led_by(hand: Hand, joint: str, leader: str | None) -> bool:
    leaders = {coupling.joint: coupling.leader for coupling in hand.couplings}
    while joint in leaders:
        joint = leaders[joint]
    return joint == leader


def _free(hand: Hand, still: Sequence[int]) -> tuple[Free, ...]:
    """Drives that stand still with the places in which they may, those that go alike together."""
    found: dict[tuple[float, ...], list[int]] = {}
    for index in still:
        low, high = hand.drives[index].limits
        if not (low < 0.0 < high and abs(low + high) <= SYMMETRIC * (high - low)):
            alike = min((low, high), (-high, -low))
            found.setdefault(tuple(np.round(alike, 6).tolist()), []).append(index)
    return tuple(Free(tuple(drives), _places(hand, drives)) for drives in found.values())


def _places(hand: Hand, drives: Sequence[int]) -> Array:
    """Places along ranges that are equal or mirror images, (places, drives)."""
    first = np.linspace(*hand.drives[drives[0]].limits, CHOICES)
    first = first[np.argsort(np.abs(first), kind="stable")]
    equal = [np.allclose(hand.drives[i].limits, hand.drives[drives[0]].limits) for i in drives]
    return np.outer(first, np.where(equal, 1.0, -1.0))


def _closed(hand: Hand, rest: Array, closing: Sequence[int], palm: Array) -> Array:
    """The ends of ranges at which fingers are closed."""
    end = rest.copy()
    for index in closing:
        low, high = hand.drives[index].limits
        one, other = (_tips(hand, _with(rest, index, place)) for place in (low, high))
        moved = np.linalg.norm(one - other, axis=1) > 0.0
        to_palm = [float(np.linalg.norm(t[moved] - palm, axis=1).mean()) for t in (one, other)]
        nearer = to_palm[0] - to_palm[1]
        if abs(nearer) < UNDECIDED * max(to_palm):
            # grippers whose jaws keep their distance from the palm
            nearer = _apart(one, moved) - _apart(other, moved)
        end[index] = high if nearer > 0.0 else low
    return end


def _with(targets: Array, index: int, place: float) -> Array:
    changed = targets.copy()
    changed[index] = place
    return changed


def _tips(hand: Hand, targets: Array) -> Array:
    """Ends of fingers, (k, 3) [m]."""
    tips = fingertips(hand, hand.posture(targets.tolist()))
    return np.array([tips[finger.name] for finger in ends_of(hand)])


def _apart(tips: Array, moved: Array) -> float:
    """Mean distance of the moved fingertips from all others [m]."""
    return float(np.linalg.norm(tips[moved, None] - tips[None], axis=2).mean())


def _opened(drive: Drive, closed: float) -> float:
    """The other end of a range, but a joint is not bent far backwards."""
    low, high = drive.limits
    opened = high if closed == low else low
    if drive.unit != "rad" or not low < 0.0 < high:
        return opened
    return max(-MOST_OPEN, min(MOST_OPEN, opened))


def _groups(moved: Mapping[int, set[str]]) -> tuple[tuple[int, ...], ...]:
    """Drives that share fingers, over others too."""
    groups: list[tuple[set[int], set[str]]] = []
    for index, fingers in moved.items():
        own = ({index}, set(fingers))
        for group in [g for g in groups if g[1] & own[1]]:
            groups.remove(group)
            own = (own[0] | group[0], own[1] | group[1])
        groups.append(own)
    return tuple(tuple(sorted(indices)) for indices, _ in groups)
