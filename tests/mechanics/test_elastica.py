"""The exact beam: against an integration of its own differential equation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_bvp

from softgrasp.continuum import statics


def integrated(moment_rate) -> tuple[float, float, float]:
    """Tip of a clamped beam with θ″ = moment_rate(s, θ), θ(0) = 0, θ′(1) = 0."""
    s = np.linspace(0, 1, 200)
    run = solve_bvp(
        lambda s, y: np.vstack([y[1], moment_rate(s, y[0]), np.cos(y[0]), np.sin(y[0])]),
        lambda a, b: np.array([a[0], b[1], a[2], a[3]]),
        s, np.vstack([0.5 * s, 0.5 * (1 - s), s, 0.2 * s]), tol=1e-10, max_nodes=100_000,
    )  # fmt: skip
    assert run.success
    slope, _, x, y = run.sol(1.0)
    return float(x), float(y), float(slope)


@pytest.mark.parametrize("load", [0.1, 1.0, 3.0, 10.0])
def test_the_elliptic_integrals_solve_the_beam_under_a_tip_force(load: float) -> None:
    expected = integrated(lambda s, theta: -load * np.cos(theta))
    assert statics.under_tip_force(load) == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("load", [0.1, 1.0, 5.0, 20.0])
def test_shooting_solves_the_beam_under_its_own_weight(load: float) -> None:
    expected = integrated(lambda s, theta: -load * (1 - s) * np.cos(theta))
    assert statics.self_weight_deflection(load) == pytest.approx(expected, abs=1e-8)


def test_small_loads_bend_as_linear_theory_says() -> None:
    assert statics.under_tip_force(1e-4).y == pytest.approx(1e-4 / 3, rel=1e-6)
    assert statics.self_weight_deflection(1e-4).y == pytest.approx(1e-4 / 8, rel=1e-6)
    assert statics.under_tip_moment(1e-4).y == pytest.approx(1e-4 / 2, rel=1e-6)


def test_frequencies_are_roots_of_the_characteristic_equation() -> None:
    for frequency in statics.FREQUENCIES:
        root = np.sqrt(frequency)
        assert np.cos(root) * np.cosh(root) == pytest.approx(-1.0, abs=1e-7)
