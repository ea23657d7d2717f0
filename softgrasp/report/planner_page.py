"""The page of a search for grasps: ranked table, directions, scores, reports of the best."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from softgrasp._version import __version__
from softgrasp.errors import BackendUnavailable
from softgrasp.formats.atomic import write_text
from softgrasp.report import planner_figures as figures
from softgrasp.report import style
from softgrasp.report.page import NO_PICTURES, PAGE, embedded, templates, write_report
from softgrasp.report.strip_figure import final_poses
from softgrasp.simulation.result import GraspResult
from softgrasp.simulation.run import simulate
from softgrasp.sweeps.planner import POSE_COLUMNS, PlannedGrasps
from softgrasp.sweeps.ranking import largest_is_best
from softgrasp.sweeps.rows import COLUMNS, FAILED

INDEX = "index.html"
SHOWN_ROWS = 20
"""Candidates in the page's table."""
TEST = "Test"
"""The column that says what became of the best afterwards, and leads to their reports."""
MOST_POSES = 5
"""Grasps side by side in the picture of the best."""

Progress = Callable[[str, float], None]
"""Called with what is being written and the part of it that is done, 0 to 1."""


class Best(NamedTuple):
    """One of the best grasps, simulated once more."""

    row: int
    result: GraspResult
    folder: Path


def write_best(
    planned: PlannedGrasps,
    folder: str | Path,
    *,
    renderer: str = "auto",
    video: bool = True,
    progress: Progress | None = None,
) -> list[Best]:
    """Simulate the best grasps with the plan's test, and write the report of each.

    Args:
        planned: The ranked grasps.
        folder: Where ``top-1``, ``top-2``, … go.
        renderer: ``auto``, ``gl``, ``raycast``, or ``none`` for no pictures.
        video: Whether to make films.
        progress: Called with what is being written and how far it is.

    Raises:
        BackendUnavailable: The renderer that was asked for, or ffmpeg, is not there.
        ResultError: The folder cannot be written.
    """
    found = []
    for rank, row in enumerate(planned.best_rows, start=1):
        own = Path(folder) / f"top-{rank}"

        def tell(file: str, done: float, where: str = own.name) -> None:
            if progress is not None:
                progress(f"{where}/{file}", done)

        tell("result.json", 0.0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # they stand in its report
            result = simulate(planned.tested(row))
        write_report(result, own, renderer=renderer, video=video, progress=tell)
        found.append(Best(row, result, own))
    return found


def write_planner_page(
    planned: PlannedGrasps,
    folder: str | Path,
    best: Sequence[Best] = (),
    *,
    renderer: str = "auto",
) -> Path:
    """Draw the figures of a search and write ``index.html``.

    Args:
        planned: The ranked grasps.
        folder: Where to.
        best: The best ones, as ``write_best`` wrote them into the same folder.
        renderer: ``auto``, ``gl``, ``raycast``, or ``none`` for no picture of the best.

    Raises:
        ResultError: The folder cannot be written.
    """
    folder, scene = Path(folder), planned.plan.scene
    shown = _drawn(planned, best, folder, renderer)
    links = {one.row: f"{one.folder.name}/{PAGE}" for one in best}
    heads, rows = ranked_rows(planned, best, SHOWN_ROWS)
    page = templates().get_template("planner.html.j2").render(
        version=__version__,
        title=f"{scene.hand.name} around {scene.object.name}, {len(planned.table)} poses",
        summary=summary(planned, best),
        facts=facts(planned),
        shown=[(title, embedded(path, "image/png"), told) for title, path, told in shown],
        heads=heads,
        rows=[(cells, links.get(int(cells[1]), "")) for cells in rows],
        test=heads.index(TEST) if TEST in heads else -1,
        count=len(planned.table),
        failures=_failures(planned),
        columns=[*POSE_COLUMNS.items(), *COLUMNS.items()],
    )  # fmt: skip
    return write_text(folder / INDEX, page)


def _drawn(
    planned: PlannedGrasps, best: Sequence[Best], folder: Path, renderer: str
) -> list[tuple[str, Path, str]]:
    """Headings, figures and what they show."""
    found = []
    few = list(best)[:MOST_POSES]
    if few and renderer != NO_PICTURES:
        labels = [f"{rank} (candidate {one.row})" for rank, one in enumerate(few, start=1)]
        try:
            path = final_poses([one.result for one in few], labels, folder / "best.png",
                               renderer=renderer, one_place=False)  # fmt: skip
            told = " ".join(
                f"{rank}: {verdict(one.result)}." for rank, one in enumerate(few, start=1)
            )
            found.append(("How the best ended", path, f"Each from its own best side. {told}"))
        except BackendUnavailable:
            pass  # nothing here can draw; the numbers stay
    path = figures.draw_directions(planned, folder / "directions.png")
    told = (
        "Where the hand came from, seen from the object, in equal areas; circles are 30° and 60° "
        f"from the middle. {figures.evenness_verdict(planned)}"
    )
    found.append(("Directions", path, told))
    if planned.ranked:
        path = figures.draw_scores(planned, folder / "scores.png")
        found.append(("Scores", path, f"{figures.correlation_verdict(planned)} Rings and red dots: "
                                      "the best."))  # fmt: skip
    return found


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
    told = f"{planned.ranked} of {len(table)} hand poses ended with the hand closed on the object"
    if planned.ranked:
        first = table.iloc[0]
        told += (
            f"; the best by {plan.rank_by} is candidate {int(first['row'])} with "
            f"{float(first['score']):.4g}"
        )
    tested = [one.result for one in best if one.result.held is not None]
    if tested:
        held = sum(bool(result.held) for result in tested)
        criterion = tested[0].scene.success
        name = "the lift" if criterion is None else f"'{criterion.name}'"
        told += f". Of the best {len(tested)}, {held} passed {name} afterwards"
    return told + "."


def facts(planned: PlannedGrasps) -> list[tuple[str, str]]:
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
    found = [
        ("Directions", f"{cone}, roll ± {math.degrees(poses.roll):.3g}°"),
        ("Offset", f"within {1e3 * poses.offset:.3g} mm of the grasp's centre"),
        ("What moves", f"the {poses.moves}"),
        ("Seed", str(plan.seed)),
        ("Ranked by", f"{plan.rank_by}, {end} first"),
        ("Ends", ends),
        ("Pulled back", back),
    ]
    if plan.preshapes:
        found.append(("Preshapes", ", ".join(plan.preshapes)))
    wall = float(table["wall_time_s"].sum())
    found.append(("Work", f"{wall:.1f} s, {wall / len(table):.3f} s a candidate"))
    return found


def ranked_rows(
    planned: PlannedGrasps, best: Sequence[Best], most: int
) -> tuple[list[str], list[list[str]]]:
    """Heads and cells of the table of the best."""
    plan, drift = planned.plan, figures.drift_of(planned)
    passed = {one.row: in_short(one.result) for one in best}
    heads = ["Rank", "Candidate", plan.rank_by, *([TEST] if passed else []), drift.short,
             "Contacts", "Direction", "Roll [°]", "Offset [mm]", "Back [mm]"]  # fmt: skip
    heads += ["Preshape"] if plan.preshapes else []
    rows = []
    for _, row in planned.table.head(most).iterrows():
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


def _failures(planned: PlannedGrasps) -> list[tuple[str, int]]:
    """The commonest errors, and how often they came."""
    table = planned.table
    counts = table.loc[table["status"] == FAILED, "error"].value_counts()
    return [(str(error), int(count)) for error, count in counts.head(10).items()]
