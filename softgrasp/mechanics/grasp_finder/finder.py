"""Power and precision grasps of a ball, found by looking along the closing motion."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from softgrasp.mechanics.grasp_finder.closing import Closing, closing_of
from softgrasp.mechanics.grasp_finder.hand import ClosingHand
from softgrasp.mechanics.grasp_finder.lying import Lying, lying_of
from softgrasp.mechanics.grasp_finder.rates import arrivals_of, rates_of, weights_of
from softgrasp.mechanics.grasp_finder.scores import FAR
from softgrasp.mechanics.grasp_finder.search import ENCLOSED, Place, Search, thinned
from softgrasp.mechanics.grasp_finder.sweep import Meeting
from softgrasp.mechanics.transforms import Array


@dataclass(frozen=True)
class FoundGrasp:
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
class FoundGrasps:
    """Both grasps of a hand."""

    power: FoundGrasp
    precision: FoundGrasp


def found_grasps(hand: ClosingHand, fastest: Mapping[str, float] | None = None) -> FoundGrasps:
    """Find the two grasps of a hand from its shapes, the same ones every time.

    Args:
        hand: The hand.
        fastest: Largest rate of drives by name, in their units a second, where one is known.
    """
    closing, skins = closing_of(hand), thinned(hand)
    return FoundGrasps(*(
        _found(hand, skins, closing, kind, fastest or {}) for kind in ("power", "precision")
    ))  # fmt: skip


def _found(
    hand: ClosingHand,
    skins: Mapping[str, Array],
    closing: Closing,
    kind: str,
    fastest: Mapping[str, float],
) -> FoundGrasp:
    weights = weights_of(closing, kind)
    best = Search(hand, skins, closing, weights, kind).best()
    closing, meeting = best.closing, _meeting(best)
    arrivals = arrivals_of(best.sweep, meeting, len(closing.groups))
    rates = rates_of(hand, closing, weights, arrivals, fastest)
    share = float(arrivals.mean()) if len(arrivals) else 0.0
    posture = closing.start + share * weights * (closing.end - closing.start)
    x, y, z = np.round(best.place, 5).tolist()
    pressing = np.zeros((0, 3)) if meeting is None else meeting.normals[meeting.touched]
    return FoundGrasp(
        center=(x, y, z),
        start=tuple(_inside(hand, closing.start)),
        rates=tuple(np.round(rates, 4).tolist()),
        radius=best.radius,
        enclosure=best.enclosure,
        normals=tuple((x, y, z) for x, y, z in pressing.tolist()),
        lying=lying_of(hand, closing, posture, best.place),
    )


def _meeting(best: Place) -> Meeting | None:
    """How the fingers meet the ball; None where no finger moves."""
    if not best.sweep.paths:
        return None
    approach = best.sweep.approach(best.place[None], FAR * best.radius, precise=True)
    return best.sweep.meet(approach, best.radius)


def _inside(hand: ClosingHand, targets: Array) -> list[float]:
    pairs = zip(targets.tolist(), hand.drives, strict=True)
    return [min(max(value, drive.limits[0]), drive.limits[1]) for value, drive in pairs]
