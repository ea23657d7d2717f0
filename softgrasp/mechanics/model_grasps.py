"""Finds how a hand takes a ball: from where its drives close, how fast, and where the ball goes.

Pure geometry. The hand closes step by step with nothing in it; for many places of a ball the
surface of each finger tells when it would be touched and from which side. A place is good where
the touches can press from all sides at once, friction included, also on a smaller ball.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from softgrasp.mechanics.transforms import Array

RADII = (0.03, 0.025, 0.035, 0.02, 0.015, 0.04, 0.01)
"""Of the ball, the first that fits is taken [m]."""
SMALLER = 0.65
"""A ball this much smaller should be held at the same place."""
LARGER, LARGER_COUNTS = 1.3, 0.3
"""So should one that is this much larger; what that counts."""
SMALLER_COUNTS = {False: 0.3, True: 0.6}
"""What that counts in a power and in a precision grasp, over the ball itself."""
STEPS, FINE_STEPS = 10, 21
"""Postures from open to closed."""
MOST_PLACES = 260
MOST_LOOKED_AT = 3
"""Ways of closing whose best places are looked at more closely."""
NEARER = (0.012, 0.004)
"""Reach of the grids around the best place that are looked at after each other [m]."""
SPEED = 1.2
"""Closing rate of the fastest joint [rad/s]."""
CLOSING_TIME = 1.2
"""In which a drive that is no angle goes from its start to its limit [s]."""
FRICTION = 0.4
"""What a touch can count on."""
GAP = 2e-3
"""Around the ball at the start [m]."""
ENOUGH = 0.25
"""Score of the directions from which a good grasp can press, see ``_closure``."""
PARALLEL, ONE_SIDED = 0.8, 0.3
"""Cosine above which joints bend alike; a start nearer to the middle of a range than this share of
it belongs to a joint that spreads."""
FOLLOWING = 0.1
"""Rate of later joints over that of the first one in a precision grasp."""
SLOWEST = 0.35
"""Of a finger that has a shorter way than others, over the fastest."""
CLEAR_START = 0.2
"""A start that is this share of the range or more away from its middle tells where a joint is open.
"""
TOGETHER = 0.2
"""Tips that are nearer to one another than this share of their reach are closed."""
ONE_WAY = 0.6
"""Share of the bending axes that lie along one direction, where there is one."""


class ClosingHand(Protocol):
    """What the finder asks of a hand; all in its frame [m]."""

    @property
    def limits(self) -> Sequence[tuple[float, float]]:
        """Lowest and highest target of each drive."""

    @property
    def start(self) -> Sequence[float]:
        """Targets of the posture that the hand's file names."""

    @property
    def angles(self) -> Sequence[bool]:
        """Whether a target is an angle [rad]."""

    @property
    def fingers(self) -> Sequence[Sequence[int]]:
        """Drives of each finger from the palm outwards; one may belong to several fingers."""

    def axes(self, targets: Sequence[float]) -> Array:
        """Turning axis of each drive, (nd, 3); zeros where it turns nothing."""

    def surfaces(self, targets: Sequence[float]) -> list[Array]:
        """Points on the palm, then on each finger, (n, 3) each."""

    def tips(self, targets: Sequence[float]) -> Array:
        """The end of each finger, (nf, 3)."""


class FoundGrasp(NamedTuple):
    """How a hand takes a ball."""

    center: tuple[float, float, float]
    """Where the ball goes in the hand's frame [m]."""
    start: tuple[float, ...]
    rates: tuple[float, ...]
    fingers: int
    """How many fingers touch."""
    closure: float
    """Least share of a force that can press against any direction [–]; above zero it holds."""


class FoundGrasps(NamedTuple):
    """Both grasps of a hand."""

    power: FoundGrasp
    precision: FoundGrasp
    axis: tuple[float, float, float]
    """Along which a long object lies in the hand."""
    around: bool
    """Whether the fingers stand around that axis instead of bending about it."""
    radius: float
    """Of the ball [m]."""


class _Role(NamedTuple):
    """What a drive does in a grasp."""

    closes: int
    """+1 or −1, the way in which it closes; 0 for one that stays."""
    open_at: float
    still: tuple[float, ...]
    """Places of one that stays."""


class _Path(NamedTuple):
    """A way of closing."""

    start: Array
    speed: Array
    """Signed, (nd,), in a unit a second."""
    time: float


class _Place(NamedTuple):
    score: float
    closure: float
    center: Array
    touches: Array
    """Share of the closing time at which each finger touches, inf where it does not, (nf,)."""


def found_grasps(hand: ClosingHand) -> FoundGrasps | None:
    """A power and a precision grasp of a hand, the same ones every time; None where none is found.

    Args:
        hand: The hand.
    """
    roles = _roles(hand)
    if not any(role.closes for role in roles):
        return None
    best: tuple[float, FoundGrasp, _Path] | None = None
    radius = RADII[0]
    for radius in RADII:
        best = _best(hand, roles, radius, precise=False)
        if best is not None and best[1].closure > ENOUGH:
            break
    if best is None:
        return None
    _, power, path = best
    fine = _best(hand, roles, radius, precise=True)
    precision = power if fine is None else fine[1]
    axis, around = _axis(hand, roles, path, power)
    return FoundGrasps(power, precision, axis, around, radius)


def _roles(hand: ClosingHand) -> list[_Role]:
    """Which way each drive closes, and which ones stay."""
    count = len(hand.limits)
    axes = hand.axes(hand.start)
    last_of = {drive: drives[-1] for drives in hand.fingers for drive in drives}
    roles = []
    for drive in range(count):
        low, high = hand.limits[drive]
        start = float(hand.start[drive])
        if drive not in last_of or high - low < 1e-9:
            roles.append(_Role(0, start, (start,)))
            continue
        along = abs(float(axes[drive] @ axes[last_of[drive]]))
        spreads = np.any(axes[drive]) and along < PARALLEL
        if spreads:
            middle = abs(low + high - 2 * start) < ONE_SIDED * (high - low)
            still = (start,) if middle else (start, low, (low + high) / 2, high)
            roles.append(_Role(0, start, tuple(dict.fromkeys(still))))
        else:
            roles.append(_closing_way(hand, drive))
    return roles


def _closing_way(hand: ClosingHand, drive: int) -> _Role:
    """A drive closes away from where the hand's file has it, unless the tips are together there.

    One that starts in the middle of its range closes so that the tips come together, or else
    nearer to the palm.
    """
    low, high = hand.limits[drive]
    start = float(hand.start[drive])
    way = (start - low) / (high - low)
    spread, reach = np.array([_spread(hand, drive, end) for end in (low, start, high)]).T
    size = max(float(reach.max()), 1e-6)
    if abs(way - 0.5) > CLEAR_START:
        closes = 1 if way < 0.5 else -1
        far = spread[2] if closes > 0 else spread[0]
        if spread[1] < TOGETHER * size and far > spread[1]:
            closes = -closes
    else:
        closes = 1 if spread[2] + reach[2] < spread[0] + reach[0] else -1
    begin, end = (low, high) if closes > 0 else (high, low)
    # the posture of the file is taken where it leaves way to close
    opened = start if abs(end - start) > 0.6 * (high - low) else begin
    return _Role(closes, opened, (opened,))


def _spread(hand: ClosingHand, drive: int, value: float) -> tuple[float, float]:
    """Distance to the nearest other tip, and of the tips that move from the palm [m]; means."""
    targets = list(hand.start)
    targets[drive] = value
    tips = hand.tips(targets)
    moved = [index for index, drives in enumerate(hand.fingers) if drive in drives]
    own = tips[moved]
    between = np.linalg.norm(own[:, None] - tips[None], axis=2)
    between[np.arange(len(moved)), moved] = np.inf
    palm = hand.surfaces(targets)[0]
    middle = palm.mean(axis=0) if len(palm) else np.zeros(3)
    nearest = between.min(axis=1)
    gap = float(nearest.mean()) if np.isfinite(nearest).all() else 0.0
    return gap, float(np.linalg.norm(own - middle, axis=1).mean())


def _best(
    hand: ClosingHand, roles: Sequence[_Role], radius: float, *, precise: bool
) -> tuple[float, FoundGrasp, _Path] | None:
    """The best place over all postures of the drives that stay."""
    rough: list[tuple[float, _Path, Array]] = []
    for still in _postures(roles):
        path = _path(hand, roles, still, precise=precise)
        place = _look(hand, path, radius, STEPS, None, precise=precise)
        if place is not None:
            rough.append((place.score, path, place.center))
    rough.sort(key=lambda found: -found[0])
    best: tuple[_Place, _Path] | None = None
    for _, path, center in rough[:MOST_LOOKED_AT]:
        place = _refined(hand, path, radius, center, precise=precise)
        if place is not None and (best is None or place.score > best[0].score):
            best = place, path
    if best is None:
        return None
    place, path = best
    x, y, z = place.center.round(4).tolist()
    grasp = FoundGrasp(
        center=(x, y, z),
        start=tuple(path.start.round(6).tolist()),
        rates=tuple(_arriving_together(hand, path, place).tolist()),
        fingers=int(np.isfinite(place.touches).sum()),
        closure=place.closure,
    )
    return place.score, grasp, path


def _refined(
    hand: ClosingHand, path: _Path, radius: float, center: Array, *, precise: bool
) -> _Place | None:
    """The best place near one."""
    found: _Place | None = None
    for reach in NEARER:
        grid = center + _cube(reach)
        place = _look(hand, path, radius, FINE_STEPS, grid, precise=precise)
        if place is not None:
            found, center = place, place.center
    return found


def _postures(roles: Sequence[_Role]) -> list[tuple[float, ...]]:
    """All combinations of the places of the drives that stay; of many, of the first ones."""
    choices, left = [], 64
    for role in roles:
        own = role.still if left >= len(role.still) else role.still[:1]
        left //= len(own)
        choices.append(own)
    return list(itertools.product(*choices))


def _path(
    hand: ClosingHand, roles: Sequence[_Role], still: Sequence[float], *, precise: bool
) -> _Path:
    low, high = np.array(hand.limits).T
    start = np.clip(np.array(still, dtype=float), low, high)
    closes = np.array([role.closes for role in roles], dtype=float)
    travel = np.where(closes > 0, high - start, start - low) * np.abs(closes)
    speed = closes * np.where(hand.angles, SPEED, travel / CLOSING_TIME)
    if precise:
        for drives in hand.fingers:
            bending = [drive for drive in drives if roles[drive].closes]
            for drive in bending[1:]:
                speed[drive] *= FOLLOWING
    with np.errstate(divide="ignore", invalid="ignore"):
        times = np.where(speed != 0.0, travel / np.abs(speed), 0.0)
    first = [next((d for d in drives if roles[d].closes), None) for drives in hand.fingers]
    leading = [times[drive] for drive in first if drive is not None]
    return _Path(start, speed, float(max(leading if precise else times, default=0.0)))


def _targets(hand: ClosingHand, path: _Path, share: float) -> list[float]:
    low, high = np.array(hand.limits).T
    found: list[float] = np.clip(path.start + path.speed * path.time * share, low, high).tolist()
    return found


def _look(
    hand: ClosingHand,
    path: _Path,
    radius: float,
    steps: int,
    places: Array | None,
    *,
    precise: bool,
) -> _Place | None:
    """The best of some places of a ball on a way of closing; of a grid where none are named."""
    shares = np.linspace(0.0, 1.0, steps)
    targets = [_targets(hand, path, share) for share in shares]
    surfaces = [hand.surfaces(values) for values in targets]
    tips = np.array([hand.tips(values) for values in targets])
    palm_tree = _tree(surfaces[0][0])
    trees = [[palm_tree, *map(_tree, step[1:])] for step in surfaces]
    places = _places(surfaces, radius) if places is None else places
    open_gap = np.min([_distances(tree, places)[0] for tree in trees[0]], axis=0)
    places = places[open_gap > radius + GAP]
    if not len(places):
        return None
    palm, palm_at = _distances(trees[0][0], places)
    far, at = _finger_distances(trees, surfaces, places)
    near_tip = np.linalg.norm(places[None, None] - tips[:, :, None], axis=3)
    middles = np.array([[part.mean(axis=0) for part in step[1:]] for step in surfaces])
    off = np.linalg.norm(places[None, None] - middles[:, :, None], axis=3)
    judged = [
        _judged(
            places,
            far,
            at,
            palm,
            _points(surfaces[0][0], palm_at),
            near_tip,
            off,
            size,
            precise=precise,
        )
        for size in (radius, SMALLER * radius, LARGER * radius)
    ]
    scores = judged[0][0] + SMALLER_COUNTS[precise] * np.minimum(judged[1][0], 1.0)
    scores += LARGER_COUNTS * np.clip(judged[2][0], -1.0, 1.0)
    best = int(np.argmax(scores))
    if not np.isfinite(scores[best]):
        return None
    times = _touch_times(far, radius)[:, best] / (steps - 1)
    return _Place(float(scores[best]), float(judged[0][1][best]), places[best], times)


def _touch_times(far: Array, radius: float) -> Array:
    """The step, and part of one, at which each finger touches, inf where it does not, (nf, n).

    Args:
        far: Distance of each finger from each ball's centre at each step, (steps, nf, n) [m].
        radius: Of the ball [m].
    """
    touching = far <= radius
    first = touching.argmax(axis=0)
    after = np.take_along_axis(far, first[None], axis=0)[0]
    before = np.take_along_axis(far, np.maximum(first - 1, 0)[None], axis=0)[0]
    share = np.clip((before - radius) / np.maximum(before - after, 1e-12), 0.0, 1.0)
    times = np.where(first > 0, first - 1 + share, 0.0)
    return np.where(touching.any(axis=0), times, np.inf)


def _places(surfaces: Sequence[Sequence[Array]], radius: float) -> Array:
    """A grid over what the fingers sweep, (n, 3) [m]."""
    swept = np.vstack([part for step in surfaces for part in step[1:] if len(part)])
    low, high = swept.min(axis=0) - radius, swept.max(axis=0) + radius
    spacing = max(float(np.prod(high - low) / MOST_PLACES) ** (1 / 3), 4e-3)
    axes = [np.arange(a + spacing / 2, b, spacing) for a, b in zip(low, high, strict=True)]
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)


def _cube(reach: float) -> Array:
    """A small grid about the origin, (n, 3) [m]."""
    ways = np.linspace(-reach, reach, 5)
    return np.stack(np.meshgrid(ways, ways, ways, indexing="ij"), axis=-1).reshape(-1, 3)


def _tree(points: Array) -> cKDTree | None:
    # quick to make, as each one is asked only once
    return cKDTree(points, balanced_tree=False, compact_nodes=False) if len(points) else None


def _distances(tree: cKDTree | None, places: Array) -> tuple[Array, NDArray[np.int64]]:
    """Distance of each place from a surface [m], and the index of its nearest point."""
    if tree is None:
        return np.full(len(places), np.inf), np.zeros(len(places), dtype=int)
    distances, indices = tree.query(places)
    return np.asarray(distances), np.asarray(indices)


def _points(surface: Array, indices: NDArray[np.int64]) -> Array:
    return surface[indices] if len(surface) else np.zeros((len(indices), 3))


def _finger_distances(
    trees: Sequence[Sequence[cKDTree | None]], surfaces: Sequence[Sequence[Array]], places: Array
) -> tuple[Array, Array]:
    """Distance of each finger at each step, (steps, nf, n), and the nearest points (…, 3) [m]."""
    fingers = range(1, len(surfaces[0]))
    far = np.zeros((len(trees), len(fingers), len(places)))
    at = np.zeros((*far.shape, 3))
    for step, (own, parts) in enumerate(zip(trees, surfaces, strict=True)):
        for finger in fingers:
            far[step, finger - 1], index = _distances(own[finger], places)
            at[step, finger - 1] = _points(parts[finger], index)
    return far, at


def _judged(
    places: Array,
    far: Array,
    at: Array,
    palm: Array,
    palm_at: Array,
    near_tip: Array,
    middles_off: Array,
    radius: float,
    *,
    precise: bool,
) -> tuple[Array, Array]:
    """Score and closure of each place, (n,) each."""
    steps = len(far)
    times = _touch_times(far, radius)
    touched = np.isfinite(times)
    # the side from which a finger comes: a step later it may be through the ball
    step = np.where(touched, times, 0.0).astype(int)
    fingers, numbers = np.ogrid[: far.shape[1], : far.shape[2]]
    ways = at[step, fingers, numbers] - places[None]
    palm_touched = palm < radius + GAP
    all_ways = np.concatenate([ways, (palm_at - places)[None]])
    all_touched = np.concatenate([touched, palm_touched[None]])
    closure = _closure(all_ways, all_touched)
    late = np.where(touched, np.maximum(times / (steps - 1) - 0.85, 0.0), 0.0).max(axis=0)
    early = np.where(touched, times, steps).min(axis=0)
    last = np.where(touched, times, 0.0).max(axis=0)
    apart = np.maximum(last - early, 0) / (steps - 1)
    score = closure + 0.16 * (touched.sum(axis=0) - 2) - 2.0 * late - 0.3 * apart
    number = np.maximum(touched.sum(axis=0), 1)
    middle = np.where(touched[..., None], ways, 0.0).sum(axis=0) / number[:, None]
    score -= 0.15 * np.linalg.norm(middle, axis=1) / radius
    off = np.where(touched, middles_off[step, fingers, numbers], 0.0).sum(axis=0) / number
    score -= 0.1 * off / 0.03
    tip_way = np.where(touched, near_tip[step, fingers, numbers] - radius, 0.0).sum(axis=0)
    tip_way /= number
    away = np.clip((palm - radius) / radius, 0.0, 3.0) if np.isfinite(palm).all() else 0.0
    score += -0.15 * np.clip(tip_way / 0.01, 0.0, 3.0) if precise else -0.12 * away
    return np.where(touched.sum(axis=0) >= 2, score, -np.inf), closure


def _closure(ways: Array, touched: Array) -> Array:
    """Least over all directions of the largest share of a touch's force along it, (n,).

    A touch presses anywhere in its friction cone, so along a direction that its cone does not hold
    with the cosine of the angle to the cone. Above zero the touches can resist any small force.

    Args:
        ways: From the ball's centre to each touch, (nt, n, 3).
        touched: Which touches there are, (nt, n).
    """
    pushes = -ways / np.maximum(np.linalg.norm(ways, axis=2, keepdims=True), 1e-12)
    cosines = np.clip(pushes @ _directions().T, -1.0, 1.0)
    angle = np.arccos(cosines) - math.atan(FRICTION)
    share = np.where(touched[..., None], np.cos(np.maximum(angle, 0.0)), -1.0)
    return np.asarray(share.max(axis=0).min(axis=-1))


@cache
def _directions(count: int = 40) -> Array:
    """Unit vectors spread over the sphere on a spiral, (count, 3)."""
    index = np.arange(count) + 0.5
    z = 1.0 - 2.0 * index / count
    turn = index * math.pi * (1.0 + math.sqrt(5.0))
    flat = np.sqrt(1.0 - z * z)
    return np.column_stack([flat * np.cos(turn), flat * np.sin(turn), z])


def _arriving_together(hand: ClosingHand, path: _Path, place: _Place) -> Array:
    """Rates with which fingers that have a shorter way are slower."""
    known = place.touches[np.isfinite(place.touches)]
    longest = float(known.max())
    factors = np.ones(len(path.speed))
    for finger, drives in enumerate(hand.fingers):
        share = place.touches[finger]
        factor = share / longest if np.isfinite(share) and longest > 0.0 else 1.0
        for drive in drives:
            factors[drive] = max(min(factor, factors[drive]), SLOWEST)
    return np.asarray((path.speed * factors).round(6))


def _axis(
    hand: ClosingHand, roles: Sequence[_Role], path: _Path, grasp: FoundGrasp
) -> tuple[tuple[float, float, float], bool]:
    """Along which a long object lies: the axis about which most fingers bend, where there is one.

    Fingers that stand around the palm have none; a long object then lies along the way out of it.
    """
    palm = hand.surfaces(path.start.tolist())[0]
    out = np.array(grasp.center) - (palm.mean(axis=0) if len(palm) else 0.0)
    out = out / max(float(np.linalg.norm(out)), 1e-12)
    axes = hand.axes(path.start.tolist())
    bending = axes[[drive for drive, role in enumerate(roles) if role.closes]]
    bending = bending[np.any(bending != 0.0, axis=1)]
    if not len(bending):
        tips = hand.tips(path.start.tolist())
        apart = np.linalg.svd(tips - tips.mean(axis=0))[2][0]
        across = np.cross(apart, out)
        return _unit(across), False
    shares, ways = np.linalg.eigh(bending.T @ bending / len(bending))
    if shares[-1] < ONE_WAY:
        return _unit(out), True
    return _unit(ways[:, -1]), False


def _unit(way: Array) -> tuple[float, float, float]:
    length = float(np.linalg.norm(way))
    x, y, z = (way / length).tolist() if length > 1e-9 else (0.0, 0.0, 1.0)
    return (x, y, z)
