"""Verdicts on made-up numbers."""

from __future__ import annotations

import math
from typing import Any

import pytest

from softgrasp.comparison.criteria import Finding, Tolerances, farthest, percents
from softgrasp.errors import DescriptionError


def finding(**changes: Any) -> Finding:
    base: dict[str, Any] = {
        "name": "normal_force",
        "quantity": "Normal force of F1_P3 at rest",
        "unit": "N",
        "values": {"mujoco": 8.0, "ode": 8.4},
        "difference": 5.0,
        "difference_unit": "%",
        "tolerance": 2.0,
        "worst": "ode",
    }
    return Finding(**(base | changes))


def test_a_difference_beyond_its_tolerance_fails_with_the_whole_sentence() -> None:
    beyond = finding(note="2 s after closing")
    assert not beyond.passed
    assert beyond.sentence == (
        "Normal force of F1_P3 at rest: 5 % apart in ode, beyond the tolerance of 2 %; 2 s after "
        "closing"
    )


def test_a_difference_within_its_tolerance_passes() -> None:
    within = finding(difference=2.0)
    assert within.passed
    assert within.sentence == (
        "Normal force of F1_P3 at rest: 2 % apart in ode, within the tolerance of 2 %"
    )


def test_no_difference_is_equal() -> None:
    same = finding(difference=0.0, tolerance=0.0)
    assert same.passed
    assert same.sentence == "Normal force of F1_P3 at rest: equal"


def test_what_is_only_told_passes_whatever_it_is() -> None:
    message = finding(tolerance=None, difference=90.0)
    assert message.passed
    assert message.sentence == "Normal force of F1_P3 at rest: 90 % apart in ode"


def test_what_could_not_be_compared_does_not_pass() -> None:
    unknown = finding(difference=math.nan)
    assert not unknown.passed
    assert unknown.sentence == "Normal force of F1_P3 at rest: could not be compared in ode"


def test_the_farthest_engine_is_named_and_a_number_that_is_none_is_farthest() -> None:
    assert farthest({"ode": 1.0, "webots": 3.0}) == ("webots", 3.0)
    worst, most = farthest({"ode": math.nan, "webots": 3.0})
    assert worst == "ode"
    assert math.isnan(most)


def test_one_is_told_in_the_singular() -> None:
    from softgrasp.report.comparison import with_unit

    late = finding(difference=2.0, difference_unit="samples", tolerance=1.0)
    assert late.sentence == (
        "Normal force of F1_P3 at rest: 2 samples apart in ode, beyond the tolerance of 1 sample"
    )
    assert with_unit(1.0, late) == "1 sample"
    assert with_unit(1.5, late) == "1.5 samples"
    assert with_unit(1.0, finding()) == "1 %"
    assert with_unit(1.0, finding(difference_unit="")) == "1"


def test_percents_are_of_the_first_backend() -> None:
    assert percents({"mujoco": 8.0, "ode": 8.4, "webots": 7.6}) == pytest.approx(
        {"ode": 5.0, "webots": 5.0}
    )
    assert math.isnan(percents({"mujoco": 0.0, "ode": 1.0})["ode"])


def test_tolerances_are_those_of_the_documentation() -> None:
    from softgrasp import assets as library

    text = (library.root() / "docs" / "crosscheck.md").read_text("utf-8")
    for name in Tolerances.model_fields:
        assert f"`{name}`" in text, name


def test_a_tolerance_below_zero_is_refused() -> None:
    with pytest.raises(DescriptionError) as refused:
        Tolerances(static_deg=-1.0)
    assert str(refused.value) == "static_deg: expected a number at least 0, found -1.0"
