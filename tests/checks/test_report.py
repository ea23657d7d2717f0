"""Findings read as sentences, and an inspection counts them."""

from __future__ import annotations

import json

import pytest

import softgrasp as sg
from softgrasp.checks.report import Check, Finding, Inspection
from softgrasp.errors import DescriptionError


def finding(severity: str) -> Finding:
    return Finding(
        subject="link 'a'",
        severity=severity,
        check="mass",
        expected="1 kg",
        actual="2 kg",
        numbers={"mass_kg": 2.0},
        advice="eat less",
    )


@pytest.mark.parametrize(
    ("result", "verdict", "sentence"),
    [
        ((), "ok", "2 checks: no problems found"),
        (("remark",), "remark", "2 checks: no problems found, 1 remark"),
        (("problem",), "problem", "2 checks: 1 problem found"),
        (("remark", "problem", "problem"), "problem", "2 checks: 2 problems found, 1 remark"),
    ],
)
def test_the_verdict_is_counted(result: tuple[str, ...], verdict: str, sentence: str) -> None:
    check = Check("mass", "2 kg", tuple(map(finding, result)))
    whole = Inspection("robot", "r", (Check("size", "1 m"), check))
    assert check.verdict == verdict
    assert whole.verdict == sentence
    assert len(whole.problems) + len(whole.remarks) == len(whole.findings) == len(result)


def test_a_finding_is_a_sentence_and_plain_data() -> None:
    item = finding("problem")
    assert item.sentence == "link 'a': expected 1 kg, found 2 kg; eat less"
    plain = Inspection("robot", "r", (Check("mass", "2 kg", (item,)),)).as_dict()
    assert json.loads(json.dumps(plain)) == plain
    assert plain["findings"][0]["numbers"] == {"mass_kg": 2.0}


def test_what_cannot_be_inspected_is_refused() -> None:
    with pytest.raises(DescriptionError) as refused:
        sg.inspect(sg.Pose())
    assert str(refused.value) == ("expected a Hand, a GraspObject, a Robot or a Mesh, found Pose")
    with pytest.raises(DescriptionError) as refused:
        sg.inspect(sg.load_hand("four_finger"), inertia=(1.0, 1.0, 1.0))
    assert str(refused.value) == "inertia: expected an object beside it, found something else"
    with pytest.raises(DescriptionError) as refused:
        sg.inspect(sg.load_object("sphere"), inertia=(1.0, 1.0))
    assert str(refused.value) == "inertia: expected 3 or 6 numbers, found 2"
