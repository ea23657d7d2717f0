"""``softgrasp sweep`` from the command line."""

import json
import signal
import subprocess
import sys
import time

import pytest

import softgrasp as sg
from softgrasp.cli.sweep import axis_of
from softgrasp.exports import load_grasps
from softgrasp.sweeps.dataset import trajectories
from tests.support.processes import are_gone, children_of

pd = pytest.importorskip("pandas", reason="pandas is the extra 'sweep'")

SMALL = ("--set", "duration=0.02", "--workers", "1", "--no-report")


def test_density_and_another_field_make_a_grid(run, tmp_path):
    ran = run(
        "sweep", "four_finger", "sphere", "--density", "160,700", "--vary",
        "contact.friction=0.3:0.9:3", *SMALL, "--json", "--out", tmp_path / "out",
    )  # fmt: skip
    assert ran.code == 0, ran.err
    assert (ran.json["rows"], ran.json["failed"]) == (6, 0)
    table = pd.read_csv(tmp_path / "out" / "sweep.csv")
    assert table["object.density"].tolist() == [160] * 3 + [700] * 3
    assert table["contact.friction"].tolist() == [0.3, 0.6, 0.9] * 2
    ran = run("sweep", "four_finger", "sphere", "--density", "160,700", "--vary",
              "contact.friction=0.3:0.9:3", *SMALL, "--out", tmp_path / "out")  # fmt: skip
    assert ran.code == 2
    assert (
        "expected no rows yet, found 6; --resume goes on from them, --force removes them, --out"
        in ran.err
    )
    ran = run(
        "sweep", "four_finger", "sphere", "--density", "160,700", "--vary",
        "contact.friction=0.3:0.9:3", *SMALL, "--resume", "--out", tmp_path / "out",
    )  # fmt: skip
    assert ran.code == 0
    assert ran.out.startswith("sweep     6 grasps: ")


@pytest.mark.parametrize("name", ["", "plan.json"])
def test_a_directory_resumes_where_it_is(name, run, tmp_path):
    out = tmp_path / "out"
    words = ("sweep", "four_finger", "sphere", "--density", "160,700,900", *SMALL)
    assert run(*words, "--out", out).code == 0
    whole = pd.read_csv(out / "sweep.csv")
    journal = out / "rows.jsonl"
    journal.write_text("".join(journal.read_text("utf-8").splitlines(keepends=True)[:1]), "utf-8")
    ran = run("sweep", out / name, "--resume", "--workers", "1", "--no-report", "--json")
    assert ran.code == 0, ran.err
    assert ran.json["rows"] == 3
    again = pd.read_csv(out / "sweep.csv")
    same = [column for column in whole if "wall" not in column]
    assert again[same].equals(whole[same])
    assert {path.parent for path in tmp_path.rglob("sweep.csv")} == {out}


def test_a_shard_resumes_in_the_directory_of_its_sweep(run, tmp_path):
    out = tmp_path / "out"
    words = ("sweep", "four_finger", "sphere", "--density", "160,700", *SMALL)
    assert run(*words, "--shard", "1/2", "--out", out).code == 0
    ran = run("sweep", out, "--shard", "1/2", "--resume", "--no-report", "--json")
    assert (ran.code, ran.json["rows"]) == (0, 1), ran.err
    ran = run("sweep", out / "shard-1-of-2", "--resume")
    assert ran.code == 2
    assert f"found that of a shard; {out} --shard I/N continues it" in ran.err


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("{out}",), "{out}: expected the directory of a sweep and --resume, found no --resume"),
        (("{out}/plan.json",), "found no --resume, which continues it"),
        (("{out}/row-1/plan.json", "--resume"), "{out}/row-1: expected the directory of a sweep"),
        (("{empty}", "--resume"), "{empty}: expected the directory of a sweep and --resume, found "
         "no plan.json there; HAND OBJECT or a plan in YAML with --out {empty} begins one"),
        (("{out}", "--resume", "--density", "3"), "expected all of the plan in its file, found "),
        (("{out}", "--resume", "--out", "{empty}"), "--out: expected {out}, or none, with {out}"),
        (("{search}", "--resume"), "that of a grasp search, which softgrasp plan --resume"),
    ],
)  # fmt: skip
def test_a_directory_that_cannot_resume_is_refused(words, sentence, run, tmp_path):
    names = {name: tmp_path / name for name in ("out", "empty", "search")}
    for directory in names.values():
        directory.mkdir()
    assert run("sweep", "four_finger", "sphere", "--density", "160,700", *SMALL, "--out",
               names["out"]).code == 0  # fmt: skip
    for name in ("plan.json", "grasp_plan.json"):
        (names["search"] / name).write_bytes((names["out"] / "plan.json").read_bytes())
    ran = run("sweep", *(word.format(**names) for word in words))
    assert ran.code in (1, 2), ran.err
    assert sentence.format(**names) in ran.err


@pytest.mark.slow
def test_the_summary_has_warnings_by_their_sentences(run, tmp_path):
    words = ("sweep", "four_finger", "sphere", "--density", "30000,40000", *SMALL)
    ran = run(*words, "--json", "--out", tmp_path / "out")
    (warning,) = (item for item in ran.json["warnings"] if "no material" in item["text"])
    assert warning["rows"] == 2
    assert "a density of 3e+04…4e+04 kg/m³" in warning["text"]
    assert ran.json["erratic"] == []
    assert f"warning: 2 of 2 rows: {warning['text']}" in ran.err
    table = pd.read_csv(tmp_path / "out" / "sweep.csv")
    assert table["warning_texts"].str.count(r" \| ").tolist() == (table["warnings"] - 1).tolist()


def test_trajectories_and_a_dataset_are_kept_where_requested(run, tmp_path):
    words = ("sweep", "four_finger", "sphere", "--density", "160,700", *SMALL)
    assert run(*words, "--trajectories", "--dataset", "grasps", "--out", tmp_path / "all").code == 0
    assert run(*words, "--out", tmp_path / "bare").code == 0
    kept = {row: arrays["time"].size for row, arrays in trajectories(tmp_path / "all")}
    assert kept == {0: 21, 1: 21}
    grasps = load_grasps(tmp_path / "all" / "dataset" / "grasps.json").grasps
    assert [grasp.name for grasp in grasps] == ["row-0", "row-1"]
    assert sorted(path.name for path in (tmp_path / "bare").glob("[!.]*")) == [
        "plan.json", "rows.jsonl", "sweep.csv", "sweep.lock", "sweep.parquet"
    ]  # fmt: skip


def test_shards_are_merged(run, tmp_path):
    words = ("sweep", "four_finger", "sphere", "--density", "160,700,900", *SMALL, "--out",
             tmp_path / "out")  # fmt: skip
    for part in ("1/2", "2/2"):
        assert run(*words, "--shard", part).code == 0
    ran = run("sweep", "--merge", "--out", tmp_path / "out", "--json", "--no-report")
    assert ran.code == 0, ran.err
    assert ran.json["rows"] == 3


def test_a_plan_in_a_file(run, tmp_path):
    (tmp_path / "plan.yaml").write_text(
        "scene: {hand: four_finger, object: sphere, duration: 0.02}\n"
        "axes: {object.density: [160, 700]}\n",
        encoding="utf-8",
    )
    words = ("sweep", tmp_path / "plan.yaml", "--workers", "1", "--no-report")
    ran = run(*words, "--json")
    assert ran.json["rows"] == 2, ran.err
    ran = run(*words, "--density", "3")
    assert ran.code == 2
    assert "expected all of the plan in its file, found options that change it" in ran.err


def test_rows_that_fail_end_with_code_5_and_with_strict_before_the_start(run, tmp_path):
    words = ("sweep", "four_finger", "sphere", "--vary", "object.radius=0.02,-1", *SMALL)
    ran = run(*words)
    assert ran.code == 5
    assert "warning: 1 of 2 rows failed, the first: 'object.radius' = -1" in ran.err
    ran = run(*words, "--strict", "--out", tmp_path / "strict")
    assert ran.code == 2
    assert "error: --strict: row 1: 'object.radius' = -1" in ran.err
    assert not (tmp_path / "strict").exists()


def test_a_cluster_that_does_not_answer(run, monkeypatch, golden):
    monkeypatch.setattr("softgrasp.sweeps.executors.CONNECT_TIME", 0.5)
    words = ("--density", "1,2", "--executor", "dask", "--scheduler", "nowhere:1")
    ran = run("sweep", "four_finger", "sphere", *words, *SMALL)
    assert ran.code == 3, ran.err
    golden(ran.err, "no dask scheduler answers at nowhere:1")


@pytest.mark.parametrize(
    ("text", "axis"),
    [
        ("a=1,2.5", {"path": "a", "values": (1, 2.5)}),
        ("a=0:1:5", {"path": "a", "low": 0.0, "high": 1.0, "steps": 5}),
        ("a=0:1", {"path": "a", "low": 0.0, "high": 1.0}),
        ("object=sphere, mug", {"path": "object", "values": ("sphere", "mug")}),
        ("object=ycb:mug", {"path": "object", "values": ("ycb:mug",)}),
        ("a=[1,2],[3,4]", {"path": "a", "values": ([1, 2], [3, 4])}),
        ("a=true,null", {"path": "a", "values": (True, None)}),
    ],
)
def test_what_vary_means(text, axis):
    assert axis_of(text) == axis


@pytest.mark.slow
def test_a_video_of_a_row(run, tmp_path):
    out = tmp_path / "out"
    assert run("sweep", "four_finger", "sphere", "--density", "160,700", *SMALL,
               "--out", out).code == 0  # fmt: skip
    ran = run("sweep", "--out", out, "--video", "1", "--json")
    assert ran.code == 0, ran.err
    assert (out / "row-1" / "grasp.mp4").stat().st_size > 1000
    table = pd.read_csv(out / "sweep.csv")
    result = sg.load_result(out / "row-1")
    assert result.trajectory_sha256 == table["trajectory_sha256"][1]
    ran = run("sweep", "--out", out, "--video", "2")
    assert ran.code == 2
    assert "--video: expected a row from 0 to 1, found 2" in ran.err


@pytest.mark.slow
def test_ctrl_c_ends_workers_and_reports_how_to_go_on(tmp_path):
    words = ["four_finger", "sphere", "--vary", "object.density=200:3000:400", "--workers", "2"]
    out = tmp_path / "out"
    process = subprocess.Popen(
        [sys.executable, "-m", "softgrasp", "sweep", *words, "--out", out],
        stderr=subprocess.PIPE,
        text=True,
    )
    journal = out / "rows.jsonl"
    for _ in range(600):
        if journal.exists() and journal.stat().st_size:
            break
        time.sleep(0.1)
    children = children_of(process.pid)
    process.send_signal(signal.SIGINT)
    _, message = process.communicate(timeout=60)
    rows = journal.read_bytes().count(b"\n")
    assert process.returncode == 130
    assert message.endswith(  # after lines of progress on a slow machine
        f"softgrasp: interrupted; {rows} finished grasps are safe in {out}, --resume goes on from "
        "them\n"
    )
    assert "Traceback" not in message
    assert 0 < rows < 400
    assert children
    assert are_gone(children)
    assert all(json.loads(line)["status"] for line in journal.read_text("utf-8").splitlines())
