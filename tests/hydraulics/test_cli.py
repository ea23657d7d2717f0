"""softgrasp demo hydraulic, and what it says of torques that are wrong."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from softgrasp.hydraulics.report import WRITTEN
from tests.conftest import QUICK, Golden, Run, files_in

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


def test_figures_and_report_without_a_video(run: Run, short: Path, tmp_path: Path) -> None:
    ran = run("demo", "hydraulic", "--torques", short, "--renderer", "none")
    assert ran.code == 0, ran.err
    there = [name for name in WRITTEN if not name.startswith("hydraulic.")]
    assert files_in(tmp_path / "out" / "demo_hydraulic") == sorted(there)
    page = (tmp_path / "out" / "demo_hydraulic" / "report.html").read_text("utf-8")
    assert page.count('<img src="data:image/png') == 4
    assert "Flow in the tubes: " in page
    assert "Arm and fluid act on each other." in page
    assert "<video" not in page
    assert "http" not in page
    assert ran.out.startswith("arm       hydraulic_two_section: 0.1 s, 1 cells a section\n")


def test_another_run_replaces_files_of_runs_and_no_others(
    run: Run, short: Path, tmp_path: Path
) -> None:
    words = ("demo", "hydraulic", "--torques", short, "--out", "arm", *QUICK)
    assert run(*words).code == 0
    before = (tmp_path / "arm" / "result.json").stat().st_mtime_ns
    assert run(*words).code == 0
    assert files_in(tmp_path / "arm") == ["result.json", "trajectory.npz"]
    after = (tmp_path / "arm" / "result.json").stat().st_mtime_ns
    assert after > before
    (tmp_path / "arm" / "hydraulic.mp4").write_bytes(b"of somebody else")
    assert run(*words).code == 0
    assert (tmp_path / "arm" / "hydraulic.mp4").read_bytes() == b"of somebody else"
    assert (tmp_path / "arm" / "result.json").stat().st_mtime_ns == after
    assert files_in(tmp_path / "arm_2") == ["result.json", "trajectory.npz"]


def test_wrong_torques_are_refused(run: Run, short: Path, golden: Golden) -> None:
    short.write_text(SHORT + "\n0.05,0,0,0,0,0,0", encoding="utf-8")
    ran = run("demo", "hydraulic", "--torques", "short.csv", *QUICK)
    assert ran.code == 2
    golden(ran.err, "short.csv:4: time_s")
    ran = run("demo", "soft", "--torques", "short.csv", *QUICK)
    golden(ran.err, "--torques")


def test_arms_are_listed(run: Run) -> None:
    (arm,) = run("list", "hydraulic-arms", "--json").json
    assert (arm["name"], arm["sections"], arm["chambers"]) == ("hydraulic_two_section", 2, 6)
