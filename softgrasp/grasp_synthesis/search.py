"""Search for power and precision grasps of a sphere from the shapes of a hand.

The ball positions of a grid are scored along the coarse closing motion, in several postures of
fixed actuators; the best ones are refined in steps of decreasing length on the fine motion, and
moved onto the symmetry of the hand unless that costs too much. The search uses no random numbers:
the same hand has the same grasps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from itertools import product
from typing import NamedTuple

import numpy as np

from softgrasp.grasp_synthesis.closing_motion import Closing, closing_of, rates_of, weights_of
from softgrasp.grasp_synthesis.hand_model import ClosingHand, Indices, SurfacePoints, thin_surfaces
from softgrasp.grasp_synthesis.scoring import (
    ENCLOSED,
    MAX_DISTANCE,
    Clearance,
    Target,
    clear_positions,
    reached_by_two,
    scores_of_positions,
)
from softgrasp.grasp_synthesis.sweep import (
    BallContacts,
    Proximity,
    ProximityCache,
    Sweep,
    SweepCache,
    arrivals_of,
)
from softgrasp.grasp_synthesis.symmetry import (
    ObjectAxis,
    RightHand,
    Symmetry,
    object_axis_of,
    right_handed,
    symmetrize,
    symmetry_of,
    tip_compliance,
    up_directions,
)
from softgrasp.mechanics.transforms import Array, triple

SOFT = 1.5e-3
"""Displacement of an object per force on it above which the palm of a hand faces down [m/N]."""
RADII = (0.030, 0.020, 0.040, 0.012, 0.060)
"""Radii of balls that are tried in order until the fingers enclose one [m]."""
COARSE_STEPS, FINE_STEPS = 9, 17
"""Number of steps of the closing motion in the coarse and in the fine search."""
CELLS = 10
"""Number of grid positions along the longest side of the space of the coarse search."""
STEPS = (6e-3, 3e-3, 1.5e-3, 7e-4)
"""Step lengths of the refinement [m]."""
POSTURE_BONUS = 0.02
"""Score by which a posture farther from the rest has to be better [–]."""
MAX_POSITIONS = 80
"""Number of grid positions that are scored with balls of several sizes."""
MIN_GAIN = 0.01
"""Smallest gain of a refinement move [–]; the sampling of surfaces causes differences of this
size."""
MAX_MOVES = 3
"""Maximum number of moves with one step length."""
MAX_EVALUATED = 6
"""Number of postures that are scored with balls of several sizes."""
SYMMETRY_BONUS = 0.3
"""Score by which a position off the symmetry of the hand has to be better than one on it [–]."""
SYMMETRIC_POSITIONS = 100
"""Number of positions on the symmetry of the hand that are scored first."""
MAX_REFINED = 2
"""Number of postures whose best positions are refined."""
MAX_POSTURES = 25
"""Number of postures of fixed actuators up to which all are scored; above, one actuator at a
time."""
NEIGHBORS = np.array(
    [step for step in product((-1, 0, 1), repeat=3) if np.abs(step).sum() in (1, 3)], dtype=float
)
"""Directions of refinement moves, to the faces and corners of a cube, (14, 3)."""


@dataclass(frozen=True)
class SynthesizedGrasp:
    """Grasp of a spherical object by a hand."""

    center: tuple[float, float, float]
    """Centre of the ball, hand frame [m]."""
    start: tuple[float, ...]
    """Actuator targets of the open hand, (nd,)."""
    rates: tuple[float, ...]
    """Closing rates of the actuators, (nd,) [unit/s]."""
    radius: float
    """Radius of the ball [m]."""
    enclosure: float
    """Smallest force that contacts of unit normal force exert in any direction [–]."""
    normals: tuple[tuple[float, float, float], ...]
    """Contact normals pointing into the ball, one for each finger that touches."""
    object_axis: ObjectAxis
    """Axis of elongated objects in the hand."""

    @property
    def enclosed(self) -> bool:
        """Return whether the fingers touch the sphere from opposing sides."""
        return self.enclosure > ENCLOSED


@dataclass(frozen=True)
class SynthesizedGrasps:
    """Power and precision grasp of a hand, as found by the search."""

    power: SynthesizedGrasp
    precision: SynthesizedGrasp
    up: tuple[float, float, float]
    """Unit vector against gravity that the grasps are computed for, hand frame."""


def synthesize_grasps(
    hand: ClosingHand, fastest: Mapping[str, float] | None = None
) -> SynthesizedGrasps:
    """Compute the power and the precision grasp of a hand from its shapes.

    Args:
        hand: The hand.
        fastest: Maximum rates by actuator name [unit/s], where known.
    """
    hand = right_handed(hand)
    closing, skins = closing_of(hand), thin_surfaces(hand)
    up = hand.up
    if up is None:
        first, *others = up_directions(hand, closing)
        up = others[0] if others and tip_compliance(hand) > SOFT else first

    def grasp(kind: str) -> SynthesizedGrasp:
        weights = weights_of(closing, kind)
        best = Search(hand, skins, closing, weights, kind).best()
        return _grasp(hand, best, weights, fastest or {})

    upward = triple(hand.reflection.vector(up))
    return SynthesizedGrasps(grasp("power"), grasp("precision"), upward)


def _grasp(
    hand: RightHand, best: Candidate, weights: Array, fastest: Mapping[str, float]
) -> SynthesizedGrasp:
    """Make the grasp of the best candidate: its closing rates and object axis."""
    closing, contacts = best.closing, _contacts_of(best)
    symmetric = best.symmetry
    together = contacts
    if contacts is not None and symmetric is not None:
        together = symmetrize(contacts, symmetric)
    arrivals = arrivals_of(best.sweep, together, len(closing.groups))
    rates = rates_of(hand, closing, weights, arrivals, fastest)
    fraction = float(arrivals.mean()) if len(arrivals) else 0.0
    posture = closing.start + fraction * weights * (closing.end - closing.start)
    reflection = hand.reflection
    object_axis = object_axis_of(hand, closing, posture)
    if symmetric is not None:
        object_axis = object_axis.along(symmetric.along(np.array([object_axis.axis]))[0])
    normals = np.zeros((0, 3)) if contacts is None else contacts.normals[contacts.touched]
    pressing = reflection.vector(normals)
    return SynthesizedGrasp(
        center=triple(np.round(reflection.point(best.position), 5)),
        start=tuple(_inside(hand, closing.start)),
        rates=tuple(np.round(rates, 4).tolist()),
        radius=best.radius,
        enclosure=best.enclosure,
        normals=tuple((x, y, z) for x, y, z in pressing.tolist()),
        object_axis=object_axis._replace(
            axis=triple(reflection.vector(np.array(object_axis.axis)))
        ),
    )


def _contacts_of(best: Candidate) -> BallContacts | None:
    """Compute the finger contacts with the sphere; None where no finger moves."""
    if not best.sweep.paths:
        return None
    proximity = best.sweep.proximity(best.position[None], MAX_DISTANCE * best.radius, precise=True)
    return best.sweep.meet(proximity, best.radius)


def _inside(hand: ClosingHand, targets: Array) -> list[float]:
    """Clip targets to the limits of the actuators, against rounding."""
    pairs = zip(targets.tolist(), hand.actuators, strict=True)
    return [min(max(value, actuator.limits[0]), actuator.limits[1]) for value, actuator in pairs]


# Search for the best position


@dataclass(frozen=True, eq=False)
class Candidate:
    """Candidate position of the sphere to be grasped, with its score and the closing motion."""

    score: float
    enclosure: float
    """Smallest force in any direction [–]."""
    position: Array
    """Centre of the ball, (3,) [m], hand frame."""
    closing: Closing
    radius: float
    """Radius of the ball [m]."""
    sweep: Sweep
    symmetry: Symmetry | None = None
    """Symmetry of the closing hand, where the position is on it."""


class View(NamedTuple):
    """A closing motion of the hand with its distances from some candidate positions."""

    sweep: Sweep
    proximity: Proximity
    clearance: Clearance

    def of(self, chosen: Indices) -> View:
        """Select some of the positions."""
        clearance = (self.clearance[0][chosen], self.clearance[1][chosen])
        return View(self.sweep, self.proximity.of(chosen), clearance)


class PostureScore(NamedTuple):
    """Result of scoring a posture of the fixed actuators with one sphere."""

    score: float
    """Score of the best position."""
    closing: Closing
    view: View
    """The best positions."""


class Search:
    """Search for the best position of the sphere in one closing motion and grasp type."""

    def __init__(
        self,
        hand: ClosingHand,
        skins: SurfacePoints,
        closing: Closing,
        weights: Array,
        kind: str,
    ) -> None:
        """Initialize the caches.

        Args:
            hand: The hand.
            skins: Surface points of its links.
            closing: Its closing motion.
            weights: Fraction of its travel that each actuator makes in the closing motion [–].
            kind: ``power`` or ``precision``.
        """
        self.closing = closing
        self.target = Target(kind)
        self._caches: dict[float, ProximityCache] = {}
        self._coarse = SweepCache(hand, skins.coarse, weights, COARSE_STEPS)
        self._fine = SweepCache(hand, skins.fine, weights, FINE_STEPS)

    def best(self) -> Candidate:
        """Find the best position of the first sphere that is enclosed, or of all if none is."""
        best: Candidate | None = None
        for radius in RADII:
            near, start = self._best_posture(radius)
            sweep = self._fine.sweep(near.closing)
            # the coarse surface points select the posture, but are not accurate enough for the
            # position
            starts = [start] if near is start else [start, near]
            candidate = reduce(
                _better, [self._refined(replace(item, sweep=sweep), STEPS) for item in starts]
            )
            candidate = self._symmetric(candidate)
            if _touched_at_start(candidate):  # it fits between no open fingers: try a smaller one
                candidate = replace(candidate, enclosure=min(candidate.enclosure, 0.0))
            if best is None or candidate.enclosure > max(ENCLOSED, best.enclosure):
                best = candidate
            if best.enclosure > ENCLOSED:
                break
        assert best is not None
        return best

    def _best_posture(self, radius: float) -> tuple[Candidate, Candidate]:
        """Find the best position over all postures: refined, and that of the grid it is from."""
        free = self.closing.free
        cache = self._caches.setdefault(radius, ProximityCache(self._grid, MAX_DISTANCE * radius))
        if self._all_postures:
            posture_scores = [self._first(choice, cache, radius) for choice in self._postures]
            by_score = sorted(posture_scores, key=lambda element: -element.score)
            evaluated = {id(item) for item in by_score[:MAX_EVALUATED]}
            candidates = [
                self._evaluated(score, radius) for score in posture_scores if id(score) in evaluated
            ]
            best_first = sorted(candidates, key=lambda element: -element.score)
            refined = {id(item) for item in best_first[:MAX_REFINED]}
            # in the order of the postures, as those nearer to the rest are preferred
            near = [(self._refined(p, STEPS[:2]), p) for p in candidates if id(p) in refined]
            return reduce(lambda a, b: b if b[0].score > a[0].score + POSTURE_BONUS else a, near)
        choice = self.closing.with_positions((), self.closing.start)
        best = self._evaluated(self._first(choice, cache, radius), radius)
        for _ in range(2):  # one actuator at a time
            for element in free:
                for position in element.positions:
                    choice = self.closing.with_positions(((element, position),), best.closing.start)
                    posture_score = self._first(choice, cache, radius)
                    best = _better(best, self._evaluated(posture_score, radius))
        return best, best

    @cached_property
    def _all_postures(self) -> bool:
        """Return whether the postures are few enough to score all of them."""
        return int(np.prod([len(joint.positions) for joint in self.closing.free])) <= MAX_POSTURES

    @cached_property
    def _postures(self) -> list[Closing]:
        """Closing motions with all positions of fixed actuators, or single changes if too many."""
        free, start = self.closing.free, self.closing.start
        if self._all_postures:
            combinations = product(*(joint.positions for joint in free))
            changes = [tuple(zip(free, positions, strict=True)) for positions in combinations]
        else:
            changes = [
                (),
                *(((joint, position),) for joint in free for position in joint.positions),
            ]
        return [self.closing.with_positions(change, start) for change in changes]

    def _first(self, choice: Closing, cache: ProximityCache, radius: float) -> PostureScore:
        """Score the grid positions in one posture with one sphere and keep the best ones."""
        sweep = self._coarse.sweep(choice)
        near = np.flatnonzero(reached_by_two(cache.proximity(sweep), radius))
        view = View(sweep, cache.proximity(sweep).of(near), cache.away(sweep, near))
        free = clear_positions(sweep, view.proximity, view.clearance, radius)
        if free.any():
            view = view.of(np.flatnonzero(free))
        scores, _ = scores_of_positions(*view, self.target, radius, ())
        order = np.argsort(-scores, kind="stable")[:MAX_POSITIONS]
        return PostureScore(float(scores[order[0]]), choice, view.of(np.sort(order)))

    def _evaluated(self, posture_score: PostureScore, radius: float) -> Candidate:
        """Score the positions of a posture with spheres of several radii."""
        view = posture_score.view
        scores, enclosures = scores_of_positions(*view, self.target, radius)
        top = int(np.argmax(scores))
        position = view.proximity.positions[top]
        values = (float(scores[top]), float(enclosures[top]), position)
        return Candidate(*values, posture_score.closing, radius, view.sweep)

    @cached_property
    def _grid(self) -> Array:
        """Grid of positions around all moving links, (m, 3) [m], hand frame."""
        corners = [
            path.corners for choice in self._postures for path in self._coarse.sweep(choice).paths
        ]
        if not corners:
            return np.zeros((1, 3))
        low = np.min([points.min(axis=0) for points in corners], axis=0)
        high = np.max([points.max(axis=0) for points in corners], axis=0)
        step = float((high - low).max()) / CELLS
        axes = [np.arange(a, b + step, step) for a, b in zip(low, high, strict=True)]
        # multiples of the step, so that the grid is symmetric about the origin
        axes = [np.round(axis / step) * step for axis in axes]
        return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)

    def _symmetric(self, candidate: Candidate) -> Candidate:
        """Move a candidate into the symmetry set of the hand unless its score drops too much."""
        symmetry = symmetry_of(candidate.sweep)
        if symmetry.trivial:
            return candidate
        other = copy(self)
        other.target = self.target._replace(directions=symmetry.directions)
        near, step = self._lattice(candidate.sweep, symmetry)
        scores, _ = other._scores(candidate, near)
        moves = symmetry.along(NEIGHBORS @ symmetry.rotation.T)
        start = replace(candidate, position=near[int(np.argmax(scores))])
        steps = [s for s in STEPS if s < step]
        symmetric = other._refined(start, steps, moves)
        (again,), (enclosure,) = other._scores(candidate, candidate.position[None])
        if symmetric.enclosure <= ENCLOSED < enclosure or symmetric.score < again - SYMMETRY_BONUS:
            return candidate
        return replace(symmetric, symmetry=symmetry)

    @staticmethod
    def _lattice(sweep: Sweep, symmetry: Symmetry) -> tuple[Array, float]:
        """Compute positions in the symmetry set near moving links (m, 3), and their step [m]."""
        corners = np.concatenate([path.corners for path in sweep.paths])
        seen = (corners - symmetry.origin) @ symmetry.free_axes.T
        low, high = seen.min(axis=0), seen.max(axis=0)
        dimensions = max(len(low), 1)
        step = float((np.prod(high - low) / SYMMETRIC_POSITIONS) ** (1.0 / dimensions))
        axes = [
            step * np.arange(np.ceil(a / step), b / step) for a, b in zip(low, high, strict=True)
        ]
        positions = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(low))
        return symmetry.origin + positions @ symmetry.free_axes, step

    def _scores(self, at: Candidate, balls: Array) -> tuple[Array, Array]:
        """Score positions at the fine steps of the motion; return scores and enclosures, (m,)."""
        near = at.sweep.proximity(balls, MAX_DISTANCE * at.radius, precise=True)
        seen = (at.sweep, near, at.sweep.away(balls))
        scores, enclosures = scores_of_positions(*seen, self.target, at.radius)
        return np.where(clear_positions(*seen, at.radius), scores, -np.inf), enclosures

    def _refined(
        self, best: Candidate, steps: Sequence[float], moves: Array = NEIGHBORS
    ) -> Candidate:
        """Refine a candidate by neighbouring positions at the fine steps of the motion."""
        sweep, radius = best.sweep, best.radius
        proximity = sweep.proximity(best.position[None], MAX_DISTANCE * radius, precise=True)
        first = scores_of_positions(
            sweep, proximity, sweep.away(best.position[None]), self.target, radius
        )
        candidate = replace(best, score=float(first[0][0]), enclosure=float(first[1][0]))
        for step in steps:
            for _ in range(MAX_MOVES):
                balls = candidate.position + step * moves
                scores, enclosures = self._scores(candidate, balls)
                top = int(np.argmax(scores))
                if scores[top] <= candidate.score + MIN_GAIN:
                    break
                candidate = replace(
                    candidate,
                    score=float(scores[top]),
                    enclosure=float(enclosures[top]),
                    position=balls[top],
                )
        return candidate


def _touched_at_start(candidate: Candidate) -> bool:
    """Whether all fingers that touch the sphere touch it before they move."""
    contacts = _contacts_of(candidate)
    if contacts is None or not contacts.touched.any():
        return False
    return not contacts.fraction[contacts.touched].any()


def _better(best: Candidate, other: Candidate) -> Candidate:
    """Return the other candidate if its score is higher by ``POSTURE_BONUS``."""
    return other if other.score > best.score + POSTURE_BONUS else best
