"""Power and precision grasps of a ball, found by looking along the closing motion."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from softgrasp.mechanics.grasp_finder.closing import closing_of
from softgrasp.mechanics.grasp_finder.hand import ClosingHand
from softgrasp.mechanics.grasp_finder.lying import Lying, lying_of, up_directions
from softgrasp.mechanics.grasp_finder.rates import arrivals_of, rates_of, weights_of
from softgrasp.mechanics.grasp_finder.scores import ENCLOSED, FAR, Target, sunk_by
from softgrasp.mechanics.grasp_finder.search import Candidate, Search
from softgrasp.mechanics.grasp_finder.skins import thinned
from softgrasp.mechanics.grasp_finder.sweep import Meeting
from softgrasp.mechanics.grasp_finder.symmetry import evened
from softgrasp.mechanics.transforms import Array

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
