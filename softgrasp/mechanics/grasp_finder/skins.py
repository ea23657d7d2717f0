"""Points on the links of a hand, as many as a look needs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from softgrasp.mechanics.grasp_finder.hand import ClosingHand
from softgrasp.mechanics.grasp_finder.points import spread
from softgrasp.mechanics.transforms import Array

COARSE_POINTS, FINE_POINTS = 60, 200
"""Of a link, for the first look and for the last one."""


class Skins(NamedTuple):
    """Points on the links of a hand in their frames, (n, 3) each [m]."""

    coarse: Mapping[str, Array]
    fine: Mapping[str, Array]


def thinned(hand: ClosingHand) -> Skins:
    """Points on the links of a hand, as many as the first and the last look need."""
    fine = {body: spread(points, FINE_POINTS) for body, points in hand.skins.items()}
    return Skins({body: points[:COARSE_POINTS] for body, points in fine.items()}, fine)
