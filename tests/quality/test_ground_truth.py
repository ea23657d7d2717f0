"""Grasps with known ε, volume, singular values and null spaces."""

from __future__ import annotations

import numpy as np
import pytest

import softgrasp as sg
from softgrasp.quality.contact_models import cone_edges, friction_cones
from softgrasp.quality.convex_hull import facets_of
from softgrasp.quality.matrix_measures import null_space
from tests.quality.grasps import disc, equator, octahedron, square, tetrahedron

quality = sg.quality


@pytest.mark.parametrize(
    ("mu", "norm", "epsilon", "volume"),
    [
        (0.5, "L1", 1 / 3, 2 / 3),
        (0.5, "Linf", 0.577350, 2.0),
        (0.25, "L1", 0.174078, 0.166667),
        (0.25, "Linf", 1 / 3, 0.5),
        (1.0, "L1", 0.577350, 2.666667),
        (1.0, "Linf", 0.816497, 8.0),
    ],
)
def test_antipodal_contacts_on_a_disc(mu: float, norm: str, epsilon: float, volume: float) -> None:
    """L1: ε = µ/√(µ² + 2), V = 8µ²/3; L∞: ε = √2·µ/√(1 + 2µ²), V = 8µ²."""
    result = quality.wrench_space(*disc(0, 180), mu, norm=norm)
    assert result.epsilon == pytest.approx(epsilon, abs=5e-7)
    assert result.volume == pytest.approx(volume, abs=5e-7)
    exact = {
        "L1": (mu / np.sqrt(mu**2 + 2), 8 * mu**2 / 3),
        "Linf": (np.sqrt(2) * mu / np.sqrt(1 + 2 * mu**2), 8 * mu**2),
    }[norm]
    assert (result.epsilon, result.volume) == pytest.approx(exact, rel=1e-13)
    assert quality.epsilon(*disc(0, 180), mu, norm=norm) == pytest.approx(exact[0], rel=1e-13)
    assert quality.volume(*disc(0, 180), mu, norm=norm) == pytest.approx(exact[1], rel=1e-13)


@pytest.mark.parametrize(("norm", "epsilon"), [("L1", 0.298142), ("Linf", 0.516398)])
def test_epsilon_of_unit_edges(norm: str, epsilon: float) -> None:
    result = quality.epsilon(*disc(0, 180), 0.5, norm=norm, edge_norm="unit")
    assert result == pytest.approx(epsilon, abs=5e-7)


@pytest.mark.parametrize(
    ("mu", "closed", "offset"),
    [(0.57, False, -0.00391), (0.58, True, 0.001404), (0.7, True, 0.061647)],
)
def test_contacts_120_degrees_apart_have_closure_above_tan_30(
    mu: float, closed: bool, offset: float
) -> None:
    """Where the origin is outside, its distance exceeds the smallest facet offset."""
    wrenches = cone_edges(friction_cones(*disc(0, 120), mu), mu).reshape(-1, 3)
    lowest = facets_of(wrenches).offsets.min()
    assert lowest == pytest.approx(offset, abs=5e-7)
    result = quality.wrench_space(*disc(0, 120), mu)
    assert result.closed is closed
    assert result.epsilon == pytest.approx(max(lowest, 0.0), rel=1e-12)
    assert result.margin == pytest.approx(lowest if closed else -0.0063655, abs=5e-8)
    assert quality.is_force_closure(*disc(0, 120), mu) is closed


@pytest.mark.parametrize(
    ("a", "epsilon", "volume"), [(0.5, 0.353553, 2 / 3), (0.25, 0.223607, 1 / 3)]
)
def test_frictionless_square_has_form_closure(a: float, epsilon: float, volume: float) -> None:
    """ε = a/√(1 + 4a²), V = 4a/3."""
    result = quality.wrench_space(*square(a), 0.0)
    assert result.epsilon == pytest.approx(epsilon, abs=5e-7)
    assert result.epsilon == pytest.approx(a / np.sqrt(1 + 4 * a**2), rel=1e-13)
    assert result.volume == pytest.approx(volume, rel=1e-12)
    assert quality.is_force_closure(*square(a), 0.0)


def test_parallel_pairs_without_friction_have_rank_two() -> None:
    result = quality.wrench_space([(1, 0.5), (-1, 0.5), (0.5, 1), (0.5, -1)], square(0.5)[1], 0.0)
    assert (result.epsilon, result.volume, result.rank) == (0.0, 0.0, 2)
    assert result.reason == (
        "rank 2 of 3, the contacts resist nothing along force (0.5 -0.5), moment (1)"
    )


def test_pinwheel_without_friction_cannot_resist_rotation() -> None:
    points = [(1, 0.5), (-0.5, 1), (-1, -0.5), (0.5, -1)]
    normals = [(-1, 0), (0, -1), (1, 0), (0, 1)]
    result = quality.wrench_space(points, normals, 0.0)
    assert (result.epsilon, result.volume, result.rank) == (0.0, 0.0, 3)
    assert result.margin == pytest.approx(-0.5)
    assert result.reason == (
        "all forces that friction allows push to one side, force (0 0), moment (1)"
    )
    assert not quality.is_force_closure(points, normals, 0.0)


def singular_values(matrix: np.ndarray) -> np.ndarray:
    return np.linalg.svd(matrix, compute_uv=False)


def test_two_antipodal_hard_fingers() -> None:
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


def test_two_antipodal_soft_fingers() -> None:
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
    """Contact frames (−c −s 0), (s −c 0), z at (c s 0)·r; Prattichizzo and Trinkle, §38.5."""
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
