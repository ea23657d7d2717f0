"""Spatial grasps on the unit sphere, hard and soft fingers."""

from __future__ import annotations

import numpy as np
import pytest

import softgrasp as sg
from softgrasp.quality.graspability import null_space
from tests.mechanics.quality.grasps import equator, octahedron, tetrahedron

quality = sg.quality


def singular_values(matrix: np.ndarray) -> np.ndarray:
    return np.linalg.svd(matrix, compute_uv=False)


def test_two_antipodal_hard_fingers_squeeze_and_let_turn() -> None:
    G = quality.grasp_matrix(*equator(0, 180))
    np.testing.assert_allclose(singular_values(G), [np.sqrt(2)] * 5 + [0], atol=1e-12)
    np.testing.assert_allclose(np.abs(null_space(G.T).ravel()), np.eye(6)[3], atol=1e-12)
    squeeze = quality.internal_forces(G)
    assert squeeze.shape == (6, 1)
    np.testing.assert_allclose(np.abs(squeeze.ravel()) * np.sqrt(2), [1, 0, 0, 1, 0, 0], atol=1e-12)
    result = quality.wrench_space(*equator(0, 180), 0.5)
    assert (result.epsilon, result.rank) == (0.0, 5)
    assert result.reason == (
        "2 contacts of hard fingers, where at least 3 are needed: rank 5 of 6, the contacts "
        "resist nothing along force (0 0 0), moment (1 0 0)"
    )
    assert quality.min_singular_value(G) == 0.0
    assert quality.isotropy(G) == 0.0


def test_two_antipodal_soft_fingers_hold() -> None:
    G = quality.grasp_matrix(*equator(0, 180), model="soft")
    np.testing.assert_allclose(singular_values(G), np.sqrt(2), atol=1e-12)
    internal = quality.internal_forces(G)
    assert internal.shape == (8, 2)
    squeeze, twist = np.eye(8)[0] + np.eye(8)[4], np.eye(8)[3] + np.eye(8)[7]
    for target in (squeeze, twist):  # each spin is about its own normal
        np.testing.assert_allclose(internal @ (internal.T @ target), target, atol=1e-12)
    assert quality.epsilon(*equator(0, 180), 0.5, torsion=0.1) > 0.0
    assert quality.is_force_closure(*equator(0, 180), 0.5, torsion=0.1)


def test_tetrahedron() -> None:
    G = quality.grasp_matrix(*tetrahedron())
    np.testing.assert_allclose(singular_values(G), [2] * 3 + [1.632993] * 3, atol=5e-7)
    assert quality.isotropy(G) == pytest.approx(0.816497, abs=5e-7)
    assert quality.min_singular_value(G) == pytest.approx(1.632993, abs=5e-7)
    assert quality.ellipsoid_volume(G) == pytest.approx(8 * (8 / 3) ** 1.5)
    assert quality.internal_forces(G).shape == (12, 6)


def test_octahedron() -> None:
    G = quality.grasp_matrix(*octahedron())
    np.testing.assert_allclose(singular_values(G), [2.449490] * 3 + [2] * 3, atol=5e-7)
    assert quality.isotropy(G) == pytest.approx(0.816497, abs=5e-7)


@pytest.mark.parametrize(
    ("contacts", "optimiser", "exact"),
    [(tetrahedron(), 0.3689, 1 / np.sqrt(8)), (octahedron(), 0.4125, 1 / np.sqrt(6))],
    ids=["tetrahedron", "octahedron"],
)
def test_bounds_of_round_cones(contacts: tuple, optimiser: float, exact: float) -> None:
    """An optimiser found .3689 and .4125 as upper bounds; the certified interval is below."""
    lower, upper = quality.epsilon_bounds(*contacts, 0.5, tolerance=0.005)
    assert lower <= exact <= upper < optimiser
    assert upper - lower <= 0.005 * upper + 1e-9
    assert quality.epsilon(*contacts, 0.5) <= upper


def test_sphere_of_the_handbook() -> None:
    """Contact frames (−c −s 0), (s −c 0), z at (c s 0)·r; Prattichizzo and Trinkle, §38.2."""
    r = 0.5
    contacts = equator(180, 0, radius=r)
    expected = [
        [1, 0, 0, -1, 0, 0],
        [0, 1, 0, 0, -1, 0],
        [0, 0, 1, 0, 0, 1],
        [0, 0, 0, 0, 0, 0],
        [0, 0, r, 0, 0, -r],
        [0, -r, 0, 0, -r, 0],
    ]
    G = quality.grasp_matrix(*contacts)
    np.testing.assert_allclose(G, expected, atol=1e-15)
    assert np.linalg.matrix_rank(G) == 5
    for angle in (10.0, 77.0, 200.0):
        c, s = np.cos(np.radians(angle)), np.sin(np.radians(angle))
        block = [[-c, s, 0], [-s, -c, 0], [0, 0, 1], [0, 0, r * s], [0, 0, -r * c], [0, -r, 0]]
        result = quality.grasp_matrix(*equator(angle, radius=r))
        np.testing.assert_allclose(result, block, atol=1e-15)
    soft = quality.grasp_matrix(*contacts, model="soft")
    np.testing.assert_allclose(singular_values(soft), [np.sqrt(2)] * 4 + [0.707107] * 2, atol=5e-7)


def test_three_hard_fingers_on_the_equator() -> None:
    G = quality.grasp_matrix(*equator(0, 120, 240, radius=0.5))
    np.testing.assert_allclose(
        singular_values(G), [np.sqrt(3)] * 3 + [0.866025] + [0.612372] * 2, atol=5e-7
    )
    assert quality.internal_forces(G).shape == (9, 3)
