"""Hands of other people from the command line: no side file, and every grasp holds."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Run
from tests.support.robots import written
from tests.support.urdf_hands import BOX, GRIPPER, REAL, real_hand


def closed(run: Run, hand: Path, obj: str, directory: Path) -> dict[str, Any]:
    words = ("--hold", "--no-video", "--no-report", "--json", "--out", directory)
    ran = run("grasp", hand, obj, *words)
    assert ran.code == 0, ran.err
    result: dict[str, Any] = json.loads((directory / "result.json").read_text(encoding="utf-8"))
    return result


@pytest.mark.slow
def test_a_urdf_is_all_it_takes(run, tmp_path):
    result = closed(run, written(tmp_path, GRIPPER, "hand.urdf"), "sphere", tmp_path / "out")
    assert (result["status"], result["held"]) == ("CLOSED", True)
    assert {contact["finger"] for contact in result["contacts"]} >= {"left", "right"}


@pytest.mark.slow
@pytest.mark.parametrize("obj", ["sphere", "strawberry", "mug"])
@pytest.mark.parametrize("name", REAL)
def test_real_hands_hold_what_they_close_on(name, obj, run, tmp_path):
    result = closed(run, real_hand(name), obj, tmp_path / "out")
    assert (result["status"], result["held"]) == ("CLOSED", True)
    normals = [contact["normal"] for contact in result["contacts"] if contact["normal"]]
    against = min(
        sum(a * b for a, b in zip(first, second, strict=True))
        for first in normals
        for second in normals
    )
    assert against < -0.2


@pytest.mark.slow
def test_check_prints_properties_and_problems(run, tmp_path):
    ran = run("check", written(tmp_path, GRIPPER, "hand.urdf"), "--json")
    assert ran.code == 0, ran.out
    result = ran.json
    assert result["kind"] == "robot"
    assert [finger["name"] for finger in result["fingers"]] == ["left", "right"]
    assert len(result["grasps"]["power"]["center_m"]) == 3
    assert len(result["grasps"]["power"]["rates"]) == 4


@pytest.mark.slow
def test_what_urdf_does_not_have_is_a_remark_about_a_hand(run, tmp_path):
    path = written(tmp_path, GRIPPER.replace(BOX, BOX + "<joint_properties/>", 1), "hand.urdf")
    ran = run("check", path, "--json")
    assert ran.code == 0
    assert f"{path}: left out: <joint_properties> (line 3)" in ran.json["remarks"]
