"""softgrasp demo hydraulic --experiment."""

from __future__ import annotations

from pathlib import Path

import pytest

from softgrasp.hydraulics.cli import HEADS
from softgrasp.hydraulics.experiments import EXPERIMENTS
from tests.cli.conftest import Run, files_in

WORDS = ("demo", "hydraulic", "--experiment")


@pytest.fixture(autouse=True)
def few_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("softgrasp.hydraulics.cli.EXPERIMENT_LINKS", 1)


def test_one_experiment_tells_and_writes_its_numbers(run: Run, tmp_path: Path) -> None:
    ran = run(*WORDS, "bends")
    assert ran.code == 0, ran.err
    head, first, *_ = ran.out.splitlines()
    assert head.split() == HEADS
    assert first.startswith("bends       bend, 1 MPa in 2 and 3    °     165.7")
    assert "fitted" in first
    files = ["bends.csv", "bends.png", "errors.csv", "numbers.csv", "report.html", "result.json"]
    assert files_in(tmp_path / "out" / "demo_hydraulic_bends") == files


def test_numbers_only(run: Run, tmp_path: Path) -> None:
    ran = run(*WORDS, "steady-4", "--out", "arm", "--no-report", "--json")
    assert ran.code == 0, ran.err
    (result,) = ran.json["experiments"]
    assert (result["name"], result["cells_per_section"], result["arcs_per_section"]) == (
        "steady-4", 1, 1,
    )  # fmt: skip
    assert len(result["numbers"]) == 8
    assert not list((tmp_path / "arm").glob("*.png"))


def test_their_names_are_listed(run: Run) -> None:
    assert [row["name"] for row in run(*WORDS, "list", "--json").json] == [
        result.name for result in EXPERIMENTS
    ]
    assert run(*WORDS, "list").out.count("\n") == len(EXPERIMENTS) + 1


def test_what_does_not_fit_is_told(run: Run, tmp_path: Path) -> None:
    ran = run(*WORDS, "stedy-1")
    assert ran.code == 2
    assert ran.err.startswith("softgrasp: error: no experiment 'stedy-1'; did you mean 'steady-1'?")
    assert run("demo", "soft", "--experiment", "ramps").err == (
        "softgrasp: error: --experiment: expected the demonstration hydraulic, found soft\n"
    )
    assert run(*WORDS, "ramps", "--torques", "mine.csv").err == (
        "softgrasp: error: --torques: expected no --experiment beside it, which has torques of "
        "its own\n"
    )
    assert files_in(tmp_path) == []
