"""Which drives close a hand, which way, and from where; the others stand still."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from softgrasp.mechanics.grasp_finder.hand import ClosingHand, Digit
from softgrasp.mechanics.transforms import Array

PARALLEL = 0.7
"""Cosine to a finger's last axis above which a joint bends the finger instead of spreading it."""
MOST_OPEN = 0.35
"""How far a joint is opened beyond its rest [rad]."""
MOST_CLOSED = 0.75 * np.pi
"""How far a joint is closed beyond its rest [rad]; a range of turns says nothing."""
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
    """Places that they may stand in, nearest to rest first, (places, drives)."""


@dataclass(frozen=True)
class Closing:
    """How the drives of a hand move; arrays have one number a drive."""

    start: Array
    """Where each drive is while the hand is open [rad, m or its own unit]."""
    end: Array
    """Where it would be without an object; as ``start`` for drives that stand still."""
    free: tuple[Free, ...]
    """Drives that stand still, but may do so in several places."""
    groups: tuple[tuple[int, ...], ...]
    """Drives that move the same fingers, together."""
    group_of: tuple[int, ...]
    """Number of the group that moves each finger, −1 of none, (k,)."""
    order: Array
    """0 of a finger's first closing joint, 1 of the next one, and so on."""

    def standing(self, choice: Sequence[tuple[Free, Array]], start: Array) -> Closing:
        """The closing from a start in which some drives that stand still stand elsewhere."""
        start, end = start.copy(), self.end.copy()
        for one, place in choice:
            start[list(one.drives)] = place
        for one in self.free:
            end[list(one.drives)] = start[list(one.drives)]
        return replace(self, start=start, end=end)


def closing_of(hand: ClosingHand) -> Closing:
    """Find how a hand closes.

    A drive closes if it slides, or turns about an axis like that of the last hinge of a finger that
    it moves; it goes to the end of its range that brings the fingertips nearer to the palm, or,
    where that changes nothing, to one another. Joints that spread fingers stand still.

    Args:
        hand: The hand.
    """
    start = np.array(hand.rest, dtype=float)
    frames = hand.frames(start[None])
    bends = [_bends(digit, frames) for digit in hand.digits]
    moving = {joint.drive for digit in hand.digits for joint in digit.joints}
    usable = sorted(d for d in moving if hand.drives[d].limits[0] < hand.drives[d].limits[1])
    closing = [drive for drive in usable if any(drive in places for places in bends)]
    end = _closed(hand, start, closing)
    order = np.zeros(len(start), dtype=int)
    for places in bends:
        along = sorted((places[drive], drive) for drive in closing if drive in places)
        for place, (_, drive) in enumerate(along):
            order[drive] = max(order[drive], place)
    free = _free(hand, [drive for drive in usable if drive not in closing])
    for drive in closing:
        start[drive] = _opened(hand, drive, end[drive])
    groups = _groups([[d for d in closing if d in places] for places in bends])
    group_of = tuple(
        next((n for n, group in enumerate(groups) if places.keys() & set(group)), -1)
        for places in bends
    )
    return Closing(start, end, free, groups, group_of, order)


def _bends(digit: Digit, frames: Mapping[str, Array]) -> dict[int, int]:
    """Drives that bend a finger, each with the number of the bending joint along it."""
    axes = [frames[joint.body][0, :3, :3] @ joint.axis for joint in digit.joints]
    last = next((axis for axis in reversed(axes) if axis.any()), np.zeros(3))
    found: dict[int, int] = {}
    for place, (joint, axis) in enumerate(zip(digit.joints, axes, strict=True)):
        if not axis.any() or abs(axis @ last) >= PARALLEL:
            found.setdefault(joint.drive, place)
    return found


def _free(hand: ClosingHand, still: Sequence[int]) -> tuple[Free, ...]:
    """Drives that stand still with the places in which they may, those that go alike together."""
    found: dict[tuple[float, ...], list[int]] = {}
    for drive in still:
        low, high = hand.drives[drive].limits
        rest = hand.rest[drive]
        if not (low < rest < high and abs(low + high - 2 * rest) <= SYMMETRIC * (high - low)):
            low, high = low - rest, high - rest
            alike = min((low, high), (-high, -low))
            found.setdefault(tuple(np.round([*alike, rest], 6).tolist()), []).append(drive)
    return tuple(Free(tuple(drives), _places(hand, drives)) for drives in found.values())


def _places(hand: ClosingHand, drives: Sequence[int]) -> Array:
    """Places along ranges that are equal or mirror images, (places, drives)."""
    rest = np.array([hand.rest[drive] for drive in drives])
    first = np.linspace(*hand.drives[drives[0]].limits, CHOICES) - rest[0]
    first = first[np.argsort(np.abs(first), kind="stable")]
    equal = [np.allclose(hand.drives[i].limits, hand.drives[drives[0]].limits) for i in drives]
    return np.asarray(rest + np.outer(first, np.where(equal, 1.0, -1.0)))


def _closed(hand: ClosingHand, rest: Array, closing: Sequence[int]) -> Array:
    """The ends of ranges at which fingers are closed."""
    end = rest.copy()
    for drive in closing:
        low, high = _range(hand, drive)
        both = np.array([rest, rest])
        both[:, drive] = low, high
        one, other = tips_of(hand, hand.frames(both)).swapaxes(0, 1)
        moved = np.linalg.norm(one - other, axis=1) > 0.0
        ways = np.array([one[moved], other[moved]]) - hand.middle
        first, second = np.linalg.norm(ways, axis=2).mean(axis=1).tolist()
        nearer = first - second
        if abs(nearer) < UNDECIDED * max(first, second):
            # grippers whose jaws keep their distance from the palm
            nearer = _apart(one, moved) - _apart(other, moved)
        end[drive] = high if nearer > 0.0 else low
    return end


def tips_of(hand: ClosingHand, frames: Mapping[str, Array]) -> Array:
    """Ends of the fingers, (k, s, 3) [m]."""
    found = [frames[digit.tip_body] @ [*digit.tip, 1.0] for digit in hand.digits]
    return np.array(found)[..., :3]


def _apart(tips: Array, moved: Array) -> float:
    """Mean distance of the moved fingertips from all others [m]."""
    return float(np.linalg.norm(tips[moved, None] - tips[None], axis=2).mean())


def _range(hand: ClosingHand, drive: int) -> tuple[float, float]:
    """Range of a drive; of a hinge, no more of it than a finger can close."""
    (low, high), rest = hand.drives[drive].limits, hand.rest[drive]
    if hand.drives[drive].unit != "rad":
        return low, high
    return max(low, rest - MOST_CLOSED), min(high, rest + MOST_CLOSED)


def _opened(hand: ClosingHand, drive: int, closed: float) -> float:
    """The other end of a range, but a joint is not bent far backwards."""
    low, high = _range(hand, drive)
    opened, rest = high if closed == low else low, hand.rest[drive]
    if hand.drives[drive].unit != "rad" or not low < rest < high:
        return opened
    return max(rest - MOST_OPEN, min(rest + MOST_OPEN, opened))


def _groups(moving: Sequence[Sequence[int]]) -> tuple[tuple[int, ...], ...]:
    """Drives that share fingers, over others too.

    Args:
        moving: Drives that close each finger.
    """
    groups: list[set[int]] = []
    for drives in moving:
        own = set(drives)
        for group in [g for g in groups if g & own]:
            groups.remove(group)
            own |= group
        if own:
            groups.append(own)
    return tuple(sorted(tuple(sorted(group)) for group in groups))
