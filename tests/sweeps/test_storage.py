"""Directory of a sweep: its plan, its journal, and the lock against a second writer."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

import softgrasp as sg
from softgrasp.io.json_lines import JsonLines
from softgrasp.sweeps.run import sweep
from softgrasp.sweeps.storage import SweepStore
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
        store.add([{"row": 0}])
        store._journal = JsonLines(Path("/dev/full"))
        with pytest.raises(sg.ResultError, match="expected space for the finished rows, found: No"):
            store.add([{"row": 1}])
    assert list(SweepStore(tmp_path, plan()).finished()) == [{"row": 0}]


def test_a_damaged_plan_is_reported(tmp_path: Path) -> None:
    sweep(plan(), tmp_path, workers=1)
    file = tmp_path / "plan.json"
    content = json.loads(file.read_text("utf-8"))
    file.write_text(json.dumps(content | {"schema_version": 99}), encoding="utf-8")
    with pytest.raises(sg.ResultError, match="expected schema_version 2, found 99"):
        sweep(plan(), tmp_path, workers=1)
    file.write_text("{", encoding="utf-8")
    with pytest.raises(sg.ResultError, match=r"plan\.json: damaged: "):
        sweep(plan(), tmp_path, workers=1)
