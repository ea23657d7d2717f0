"""The page of a sweep: figures chosen by its axes, its best and worst grasps, its table."""

from __future__ import annotations

import shlex
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from softgrasp._version import __version__
from softgrasp.errors import BackendUnavailable, SoftgraspError
from softgrasp.formats.atomic import write_text
from softgrasp.report import sweep_figures as figures
from softgrasp.report.object_figure import overlay_objects
from softgrasp.report.page import templates
from softgrasp.report.shown_picture import shown_picture
from softgrasp.report.strip_figure import final_poses
from softgrasp.report.sweep_data import last_name, measures_of, numbers, short, varied, wilson
from softgrasp.simulation.run import simulate
from softgrasp.sweeps.fields import scene_of_row
from softgrasp.sweeps.rows import COLUMNS, FAILED

if TYPE_CHECKING:
    import pandas as pd

    from softgrasp.description.sweep_plan import Axis, SweepPlan
    from softgrasp.simulation.result import GraspResult

PAGE = "report.html"
MOST_POSES = 5
"""Grasps along the chosen axis that are simulated again for pictures."""
EXTREMES = 5
"""Best and worst grasps that the page names."""


class Shown(NamedTuple):
    """A figure with its heading and what it shows."""

    title: str
    path: Path
    caption: str


def write_sweep_page(plan: SweepPlan, table: pd.DataFrame, folder: str | Path) -> Path:
    """Draw the figures of a sweep and write ``report.html``.

    Args:
        plan: The plan.
        table: Its table.
        folder: Where to.

    Raises:
        ResultError: The folder cannot be written.
    """
    folder = Path(folder)
    shown = [*_drawn(plan, table, folder), *_drawn_again(plan, table, folder)]
    page = templates().get_template("sweep.html.j2").render(
        version=__version__,
        title=f"{plan.scene.hand.name} grasps {plan.scene.object.name}, {len(table)} times",
        summary=_summary(plan, table),
        axes=[(axis.path, _told(axis, table)) for axis in plan.axes],
        statuses=list(table["status"].value_counts().items()),
        shown=[(part.title, shown_picture(part.path), part.caption) for part in shown],
        extremes=_extremes(plan, table),
        failures=_failures(table),
        columns=COLUMNS.items(),
        folder=shlex.quote(folder.resolve().name),
        paths=[axis.path for axis in plan.axes],
    )  # fmt: skip
    return write_text(folder / PAGE, page)


def _drawn(plan: SweepPlan, table: pd.DataFrame, folder: Path) -> list[Shown]:
    """Figures of the numbers in the table."""
    axes = varied(plan, table)
    found: list[Shown] = []
    if not axes or not measures_of(table):
        return found
    if plan.method in ("latin", "sobol"):
        path = figures.draw_scatter(table, axes, folder / "scatter.png")
        told = f", coloured by {axes[1].path}" if len(axes) > 1 else ""
        found.append(Shown("Measures", path, f"One dot a grasp{told}."))
    else:
        path = figures.draw_lines(table, axes, folder / "lines.png")
        found.append(Shown("Measures", path, "Means, with bars from the least to the largest."))
    if plan.method == "grid" and len(axes) > 1:
        path = figures.draw_heat_maps(table, axes, folder / "heat.png")
        found.append(Shown("Two axes", path, "Means; white where no grasp has the measure."))
    if table["held"].notna().any():
        path = figures.draw_success(table, axes, folder / "success.png")
        found.append(Shown("Success", path, "Share of held grasps; lines are 95 % intervals."))
    if len(axes) > 1:
        path = figures.draw_parallel(table, axes, folder / "parallel.png")
        told = (
            "One line a grasp: green held, red not held, blue where nothing was asked (sweep.csv)."
        )
        found.append(Shown("All together", path, told))
    return found


def _drawn_again(plan: SweepPlan, table: pd.DataFrame, folder: Path) -> list[Shown]:
    """Pictures and tracks of a few grasps along the first axis, simulated again."""
    axes = varied(plan, table)
    rows = _along(table, axes[0]) if axes else table.index[:1].tolist()
    results, labels = [], []
    for row in rows:
        try:
            results.append(_again(plan, int(table["row"].iloc[row])))
        except SoftgraspError:
            continue
        labels.append(_label(axes[0], table, row) if axes else "")
    if not results:
        return []
    path = overlay_objects(results, labels, folder / "objects.png")
    told = f"Simulated again for this page; {_others(plan, axes)}."
    found = [Shown("Motion of the object", path, told)]
    try:
        path = final_poses(results, labels, folder / "poses.png")
        found.append(Shown("How they ended", path, "Seen from one place."))
    except BackendUnavailable:
        pass  # nothing here can draw; the numbers stay
    return found


def _others(plan: SweepPlan, axes: Sequence[Axis]) -> str:
    """What the grasps that are shown have in common."""
    if len(axes) < 2:
        return "one grasp a value"
    same = plan.method == "grid"
    return "the other axes at their first values" if same else "the other axes differ as well"


def _label(axis: Axis, table: pd.DataFrame, row: int) -> str:
    return f"{last_name(axis.path)} = {short(table[axis.path].iloc[row])}"


def _along(table: pd.DataFrame, axis: Axis) -> list[int]:
    """The first row of every value of an axis, or of a few that are evenly spread."""
    good = table[table["status"] != FAILED]
    first = good.drop_duplicates(axis.path)
    if len(first) > MOST_POSES:
        ordered = first.sort_values(axis.path, key=lambda column: column.map(_order))
        first = ordered.iloc[np.linspace(0, len(first) - 1, MOST_POSES).round().astype(int)]
    return [int(place) for place in first.index]


def _order(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0


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
    told = f"{len(table)} grasps over {axes} ({plan.method})"
    if len(held):
        low, high = wilson(int(held.sum()), len(held))
        interval = f"95 % interval {100 * low:.1f} … {100 * high:.1f} %"
        told += f"; {int(held.sum())} of {len(held)} held ({held.mean():.1%}, {interval})"
    failed = int((table["status"] == FAILED).sum())
    told += f"; {failed} could not be simulated" if failed else ""
    wall = float(table["wall_time_s"].sum())
    if wall > 0.0:
        told += f". {wall:.1f} s of work, {table['wall_build_s'].sum() / wall:.0%} of it for models"
    return told + "."


def _told(axis: Axis, table: pd.DataFrame) -> str:
    values = table[axis.path]
    if axis.values is None:
        return f"{short(values.min())} … {short(values.max())}, {values.nunique()} values"
    names = [short(value) for value in dict.fromkeys(values)]
    return ", ".join(names[:12]) + (f", … ({len(names)})" if len(names) > 12 else "")


def _extremes(plan: SweepPlan, table: pd.DataFrame) -> list[tuple[str, list[list[str]]]]:
    """Rows with the least and the largest of the measure that says most about success."""
    found = measures_of(table)
    if not found:
        return []
    wanted = ("hold_drop_m", "displacement_m")
    measure = next((m for name in wanted for m in found if m.column == name), found[0])
    values = numbers(table, measure)
    order = np.argsort(values, kind="stable")
    order = order[np.isfinite(values[order])]
    count = min(EXTREMES, len(order) // 2 or 1)

    def rows(places: Sequence[int]) -> list[list[str]]:
        return [
            [str(table["row"].iloc[place]), f"{values[place]:.3g}"]
            + [short(table[axis.path].iloc[place]) for axis in plan.axes]
            for place in places
        ]

    return [
        (f"Least {measure.label}", rows(order[:count].tolist())),
        (f"Largest {measure.label}", rows(order[::-1][:count].tolist())),
    ]
