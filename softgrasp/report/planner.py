"""HTML report of a grasp search: ranked hand poses, approach directions, best grasps.

``write_best`` simulates the best candidates with the hold test of the plan and writes a report of
each; ``write_planner_report`` writes the page that links them. Directions are drawn in the
frame of the object.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from softgrasp.errors import BackendUnavailable
from softgrasp.evaluation.result import GraspResult
from softgrasp.io.files import write_text
from softgrasp.mechanics.transforms import Array
from softgrasp.pipeline import simulate
from softgrasp.rendering.video import SIZE as VIDEO_SIZE
from softgrasp.rendering.viewpoint import Viewpoint
from softgrasp.report import style
from softgrasp.report.contact_figures import final_poses
from softgrasp.report.grasp_report import (
    NO_IMAGES,
    REPORT,
    Figure,
    Progress,
    render_html,
    write_report,
)
from softgrasp.report.style import signed
from softgrasp.report.sweep_measures import MEASURES, failures
from softgrasp.sweeps.planner import POSE_COLUMNS, PlannedGrasps, largest_is_best
from softgrasp.sweeps.table import COLUMNS, FAILED

if TYPE_CHECKING:
    import pandas as pd


INDEX = "index.html"
BEST, DIRECTIONS = "best.png", "directions.png"
FILES = (INDEX, BEST, DIRECTIONS, "directions.csv", "scores.png", "scores.csv")
"""Files of the report, of which earlier versions wrote the last two."""

TEST = "Test"
"""Column with the hold-test result of the best grasps, linked to their reports."""

ENDS = {"MISSED": ("o", style.MUTED), "EJECTED": ("x", style.LOST),
        "DROPPED": ("v", style.LOST), "NOT_CLOSED": ("*", style.MUTED),
        "TIMED_OUT": ("s", style.TARGET), "UNSTABLE": ("D", style.TARGET),
        "FAILED": ("+", style.INK)}  # fmt: skip
"""Markers of candidates without a score."""


class Best(NamedTuple):
    """One of the best grasps, simulated again with the hold test."""

    row: int
    result: GraspResult
    directory: Path


def write_best(
    planned: PlannedGrasps,
    directory: str | Path,
    *,
    renderer: str = "auto",
    video: bool = True,
    progress: Progress | None = None,
    video_size: tuple[int, int] = VIDEO_SIZE,
    viewpoint: Viewpoint | None = None,
) -> list[Best]:
    """Simulate the best grasps with the hold test of the plan and write a report of each.

    ``directory`` is the parent of ``top-1``, ``top-2``, …; the options are
    those of ``write_report``.

    Raises:
        BackendUnavailable: The requested renderer, or ffmpeg, is not available.
        ResultError: The directory cannot be written.
    """
    reports = []
    for rank, row in enumerate(planned.best_rows, start=1):
        run_directory = Path(directory) / f"top-{rank}"

        def progress_of_run(file: str, done: float, where: str = run_directory.name) -> None:
            if progress is not None:
                progress(f"{where}/{file}", done)

        progress_of_run("result.json", 0.0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # listed in the report of the run
            result = simulate(planned.tested(row))
        write_report(
            result, run_directory, renderer=renderer, video=video, progress=progress_of_run,
            video_size=video_size, viewpoint=viewpoint,
        )  # fmt: skip
        reports.append(Best(row, result, run_directory))
    return reports


def write_planner_report(
    planned: PlannedGrasps,
    directory: str | Path,
    best: Sequence[Best] = (),
    *,
    renderer: str = "auto",
) -> Path:
    """Draw the figures of a grasp search and write ``index.html``.

    ``best`` are grasps of ``write_best`` in the same directory; the renderer ``none`` draws no
    image of them.

    Raises:
        ResultError: The directory cannot be written.
    """
    directory, scene = Path(directory), planned.plan.scene
    figures = _draw(planned, best, directory, renderer)
    links = {candidate.row: f"{candidate.directory.name}/{REPORT}" for candidate in best}
    heads, rows = rank_rows(planned, best, 20)
    html = render_html(
        "planner.html.j2",
        figures=figures,
        title=f"{scene.hand.name} around {scene.object.name}, {len(planned.table)} grasps",
        summary=summary(planned, best),
        properties=plan_rows(planned),
        heads=heads,
        rows=[(cells, links.get(int(cells[1]), "")) for cells in rows],
        test=heads.index(TEST) if TEST in heads else -1,
        count=len(planned.table),
        failures=failures(planned.table),
        columns=[*POSE_COLUMNS.items(), *COLUMNS.items()],
    )  # fmt: skip
    return write_text(directory / INDEX, html)


def _draw(
    planned: PlannedGrasps, best: Sequence[Best], directory: Path, renderer: str
) -> list[Figure]:
    """Draw all figures."""
    figures = []
    few = list(best)[:5]
    if few and renderer != NO_IMAGES:
        labels = [f"{rank} (candidate {element.row})" for rank, element in enumerate(few, start=1)]
        try:
            path = final_poses([item.result for item in few], labels, directory / BEST,
                               renderer=renderer, one_viewpoint=False)  # fmt: skip
            verdicts = (
                f" {rank}: {verdict(element.result)}." for rank, element in enumerate(few, start=1)
            )
            text = f"Each with its best camera.{''.join(verdicts)}"
            figures.append(Figure("Final states of the best", path, text))
        except BackendUnavailable:
            pass  # no renderer: the report has no images
    path = draw_directions(planned, directory / DIRECTIONS)
    caption = "Approach directions seen from the object: longitude about z from +x, and latitude."
    figures.append(Figure("Directions", path, caption))
    return figures


def draw_directions(planned: PlannedGrasps, path: Path) -> Path:
    """Draw the approach directions on the sphere, coloured by score, the best numbered.

    Longitude about z and latitude are in the frame of the object, in Mollweide's equal-area
    projection.
    """
    table = planned.table
    score = _numbers(table, "score")
    x, y, z = (_numbers(table, f"direction_{axis}") for axis in "xyz")
    longitude, latitude = np.arctan2(y, x), np.arcsin(np.clip(z, -1.0, 1.0))
    ranked = np.isfinite(score)
    with style.figure(path, 4.6, 9.6) as (figure, columns):
        columns.add({"x": x, "y": y, "z": z, "status": table["status"].tolist(),
                     planned.plan.rank_by: score})  # fmt: skip
        axes = figure.add_subplot(projection="mollweide")
        x, y, label = longitude[ranked], latitude[ranked], "ranked, coloured by score"
        dots = axes.scatter(x, y, 22, score[ranked], cmap="viridis", linewidths=0, label=label)
        for outcome, (mark, color) in ENDS.items():
            others = ~ranked & (table["outcome"] == outcome).to_numpy(dtype=bool)
            if others.any():
                label = f"{others.sum()} {outcome}"
                x, y = longitude[others], latitude[others]
                axes.scatter(x, y, 16, [color], marker=mark, linewidths=0.8, label=label)
        for row in range(len(planned.best_rows)):
            point = float(longitude[row]), float(latitude[row])
            axes.scatter(*point, 95, facecolors="none", edgecolors=style.LOST, linewidths=1.3)
            axes.annotate(str(row + 1), point, (7, 5), textcoords="offset points",
                          fontsize=8.5, fontweight="bold", color=style.LOST)  # fmt: skip
        if planned.ranked:
            bar = figure.colorbar(dots, fraction=0.03, pad=0.04)
            bar.set_label(rank_name(planned), fontsize=8)
        style.legend(figure)
    return path


def _numbers(table: pd.DataFrame, column: str) -> Array:
    return np.asarray(table[column].to_numpy(dtype=float, na_value=np.nan))


def rank_name(planned: PlannedGrasps) -> str:
    """Return the name of the measure that ranks grasps; by default that of its column."""
    column = planned.plan.rank_by
    return next((m.name for m in MEASURES if m.column == column and m.unit == "–"), column)


def summary(planned: PlannedGrasps, best: Sequence[Best]) -> str:
    """Summary of the search in one or two sentences."""
    table, plan = planned.table, planned.plan
    what = "hand poses" if plan.method == "poses" else "grasps"
    text = f"{planned.ranked} of {len(table)} {what} ended with the hand closed on the object"
    if table["held"].notna().any():
        text += f", {int(table['held'].fillna(False).sum())} were held"
    if planned.ranked:
        first = table.iloc[0]
        text += (
            f"; the best by {rank_name(planned)} is candidate {int(first['row'])} with "
            f"{float(first['score']):.4g}"
        )
    tested = [candidate.result for candidate in best if candidate.result.held is not None]
    if tested:
        held = sum(bool(result.held) for result in tested)
        criterion = tested[0].scene.success
        name = "the lift" if criterion is None else f"'{criterion.name}'"
        suffix = "" if plan.test is None else " afterwards"
        text += f". Of the best {len(tested)}, {held} passed {name}{suffix}"
    return text + "."


def plan_rows(planned: PlannedGrasps) -> list[tuple[str, str]]:
    """Rows (name, value) of the search space and the outcomes."""
    plan, table, poses = planned.plan, planned.table, planned.plan.poses
    end = "largest" if largest_is_best(plan) else "smallest"
    ends = ", ".join(f"{count} {name}" for name, count in table["outcome"].value_counts().items())
    stuck = int(table["pulled_back_m"].isna().sum())
    back = f"{planned.pulled_back} of {len(table)}"
    if planned.pulled_back:
        back += f", at most {1e3 * float(table['pulled_back_m'].max()):.1f} mm"
    back += f"; {stuck} without a collision-free pose" if stuck else ""
    cone = "all directions" if poses.cone == math.pi else f"within {math.degrees(poses.cone):.3g}°"
    synthesized = int(table["predicted"].notna().sum())
    drawn = [
        ("Directions", f"{cone}, roll ± {math.degrees(poses.roll):.3g}°"),
        ("Offset", f"within {1e3 * poses.offset:.3g} mm of the grasp's centre"),
    ]
    if plan.method == "synthesis":
        depth = f"{1e3 * float(table['penetration_m'].max()):.2f} mm" if synthesized else "–"
        drawn = [
            ("Directions", cone),
            ("Synthesized", f"{synthesized} of {len(table)}, the others are poses at random"),
            ("Largest penetration", depth),
        ]
    rows = [
        *drawn,
        ("Moved body", poses.moves),
        ("Seed", str(plan.seed)),
        ("Ranked by", f"{plan.rank_by}, {end} first"),
        ("Outcomes", ends),
        ("Pulled back", back),
    ]
    if plan.preshapes:
        rows.append(("Preshapes", ", ".join(plan.preshapes)))
    wall = float(table["wall_time_s"].sum())
    rows.append(("Computation", f"{wall:.1f} s, {wall / len(table):.3f} s per candidate"))
    return rows


def rank_rows(
    planned: PlannedGrasps, best: Sequence[Best], count: int
) -> tuple[list[str], list[list[str]]]:
    """Heads and cells of the table of ranked candidates."""
    plan = planned.plan
    drift, moved = "displacement_m", "Moved [mm]"
    if planned.table["hold_drop_m"].notna().any():
        drift, moved = "hold_drop_m", "Drift [mm]"
    passed = {candidate.row: verdict(candidate.result, short=True) for candidate in best}
    heads = ["Rank", "Candidate", plan.rank_by, *([TEST] if passed else []), moved,
             "Contacts", "Direction", "Roll [°]", "Offset [mm]", "Pulled back [mm]"]  # fmt: skip
    heads += ["Preshape"] if plan.preshapes else []
    rows = []
    for _, row in planned.table.head(count).iterrows():
        if row["status"] == FAILED or _missing(row["rank"]):
            break
        where = ", ".join(signed(float(row[f"direction_{axis}"]), 2) for axis in "xyz")
        offset = math.hypot(*(float(row[f"offset_{axis}_m"]) for axis in "xyz"))
        untested = str(row["outcome"]) if plan.test is None else "–"  # with another test
        cells = [
            str(int(row["rank"])), str(int(row["row"])), f"{float(row['score']):.4g}",
            *([passed.get(int(row["row"]), untested)] if passed else []),
            f"{1e3 * float(row[drift]):.3g}", str(int(row["contacts"])), f"({where})",
            signed(math.degrees(row["roll_rad"]), 0), f"{1e3 * offset:.1f}",
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


def verdict(result: GraspResult, *, short: bool = False) -> str:
    """Return the outcome of a grasp, with the numbers of its hold test; ``short`` for a table."""
    word = result.outcome.name
    if result.hold is None:
        return word
    tried = result.hold.directions
    borne = f"{sum(test.held for test in tried)} of {len(tried)}" if tried else ""
    if short:
        return f"{word} {borne}".rstrip()
    borne = f", {borne} directions" if tried else ""
    return f"{word}{borne}, drift {1e3 * result.hold.drop_m:.2g} mm"
