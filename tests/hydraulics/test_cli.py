"""softgrasp demo hydraulic, and what it says of torques that are wrong."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from softgrasp.hydraulics.cli import HEADS
from softgrasp.hydraulics.experiments import EXPERIMENTS
from softgrasp.hydraulics.report import WRITTEN
from tests.conftest import QUICK, Run, files_in

SHORT = (
    "time_s,torque_1,torque_2,torque_3,torque_4,torque_5,torque_6\n0,0,0,0,0,0,0\n0.1,1,0,0,0,0,0"
)


@pytest.fixture
def short(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("softgrasp.hydraulics.cli.LINKS", 1)
    path = tmp_path / "short.csv"
    path.write_text(SHORT, encoding="utf-8")
    return path


def test_numbers_only(run: Run, short: Path, tmp_path: Path) -> None:
    ran = run("demo", "hydraulic", "--torques", short, "--out", "arm", "--json", *QUICK)
    assert ran.code == 0, ran.err
    assert files_in(tmp_path / "arm") == ["result.json", "trajectory.npz"]
    assert ran.json["kind"] == "hydraulic_arm"
    (move,) = ran.json["moves"]
    assert (move["begin"], move["command_end"]) == (0.0, 0.1)
    with np.load(tmp_path / "arm" / "trajectory.npz") as result:
        assert result["time"] == pytest.approx(0.01 * np.arange(11))
        assert result["ends"].shape == (11, 2, 3)
        assert result["pressures"].shape == result["torques"].shape == (11, 6)


def test_figures_and_page_without_a_film(run: Run, short: Path, tmp_path: Path) -> None:
    ran = run("demo", "hydraulic", "--torques", short, "--renderer", "none")
    assert ran.code == 0, ran.err
    there = [name for name in WRITTEN if name != "hydraulic.mp4"]
    assert files_in(tmp_path / "out" / "demo_hydraulic") == sorted(there)
    page = (tmp_path / "out" / "demo_hydraulic" / "report.html").read_text("utf-8")
    assert page.count('<img src="data:image/png') == 4
    assert "Flow in the tubes: " in page
    assert "Arm and fluid act on each other." in page
    assert "<video" not in page
    assert "http" not in page
    assert ran.out.startswith("arm       hydraulic_two_section: 0.1 s, 1 cells a section\n")


def test_another_run_takes_the_files_of_the_one_before(
    run: Run, short: Path, tmp_path: Path
) -> None:
    words = ("demo", "hydraulic", "--torques", short, "--out", "arm", *QUICK)
    assert run(*words).code == 0
    (tmp_path / "arm" / "hydraulic.mp4").write_bytes(b"of before")
    assert run(*words).code == 0
    assert files_in(tmp_path / "arm") == ["result.json", "trajectory.npz"]


def test_wrong_torques_are_refused(run: Run, short: Path) -> None:
    short.write_text(SHORT + "\n0.05,0,0,0,0,0,0", encoding="utf-8")
    ran = run("demo", "hydraulic", "--torques", "short.csv", *QUICK)
    assert ran.code == 2
    assert ran.err == (
        "softgrasp: error: short.csv:4: time_s: expected a time after 0.1 s, found 0.05 s\n"
    )
    ran = run("demo", "soft", "--torques", "short.csv", *QUICK)
    assert ran.err == (
        "softgrasp: error: --torques: expected the demonstration hydraulic, found soft\n"
    )


def test_arms_are_listed(run: Run) -> None:
    (arm,) = run("list", "hydraulic-arms", "--json").json
    assert (arm["name"], arm["sections"], arm["chambers"]) == ("hydraulic_two_section", 2, 6)


# --------------------
# softgrasp demo hydraulic --experiment.


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


def test_numbers_only_hydraulic_experiments(run: Run, tmp_path: Path) -> None:
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
