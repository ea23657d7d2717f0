"""Hands for the viewer tests."""

import softgrasp as sg
from softgrasp.model.compile import compiled
from softgrasp.model.hand import build_hand_spec
from softgrasp.viewer.scene_markers import PosedHand


def posed(hand: sg.Hand) -> PosedHand:
    """A hand alone, at its start."""
    return PosedHand(hand, compiled(build_hand_spec(hand), hand.name))


def part_way(hand: sg.Hand, fraction: float = 0.3) -> list[float]:
    """Targets of all drives at a share of their ranges."""
    return [
        low + fraction * (high - low)
        for low, high in (actuator.limits for actuator in hand.actuators)
    ]
