"""Hands of other people from the command line: no side file, and every grasp holds."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.robots import written
from tests.support.urdf_hands import BODY, BOX, GRIPPER, REAL, real_hand


def softgrasp(*words: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "softgrasp", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def closed(hand: Path, obj: str, directory: Path, *words: str) -> dict[str, Any]:
    run = softgrasp(
        *("grasp", hand, obj, "--hold", "--no-video", "--no-report", "--json"),
        *("--out", directory, *words),
    )
    assert run.returncode == 0, run.stderr
    result: dict[str, Any] = json.loads((directory / "result.json").read_text(encoding="utf-8"))
    return result


def test_a_urdf_is_all_it_takes(tmp_path: Path) -> None:
    result = closed(written(tmp_path, GRIPPER, "hand.urdf"), "sphere", tmp_path / "out")
    assert (result["status"], result["held"]) == ("CLOSED", True)
    assert {contact["finger"] for contact in result["contacts"]} >= {"left", "right"}


@pytest.mark.slow
@pytest.mark.parametrize("obj", ["sphere", "strawberry", "mug"])
@pytest.mark.parametrize("name", REAL)
def test_real_hands_hold_what_they_close_on(name: str, obj: str, tmp_path: Path) -> None:
    result = closed(real_hand(name), obj, tmp_path / "out")
    assert (result["status"], result["held"]) == ("CLOSED", True)
    normals = [contact["normal"] for contact in result["contacts"] if contact["normal"]]
    against = min(
        sum(a * b for a, b in zip(one, other, strict=True)) for one in normals for other in normals
    )
    assert against < -0.2


@pytest.mark.slow
def test_check_prints_properties_and_problems(tmp_path: Path) -> None:
    run = softgrasp("check", written(tmp_path, GRIPPER, "hand.urdf"), "--json")
    assert run.returncode == 0, run.stdout
    result = json.loads(run.stdout)
    assert result["kind"] == "robot"
    assert [finger["name"] for finger in result["fingers"]] == ["left", "right"]
    assert len(result["grasps"]["power"]["center_m"]) == 3
    assert len(result["grasps"]["power"]["rates"]) == 4


def test_a_bad_file_is_one_sentence(tmp_path: Path) -> None:
    path = written(tmp_path, GRIPPER.replace(BODY + BOX, BOX, 1), "hand.urdf")
    run = softgrasp("grasp", path, "sphere", "--out", tmp_path / "out")
    assert run.returncode == 2
    assert run.stderr.strip() == (
        f"softgrasp: error: {path}:3: link 'left_near': expected an <inertial>, as the link moves, "
        "found none; a YAML file with `model:` can set a density [kg/m³] for all links"
    )
