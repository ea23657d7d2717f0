"""Compare the objectives of Hadi et al. (2025) with values computed by hand."""

from __future__ import annotations

import numpy as np
import pytest

from softgrasp.calibration import objectives


def test_equation_4_is_a_mean_square() -> None:
    assert objectives.mean_squared_error(
        np.array([0.1, 0.3]), np.array([0.0, 0.1])
    ) == pytest.approx(0.5 * (0.01 + 0.04))


def test_equation_5_weighs_time_by_counts() -> None:
    message = objectives.settling_error(
        np.array([[0.5, 0.4, 10.0, 8.0]]), np.array([0.45, 0.4, 12, 8])
    )
    assert message == pytest.approx([0.05 * 3.0 + 0.0])


def test_equation_7_and_its_variants() -> None:
    simulated, measured = np.array([[1.0, 2.0]]), np.array([1.5, 1.0])
    assert objectives.absolute_forces(simulated, measured) == pytest.approx([1.5])
    assert objectives.product_of_forces(simulated, measured) == pytest.approx([0.5])
    assert objectives.mean_squared_error(simulated, measured) == pytest.approx([0.625])


def test_a_failed_particle_has_no_fitness() -> None:
    assert np.isnan(objectives.mean_squared_error(np.array([[np.nan, 0.0]]), np.zeros(2))).all()
