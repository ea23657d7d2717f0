"""The best place for a ball on a hand's closing motion: a grid first, then closer and closer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from itertools import product
from typing import NamedTuple

import numpy as np

from softgrasp.grasp_synthesis.closing_motion import (
    Approach,
    Closing,
    Field,
    Meeting,
    Sweep,
    SweepCache,
    arrivals_of,
    closing_of,
    rates_of,
    weights_of,
)
from softgrasp.grasp_synthesis.hand_model import ClosingHand, Indices, Skins, thinned
from softgrasp.grasp_synthesis.scoring import (
    ENCLOSED,
    FAR,
    Lying,
    Still,
    Target,
    clear,
    lying_of,
    met,
    scores_of_positions,
    sunk_by,
    up_directions,
)
from softgrasp.grasp_synthesis.symmetry import Symmetry, evened, symmetry_of
from softgrasp.mechanics.transforms import Array

# --------------------
# Power and precision grasps of a ball, found by looking along the closing motion.


SINKS, LESS = 1e-4, 0.7
"""A ball of 1 N that sinks farther than this has the hand turned [m], where it then sinks less than
this part of it [–]."""


@dataclass(frozen=True)
class SynthesizedGrasp:
    """How a hand takes a ball."""

    center: tuple[float, float, float]
    """Where the ball goes in the hand's frame [m]."""
    start: tuple[float, ...]
    """Targets from which the hand closes, one a drive."""
    rates: tuple[float, ...]
    """Of the drives, in their units a second."""
    radius: float
    """Of the ball [m]."""
    enclosure: float
    """Least force in any direction that contacts of unit normal force give [–]."""
    normals: tuple[tuple[float, float, float], ...]
    """Where the fingers press, one each that touches; into the ball."""
    lying: Lying
    """How long things lie in the hand."""

    @property
    def enclosed(self) -> bool:
        """Whether the fingers meet that ball from opposing sides."""
        return self.enclosure > ENCLOSED


@dataclass(frozen=True)
class SynthesizedGrasps:
    """Both grasps of a hand."""

    power: SynthesizedGrasp
    precision: SynthesizedGrasp
    up: tuple[float, float, float]
    """Unit vector against gravity in the hand's frame, for which they were found."""


def synthesize_grasps(
    hand: ClosingHand, fastest: Mapping[str, float] | None = None
) -> SynthesizedGrasps:
    """Find the two grasps of a hand from its shapes, the same ones every time.

    Args:
        hand: The hand.
        fastest: Largest rate of drives by name, in their units a second, where one is known.
    """
    closing, skins = closing_of(hand), thinned(hand)
    ups = up_directions(hand, closing) if hand.up is None else [hand.up]
    power, precision = (
        Search(hand, skins, closing, weights_of(closing, kind), kind, ups[0])
        for kind in ("power", "precision")
    )
    best = precision.best()
    for up in ups[1:]:
        if sinks(best, ups[0]) > SINKS:
            other = precision.with_up(up).best()
            if sinks(other, up) < LESS * sinks(best, ups[0]):
                best, power = other, power.with_up(up)
    x, y, z = power.target.up.tolist()
    return SynthesizedGrasps(
        _grasp(hand, power.best(), weights_of(closing, "power"), fastest or {}),
        _grasp(hand, best, weights_of(closing, "precision"), fastest or {}),
        (x, y, z),
    )


def sinks(best: Candidate, up: Array) -> float:
    """How far the ball sinks in a precision grasp as the servos give way [m].

    Args:
        best: The grasp.
        up: Unit vector against gravity, (3,).
    """
    meeting = _meeting(best)
    if meeting is None or not meeting.touched.any():
        return 0.0
    return float(sunk_by(best.sweep, meeting, np.full(1, np.inf), Target("precision", up))[0])


def _grasp(
    hand: ClosingHand, best: Candidate, weights: Array, fastest: Mapping[str, float]
) -> SynthesizedGrasp:
    closing, meeting = best.closing, _meeting(best)
    even = best.symmetry
    together = meeting if meeting is None or even is None else evened(meeting, even)
    arrivals = arrivals_of(best.sweep, together, len(closing.groups))
    rates = rates_of(hand, closing, weights, arrivals, fastest)
    fraction = float(arrivals.mean()) if len(arrivals) else 0.0
    posture = closing.start + fraction * weights * (closing.end - closing.start)
    x, y, z = np.round(best.position, 5).tolist()
    lying = lying_of(hand, closing, posture)
    pressing = np.zeros((0, 3)) if meeting is None else meeting.normals[meeting.touched]
    return SynthesizedGrasp(
        center=(x, y, z),
        start=tuple(_inside(hand, closing.start)),
        rates=tuple(np.round(rates, 4).tolist()),
        radius=best.radius,
        enclosure=best.enclosure,
        normals=tuple((x, y, z) for x, y, z in pressing.tolist()),
        lying=lying if even is None else lying.along(even.along(np.array([lying.axis]))[0]),
    )


def _meeting(best: Candidate) -> Meeting | None:
    """How the fingers meet the ball; None where no finger moves."""
    if not best.sweep.paths:
        return None
    approach = best.sweep.approach(best.position[None], FAR * best.radius, precise=True)
    return best.sweep.meet(approach, best.radius)


def _inside(hand: ClosingHand, targets: Array) -> list[float]:
    pairs = zip(targets.tolist(), hand.actuators, strict=True)
    return [min(max(value, actuator.limits[0]), actuator.limits[1]) for value, actuator in pairs]


RADII = (0.030, 0.020, 0.040, 0.012, 0.060)
"""Balls that are tried, one after the other, until the fingers enclose one [m]."""
COARSE_STEPS, FINE_STEPS = 9, 17
"""Steps of the first look and of the last one."""
CELLS = 10
"""Places along the longest side of the space that is searched first."""
STEPS = (6e-3, 3e-3, 1.5e-3, 7e-4)
"""Then the best place is moved in these steps [m]."""
BETTER = 0.02
"""By how much a posture farther from rest has to be better [–]."""
MAX_POSITIONS = 80
"""Places of the grid that are looked at with balls of several sizes."""
WORTH = 0.01
"""What a move has to gain [–]: points that are spread over a face make differences of this size."""
MAX_MOVES = 3
"""Of one step."""
HOPEFUL = 6
"""Postures that are looked at with balls of several sizes."""
UNEVEN = 0.3
"""By how much a place has to be better than one that the hand's symmetry leaves where it is [–]."""
EVEN_POSITIONS = 100
"""Of those that are looked at first."""
PROMISING = 2
"""Postures around whose best places is looked more closely."""
MAX_POSTURES = 25
"""Postures of drives that stand still that are all looked at; of more, one drive after the other.
"""
AROUND = np.array(
    [step for step in product((-1, 0, 1), repeat=3) if np.abs(step).sum() in (1, 3)], dtype=float
)
"""Towards the faces and the corners of a cube."""


@dataclass(frozen=True, eq=False)
class Candidate:
    """A place for a ball, and the closing hand around it."""

    score: float
    enclosure: float
    """Least force in any direction [–]."""
    position: Array
    """Centre in the hand's frame [m], (3,)."""
    closing: Closing
    radius: float
    """Of the ball [m]."""
    sweep: Sweep
    symmetry: Symmetry | None = None
    """Of the closing hand, where the place is one that it leaves where it is."""


class View(NamedTuple):
    """How a closing hand comes to some places."""

    sweep: Sweep
    approach: Approach
    still: Still

    def of(self, chosen: Indices) -> View:
        """The same of some of the places."""
        still = (self.still[0][chosen], self.still[1][chosen])
        return View(self.sweep, self.approach.of(chosen), still)


class Glimpse(NamedTuple):
    """A first look at a posture."""

    score: float
    """Of the best place, with one ball."""
    closing: Closing
    view: View
    """Of the best places."""


class Search:
    """Looks for places on one way of closing, for one kind of grasp."""

    def __init__(
        self,
        hand: ClosingHand,
        skins: Skins,
        closing: Closing,
        weights: Array,
        kind: str,
        up: Array,
    ) -> None:
        """Prepare to search.

        Args:
            hand: The hand.
            skins: Points on its links.
            closing: How it closes.
            weights: Part of its way that each drive goes while the whole hand closes [–].
            kind: ``power`` or ``precision``.
            up: Unit vector against gravity, (3,).
        """
        self.closing = closing
        self.target = Target(kind, up)
        self._fields: dict[float, Field] = {}
        self._coarse = SweepCache(hand, skins.coarse, weights, COARSE_STEPS)
        self._fine = SweepCache(hand, skins.fine, weights, FINE_STEPS)

    def with_up(self, up: Array) -> Search:
        """The same search with the hand turned in the world; what was seen is kept.

        Args:
            up: Unit vector against gravity, (3,).
        """
        other = copy(self)
        other.target = self.target._replace(up=up)
        return other

    def best(self) -> Candidate:
        """The best place of the first ball that is enclosed; of all of them where none is."""
        best: Candidate | None = None
        for radius in RADII:
            near, start = self._best_posture(radius)
            sweep = self._fine.sweep(near.closing)
            # the few points of the first look tell which posture is best, and not quite where
            starts = [start] if near is start else [start, near]
            candidate = reduce(
                _better, [self._refined(replace(one, sweep=sweep), STEPS) for one in starts]
            )
            candidate = self._even(candidate)
            if best is None or candidate.enclosure > max(ENCLOSED, best.enclosure):
                best = candidate
            if best.enclosure > ENCLOSED:
                break
        assert best is not None
        return best

    def _best_posture(self, radius: float) -> tuple[Candidate, Candidate]:
        """The best place, with the joints that stand still where they serve it best.

        Returns:
            It, and the place of the grid from which it was found.
        """
        free = self.closing.free
        field = self._fields.setdefault(radius, Field(self._grid, FAR * radius))
        if self._all_postures:
            glimpses = [self._first(choice, field, radius) for choice in self._postures]
            by_score = sorted(glimpses, key=lambda one: -one.score)
            hopeful = {id(one) for one in by_score[:HOPEFUL]}
            candidates = [self._evaluated(one, radius) for one in glimpses if id(one) in hopeful]
            best_first = sorted(candidates, key=lambda one: -one.score)
            promising = {id(one) for one in best_first[:PROMISING]}
            # in the order of the postures, as the one nearest to rest is to be beaten
            near = [(self._refined(p, STEPS[:2]), p) for p in candidates if id(p) in promising]
            return reduce(lambda a, b: b if b[0].score > a[0].score + BETTER else a, near)
        choice = self.closing.standing((), self.closing.start)
        best = self._evaluated(self._first(choice, field, radius), radius)
        for _ in range(2):  # one after the other
            for one in free:
                for position in one.positions:
                    choice = self.closing.standing(((one, position),), best.closing.start)
                    glimpse = self._first(choice, field, radius)
                    best = _better(best, self._evaluated(glimpse, radius))
        return best, best

    @cached_property
    def _all_postures(self) -> bool:
        return int(np.prod([len(one.positions) for one in self.closing.free])) <= MAX_POSTURES

    @cached_property
    def _postures(self) -> list[Closing]:
        """Closings that span what the drives that stand still can do; all where they are few."""
        return list(self._choices())

    def _choices(self) -> Iterator[Closing]:
        free, start = self.closing.free, self.closing.start
        if self._all_postures:
            for positions in product(*(one.positions for one in free)):
                yield self.closing.standing(tuple(zip(free, positions, strict=True)), start)
            return
        yield self.closing.standing((), start)
        for one in free:
            for position in one.positions:
                yield self.closing.standing(((one, position),), start)

    def _first(self, choice: Closing, field: Field, radius: float) -> Glimpse:
        """Places of the grid in one posture, the best first, looked at with one ball."""
        sweep = self._coarse.sweep(choice)
        near = np.flatnonzero(met(field.approach(sweep), radius))
        view = View(sweep, field.approach(sweep).of(near), field.away(sweep, near))
        free = clear(sweep, view.approach, view.still, radius)
        if free.any():
            view = view.of(np.flatnonzero(free))
        scores, _ = scores_of_positions(*view, self.target, radius, ())
        order = np.argsort(-scores, kind="stable")[:MAX_POSITIONS]
        return Glimpse(float(scores[order[0]]), choice, view.of(np.sort(order)))

    def _evaluated(self, glimpse: Glimpse, radius: float) -> Candidate:
        """The best of those places, looked at with balls of several sizes."""
        view = glimpse.view
        scores, enclosures = scores_of_positions(*view, self.target, radius)
        top = int(np.argmax(scores))
        position = view.approach.positions[top]
        values = (float(scores[top]), float(enclosures[top]), position)
        return Candidate(*values, glimpse.closing, radius, view.sweep)

    @cached_property
    def _grid(self) -> Array:
        """Centres on a grid around all that moves, (m, 3) [m]."""
        corners = [
            path.corners for choice in self._postures for path in self._coarse.sweep(choice).paths
        ]
        if not corners:
            return np.zeros((1, 3))
        low = np.min([points.min(axis=0) for points in corners], axis=0)
        high = np.max([points.max(axis=0) for points in corners], axis=0)
        step = float((high - low).max()) / CELLS
        axes = [np.arange(a, b + step, step) for a, b in zip(low, high, strict=True)]
        # whole multiples, so that what is symmetric about the origin is looked at symmetrically
        axes = [np.round(axis / step) * step for axis in axes]
        return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)

    def _even(self, candidate: Candidate) -> Candidate:
        """A place that the symmetry of the hand leaves where it is, unless the other is better."""
        symmetry = symmetry_of(candidate.sweep)
        if symmetry.trivial:
            return candidate
        other = copy(self)
        other.target = self.target._replace(directions=symmetry.directions)
        near, step = self._lattice(candidate.sweep, symmetry)
        scores, _ = other._scores(candidate, near)
        moves = symmetry.along(AROUND @ symmetry.rotation.T)
        start = replace(candidate, position=near[int(np.argmax(scores))])
        steps = [s for s in STEPS if s < step]
        even = other._refined(start, steps, moves)
        (again,), (enclosure,) = other._scores(candidate, candidate.position[None])
        if even.enclosure <= ENCLOSED < enclosure or even.score < again - UNEVEN:
            return candidate
        return replace(even, symmetry=symmetry)

    @staticmethod
    def _lattice(sweep: Sweep, symmetry: Symmetry) -> tuple[Array, float]:
        """Places around all that moves that stay where they are, (m, 3) [m], and their step."""
        corners = np.concatenate([path.corners for path in sweep.paths])
        seen = (corners - symmetry.origin) @ symmetry.free_axes.T
        low, high = seen.min(axis=0), seen.max(axis=0)
        dimensions = max(len(low), 1)
        step = float((np.prod(high - low) / EVEN_POSITIONS) ** (1.0 / dimensions))
        axes = [
            step * np.arange(np.ceil(a / step), b / step) for a, b in zip(low, high, strict=True)
        ]
        positions = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(low))
        return symmetry.origin + positions @ symmetry.free_axes, step

    def _scores(self, at: Candidate, balls: Array) -> tuple[Array, Array]:
        """How good places are, looked at closely, and how well a ball is enclosed, (m,) both."""
        approach = at.sweep.approach(balls, FAR * at.radius, precise=True)
        still = at.sweep.away(balls)
        scores, enclosures = scores_of_positions(at.sweep, approach, still, self.target, at.radius)
        return np.where(clear(at.sweep, approach, still, at.radius), scores, -np.inf), enclosures

    def _refined(self, best: Candidate, steps: Sequence[float], moves: Array = AROUND) -> Candidate:
        """The best place near by, looked at closely."""
        sweep, radius = best.sweep, best.radius
        approach = sweep.approach(best.position[None], FAR * radius, precise=True)
        first = scores_of_positions(
            sweep, approach, sweep.away(best.position[None]), self.target, radius
        )
        candidate = replace(best, score=float(first[0][0]), enclosure=float(first[1][0]))
        for step in steps:
            for _ in range(MAX_MOVES):
                balls = candidate.position + step * moves
                scores, enclosures = self._scores(candidate, balls)
                top = int(np.argmax(scores))
                if scores[top] <= candidate.score + WORTH:
                    break
                candidate = replace(
                    candidate,
                    score=float(scores[top]),
                    enclosure=float(enclosures[top]),
                    position=balls[top],
                )
        return candidate


def _better(best: Candidate, other: Candidate) -> Candidate:
    return other if other.score > best.score + BETTER else best
