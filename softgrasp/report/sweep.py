"""HTML report of a parameter sweep: measures over the axes, success rates, example grasps.

The figures depend on the plan: lines and heat maps for grids, scatter plots for sampled plans,
success rates with Wilson intervals where rows are drawn at random, and parallel coordinates. The
most informative grasps (best, worst, one per outcome) are simulated again for overlays and images.
"""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Sequence
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from softgrasp._version import __version__
from softgrasp.description.base import Description, field_docs
from softgrasp.description.object import GraspObject
from softgrasp.description.sweep import SAMPLING_METHODS
from softgrasp.description.task import SuccessCriterion
from softgrasp.errors import BackendUnavailable, SoftgraspError
from softgrasp.io.files import write_text
from softgrasp.io.mesh_files import MESH_SUFFIXES
from softgrasp.mechanics.transforms import Array
from softgrasp.report import style
from softgrasp.report.contact_figures import final_poses
from softgrasp.report.grasp_page import displayed_path, embedded_image, templates
from softgrasp.report.grasp_text import GONE, out_of_hand
from softgrasp.report.time_series import overlay_objects
from softgrasp.sim.simulate import simulate
from softgrasp.sweeps.parameters import SHORT, scene_of_row
from softgrasp.sweeps.table import COLUMNS, FAILED

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from softgrasp.description.scene import GraspScene
    from softgrasp.description.sweep import Axis, SweepPlan
    from softgrasp.sim.result import GraspResult


REPORT = "report.html"
MAX_POSES = 5
"""Maximum number of grasps that are simulated again for images."""

FIGURE_COLUMNS = 3
"""Maximum number of panels per row."""
MAX_SERIES = len(style.SERIES)
MAX_LETTERS = 28
"""Total characters of the tick labels of an axis; longer labels are rotated."""
BELOW = 0.06
"""Vertical distance between the crosses of two lines, over the height of the panel."""
CROSS = "×"
"""Symbol of grasps that end without the object in the hand."""

HEAD_WIDTH = 15
"""Maximum characters in a line of an axis head."""
MAX_LINES = 2000
"""Maximum number of lines of a parallel-coordinates plot; larger tables are thinned."""
COLORS: dict[Any, str] = {True: style.EDGE, False: style.LOST, None: style.POSITION}
"""Colours of grasps that held, did not hold, and had no hold test."""

EXTREMES = 5
"""Number of best and worst grasps in the table."""
RANKING_MEASURES = ("hold_drop_m", "displacement_m")
"""Measures that rank the grasps, in order of preference."""

DECADES = 30.0
"""Axes that span more than this factor are logarithmic."""
LETTER = 0.075
"""Width of a character of a tick label [in]."""

NORMAL_95 = 1.959963984540054
"""97.5 % quantile of the standard normal distribution."""
MAX_LEVELS = 12
"""Axes with more values are grouped into ranges."""

_UNIT = re.compile(r"\[([^\[\]]+)\]")


class Shown(NamedTuple):
    """A figure with its heading and caption."""

    title: str
    path: Path
    caption: str


class ExampleRow(NamedTuple):
    """A row of the table that is shown as an example."""

    position: int
    """Index in the table, from 0."""
    reason: str


class Measure(NamedTuple):
    """A column of the table with its display name and unit."""

    column: str
    name: str
    unit: str
    scale: float
    """Factor from the unit of the column to the displayed unit."""
    of_motion: bool = False
    """Whether it measures object motion, which is meaningless for a lost object."""

    @property
    def label(self) -> str:
        """Name and unit."""
        return f"{self.name} [{self.unit}]"


class Level(NamedTuple):
    """Rows with one value, or one range of values, of an axis."""

    label: str
    rows: NDArray[np.bool_]
    """Mask of the rows."""


MEASURES = (
    Measure("displacement_m", "displacement", "mm", 1e3, of_motion=True),
    Measure("rotation_rad", "rotation", "°", math.degrees(1.0), of_motion=True),
    Measure("final_force_N", "sum of normal forces", "N", 1.0),
    Measure("largest_force_N", "largest force", "N", 1.0),
    Measure("all_established_s", "last contact established", "s", 1.0),
    Measure("hold_drop_m", "drift in the hand", "mm", 1e3, of_motion=True),
    Measure("quality_friction_margin", "friction margin", "–", 1.0),
    Measure("quality_min_singular", "smallest singular value of G", "–", 1.0),
    Measure("quality_epsilon", "ε", "–", 1.0),
)


def write_sweep_report(plan: SweepPlan, table: pd.DataFrame, directory: str | Path) -> Path:
    """Draw the figures of a sweep and write ``report.html``.

    Args:
        plan: The sweep plan.
        table: The table of results.
        directory: Output directory.

    Raises:
        ResultError: The directory cannot be written.
    """
    directory = Path(directory)
    shown = [*_draw_table(plan, table, directory), *_draw_examples(plan, table, directory)]
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
        # as entered, so that the printed command works in the same working directory
        directory=displayed_path(directory),
        paths=[axis_label(plan.scene, axis.path) for axis in plan.axes],
    )  # fmt: skip
    return write_text(directory / REPORT, html)


def _draw_table(plan: SweepPlan, table: pd.DataFrame, directory: Path) -> list[Shown]:
    """Draw the figures of the table; return them with captions."""
    axes, left_out = varied(plan, table), _left_out(table)
    shown_figures: list[Shown] = []
    if not axes or not measures_of(table):
        return shown_figures
    if plan.method in SAMPLING_METHODS:
        path = draw_scatter(plan, table, directory / "scatter.png")
        text = f", coloured by {axes[1].path}" if len(axes) > 1 else ""
        shown_figures.append(Shown("Measures", path, f"One dot per grasp{text}.{left_out}"))
    else:
        path = draw_lines(plan, table, directory / "lines.png")
        shown_figures.append(Shown("Measures", path, f"{_points(plan, table)}{left_out}"))
    if plan.method == "grid" and len(axes) > 1:
        path = draw_heat_maps(plan, table, directory / "heat.png")
        text = "One grasp per cell" if len(table) == _combinations(table, axes[:2]) else "Means"
        text += "; white: no grasp has the measure."
        if left_out:
            text += " Cross with a number: excluded grasps of the cell, as above."
        shown_figures.append(Shown("Two axes", path, text))
    if table["held"].notna().any():
        path = draw_success(plan, table, directory / "success.png")
        text = "; lines are 95 % intervals" if at_random(plan) else ""
        shown_figures.append(Shown("Success", path, f"Fraction of held grasps{text}."))
    if len(axes) > 1:
        path = draw_parallel(plan, table, directory / "parallel.png")
        text = (
            "One line per grasp: green held, red not held, blue without hold test (sweep.csv). "
            "Lines are interrupted at missing measures."
        )
        shown_figures.append(Shown("All axes and measures", path, text))
    return shown_figures


def _left_out(table: pd.DataFrame) -> str:
    """Sentence about the grasps that the figures exclude."""
    gone = int(lost(table).sum())
    if gone == 0:
        return ""
    text = f" {gone} of {len(table)} grasps ended without the object in the hand"
    if not any(measure.of_motion for measure in measures_of(table)):
        return f"{text}."
    return (
        f"{text}: crosses at the upper edge. They are excluded from displacement, rotation and "
        "drift, which would only measure the fall."
    )


def _points(plan: SweepPlan, table: pd.DataFrame) -> str:
    """Caption that explains the points of the lines."""
    axes = varied(plan, table)
    if len(table) == _combinations(table, axes[:2]):
        return "One point per grasp."
    over = [axis.path for axis in axes[2:]] + ["repeats"] * (plan.repeats > 1)
    text = f" over {', '.join(over)}" if over else ""
    return f"Means{text}, with bars from minimum to maximum."


def _combinations(table: pd.DataFrame, axes: list[Axis]) -> int:
    return len(table.drop_duplicates([axis.path for axis in axes]))


def _draw_examples(plan: SweepPlan, table: pd.DataFrame, directory: Path) -> list[Shown]:
    """Simulate the example grasps again and draw their trajectories and final states."""
    results: list[GraspResult] = []
    shown: list[ExampleRow] = []
    for one in example_rows(plan, table, MAX_POSES):
        try:
            results.append(_simulate_row(plan, int(table["row"].iloc[one.position])))
        except SoftgraspError:
            continue
        shown.append(one)
    if not results:
        return []
    numbers = [f"row {table['row'].iloc[one.position]}" for one in shown]
    values = [values_of(plan, table, one.position) for one in shown]
    text = [
        f"{number}{f' ({one.reason})' if one.reason else ''}"
        for number, one in zip(numbers, shown, strict=True)
    ]
    caption = f"Simulated again for this report: {', '.join(text)}."
    labels = [f"{number}: {value}" if value else number
              for number, value in zip(numbers, values, strict=True)]  # fmt: skip
    path = overlay_objects(results, labels, directory / "objects.png")
    suffix = " Curves of a lost object are clipped." if _is_clipped(results) else ""
    shown_figures = [Shown("Motion of the object", path, f"{caption}{suffix}")]
    try:
        path = final_poses(results, numbers, directory / "poses.png", captions=values)
        shown_figures.append(Shown("Final states", path, f"{caption} All with one camera."))
    except BackendUnavailable:
        pass  # no renderer: the report has no images
    return shown_figures


def _simulate_row(plan: SweepPlan, row: int) -> GraspResult:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # listed in the table
        return simulate(scene_of_row(plan, row))


def _is_clipped(results: list[GraspResult]) -> bool:
    gone = [out_of_hand(result) for result in results]
    return any(gone) and not all(gone)


def _summary(plan: SweepPlan, table: pd.DataFrame) -> str:
    held = table["held"].dropna()
    axes = "1 axis" if len(plan.axes) == 1 else f"{len(plan.axes)} axes"
    text = f"{len(table)} grasps over {axes} ({plan.method})"
    if len(held):
        text += f"; {int(held.sum())} of {len(held)} held"
        if at_random(plan):  # a grid is reproducible and has no interval
            low, high = wilson(int(held.sum()), len(held))
            interval = f"95 % interval {100 * low:.1f} … {100 * high:.1f} %"
            text += f" ({held.mean():.1%}, {interval})"
    failed = int((table["status"] == FAILED).sum())
    text += f"; {failed} could not be simulated" if failed else ""
    wall = float(table["wall_time_s"].sum())
    if wall > 0.0:
        text += (
            f". {wall:.1f} s of computation, {table['wall_build_s'].sum() / wall:.0%} for models"
        )
    return text + "."


def _axis_text(axis: Axis, table: pd.DataFrame) -> str:
    values = table[axis.path]
    if axis.values is None:
        return f"{short(values.min())} … {short(values.max())}, {values.nunique()} values"
    names = [short(value) for value in dict.fromkeys(values)]
    return ", ".join(names[:12]) + (f", … ({len(names)})" if len(names) > 12 else "")


def _failures(table: pd.DataFrame) -> list[tuple[str, int]]:
    """Most frequent errors with their counts."""
    counts = table.loc[table["status"] == FAILED, "error"].value_counts()
    return [(str(error), int(count)) for error, count in counts.head(10).items()]


def draw_lines(plan: SweepPlan, table: pd.DataFrame, path: Path) -> Path:
    """Draw measures over the first axis, one line per value of the second one.

    Lines connect means; bars span minimum to maximum over repeats and further axes. Crosses at the
    upper edge are grasps that ended without the object in the hand.
    """
    axes, measures = varied(plan, table), measures_of(table)
    other: list[Level | None] = [None]
    if len(axes) > 1:
        other = [*levels(table, axes[1].path)[:MAX_SERIES]]
    with style.figure(path, _height(len(measures))) as figure:
        for panel, measure in zip(_panels(figure, len(measures)), measures, strict=True):
            for index, level in enumerate(other):
                color = style.SERIES[index]
                rows = np.ones(len(table), dtype=bool) if level is None else level.rows
                label = None if level is None else _key(plan, axes[1], level)
                _line(panel, table[rows], axes[0], measure, color, label)
                if measure.of_motion:
                    _crosses(panel, table[rows & lost(table)], axes[0], color, 1.0 - BELOW * index)
            panel.set_title(measure.label)
            panel.set_xlabel(axis_label(plan.scene, axes[0].path))
            fit_ticks(panel, table, axes[0], _width(figure, panel))
        handles = _handles(figure)
        if handles or lost(table).any():
            handles += _lost_key(table)
            style.legend(figure, handles, columns=min(len(handles), 5))
    return path


def _height(count: int, each: float = 1.9) -> float:
    return 0.65 + each * -(-count // FIGURE_COLUMNS)


def _panels(figure: Any, count: int, *, wide: float = 0.45) -> list[Axes]:
    """Add panels in rows of three."""
    columns = min(count, FIGURE_COLUMNS)
    grid = style.panels(
        figure, -(-count // columns), columns, margins=(0.7, wide, 0.65, 0.55), gaps=(wide, 0.75)
    )
    return [figure.add_subplot(grid[index // columns, index % columns]) for index in range(count)]


def _key(plan: SweepPlan, axis: Axis, level: Level) -> str:
    unit = unit_of(plan.scene, axis.path)
    unit_text = f" {unit}" if unit not in ("", "–") else ""
    return f"{last_name(axis.path)} = {level.label}{unit_text}"


def _line(
    panel: Axes, table: pd.DataFrame, axis: Axis, measure: Measure, color: str, label: str | None
) -> None:
    at: list[Any] = []
    low, mean, high = list[float](), list[float](), list[float]()
    for value, rows in table.groupby(axis.path, sort=is_numeric(table, axis.path)):
        values = numbers(rows, measure)
        values = values[np.isfinite(values)]
        if values.size:
            at.append(value if is_numeric(table, axis.path) else short(value))
            low.append(float(values.min()))
            mean.append(float(values.mean()))
            high.append(float(values.max()))
    if not at:
        return
    middle = np.array(mean)
    errors = np.abs([middle - low, high - middle])
    joined = 1.2 if is_numeric(table, axis.path) else 0.0  # no interpolation between names
    panel.errorbar(at, middle, errors, color=color, label=label, marker="o", markersize=3,
                   linewidth=joined, elinewidth=0.7, capsize=2)  # fmt: skip


def _crosses(panel: Axes, table: pd.DataFrame, axis: Axis, color: str, height: float = 1.0) -> None:
    """Draw crosses at a fraction of the height of the panel."""
    at = table[axis.path]
    at = at if is_numeric(table, axis.path) else at.map(short)
    values = list(dict.fromkeys(at))
    if not values:
        return
    panel.margins(y=0.15)  # keeps the largest values below the crosses
    panel.plot(values, [height] * len(values), ls="", marker="x", ms=5, mew=1.3, color=color,
               transform=panel.get_xaxis_transform(), clip_on=False)  # fmt: skip


def _width(figure: Figure, panel: Axes) -> float:
    """Width of a panel [in]."""
    return float(panel.get_position().width * figure.get_size_inches()[0])


def _handles(figure: Figure) -> list[Any]:
    """Legend entries of all lines; a single panel may lack some."""
    handles_by_label: dict[str, Any] = {}
    for panel in figure.axes:
        handles, labels = panel.get_legend_handles_labels()
        handles_by_label |= dict(zip(labels, handles, strict=True))
    return list(handles_by_label.values())


def _lost_key(table: pd.DataFrame) -> list[Any]:
    from matplotlib.lines import Line2D

    key = Line2D([], [], ls="", marker="x", color=style.INK, label="not in the hand at the end")
    drawn = any(measure.of_motion for measure in measures_of(table))
    return [key] if drawn and lost(table).any() else []


def draw_heat_maps(plan: SweepPlan, table: pd.DataFrame, path: Path) -> Path:
    """Draw the means of measures over the first two axes of a grid."""
    (first, second), measures = varied(plan, table)[:2], measures_of(table)
    across, along = levels(table, first.path), levels(table, second.path)
    with style.figure(path, _height(len(measures), 2.4)) as figure:
        for panel, measure in zip(_panels(figure, len(measures), wide=0.95), measures, strict=True):
            values = numbers(table, measure)
            cells = [[_finite_mean(values[x.rows & y.rows]) for x in across] for y in along]
            image = panel.imshow(cells, origin="lower", aspect="auto", cmap="viridis")
            if measure.of_motion:
                _mark_lost(panel, lost(table), across, along)
            _name_ticks(panel, across)
            panel.set_yticks(range(len(along)), [level.label for level in along])
            panel.grid(False)
            panel.set_title(measure.label)
            panel.set_xlabel(axis_label(plan.scene, first.path))
            panel.set_ylabel(axis_label(plan.scene, second.path))
            figure.colorbar(image, ax=panel, fraction=0.05, pad=0.03, format=compact)
    return path


def _finite_mean(values: Array) -> float:
    finite = values[np.isfinite(values)]
    return float(finite.mean()) if finite.size else float("nan")


def _mark_lost(
    panel: Axes, gone: NDArray[np.bool_], across: list[Level], along: list[Level]
) -> None:
    """Write the number of excluded grasps into each cell."""
    for row, y in enumerate(along):
        for column, x in enumerate(across):
            count, whole = int(gone[x.rows & y.rows].sum()), int((x.rows & y.rows).sum())
            if count:
                text = CROSS if whole == 1 else f"{CROSS} {count}"
                panel.text(column, row, text, ha="center", va="center", fontsize=8,
                           fontweight="bold", color=style.LOST,
                           bbox={"facecolor": "white", "lw": 0, "pad": 1.5})  # fmt: skip


def _name_ticks(panel: Axes, shown: list[Level]) -> None:
    names = [level.label for level in shown]
    long = sum(map(len, names)) > MAX_LETTERS
    tick_style: dict[str, Any] = {"rotation": 30, "ha": "right"} if long else {}
    panel.set_xticks(range(len(names)), names, **tick_style)


def draw_scatter(plan: SweepPlan, table: pd.DataFrame, path: Path) -> Path:
    """Draw measures of sampled grasps over the first axis, coloured by the second."""
    axes, measures = varied(plan, table), measures_of(table)
    first = axes[0]
    color = table[axes[1].path] if len(axes) > 1 and is_numeric(table, axes[1].path) else None
    with style.figure(path, _height(len(measures))) as figure:
        for panel, measure in zip(_panels(figure, len(measures), wide=0.95), measures, strict=True):
            at = table[first.path]
            at = at if is_numeric(table, first.path) else at.map(short)
            tint: dict[str, Any] = {"color": style.POSITION}
            if color is not None:
                tint = {"c": color.to_numpy(dtype=float), "cmap": "viridis"}
            dots = panel.scatter(at, numbers(table, measure), s=8, linewidths=0, **tint)
            if measure.of_motion:
                _crosses(panel, table[lost(table)], first, style.LOST)
            panel.set_title(measure.label)
            panel.set_xlabel(axis_label(plan.scene, first.path))
            fit_ticks(panel, table, first, _width(figure, panel))
            if color is not None:
                bar = figure.colorbar(dots, ax=panel, fraction=0.05, pad=0.03, format=compact)
                bar.set_label(axis_label(plan.scene, axes[1].path), fontsize=7)
    return path


def draw_success(plan: SweepPlan, table: pd.DataFrame, path: Path) -> Path:
    """Draw the rate of held grasps for every value of every axis.

    Rows drawn at random get 95 % confidence intervals; a grid without noise has none.
    """
    axes, tested = varied(plan, table), table[table["held"].notna()]
    with style.figure(path, _height(len(axes))) as figure:
        for panel, axis in zip(_panels(figure, len(axes)), axes, strict=True):
            shown = levels(tested, axis.path)
            for index, level in enumerate(shown):
                held = tested["held"].to_numpy(dtype=bool)[level.rows]
                rate = float(held.mean()) if held.size else 0.0
                panel.bar(index, 100 * rate, color=style.ESTABLISHED, edgecolor=style.EDGE)
                if at_random(plan):
                    low, high = wilson(int(held.sum()), len(held))
                    panel.vlines(index, 100 * low, 100 * high, color=style.INK, linewidth=1.0)
                count_text = f"{int(held.sum())} of {len(held)}"
                panel.annotate(count_text, (index, 2), ha="center", fontsize=6.5)
            _name_ticks(panel, shown)
            panel.set_xlim(-0.8, len(shown) - 0.2)
            panel.set_ylim(0, 105)
            # as a title, because rotated tick labels need the space below
            panel.set_title(f"held [%] by {axis_label(plan.scene, axis.path)}")
            panel.grid(axis="x", visible=False)
    return path


def draw_parallel(plan: SweepPlan, table: pd.DataFrame, path: Path) -> Path:
    """Draw all axes and measures as parallel coordinates, interrupted at missing values."""
    from matplotlib.collections import LineCollection

    axes, measures = varied(plan, table), measures_of(table)
    shown = table.iloc[:: max(len(table) // MAX_LINES, 1)]
    columns = [_axis_numbers(shown, axis.path) for axis in axes]
    columns += [numbers(shown, measure) for measure in measures]
    heads = [_broken(axis_label(plan.scene, axis.path)) for axis in axes]
    heads += [f"{fill(measure.name, HEAD_WIDTH)}\n[{measure.unit}]" for measure in measures]
    ends = [(float(np.nanmin(column)), float(np.nanmax(column))) for column in columns]
    scaled = [
        (column - low) / (high - low or 1.0)
        for column, (low, high) in zip(columns, ends, strict=True)
    ]
    states = zip(shown["held"], shown["held"].notna(), strict=True)
    tints = [COLORS[bool(held) if known else None] for held, known in states]
    with style.figure(path, 3.6) as figure:
        panel = figure.add_axes((0.05, 0.12, 0.9, 0.68))
        lines = np.stack([np.tile(np.arange(len(columns)), (len(shown), 1)), np.array(scaled).T],
                         axis=-1)  # fmt: skip
        alpha = float(np.clip(60 / len(shown), 0.08, 0.7))
        panel.add_collection(LineCollection(list(lines), colors=tints, alpha=alpha, linewidths=0.8))
        _draw_scales(panel, heads, ends)
    return path


def _axis_numbers(table: pd.DataFrame, path: str) -> Array:
    """Values of an axis as numbers; names by their index."""
    if is_numeric(table, path):
        return table[path].to_numpy(dtype=float)
    names = list(dict.fromkeys(table[path]))
    return np.array([float(names.index(value)) for value in table[path]])


def _broken(label: str) -> str:
    """Break a label after its first dot and before its unit."""
    return label.replace(".", ".\n", 1).replace(" [", "\n[")


def _draw_scales(panel: Axes, heads: list[str], ends: list[tuple[float, float]]) -> None:
    panel.set_xlim(0, len(heads) - 1)
    panel.set_ylim(-0.03, 1.03)
    panel.set_xticks(range(len(heads)), [""] * len(heads))
    panel.set_yticks([])
    panel.spines["left"].set_visible(False)
    panel.spines["bottom"].set_visible(False)
    for index, (head, (low, high)) in enumerate(zip(heads, ends, strict=True)):
        panel.axvline(index, color=style.MUTED, linewidth=0.7)
        panel.annotate(head, (index, 1.12), ha="center", va="bottom", fontsize=7,
                       annotation_clip=False)  # fmt: skip
        for value, y in ((low, -0.09), (high, 1.06)):
            text = compact(float(f"{value:.3g}"))
            panel.annotate(text, (index, y), ha="center", va="center", fontsize=6.5,
                           color=style.MUTED, annotation_clip=False)  # fmt: skip


def example_rows(plan: SweepPlan, table: pd.DataFrame, max_rows: int) -> list[ExampleRow]:
    """Select example rows: the best, one per other outcome, the worst, then the most different.

    They are returned in the order of the table.
    """
    good = np.flatnonzero((table["status"] != FAILED).to_numpy())
    reasons: dict[int, str] = {}
    measure = ranking_measure(table)
    order = [] if measure is None else ordered(table, measure)[0]
    held = [position for position in order if table["held"].fillna(value=True).iloc[position]]
    if measure is not None and held:
        reasons[held[0]] = f"smallest {measure.name}"
    for position in good.tolist():
        ends = {_outcome(table, other) for other in reasons}
        if len(reasons) < max_rows and (not reasons or _outcome(table, position) not in ends):
            reasons[position] = _outcome(table, position)
    if measure is not None and order and len(reasons) < max_rows:
        reasons.setdefault(order[-1], f"largest {measure.name}")
    marks = _features(plan, table)
    while reasons and len(reasons) < min(max_rows, len(good)):
        # farthest point sampling in the space of axes and measures
        distance = np.abs(marks[good][:, None] - marks[list(reasons)]).sum(axis=2).min(axis=1)
        distance[np.isin(good, list(reasons))] = -1.0
        reasons[int(good[np.argmax(distance)])] = "different from those"
    return [ExampleRow(position, reasons[position]) for position in sorted(reasons)]


def _outcome(table: pd.DataFrame, position: int) -> str:
    """Outcome of a grasp in one or two words."""
    status, held = str(table["status"].iloc[position]), table["held"]
    if not held.notna().iloc[position] or lost(table)[position]:
        return status
    return "held" if held.iloc[position] else f"{status}, not held"


def _features(plan: SweepPlan, table: pd.DataFrame) -> Array:
    """Numeric axes and measures of all rows, scaled to [0, 1]; −1 where missing."""
    numeric = [axis.path for axis in varied(plan, table) if is_numeric(table, axis.path)]
    columns = [table[path].to_numpy(dtype=float) for path in numeric]
    columns += [numbers(table, measure) for measure in measures_of(table)]
    marks = np.full((len(table), max(len(columns), 1)), -1.0)
    for index, column in enumerate(columns):
        low, high = np.nanmin(column), np.nanmax(column)
        marks[:, index] = np.nan_to_num((column - low) / (high - low or 1.0), nan=-1.0)
    return marks


def values_of(plan: SweepPlan, table: pd.DataFrame, position: int) -> str:
    """Axis values of a row: ``density 700 kg/m³, friction 0.2``."""
    texts = []
    for axis in varied(plan, table):
        unit = unit_of(plan.scene, axis.path)
        text = f"{last_name(axis.path)} {short(table[axis.path].iloc[position])}"
        texts.append(f"{text} {unit}" if unit not in ("", "–") else text)
    return ", ".join(texts)


def extremes(plan: SweepPlan, table: pd.DataFrame) -> list[tuple[str, list[list[str]]]]:
    """Tables of the rows with the smallest and largest ranking measure, and of lost objects."""
    measure, tables = ranking_measure(table), list[tuple[str, list[list[str]]]]()

    def rows(positions: Sequence[int], texts: Sequence[str]) -> list[list[str]]:
        return [
            [str(table["row"].iloc[position]), text]
            + [short(table[axis.path].iloc[position]) for axis in plan.axes]
            for position, text in zip(positions, texts, strict=True)
        ]

    if measure is not None:
        order, values = ordered(table, measure)
        count = min(EXTREMES, len(order) // 2 or 1)
        for word, positions in (("Smallest", order[:count]), ("Largest", order[::-1][:count])):
            texts = [f"{values[position]:.3g}" for position in positions]
            tables.append((f"{word} {measure.label}", rows(positions, texts)))
    gone = np.flatnonzero(lost(table)).tolist()[:EXTREMES]
    if gone:
        texts = [str(table["status"].iloc[position]) for position in gone]
        tables.append(("Not in the hand at the end", rows(gone, texts)))
    return tables


def measures_of(table: pd.DataFrame) -> list[Measure]:
    """Measures with values of at least two grasps."""
    return [m for m in MEASURES if np.isfinite(numbers(table, m)).sum() > 1]


def numbers(table: pd.DataFrame, measure: Measure) -> Array:
    """Values of a measure in the displayed unit, NaN where missing.

    Measures of motion are NaN for lost objects: the distance of the fall is not a property of the
    grasp and would dominate the scale.
    """
    values = table[measure.column].to_numpy(dtype=float, na_value=np.nan) * measure.scale
    return np.where(lost(table), np.nan, values) if measure.of_motion else values


def lost(table: pd.DataFrame) -> NDArray[np.bool_]:
    """Whether the object is not in the hand at the end, per row; see ``out_of_hand``."""
    dropped = (table["held"] == False) & (table["contacts"] == 0)  # noqa: E712 - elementwise
    gone = table["status"].isin([status.name for status in GONE]) | dropped
    return gone.to_numpy(dtype=bool, na_value=False)


def levels(table: pd.DataFrame, path: str) -> list[Level]:
    """Levels of an axis: its values, or six quantile ranges if it has many."""
    column = table[path]
    values = sorted(column.unique()) if is_numeric(table, path) else list(dict.fromkeys(column))
    if len(values) <= MAX_LEVELS or not is_numeric(table, path):
        return [Level(short(value), (column == value).to_numpy()) for value in values]
    column_values = column.to_numpy(dtype=float)
    edges = np.quantile(column_values, np.linspace(0.0, 1.0, 7))
    bins = np.clip(np.searchsorted(edges, column_values, side="right") - 1, 0, 5)
    ends = [compact(float(f"{edge:.3g}")) for edge in edges]
    return [Level(f"{ends[k]}…{ends[k + 1]}", np.asarray(bins == k)) for k in range(6)]


def varied(plan: SweepPlan, table: pd.DataFrame) -> list[Axis]:
    """Axes with at least two values."""
    return [axis for axis in plan.axes if table[axis.path].nunique() > 1]


def is_numeric(table: pd.DataFrame, path: str) -> bool:
    """Whether the values of an axis are numbers."""
    return bool(np.issubdtype(table[path].to_numpy().dtype, np.number))


def at_random(plan: SweepPlan) -> bool:
    """Whether rows are drawn at random, so that rates have confidence intervals."""
    return plan.method in SAMPLING_METHODS or plan.noise.position > 0.0 or plan.noise.rotation > 0.0


def wilson(successes: int, trials: int) -> tuple[float, float]:
    """Wilson score interval (95 %) of a rate (Wilson 1927, J. Am. Stat. Assoc. 22, 209)."""
    if trials == 0:
        return 0.0, 1.0
    z, rate = NORMAL_95, successes / trials
    middle = (rate + z * z / (2 * trials)) / (1 + z * z / trials)
    spread = math.sqrt(rate * (1 - rate) / trials + z * z / (4 * trials * trials))
    half = z * spread / (1 + z * z / trials)
    low = 0.0 if successes == 0 else max(middle - half, 0.0)
    return low, 1.0 if successes == trials else min(middle + half, 1.0)


def fit_ticks(axes: Axes, table: pd.DataFrame, axis: Axis, width: float) -> None:
    """Set scale and ticks of an x axis; the swept values are the ticks if they are few.

    Args:
        axes: The panel.
        table: The sweep's table.
        axis: The sweep axis along x.
        width: Width of the panel [in].
    """
    from matplotlib.ticker import LogLocator, NullLocator

    if not is_numeric(table, axis.path):
        axes.tick_params(axis="x", rotation=30)
        axes.margins(x=0.15)
        return
    values = sorted({float(value) for value in table[axis.path]})
    log = values[0] > 0 and (axis.log or values[-1] / values[0] > DECADES)
    if log:
        axes.set_xscale("log")
    axes.xaxis.set_minor_locator(NullLocator())
    if len(values) <= MAX_LEVELS:
        axes.set_xticks(spaced_ticks(values, width, log=log))
    elif log:
        few = values[-1] / values[0] < 1e3
        axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if few else (1.0,)))
    else:
        axes.locator_params(axis="x", nbins=5)
    axes.xaxis.set_major_formatter(compact)


def spaced_ticks(values: Sequence[float], width: float, *, log: bool) -> list[float]:
    """Select ascending values whose tick labels do not overlap on an axis of a width [in]."""
    if len(values) < 2:
        return list(values)
    positions = [math.log(value) if log else value for value in values]
    inch = 0.9 * width / (positions[-1] - positions[0])  # matplotlib adds 5 % at each end

    def free(one: int, other: int) -> bool:
        letters = 0.5 * (len(compact(values[one])) + len(compact(values[other]))) + 1.0
        return abs(positions[one] - positions[other]) * inch >= LETTER * letters

    kept, last = [0], len(values) - 1
    for index in range(1, last):
        if free(kept[-1], index) and free(index, last):
            kept.append(index)
    return [values[index] for index in [*kept, last]]


def axis_label(scene: GraspScene, path: str) -> str:
    """Label of an axis with its unit: ``object.density [kg/m³]``."""
    unit = unit_of(scene, path)
    return f"{path} [{unit}]" if unit else path


def unit_of(scene: GraspScene, path: str) -> str:
    """Unit of a scene field, read from its docstring; empty without a unique unit.

    Args:
        scene: The scene.
        path: Path of the field, or a short name of the sweep.
    """
    owner, field, node = None, "", scene
    for part in re.findall(r"\w+", SHORT.get(path, path).replace("[*]", "[0]")):
        owner, field, node = _step(owner, field, node, part)
    doc = field_docs(type(owner)).get(field, "") if isinstance(owner, Description) else ""
    match = _UNIT.search(doc)
    return "" if match is None or " or " in match[1] else match[1]


def _step(owner: Any, field: str, node: Any, part: str) -> tuple[Any, str, Any]:
    """Follow one path component; return the owner, the field name and its value."""
    if part.isdigit():
        inside = isinstance(node, tuple | list) and int(part) < len(node)
        return owner, field, node[int(part)] if inside else None
    if isinstance(node, GraspObject) and part not in GraspObject.model_fields:
        node = node.shape  # shape fields may be addressed through the object
    defaults = {"contact": getattr(node, "requested_contact", None), "success": SuccessCriterion()}
    held = getattr(node, part, None)
    return node, part, defaults.get(part) if held is None else held


def short(value: object) -> str:
    """Format an axis value briefly."""
    if isinstance(value, int | float | np.number):
        return compact(float(value))
    text = str(value)
    if Path(text).suffix.lower() in MESH_SUFFIXES:
        text = Path(text).stem
    return text if len(text) <= 18 else f"{text[:17]}…"


def compact(value: float, _position: object = None) -> str:
    """Format with four digits and the suffixes k and M; also a matplotlib tick formatter."""
    for letter, size in (("M", 1e6), ("k", 1e4)):
        if abs(value) >= size:
            return f"{value / (1e6 if letter == 'M' else 1e3):.4g}{letter}"
    return f"{value:.4g}".replace("-", "\N{MINUS SIGN}")


def last_name(path: str) -> str:
    """Last component of a field path."""
    return path.rsplit(".", 1)[-1]


def ranking_measure(table: pd.DataFrame) -> Measure | None:
    """Measure that ranks the grasps; None without one."""
    measures = measures_of(table)
    return next((m for name in RANKING_MEASURES for m in measures if m.column == name), None)


def ordered(table: pd.DataFrame, measure: Measure) -> tuple[list[int], Array]:
    """Positions of rows with a value in ascending order, and the values of all rows."""
    values = numbers(table, measure)
    order = np.argsort(values, kind="stable")
    return order[np.isfinite(values[order])].tolist(), values
