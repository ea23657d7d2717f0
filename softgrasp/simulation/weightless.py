"""Tests in which the object weighs nothing, though it is lifted or shaken."""

from __future__ import annotations

from softgrasp.description.scene import GraspScene
from softgrasp.simulation.told_hold import HoldTest


def weightless_warnings(scene: GraspScene, hold: HoldTest | None) -> tuple[str, ...]:
    """What is said where a wrist carries an object that has no weight.

    Args:
        scene: The scene.
        hold: Its hold test.
    """
    if hold is None or hold.weight_N > 0.0 or hold.directions or hold.pulls or not scene.on_wrist:
        return ()
    return (
        "the object weighs nothing in its test: it was carried without gravity; gravity=True in "
        "the scene (--gravity), or a gravity in the criterion, gives it its weight",
    )
