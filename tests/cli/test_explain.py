"""``softgrasp explain`` prints the values that the other verbs take for the same words."""

import json

import pytest

from tests.conftest import QUICK

WORDS = ("four_finger", "sphere", "--hold", "--density", "700", "--set", "contact.damping=310")


@pytest.mark.slow
def test_the_values_are_those_of_the_result_of_the_same_words(run, tmp_path):
    assert run("grasp", *WORDS, *QUICK, "--out", "out").code == 0
    assert {entry.name for entry in tmp_path.iterdir()} == {"out"}
    saved = json.loads((tmp_path / "out" / "result.json").read_text(encoding="utf-8"))["resolved"]
    explained = run("explain", *WORDS, "--json").json
    assert explained == saved
    assert run("explain", "out", "--json").json == saved
    by_field = {item["field"]: item for item in explained["values"]}
    assert by_field["contact of sphere.damping"]["source"] == "said"
    assert by_field["object.density"]["source"] == "said"
    assert by_field["contact of sphere.stiffness"]["source"] == "default"
    assert by_field["timestep"]["source"] == "computed"


def test_a_field_selects_rows(run, tmp_path):
    lines = run("explain", *WORDS, "--field", "closure").out.splitlines()
    assert lines[0].split() == ["field", "value", "source", "reason"]
    assert all("closure" in line for line in lines[1:])
    assert any(line.split()[:3] == ["closure.samples", "10", "default"] for line in lines)
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_options_beside_a_result_are_refused(run, tmp_path):
    assert run("grasp", *WORDS, *QUICK, "--out", "out").code == 0
    refused = run("explain", "out", "--hold")
    assert refused.code == 2
    assert "expected a result as it is" in refused.err
