"""The same angles and forces in mujoco.sysid (benchmarks/compare_sysid.py)."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from softgrasp.description.calibration import CalibrationProblem, MeasurementErrors
from tests.calibration.draws import truth
from tests.calibration.wrong_inputs import (
    ANGLE_NOISE,
    FORCE_NOISE,
    Bench,
    exact_forces,
    good,
    true_finger,
    with_angles,
    with_forces,
)

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def compare() -> Iterator[Any]:
    """The script as a module."""
    sysid = pytest.importorskip("mujoco.sysid")
    if not hasattr(sysid, "optimize"):
        pytest.skip("mujoco.sysid lacks its libraries: pip install 'mujoco[sysid]'")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(BENCHMARKS)
        yield importlib.import_module("compare_sysid")


def declared(problem: CalibrationProblem) -> CalibrationProblem:
    errors = MeasurementErrors(angle=ANGLE_NOISE, force=FORCE_NOISE)
    return problem.replace(errors=errors, releases=())


def test_mujoco_at_rest_agrees_with_the_closed_form(compare: Any) -> None:
    """Angles and forces of a simulated finger against those of the statics of calibrations."""
    bench = Bench(true_finger(), seed=1, repeats=1)
    problem = bench.problem()
    exact = with_forces(with_angles(problem, bench.angles()), exact_forces())
    residuals, parameters = compare.sysid_problem(exact)
    true = truth(exact)
    true[-1] /= compare.GAIN_SCALE
    left = np.concatenate([np.ravel(residual) for residual in residuals(true, parameters)[0]])
    assert left.size == 4 * 6 + 5
    # in standard errors of 0.4° and 10 mN
    assert np.abs(left).max() < 0.005
    true[0] *= 1.01
    changed = np.concatenate([np.ravel(residual) for residual in residuals(true, parameters)[0]])
    assert np.abs(changed).max() > 0.1


def test_both_find_the_same_stiffness(compare: Any) -> None:
    """Of angles alone, where both minimise the same sum of squares."""
    problem = declared(good(1)).replace(forces=())
    theirs = compare.sysid_estimate(problem)
    ours = compare.own_estimate(problem, "least-squares")
    np.testing.assert_allclose(theirs.values[:6], ours.values[:6], rtol=0.01)
    known = np.arange(3)  # the others are on a bound, or nearly undetermined
    np.testing.assert_allclose(theirs.half[known], ours.half[known], rtol=0.5)
