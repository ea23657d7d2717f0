"""``softgrasp report``: written from files, a report has the bytes of the direct one."""

import re
import shutil
from pathlib import Path
from typing import Any

import pytest

import softgrasp as sg
from softgrasp.extensions import ENGINES
from softgrasp.mechanics.transforms import Array
from softgrasp.sim import soft_dynamics
from softgrasp.sim.engines import MujocoEngine
from tests.conftest import files_in

NUMBERS = {
    "grasp": ("result.json", "trajectory.npz"),
    "sweep": ("plan.json", "rows.jsonl", "sweep.csv", "sweep.parquet", "sweep.lock"),
    "plan": ("grasp_plan.json", "grasps.csv", "plan.json", "rows.jsonl", "sweep.csv",
             "sweep.parquet", "sweep.lock"),
    "calibrate": ("calibration.json", "calibration.npz", "finger.yaml"),
    "crosscheck": ("crosscheck.json", "crosscheck.npz", "runs"),
}  # fmt: skip
"""Files that each verb writes with --no-report."""
SHORT = ("--set", "duration=0.02")
WORDS = {
    "grasp": ("four_finger", "sphere", *SHORT, "--renderer", "none"),
    # with workers, which render the images of the direct report
    "sweep": ("four_finger", "sphere", "--density", "160,700", *SHORT, "--workers", "2"),
    "calibrate": ("--finger", "paper000", "--hung", "hung.csv", "--method", "pso", "--particles",
                  "4", "--iterations", "3"),
}  # fmt: skip
HUNG = "mass_g,q1_deg,q2_deg,q3_deg\n0,1.3,1.1,0.4\n20,4.8,4.3,1.9\n40,7.9,7.0,3.2\n"


def contents(directory: Path) -> dict[str, bytes]:
    """Bytes of all files by name."""
    names = files_in(directory)
    return {n: (directory / n).read_bytes() for n in names if (directory / n).is_file()}


def without_report(directory: Path, verb: str) -> None:
    """Leave the files that --no-report leaves."""
    for path in directory.iterdir():
        if path.name not in NUMBERS[verb]:
            shutil.rmtree(path) if path.is_dir() else path.unlink()


@pytest.mark.slow
@pytest.mark.parametrize(
    "verb",
    [pytest.param(verb, marks=pytest.mark.slow) if verb == "sweep" else verb for verb in WORDS],
)
def test_a_later_report_has_the_bytes_of_the_direct_one(verb, run, tmp_path):
    (tmp_path / "hung.csv").write_text(HUNG)
    ran = run(verb, *WORDS[verb], "--out", "out")
    assert ran.code == (1 if verb == "grasp" else 0), ran.err  # time ran out
    directory = tmp_path / "out"
    direct = contents(directory)
    assert len(direct) > len(NUMBERS[verb]) + 2  # a page and figures
    without_report(directory, verb)
    ran = run("report", "out", "--renderer", "none", "--json")
    assert ran.code == 0, ran.err
    assert contents(directory) == direct
    assert "out/report.html" in ran.json["files"]


@pytest.mark.slow
def test_the_page_of_a_search_is_written_from_its_files(run, tmp_path):
    words = ("plan", "four_finger", "sphere", *SHORT, "--candidates", "3", "--workers", "1",
             "--rank-by", "displacement_m", "--renderer", "none", "--out", "out")  # fmt: skip
    assert run(*words, "--no-video").code in (0, 5)
    direct = (tmp_path / "out" / "index.html").read_bytes()
    without_report(tmp_path / "out", "plan")
    ran = run("report", "out/grasp_plan.json", "--renderer", "none", "--no-video")
    assert ran.code == 0, ran.err
    assert (tmp_path / "out" / "index.html").read_bytes() == direct


def test_a_directory_without_a_result_is_refused(run, tmp_path):
    def refused(directory: str) -> str:
        ran = run("report", directory)
        assert ran.code == 2
        assert "Traceback" not in ran.err
        return " ".join(ran.err.split())

    kinds = (
        r"expected a result with result.json \(a grasp\), calibration.json \(a calibration\), "
        r"crosscheck.json \(a comparison of engines\), grasp_plan.json \(a grasp search\) or "
        r"plan.json \(a sweep\), found "
    )
    assert re.search(f"nowhere: {kinds}no such directory$", refused("nowhere"))
    (tmp_path / "empty").mkdir()
    assert re.search(f"empty: {kinds}nothing$", refused("empty"))
    for name in "gfedcba":
        (tmp_path / "empty" / name).write_text("")
    assert re.search(f"empty: {kinds}a, b, c, d, e, f, …$", refused("empty"))
    (tmp_path / "empty" / "run").mkdir()
    (tmp_path / "empty" / "run" / "result.json").write_text("{}")
    assert re.search(f"empty: {kinds}results in its directories run$", refused("empty"))
    assert re.search(f"empty/a: {kinds}another file$", refused("empty/a"))


@pytest.mark.parametrize("subject", ["four_finger_sphere", "paper000_release"])
def test_the_page_of_a_comparison_is_written_from_its_files(subject, run, tmp_path, monkeypatch):
    monkeypatch.setitem(ENGINES, "twin", MujocoEngine)
    monkeypatch.setattr(soft_dynamics, "_simulate", _in_mujoco)
    words = ("crosscheck", subject, "--backends", "mujoco,twin", "--quick", "--out", "out")
    assert run(*words).code == 0
    monkeypatch.undo()  # a page needs no engine
    monkeypatch.chdir(tmp_path)
    direct = contents(tmp_path / "out")
    without_report(tmp_path / "out", "crosscheck")
    kept = contents(tmp_path / "out")
    assert len(kept) < len(direct) - 2  # without page and figures
    assert run("report", "out").code == 0
    assert contents(tmp_path / "out") == direct


def _in_mujoco(
    finger: sg.SoftFinger, start: Array, backend: str, step: float, period: float, samples: int
) -> Any:
    motion = soft_dynamics.free_motion(
        finger, start, "mujoco", timestep=step, sample_period=period, samples=samples
    )
    return motion.angles, motion.engine._replace(name=backend)


def test_a_damaged_comparison_is_refused(run, tmp_path):
    def refused(text: str) -> str:
        (tmp_path / "out").mkdir(exist_ok=True)
        (tmp_path / "out" / "crosscheck.json").write_text(text)
        ran = run("report", "out")
        assert ran.code == 2
        return " ".join(ran.err.split())

    assert "out/crosscheck.json: damaged: 'schema_version'" in refused("{}")
    assert (
        "out/crosscheck.json: expected schema_version 3, found 2; another softgrasp wrote it: "
        "softgrasp crosscheck demo"
    ) in refused('{"schema_version": 2, "rerun_command": "softgrasp crosscheck demo"}')


def test_a_sweep_that_is_not_finished_is_refused(run, tmp_path):
    words = ("sweep", "four_finger", "sphere", "--density", "160,700", *SHORT, "--workers", "1")
    assert run(*words, "--no-report", "--out", "out").code == 0
    assert sorted(files_in(tmp_path / "out")) == sorted(NUMBERS["sweep"])
    (tmp_path / "out" / "sweep.parquet").unlink()
    ran = run("report", "out")
    assert ran.code == 2
    assert (
        "out: expected a finished sweep with sweep.parquet, found 2 of 2 rows; softgrasp sweep "
        "--resume goes on from them"
    ) in " ".join(ran.err.split())
    (tmp_path / "out" / "sweep.parquet").write_text("torn")
    ran = run("report", "out")
    assert ran.code == 2
    assert "out/sweep.parquet: expected the table of a sweep, found: " in ran.err
