"""Directory of a sweep: its plan, its journal, and the lock against a second writer."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import mujoco
import pytest

import softgrasp as sg
from softgrasp.io.result import JsonLines
from softgrasp.sweeps.executors import Rows
from softgrasp.sweeps.run import sweep
from softgrasp.sweeps.storage import JOURNAL, PLAN, SweepStore, _hash
from softgrasp.sweeps.table import make_failed_row
from tests.sweeps.plans import plan

pytest.importorskip("pandas", reason="pandas is the extra 'sweep'")


def test_another_plan_or_another_writer_is_refused(tmp_path: Path) -> None:
    sweep(plan(), tmp_path, workers=1)
    sentence = (
        f"{tmp_path}: expected the results of this plan, found those of another one; choose "
        "another directory"
    )
    with pytest.raises(sg.ResultError, match=f"^{re.escape(sentence)}$"):
        sweep(plan(seed=1), tmp_path, workers=1)
    sentence = f"{tmp_path}: expected no other sweep that writes here, found process {os.getpid()}"
    with (
        SweepStore(tmp_path, plan()),
        pytest.raises(sg.ResultError, match=f"^{re.escape(sentence)}$"),
    ):
        sweep(plan(), tmp_path, workers=1)


def test_a_disk_that_is_full_is_reported_and_the_rows_are_safe(tmp_path: Path) -> None:
    with SweepStore(tmp_path, plan()) as store:
        store.add([row_of(0)])
        store._journal = JsonLines(Path("/dev/full"))
        with pytest.raises(sg.ResultError, match="expected space for the finished rows, found: No"):
            store.add([row_of(1)])
    assert SweepStore(tmp_path, plan()).finished() == {0: row_of(0)}


def row_of(number: int, **changes: Any) -> dict[str, Any]:
    """Return a failed row of the plan."""
    return Rows(plan()).inputs(number) | make_failed_row("none") | changes


def sealed(**changes: Any) -> str:
    """Return a line of the journal whose hash fits its content."""
    row = row_of(1, **changes)
    return json.dumps(row | {"sha256": _hash(row)}) + "\n"


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{\n", "line 2: Expecting property name"),
        ("\x00\x00\n", "line 2: Expecting value"),
        ("[" * 99999 + "\n", "line 2: nesting that is too deep"),
        ("[1]\n", "line 2: expected a row with sha256, found none"),
        (sealed().replace("none", "nine"), "expected the content of its hash, found another"),
        (sealed(row=6), "line 2: expected a row from 0 to 5, found 6"),
        (sealed(row="1"), "line 2: expected a row from 0 to 5, found 1"),
        (sealed(row=2), "row 2: expected object.density 700.0, found 200.0"),
        (sealed(**{"contact.friction": 0.8}), "row 1: expected contact.friction 0.9, found 0.8"),
    ],
)
def test_a_damaged_or_foreign_line_is_reported_and_removed(
    tmp_path: Path, line: str, reason: str
) -> None:
    with SweepStore(tmp_path, plan()) as store:
        store.add([row_of(0), row_of(3)])
        lines = (tmp_path / JOURNAL).read_text("utf-8").splitlines(keepends=True)
        (tmp_path / JOURNAL).write_text(lines[0] + line + lines[1], encoding="utf-8")
        sentence = "found 1 damaged or foreign lines, whose rows are computed again: "
        with pytest.warns(sg.SoftgraspWarning, match=sentence) as caught:
            assert list(store.finished()) == [0, 3]
        assert reason in str(caught[0].message)
        assert (tmp_path / JOURNAL).read_text("utf-8") == "".join(lines)


def test_rows_are_resumed_with_their_plan_and_versions_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with SweepStore(tmp_path, plan()) as store:
        store.add([row_of(0)])
    monkeypatch.setattr(mujoco, "__version__", "2.0.0")
    sentence = r"expected finished rows of .* MuJoCo 2\.0\.0, found those of .* MuJoCo 3\."
    with pytest.raises(sg.ResultError, match=sentence), SweepStore(tmp_path, plan()):
        pass
    monkeypatch.undo()
    (tmp_path / PLAN).unlink()
    sentence = "expected the plan of the 1 finished rows in rows.jsonl, found none; bring it back"
    with pytest.raises(sg.ResultError, match=sentence), SweepStore(tmp_path, plan()):
        pass


def test_a_damaged_plan_is_reported(tmp_path: Path) -> None:
    sweep(plan(), tmp_path, workers=1)
    file = tmp_path / "plan.json"
    content = json.loads(file.read_text("utf-8"))
    file.write_text(json.dumps(content | {"schema_version": 99}), encoding="utf-8")
    with pytest.raises(sg.ResultError, match="expected schema_version 3, found 99"):
        sweep(plan(), tmp_path, workers=1)
    file.write_text("{", encoding="utf-8")
    with pytest.raises(sg.ResultError, match=r"plan\.json: damaged: "):
        sweep(plan(), tmp_path, workers=1)
