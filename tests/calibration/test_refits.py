"""Tests of a fit by fitting it again, and the one serialiser of what they find."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import softgrasp as sg
from softgrasp.calibration.credibility import Credibility
from softgrasp.calibration.measurement_checks import Finding, PlausibleQuantity
from softgrasp.calibration.posterior import Advice
from softgrasp.calibration.refits import Alternative, MisfitTest, Nuisance, single_values
from softgrasp.calibration.result import document, load_calibration, save_calibration
from softgrasp.cli.calibrate import _photo_options
from softgrasp.io.files import json_text, plain_data
from softgrasp.report.calibration import draw_angles
from tests.calibration.problems import FINGER
from tests.calibration.wrong_inputs import wrong

TABLE = np.radians(
    [
        [1.4, 1.0, 0.5, 0.1, 0.6, 0.1],
        [4.8, 4.4, 1.9, 1.0, 3.3, 0.5],
        [11.1, 9.9, 4.6, 2.1, 7.8, 1.1],
        [10.6, 9.2, 4.4, 1.9, 7.2, 1.0],
        [12.7, 11.3, 5.0, 2.4, 8.3, 1.2],
        [14.7, 12.6, 5.8, 2.6, 9.2, 1.3],
    ]
)
"""Angles under 0, 20, … 100 g; the row of 40 g is 1.4 times too large."""


def table() -> sg.description.CalibrationProblem:
    rows = [
        {"mass": 0.02 * row, "angles": tuple(angles)} for row, angles in enumerate(TABLE.tolist())
    ]
    kind = sg.description.HungAngles
    return sg.description.CalibrationProblem(finger=FINGER, hung=tuple(kind(**x) for x in rows))


TEST = MisfitTest(
    "springs", "rad", np.float64(0.01), "assumed", np.float32(math.nan), math.inf, np.int64(3),
    np.float64(0.0),
)  # fmt: skip
KINDS: dict[str, Any] = {
    "tests": TEST,
    "quantities": PlausibleQuantity("name", np.float64(math.inf), 0.0, np.float32(1.0), "N", "x"),
    "findings": Finding("springs", "springs: x", np.bool_(True), np.float64(0.5), (np.int64(2),)),
    "alternatives": Alternative("springs", "x", np.float64(math.nan)),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_finding_passes_the_serialiser(kind: str) -> None:
    """Numbers of numpy become plain data, NaN and infinity null."""
    parts: dict[str, Any] = dict.fromkeys(KINDS, ()) | {kind: (KINDS[kind],)}
    (read,) = json.loads(json.dumps(Credibility(**parts).document(), allow_nan=False))[kind]
    for name, value in vars(KINDS[kind]).items():
        if isinstance(value, float | np.floating) and not math.isfinite(value):
            assert read[name] is None
        else:
            assert read[name] == (list(value) if isinstance(value, tuple) else value)


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (np.bool_(False), False),
        (np.array([1.0, np.nan]), [1.0, None]),
        ({"a": (np.int64(1), -math.inf)}, {"a": [1, None]}),
        (Advice("x", np.float64(1.0), "k1", math.inf, 0.5),
         {"measurement": "x", "information": 1.0, "parameter": "k1", "now": None, "then": 0.5}),
        (sg.description.HungAngles(mass=0.1, angles=(0.5,)),
         {"mass": 0.1, "angles": [0.5], "held_out": False, "time": None}),
    ],
)  # fmt: skip
def test_documents_are_plain_data(value: Any, plain: Any) -> None:
    assert plain_data(value) == plain
    assert json.loads(json_text(value)) == plain


@pytest.fixture(scope="module")
def one_wrong_row() -> sg.calibration.CalibrationResult:
    return sg.calibrate(table())


@pytest.mark.slow
def test_a_wrong_row_is_named_saved_and_read_again(
    one_wrong_row: sg.calibration.CalibrationResult, tmp_path: Path
) -> None:
    """Its verdict once was a boolean of numpy, which JSON refuses."""
    save_calibration(one_wrong_row, tmp_path)
    again = load_calibration(tmp_path)
    assert again.credibility == one_wrong_row.credibility
    assert again.status.name == "NOT_CREDIBLE"
    assert "the fit is not credible" in (tmp_path / "finger.yaml").read_text(encoding="utf-8")
    assert document(again)["credibility"] == document(one_wrong_row)["credibility"]


@pytest.mark.slow
def test_a_wrong_row_is_no_error_of_the_others(
    one_wrong_row: sg.calibration.CalibrationResult, tmp_path: Path
) -> None:
    (only,) = one_wrong_row.credibility.findings
    assert only.sentence.startswith("springs: row 3, of 40 g: its angles are 1.4 times those")
    assert only.refutes
    assert only.values == tuple(range(12, 18))
    (test,) = one_wrong_row.credibility.tests
    assert test.residual > math.radians(0.7)  # of all rows, as the result reports it
    draw_angles(one_wrong_row, tmp_path / "angles.png")
    names = (tmp_path / "angles.csv").read_text("utf-8").splitlines()[0]
    assert "q1 named wrong measured [°]" in names


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "kept", "gone"),
    [
        ("decimal point lost", "q1 at 40 g is", "first column"),
        ("scale without tare", "without tare", "pressure after"),
        ("force outlier", "the force at 80 kPa", "are exchanged"),
    ],
)  # fmt: skip
def test_readings_that_fit_worse_are_not_reported(name: str, kept: str, gone: str) -> None:
    stages = ["springs"] if name.startswith("decimal") else ["torques"]
    verdict = sg.calibrate(wrong(name), stages=stages).credibility
    sentences = " | ".join(finding.sentence for finding in verdict.findings)
    assert kept in sentences
    assert gone not in sentences


@pytest.mark.slow
def test_two_wrong_rows_keep_their_numbers_of_the_table() -> None:
    problem = table()
    hung = list(problem.hung)
    hung[2] = hung[2].replace(angles=tuple((TABLE[2] / 1.37).tolist()))
    for row in (1, 4):
        hung[row] = hung[row].replace(angles=tuple(-angle for angle in hung[row].angles))
    verdict = sg.calibrate(problem.replace(hung=tuple(hung))).credibility
    starts = {finding.sentence[:21] for finding in verdict.findings if finding.values}
    assert starts == {"springs: row 2, of 20", "springs: row 5, of 80"}
    covered = {number for finding in verdict.findings for number in finding.values}
    assert covered == {*range(6, 12), *range(24, 30)}


@pytest.mark.slow
def test_an_interval_of_many_decades_is_none_with_what_determines_it() -> None:
    hung = tuple(item.replace(angles=item.angles[:3]) for item in table().hung[:2])
    result = sg.calibrate(table().replace(hung=hung), "least-squares")
    for low, high in result.intervals.values():
        assert not math.isfinite(high) or high / max(low, 1e-300) <= 1e6
    texts = [text for text in result.warnings if "not determined by these measurements" in text]
    assert len(texts) == 1
    assert "photographs that show these joints, under heavier weights," in texts[0]
    assert "k7" in texts[0]


@pytest.mark.slow
def test_the_value_of_a_parameter_is_reported_once() -> None:
    """Findings name parameters; their values are those of the result."""
    verdict = sg.calibrate(wrong("joint 3 held"), stages=["springs"]).credibility
    assert any("k3" in finding.sentence for finding in verdict.findings)
    assert not any("k3 =" in finding.sentence for finding in verdict.findings)


def test_an_error_of_each_value() -> None:
    effects = [value.effect for value in single_values(["a", "b"], 0.1)]
    assert np.array(effects) == pytest.approx(np.eye(2))
    assert all(value.single for value in single_values(["a", "b"], 0.1))
    assert not Nuisance("a {}", np.ones(2), "", 0.1).single


def test_photographs_without_the_tip_are_an_option(tmp_path: Path) -> None:
    assert _photo_options(tmp_path, None, None, {}, tip=False)["tip"] is False
    assert "tip" not in _photo_options(tmp_path, None, None, {}, tip=None)
