"""Retreat distance of a hand that would penetrate an object."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import softgrasp as sg
from softgrasp.model.grasp_geometry import kinematic_tree_of
from softgrasp.model.retreat import STEP, ContactFit, HandRetreat
from tests.support.scenes import ball, plate

GAP, RADIUS = 1e-3, 0.03
OPEN = np.radians([-15.0, 0.0, 0.0] * 4)
RATES = np.tile([1.5, 0.15, 0.1], 4)
"""Of the four-fingered hand: open posture and a closing motion [rad, rad/s]."""


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


@pytest.mark.parametrize("plane", [False, True])
def test_pairs_that_are_near_are_all_within_reach_of_their_spheres(plane: bool) -> None:
    """No pair within the distance is left out, and none far away is near, except of a plane."""
    fit = HandRetreat(sg.GraspScene(hand=sg.load_hand("four_finger"), object=ball(RADIUS)))
    if plane:
        fit.model.geom_rbound[[hand for hand, _ in fit.pairs]] = 0.0
    targets = np.array([np.mean(a.limits) for a in fit.built.scene.hand.actuators])
    for height in (0.02, 0.06, 0.085, 0.12, 2.0):
        fit.pose_at(at(0.0, 0.01, height), targets)
        model, data = fit.model, fit.data
        near = [pair for pair in fit.pairs
                if mujoco.mj_geomDistance(model, data, *pair, 0.02, None) < 0.02]  # fmt: skip
        assert set(near) <= set(fit.near(0.02))
        assert bool(fit.near(0.02)) == (plane or height < 2.0)


@pytest.fixture(scope="module")
def fit() -> ContactFit:
    retreat = HandRetreat(sg.GraspScene(hand=sg.load_hand("four_finger"), object=ball(RADIUS)))
    built, random = retreat.built, np.random.default_rng(0)
    tree = kinematic_tree_of(retreat.model, built.scene.hand, built.bodies, random)
    return ContactFit(retreat, tree, RATES, GAP)


@pytest.mark.parametrize("closed", [0.29, 0.31, 0.35])
def test_a_fit_brings_links_that_close_into_contact(fit: ContactFit, closed: float) -> None:
    fitted = fit.fit(at(0.0, 0.0, -0.085), OPEN + closed * RATES)
    assert len(fitted.points) == 8  # the last two links of each finger
    assert 0.0 < fitted.penetration < 3e-4
    assert fitted.self_penetration == 0.0
    radii = np.linalg.norm(fitted.points, axis=1)
    assert radii == pytest.approx(RADIUS, abs=2e-4)
    assert fitted.normals == pytest.approx(fitted.points / radii[:, None], abs=1e-3)


def test_a_fit_keeps_the_palm_clear(fit: ContactFit) -> None:
    """From 10 mm inside of it."""
    fitted = fit.fit(at(0.0, 0.0, RADIUS + 0.002), OPEN)
    fit._retreat.pose_at(fitted.pose, fitted.targets)
    assert fit._retreat._distance(0.01) == pytest.approx(GAP, rel=0.1)
    assert len(fitted.points) == 0
