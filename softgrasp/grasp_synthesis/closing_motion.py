"""Which drives close a hand, which way, and from where; the others stand still."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from softgrasp.description.actuation import Actuator
from softgrasp.grasp_synthesis.hand_model import (
    ClosingHand,
    Digit,
    Hinges,
    Indices,
    hinges_of,
    length,
    local,
    moved,
    nearest,
    placed,
)
from softgrasp.mechanics.transforms import Array

# --------------------
# How fast each drive goes, such that all fingers arrive together.


FASTEST = {"rad": 1.5, "m": 0.05}
"""Rate of the fastest drive [rad/s, m/s]."""
CLOSING_TIME = 1.2
"""In which a drive whose target is no angle and no way goes through its range [s]."""
DISTAL = 0.15
"""Part of its way that every joint but a finger's first one goes in a precision grasp [–]."""
SLOWEST = 0.3
"""Of the fastest group of drives: a slower one would hardly close [–]."""


def weights_of(closing: Closing, kind: str) -> Array:
    """Parts of their ways that drives go: in a precision grasp, the first joints go ahead."""
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
    """Rates of all drives, in their units a second, (nd,).

    Args:
        hand: The hand.
        closing: How it closes.
        weights: Parts of their ways that drives go together.
        arrivals: When the fingers of each group arrive, over the last one's arrival, (g,).
        fastest: Largest rate of drives by name, where one is known.
    """
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


def _fastest(actuator: Actuator, known: Mapping[str, float]) -> float:
    low, high = actuator.limits
    rate = FASTEST.get(actuator.unit, max(high - low, 1e-12) / CLOSING_TIME)
    return min(rate, known.get(actuator.name, np.inf))


def arrivals_of(sweep: Sweep, meeting: Meeting | None, groups: int) -> Array:
    """When the fingers of each group of drives arrive, over the last one's arrival, (g,).

    Args:
        sweep: The closing hand.
        meeting: Of its fingers with one ball; None where no finger moves.
        groups: How many groups there are.
    """
    arrivals = np.full(groups, np.nan)
    if meeting is not None:
        for group in range(groups):
            in_group = (sweep.groups == group) & meeting.touched[0]
            if in_group.any():
                arrivals[group] = meeting.fraction[0][in_group].min()
    if np.isnan(arrivals).all():
        return np.ones(groups)
    arrivals = np.where(np.isnan(arrivals), np.nanmean(arrivals), arrivals)
    return np.asarray(np.maximum(arrivals, SLOWEST * arrivals.max()))


# --------------------
# Sweeps of a hand whose fingers are remembered, as most postures share most of them.


STILL = 1e-9
"""A frame that moves less than this stands still [m and –]."""


class SweepCache:
    """How a hand closes, at one coarseness."""

    def __init__(
        self, hand: ClosingHand, skins: Mapping[str, Array], weights: Array, steps: int
    ) -> None:
        """Prepare to look.

        Args:
            hand: The hand.
            skins: Points on its links in their frames, as many as are to be looked at.
            weights: Part of its way that each drive goes while the whole hand closes [–].
            steps: Steps from open to closed.
        """
        self.hand, self.skins, self.weights = hand, skins, weights
        self.fractions = np.linspace(0.0, 1.0, steps)
        self._paths: dict[tuple[int, bytes], Path | Array] = {}

    def sweep(self, closing: Closing) -> Sweep:
        """Move the hand through its closing.

        Args:
            closing: Which drives close, from where to where.
        """
        displacement = self.weights * (closing.end - closing.start)
        targets = closing.start + self.fractions[:, None] * displacement
        keys = [
            (number, targets[:, [joint.actuator for joint in digit.joints]].tobytes())
            for number, digit in enumerate(self.hand.digits)
        ]
        if any(key not in self._paths for key in keys):
            frames = self.hand.frames(targets)
            for key in keys:
                if key not in self._paths:
                    digit, group = self.hand.digits[key[0]], closing.group_of[key[0]]
                    self._paths[key] = self._path(digit, group, frames)
        cached = [self._paths[key] for key in keys]
        paths = tuple(path for path in cached if isinstance(path, Path))
        still = [self.hand.palm, *(p.still if isinstance(p, Path) else p for p in cached)]
        solid = tuple(cloud for cloud in still if len(cloud))
        return Sweep(self.fractions, paths, solid, self.hand.middle)

    def _path(self, digit: Digit, group: int, frames: Mapping[str, Array]) -> Path | Array:
        """One finger; its points where none of its links moves."""
        bodies = [body for body in digit.bodies if body in self.skins and len(self.skins[body])]
        moving = [body for body in bodies if np.ptp(frames[body], axis=0).max() > STILL]
        placed = [np.zeros((0, 3))]
        placed += [
            self.skins[body] @ frames[body][0, :3, :3].T + frames[body][0, :3, 3]
            for body in bodies
            if body not in moving
        ]
        still = np.concatenate(placed)
        if not moving:
            return still
        return Path(
            clouds=tuple(self.skins[body] for body in moving),
            frames=np.array([frames[body] for body in moving]),
            tips=np.asarray((frames[digit.tip_body] @ [*digit.tip, 1.0])[:, :3]),
            group=group,
            still=still,
            hinges=hinges_of(digit, frames, moving),
        )


class Field:
    """How near fingers come to the places of one grid, each finger looked at once."""

    def __init__(self, positions: Array, far: float) -> None:
        """Name the places.

        Args:
            positions: In the hand's frame [m], (m, 3).
            far: Distance beyond which it does not matter [m].
        """
        self.positions, self.far = positions, far
        self._near: dict[int, tuple[Array, Indices, Indices]] = {}
        self._away: dict[int, tuple[Array, Array]] = {}
        self._kept: list[object] = []

    def approach(self, sweep: Sweep) -> Approach:
        """As ``Sweep.approach``, not precise."""
        for path in sweep.paths:
            if id(path) not in self._near:
                self._kept.append(path)  # so that its id stays its own
                self._near[id(path)] = path.approach(self.positions, self.far)
        return joined(self.positions, [self._near[id(path)] for path in sweep.paths], precise=False)

    def away(self, sweep: Sweep, chosen: Indices) -> tuple[Array, Array]:
        """As ``Sweep.away``, of some of the places."""
        smallest, directions = np.full(len(chosen), np.inf), np.zeros((len(chosen), 3))
        for cloud in sweep.still:
            if id(cloud) not in self._away:
                self._kept.append(cloud)
                distances, point = nearest(self.positions, cloud)
                self._away[id(cloud)] = distances, self.positions - cloud[point]
            distances, displacements = self._away[id(cloud)]
            closer = distances[chosen] < smallest
            smallest[closer], directions[closer] = (
                distances[chosen[closer]],
                displacements[chosen[closer]],
            )
        return smallest, directions / np.maximum(np.linalg.norm(directions, axis=1), 1e-12)[:, None]


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


# --------------------
# The links of a closing hand, step by step, and when each finger meets a ball.


LATEST = 0.9
"""Part of the closing motion after which a contact has no way left to press [–]."""
SOFT = 1e-3
"""Difference of distances over which points share in a touching point [m]."""

Flags = NDArray[np.bool_]


class Meeting(NamedTuple):
    """Where m balls meet k fingers; arrays (m, k) unless said otherwise."""

    touched: Flags
    """Whether the finger gets there in time."""
    fraction: Array
    """Part of the closing motion after which it does [–]."""
    normals: Array
    """Into the ball, (m, k, 3)."""
    outermost: Flags
    """Whether its last link is what touches."""
    from_tip: Array
    """Distance of the touching point from the fingertip [m]."""
    from_middle: Array
    """Distance of the touching point from the middle of the finger's last link [m]."""
    points: Array
    """Touching points in the hand's frame, (m, k, 3) [m]."""
    step: Indices
    """Step at which it touches."""
    link: Indices
    """Number of its moving link that does."""

    def of(self, balls: Indices) -> Meeting:
        """The same of some of the balls."""
        return Meeting._make(column[balls] for column in self)


class Approach(NamedTuple):
    """How near m places come to k fingers at s steps: what balls of any size there meet."""

    positions: Array
    """(m, 3) [m]"""
    apart: Array
    """Distance from the nearest point of a finger, (k, s, m) [m]; ``far`` where it is more."""
    link: Indices
    """Number of the finger's moving link that has it, (k, s, m)."""
    point: Indices
    """Number of that point on its link, (k, s, m)."""
    precise: bool
    """Whether touching points are weighed between the points of a surface."""

    def of(self, chosen: Indices) -> Approach:
        """The same of some of the places."""
        rest = (self.apart[..., chosen], self.link[..., chosen], self.point[..., chosen])
        return Approach(self.positions[chosen], *rest, self.precise)


@dataclass(frozen=True, eq=False)
class Path:
    """A finger at all steps of a closing motion."""

    clouds: tuple[Array, ...]
    """Points on its links that move, in their frames, (n, 3) each [m]; the outermost link last."""
    frames: Array
    """Of those links, (b, s, 4, 4)."""
    tips: Array
    """(s, 3) [m]"""
    group: int
    """Number of the group of drives that moves it, −1 of none."""
    still: Array
    """Points on its links that stand still, in the hand's frame, (n, 3) [m]."""
    hinges: Hinges
    """What of it gives way."""

    @cached_property
    def _center(self) -> Array:
        """Middle of the box around its last link, in the frame of that link, (3,) [m]."""
        last = self.clouds[-1]
        return np.asarray((last.min(axis=0) + last.max(axis=0)) / 2.0)

    @cached_property
    def middles(self) -> Array:
        """Middle of its last link, (s, 3) [m]."""
        return np.asarray((self.frames[-1] @ [*self._center, 1.0])[:, :3])

    @cached_property
    def corners(self) -> Array:
        """Points on it while it is open, half closed and closed, (n, 3) [m]."""
        steps = [0, len(self.tips) // 2, -1]
        return np.concatenate([
            placed(cloud, frames[steps]).reshape(-1, 3)
            for cloud, frames in zip(self.clouds, self.frames, strict=True)
        ])  # fmt: skip

    def surface(self, step: int) -> Array:
        """Points on all its moving links at a step, (n, 3) [m]."""
        pairs = zip(self.clouds, self.frames[:, [step]], strict=True)
        return np.concatenate([placed(cloud, frames)[0] for cloud, frames in pairs])

    @cached_property
    def spacing(self) -> float:
        """Largest distance of a point of a link from the nearest other one of the link [m]."""
        apart = [((c[:, None] - c[None]) ** 2).sum(axis=2) for c in self.clouds if len(c) > 1]
        smallest = [(a + np.diag(np.full(len(a), np.inf))).min(axis=1).max() for a in apart]
        return float(np.sqrt(max(smallest, default=0.0)))

    def approach(self, positions: Array, far: float) -> tuple[Array, Indices, Indices]:
        """Distance from the nearest point [m], its link and its number, (s, m) each.

        Args:
            positions: In the hand's frame [m], (m, 3).
            far: Distance beyond which it does not matter [m].
        """
        apart = np.full((len(self.tips), len(positions)), far)
        link, point = np.zeros(apart.shape, dtype=int), np.zeros(apart.shape, dtype=int)
        for number, (cloud, frames) in enumerate(zip(self.clouds, self.frames, strict=True)):
            seen = local(positions, frames)
            center = cloud.mean(axis=0)
            reach = np.sqrt(((cloud - center) ** 2).sum(axis=1).max()) + far
            near = ((seen - center) ** 2).sum(axis=2) < reach * reach
            nearest_points, which = nearest(seen[near], cloud)
            closer = nearest_points < apart[near]
            chosen = np.flatnonzero(near.ravel())[closer]
            apart.ravel()[chosen] = nearest_points[closer]
            link.ravel()[chosen] = number
            point.ravel()[chosen] = which[closer]
        return apart, link, point

    def touching(self, at: Indices, link: Indices, point: Indices) -> Array:
        """Points of links at steps in the hand's frame, (m, 3) [m]; all arguments (m,)."""
        points = np.zeros((len(at), 3))
        for number, cloud in enumerate(self.clouds):
            of_link = link == number
            frames = self.frames[number, at[of_link]]
            points[of_link] = moved(cloud[point[of_link]], frames)
        return points

    def weighed(self, positions: Array, at: Indices, link: Indices, point: Indices) -> Array:
        """Middles of the points that are about as near to places as the nearest ones, (m, 3).

        The nearest of points that are spread over a face lies aside of where a ball touches the
        face.

        Args:
            positions: (m, 3) [m].
            at: Step at which each is touched, (m,).
            link: Which link touches, (m,).
            point: Which of its points is nearest, (m,).
        """
        points = np.zeros((len(at), 3))
        for number, cloud in enumerate(self.clouds):
            of_link = np.flatnonzero(link == number)
            frames = self.frames[number, at[of_link]]
            seen = np.einsum("mji,mj->mi", frames[:, :3, :3], positions[of_link] - frames[:, :3, 3])
            apart = np.sqrt(((cloud[None] - seen[:, None]) ** 2).sum(axis=2))
            smallest = np.take_along_axis(apart, point[of_link][:, None], axis=1)
            weights = np.exp((smallest - apart) / SOFT)
            middle = weights @ cloud / weights.sum(axis=1)[:, None]
            points[of_link] = moved(middle, frames)
        return points


@dataclass(frozen=True, eq=False)
class Sweep:
    """A closing hand at some steps."""

    fractions: Array
    """Parts of the motion, from 0 to 1, (s,)."""
    paths: tuple[Path, ...]
    """Of the k fingers that move."""
    still: tuple[Array, ...]
    """Points on what does not move, part by part, (n, 3) each [m]."""
    middle: Array
    """Of the palm, (3,) [m]."""

    @cached_property
    def groups(self) -> Indices:
        """Number of the group of drives that moves each finger, −1 of none, (k,)."""
        return np.array([path.group for path in self.paths], dtype=int)

    def approach(self, positions: Array, far: float, *, precise: bool) -> Approach:
        """Look how near fingers come to places.

        Args:
            positions: In the hand's frame [m], (m, 3).
            far: Distance beyond which it does not matter [m].
            precise: Weigh the points near each touching point; slow for many places.
        """
        return joined(
            positions, [path.approach(positions, far) for path in self.paths], precise=precise
        )

    def meet(self, approach: Approach, radius: float) -> Meeting:
        """When and where fingers first touch balls.

        Args:
            approach: Of their centres.
            radius: Of all of them [m].
        """
        meetings = [self._meet_one(finger, approach, radius) for finger in range(len(self.paths))]
        return Meeting(*(np.stack(column, axis=1) for column in zip(*meetings, strict=True)))

    def _meet_one(self, finger: int, approach: Approach, radius: float) -> tuple[Any, ...]:
        path, apart = self.paths[finger], approach.apart[finger]
        rows, hits = np.arange(len(approach.positions)), apart <= radius
        met, at = hits.any(axis=0), hits.argmax(axis=0)
        link, point = approach.link[finger, at, rows], approach.point[finger, at, rows]
        touching = path.touching(at, link, point)
        if approach.precise:
            touching_rows = np.flatnonzero(met)
            touching[touching_rows] = path.weighed(
                approach.positions[touching_rows],
                at[touching_rows],
                link[touching_rows],
                point[touching_rows],
            )
        offsets = approach.positions - touching
        before = apart[np.maximum(at - 1, 0), rows]
        fraction = np.where(met, self._between(at, before, apart[at, rows], radius), 1.0)
        return (
            met & (fraction <= LATEST),
            fraction,
            offsets / np.maximum(length(offsets), 1e-12)[:, None],
            met & (link == len(path.clouds) - 1),
            length(touching - path.tips[at]),
            length(touching - path.middles[at]),
            touching,
            at,
            link,
        )

    def _between(self, step: Indices, before: Array, after: Array, radius: float) -> Array:
        """Shares at which the distance went through the radius, between two steps."""
        part = (before - radius) / np.maximum(before - after, 1e-12)
        earlier = self.fractions[np.maximum(step - 1, 0)]
        fraction = earlier + part * (self.fractions[step] - earlier)
        return np.where(step > 0, fraction, 0.0)

    def before_palm(self, positions: Array) -> Flags:
        """Which places are on that side of the palm's middle to which the open hand reaches, (m,).

        Fingers that are free to turn far would hold a ball behind the palm too, through it.
        """
        if not self.paths:
            return np.ones(len(positions), dtype=bool)
        out = np.mean([path.tips[0] for path in self.paths], axis=0) - self.middle
        return np.asarray((positions - self.middle) @ out >= 0.0)

    def away(self, balls: Array) -> tuple[Array, Array]:
        """Distance from what stands still [m], (m,), and unit vectors away from it, (m, 3)."""
        min_distances, directions = np.full(len(balls), np.inf), np.zeros((len(balls), 3))
        for cloud in self.still:
            distances, point = nearest(balls, cloud)
            closer = distances < min_distances
            min_distances[closer] = distances[closer]
            directions[closer] = balls[closer] - cloud[point[closer]]
        return min_distances, directions / np.maximum(np.linalg.norm(directions, axis=1), 1e-12)[
            :, None
        ]


def joined(
    positions: Array, approaches: Sequence[tuple[Array, Indices, Indices]], *, precise: bool
) -> Approach:
    """What fingers found one by one, together."""
    if not approaches:
        none = np.zeros((0, 1, len(positions)), dtype=int)
        return Approach(positions, none.astype(float), none, none, precise)
    apart, link, point = (np.array(part) for part in zip(*approaches, strict=True))
    return Approach(positions, apart, link, point, precise)
