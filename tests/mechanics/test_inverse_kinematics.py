"""Inverse kinematics of serial arms: every reachable pose, within limits, by the nearest branch."""

from __future__ import annotations

import math

import numpy as np
import pytest

from softgrasp.description.finger import Finger
from softgrasp.mechanics.hand_kinematics import forward_kinematics
from softgrasp.mechanics.inverse_kinematics import nearest_posture, postures
from softgrasp.twin.files import load_twin

ARM = load_twin().arm
CHAIN = ARM.chain
LOW, HIGH = np.array([row.limits for row in CHAIN.phalanges]).T
START = np.array([row.start for row in CHAIN.phalanges])


def flange(joints: np.ndarray, chain: Finger = CHAIN) -> np.ndarray:
    return forward_kinematics(chain, joints.tolist())[-1]


@pytest.mark.slow
def test_every_reachable_pose_has_a_posture_within_limits() -> None:
    for joints in np.random.default_rng(0).uniform(LOW, HIGH, (60, 6)):
        found = nearest_posture(CHAIN, flange(joints), START)
        assert found is not None
        np.testing.assert_allclose(flange(found), flange(joints), atol=1e-6)
        assert (found >= LOW).all()
        assert (found <= HIGH).all()


def test_all_branches_of_a_spherical_wrist() -> None:
    joints = np.radians([20.0, 30.0, -20.0, 40.0, 50.0, 10.0])
    found = postures(CHAIN, flange(joints))
    for posture in found:
        np.testing.assert_allclose(flange(posture), flange(joints), atol=1e-6)
    # a spherical wrist has two postures for one position of its centre: ±q5, with q4 and q6 turned
    flipped = joints + np.array([0.0, 0.0, 0.0, -math.pi, -2.0 * joints[4], math.pi])
    for branch in (joints, flipped):
        assert np.abs((found - branch + math.pi) % math.tau - math.pi).max(axis=1).min() < 1e-5


def test_the_branch_is_that_of_the_previous_posture() -> None:
    joints = np.radians([20.0, 30.0, -20.0, 40.0, 50.0, 10.0])
    flipped = joints + np.array([0.0, 0.0, 0.0, -math.pi, -2.0 * joints[4], math.pi])
    for near in (joints, flipped):
        found = nearest_posture(CHAIN, flange(joints), near + np.radians(20.0))
        assert found is not None
        np.testing.assert_allclose(found, near, atol=1e-5)


def test_after_a_jump_the_nearest_of_all_branches_is_chosen() -> None:
    generator = np.random.default_rng(4)
    for joints in generator.uniform(LOW, HIGH, (8, 6)):
        goal = flange(joints)
        near = generator.uniform(LOW, HIGH)
        found = nearest_posture(CHAIN, goal, near)
        assert found is not None
        distances = [np.linalg.norm(posture - near) for posture in postures(CHAIN, goal)]
        assert np.linalg.norm(found - near) <= min(distances) + 1e-6


def test_multiples_of_360_degrees_are_added_to_come_near() -> None:
    joints = np.radians([20.0, 30.0, -20.0, 40.0, 50.0, 10.0])
    near = joints + np.array([0.0, 0.0, 0.0, 0.0, 0.0, math.tau])  # the flange turns by ±400°
    assert nearest_posture(CHAIN, flange(joints), near)[5] == pytest.approx(near[5], abs=1e-5)


def test_a_pose_beyond_the_limits_has_none() -> None:
    # in reach of the arm without limits: the base would turn by 175°, beyond ±165°, and the
    # postures that reach over the shoulder are beyond the limits of the upper arm
    goal = flange(np.radians([175.0, 60.0, 0.0, 0.0, 30.0, 0.0]))
    assert len(postures(CHAIN, goal)) == 0
    assert nearest_posture(CHAIN, goal, START) is None
    far = flange(START)
    far[0, 3] += 3.0
    assert nearest_posture(CHAIN, far, START) is None


def test_prismatic_joints() -> None:
    rows = [
        {"name": "turn", "joint": "revolute", "limits": (-3.0, 3.0), "d": 0.3, "mass": 1.0},
        {
            "name": "slide",
            "joint": "prismatic",
            "limits": (0.0, 0.4),
            "alpha": math.pi / 2,
            "mass": 1.0,
        },
        {"name": "wrist", "joint": "revolute", "limits": (-2.0, 2.0), "a": 0.1, "mass": 1.0},
    ]
    chain = Finger(name="arm", convention="standard", phalanges=rows)
    joints = np.array([0.5, 0.2, -0.7])
    found = nearest_posture(chain, flange(joints, chain), np.zeros(3))
    assert found is not None
    np.testing.assert_allclose(found, joints, atol=1e-6)
