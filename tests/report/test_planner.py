"""Figures and sentences of the report of a grasp search."""

from typing import Any

import pytest

import softgrasp as sg
from softgrasp.report.planner import (
    draw_directions,
    plan_rows,
    rank_rows,
    summary,
    write_planner_report,
)
from softgrasp.sweeps.planner import PlannedGrasps, candidates_of, rank_table, sweep_plan_of
from softgrasp.sweeps.table import make_failed_row
from tests.support.scenes import pinch

pd = pytest.importorskip("pandas", reason="pandas is the extra 'sweep'")


def planned(statuses: list[str], scores: list[float | None], **changes: Any) -> PlannedGrasps:
    """A search whose rows were not simulated."""
    plan = sg.description.GraspPlan(
        scene=pinch(), method="poses", candidates=len(statuses), **changes
    )
    rows = [
        {"row": row} | make_failed_row("too near" if status == "FAILED" else "") | {
            "status": status, "outcome": status, "contacts": 4 + row % 3,
            "quality_min_singular": score,
            "displacement_m": 1e-3 * row, "wall_time_s": 0.5,
        }
        for row, (status, score) in enumerate(zip(statuses, scores, strict=True))
    ]  # fmt: skip
    table = pd.DataFrame(rows)
    candidates = candidates_of(plan)
    return PlannedGrasps(
        plan=plan,
        sweep_plan=sweep_plan_of(plan, candidates),
        table=rank_table(plan, candidates, table),
    )


ENDS = ["CLOSED"] * 9 + ["EJECTED", "MISSED", "FAILED"]
FALLING: list[float | None] = [2.0 - 0.1 * row for row in range(9)] + [0.0, None, None]


@pytest.fixture(scope="module")
def mixed() -> PlannedGrasps:
    return planned(ENDS, FALLING)


def test_the_sentences_agree_with_the_numbers(mixed):
    assert summary(mixed, ()) == (
        "9 of 12 hand poses ended with the hand closed on the object; the best by "
        "smallest singular value of G is candidate 0 with 2."
    )
    assert dict(plan_rows(mixed))["Outcomes"] == "9 CLOSED, 1 EJECTED, 1 MISSED, 1 FAILED"


def test_only_ranked_grasps_stand_in_the_table(mixed):
    heads, rows = rank_rows(mixed, (), 20)
    assert len(rows) == 9
    assert all(len(row) == len(heads) for row in rows)
    assert [row[1] for row in rows] == [str(row) for row in range(9)]


def test_the_report_holds_everything_and_needs_no_other_file(mixed, tmp_path):
    page = write_planner_report(mixed, tmp_path).read_text()
    assert "1 ×: too near" in page
    assert page.count("data:image/png;base64,") == 1
    assert "<td><a" not in page  # no reports were written


def test_figures_stand_a_search_without_any_grasp(tmp_path):
    nothing = planned(["EJECTED", "FAILED"], [None, None])
    assert draw_directions(nothing, tmp_path / "directions.png").exists()
    assert "0 of 2 hand poses" in write_planner_report(nothing, tmp_path).read_text()
