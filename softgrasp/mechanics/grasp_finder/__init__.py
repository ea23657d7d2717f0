"""Finds how a hand takes a ball, from its shapes alone: which way it closes, where the ball goes.

Pure geometry without chance: the same hand gives the same grasps.
"""

from softgrasp.mechanics.grasp_finder.described import DescribedHand
from softgrasp.mechanics.grasp_finder.finder import (
    SynthesizedGrasp,
    SynthesizedGrasps,
    synthesize_grasps,
)
from softgrasp.mechanics.grasp_finder.hand import ClosingHand, Digit, DigitJoint

__all__ = [
    "ClosingHand",
    "DescribedHand",
    "Digit",
    "DigitJoint",
    "SynthesizedGrasp",
    "SynthesizedGrasps",
    "synthesize_grasps",
]
