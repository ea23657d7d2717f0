"""The commands of a newcomer's first hour, typed again in their order in an empty folder."""

from __future__ import annotations

import json
import re
import runpy
import shlex
import shutil
from pathlib import Path

import pytest

from softgrasp.cli import main

OWN = Path(__file__).parent / "first_hour"
"""What the newcomer wrote: a hand, the program that makes a part, and the commands."""
HAND, PART = "trigrip.urdf", "my_mug.stl"
SHORT = ("--no-video", "--no-report", "--renderer", "none")
"""Numbers only, for the verbs that simulate one grasp."""
MISTAKE = ["check", PART]
"""What the newcomer got told off for."""
LONG = ("doctor", "list", "view")
"""Verbs whose lines are only looked at here; other tests run them."""


def commands() -> list[list[str]]:
    """The words after ``softgrasp`` of every command, in order."""
    text = (OWN / "commands.txt").read_text("utf-8")
    lines = re.findall(r"^\$ softgrasp (.*)$", text, re.MULTILINE)
    return [shlex.split(line, comments=True) for line in lines]


def expected(words: list[str]) -> int:
    return 1 if words == MISTAKE else 0


@pytest.fixture
def rig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a hand and a part of one's own."""
    monkeypatch.chdir(tmp_path)
    shutil.copy(OWN / HAND, tmp_path)
    runpy.run_path(str(OWN / "make_mug.py"))
    return tmp_path


def test_the_hour_has_all_that_was_promised() -> None:
    verbs = [words[0] for words in commands()]
    assert verbs.count("grasp") >= 4
    assert set(verbs) >= {"demo", "check", "grasp", "sweep", "new", "calibrate"}


@pytest.mark.parametrize("words", commands(), ids=" ".join)
def test_every_command_of_the_hour_is_understood(
    words: list[str], rig: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if words == MISTAKE or words[:2] == ["check", HAND]:
        assert main(words) == expected(words)
    else:
        assert main([*words, "--help"]) == 0


def test_the_part_in_millimetres_is_recognised(
    rig: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", PART]) == 1
    message = capsys.readouterr().out
    assert "With `units: mm` (--units mm) it is 105 mm" in message
    assert "its size is in doubt, so it was not cut" in message
    assert main(["grasp", "four_finger", PART, "--hold"]) == 2
    assert "--density" in capsys.readouterr().err


@pytest.mark.slow
def test_the_hour_can_be_done_again(rig: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("cv2", reason="OpenCV is the extra 'calibrate'")
    for words in commands():
        if words[0] in LONG:
            continue
        few = SHORT if words[0] in ("demo", "grasp") else ()
        few = ("--no-report",) if words[0] in ("sweep", "calibrate") else few
        assert main([*words, *few]) == expected(words), words
    directories = {path.parent.name for path in rig.glob("out/*/result.json")}
    assert directories >= {"demo", "trigrip_sphere", "mug_upright", "soft_gripper_strawberry"}
    held = json.loads((rig / "out" / "trigrip_sphere" / "result.json").read_text())["held"]
    assert held is True
    assert (rig / "out" / "finger" / "finger.yaml").is_file()
    assert not list(rig.rglob("*.mp4"))
    shutil.rmtree(rig / "out")
