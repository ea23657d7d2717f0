"""Compare standard errors with linear regression; find undetermined directions."""

from __future__ import annotations

import numpy as np
import pytest

from softgrasp.calibration.assessment import uncertainty
from tests.conftest import Golden

NAMES = ("a", "b", "c")


def test_errors_are_those_of_linear_regression() -> None:
    rng = np.random.default_rng(0)
    slopes = rng.standard_normal((40, 3))
    residual = rng.standard_normal(40) * 0.1
    residual -= slopes @ np.linalg.lstsq(slopes, residual, rcond=None)[0]
    message = uncertainty(slopes, np.ones(3), residual, NAMES)
    noise = residual @ residual / 37
    covariance = noise * np.linalg.inv(slopes.T @ slopes)
    np.testing.assert_allclose(message.errors, np.sqrt(np.diag(covariance)), rtol=1e-10)
    scale = np.sqrt(np.diag(covariance))
    np.testing.assert_allclose(message.correlation, covariance / np.outer(scale, scale), atol=1e-10)
    assert message.noise == pytest.approx(np.sqrt(noise))


def test_parameters_that_act_only_together_are_reported() -> None:
    slopes = np.array([[1.0, 1.0, 0.0], [2.0, 2.0, 0.0], [3.0, 3.0, 0.0]])
    message = uncertainty(slopes, np.ones(3), np.array([1e-3, -2e-3, 1e-3]), NAMES)
    assert np.isinf(message.errors).all()
    (known,) = message.determined
    assert known.weights == pytest.approx((np.sqrt(0.5), np.sqrt(0.5), 0.0))
    assert known.sentence.startswith("0.71·da/a + 0.71·db/b: determined to ")
    sentences = [item.sentence for item in message.undetermined]
    assert "c: not determined at all, no measurement changes with it" in sentences


def test_fewer_measurements_than_parameters_leave_directions_free() -> None:
    message = uncertainty(np.array([[1.0, 0.0, 0.0]] * 2), np.ones(3), np.array([0.1, -0.1]), NAMES)
    assert [item.error for item in message.undetermined] == [np.inf, np.inf]
    assert np.isfinite(message.errors[0])


def test_an_exact_fit_does_not_estimate_its_noise(golden: Golden) -> None:
    message = uncertainty(np.eye(3), np.ones(3), np.zeros(3), NAMES)
    assert np.isnan(message.noise)
    assert np.isinf(message.errors).all()
    assert message.determined == ()
    golden(message.undetermined[0].sentence, "a: fitted exactly")
