"""Grasp stiffness of springs in series, and the quasi-static response."""

from __future__ import annotations

import numpy as np
import pytest

import softgrasp as sg
from tests.quality.grasps import equator, random_sphere

quality = sg.quality


def test_two_antipodal_contacts() -> None:
    """k = 1000 N/m, r = 0.03 m: 2k in each direction, 2k·r² about y and z."""
    K = quality.grasp_stiffness(quality.grasp_matrix(*equator(0, 180, radius=0.03)), 1000.0)
    np.testing.assert_allclose(K, np.diag([2000, 2000, 2000, 0, 1.8, 1.8]), atol=1e-10)


def test_springs_in_series() -> None:
    """A contact of 1000 N/m behind a joint of 4 N·m/rad on a lever of 0.1 m: 400 N/m."""
    G, J = np.eye(6)[:, :1], np.array([[0.1]])
    K = quality.grasp_stiffness(G, 1000.0, J, 4.0)
    assert K[0, 0] == pytest.approx(1 / (1 / 1000 + 1 / 400))
    K = quality.grasp_stiffness(G, 1000.0, J, 4.0, [[2.0]], 16.0)
    assert K[0, 0] == pytest.approx(1 / (1 / 1000 + 1 / 400 + 1 / 400))


@pytest.fixture(scope="module")
def hand() -> dict[str, np.ndarray]:
    """Three soft fingers with random Jacobian, joints and synergies."""
    random = np.random.default_rng(4)
    square = random.normal(size=(7, 7))
    return {
        "G": quality.grasp_matrix(*random_sphere(random, 3), model="soft"),
        "J": random.normal(size=(12, 7)),
        "contact": random.uniform(500, 2000, 12),
        "joint": square @ square.T + np.eye(7),
        "synergies": random.normal(size=(7, 3)),
        "synergy": np.array([3.0, 4.0, 5.0]),
    }


def test_stiffness_inverts_the_response_to_a_wrench(hand: dict[str, np.ndarray]) -> None:
    wrench = np.random.default_rng(1).normal(size=6)
    K = quality.grasp_stiffness(**hand)
    np.testing.assert_allclose(K, K.T)
    np.testing.assert_allclose(K @ quality.quasistatic(**hand, wrench=wrench).motion, wrench)


def test_laws_of_the_response(hand: dict[str, np.ndarray]) -> None:
    """Balance of forces, laws of the springs, and work equal to stored energy."""
    random = np.random.default_rng(2)
    wrench, reference = random.normal(size=6), random.normal(size=3)
    result = quality.quasistatic(**hand, wrench=wrench, reference=reference)
    G, J, S = hand["G"], hand["J"], hand["synergies"]
    np.testing.assert_allclose(G @ result.forces, -wrench, atol=1e-9)
    np.testing.assert_allclose(J.T @ result.forces, result.torques, atol=1e-9)
    pressed = J @ result.joints - G.T @ result.motion
    np.testing.assert_allclose(hand["contact"] * pressed, result.forces, atol=1e-7)
    bent = S @ result.synergies - result.joints
    np.testing.assert_allclose(hand["joint"] @ bent, result.torques, atol=1e-7)
    deflection = reference - result.synergies
    np.testing.assert_allclose(hand["synergy"] * deflection, S.T @ result.torques, atol=1e-7)
    stored = (
        result.forces @ (result.forces / hand["contact"])
        + result.torques @ np.linalg.solve(hand["joint"], result.torques)
        + deflection @ (hand["synergy"] * deflection)
    )
    assert stored == pytest.approx(wrench @ result.motion + reference @ (S.T @ result.torques))


def test_maps_in_the_form_of_the_literature(hand: dict[str, np.ndarray]) -> None:
    """V, P, Q, T, Y by eliminating one spring after the other (SynGrasp's order)."""
    G, J, S, Kq = hand["G"], hand["J"], hand["synergies"], hand["joint"]
    Kc, Kz = np.diag(hand["contact"]), np.diag(hand["synergy"])
    motion = np.linalg.inv(G @ Kc @ G.T) @ G @ Kc @ J
    forces = Kc @ J - Kc @ G.T @ motion
    joints = np.linalg.solve(J.T @ forces + Kq, Kq)
    actual = np.linalg.solve(S.T @ J.T @ forces @ joints @ S + Kz, Kz)
    moved = joints @ S @ actual
    maps = quality.quasistatic_maps(**hand)
    np.testing.assert_allclose(maps.motion[0], motion @ moved, atol=1e-9)
    np.testing.assert_allclose(maps.forces[0], forces @ moved, atol=1e-7)
    np.testing.assert_allclose(maps.joints[0], moved, atol=1e-9)
    np.testing.assert_allclose(maps.torques[0], J.T @ forces @ moved, atol=1e-7)
    np.testing.assert_allclose(maps.synergies[0], actual, atol=1e-9)


def test_object_that_is_not_held_is_rejected() -> None:
    G = quality.grasp_matrix(*equator(0, 180))
    message = "resist each motion of the object; found a grasp matrix of rank 5 of 6"
    with pytest.raises(sg.DescriptionError, match=message):
        quality.quasistatic(G, np.ones((6, 1)), 1000.0, wrench=np.ones(6))


@pytest.mark.parametrize(("softest", "borne"), [(1e-6, True), (1e-11, False)])
def test_a_motion_is_resisted_relative_to_the_stiffest(softest: float, borne: bool) -> None:
    stiffness = np.diag([softest, 1e-6, 1.0])
    if borne:
        response = quality.quasistatic(np.eye(3), np.zeros((3, 0)), stiffness, wrench=np.ones(3))
        assert response.motion[0] == pytest.approx(1.0 / softest)
    else:
        with pytest.raises(sg.DescriptionError) as caught:
            quality.quasistatic(np.eye(3), np.zeros((3, 0)), stiffness, wrench=np.ones(3))
        assert caught.value.field == "G"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"contact": -1.0}, "contact: expected a symmetric and positive definite stiffness"),
        ({"contact": [1.0, 2.0]}, r"contact: expected the shape \(6\), found \(2,\)"),
        ({"joint": 1.0}, "J: expected J with a stiffness 'joint', found none"),
        ({"J": np.ones((6, 2)), "synergy": 1.0}, "synergies: expected synergies with a stiffness"),
        ({"J": np.ones((6, 2)), "joint": [[1, 2], [0, 1]]}, "found 2 between halves"),
    ],
)
def test_wrong_stiffnesses(options: dict[str, object], message: str) -> None:
    G = quality.grasp_matrix(*equator(0, 180))
    with pytest.raises(sg.DescriptionError, match=message):
        quality.grasp_stiffness(**{"G": G, "contact": 1.0, **options})
