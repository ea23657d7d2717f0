"""The page of a sweep: figures chosen by its axes, its best and worst grasps, its table."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from softgrasp._version import __version__
from softgrasp.description.sweep_plan import DRAWN
from softgrasp.errors import BackendUnavailable, SoftgraspError
from softgrasp.formats.atomic import write_text
from softgrasp.report import sweep_figures as figures
from softgrasp.report.letting_go import out_of_hand
from softgrasp.report.object_figure import overlay_objects
from softgrasp.report.page import displayed_path, templates
from softgrasp.report.shown_picture import embedded_image
from softgrasp.report.strip_figure import final_poses
from softgrasp.report.sweep_data import at_random, lost, measures_of, short, varied, wilson
from softgrasp.report.sweep_parallel_figure import draw_parallel
from softgrasp.report.sweep_rows import ExampleRow, example_rows, extremes, values_of
from softgrasp.report.sweep_units import axis_label
from softgrasp.simulation.run import simulate
from softgrasp.sweeps.parameters import scene_of_row
from softgrasp.sweeps.storage import COLUMNS, FAILED

if TYPE_CHECKING:
    import pandas as pd

    from softgrasp.description.sweep_plan import Axis, SweepPlan
    from softgrasp.simulation.result import GraspResult

REPORT = "report.html"
MAX_POSES = 5
"""Grasps that are simulated again for pictures."""


class Shown(NamedTuple):
    """A figure with its heading and what it shows."""

    title: str
    path: Path
    caption: str


def write_sweep_report(plan: SweepPlan, table: pd.DataFrame, directory: str | Path) -> Path:
    """Draw the figures of a sweep and write ``report.html``.

    Args:
        plan: The plan.
        table: Its table.
        directory: Where to.

    Raises:
        ResultError: The folder cannot be written.
    """
    directory = Path(directory)
    shown = [*_drawn(plan, table, directory), *_drawn_again(plan, table, directory)]
    html = templates().get_template("sweep.html.j2").render(
        version=__version__,
        title=f"{plan.scene.hand.name} grasps {plan.scene.object.name}, {len(table)} times",
        summary=_summary(plan, table),
        axes=[(axis_label(plan.scene, axis.path), _axis_text(axis, table)) for axis in plan.axes],
        statuses=list(table["status"].value_counts().items()),
        shown=[(part.title, embedded_image(part.path), part.caption) for part in shown],
        extremes=extremes(plan, table),
        failures=_failures(table),
        columns=COLUMNS.items(),
        # as it was typed, so that the command is right where the sweep was started
        directory=displayed_path(directory),
        paths=[axis_label(plan.scene, axis.path) for axis in plan.axes],
    )  # fmt: skip
    return write_text(directory / REPORT, html)


def _drawn(plan: SweepPlan, table: pd.DataFrame, directory: Path) -> list[Shown]:
    """Figures of the numbers in the table."""
    axes, left_out = varied(plan, table), _left_out(table)
    shown_figures: list[Shown] = []
    if not axes or not measures_of(table):
        return shown_figures
    if plan.method in DRAWN:
        path = figures.draw_scatter(plan, table, directory / "scatter.png")
        text = f", coloured by {axes[1].path}" if len(axes) > 1 else ""
        shown_figures.append(Shown("Measures", path, f"One dot a grasp{text}.{left_out}"))
    else:
        path = figures.draw_lines(plan, table, directory / "lines.png")
        shown_figures.append(Shown("Measures", path, f"{_points(plan, table)}{left_out}"))
    if plan.method == "grid" and len(axes) > 1:
        path = figures.draw_heat_maps(plan, table, directory / "heat.png")
        text = "One grasp a cell" if len(table) == _combinations(table, axes[:2]) else "Means"
        text += "; white where no grasp has the measure."
        if left_out:
            text += " A cross with a number: so many grasps of the cell are left out, as above."
        shown_figures.append(Shown("Two axes", path, text))
    if table["held"].notna().any():
        path = figures.draw_success(plan, table, directory / "success.png")
        text = "; lines are 95 % intervals" if at_random(plan) else ""
        shown_figures.append(Shown("Success", path, f"Share of held grasps{text}."))
    if len(axes) > 1:
        path = draw_parallel(plan, table, directory / "parallel.png")
        text = (
            "One line a grasp: green held, red not held, blue where nothing was asked (sweep.csv). "
            "A line breaks where its grasp lacks the measure."
        )
        shown_figures.append(Shown("All together", path, text))
    return shown_figures


def _points(plan: SweepPlan, table: pd.DataFrame) -> str:
    """What a point of the lines is."""
    axes = varied(plan, table)
    if len(table) == _combinations(table, axes[:2]):
        return "One point a grasp."
    over = [axis.path for axis in axes[2:]] + ["repeats"] * (plan.repeats > 1)
    text = f" over {', '.join(over)}" if over else ""
    return f"Means{text}, with bars from the least to the largest."


def _combinations(table: pd.DataFrame, axes: list[Axis]) -> int:
    return len(table.drop_duplicates([axis.path for axis in axes]))


def _left_out(table: pd.DataFrame) -> str:
    """How many grasps have no place in the figures, and why."""
    gone = int(lost(table).sum())
    if gone == 0:
        return ""
    text = f" {gone} of {len(table)} grasps ended without the object in the hand"
    if not any(measure.of_motion for measure in measures_of(table)):
        return f"{text}; how far it fell says nothing."
    return (
        f"{text}: crosses at the upper edge. How far it fell says nothing, so displacement, "
        "rotation and drift leave them out."
    )


def _drawn_again(plan: SweepPlan, table: pd.DataFrame, directory: Path) -> list[Shown]:
    """Pictures and tracks of the grasps that tell most, simulated again."""
    results: list[GraspResult] = []
    shown: list[ExampleRow] = []
    for one in example_rows(plan, table, MAX_POSES):
        try:
            results.append(_again(plan, int(table["row"].iloc[one.position])))
        except SoftgraspError:
            continue
        shown.append(one)
    if not results:
        return []
    numbers = [f"row {table['row'].iloc[one.position]}" for one in shown]
    values = [values_of(plan, table, one.position) for one in shown]
    text = [
        f"{number}{f' ({one.why})' if one.why else ''}"
        for number, one in zip(numbers, shown, strict=True)
    ]
    caption = f"Simulated again for this page: {', '.join(text)}."
    labels = [f"{number}: {value}" if value else number
              for number, value in zip(numbers, values, strict=True)]  # fmt: skip
    path = overlay_objects(results, labels, directory / "objects.png")
    cut = " Curves of a lost object are cut." if _cut(results) else ""
    shown_figures = [Shown("Motion of the object", path, f"{caption}{cut}")]
    try:
        path = final_poses(results, numbers, directory / "poses.png", captions=values)
        shown_figures.append(Shown("How they ended", path, f"{caption} Seen from one place."))
    except BackendUnavailable:
        pass  # nothing here can draw; the numbers stay
    return shown_figures


def _cut(results: list[GraspResult]) -> bool:
    gone = [out_of_hand(result) for result in results]
    return any(gone) and not all(gone)


def _again(plan: SweepPlan, row: int) -> GraspResult:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # they are in the table
        return simulate(scene_of_row(plan, row))


def _failures(table: pd.DataFrame) -> list[tuple[str, int]]:
    """The commonest errors, and how often they came."""
    counts = table.loc[table["status"] == FAILED, "error"].value_counts()
    return [(str(error), int(count)) for error, count in counts.head(10).items()]


def _summary(plan: SweepPlan, table: pd.DataFrame) -> str:
    held = table["held"].dropna()
    axes = "1 axis" if len(plan.axes) == 1 else f"{len(plan.axes)} axes"
    text = f"{len(table)} grasps over {axes} ({plan.method})"
    if len(held):
        text += f"; {int(held.sum())} of {len(held)} held"
        if at_random(plan):  # a grid would come out the same again
            low, high = wilson(int(held.sum()), len(held))
            interval = f"95 % interval {100 * low:.1f} … {100 * high:.1f} %"
            text += f" ({held.mean():.1%}, {interval})"
    failed = int((table["status"] == FAILED).sum())
    text += f"; {failed} could not be simulated" if failed else ""
    wall = float(table["wall_time_s"].sum())
    if wall > 0.0:
        text += f". {wall:.1f} s of work, {table['wall_build_s'].sum() / wall:.0%} of it for models"
    return text + "."


def _axis_text(axis: Axis, table: pd.DataFrame) -> str:
    values = table[axis.path]
    if axis.values is None:
        return f"{short(values.min())} … {short(values.max())}, {values.nunique()} values"
    names = [short(value) for value in dict.fromkeys(values)]
    return ", ".join(names[:12]) + (f", … ({len(names)})" if len(names) > 12 else "")
