"""How near to slipping: margins, distances from cones, shares of contacts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

import softgrasp as sg

quality = sg.quality
forces = st.floats(-10, 10)


def test_margins_of_hard_fingers() -> None:
    rows = [(2, 0, 0), (2, 0.6, 0.8), (2, 0, 0.5), (2, 3, 0), (0, 0, 0), (0, 1, 0), (-1, 0, 0)]
    result = quality.friction_margin(rows, 0.5)
    np.testing.assert_allclose(result, [1, 0, 0.5, -2, 0, -np.inf, -np.inf], atol=1e-15)
    np.testing.assert_allclose(quality.friction_margin([(2, 0.5)], 0.5), [0.5])
    np.testing.assert_array_equal(quality.friction_margin([(2, 0, 0), (2, 1, 0)], 0), [1, -np.inf])


def test_margins_of_soft_fingers_are_on_an_ellipsoid() -> None:
    """Half of the friction limit leaves √(1 − ¼) of the spin limit."""
    mu, gamma = 0.5, 0.01
    spin = np.sqrt(0.75) * gamma * 4
    result = quality.friction_margin([(4, 1, 0, spin), (4, 0, 0, gamma * 2)], mu, torsion=gamma)
    np.testing.assert_allclose(result, [0, 0.5], atol=1e-14)


@given(forces, forces, st.floats(0.0, 2.0))
def test_distance_from_the_cone(normal: float, sideways: float, mu: float) -> None:
    """The least distance from the two edges of the cone's section."""
    edges = np.array([(1, mu), (1, -mu)]) / np.sqrt(1 + mu**2)
    force = np.array([normal, sideways])
    apart = min(
        minimize_scalar(
            lambda t, edge=edge: np.linalg.norm(force - t * edge), bounds=(0, 30), method="bounded",
            options={"xatol": 1e-10},
        ).fun
        for edge in edges
    )  # fmt: skip
    inside = normal >= 0 and abs(sideways) <= mu * normal
    result = quality.cone_distance([force], mu)[0]
    assert result == pytest.approx(apart if inside else -apart, abs=1e-6)
    assert result == quality.cone_distance([(normal, 0, sideways)], mu)[0]


def test_shares_of_contacts() -> None:
    np.testing.assert_allclose(quality.force_distribution([(3, 9, 9), (1, 0, 0)]), [0.75, 0.25])
    np.testing.assert_array_equal(quality.force_distribution([(0, 0, 0), (0, 0, 0)]), [0, 0])
