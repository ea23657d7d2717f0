"""The grasp planner: many hand poses around an object, closed and ranked.

Candidates are rows of a sweep, so workers, resuming and the table's columns are those of sweeps.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from softgrasp._version import __version__
from softgrasp.description.grasp_plan import GraspPlan
from softgrasp.description.scene import GraspScene
from softgrasp.description.sweep_plan import SweepPlan
from softgrasp.errors import ResultError
from softgrasp.formats.atomic import atomic_path, write_text
from softgrasp.sweeps.candidates import Candidate, candidates_of, sweep_plan_of
from softgrasp.sweeps.fields import scene_of_row
from softgrasp.sweeps.ranking import largest_is_best, order, require_scored, scores
from softgrasp.sweeps.rows import COLUMNS, FAILED
from softgrasp.sweeps.run import Progress, sweep
from softgrasp.sweeps.store import PLAN as SWEEP_PLAN
from softgrasp.sweeps.store import plan_in
from softgrasp.sweeps.table import require_pandas

if TYPE_CHECKING:
    import pandas as pd

PLAN, GRASPS = "grasp_plan.json", "grasps.csv"
POSE_COLUMNS: dict[str, str] = {
    "rank": "1 is the best; empty where the grasp has no score",
    "row": "number of the candidate",
    "score": "what it is ranked by; empty where it did not end CLOSED",
    "direction_x": "where the hand is, seen from the object, in the frame of the object [–]",
    "direction_y": "[–]",
    "direction_z": "[–]",
    "roll_rad": "turn of the hand about its approach [rad]",
    "offset_x_m": "of the object's centre from where the scene has it, in the hand's frame [m]",
    "offset_y_m": "[m]",
    "offset_z_m": "[m]",
    "pulled_back_m": "how far the hand was pulled back to stand clear of the object [m]; empty "
    "where no way led out",
    "preshape": "posture that it started from; empty where the scene's own",
}
"""Columns before those of sweeps, in this order, with their meaning."""


@dataclass(frozen=True, kw_only=True)
class PlannedGrasps:
    """What came out of a search for grasps."""

    plan: GraspPlan
    sweep_plan: SweepPlan
    """The sweep in which every candidate is a row."""
    table: pd.DataFrame
    """A row a candidate, the best first; columns ``POSE_COLUMNS``, then those of sweeps."""

    @property
    def ranked(self) -> int:
        """How many candidates have a score."""
        return int(self.table["rank"].notna().sum())

    @property
    def failed(self) -> int:
        """How many could not be simulated; ``error`` says why."""
        return int((self.table["status"] == FAILED).sum())

    @property
    def pulled_back(self) -> int:
        """How many would have started inside the hand and were pulled back."""
        return int((self.table["pulled_back_m"] > 0.0).sum())

    @property
    def best_rows(self) -> list[int]:
        """Numbers of the best candidates, ``plan.top`` at most, the best first."""
        count = min(self.plan.top, self.ranked)
        return [int(row) for row in self.table["row"].iloc[:count]]

    @cached_property
    def top(self) -> tuple[GraspScene, ...]:
        """Their scenes, ready to be simulated: with the same trajectories as in the table."""
        return tuple(self.scene(row) for row in self.best_rows)

    def scene(self, row: int) -> GraspScene:
        """The scene of a candidate by its number."""
        return scene_of_row(self.sweep_plan, row)

    def tested(self, row: int) -> GraspScene:
        """The same with what the plan's ``test`` asks of the grasp after it has closed."""
        scene, test = self.scene(row), self.plan.test
        return scene if test is None else scene.replace(success=test, lift=None)


def plan_grasps(
    plan: GraspPlan,
    out: str | Path | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
) -> PlannedGrasps:
    """Try hand poses around an object, close the hand in each, and rank the grasps.

    Poses are drawn from the plan's seed; a hand that would stand in the object is pulled back
    along its approach. Whether the way to a pose is free is not asked. Nothing but columns with
    ``wall`` in their name depends on the number of workers.

    Args:
        plan: The plan.
        out: Folder for the plan, rows and tables; finished rows that it has are not computed
            again. Nothing is written where it is not given.
        workers: Processes; as many as cores where not given, and fewer for few candidates.
        progress: Called with finished and all candidates.

    Raises:
        DescriptionError: ``rank_by`` is no numeric column, or it is not known which end is best.
        BuildError: The hand cannot be built.
        ResultError: The folder cannot be written, is in use, or belongs to another plan.
        BackendUnavailable: pandas is not installed.
        SimulationError: No worker can start.
    """
    require_pandas()
    largest_is_best(plan)
    require_scored(plan)
    candidates = candidates_of(plan)
    swept = sweep_plan_of(plan, candidates)
    if out is not None:
        swept = _as_kept(swept, Path(out))
    rows = sweep(swept, out, workers=workers, progress=progress)
    table = ranked_table(plan, candidates, rows)
    if out is not None:
        _write(plan, table, Path(out))
    return PlannedGrasps(plan=plan, sweep_plan=swept, table=table)


def ranked_table(
    plan: GraspPlan, candidates: Sequence[Candidate], rows: pd.DataFrame
) -> pd.DataFrame:
    """Candidates and what became of them, the best first.

    Args:
        plan: The plan.
        candidates: In their order.
        rows: The table of their sweep.
    """
    import pandas as pd

    score = pd.Series(scores(plan, rows), dtype="Float64")
    score = score.mask(score.isna())
    table = pd.DataFrame(_pose_columns(candidates))
    table.insert(1, "score", score)
    table = pd.concat([table, rows[list(COLUMNS)]], axis=1).iloc[order(plan, rows)]
    table = table.reset_index(drop=True)
    rank = pd.Series(range(1, len(table) + 1), dtype="Int64").mask(table["score"].isna())
    table.insert(0, "rank", rank)
    return table[[*POSE_COLUMNS, *COLUMNS]]


def _as_kept(swept: SweepPlan, directory: Path) -> SweepPlan:
    """The sweep of a folder where it has all that is asked for, and ε besides."""
    if (directory / SWEEP_PLAN).exists():
        kept = plan_in(directory)
        if kept.quality and kept == swept.replace(quality=True):
            return kept
        if swept.quality and kept == swept.replace(quality=False):
            raise ResultError(
                f"{directory}: expected grasps with ε to rank them by quality_epsilon, found ones "
                "without: choose another folder"
            )
    return swept


def _pose_columns(candidates: Sequence[Candidate]) -> dict[str, object]:
    import pandas as pd

    columns: dict[str, object] = {"row": [one.row for one in candidates]}
    for index, axis in enumerate("xyz"):
        columns[f"direction_{axis}"] = [float(one.direction[index]) for one in candidates]
        columns[f"offset_{axis}_m"] = [float(one.offset[index]) for one in candidates]
    distances = [one.pulled_back for one in candidates]
    return columns | {
        "roll_rad": [one.roll for one in candidates],
        "pulled_back_m": pd.Series(distances, dtype="Float64"),
        "preshape": pd.Series([one.preshape for one in candidates], dtype="string"),
    }


def _write(plan: GraspPlan, table: pd.DataFrame, directory: Path) -> None:
    content = {"softgrasp_version": __version__, "plan": plan.model_dump(mode="json")}
    write_text(directory / PLAN, json.dumps(content, indent=1) + "\n")
    with atomic_path(directory / GRASPS) as path:
        table.to_csv(path, index=False, lineterminator="\n")
