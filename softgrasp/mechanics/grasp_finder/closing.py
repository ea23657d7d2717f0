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
MAX_OPENING = 0.35
"""How far a joint is opened beyond its rest [rad]."""
MAX_CLOSING = 0.75 * np.pi
"""How far a joint is closed beyond its rest [rad]; a range of turns says nothing."""
SYMMETRIC = 0.3
"""Difference of both sides of a range, over the range, below which its middle is at rest [–]."""
CHOICES = 5
"""Places of a joint that spreads fingers which are tried."""
UNDECIDED = 0.12
"""Change of the fingertips' distance from the palm, over it, that says nothing [–]."""


class Free(NamedTuple):
    """Drives that spread fingers alike: their ranges are equal, or mirror images."""

    actuators: tuple[int, ...]
    positions: Array
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
        for one, position in choice:
            start[list(one.actuators)] = position
        for one in self.free:
            end[list(one.actuators)] = start[list(one.actuators)]
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
    moving = {joint.actuator for digit in hand.digits for joint in digit.joints}
    usable = sorted(d for d in moving if hand.actuators[d].limits[0] < hand.actuators[d].limits[1])
    closing = [
        actuator for actuator in usable if any(actuator in bend_indices for bend_indices in bends)
    ]
    end = _closed(hand, start, closing)
    order = np.zeros(len(start), dtype=int)
    for bend_indices in bends:
        along = sorted(
            (bend_indices[actuator], actuator) for actuator in closing if actuator in bend_indices
        )
        for index, (_, actuator) in enumerate(along):
            order[actuator] = max(order[actuator], index)
    free = _free(hand, [actuator for actuator in usable if actuator not in closing])
    for actuator in closing:
        start[actuator] = _opened(hand, actuator, end[actuator])
    groups = _groups([[d for d in closing if d in bend_indices] for bend_indices in bends])
    group_of = tuple(
        next((n for n, group in enumerate(groups) if bend_indices.keys() & set(group)), -1)
        for bend_indices in bends
    )
    return Closing(start, end, free, groups, group_of, order)


def _bends(digit: Digit, frames: Mapping[str, Array]) -> dict[int, int]:
    """Drives that bend a finger, each with the number of the bending joint along it."""
    axes = [frames[joint.body][0, :3, :3] @ joint.axis for joint in digit.joints]
    last = next((axis for axis in reversed(axes) if axis.any()), np.zeros(3))
    bends: dict[int, int] = {}
    for index, (joint, axis) in enumerate(zip(digit.joints, axes, strict=True)):
        if not axis.any() or abs(axis @ last) >= PARALLEL:
            bends.setdefault(joint.actuator, index)
    return bends


def _free(hand: ClosingHand, still: Sequence[int]) -> tuple[Free, ...]:
    """Drives that stand still with the places in which they may, those that go alike together."""
    groups: dict[tuple[float, ...], list[int]] = {}
    for actuator in still:
        low, high = hand.actuators[actuator].limits
        rest = hand.rest[actuator]
        if not (low < rest < high and abs(low + high - 2 * rest) <= SYMMETRIC * (high - low)):
            low, high = low - rest, high - rest
            alike = min((low, high), (-high, -low))
            groups.setdefault(tuple(np.round([*alike, rest], 6).tolist()), []).append(actuator)
    return tuple(
        Free(tuple(actuators), _positions(hand, actuators)) for actuators in groups.values()
    )


def _positions(hand: ClosingHand, actuators: Sequence[int]) -> Array:
    """Places along ranges that are equal or mirror images, (places, drives)."""
    rest = np.array([hand.rest[actuator] for actuator in actuators])
    first = np.linspace(*hand.actuators[actuators[0]].limits, CHOICES) - rest[0]
    first = first[np.argsort(np.abs(first), kind="stable")]
    equal = [
        np.allclose(hand.actuators[i].limits, hand.actuators[actuators[0]].limits)
        for i in actuators
    ]
    return np.asarray(rest + np.outer(first, np.where(equal, 1.0, -1.0)))


def _closed(hand: ClosingHand, rest: Array, closing: Sequence[int]) -> Array:
    """The ends of ranges at which fingers are closed."""
    end = rest.copy()
    for actuator in closing:
        low, high = _range(hand, actuator)
        both = np.array([rest, rest])
        both[:, actuator] = low, high
        one, other = tips_of(hand, hand.frames(both)).swapaxes(0, 1)
        moved = np.linalg.norm(one - other, axis=1) > 0.0
        displacements = np.array([one[moved], other[moved]]) - hand.middle
        first, second = np.linalg.norm(displacements, axis=2).mean(axis=1).tolist()
        nearer = first - second
        if abs(nearer) < UNDECIDED * max(first, second):
            # grippers whose jaws keep their distance from the palm
            nearer = _apart(one, moved) - _apart(other, moved)
        end[actuator] = high if nearer > 0.0 else low
    return end


def tips_of(hand: ClosingHand, frames: Mapping[str, Array]) -> Array:
    """Ends of the fingers, (k, s, 3) [m]."""
    tips = [frames[digit.tip_body] @ [*digit.tip, 1.0] for digit in hand.digits]
    return np.array(tips)[..., :3]


def _apart(tips: Array, moved: Array) -> float:
    """Mean distance of the moved fingertips from all others [m]."""
    return float(np.linalg.norm(tips[moved, None] - tips[None], axis=2).mean())


def _range(hand: ClosingHand, actuator: int) -> tuple[float, float]:
    """Range of a drive; of a hinge, no more of it than a finger can close."""
    (low, high), rest = hand.actuators[actuator].limits, hand.rest[actuator]
    if hand.actuators[actuator].unit != "rad":
        return low, high
    return max(low, rest - MAX_CLOSING), min(high, rest + MAX_CLOSING)


def _opened(hand: ClosingHand, actuator: int, closed: float) -> float:
    """The other end of a range, but a joint is not bent far backwards."""
    low, high = _range(hand, actuator)
    opened, rest = high if closed == low else low, hand.rest[actuator]
    if hand.actuators[actuator].unit != "rad" or not low < rest < high:
        return opened
    return max(rest - MAX_OPENING, min(rest + MAX_OPENING, opened))


def _groups(moving: Sequence[Sequence[int]]) -> tuple[tuple[int, ...], ...]:
    """Drives that share fingers, over others too.

    Args:
        moving: Drives that close each finger.
    """
    groups: list[set[int]] = []
    for actuators in moving:
        group_members = set(actuators)
        for group in [g for g in groups if g & group_members]:
            groups.remove(group)
            group_members |= group
        if group_members:
            groups.append(group_members)
    return tuple(sorted(tuple(sorted(group)) for group in groups))
