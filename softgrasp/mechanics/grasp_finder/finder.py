"""Power and precision grasps of a ball, found by looking along the closing motion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import product
from typing import Literal, NamedTuple

import numpy as np
from scipy.spatial.transform import Rotation

from softgrasp.description.closure import Rates
from softgrasp.description.hand import GraspPreset, Grasps, Hand
from softgrasp.mechanics.grasp_finder.closing import Closing, Free, carrier_of, closing_of
from softgrasp.mechanics.grasp_finder.enclosure import enclosures
from softgrasp.mechanics.grasp_finder.sweep import Approach, Flags, Meeting, Sweep, sweep_of
from softgrasp.mechanics.hand_kinematics import link_frames
from softgrasp.mechanics.transforms import Array

RADII = (0.030, 0.020, 0.040, 0.012, 0.060)
"""Balls that are tried, one after the other, until the fingers enclose one [m]."""
ENCLOSED = 0.05
"""Least force in any direction from which a ball counts as enclosed [–]."""
FASTEST = {"rad": 1.5, "m": 0.05}
"""Rate of the fastest drive [rad/s, m/s]."""
DISTAL = 0.15
"""Part of its way that every joint but a finger's first one goes in a precision grasp [–]."""
SLOWEST = 0.3
"""Of the fastest group of drives: a slower one would hardly close [–]."""
CLEAR_OF_FINGERS, CLEAR_OF_PALM = 2e-3, 1e-3
"""Gaps between ball and open hand [m]."""
NEAR_PALM = 10e-3
"""A ball that is nearer to the palm than this can lean on it in a power grasp [m]."""
OPPOSED = -0.2
"""Cosine below which two contacts oppose one another."""
ALONG_Z = 0.5
"""Mean part of the fingers' forces along z above which upright things are laid across [–]."""
COARSE, FINE = (9, 60), (17, 300)
"""Steps, and points of a body, of the first and of the last look."""
CELLS = 10
"""Places along the longest side of the space that is searched first."""
STEPS = (6e-3, 3e-3, 1.5e-3, 7e-4)
"""Then the best place is moved in these steps [m]."""
BETTER = 0.02
"""By how much a posture farther from zero has to be better [–]."""
OTHERS = (4.0 / 3.0, 2.0 / 3.0)
"""Sizes of other balls that should fit the same place, over that of the first one."""
FAR, NEAR = 1.7, 1.3
"""Distances from a place up to which fingers are looked for, in radii of the ball: for balls of
several sizes, and for it alone."""
MOST_PLACES = 120
"""Places of the grid that are looked at with balls of several sizes."""
TIGHT = 0.3
"""What a place loses where the larger ball would have to be moved first [–]."""
MOST_MOVES = 3
"""Of one step."""
PROMISING = 2
"""Postures around whose best places is looked more closely."""
AROUND = np.array(
    [way for way in product((-1, 0, 1), repeat=3) if np.abs(way).sum() in (1, 3)], dtype=float
)
"""Towards the faces and the corners of a cube."""

Kind = Literal["power", "precision"]


@dataclass(frozen=True)
class FoundGrasps:
    """What was found."""

    grasps: Grasps
    radius: Mapping[str, float]
    """Of the ball that each grasp was found with [m]."""
    enclosed: Mapping[str, bool]
    """Whether the fingers meet that ball from opposing sides."""


class _Best(NamedTuple):
    score: float
    enclosure: float
    place: Array
    closing: Closing
    radius: float
    sweep: Sweep


def found_grasps(
    hand: Hand, surfaces: Mapping[str, Array], fastest: Mapping[str, float] | None = None
) -> FoundGrasps:
    """Find the two grasps of a hand from its shapes.

    Args:
        hand: The hand; its own grasps are not looked at.
        surfaces: Points (n, 3) [m] on each body in its frame, by its name; ``palm`` holds those of
            the palm in the hand's frame, some inside it too.
        fastest: Largest rate of drives by name [rad/s or m/s], where one is known.
    """
    closing = closing_of(hand, _middle(hand, surfaces))
    found = {kind: _search(hand, surfaces, closing, kind) for kind in ("power", "precision")}
    presets = {kind: _preset(hand, best, kind, fastest or {}) for kind, best in found.items()}
    return FoundGrasps(
        grasps=Grasps(power=presets["power"], precision=presets["precision"]),
        radius={kind: best.radius for kind, best in found.items()},
        enclosed={kind: best.enclosure > ENCLOSED for kind, best in found.items()},
    )


def _middle(hand: Hand, surfaces: Mapping[str, Array]) -> Array:
    """Middle of the palm, or of the body on which all fingers stand behind a wrist, (3,) [m]."""
    body = carrier_of(hand)
    if body is not None and body in surfaces:
        rest = [min(max(0.0, drive.limits[0]), drive.limits[1]) for drive in hand.drives]
        frame = link_frames(hand, hand.posture(rest))[body]
        return np.asarray(frame[:3, :3] @ surfaces[body].mean(axis=0) + frame[:3, 3])
    if body is None and "palm" in surfaces:
        return np.asarray(surfaces["palm"].mean(axis=0))
    return np.asarray(np.mean([finger.base.position for finger in hand.fingers], axis=0))


def _search(hand: Hand, surfaces: Mapping[str, Array], closing: Closing, kind: str) -> _Best:
    """The best place of the first ball that is enclosed; of all of them where none is."""
    weights = _weights(closing, kind)
    best: _Best | None = None
    for radius in RADII:
        found = _best_posture(hand, surfaces, closing, weights, kind, radius)
        sweep = sweep_of(hand, surfaces, found.closing, weights, *FINE)
        found = _refined(sweep, found, kind)._replace(sweep=sweep)
        if best is None or found.enclosure > max(ENCLOSED, best.enclosure):
            best = found
        if best.enclosure > ENCLOSED:
            break
    assert best is not None
    return best


def _weights(closing: Closing, kind: str) -> Array:
    """Parts of their ways that drives go: in a precision grasp, the first joints go ahead."""
    if kind == "power":
        return np.ones(len(closing.start))
    return np.where(closing.order > 0, DISTAL, 1.0)


def _best_posture(
    hand: Hand,
    surfaces: Mapping[str, Array],
    closing: Closing,
    weights: Array,
    kind: str,
    radius: float,
) -> _Best:
    """The best place, with the joints that stand still where they serve it best."""

    def look(choice: Closing) -> _Best:
        sweep = sweep_of(hand, surfaces, choice, weights, *COARSE)
        balls = _places(sweep, radius)
        alone, _ = _scores(sweep, balls, kind, radius, (), precise=False)
        balls = balls[np.sort(np.argsort(-alone, kind="stable")[:MOST_PLACES])]
        scores, least = _scores(sweep, balls, kind, radius, precise=False)
        top = int(np.argmax(scores))
        return _Best(float(scores[top]), float(least[top]), balls[top], choice, radius, sweep)

    free = closing.free
    if len(free) <= 2:  # all of them, each with each
        found = [
            look(_with_places(closing, closing.start, tuple(zip(free, places, strict=True))))
            for places in product(*(one.places for one in free))
        ]
        by_score = sorted(found, key=lambda one: -one.score)
        promising = {id(one) for one in by_score[:PROMISING]}
        # in the order of the postures, as the one nearest to zero is to be beaten
        near = [_refined(one.sweep, one, kind, STEPS[:2]) for one in found if id(one) in promising]
        return reduce(_better, near)
    best = look(_with_places(closing, closing.start, ()))
    for _ in range(2):  # one after the other
        for one in free:
            for place in one.places:
                choice = _with_places(closing, best.closing.start, ((one, place),))
                best = _better(best, look(choice))
    return best


def _better(best: _Best, other: _Best) -> _Best:
    return other if other.score > best.score + BETTER else best


def _with_places(closing: Closing, start: Array, places: Sequence[tuple[Free, Array]]) -> Closing:
    """The closing from a start in which some drives that stand still stand elsewhere."""
    start, end = start.copy(), closing.end.copy()
    for one, place in places:
        start[list(one.drives)] = place
    for one in closing.free:
        end[list(one.drives)] = start[list(one.drives)]
    return replace(closing, start=start, end=end)


def _places(sweep: Sweep, radius: float) -> Array:
    """Centres on a grid around all that moves, clear of the open hand, (m, 3) [m]."""
    ends = [
        tree.data for trees in sweep.trees for tree in (trees[0], trees[len(trees) // 2], trees[-1])
    ]
    if not ends:
        return np.zeros((1, 3))
    low = np.min([points.min(axis=0) for points in ends], axis=0)
    high = np.max([points.max(axis=0) for points in ends], axis=0)
    step = float((high - low).max()) / CELLS
    axes = [np.arange(a, b + step, step) for a, b in zip(low, high, strict=True)]
    # whole multiples, so that what is symmetric about the origin is looked at symmetrically
    axes = [np.round(axis / step) * step for axis in axes]
    balls = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    clear = _clear(sweep, balls, radius)
    return balls[clear] if clear.any() else balls


def _clear(sweep: Sweep, balls: Array, radius: float) -> Flags:
    away = sweep.away(balls)[0] >= radius + CLEAR_OF_PALM
    if not sweep.trees:
        return away
    return np.asarray(away & (sweep.clear(balls) >= radius + CLEAR_OF_FINGERS))


def _scores(
    sweep: Sweep,
    balls: Array,
    kind: str,
    radius: float,
    others: Sequence[float] = OTHERS,
    *,
    precise: bool,
) -> tuple[Array, Array]:
    """How good places are for a ball and others like it, and how well it is enclosed, (m,) both."""
    if not sweep.trees:
        return np.zeros(len(balls)), np.full(len(balls), -1.0)
    approach = sweep.approach(balls, (FAR if others else NEAR) * radius, precise=precise)
    still = sweep.away(balls)
    score, least = _scores_of(sweep, approach, still, kind, radius)
    if not others:
        return score, least
    for share in others:
        score = score + _scores_of(sweep, approach, still, kind, share * radius)[0]
    larger = max(others) * radius
    tight = still[0] < larger + CLEAR_OF_PALM
    tight |= approach.apart[:, 0].min(axis=0) < larger + CLEAR_OF_FINGERS
    return (score - TIGHT * tight) / (1 + len(others)), least


def _scores_of(
    sweep: Sweep, approach: Approach, still: tuple[Array, Array], kind: str, radius: float
) -> tuple[Array, Array]:
    """The same of one size alone."""
    meeting, (apart, away) = sweep.meet(approach, radius), still
    gap, touched = apart - radius, meeting.touched
    if kind == "precision":
        touched = touched & meeting.outermost
    least, mean = enclosures(meeting.normals, touched)
    if kind == "power":
        normals = np.concatenate([meeting.normals, away[:, None]], axis=1)
        leans = np.concatenate([touched, (gap <= NEAR_PALM)[:, None]], axis=1)
        on_palm, mean = enclosures(normals, leans)
        # fingers that oppose one another come before fingers that oppose the palm
        score = np.maximum(least, 0.9 * on_palm - 0.1) + 0.2 * on_palm
        least = np.maximum(least, on_palm)
    else:
        score = least
    count = touched.sum(axis=1)
    share = touched / np.maximum(count, 1)[:, None]
    score = score + 0.2 * mean + 0.03 * count - 2.0 * _alone(sweep, meeting, touched)
    # fingers that go equally far meet smaller and larger things at one time too
    late = np.where(touched, meeting.share, -np.inf).max(axis=1)
    early = np.where(touched, meeting.share, np.inf).min(axis=1)
    score -= 0.5 * np.where(count > 0, late - early, 0.0)
    score -= 1.0 * (meeting.from_middle * share).sum(axis=1)
    if kind == "power":
        return score - 5.0 * np.clip(gap - CLEAR_OF_PALM, 0.0, 0.1), least
    score -= 5.0 * (meeting.from_tip * share).sum(axis=1)
    return score - 0.3 * (meeting.touched & ~meeting.outermost).sum(axis=1), least


def _alone(sweep: Sweep, meeting: Meeting, touched: Flags) -> Array:
    """Part of the motion for which the first finger of a group pushes with none against it, (m,).

    Fingers with drives of their own wait for one another; those of one drive cannot.
    """
    alone = np.zeros(len(touched))
    for group in sorted(set(sweep.groups.tolist()) - {-1}):
        own = np.flatnonzero(sweep.groups == group)
        if len(own) < 2:
            continue
        share = np.where(touched[:, own], meeting.share[:, own], np.inf)
        first = np.argmin(share, axis=1)
        rows = np.arange(len(touched))
        normals = meeting.normals[:, own]
        against = np.einsum("mkj,mj->mk", normals, normals[rows, first]) < OPPOSED
        then = np.where(against, share, np.inf).min(axis=1)
        met = np.isfinite(then)
        alone[met] = np.maximum(alone[met], then[met] - share[rows, first][met])
    return alone


def _refined(sweep: Sweep, best: _Best, kind: str, steps: Sequence[float] = STEPS) -> _Best:
    """The best place near by, looked at closely."""
    scores, least = _scores(sweep, best.place[None], kind, best.radius, precise=True)
    place, score, enclosure = best.place, float(scores[0]), float(least[0])
    for step in steps:
        for _ in range(MOST_MOVES):
            balls = place + step * AROUND
            balls = balls[_clear(sweep, balls, best.radius)]
            if len(balls) == 0:
                break
            scores, least = _scores(sweep, balls, kind, best.radius, precise=True)
            top = int(np.argmax(scores))
            if scores[top] <= score + 1e-6:
                break
            place, score, enclosure = balls[top], float(scores[top]), float(least[top])
    return best._replace(score=score, enclosure=enclosure, place=place)


def _preset(hand: Hand, best: _Best, kind: str, fastest: Mapping[str, float]) -> GraspPreset:
    """A found place as a preset: rates such that all fingers arrive together."""
    closing, sweep = best.closing, best.sweep
    weights = _weights(closing, kind)
    meeting = None
    if sweep.trees:
        approach = sweep.approach(best.place[None], FAR * best.radius, precise=True)
        meeting = sweep.meet(approach, best.radius)
    arrivals = _arrivals(sweep, meeting, len(closing.groups))
    speeds = np.zeros(len(closing.start))
    for group, arrival in zip(closing.groups, arrivals.tolist(), strict=True):
        indices = list(group)
        speeds[indices] = arrival * (weights * (closing.end - closing.start))[indices]
    longest = max(
        (
            abs(speed) / min(FASTEST.get(drive.unit, np.inf), fastest.get(drive.name, np.inf))
            for speed, drive in zip(speeds.tolist(), hand.drives, strict=True)
        ),
        default=0.0,
    )
    rates = speeds / longest if longest > 0.0 else speeds
    x, y, z = np.round(best.place, 5).tolist()
    share = float(arrivals.mean()) if len(arrivals) else 0.0
    posture = closing.start + share * weights * (closing.end - closing.start)
    across = _across(hand, posture, closing)
    return GraspPreset(
        center=(x, y, z),
        rates=Rates(np.round(rates, 4).tolist()),
        object_euler=across,
        upright_euler=across if _from_above_and_below(meeting) else None,
        start=tuple(_inside(hand, closing.start)),
    )


def _from_above_and_below(meeting: Meeting | None) -> bool:
    """Whether fingers press along z, where an upright thing would rather have them around it."""
    if meeting is None or not meeting.touched.any():
        return False
    return bool(np.abs(meeting.normals[meeting.touched][:, 2]).mean() > ALONG_Z)


def _inside(hand: Hand, targets: Array) -> list[float]:
    pairs = zip(targets.tolist(), hand.drives, strict=True)
    return [min(max(value, drive.limits[0]), drive.limits[1]) for value, drive in pairs]


def _arrivals(sweep: Sweep, meeting: Meeting | None, groups: int) -> Array:
    """When the fingers of each group of drives arrive, over the last one's arrival, (g,)."""
    found = np.full(groups, np.nan)
    if meeting is not None:
        for group in range(groups):
            own = (sweep.groups == group) & meeting.touched[0]
            if own.any():
                found[group] = meeting.share[0][own].min()
    if np.isnan(found).all():
        return np.ones(groups)
    found = np.where(np.isnan(found), np.nanmean(found), found)
    return np.asarray(np.maximum(found, SLOWEST * found.max()))


def _across(hand: Hand, targets: Array, closing: Closing) -> tuple[float, float, float]:
    """Turns that lay an object's z axis across the plane in which the fingers close."""
    frames = link_frames(hand, hand.posture(targets.tolist()))
    closing_joints = {
        drive.joint
        for drive, start, end in zip(hand.drives, closing.start, closing.end, strict=True)
        if start != end
    }
    axes = [
        frames[finger.body_of(row)][:3, 2]
        for finger in hand.fingers
        for row in finger.phalanges
        if row.joint == "revolute" and finger.joint_of(row) in closing_joints
    ]
    if not axes:
        return (0.0, 0.0, 0.0)
    spread = np.einsum("ni,nj->ij", np.array(axes), np.array(axes))
    along = np.linalg.eigh(spread)[1][:, -1]
    along = along * np.sign(along[np.argmax(np.abs(along))])
    turn, _ = Rotation.align_vectors(along[None], np.array([[0.0, 0.0, 1.0]]))
    about_z, about_y, about_x = np.round(turn.as_euler("ZYX"), 6).tolist()
    return (about_x, about_y, about_z)
