"""``softgrasp plan`` from the command line."""

import json
from pathlib import Path

import pytest

import softgrasp as sg
from softgrasp.cli import main
from softgrasp.cli.options import INTERRUPTED, NOT_HELD
from softgrasp.report import planner
from softgrasp.sweeps.storage import count_finished

pd = pytest.importorskip("pandas", reason="pandas is the extra 'sweep'")
pytest.importorskip("pyarrow", reason="pyarrow is the extra 'sweep'")

WORDS = ("plan", "four_finger", "sphere", "--workers", "1", "--grasp", "precision",
         "--method", "poses")  # fmt: skip
SHORT = (*WORDS, "--candidates", "4", "--set", "duration=0.02", "--no-report")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A search of three poses with its page; of the report of the best only the numbers."""
    directory = tmp_path_factory.mktemp("plan")
    words = (*WORDS, "--candidates", "3", "--top", "1", "--test", "hold", "--offset", "0.005",
             "--renderer", "none", "--out", str(directory))  # fmt: skip
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(planner, "write_report", lambda result, own, **_: result.save(own))
        assert main(list(words)) == 0
    return directory


@pytest.mark.slow
def test_the_files_of_a_search(made):
    there = {path.name for path in made.iterdir()}
    assert there >= {"grasp_plan.json", "plan.json", "grasps.csv", "sweep.csv", "index.html",
                     "directions.png", "top-1"}  # fmt: skip
    written = json.loads((made / "grasp_plan.json").read_text())["plan"]
    assert (written["candidates"], written["seed"], written["test"]["name"]) == (3, 0, "hold")
    assert pd.read_csv(made / "grasps.csv")["rank"].tolist() == [1, 2, 3]


@pytest.mark.slow
def test_the_report_has_verdicts_and_images(made):
    page = (made / "index.html").read_text()
    best = sg.load_result(made / "top-1")
    assert "3 of 3 hand poses ended with the hand closed on the object" in page
    assert ("Of the best 1, 1 passed" if best.held else "Of the best 1, 0 passed") in page
    assert 'href="top-1/report.html"' in page


def test_the_best_is_what_the_table_reports_with_the_test_behind_it(made):
    best = sg.load_result(made / "top-1")
    first = pd.read_csv(made / "grasps.csv").iloc[0]
    assert best.scene.success.name == "hold"
    alone = sg.simulate(best.scene.replace(success=None))
    assert alone.trajectory_sha256 == first["trajectory_sha256"]


def test_another_ranking_needs_no_other_simulation(made, run):
    words = (*WORDS, "--candidates", "3", "--test", "hold", "--offset", "0.005", "--resume",
             "--no-report", "--out", made)  # fmt: skip
    before = (made / "rows.jsonl").read_bytes()
    ran = run(*words, "--rank-by", "displacement_m", "--json")
    assert ran.code == 0
    scores = [best["score"] for best in ran.json["top"]]
    assert scores == sorted(scores)
    assert (made / "rows.jsonl").read_bytes() == before
    there = {path.name for path in made.iterdir()}
    assert not there & {"index.html", "directions.png", "top-1"}  # they were of the other one


def test_a_directory_with_rows_is_resumed_only_where_requested(run, tmp_path):
    ran = run(*SHORT, "--out", tmp_path / "out")
    assert ran.code == NOT_HELD  # no hand closes in 20 ms
    assert "no candidate ended with the hand closed on the object" in ran.err
    assert ran.out.startswith("plan      0 of 4 hand poses ended with the hand closed")
    ran = run(*SHORT, "--out", tmp_path / "out")
    assert ran.code == 2
    assert "expected no rows yet, found 4; --resume goes on from them" in ran.err
    ran = run(*SHORT, "--resume", "--json", "--out", tmp_path / "out")
    assert (ran.json["candidates"], ran.json["ranked"], ran.json["top"]) == (4, 0, [])
    assert ran.json["status"] == {"TIMED_OUT": 4}


def test_an_interrupted_search_reports_how_it_goes_on(run, tmp_path, monkeypatch):
    def stopped(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("softgrasp.sweeps.planner.plan_grasps", stopped)
    ran = run(*SHORT, "--out", tmp_path / "out")
    assert ran.code == INTERRUPTED
    assert "0 finished grasps are safe in" in ran.err
    assert count_finished(tmp_path / "out") == 0


@pytest.mark.slow
def test_grasps_are_exported_and_imported(run, tmp_path):
    words = ("plan", "four_finger", "sphere", "--mass", "0.1", "--workers", "1", "--no-report")
    first = run(*words, "--candidates", "2", "--seeds", "8", "--test", "hold", "--benchmark",
                "--export", tmp_path / "grasps", "--out", tmp_path / "out", "--json")  # fmt: skip
    assert first.code == 0
    assert first.json["dexgraspbench"]["grasps"] == 2.0
    assert (tmp_path / "out" / "dexgraspbench.csv").is_file()
    count = len(list((tmp_path / "grasps").glob("*_grasp.npy")))
    assert count > 0
    again = run(*words, "--import", tmp_path / "grasps", "--test", "hold",
                "--out", tmp_path / "again", "--json")  # fmt: skip
    assert (again.code, again.json["candidates"]) == (0, count)


def test_a_file_without_grasps_is_refused(run, tmp_path):
    file = tmp_path / "grasps.npy"
    file.write_text("none")
    ran = run("plan", "four_finger", "sphere", "--import", file, "--out", tmp_path / "out")
    assert ran.code == 2
    assert f"{file}: expected a NumPy file (.npy), found" in ran.err
