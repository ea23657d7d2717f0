"""Power and precision grasps of a ball, found by looking along the closing motion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import product

import numpy as np

from softgrasp.description.hand import Grasps, Hand
from softgrasp.mechanics.grasp_finder.closing import Closing, Free, carrier_of, closing_of
from softgrasp.mechanics.grasp_finder.presets import preset_of, weights_of
from softgrasp.mechanics.grasp_finder.scores import Place, clear, scores_of_places
from softgrasp.mechanics.grasp_finder.sweep import Sweep, sweep_of
from softgrasp.mechanics.hand_kinematics import link_frames
from softgrasp.mechanics.transforms import Array

RADII = (0.030, 0.020, 0.040, 0.012, 0.060)
"""Balls that are tried, one after the other, until the fingers enclose one [m]."""
ENCLOSED = 0.05
"""Least force in any direction from which a ball counts as enclosed [–]."""
COARSE, FINE = (9, 60), (17, 300)
"""Steps, and points of a body, of the first and of the last look."""
CELLS = 10
"""Places along the longest side of the space that is searched first."""
STEPS = (6e-3, 3e-3, 1.5e-3, 7e-4)
"""Then the best place is moved in these steps [m]."""
BETTER = 0.02
"""By how much a posture farther from zero has to be better [–]."""
MOST_PLACES = 120
"""Places of the grid that are looked at with balls of several sizes."""
MOST_MOVES = 3
"""Of one step."""
PROMISING = 2
"""Postures around whose best places is looked more closely."""
AROUND = np.array(
    [way for way in product((-1, 0, 1), repeat=3) if np.abs(way).sum() in (1, 3)], dtype=float
)
"""Towards the faces and the corners of a cube."""


@dataclass(frozen=True)
class FoundGrasps:
    """What was found."""

    grasps: Grasps
    radius: Mapping[str, float]
    """Of the ball that each grasp was found with [m]."""
    enclosed: Mapping[str, bool]
    """Whether the fingers meet that ball from opposing sides."""


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
    presets = {kind: preset_of(hand, best, kind, fastest or {}) for kind, best in found.items()}
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


def _search(hand: Hand, surfaces: Mapping[str, Array], closing: Closing, kind: str) -> Place:
    """The best place of the first ball that is enclosed; of all of them where none is."""
    weights = weights_of(closing, kind)
    best: Place | None = None
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


def _best_posture(
    hand: Hand,
    surfaces: Mapping[str, Array],
    closing: Closing,
    weights: Array,
    kind: str,
    radius: float,
) -> Place:
    """The best place, with the joints that stand still where they serve it best."""

    def look(choice: Closing) -> Place:
        sweep = sweep_of(hand, surfaces, choice, weights, *COARSE)
        balls = _places(sweep, radius)
        alone, _ = scores_of_places(sweep, balls, kind, radius, (), precise=False)
        balls = balls[np.sort(np.argsort(-alone, kind="stable")[:MOST_PLACES])]
        scores, least = scores_of_places(sweep, balls, kind, radius, precise=False)
        top = int(np.argmax(scores))
        return Place(float(scores[top]), float(least[top]), balls[top], choice, radius, sweep)

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


def _better(best: Place, other: Place) -> Place:
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
    free = clear(sweep, balls, radius)
    return balls[free] if free.any() else balls


def _refined(sweep: Sweep, best: Place, kind: str, steps: Sequence[float] = STEPS) -> Place:
    """The best place near by, looked at closely."""
    scores, least = scores_of_places(sweep, best.place[None], kind, best.radius, precise=True)
    place, score, enclosure = best.place, float(scores[0]), float(least[0])
    for step in steps:
        for _ in range(MOST_MOVES):
            balls = place + step * AROUND
            balls = balls[clear(sweep, balls, best.radius)]
            if len(balls) == 0:
                break
            scores, least = scores_of_places(sweep, balls, kind, best.radius, precise=True)
            top = int(np.argmax(scores))
            if scores[top] <= score + 1e-6:
                break
            place, score, enclosure = balls[top], float(scores[top]), float(least[top])
    return best._replace(score=score, enclosure=enclosure, place=place)
