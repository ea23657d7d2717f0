"""``softgrasp check``: checks, findings and verdict on the command line, and repairs."""

import json
from pathlib import Path

import pytest

import softgrasp as sg
from softgrasp.io.urdf import read_robot
from tests.checks.test_robot import BARRETT, VOLUME, bar, robot
from tests.conftest import files_in
from tests.support.outside import outside_file

WATER = 1000.0 * VOLUME


@pytest.fixture
def heavy(tmp_path: Path) -> Path:
    """A URDF with a link that weighs a thousand times too much."""
    from softgrasp.io.urdf import write_robot

    odd = robot(bar("a", WATER), bar("b", 1e3 * WATER), bar("c", WATER))
    return write_robot(odd, tmp_path / "heavy.urdf")


def test_checks_stand_in_a_table_before_the_verdict(run):
    ran = run("check", "sphere")
    assert ran.code == 0
    assert ran.out.splitlines()[-5:] == [
        "check    verdict  measured",
        "size     ok       60 x 60 x 60 mm",
        "mass     ok       0.07917 kg",
        "density  ok       700 kg/m³, 0.07917 kg in 113.1 cm³",
        "3 checks: no problems found",
    ]


@pytest.mark.slow
def test_findings_are_json_with_numbers(run, heavy):
    ran = run("check", heavy, "--json", "--out", "o")
    assert ran.code == 1
    assert json.loads(Path("o", "check.json").read_text("utf-8")) == ran.json
    (finding,) = ran.json["findings"]
    assert finding["check"] == "density"
    assert finding["severity"] == "problem"
    assert finding["numbers"]["factor"] == 1000.0
    assert ran.json["problems"] == [finding["sentence"]]
    assert ran.json["verdict"] == "5 checks: 1 problem found"
    assert {check["name"]: check["verdict"] for check in ran.json["checks"]} == {
        "mass": "ok", "density": "problem", "inertia": "ok", "limits": "ok", "mimic": "ok"
    }  # fmt: skip


def test_remarks_are_no_problems(run):
    ran = run("check", "mug")
    assert ran.code == 0
    assert "remark: object 'mug': expected the file's origin at the centre of mass" in ran.out
    assert ran.out.endswith("7 checks: no problems found, 1 remark\n")


@pytest.mark.slow
def test_fix_writes_a_robot_that_is_well(run, heavy, tmp_path):
    ran = run("check", heavy, "--fix", "--out", "fixed.urdf")
    assert ran.code == 0
    assert ran.err == "softgrasp: wrote fixed.urdf\n"
    assert (
        "repaired: link 'b': mass 60 → 0.06 kg: divided by 1000 (grams written as kilograms); "
        "1e+06 kg/m³ becomes 1000 kg/m³\n"
    ) in ran.out
    assert ran.out.splitlines()[-1] == (
        "before 5 checks: 1 problem found; 2 repairs, 60.12 kg → 0.18 kg; after 5 checks: no "
        "problems found"
    )
    again = run("check", "fixed.urdf", "--fix", "--out", "again.urdf")
    assert (again.code, again.err) == (0, "")
    assert again.out.splitlines()[-1] == (
        "5 checks: no problems found; nothing that --fix can repair was found (it repairs units of "
        "lengths, limits, masses and inertias, inertias that are missing or that no body has, and "
        "limits of followers that their leader leaves), and no file was written"
    )
    assert files_in(tmp_path) == ["fixed.urdf", "heavy.urdf"]
    assert sg.inspect(read_robot(tmp_path / "fixed.urdf")).findings == ()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("HEAVY", "--fix"), "--fix"),
        (("HEAVY", "--fix", "--out", "o"), "--out"),
        (("HEAVY", "--fix", "--out", "heavy.urdf"), "--out"),
        (("sphere", "--fix", "--out", "f.urdf"), "--fix"),
        (("three_segment_arm", "--fix", "--out", "f.urdf"), "--out"),
    ],
)
def test_what_fix_refuses(words, sentence, run, heavy, tmp_path, golden):
    ran = run("check", *(str(heavy) if word == "HEAVY" else word for word in words))
    assert ran.code == 2
    golden(ran.err, sentence)
    assert files_in(tmp_path) == ["heavy.urdf"]


@pytest.mark.slow
def test_the_barrett_is_fixed_on_the_command_line(run):
    ran = run("check", outside_file(BARRETT), "--json")
    assert ran.code == 1
    assert ran.json["problems"] == [
        "robot 'bhand_model': expected 0.001 … 1000 kg in all, found 264277 kg; masses are in "
        "kg; --fix corrects those of unusual density"
    ]
    assert len(ran.json["remarks"]) >= 8  # the import replaces its masses and inertias
    fixed = run("check", outside_file(BARRETT), "--fix", "--out", "fixed.urdf", "--json")
    assert fixed.code == 0
    assert fixed.json["mass_kg"] == pytest.approx(0.6422, abs=1e-4)
    assert len(fixed.json["repairs"]) == 16
    assert run("check", "fixed.urdf").code == 0
