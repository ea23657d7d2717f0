"""The verdict on a fit: good measurements are credible, wrong ones are refuted by name."""

from __future__ import annotations

import re

import numpy as np
import pytest
from scipy import stats

import softgrasp as sg
from softgrasp.calibration.credibility import Credibility
from softgrasp.calibration.hypotheses import HungFinger
from softgrasp.calibration.measurement_checks import (
    Finding,
    measurement_findings,
    rounding_step,
    without_copies,
)
from softgrasp.calibration.objectives import finger_values
from softgrasp.calibration.refits import MisfitTest
from softgrasp.calibration.stages import VirtualExperiments
from softgrasp.description.calibration import CalibrationProblem, MeasurementErrors, Release
from softgrasp.errors import DescriptionError
from tests.calibration.wrong_inputs import MISTAKES, good, true_finger, wrong

QUICK = ("mirrored photographs", "picture copied", "base tilted down 8°", "settling in ms")
"""Mistakes of the quick tests; others are in test_refits, and the slow ones try all."""
INVISIBLE = {"hook of 8 g"}
"""Mistakes that are as large as the noise."""


def verdict(problem: CalibrationProblem, stages: list[str] | None = None) -> Credibility:
    credibility = sg.calibrate(problem, stages=stages).credibility
    assert credibility is not None
    return credibility


def reasons(name: str, stages: list[str] | None = None) -> str:
    """Return all sentences that a mistake causes, or the error that refuses it."""
    try:
        return " | ".join(finding.sentence for finding in verdict(wrong(name), stages).findings)
    except DescriptionError as error:
        return str(error)


def stages_of(name: str) -> list[str] | None:
    """Return the stages that a mistake concerns."""
    if any(word in name for word in ("force", "tare", "pressure")):
        return ["torques"]
    if "tracks" in name:
        return ["springs", "dampers"]
    if "bend" in name:
        return ["springs", "torques"]
    late = ("releases", "settling", "slow motion", "frames", "overshoots", "finger")
    return None if any(word in name for word in late) else ["springs"]


@pytest.mark.slow
@pytest.mark.parametrize("name", QUICK)
def test_mistakes_are_named(name: str) -> None:
    assert MISTAKES[name][2] in reasons(name, stages_of(name))


@pytest.mark.slow
def test_nine_of_ten_visible_mistakes_are_named() -> None:
    visible = [name for name in MISTAKES if name not in INVISIBLE]
    missed = [name for name in visible if MISTAKES[name][2] not in reasons(name, stages_of(name))]
    assert len(visible) >= 40
    assert len(missed) <= 0.1 * len(visible), missed


@pytest.mark.slow
def test_good_measurements_are_credible() -> None:
    for seed in range(3):
        assert verdict(good(seed), ["springs", "torques"]).findings == ()


@pytest.mark.slow
def test_no_false_alarm_on_good_draws() -> None:
    """All stages; none of 100 draws raised one when it was measured."""
    assert [seed for seed in range(20) if verdict(good(seed)).findings] == []


@pytest.mark.slow
def test_shipped_problems_are_credible() -> None:
    """The real finger's releases are faster than its springs, which docs/calibration.md says."""
    real = sg.calibrate(sg.calibration.load_problem("paper000").problem).credibility
    assert real.credible
    assert [finding.stage for finding in real.findings] == ["dampers"]
    assert "times as fast as springs and masses" in real.findings[0].sentence
    webots = verdict(sg.calibration.load_problem("paper000_webots").problem, ["springs"])
    assert webots.findings == ()


@pytest.mark.slow
def test_chi_square_of_declared_errors_is_uniform() -> None:
    """With the true error declared and no model error, p-values are uniform."""
    values = []
    for seed in range(16):
        problem = good(seed).replace(
            errors=MeasurementErrors(angle=float(np.radians(0.4))), model_error=0.0
        )
        (test,) = verdict(problem, ["springs"]).tests
        assert test.source == "declared"
        values.append(test.p_value)
    assert stats.kstest(values, "uniform").pvalue > 0.01


@pytest.mark.slow
def test_declared_error_that_is_too_small_refutes() -> None:
    problem = good(0).replace(errors=MeasurementErrors(angle=1e-4), model_error=0.0)
    found = verdict(problem, ["springs"])
    assert not found.credible
    assert "larger than the declared error of 0.00573 ° permits" in found.sentence


def test_repeats_give_the_error() -> None:
    tests = verdict(good(3), ["torques"]).tests
    assert tests[0].source == "repeats"
    assert tests[0].error == pytest.approx(0.01, rel=0.5)


def test_a_repeat_with_a_lost_digit_is_named() -> None:
    """It would hide in the error estimated from the repeats."""
    problem = good(3)
    forces = [*problem.forces]
    forces[7] = forces[7].replace(force=0.1 * forces[7].force)
    found = verdict(problem.replace(forces=tuple(forces)), ["torques"]).findings
    assert any("the repeated forces at 60 kPa" in item.sentence for item in found)


@pytest.mark.slow
def test_friction_between_repeats_is_named() -> None:
    problem = good(3)
    forces = tuple(force.replace(force=(1.0 + 0.2 * (index % 3)) * force.force)
                   for index, force in enumerate(problem.forces))  # fmt: skip
    found = verdict(problem.replace(forces=forces), ["torques"])
    assert not found.credible
    sentences = [finding.sentence for finding in found.findings]
    assert any("spread of repeated forces over the forces is" in text for text in sentences)
    assert any("the forces of series 1 are 0.77 times" in text for text in sentences)


def test_hung_finger_without_errors_equals_the_virtual_experiments() -> None:
    problem = good(0)
    rig = HungFinger.of(problem)
    k = finger_values(true_finger(), "stiffness")[None]
    expected = np.concatenate(VirtualExperiments(problem).hung(k, problem.hung), axis=-1)
    np.testing.assert_allclose(rig.simulate(k), expected, atol=1e-12)


@pytest.mark.parametrize(("name", "words"), [
    ("force scale of large steps", "torques: all forces are multiples of 0.2 N"),
    ("protractor", "springs: all angles are multiples of 2°"),
    ("additions named", "springs: the angles grow by"),
    ("angles subtracted", "springs: all angles without a weight are 0"),
    ("finger hangs down", "springs: the angles do not depend on the weight"),
    ("settling of releases reversed", "are the releases exchanged"),
    ("column of zeros", "springs: all angles of joint 6 are 0"),
    ("column copied", "springs: the columns of joints 1 and 2 are equal"),
    ("joint 3 held", "springs: joint 3 bends far less under weights than the joints beside it"),
    ("finger on the table", "springs: the angles no longer grow from 40 g on"),
    ("one settling time of releases", "dampers: the release of 40 g has"),
    ("no overshoots of releases", "dampers: no overshoots are counted in 3 releases"),
    ("tip lost in tracks", "dampers: the track of 20 g is constant from 0.1 s on"),
    ("frames of tracks twice", "dampers: in the track of 20 g samples are copies"),
])  # fmt: skip
def test_measurements_are_checked_without_a_fit(name: str, words: str) -> None:
    assert any(words in finding.sentence for finding in measurement_findings(wrong(name)))
    assert measurement_findings(good(0)) == []


def release(heights: np.ndarray) -> Credibility:
    """Verdict on dampers fitted to a track of the tip after the release of 40 g."""
    time = np.arange(len(heights)) / 480.0
    item = Release(mass=0.04, times=tuple(time.tolist()), heights=tuple(heights.tolist()))
    problem = good(0).replace(releases=(item,), release_objective="trace")
    return verdict(problem, ["springs", "dampers"])


@pytest.mark.slow
def test_a_track_that_falls_or_begins_late_is_named() -> None:
    experiments = VirtualExperiments(good(0))
    k = finger_values(true_finger(), "stiffness")[None]
    requested = Release(
        mass=0.04, times=tuple((np.arange(340) / 480.0).tolist()), heights=(0.0,) * 340
    )
    (track,) = experiments.traces(k, np.full_like(k, 5e-4), [requested])
    named = [
        " | ".join(finding.sentence for finding in release(heights).findings)
        for heights in (track[0], -track[0], track[0][45:])
    ]
    assert "the tip " not in named[0]
    assert "the tip falls by" in named[1]
    assert "are heights measured downwards" in named[1]
    assert "does the video begin at the release" in named[2]


def test_copies_count_once() -> None:
    problem, found = without_copies(wrong("row copied"))
    assert len(problem.hung) == 4
    assert found[0] == (
        "springs",
        "2 rows are copies of other rows, to the last digit (20 g); each measurement counts once",
    )
    clean, none = without_copies(good(0))
    assert clean == good(0)
    assert none == ()


def test_release_of_minutes_is_refused() -> None:
    with pytest.raises(
        DescriptionError, match=r"expected at most 60 s, found 365 s; is it in ms or"
    ):
        Release(mass=0.02, overshoots=7, settling_time=365.0)


@pytest.mark.slow
def test_page_shows_the_verdict(tmp_path) -> None:
    result = sg.calibrate(wrong("mirrored photographs"), stages=["springs"])
    sg.calibration.write_calibration_report(result, tmp_path)
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert re.search(r'<li class="bad"><strong>The fit is not credible', page)
    assert "a mirrored photograph: flip" in page


def test_sentence_counts_reasons() -> None:
    refuted = Credibility((), (), (Finding("springs", "a", True), Finding("", "b", True)))
    assert refuted.sentence == "the fit is not credible: a (and 1 more)"
    reserved = Credibility((), (), (Finding("", "b", False),))
    assert reserved.sentence == "the fit is credible, with 1 reservation"
    numbers = {"unit": "rad", "error": 0.1, "residual": 0.1, "chi_square": 9.0}
    for source, count in (("assumed", 1), ("declared", 0)):
        test = MisfitTest("springs", source=source, freedom=9, p_value=0.4, **numbers)
        assert Credibility((test,), (), ()).sentence.count("errors of measurement are") == count


def test_a_rounding_step_is_that_of_the_values() -> None:
    rng = np.random.default_rng(0)
    for step in (0.25, 5.0, 0.1, 2.0):
        assert rounding_step(step * rng.integers(-12, 12, 30)) == pytest.approx(step)
    assert rounding_step(np.round(rng.uniform(0.0, 10.0, 30), 2)) is None
    assert rounding_step(rng.standard_normal(30)) is None
    assert rounding_step(np.array([1.0, 2.0, 3.0])) is None
