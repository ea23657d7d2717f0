"""Rules of mass and inertia: each has a body that keeps it and one that does not."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softgrasp.checks.bodies import (
    INERTIA_UNIT_ERRORS,
    MASS_UNIT_ERRORS,
    Body,
    arrange,
    box_corners,
    density_check,
    inertia_check,
    inertia_guess,
    inertia_ratio,
    is_possible_inertia,
    mass_guess,
    together,
)
from softgrasp.mechanics.transforms import transform

SIDE = 0.02
CUBE = arrange(SIDE**3, np.eye(3) * SIDE**5 / 6, box_corners(np.full(3, SIDE / 2)), np.eye(4))


def cube(mass: float = 8e-3, factor: float = 1.0, moments: tuple[float, ...] | None = None) -> Body:
    """A cube of 20 mm, of water where nothing else is said."""
    inertia = np.diag(moments) if moments else factor * mass * SIDE**2 / 6 * np.eye(3)
    return Body("link 'c'", "c", mass, np.zeros(3), inertia, CUBE)


def test_two_half_cubes_are_a_cube() -> None:
    half, third = SIDE / 2, SIDE**3 / 2
    moments = third / 12 * np.diag([2 * SIDE**2, half**2 + SIDE**2, half**2 + SIDE**2])
    corners = box_corners(np.array([half / 2, half, half]))
    parts = [arrange(third, moments, corners, transform((x, 0, 0))) for x in (-half / 2, half / 2)]
    whole = together(parts)
    assert whole.volume == pytest.approx(CUBE.volume)
    np.testing.assert_allclose(whole.inertia, CUBE.inertia, rtol=1e-12, atol=1e-22)
    np.testing.assert_allclose(whole.center, 0.0, atol=1e-15)
    assert whole.farthest(np.zeros(3)) == pytest.approx(SIDE / 2 * np.sqrt(3))


def test_a_cube_of_water_keeps_all_rules() -> None:
    assert density_check([cube()]).findings == ()
    assert inertia_check([cube()]).findings == ()
    assert inertia_ratio(cube()) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("mass", "message"),
    [
        (8.0, "divided by 1000 it is 0.008 kg and 1000 kg/m³: grams written as kilograms"),
        (
            8e3,
            "divided by 1e+06 it is 0.008 kg and 1000 kg/m³: milligrams written as kilograms, or "
            "volumes in cm³ times a density in kg/m³",
        ),
        (8e-12, "is its geometry in millimetres? With a scale of 0.001 it has 1000 kg/m³"),
        (4e-4, "check its mass and the size of its geometry"),
    ],
)
def test_odd_densities_are_reported_with_a_guess(mass: float, message: str) -> None:
    (finding,) = density_check([cube(mass)]).findings
    assert finding.severity == "problem"
    assert finding.advice == message
    assert finding.numbers["density_kg_m3"] == pytest.approx(mass / SIDE**3)
    assert finding.expected == "a density of 100 … 20000 kg/m³"


@pytest.mark.parametrize(
    ("factor", "severity"),
    [(1.0, None), (2.9, None), (0.34, None), (3.1, "problem"), (0.3, "remark"),
     (4.6, "problem"), (0.019, "problem"), (1e6, "problem")],
)  # fmt: skip
def test_inertia_is_compared_with_the_geometry(factor: float, severity: str | None) -> None:
    result = inertia_check([cube(factor=factor)]).findings
    assert [finding.severity for finding in result] == ([] if severity is None else [severity])
    for finding in result:
        assert finding.numbers["to_uniform_solid"] == pytest.approx(factor)


def test_no_mass_inside_a_cube_has_more_than_its_corners_do() -> None:
    """All mass at the corners: half the trace is m·R², 3 x the uniform cube's, and still legal."""
    inertia = 8e-3 / 8 * sum(r @ r * np.eye(3) - np.outer(r, r) for r in CUBE.points)
    body = Body("link 'c'", "c", 8e-3, np.zeros(3), 0.999999 * inertia, CUBE)
    assert inertia_ratio(body) == pytest.approx(3.0, rel=1e-5)
    assert inertia_check([body]).findings == ()


@given(st.lists(st.floats(0.0, 1.0), min_size=3, max_size=3))
def test_second_moments_give_possible_principal_moments(squares: list[float]) -> None:
    """Jx = ∫(y² + z²) dm: any three such sums obey the triangle inequality."""
    x, y, z = squares
    assert is_possible_inertia(sorted([y + z + 1e-6, x + z + 1e-6, x + y + 1e-6]))


def test_impossible_moments() -> None:
    assert not is_possible_inertia((1.0, 1.0, 2.1))
    assert not is_possible_inertia((0.0, 1.0, 1.0))
    assert is_possible_inertia((1.0, 1.0, 2.0))
    (finding,) = inertia_check([cube(moments=(1e-6, 1e-6, 3e-6))]).findings
    assert finding.sentence == (
        "link 'c': expected principal moments of which each is above 0 and at most the sum of the "
        "others, found 1e-06, 1e-06 and 3e-06 kg·m²; no body has these; are moments and products "
        "in the right order?"
    )


def test_a_mass_without_an_inertia() -> None:
    (finding,) = inertia_check([Body("link 'c'", "c", 1.0, np.zeros(3), None, CUBE)]).findings
    assert finding.actual == "none"
    bare = Body("link 'c'", "c", 1.0, np.zeros(3), np.eye(3), None)
    assert density_check([bare]).findings == inertia_check([bare]).findings == ()


# --------------------
# A slip of a unit is found from densities alone, whatever the true densities are.


TRUE = st.lists(st.floats(300.0, 3000.0), min_size=1, max_size=6)


@given(TRUE, TRUE, st.sampled_from(sorted(MASS_UNIT_ERRORS)))
def test_the_factor_that_was_put_in_is_detected(
    wrong: list[float], right: list[float], factor: float
) -> None:
    result = mass_guess([*right, *(factor * density for density in wrong)])
    assert result.factor == factor


@given(TRUE)
def test_usual_densities_are_left_alone(densities: list[float]) -> None:
    assert mass_guess(densities) is None


def test_densities_that_no_factor_explains_are_not_guessed() -> None:
    assert mass_guess([1e9, 1e4, 1e-3, 50.0]) is None


@given(st.floats(0.35, 2.9), st.sampled_from(sorted(INERTIA_UNIT_ERRORS)))
def test_slips_of_inertia(ratio: float, factor: float) -> None:
    assert 1 / 3.001 <= ratio * factor / inertia_guess(ratio * factor).factor <= 3.001
    assert inertia_guess(ratio) is None


def test_an_inertia_that_no_unit_explains() -> None:
    assert inertia_guess(265.0) is None  # 1e-3 kg·m² for everything, in a strawberry
    assert inertia_guess(0.0) is None
