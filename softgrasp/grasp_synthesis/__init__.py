"""Finds how a hand takes a ball, from its shapes alone: which way it closes, where the ball goes.

Pure geometry without chance: the same hand gives the same grasps.
"""

from softgrasp.grasp_synthesis.hand_model import ClosingHand, DescribedHand, Digit, DigitJoint
from softgrasp.grasp_synthesis.search import SynthesizedGrasp, SynthesizedGrasps, synthesize_grasps

__all__ = [
    "ClosingHand",
    "DescribedHand",
    "Digit",
    "DigitJoint",
    "SynthesizedGrasp",
    "SynthesizedGrasps",
    "synthesize_grasps",
]
