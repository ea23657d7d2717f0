"""Soft patches: moment limits by integration, and Hertz's radius by its own pressure."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import quad

from softgrasp.mechanics.contact import hertz_patch_radius, torsional_coefficient

PRESSURES = {
    "uniform": lambda r, a: 1.0 / (math.pi * a * a),
    "hertz": lambda r, a: 1.5 / (math.pi * a * a) * math.sqrt(1.0 - (r / a) ** 2),
}
"""Pressures of a unit force at a radius."""


@pytest.mark.parametrize("kind", PRESSURES)
def test_the_moment_limit_is_the_integral_of_friction_over_the_patch(kind: str) -> None:
    radius, friction = 0.004, 0.6
    pressure = PRESSURES[kind]
    force, _ = quad(lambda r: pressure(r, radius) * 2 * math.pi * r, 0.0, radius)
    moment, _ = quad(lambda r: friction * r * pressure(r, radius) * 2 * math.pi * r, 0.0, radius)
    assert force == pytest.approx(1.0)
    assert torsional_coefficient(friction, radius, kind) == pytest.approx(moment)


def test_the_radius_of_hertz_goes_with_the_penetration_of_hertz() -> None:
    # N = 4/3·E*·√R·δ^(3/2) and a² = R·δ (Johnson 1985, eqs 4.22 and 4.23)
    modulus, ball, depth = 1.3e6, 0.008, np.array([1e-5, 1e-4, 4e-4])
    forces = 4.0 / 3.0 * modulus * math.sqrt(ball) * depth**1.5
    radii = [hertz_patch_radius(force, ball, modulus) for force in forces]
    np.testing.assert_allclose(np.square(radii), ball * depth, rtol=1e-12)


def test_hertz_needs_positive_numbers() -> None:
    with pytest.raises(ValueError, match="expected a positive force, radius and modulus") as error:
        hertz_patch_radius(0.0, 0.008, 1e6)
    assert str(error.value) == (
        "expected a positive force, radius and modulus, found 0 N, 0.008 m and 1e+06 Pa"
    )
