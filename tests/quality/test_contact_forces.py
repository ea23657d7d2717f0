"""Friction margins, cone distances, force distribution, PCR and PGR."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize, minimize_scalar

import softgrasp as sg
from softgrasp.quality import contact_forces
from tests.quality.grasps import equator, random_sphere, tetrahedron

quality = sg.quality
forces = st.floats(-10, 10)
MU = 0.8
ALPHA = 1 / np.sqrt(1 + MU**2)


def test_margins_of_hard_fingers() -> None:
    rows = [(2, 0, 0), (2, 0.6, 0.8), (2, 0, 0.5), (2, 3, 0), (0, 0, 0), (0, 1, 0), (-1, 0, 0)]
    result = quality.friction_margin(rows, 0.5)
    np.testing.assert_allclose(result, [1, 0, 0.5, -2, 0, -np.inf, -np.inf], atol=1e-15)
    np.testing.assert_allclose(quality.friction_margin([(2, 0.5)], 0.5), [0.5])
    np.testing.assert_array_equal(quality.friction_margin([(2, 0, 0), (2, 1, 0)], 0), [1, -np.inf])


def test_margins_of_soft_fingers() -> None:
    """Elliptic limit surface: half of the friction limit leaves √(1 − ¼) of the spin limit."""
    mu, gamma = 0.5, 0.01
    spin = np.sqrt(0.75) * gamma * 4
    result = quality.friction_margin([(4, 1, 0, spin), (4, 0, 0, gamma * 2)], mu, torsion=gamma)
    np.testing.assert_allclose(result, [0, 0.5], atol=1e-14)


def limits(force: np.ndarray) -> list[float]:
    """Compute the three limits σ of a contact force."""
    size = np.linalg.norm(force)
    return [1 - force[0], size - 30, ALPHA * size - force[0]]


@settings(max_examples=20)
@given(st.integers(0, 2**32 - 1), st.floats(0.5, 8.0))
def test_slopes_of_the_cost_are_its_derivatives(seed: int, size: float) -> None:
    """Gradient and Hessian, inside the limits and beyond them, with contacts that do not count."""
    random = np.random.default_rng(seed)
    basis = random.normal(size=(9, 4))
    counted = np.array([[True] * 3, [True, False, False], [False] * 3])
    bounds = contact_forces.Limits(MU, 0.5, 10.0, smoothing=0.1)
    cost = contact_forces._Cost(size * random.normal(size=9), basis, counted, bounds, 0.1)
    point = random.normal(size=4)
    _, slope, curvature = cost.at(point)
    steps = 1e-6 * np.eye(4)
    ahead, behind = ([cost.at(point + sign * d) for d in steps] for sign in (1.0, -1.0))
    pairs = list(zip(ahead, behind, strict=True))
    scale = np.abs(curvature).max()
    numeric = [(first[0] - second[0]) / 2e-6 for first, second in pairs]
    np.testing.assert_allclose(slope, numeric, rtol=1e-4, atol=1e-5 * scale)
    numeric = [(first[1] - second[1]) / 2e-6 for first, second in pairs]
    np.testing.assert_allclose(curvature, numeric, rtol=1e-2, atol=1e-2 * scale)


@given(st.floats(0.01, 10.0))
def test_the_cost_and_its_slopes_are_continuous_at_a_limit(k: float) -> None:
    terms = contact_forces._barrier(k * np.array([-1.0 - 1e-9, -1.0]), k)
    for below, above in terms:
        assert above == pytest.approx(below, rel=1e-6)


@pytest.mark.parametrize("normals", [2, 3])
def test_contacts_balance_where_friction_reaches_the_other(normals: int) -> None:
    """Two contacts bent by β towards the side that a third one, if there is one, pushes to."""
    for bend in np.radians([5.0, 20.0, 40.0]):
        sides = [(np.sin(bend), sign * np.cos(bend), 0.0) for sign in (1.0, -1.0)]
        contacts = [*sides, (1.0, 0.0, 0.0)][:normals]
        for margin, balance in ((1.02, True), (0.95, False)):
            assert contact_forces.can_balance(contacts, margin * np.tan(bend)) is balance
    assert not contact_forces.can_balance([(1.0, 0.0, 0.0)], 10.0)


def test_contact_robustness_of_two_fingers() -> None:
    """Both forces are normal with magnitude N: V = ½(1/(N − 1)² + 1/(30 − N)² + 1/(cN)²)."""
    c = 1 - ALPHA

    def cost(n: float) -> float:
        return 0.5 * (1 / (n - 1) ** 2 + 1 / (30 - n) ** 2 + 1 / (c * n) ** 2)

    best = minimize_scalar(cost, bounds=(1.1, 29.9), method="bounded", options={"xatol": 1e-10})
    result = quality.contact_robustness(quality.grasp_matrix(*equator(0, 180)))
    assert result.value == pytest.approx(1 / best.fun, rel=1e-8)
    np.testing.assert_allclose(result.forces, [[best.x, 0, 0]] * 2, atol=1e-4)
    assert quality.pcr(quality.grasp_matrix(*equator(0, 180))) == result.value


def test_grasp_without_rank_six_has_no_grasp_robustness() -> None:
    assert quality.pgr(quality.grasp_matrix(*equator(0, 180))) == 0.0


@settings(max_examples=5)
@given(st.integers(0, 2**32 - 1))
def test_forces_minimize_the_cost(seed: int) -> None:
    random = np.random.default_rng(seed)
    points, normals = tetrahedron()
    G = quality.grasp_matrix(points + 0.1 * random.normal(size=(4, 3)), normals)
    wrench = random.normal(size=6)
    result = quality.contact_robustness(G, MU, wrench=wrench)
    assert result.value > 0.0
    np.testing.assert_allclose(G @ result.forces.ravel(), -wrench, atol=1e-9)
    assert max(max(limits(force)) for force in result.forces) < 0.0
    E = quality.internal_forces(G)

    def cost(y: np.ndarray) -> float:
        sigmas = np.array([limits(force) for force in (result.forces + (E @ y).reshape(-1, 3))])
        return float((0.5 / sigmas**2).sum() / 4) if (sigmas < 0).all() else 1e6

    other = minimize(cost, 0.3 * np.ones(6), method="Nelder-Mead", options={"maxiter": 300})
    assert 1 / cost(np.zeros(6)) == pytest.approx(result.value)
    assert other.fun >= 1 / result.value * (1 - 1e-9)


def test_detached_contact_raises_the_robustness() -> None:
    """A fourth finger with an oblique normal lowers PCR; PGR may detach it."""
    points, normals = equator(0, 120, 240)
    oblique = np.array([np.cos(0.9), 0.0, np.sin(0.9)])
    points, normals = np.vstack([points, [(0, 0, 1)]]), np.vstack([normals, [oblique]])
    G = quality.grasp_matrix(points, normals)
    without = quality.pcr(G[:, :9])
    result = quality.grasp_robustness(G)
    assert result.value >= without * (1 - 1e-6)
    assert result.value > quality.pcr(G)
    assert result.states[:3] == (1, 1, 1)
    assert quality.grasp_robustness(G[:, :9]).states == (1, 1, 1)


def test_hand_without_controllable_internal_forces_has_none() -> None:
    G = quality.grasp_matrix(*tetrahedron())
    J = np.zeros((12, 4))
    J[[1, 4, 7, 10], range(4)] = 1.0  # joints along the tangents
    assert quality.pcr(G, J=J) == 0.0
    J = np.zeros((12, 4))
    J[[0, 3, 6, 9], range(4)] = 1.0
    assert 0.0 < quality.pcr(G, J=J, synergies=np.ones((4, 1))) <= quality.pcr(G) * (1 + 1e-9)


@settings(max_examples=10)
@given(st.integers(0, 2**32 - 1), st.integers(3, 5))
def test_positive_pcr_is_force_closure(seed: int, count: int) -> None:
    """Internal forces strictly inside the cones exist if and only if there is force closure
    (Prattichizzo and Trinkle, §38.4); forces of any magnitude are allowed."""
    contacts = random_sphere(np.random.default_rng(seed), count)
    lower, upper = quality.epsilon_bounds(*contacts, 0.6, tolerance=0.1)
    robust = quality.pcr(quality.grasp_matrix(*contacts), 0.6, max_force=1e5) > 0.0
    if lower > 1e-3 or upper == 0.0:
        assert robust is quality.is_force_closure(*contacts, 0.6)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"G": np.ones((6, 4))}, "G: expected the grasp matrix of hard fingers, three columns a"),
        ({"mu": 0.0}, "mu: expected a number above 0, found 0"),
        (
            {"min_normal_force": 5.0, "max_force": 4.0},
            "max_force: expected a number above 5, found 4",
        ),
        ({"wrench": np.ones(3)}, r"wrench: expected the shape \(6\), found \(3,\)"),
    ],
)
def test_wrong_input(options: dict[str, object], message: str) -> None:
    with pytest.raises(sg.DescriptionError, match=message):
        quality.pcr(**{"G": np.ones((6, 6)), **options})


def test_too_many_contacts_to_try_all_states() -> None:
    with pytest.raises(
        sg.DescriptionError, match=r"G: expected at most 8 contacts with exact=True.*found 9"
    ):
        quality.grasp_robustness(np.ones((6, 27)), exact=True)


@pytest.mark.slow
def test_grasp_robustness_above_eight_contacts_is_a_lower_bound() -> None:
    """It is at least that of eight of the contacts, and never above the exact value."""
    points, normals = random_sphere(np.random.default_rng(2), 9)
    G = quality.grasp_matrix(points, normals, "hard")
    found = quality.grasp_robustness(G, 0.5)
    assert not found.exact
    assert found.value >= quality.pcr(G, 0.5) > 0.0
    rows = [
        3 * i + part
        for i, s in enumerate(found.states)
        for part in {1: (0, 1, 2), 2: (0,), 3: ()}[s]
    ]
    assert np.linalg.matrix_rank(G[:, rows]) == 6
    assert G @ found.forces.ravel() == pytest.approx(np.zeros(6), abs=1e-6)
    with pytest.warns(UserWarning, match="of 9 contacts is a lower bound, as all states"):
        assert quality.pgr(G, 0.5) == found.value


@pytest.mark.parametrize("seed", [0, 1, 2, 3])
def test_searched_states_never_exceed_all_states(seed: int) -> None:
    points, normals = random_sphere(np.random.default_rng(seed), 4)
    G = quality.grasp_matrix(points, normals, "hard")
    searched, exact = (quality.grasp_robustness(G, 0.5, exact=all_of) for all_of in (False, True))
    assert quality.pcr(G, 0.5) <= searched.value <= exact.value
    assert (searched.value > 0.0) == (exact.value > 0.0)


def test_forces_without_synergies_are_the_quasistatic_response() -> None:
    points, normals = equator(0, 120, 240)
    G = sg.quality.grasp_matrix(points, normals)
    J = np.random.default_rng(0).normal(size=(9, 3))
    joint, synergies, wrench = [0.05, 1.0, 1.0], np.zeros((3, 0)), np.array([0, 0.3, 0, 0, 0, 0])
    springs = sg.quality.quasistatic(G, J, 1000.0, joint, wrench=wrench).forces
    result = sg.quality.contact_robustness(
        G, 5.0, wrench=wrench, J=J, joint=joint, synergies=synergies, stiffness=1000.0,
        min_normal_force=0.0, max_force=100.0,
    )  # fmt: skip
    if result.states:
        assert result.forces.ravel() == pytest.approx(springs, abs=1e-9)
    with pytest.raises(sg.DescriptionError) as message:
        sg.quality.pcr(G, 0.5, joint=joint)
    assert str(message.value) == "J: expected J with joint, found none"
