"""Columns of a sweep's table, and the libraries that it needs."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import softgrasp as sg
from softgrasp.sweeps import table as tables
from softgrasp.sweeps.run import sweep
from softgrasp.sweeps.table import (
    SEPARATOR,
    make_failed_row,
    read_tables,
    row_of,
    table_of,
    write_frame,
)
from tests.conftest import Golden
from tests.support.pads import pads
from tests.support.scenes import pinch
from tests.sweeps.plans import plan

pytest.importorskip("pandas", reason="pandas is the extra 'sweep'")


def test_libraries_that_are_missing_are_named(
    monkeypatch: pytest.MonkeyPatch, golden: Golden
) -> None:
    from softgrasp.sweeps import table

    monkeypatch.setattr(table, "find_spec", lambda name: None)
    golden.refused(lambda: sweep(plan()), "a sweep needs pandas and pyarrow", sg.BackendUnavailable)


def test_no_cell_is_a_formula(tmp_path: Path) -> None:
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame(
        {
            "=name": ["=1+1", "@SUM(A1)", "ball"],
            "mixed": ["-1.5", -1.5, True],
            "error": pd.Series(["+cmd|' /C calc'!A0", "-x", None], dtype="string"),
            "number": pd.Series([-1.5, None, 2.0], dtype="Float64"),
        }
    )
    write_frame(table, tmp_path / "t.csv")
    with (tmp_path / "t.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    assert rows == [
        ["'=name", "mixed", "error", "number"],
        ["'=1+1", "-1.5", "'+cmd|' /C calc'!A0", "-1.5"],
        ["'@SUM(A1)", "-1.5", "'-x", ""],
        ["ball", "True", "", "2.0"],
    ]
    assert table["=name"][0] == "=1+1"


def test_a_table_is_read_as_it_was_written(tmp_path: Path) -> None:
    pd = pytest.importorskip("pandas")
    axis = sg.description.Axis(path="object", values=("=evil", "sphere"))
    table = sweep(plan(axes=(axis,)), tmp_path, workers=1)
    pd.testing.assert_frame_equal(read_tables(tmp_path), table)
    with (tmp_path / "sweep.csv").open(encoding="utf-8", newline="") as file:
        first, *_ = csv.DictReader(file)
    assert first["object"] == "'=evil"


class CountedRow(dict[str, Any]):
    """A row that knows how many of its kind are in memory."""

    alive = largest = 0

    def __init__(self, row: dict[str, Any]) -> None:
        super().__init__(row)
        CountedRow.alive += 1
        CountedRow.largest = max(CountedRow.largest, CountedRow.alive)

    def __del__(self) -> None:
        CountedRow.alive -= 1


def test_a_table_is_the_same_in_parts_and_needs_one_part_of_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pd = pytest.importorskip("pandas")
    parquet = pytest.importorskip("pyarrow.parquet")
    axis = sg.description.Axis(path="object.density", low=100.0, high=900.0, steps=41)
    plan = sg.description.SweepPlan(scene=pinch(), axes=(axis,))
    order = np.random.default_rng(0).permutation(41).tolist()
    rows = [
        make_failed_row(f"number {row}") | {"row": row, axis.path: 100.0 + 20.0 * row}
        for row in order
    ]
    whole = table_of(plan, rows)
    assert whole["row"].tolist() == list(range(41))
    assert whole["error"].tolist() == [f"number {row}" for row in range(41)]
    monkeypatch.setattr(tables, "ROW_GROUP", 8)
    pd.testing.assert_frame_equal(table_of(plan, map(CountedRow, rows)), whole)
    assert CountedRow.largest <= 8
    tables.write_tables(whole, tmp_path)
    assert parquet.ParquetFile(tmp_path / "sweep.parquet").num_row_groups == 6
    pd.testing.assert_frame_equal(read_tables(tmp_path), whole)


def test_epsilon_is_a_column_where_requested() -> None:
    plan = sg.description.SweepPlan(
        scene=pinch(), axes=(sg.description.Axis(path="object.density", values=(300, 700)),)
    )
    assert sg.sweep(plan, workers=1)["quality_epsilon"].isna().all()
    requested = sg.sweep(plan.replace(quality=True), workers=1)
    alone = sg.simulate(plan.scene.replace(object=plan.scene.object.replace(density=300.0)))
    assert requested["quality_epsilon"][0] == pytest.approx(alone.quality["epsilon"], abs=1e-9)
    assert (requested["quality_epsilon"] > 0.1).all()


@pytest.mark.slow
def test_warnings_and_the_largest_force_over_its_limit_are_columns() -> None:
    result = sg.simulate(pinch(closure=sg.description.ForceLimitedClosure(force=2.0)))
    row = row_of(result)
    assert result.reached_forces
    assert row["force_over_limit"] == max(
        reached_force.force_N / 2.0 for reached_force in result.reached_forces
    )
    assert tuple(filter(None, row["warning_texts"].split(SEPARATOR))) == result.warnings
    assert row["warnings"] == len(result.warnings)
    assert row_of(sg.simulate(pinch()))["force_over_limit"] is None


def test_a_pull_is_a_column() -> None:
    criterion = sg.SuccessCriterion(pulls=({"direction": (0, 0, 1)},), max_drop=0.05)
    plan = sg.description.SweepPlan(
        scene=pads(2, success=criterion),
        axes=(sg.description.Axis(path="object.density", values=(300, 700)),),
    )
    table = sg.sweep(plan, workers=1)
    assert table["hold_slip_force_N"].to_numpy() == pytest.approx([8.12, 8.12], rel=0.02)
    assert table["hold_creep_m_s"].notna().all()
