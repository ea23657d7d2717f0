"""Grasp synthesis from the shapes of a hand: closing motion, object position, closing rates.

The computation is geometric and deterministic: the same hand has the same grasps.
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
