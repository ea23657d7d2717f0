"""A slip of a unit is found from densities alone, whatever the true densities are."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from softgrasp.checks.bodies import DENSITIES, INERTIA_SLIPS, MASS_SLIPS, inertia_guess, mass_guess

TRUE = st.lists(st.floats(300.0, 3000.0), min_size=1, max_size=6)


@given(TRUE, TRUE, st.sampled_from(sorted(MASS_SLIPS)))
def test_the_factor_that_was_put_in_is_found(
    wrong: list[float], right: list[float], factor: float
) -> None:
    result = mass_guess([*right, *(factor * density for density in wrong)], DENSITIES)
    assert result is not None
    assert result.factor == factor


@given(TRUE)
def test_usual_densities_are_left_alone(densities: list[float]) -> None:
    assert mass_guess(densities, DENSITIES) is None


def test_densities_that_no_factor_explains_are_not_guessed() -> None:
    assert mass_guess([1e9, 1e4, 1e-3, 50.0], DENSITIES) is None


@given(st.floats(0.35, 2.9), st.sampled_from(sorted(INERTIA_SLIPS)))
def test_slips_of_inertia(ratio: float, factor: float) -> None:
    result = inertia_guess(ratio * factor, 3.0)
    assert result is not None
    assert 1 / 3.001 <= ratio * factor / result.factor <= 3.001
    assert inertia_guess(ratio, 3.0) is None


def test_an_inertia_that_no_unit_explains() -> None:
    assert inertia_guess(265.0, 3.0) is None  # 1e-3 kg·m² for everything, in a strawberry
    assert inertia_guess(0.0, 3.0) is None
