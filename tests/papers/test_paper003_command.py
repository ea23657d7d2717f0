"""The experiments of Chen et al. (2022) from the command line: python -m examples.paper003."""

from __future__ import annotations

from pathlib import Path

import pytest

from examples.paper003 import __main__ as command
from examples.paper003.experiments import EXPERIMENTS
from tests.conftest import files_in


@pytest.fixture(autouse=True)
def few_cells(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(command, "LINKS", 1)
    monkeypatch.chdir(tmp_path)


def test_one_experiment_prints_and_writes_its_numbers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command.main(["bends"]) == 0
    head, first, *_ = capsys.readouterr().out.splitlines()
    assert head.split() == command.HEADS
    assert first.startswith("bends       bend, 1 MPa in 2 and 3    °     165.7")
    assert "fitted" in first
    files = ["bends.csv", "bends.png", "errors.csv", "numbers.csv", "report.html", "result.json"]
    assert files_in(tmp_path / "out" / "paper003_bends") == files


def test_numbers_only(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["steady-4", "--out", "arm", "--no-report", "--json"]) == 0
    assert '"cells_per_section": 1' in capsys.readouterr().out
    assert not list((tmp_path / "arm").glob("*.png"))


def test_names_are_listed_and_others_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["list"]) == 0
    assert capsys.readouterr().out.count("\n") == len(EXPERIMENTS) + 1
    assert command.main(["stedy-1"]) == 2
    assert "no experiment 'stedy-1'; did you mean 'steady-1'?" in capsys.readouterr().err
