"""Creep of angles over the time under load, as a nuisance of the joint estimate."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

import softgrasp as sg
from softgrasp.calibration.files import problem_from
from softgrasp.description.calibration import CalibrationProblem
from tests.calibration.draws import TRUE
from tests.calibration.wrong_inputs import good

TIMES = (2.0, 2000.0)


def crept(growth: float, seed: int = 0) -> CalibrationProblem:
    """Every weight twice, early and late; 60 s is the time of the true stiffness."""
    rows = [
        item.replace(
            time=time,
            angles=tuple((1.0 + growth * math.log10(time / 60.0)) * q for q in item.angles),
        )
        for number, time in enumerate(TIMES)
        for item in good(100 * number + seed).hung
    ]
    return good(seed).replace(hung=tuple(rows), releases=())


@pytest.mark.slow
def test_creep_is_recovered_and_the_stiffness_is_that_at_its_time() -> None:
    result = sg.calibrate(crept(0.06))
    growth, deviation = result.posterior.creep
    assert growth == pytest.approx(0.06, abs=3.0 * deviation)
    assert deviation < 0.01
    assert any("decade" in text for text in result.warnings)
    for index in (0, 1, 4):
        low, high = result.intervals[f"k{index + 1}"]
        assert low < TRUE[index] < high
    assert result.credibility.findings == ()
    later = sg.calibrate(crept(0.06).replace(creep_time=600.0))
    ratio = later.parameters["k1"] / result.parameters["k1"]
    assert ratio == pytest.approx(1.0 / (1.0 + growth), abs=0.02)


@pytest.mark.slow
def test_angles_without_creep_have_none() -> None:
    result = sg.calibrate(crept(0.0))
    growth, deviation = result.posterior.creep
    assert abs(growth) < 3.0 * deviation
    assert not any("decade" in text for text in result.warnings)


def test_tables_may_have_times(tmp_path: Path) -> None:
    path = tmp_path / "hung.csv"
    path.write_text("mass_g,time_s,q1_deg,q2_deg\n0,60,1,2\n20,120,3,4\n")
    tree = {"finger": "paper000", "hung": "hung.csv"}
    assert [item.time for item in problem_from(tree, tmp_path).problem.hung] == [60.0, 120.0]
    path.write_text("mass_g,q1_deg,q2_deg\n0,1,2\n")
    assert problem_from(tree, tmp_path).problem.hung[0].time is None
