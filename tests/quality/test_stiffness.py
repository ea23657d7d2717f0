"""Grasp stiffness of springs in series, and the quasi-static response."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import root

import softgrasp as sg
from tests.quality.grasps import equator, random_sphere

quality = sg.quality
seeds = st.integers(0, 2**32 - 1)


def test_two_antipodal_contacts() -> None:
    """k = 1000 N/m, r = 0.03 m: 2k in each direction, 2k·r² about y and z."""
    G = quality.grasp_matrix(*equator(0, 180, radius=0.03))
    K = quality.grasp_stiffness(G, 1000.0)
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
    moved = quality.quasistatic(**hand, wrench=wrench).motion
    np.testing.assert_allclose(K @ moved, wrench)


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
    work = wrench @ result.motion + reference @ (S.T @ result.torques)
    assert stored == pytest.approx(work)


def test_maps_in_the_form_of_the_literature(hand: dict[str, np.ndarray]) -> None:
    """V, P, Q, T, Y by eliminating one spring after the other (SynGrasp's order)."""
    G, J, S, Kq = hand["G"], hand["J"], hand["synergies"], hand["joint"]
    Kc, Kz = np.diag(hand["contact"]), np.diag(hand["synergy"])
    inside = np.linalg.inv(G @ Kc @ G.T)
    motion = inside @ G @ Kc @ J
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


def planar_equilibrium(
    bases: np.ndarray, start: np.ndarray, references: np.ndarray, wrench: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Solve the nonlinear equilibrium of a body on the springs of one-link fingers.

    Contact springs of 1000 N/m hold the body's points ``start`` to tips on links; joints of
    5 N·m/rad.
    """
    links = start - bases

    def rotation(angle: float, rows: np.ndarray) -> np.ndarray:
        c, s = np.cos(angle), np.sin(angle)
        return rows @ np.array([[c, s], [-s, c]])

    def unbalance(state: np.ndarray) -> np.ndarray:
        pose, angles = state[:3], state[3:]
        arms = rotation(pose[2], start)
        levers = np.vstack([rotation(a, link) for a, link in zip(angles, links, strict=True)])
        forces = 1000.0 * (bases + levers - pose[:2] - arms)  # on the body
        moment = (arms[:, 0] * forces[:, 1] - arms[:, 1] * forces[:, 0]).sum()
        torques = levers[:, 0] * forces[:, 1] - levers[:, 1] * forces[:, 0]
        return np.concatenate([
            forces.sum(axis=0) + wrench[:2],
            [moment + wrench[2]],
            5.0 * (references - angles) - torques,
        ])  # fmt: skip

    result = root(unbalance, np.zeros(3 + len(bases)), tol=1e-13)
    assert np.abs(result.fun).max() < 1e-12
    return result.x[:3], result.x[3:]


def test_finite_differences_of_an_equilibrium() -> None:
    angles = np.radians([10, 130, 250])
    points = 0.05 * np.column_stack([np.cos(angles), np.sin(angles)])
    bases = points + np.array([(0.08, 0.01), (-0.02, 0.07), (-0.03, -0.06)])
    normals = -points / 0.05
    levers = points - bases
    jacobians = np.zeros((3, 2, 3))
    for i, (x, y) in enumerate(levers):
        jacobians[i, :, i] = -y, x
    G, J = quality.grasp_matrix(points, normals), quality.hand_jacobian(jacobians, normals)
    step = 1e-5
    for which in range(6):
        change = step * np.eye(6)[which]
        result = quality.quasistatic(G, J, 1000.0, 5.0, reference=change[:3], wrench=change[3:])
        ahead = planar_equilibrium(bases, points, change[:3], change[3:])
        behind = planar_equilibrium(bases, points, -change[:3], -change[3:])
        pose, bent = ((a - b) / 2 for a, b in zip(ahead, behind, strict=True))
        np.testing.assert_allclose(result.motion, pose, atol=1e-11)
        np.testing.assert_allclose(result.joints, bent, atol=1e-11)


@given(seeds)
def test_stiffness_is_monotonic(seed: int) -> None:
    random = np.random.default_rng(seed)
    G, J = quality.grasp_matrix(*random_sphere(random, 4)), random.normal(size=(12, 5))
    soft = quality.grasp_stiffness(G, random.uniform(100, 200, 12), J, 3.0)
    hard = quality.grasp_stiffness(G, random.uniform(200, 400, 12), J, 4.0)
    assert np.linalg.eigvalsh(hard - soft).min() > -1e-9 * np.abs(hard).max()


def test_object_that_is_not_held_is_rejected() -> None:
    G = quality.grasp_matrix(*equator(0, 180))
    message = "resist each motion of the object; found a grasp matrix of rank 5 of 6"
    with pytest.raises(sg.DescriptionError, match=message):
        quality.quasistatic(G, np.ones((6, 1)), 1000.0, wrench=np.ones(6))


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
