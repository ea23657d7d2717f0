"""Sweeps from plan to table: order, resume, locks, shards, dead workers, errors in rows."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import softgrasp as sg
from softgrasp.description.sweep import Axis, PoseNoise, SweepPlan
from softgrasp.sweeps import run as runs
from softgrasp.sweeps.dataset import trajectories
from softgrasp.sweeps.run import Finish, Shard, chunk, merge, sweep
from softgrasp.sweeps.storage import JOURNAL, count_finished
from softgrasp.sweeps.table import COLUMNS, FAILED
from tests.conftest import Golden
from tests.support.processes import are_gone, children_of
from tests.support.scenes import pinch
from tests.sweeps.plans import DENSITIES, dies_elsewhere, plan, without_wall

pd = pytest.importorskip("pandas", reason="pandas is the extra 'sweep'")
pytest.importorskip("pyarrow", reason="pyarrow is the extra 'sweep'")


@pytest.fixture(scope="module")
def undisturbed() -> Any:
    return sweep(plan(), workers=1)


def test_a_row_a_grasp_in_the_order_of_the_plan(undisturbed: Any) -> None:
    assert list(undisturbed.columns) == ["row", "object.density", "contact.friction", *COLUMNS]
    assert undisturbed["row"].tolist() == list(range(6))
    assert undisturbed["object.density"].tolist() == [d for d in DENSITIES for _ in range(2)]
    assert set(undisturbed["status"]) <= {status.name for status in sg.GraspStatus}


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_the_files_are_the_same_whatever_the_workers(
    workers: int, undisturbed: Any, tmp_path: Path
) -> None:
    table = sweep(plan(), tmp_path, workers=workers)
    pd.testing.assert_frame_equal(without_wall(table), without_wall(undisturbed), check_exact=True)
    stored = pd.read_parquet(tmp_path / "sweep.parquet")
    pd.testing.assert_frame_equal(without_wall(stored), without_wall(undisturbed), check_exact=True)
    texts = (tmp_path / "sweep.csv").read_text("utf-8").splitlines()
    assert len(texts) == 7
    assert texts[0].startswith("row,object.density,contact.friction,status,outcome,held,error,")


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_the_table_is_on_the_disk_before_the_work_that_follows(
    workers: int, undisturbed: Any, tmp_path: Path
) -> None:
    seen: dict[str, Any] = {}

    def work(table: Any, submit: Any) -> None:
        seen["files"] = [(tmp_path / name).exists() for name in ("sweep.csv", "sweep.parquet")]
        seen["table"] = without_wall(table)
        seen["process"] = submit(os.getpid)()
        seen["without a worker"] = submit(dies_elsewhere, os.getpid())()
        seen["and again"] = submit(os.getpid)()
        with pytest.raises(sg.DescriptionError):
            submit(Shard.parse, "0/0")()

    sweep(plan(), tmp_path, workers=workers, finish=Finish(work, ("no_such_module",)))
    pd.testing.assert_frame_equal(seen["table"], without_wall(undisturbed), check_exact=True)
    assert seen["files"] == [True, True]
    assert (seen["process"] == os.getpid()) == (workers == 1)
    assert seen["without a worker"] == "done here"
    assert seen["and again"] == os.getpid()  # the pool is broken


def test_a_sweep_goes_on_from_the_rows_it_has(
    undisturbed: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sweep(plan(), tmp_path, workers=1)
    journal = tmp_path / JOURNAL
    lines = journal.read_text("utf-8").splitlines(keepends=True)
    journal.write_text("".join(lines[:2]) + lines[2][:40], encoding="utf-8")  # cut in mid-line
    computed = []
    monkeypatch.setattr(
        runs, "chunk", lambda rows, *rest: computed.append(list(rows)) or chunk(rows, *rest)
    )
    table = sweep(plan(), tmp_path, workers=1)
    assert computed == [[2, 3, 4, 5]]
    pd.testing.assert_frame_equal(without_wall(table), without_wall(undisturbed), check_exact=True)


def test_a_row_is_in_the_journal_when_it_is_finished(tmp_path: Path) -> None:
    lines = []

    def progress(done: int, total: int) -> None:
        lines.append((done, count_finished(tmp_path), total))

    sweep(plan(repeats=3), tmp_path, workers=1, progress=progress)
    assert lines == [(count, count, 18) for count in range(19)]


def test_a_bad_value_is_a_row_with_an_error() -> None:
    table = sweep(plan(axes=(Axis(path="object.radius", values=(0.02, -1.0, 0.025)),)), workers=1)
    assert table["status"].tolist()[1] == FAILED
    assert table["error"][1].startswith("'object.radius' = -1.0: object.shape.radius")
    assert table["error"].tolist()[::2] == ["", ""]


def test_shards_are_merged_to_the_whole(undisturbed: Any, tmp_path: Path) -> None:
    parts = [sweep(plan(), tmp_path, workers=1, shard=Shard(k, 2)) for k in (1, 2)]
    assert [part["row"].tolist() for part in parts] == [[0, 2, 4], [1, 3, 5]]
    assert not (tmp_path / "sweep.csv").exists()
    table = merge(tmp_path)
    pd.testing.assert_frame_equal(without_wall(table), without_wall(undisturbed), check_exact=True)
    assert (tmp_path / "sweep.parquet").exists()


def test_a_merge_reports_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(sg.ResultError, match="expected shards such as shard-1-of-8, found none"):
        merge(tmp_path)
    sweep(plan(), tmp_path, workers=1, shard=Shard(1, 2))
    sentence = f"{tmp_path}: expected all 6 rows, found 3; missing: 1, 3, 5"
    with pytest.raises(sg.ResultError, match=f"^{re.escape(sentence)}$"):
        merge(tmp_path)


def test_shards_of_other_versions_or_plans_are_not_merged(tmp_path: Path, golden: Golden) -> None:
    for number in (1, 2):
        sweep(plan(), tmp_path, workers=1, shard=Shard(number, 2))
    path = tmp_path / "shard-2-of-2" / "plan.json"
    text = path.read_text()
    path.write_text(json.dumps(json.loads(text) | {"mujoco_version": "0.0.1"}))
    golden.refused(lambda: merge(tmp_path), "expected shards of one version, found", sg.ResultError)
    path.write_text(text)
    sweep(plan(axes=plan().axes[:1]), tmp_path / "other", workers=1, shard=Shard(2, 2))
    shutil.rmtree(path.parent)
    shutil.copytree(tmp_path / "other" / "shard-2-of-2", path.parent)
    with pytest.raises(sg.ResultError, match="shards of one plan, found others in shard-1"):
        merge(tmp_path)


@pytest.mark.parametrize("text", ["", "3", "0/4", "5/4", "a/b", "1/0", "1/2/3"])
def test_a_shard_is_a_part_of_a_whole(text: str) -> None:
    with pytest.raises(sg.DescriptionError, match=r"^--shard: expected I/N with I from 1 to N"):
        Shard.parse(text)
    assert Shard.parse(" 3/8 ") == (3, 8)


def test_trajectories_are_those_of_the_results(tmp_path: Path) -> None:
    table = sweep(plan(), tmp_path, workers=1, trajectories=True)
    from softgrasp.evaluation.result import digest

    kept = dict(trajectories(tmp_path))
    assert sorted(kept) == list(range(6))
    for row, arrays in kept.items():
        assert digest(arrays) == table["trajectory_sha256"][row]


def test_noise_makes_repeats_differ() -> None:
    noisy = SweepPlan(scene=pinch(duration=0.02), repeats=3, noise=PoseNoise(position=1e-3))
    table = sweep(noisy, workers=1)
    assert table["trajectory_sha256"].nunique() == 3
    assert {"noise_x_m", "noise_y_m", "noise_z_m", "noise_rad"} < set(table.columns)


KILLER = """
import os, signal, sys
from softgrasp.sweeps import executors as worker
once = sys.argv[1]
compute = worker.Rows.compute

def deadly(self, rows):
    if 3 in rows and not (os.path.exists(once) and {survives}):
        open(once, "w").close()
        os.kill(os.getpid(), signal.SIGKILL)
    return compute(self, rows)

worker.Rows.compute = deadly
"""
GUARD, SWEEP = (
    "if __name__ == '__main__':\n    ",
    (
        "from softgrasp.sweeps.run import sweep; from tests.sweeps.plans import plan; "
        "sweep(plan(), {out}, workers=2)\n"
    ),
)


def scripted(directory: Path, text: str, *words: Path) -> subprocess.CompletedProcess[str]:
    """Run a script, which spawned workers import as their main module."""
    script, root = directory / "script.py", Path(__file__).parents[2]
    script.write_text(text, encoding="utf-8")
    return subprocess.run(
        [sys.executable, script, *words], check=False, capture_output=True, text=True,
        timeout=300, cwd=directory, env=os.environ | {"PYTHONPATH": str(root)},
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("survives", [True, False])
def test_a_dead_worker_costs_nothing_but_the_row_that_kills(
    survives: bool, undisturbed: Any, tmp_path: Path
) -> None:
    """A worker is killed while it has row 3: once, or whenever the row comes."""
    text = KILLER.format(survives=survives) + GUARD + SWEEP.format(out="sys.argv[2]")
    ended = scripted(tmp_path, text, tmp_path / "once", tmp_path / "out")
    assert ended.returncode == 0, ended.stderr
    table = pd.read_parquet(tmp_path / "out" / "sweep.parquet")
    assert table["row"].tolist() == list(range(6))
    if survives:
        pd.testing.assert_frame_equal(
            without_wall(table), without_wall(undisturbed), check_exact=True
        )
        return
    assert table["status"][3] == FAILED
    assert table["error"][3] == "the worker died 3 times with this grasp"
    others = [0, 1, 2, 4, 5]
    assert table["trajectory_sha256"][others].tolist() == (
        undisturbed["trajectory_sha256"][others].tolist()
    )


@pytest.mark.slow
def test_a_script_without_main_check_is_reported(tmp_path: Path) -> None:
    ended = scripted(tmp_path, SWEEP.format(out=None))
    assert ended.returncode == 1
    assert ended.stderr.count("no worker could start; a script that asks for more") == 1
    assert ended.stderr.count("Traceback") == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("death", "cause"),
    [
        ("os.kill(os.getpid(), 9)", "one was ended by SIGKILL before its first row, as the system "
         "does where memory runs out"),
        ("os.kill(os.getpid(), 11)", "one was ended by SIGSEGV before its first row"),
        ("os._exit(3)", "one ended with exit code 3 before its first row; what it reported is "
         "above"),
        ("raise ValueError('in the script')", "one ended with exit code 1 before its first row; "
         "what it reported is above"),
    ],
)  # fmt: skip
def test_a_worker_that_dies_before_its_first_row_is_reported_with_its_cause(
    death: str, cause: str, tmp_path: Path
) -> None:
    text = f"import os\nif __name__ != '__main__':\n    {death}\nelse:\n    "
    ended = scripted(tmp_path, text + SWEEP.format(out=None))
    assert ended.returncode == 1
    assert ended.stderr.endswith(f"SimulationError: no worker could start: {cause}\n")
    assert "__main__" not in ended.stderr.splitlines()[-1]


@pytest.mark.slow
def test_a_sweep_that_is_killed_leaves_no_worker_and_is_resumed(tmp_path: Path) -> None:
    long = plan(scene=pinch(duration=0.3), repeats=4)
    script = tmp_path / "long.py"
    script.write_text(
        "import sys\n"
        "if __name__ == '__main__':\n"
        "    from softgrasp.sweeps.run import sweep\n"
        "    from softgrasp.description.sweep import SweepPlan\n"
        "    plan = SweepPlan.model_validate_json(open(sys.argv[1]).read())\n"
        "    sweep(plan, sys.argv[2], workers=2)\n",
        encoding="utf-8",
    )
    (tmp_path / "plan.json").write_text(long.model_dump_json(), encoding="utf-8")
    out = tmp_path / "out"
    process = subprocess.Popen([sys.executable, script, tmp_path / "plan.json", out])
    journal = out / JOURNAL
    for _ in range(600):
        if journal.exists() and journal.read_bytes().count(b"\n") >= 2:
            break
        time.sleep(0.1)
    children = children_of(process.pid)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert children
    assert are_gone(children)
    assert 2 <= journal.read_bytes().count(b"\n") < 24
    table = sweep(long, out, workers=2)
    assert table["row"].tolist() == list(range(24))
    hashes = table.groupby(["object.density", "contact.friction"])["trajectory_sha256"].nunique()
    assert set(hashes) == {1}  # repeats without noise are the same grasp


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"workers": 0}, "workers"),
        ({"executor": "dusk"}, "no executor 'dusk'"),
        ({"trajectories": True}, "out: expected a directory for the trajectories"),
    ],
)
def test_odd_requests(given: dict[str, Any], sentence: str, golden: Golden) -> None:
    golden.refused(lambda: sweep(plan(), **given), sentence)
