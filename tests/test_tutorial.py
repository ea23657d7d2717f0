"""The tutorial as a new user goes through it: its commands one after the other, in one folder."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from softgrasp.cli import main
from tests.test_documentation import DOCS, blocks, write_named_blocks

PAGE = DOCS / "tutorials" / "rigid_hand.md"


def lines() -> list[str]:
    """Every line of softgrasp's in the tutorial, in order."""
    message = [line for _, text in blocks("console", [PAGE]) for line in text.splitlines()]
    return [line.removeprefix("$ ") for line in message if line.startswith("$ softgrasp ")]


def test_the_tutorial_writes_its_files(tmp_path: Path) -> None:
    assert write_named_blocks(PAGE, tmp_path) == ["pincher.yaml", "bar.yaml"]
    assert len(lines()) >= 6


@pytest.mark.slow
def test_its_commands_do_what_it_states(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write_named_blocks(PAGE, tmp_path)
    message = {}
    for line in lines():
        words = shlex.split(line)[1:]
        videos = words[0] in ("demo", "grasp")  # drawing one takes most of a minute
        assert main([*words, *(["--no-video"] if videos else [])]) == 0, line
        message[line] = capsys.readouterr().out
    assert (tmp_path / "out" / "demo" / "report.html").exists()
    # what the page prints of the grasp is what the grasp prints, but for the wall time
    (shown,) = (text for _, text in blocks("text", [PAGE]))
    (printed,) = (out for line, out in message.items() if "--out out/bar" in line)
    for line in shown.splitlines():
        if not line.startswith("cost"):
            assert line in printed, line
    (swept,) = (out for line, out in message.items() if "sweep" in line)
    assert "6 of 6" in swept
