"""Finds how a hand takes a ball, from its shapes alone: which way it closes, where the ball goes.

Pure geometry without chance: the same hand gives the same grasps.
"""

from softgrasp.mechanics.grasp_finder.finder import FoundGrasps, found_grasps

__all__ = ["FoundGrasps", "found_grasps"]
