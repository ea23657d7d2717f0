"""Retreat distance of a hand that would penetrate an object."""

from __future__ import annotations

import numpy as np
import pytest

import softgrasp as sg
from softgrasp.model.retreat import STEP, HandRetreat
from tests.support.scenes import ball, plate

GAP, RADIUS = 1e-3, 0.03


@pytest.fixture(scope="module")
def flat() -> HandRetreat:
    """A palm whose face is z = 0, under a ball; the approach is inclined by 26°."""
    scene = plate(ball(RADIUS), RADIUS)
    (finger,) = scene.hand.fingers
    below = finger.replace(base=sg.Pose(position=(0.1, 0.0, RADIUS - 0.205)))
    return HandRetreat(scene.replace(hand=scene.hand.replace(fingers=(below,))))


def at(x: float, y: float, z: float) -> np.ndarray:
    pose = np.eye(4)
    pose[:3, 3] = x, y, z
    return pose


def test_no_retreat_where_the_object_is_clear(flat: HandRetreat) -> None:
    assert flat.distance(at(0.0, 0.0, RADIUS + 2 * GAP), GAP) == 0.0


def test_retreat_from_a_flat_palm_is_depth_over_cosine(flat: HandRetreat) -> None:
    height = 0.012
    distance = flat.distance(at(0.0, 0.0, height), GAP)
    target = (RADIUS + GAP - height) / flat.approach[2]
    assert flat.approach[2] == pytest.approx(0.9, abs=0.01)
    assert distance is not None
    assert target - 1e-6 <= distance <= target + STEP


def test_none_above_the_maximum_distance(flat: HandRetreat) -> None:
    assert flat.distance(at(0.0, 0.0, -0.5), GAP) == 0.0  # below it
    assert HandRetreat(deep()).distance(at(0.0, 0.0, -0.3), GAP) is None


def deep() -> sg.GraspScene:
    scene = plate(ball(RADIUS), RADIUS)
    shape = sg.Cuboid(size=(0.6, 0.6, 0.6))
    palm = scene.hand.palm.replace(shape=shape, pose=sg.Pose(position=(0, 0, -0.3)))
    return scene.replace(hand=scene.hand.replace(palm=palm))
