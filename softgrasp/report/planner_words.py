"""What the page of a search for grasps, and the terminal, say of it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from softgrasp.report import style
from softgrasp.report.planner_figures import drift_of
from softgrasp.simulation.result import GraspResult
from softgrasp.sweeps.planner import PlannedGrasps, largest_is_best
from softgrasp.sweeps.storage import FAILED

TEST = "Test"
"""The column that says what became of the best in their test, and leads to their reports."""


class Best(NamedTuple):
    """One of the best grasps, simulated once more."""

    row: int
    result: GraspResult
    directory: Path


def verdict(result: GraspResult) -> str:
    """What became of a grasp, and of its test where there was one."""
    if result.hold is None:
        return result.status.name
    word = "held" if result.held else "not held"
    tried = result.hold.directions
    if not tried:
        return f"{word}, drift {1e3 * result.hold.drop_m:.2g} mm"
    borne = sum(test.held for test in tried)
    return f"{word}, {borne} of {len(tried)} directions, drift {1e3 * result.hold.drop_m:.2g} mm"


def in_short(result: GraspResult) -> str:
    """The same in two words."""
    if result.hold is None:
        return result.status.name
    tried = result.hold.directions
    borne = f" {sum(test.held for test in tried)} of {len(tried)}" if tried else ""
    return ("held" if result.held else "not held") + borne


def summary(planned: PlannedGrasps, best: Sequence[Best]) -> str:
    """The outcome in a few sentences."""
    table, plan = planned.table, planned.plan
    text = f"{planned.ranked} of {len(table)} hand poses ended with the hand closed on the object"
    if planned.ranked:
        first = table.iloc[0]
        text += (
            f"; the best by {plan.rank_by} is candidate {int(first['row'])} with "
            f"{float(first['score']):.4g}"
        )
    tested = [one.result for one in best if one.result.held is not None]
    if tested:
        held = sum(bool(result.held) for result in tested)
        criterion = tested[0].scene.success
        name = "the lift" if criterion is None else f"'{criterion.name}'"
        when = "" if plan.test is None else " afterwards"
        text += f". Of the best {len(tested)}, {held} passed {name}{when}"
    return text + "."


def plan_rows(planned: PlannedGrasps) -> list[tuple[str, str]]:
    """What was tried and how it ended."""
    plan, table, poses = planned.plan, planned.table, planned.plan.poses
    end = "largest" if largest_is_best(plan) else "smallest"
    ends = ", ".join(f"{count} {name}" for name, count in table["status"].value_counts().items())
    stuck = int(table["pulled_back_m"].isna().sum())
    back = f"{planned.pulled_back} of {len(table)}"
    if planned.pulled_back:
        back += f", at most {1e3 * float(table['pulled_back_m'].max()):.1f} mm"
    back += f"; {stuck} found no way out" if stuck else ""
    cone = "all around" if poses.cone == math.pi else f"within {math.degrees(poses.cone):.3g}°"
    rows = [
        ("Directions", f"{cone}, roll ± {math.degrees(poses.roll):.3g}°"),
        ("Offset", f"within {1e3 * poses.offset:.3g} mm of the grasp's centre"),
        ("What moves", f"the {poses.moves}"),
        ("Seed", str(plan.seed)),
        ("Ranked by", f"{plan.rank_by}, {end} first"),
        ("Ends", ends),
        ("Pulled back", back),
    ]
    if plan.preshapes:
        rows.append(("Preshapes", ", ".join(plan.preshapes)))
    wall = float(table["wall_time_s"].sum())
    rows.append(("Work", f"{wall:.1f} s, {wall / len(table):.3f} s a candidate"))
    return rows


def ranked_rows(
    planned: PlannedGrasps, best: Sequence[Best], count: int
) -> tuple[list[str], list[list[str]]]:
    """Heads and cells of the table of the best."""
    plan, drift = planned.plan, drift_of(planned)
    passed = {one.row: in_short(one.result) for one in best}
    heads = ["Rank", "Candidate", plan.rank_by, *([TEST] if passed else []), drift.short,
             "Contacts", "Direction", "Roll [°]", "Offset [mm]", "Back [mm]"]  # fmt: skip
    heads += ["Preshape"] if plan.preshapes else []
    rows = []
    for _, row in planned.table.head(count).iterrows():
        if row["status"] == FAILED or _missing(row["rank"]):
            break
        where = ", ".join(style.signed(float(row[f"direction_{axis}"]), 2) for axis in "xyz")
        offset = math.hypot(*(float(row[f"offset_{axis}_m"]) for axis in "xyz"))
        cells = [
            str(int(row["rank"])), str(int(row["row"])), f"{float(row['score']):.4g}",
            *([passed.get(int(row["row"]), "")] if passed else []),
            f"{1e3 * float(row[drift.column]):.3g}", str(int(row["contacts"])), f"({where})",
            style.signed(math.degrees(row["roll_rad"]), 0), f"{1e3 * offset:.1f}",
            _millimetres(row["pulled_back_m"]),
        ]  # fmt: skip
        if plan.preshapes:
            cells.append("" if _missing(row["preshape"]) else str(row["preshape"]))
        rows.append(cells)
    return heads, rows


def _missing(value: object) -> bool:
    import pandas as pd

    return value is None or value is pd.NA or value != value


def _millimetres(value: object) -> str:
    return "" if _missing(value) else f"{1e3 * float(str(value)):.1f}"
