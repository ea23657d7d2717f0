"""Cubic fits of bends against pressure: recovery, noise, scale, range, reversals, inverse."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from softgrasp.errors import DescriptionError
from softgrasp.twin.description import PressureFit
from softgrasp.twin.piecewise_bending import (
    FitReport,
    Reversal,
    angles_at,
    bend_range,
    fit_pressures,
    pressure_for,
    pressures_for,
    reversal_clause,
    reversals,
)

LENGTHS = (14e-3, 14e-3, 12.32e-3, 15.39e-3)
PRESSURES = np.arange(-90.0, 121.0, 5.0) * 1e3
"""As Xiang et al. (2024) measured: one sample each 5 kPa, 43 in all."""
TRUTH = PressureFit(
    lengths=LENGTHS,
    coefficients=(
        (0.01, 0.30, 0.06, 0.012),
        (-0.02, 0.31, 0.05, 0.02),
        (0.0, 0.25, 0.06, 0.01),
        (0.005, 0.22, 0.03, -0.004),
    ),
    pressures=(-90e3, 120e3),
)
SIGMA = float(np.radians(0.3))


def noisy(seed: int, sigma: float = SIGMA) -> FitReport:
    noise = np.random.default_rng(seed).normal(0.0, sigma, (len(PRESSURES), 4))
    return fit_pressures(PRESSURES, angles_at(TRUTH, PRESSURES) + noise, LENGTHS, sigma=sigma)


def curve_errors(fit: PressureFit, pressures: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Root mean square distance of the curves from true angles [rad], (n,)."""
    return np.sqrt(np.mean((angles_at(fit, pressures) - truth) ** 2, axis=0))


def one_piece(*coefficients: float, pressures: tuple[float, float] = (-1e5, 1e5)) -> PressureFit:
    return PressureFit(lengths=(0.01,), coefficients=(coefficients,), pressures=pressures)


def test_polynomials_are_recovered_without_noise():
    report = fit_pressures(PRESSURES, angles_at(TRUTH, PRESSURES), LENGTHS)
    assert np.array(report.fit.coefficients) == pytest.approx(
        np.array(TRUTH.coefficients), abs=4e-15
    )
    assert report.fit.pressures == TRUTH.pressures
    assert report.rms.max() < 1e-15
    assert report.r_squared == pytest.approx(np.ones(4), abs=1e-15)


@settings(max_examples=25)
@given(scale=st.floats(1e3, 1e6))
def test_the_curves_do_not_depend_on_the_scale(scale):
    report = noisy(3)
    other = fit_pressures(PRESSURES, report.angles, LENGTHS, scale=scale).fit
    between = np.linspace(*report.fit.pressures, 101)
    assert angles_at(other, between) == pytest.approx(angles_at(report.fit, between), abs=1e-10)


def test_the_order_of_the_samples_does_not_matter():
    report = noisy(4)
    order = np.random.default_rng(0).permutation(len(PRESSURES))
    mixed = fit_pressures(PRESSURES[order], report.angles[order], LENGTHS).fit
    assert np.array(mixed.coefficients) == pytest.approx(
        np.array(report.fit.coefficients), abs=1e-14
    )


def test_scaling_makes_the_problem_well_conditioned():
    report = noisy(0)
    assert report.condition == pytest.approx(7.977, abs=1e-3)
    assert report.condition_kpa == pytest.approx(8.763e5, rel=1e-3)


def test_the_curves_are_nearer_to_the_truth_than_the_measurements():
    """A cubic through m samples has the rms error σ √(4/m): 0.305 σ for 43.

    One curve of four in seven draws lies beyond 0.4 σ all the same: 43 error²/σ² is χ² of 4.
    """
    errors = np.array([curve_errors(noisy(seed).fit, PRESSURES, angles_at(TRUTH, PRESSURES))
                       for seed in range(250)]) / SIGMA  # fmt: skip
    overall = np.sqrt(np.mean(errors**2))
    assert overall == pytest.approx(np.sqrt(4 / 43), rel=0.04)
    assert overall < 0.4
    assert np.mean(errors > 0.4) == pytest.approx(0.142, abs=0.03)  # χ²₄ > 43 · 0.16


def test_a_finger_that_is_not_cubic_is_not_accepted():
    wavy = angles_at(TRUTH, PRESSURES) + np.radians(1.0) * np.sin(PRESSURES / 8e3)[:, None]
    report = fit_pressures(PRESSURES, wavy, LENGTHS, sigma=SIGMA)
    assert report.accepted is False
    assert report.curve_errors is not None
    truth = curve_errors(report.fit, PRESSURES, wavy)
    assert report.curve_errors == pytest.approx(truth, rel=0.1)


def test_too_few_samples_are_not_accepted():
    few = PRESSURES[::4]
    report = fit_pressures(few, angles_at(TRUTH, few), LENGTHS, sigma=SIGMA)
    assert report.curve_errors == pytest.approx(SIGMA * np.sqrt(4 / 11) * np.ones(4))
    assert report.accepted is False


def test_without_sigma_there_is_no_verdict_but_an_estimate():
    report = fit_pressures(PRESSURES, noisy(5).angles, LENGTHS)
    assert report.accepted is None
    assert report.curve_errors is None
    assert report.scatter == pytest.approx(SIGMA * np.ones(4), rel=0.35)
    assert report.largest == pytest.approx(np.abs(report.residuals).max(axis=0))
    assert np.array(report.fit.residuals) == pytest.approx(report.rms, abs=1e-15)


def test_a_piece_that_does_not_move_is_explained():
    angles = angles_at(TRUTH, PRESSURES)
    angles[:, 2] = 0.1
    assert fit_pressures(PRESSURES, angles, LENGTHS).r_squared[2] == 1.0


def test_angles_have_the_shape_of_pressures():
    assert angles_at(TRUTH, [[0.0, 1e5]]).shape == (1, 2, 4)


@pytest.mark.parametrize("pressure", [-90.1e3, 120.1e3, np.nan, np.inf])
def test_pressures_outside_the_range_are_refused(pressure):
    message = (
        f"pressure: expected measured pressures from -90 to 120 kPa, found {1e-3 * pressure:g} kPa"
    )
    with pytest.raises(DescriptionError, match=re.escape(message)):
        angles_at(TRUTH, [0.0, pressure])
    assert angles_at(TRUTH, 120e3 + 1e-7).shape == (4,)  # rounding is let through


def test_reversals_are_detected_at_the_extrema_of_a_cubic():
    # x³/3 − x/4 rises, falls from −1/2 to 1/2 by 1/6, rises
    fit = one_piece(0.0, -0.25, 0.0, 1.0 / 3.0)
    (own,) = reversals(fit)
    assert own == pytest.approx(Reversal(0, -5e4, 5e4, 1.0 / 6.0))
    assert reversal_clause(fit, own) == "piece 1 bends back by 9.55° from -50 to 50 kPa"
    two = PressureFit(lengths=(1.0, 1.0), coefficients=(*fit.coefficients, (0.0, 0.2, 0.0, 0.0)),
                      pressures=fit.pressures)  # fmt: skip
    own, together = reversals(two)  # the second piece shortens the fall of the sum
    assert together.piece == 2
    assert together.amount == pytest.approx(0.05**1.5 * 4.0 / 3.0)
    assert reversal_clause(two, together).startswith("all together bend back by 0.854° from")
    assert reversals(TRUTH) == ()
    assert reversals(one_piece(0.0, -1.0, 0.0, 0.0)) == ()  # falling all the way is monotonic


@pytest.mark.parametrize("cubic", [0.0, 1e-17, -1e-17, 1e-12, -1e-6])
def test_a_tiny_cubic_term_hides_no_extremum(cubic):
    (own,) = reversals(one_piece(0.0, 1.0, 4.0, cubic))
    assert own == pytest.approx(Reversal(0, -1e5, -12.5e3, 3.0625), rel=1e-5)
    both = pressures_for(one_piece(0.0, 1.0, 4.0, cubic), 1.0)
    assert both == pytest.approx((-(1 + 17**0.5) / 8 * 1e5, (17**0.5 - 1) / 8 * 1e5), rel=1e-5)


@settings(max_examples=60)
@given(coefficients=st.tuples(*[st.floats(-1.0, 1.0)] * 4))
def test_reversals_agree_with_a_fine_grid(coefficients):
    fit = one_piece(*coefficients)
    heights = angles_at(fit, np.linspace(-1e5, 1e5, 4001))[:, 0]
    forwards = 1.0 if heights[-1] >= heights[0] else -1.0
    back = -np.minimum(forwards * np.diff(heights), 0.0).sum()
    result = sum(reversal.amount for reversal in reversals(fit))
    assert result == pytest.approx(back, abs=1e-5)


def test_curves_that_bend_back_can_be_refused():
    fit = one_piece(0.0, -0.25, 0.0, 1.0 / 3.0)
    x = np.linspace(-1e5, 1e5, 21)
    with pytest.raises(DescriptionError) as refused:
        fit_pressures(x, angles_at(fit, x), (0.01,), monotonic=True)
    assert str(refused.value) == (
        "expected curves that are monotonic, found: piece 1 bends back by 9.55° from -50 to 50 kPa"
    )


@settings(max_examples=60)
@given(pressure=st.floats(-90e3, 120e3), piece=st.sampled_from([None, 0, 1, 2, 3]))
def test_the_inverse_recovers_the_pressure(pressure, piece):
    angles = angles_at(TRUTH, pressure)
    bend = float(angles.sum() if piece is None else angles[piece])
    assert pressure_for(TRUTH, bend, piece=piece) == pytest.approx(pressure, abs=1e-5)


def test_the_ends_of_the_range_are_reached():
    low, high = bend_range(TRUTH)
    assert pressure_for(TRUTH, low) == pytest.approx(-90e3)
    assert pressure_for(TRUTH, high) == pytest.approx(120e3)


def test_an_unreachable_bend_is_refused_with_the_range():
    low, high = np.degrees(bend_range(TRUTH, 1))
    message = (
        f"bend: expected a bend of piece 2 from {low:.4g}° to {high:.4g}°, which pressures "
        "from -90 to 120 kPa give, found 57.3°"
    )
    with pytest.raises(DescriptionError, match=re.escape(message)):
        pressure_for(TRUTH, 1.0, piece=1)
    with pytest.raises(DescriptionError, match="expected a piece from 0 to 3, found 4"):
        pressure_for(TRUTH, 0.1, piece=4)


def test_several_pressures_of_one_bend_are_reported(golden):
    fit = one_piece(0.0, -0.25, 0.0, 1.0 / 3.0)
    edge = 1e5 * np.sqrt(0.75)
    assert pressures_for(fit, 0.0) == pytest.approx((-edge, 0.0, edge), abs=1e-6)
    golden.refused(lambda: pressure_for(fit, 0.0), "bend: expected a bend of all pieces toge")
    assert pressure_for(fit, 0.0, near=7e4) == pytest.approx(edge)
    # at the turning point two become one
    assert pressures_for(one_piece(0.0, 0.0, 1.0, 0.0), 0.0) == pytest.approx((0.0,), abs=1e-6)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"angles": np.zeros((43, 3))}, "angles: expected angles of shape (pressu"),
        ({"angles": np.full((43, 4), np.nan)}, "angles: expected finite numbers, found o"),
        ({"pressures": np.repeat([0.0, 1e4, 2e4], [20, 20, 3])}, "pressures"),
        ({"sigma": 0.0}, "sigma: expected a number above 0, found "),
        ({"scale": -1.0}, "scale: expected a number above 0, found "),
        ({"lengths": (0.01, 0.01, -0.01, 0.01)}, "lengths[2]"),
    ],
)  # fmt: skip
def test_invalid_data_are_refused(change, sentence, golden):
    given = {"pressures": PRESSURES, "angles": np.zeros((43, 4)), "lengths": LENGTHS} | change
    golden.refused(lambda: fit_pressures(**given), sentence)


def test_an_inconsistent_description_is_refused():
    with pytest.raises(DescriptionError, match="expected one for each of the 4 lengths, found 1"):
        TRUTH.replace(coefficients=((0.0, 0.0, 0.0, 0.0),))
    with pytest.raises(DescriptionError, match="expected the lowest before the highest"):
        TRUTH.replace(pressures=(1e5, -1e5))
