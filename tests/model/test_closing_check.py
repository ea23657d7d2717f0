"""Why a hand cannot close on an object: distances that are missing."""

from __future__ import annotations

import re

import pytest

from softgrasp.model.closing_check import closing_obstacle
from softgrasp.pipeline import compile_scene
from tests.support.scenes import ball, pinch


def obstacle(**changes: object) -> str:
    return closing_obstacle(compile_scene(pinch(grasp="power", **changes)))


def missing(distance: float, radius: float = 0.03) -> float:
    text = obstacle(object=ball(radius), object_position=(distance, 0.0, -0.05))
    return float(re.findall(r"out of reach: (\S+) mm", text)[0])


def test_a_hand_that_encloses_the_object_has_no_obstacle() -> None:
    assert obstacle() == ""


def test_the_missing_distance_grows_with_that_of_the_object_and_shrinks_with_its_radius() -> None:
    assert missing(1.2) - missing(0.9) == pytest.approx(300.0, abs=1.5)
    assert missing(0.9, 0.02) - missing(0.9, 0.03) == pytest.approx(10.0, abs=1.5)
    nearest = 0.9 - 1e-3 * missing(0.9)
    reached = obstacle(object=ball(0.03), object_position=(nearest - 0.01, 0.0, -0.05))
    assert "out of reach" not in reached
