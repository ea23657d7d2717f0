"""Closing motion of a hand: which actuators close it, their directions, starts and rates.

Actuators that slide, or that bend a finger, close the hand; actuators that spread fingers keep a
fixed position, of which several may be tried.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from softgrasp.description.actuation import Actuator
from softgrasp.grasp_synthesis.hand_model import ClosingHand, Digit
from softgrasp.mechanics.transforms import Array

FASTEST = {"rad": 1.5, "m": 0.05}
"""Rate of the fastest actuator by unit [rad/s, m/s]."""
CLOSING_TIME = 1.2
"""Time in which an actuator with another unit passes through its range [s]."""
DISTAL = 0.15
"""Fraction of its travel that each joint but the first of a finger makes in a precision grasp
[–]."""
PARALLEL = 0.7
"""Cosine to the last axis of a finger above which a joint bends it instead of spreading it [–]."""
MAX_OPENING = 0.35
"""Largest opening of a joint beyond its rest [rad]; multiples of it where fingertips remain near
each other."""
NARROW, WIDENING = 0.5, 1.1
"""Largest distance of two fingertips over that from the palm up to which joints open further, and
smallest ratio by which that has to increase it [–]."""
MAX_CLOSING = 0.75 * np.pi
"""Largest closing of a joint beyond its rest [rad], as some models have ranges of 2π and more."""
SYMMETRIC = 0.3
"""Asymmetry of a range about the rest, over the range, below which the joint stays at rest [–]."""
CHOICES = 5
"""Number of positions that are tried for a joint that spreads fingers."""
UNDECIDED = 0.12
"""Relative change of the fingertips' distance from the palm below which it is not decisive [–]."""


class FreeActuators(NamedTuple):
    """Actuators that spread fingers, with equal or mirrored ranges, and are moved together."""

    actuators: tuple[int, ...]
    positions: Array
    """Positions to try, nearest to the rest first, (positions, actuators)."""


@dataclass(frozen=True)
class Closing:
    """Closing motion of the actuators of a hand; arrays are (nd,)."""

    start: Array
    """Targets of the open hand [rad, m or the unit of the actuator]."""
    end: Array
    """Targets of the hand closed without an object; equal to ``start`` for fixed actuators."""
    free: tuple[FreeActuators, ...]
    """Fixed actuators with several possible positions."""
    groups: tuple[tuple[int, ...], ...]
    """Groups of actuators that move the same fingers."""
    group_of: tuple[int, ...]
    """Index of the group that moves each finger, −1 for none, (k,)."""
    order: Array
    """Index of the closing joint along its finger, from 0."""

    def with_positions(
        self, choice: Sequence[tuple[FreeActuators, Array]], start: Array
    ) -> Closing:
        """Return the closing motion with other positions of some non-closing actuators."""
        start, end = start.copy(), self.end.copy()
        for item, position in choice:
            start[list(item.actuators)] = position
        for item in self.free:
            end[list(item.actuators)] = start[list(item.actuators)]
        return replace(self, start=start, end=end)


# Directions of closing


def closing_of(hand: ClosingHand) -> Closing:
    """Determine the closing motion of a hand.

    An actuator closes if it slides, or rotates about an axis parallel to that of the last hinge of
    a finger that it moves. It closes towards the limit that brings the fingertips nearer to the
    palm or, where that is not decisive, to each other. Joints that spread fingers are fixed.
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
    start = _start(hand, start, end, closing)
    groups = _groups([[d for d in closing if d in bend_indices] for bend_indices in bends])
    group_of = tuple(
        next((n for n, group in enumerate(groups) if bend_indices.keys() & set(group)), -1)
        for bend_indices in bends
    )
    return Closing(start, end, free, groups, group_of, order)


def _bends(digit: Digit, frames: Mapping[str, Array]) -> dict[int, int]:
    """Return the actuators that bend a finger, with the index of their joint along the finger."""
    axes = [frames[joint.body][0, :3, :3] @ joint.axis for joint in digit.joints]
    last = next((axis for axis in reversed(axes) if axis.any()), np.zeros(3))
    bends: dict[int, int] = {}
    for index, (joint, axis) in enumerate(zip(digit.joints, axes, strict=True)):
        if not axis.any() or abs(axis @ last) >= PARALLEL:
            bends.setdefault(joint.actuator, index)
    return bends


def _free(hand: ClosingHand, fixed: Sequence[int]) -> tuple[FreeActuators, ...]:
    """Group non-closing actuators with equal or mirrored ranges, with candidate positions."""
    groups: dict[tuple[float, ...], list[int]] = {}
    for actuator in fixed:
        low, high = hand.actuators[actuator].limits
        rest = hand.rest[actuator]
        if not (low < rest < high and abs(low + high - 2 * rest) <= SYMMETRIC * (high - low)):
            low, high = low - rest, high - rest
            alike = min((low, high), (-high, -low))
            groups.setdefault(tuple(np.round([*alike, rest], 6).tolist()), []).append(actuator)
    return tuple(
        FreeActuators(tuple(actuators), _positions(hand, actuators))
        for actuators in groups.values()
    )


def _positions(hand: ClosingHand, actuators: Sequence[int]) -> Array:
    """Compute candidate positions along equal or mirrored ranges, (positions, actuators)."""
    rest = np.array([hand.rest[actuator] for actuator in actuators])
    first = np.linspace(*hand.actuators[actuators[0]].limits, CHOICES) - rest[0]
    first = first[np.argsort(np.abs(first), kind="stable")]
    equal = [
        np.allclose(hand.actuators[i].limits, hand.actuators[actuators[0]].limits)
        for i in actuators
    ]
    return np.asarray(rest + np.outer(first, np.where(equal, 1.0, -1.0)))


def _closed(hand: ClosingHand, rest: Array, closing: Sequence[int]) -> Array:
    """Return the targets at which the fingers are closed, (nd,)."""
    end = rest.copy()
    for actuator in closing:
        low, high = _range(hand, actuator)
        both = np.array([rest, rest])
        both[:, actuator] = low, high
        item, other = tips_of(hand, hand.frames(both)).swapaxes(0, 1)
        moved = np.linalg.norm(item - other, axis=1) > 0.0
        displacements = np.array([item[moved], other[moved]]) - hand.middle
        first, second = np.linalg.norm(displacements, axis=2).mean(axis=1).tolist()
        nearer = first - second
        if abs(nearer) < UNDECIDED * max(first, second):
            # jaws whose distance from the palm is constant
            nearer = _apart(item, moved) - _apart(other, moved)
        end[actuator] = high if nearer > 0.0 else low
    return end


def tips_of(hand: ClosingHand, frames: Mapping[str, Array]) -> Array:
    """Compute the fingertips, (k, s, 3) [m]."""
    tips = [frames[digit.tip_body] @ [*digit.tip, 1.0] for digit in hand.digits]
    return np.array(tips)[..., :3]


def _apart(tips: Array, moved: Array) -> float:
    """Compute the mean distance of the moved fingertips from all others [m]."""
    return float(np.linalg.norm(tips[moved, None] - tips[None], axis=2).mean())


def _range(hand: ClosingHand, actuator: int) -> tuple[float, float]:
    """Return the range of an actuator, that of a hinge limited to ``MAX_CLOSING`` from its rest."""
    (low, high), rest = hand.actuators[actuator].limits, hand.rest[actuator]
    if hand.actuators[actuator].unit != "rad":
        return low, high
    return max(low, rest - MAX_CLOSING), min(high, rest + MAX_CLOSING)


def _start(hand: ClosingHand, rest: Array, end: Array, closing: Sequence[int]) -> Array:
    """Return the targets of the open hand, (nd,); further open while fingertips are narrow."""
    start, opening = rest, 0.0
    for multiple in range(1, 5):
        wider = rest.copy()
        for actuator in closing:
            wider[actuator] = _open(hand, actuator, end[actuator], multiple * MAX_OPENING)
        tips = tips_of(hand, hand.frames(wider[None]))[:, 0]
        widest = float(np.linalg.norm(tips[:, None] - tips, axis=2).max(initial=0.0))
        if multiple > 1 and widest < WIDENING * opening:
            break
        start, opening = wider, widest
        reach = np.linalg.norm(tips - hand.middle, axis=1).mean() if len(tips) else 0.0
        if opening > NARROW * reach:
            break
    return start


def _open(hand: ClosingHand, actuator: int, closed: float, limit: float) -> float:
    """Return the open end of a range, for a hinge at most an angle beyond its rest [rad]."""
    low, high = _range(hand, actuator)
    opened, rest = high if closed == low else low, hand.rest[actuator]
    if hand.actuators[actuator].unit != "rad" or not low < rest < high:
        return opened
    return max(rest - limit, min(rest + limit, opened))


def _groups(moving: Sequence[Sequence[int]]) -> tuple[tuple[int, ...], ...]:
    """Group actuators that move common fingers, directly or through other actuators."""
    groups: list[set[int]] = []
    for actuators in moving:
        group_members = set(actuators)
        for group in [g for g in groups if g & group_members]:
            groups.remove(group)
            group_members |= group
        if group_members:
            groups.append(group_members)
    return tuple(sorted(tuple(sorted(group)) for group in groups))


# Closing rates


def weights_of(closing: Closing, kind: str) -> Array:
    """Return the fraction of its travel that each actuator makes by grasp type, (nd,).

    Below 1 for the distal joints of a precision grasp, so that the first joints lead.
    """
    if kind == "power":
        return np.ones(len(closing.start))
    return np.where(closing.order > 0, DISTAL, 1.0)


def rates_of(
    hand: ClosingHand,
    closing: Closing,
    weights: Array,
    arrivals: Array,
    fastest: Mapping[str, float],
) -> Array:
    """Compute closing rates at which all fingers make contact together, (nd,) [unit/s].

    Args:
        hand: The hand.
        closing: Its closing motion.
        weights: Fraction of its travel that each actuator makes, (nd,).
        arrivals: Contact time of each group over that of the last one, (g,).
        fastest: Maximum rates by actuator name, where known.
    """
    if not arrivals.any():  # fingers that touch before they move close all the same
        arrivals = np.ones_like(arrivals)
    speeds = np.zeros(len(closing.start))
    for group, arrival in zip(closing.groups, arrivals.tolist(), strict=True):
        indices = list(group)
        speeds[indices] = arrival * (weights * (closing.end - closing.start))[indices]
    longest = max(
        (
            abs(v) / _fastest(d, fastest)
            for v, d in zip(speeds.tolist(), hand.actuators, strict=True)
        ),
        default=0.0,
    )
    return speeds / longest if longest > 0.0 else speeds


def _fastest(actuator: Actuator, max_rates: Mapping[str, float]) -> float:
    """Return the largest rate of an actuator."""
    low, high = actuator.limits
    rate = FASTEST.get(actuator.unit, max(high - low, 1e-12) / CLOSING_TIME)
    return min(rate, max_rates.get(actuator.name, np.inf))
