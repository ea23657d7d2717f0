"""Figures of a parameter sweep: outcomes, lines or dots, rates."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from softgrasp.description.sweep import SAMPLING_METHODS
from softgrasp.evaluation.outcome import Outcome
from softgrasp.mechanics.transforms import Array
from softgrasp.report import style
from softgrasp.report.sweep_measures import (
    MAX_LEVELS,
    Level,
    averaging,
    axis_label,
    compact,
    draw_measures,
    is_log,
    last_name,
    levels,
    lost,
    numbers,
    pooled_over,
    short,
    unit_of,
    wilson,
)
from softgrasp.sweeps.table import FAILED, SUCCESSES, cells_of, is_numeric, vary

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from softgrasp.description.sweep import Axis, SweepPlan

DPI = 200
"""Dots per inch: twice those of a page, for screens of twice the resolution."""
FIGURE_COLUMNS = 3
"""Maximum number of panels per row."""
MAX_SERIES = len(style.SERIES)
MARGIN_LABEL = "friction margin [–], 0: slips"
MAP_LETTERS, MAX_TICKS = 90, 30
"""Total characters and maximum number of tick labels of an axis of the figure of outcomes."""
MARKERS = dict(zip([*Outcome.__members__, FAILED], "oPospXDvd^*ohH", strict=True))
"""Markers of outcomes."""
LETTER = 0.075
"""Width of a character of a tick label [in]."""


def draw_outcomes(plan: SweepPlan, table: pd.DataFrame, path: Path) -> Path:
    """Draw the outcomes in the plane of the first two axes, coloured by their margins to slipping.

    Each combination is a point, over the margin where there is one axis.
    """
    axes = vary(plan, table)[:2]
    cells = cells_of(table, [axis.path for axis in axes])
    margins = cells["margin"].to_numpy(dtype=float, na_value=np.nan)
    steps = [_steps(cells, axis) for axis in axes]
    # names of values that are too long to stand side by side
    crowded = isinstance(steps[0].shown[0], str) and (
        sum(map(len, _tick_names(steps[0]))) > MAP_LETTERS
    )
    labels = [axis_label(plan.scene, axis.path) for axis in axes]
    height = float(np.clip(1.5 + 0.3 * len(steps[-1].shown), 3.0, 8.0)) if len(axes) > 1 else 3.4
    right = 0.9 if len(axes) > 1 else 0.3  # with room for a colour bar
    bottom, top = 0.75 + 0.4 * crowded, 0.35
    with style.figure(path, height, dpi=DPI) as (figure, columns):
        columns.add({
            **{label: cells[axis.path].tolist() for label, axis in zip(labels, axes, strict=True)},
            "outcome": cells["outcome"].tolist(), "grasps": cells["grasps"].tolist(),
            "of this outcome": cells["count"].tolist(), "friction margin [–]": margins,
        })  # fmt: skip
        (panel,) = style.subplots(figure, 1, margins=(0.95, right, bottom, top))
        colored = _draw_points(panel, table, axes, cells, margins, steps)
        style.legend(figure, columns=8)
        names = [f"{label}{_scale_text(axis, step)}"
                 for label, axis, step in zip(labels, axes, steps, strict=True)]  # fmt: skip
        panel.set_xlabel(names[0])
        letters = int((height - bottom - top) / LETTER)
        panel.set_ylabel(fill(names[1], letters) if len(names) > 1 else MARGIN_LABEL)
        if np.isfinite(margins).any() and len(axes) > 1:
            box = panel.get_position()
            bar = figure.add_axes((1.0 - (right - 0.15) / style.WIDTH, box.y0, 0.015, box.height))
            figure.colorbar(colored, cax=bar).set_label(MARGIN_LABEL)
        style.footnote(figure, _pool(plan, table))
    return path


def _tick_names(steps: _Steps) -> list[str]:
    """Return the names of values, of some of them empty where there are many."""
    every = -(-len(steps.shown) // MAX_TICKS)
    names = [entry if isinstance(entry, str) else compact(entry) for entry in steps.shown]
    return [name if index % every == 0 else "" for index, name in enumerate(names)]


def _scale_text(axis: Axis, steps: _Steps) -> str:
    """Describe the scale of an axis; empty where it is linear, or has names."""
    has_names = isinstance(steps.shown[0], str)
    return ", log scale" if not has_names and is_log(axis, steps.shown) else ""


def _pool(plan: SweepPlan, table: pd.DataFrame) -> str:
    """Describe over which further axes and repeats the figure of outcomes pools."""
    if plan.method in SAMPLING_METHODS:
        hidden = ", ".join(axis.path for axis in vary(plan, table)[2:])
        return "One dot per grasp" + (f"; not in this figure: {hidden}." if hidden else ".")
    others = pooled_over(plan, table)
    if not others:
        return "One grasp per combination."
    return f"Commonest outcome, how often, and mean margin, over {', '.join(others)}."


def _draw_points(
    panel: Axes,
    table: pd.DataFrame,
    axes: Sequence[Axis],
    cells: pd.DataFrame,
    margins: Array,
    steps: Sequence[_Steps],
) -> Any:
    """Draw a point per combination, with its outcome as marker; against the margin for one axis."""
    x, *rest = (
        cells[axis.path].to_numpy() if is_numeric(cells, axis.path) else step.of_row
        for axis, step in zip(axes, steps, strict=True)
    )
    y = rest[0] if rest else np.nan_to_num(margins)
    if not rest:
        panel.set_ylim(-0.05, 1.05)
    if not rest and is_numeric(cells, axes[0].path):
        order = np.argsort(x)
        panel.plot(x[order], margins[order], color=style.RULE, zorder=1)
    for px, py, count, grasps in zip(x, y, cells["count"], cells["grasps"], strict=True):
        if grasps > 1:
            panel.annotate(f"{count} of {grasps}", (px, py), (6, 0), textcoords="offset points",
                           fontsize=6.5, va="center")  # fmt: skip
    for outcome in [name for name in MARKERS if (cells["outcome"] == name).any()]:
        rows = (cells["outcome"] == outcome).to_numpy(dtype=bool)
        drawn = panel.scatter(
            x[rows], y[rows], c=margins[rows], vmin=0.0, vmax=1.0, plotnonfinite=True, zorder=2,
            marker=MARKERS[outcome], s=36, label=f"{rows.sum()} {outcome}",
            edgecolors=style.INK if outcome in SUCCESSES else style.LOST,
        )  # fmt: skip
    if is_numeric(cells, axes[0].path):
        _fit_ticks(panel, table, axes[0])
    else:
        _name_ticks(panel, _tick_names(steps[0]), MAP_LETTERS)
    if rest and not is_numeric(cells, axes[1].path):
        panel.set_yticks(range(len(steps[1].shown)), _tick_names(steps[1]))
    elif rest and is_log(axes[1], steps[1].shown):
        panel.set_yscale("log")
    return drawn


def draw_lines(plan: SweepPlan, table: pd.DataFrame, path: Path) -> Path:
    """Draw measures against the first axis, one line per value of the second one.

    Samples are dots, in colours of ranges of the second axis. Lines connect means; bars span
    minimum to maximum over repeats and further axes, which a line below the panels names. Crosses
    at the upper edge are grasps that ended without the object in the hand.
    """
    from matplotlib.lines import Line2D

    axes, measures = vary(plan, table), draw_measures(table)
    sampled = plan.method in SAMPLING_METHODS
    series: list[Level | None] = [None]
    if len(axes) > 1:
        series = [*levels(table, axes[1].path)]
    if len(series) > MAX_SERIES:
        series = [None] if sampled else series[:MAX_SERIES]
    keys = ["" if level is None else _key(plan, axes[1], level) for level in series]
    across, steps = axis_label(plan.scene, axes[0].path), _steps(table, axes[0])
    columns_of_key = max(min(int(135 / (max(map(len, keys)) + 6)), len(keys) + 1), 1)
    key_height = 0.17 * (len(keys) // columns_of_key)
    with style.figure(path, _height(len(measures)) + key_height, dpi=DPI) as (figure, columns):
        panels = _panels(figure, len(measures), key_height=key_height)
        for panel, measure in zip(panels, measures, strict=True):
            values = numbers(table, measure)
            for index, (level, key) in enumerate(zip(series, keys, strict=True)):
                color = style.SERIES[index]
                rows = np.ones(len(table), dtype=bool) if level is None else level.rows
                line = _line(
                    panel, values[rows], steps, rows, color, key or None, joined=not sampled
                )
                name = f"{measure.name}, {key}" if key else measure.name
                kinds = ("mean", "minimum", "maximum")
                names = (across, *(f"{name}: {kind} [{measure.unit}]" for kind in kinds))
                columns.add(dict(zip(names, line, strict=True)))
                if measure.of_motion:
                    _crosses(panel, table[rows & lost(table)], axes[0], color, 1.0 - 0.06 * index)
            panel.set_title(measure.label)
            panel.ticklabel_format(axis="y", useOffset=False)  # it would cover the title
            _fit_ticks(panel, table, axes[0])
        _label_bottom(panels, f"{across}{_scale_text(axes[0], steps)}")
        style.footnote(figure, averaging(plan, table, len(series)))
        handles = _handles(figure, keys)
        if lost(table).any() and any(measure.of_motion for measure in measures):
            label = "not in the hand at the end"
            handles.append(Line2D([], [], ls="", marker="x", color=style.INK, label=label))
        if handles:
            style.legend(figure, handles, columns=columns_of_key)
    return path


def _height(count: int, each: float = 1.55) -> float:
    return 0.8 + each * -(-count // FIGURE_COLUMNS)


def _panels(
    figure: Figure, count: int, *, wide: float = 0.45, high: float = 0.4, key_height: float = 0.0
) -> list[Axes]:
    """Add panels in rows of three with gaps [in], below a legend and above a footnote."""
    margins = (0.7, wide, 0.65, 0.55 + key_height)
    columns = min(count, FIGURE_COLUMNS)
    return style.subplots(figure, count, columns, margins=margins, gaps=(wide, high))


def _label_bottom(panels: Sequence[Axes], label: str) -> None:
    """Label the x axis of the lowest panel of each column; the others have the same."""
    for index, panel in enumerate(panels):
        if index + FIGURE_COLUMNS < len(panels):
            panel.tick_params(labelbottom=False)
        else:
            panel.set_xlabel(label)


def _key(plan: SweepPlan, axis: Axis, level: Level) -> str:
    unit = unit_of(plan.scene, axis.path)
    unit_text = f" {unit}" if unit not in ("", "–") else ""
    return f"{last_name(axis.path)} = {level.label}{unit_text}"


class _Steps(NamedTuple):
    """Values of the swept field along the x axis of a figure."""

    shown: list[Any]
    """Numbers in ascending order, or names."""
    of_row: NDArray[np.int64]
    """Index in ``shown``, per row of the table."""


def _steps(table: pd.DataFrame, axis: Axis) -> _Steps:
    if is_numeric(table, axis.path):
        values, index = np.unique(table[axis.path].to_numpy(), return_inverse=True)
        return _Steps(values.tolist(), index)
    names = list(dict.fromkeys(table[axis.path]))
    return _Steps([short(name) for name in names],
                  np.array([names.index(name) for name in table[axis.path]]))  # fmt: skip


def _line(
    panel: Axes, values: Array, steps: _Steps, rows: NDArray[np.bool_], color: str,
    label: str | None, *, joined: bool,
) -> tuple[list[Any], list[float], list[float], list[float]]:  # fmt: skip
    """Draw a line; return abscissae, means, minima and maxima."""
    finite = np.isfinite(values)
    index, values = steps.of_row[rows][finite], values[finite]
    if not values.size:
        return [], [], [], []
    order = np.argsort(index, kind="stable")
    positions, starts, counts = np.unique(index[order], return_index=True, return_counts=True)
    low, high = (part.reduceat(values[order], starts) for part in (np.minimum, np.maximum))
    mean = np.add.reduceat(values[order], starts) / counts
    at = [steps.shown[position] for position in positions]
    width = 1.2 if joined and not isinstance(at[0], str) else 0.0  # none between names
    panel.plot(at, mean, color=color, label=label, marker="o", markersize=3, linewidth=width)
    if (high > low).any():
        panel.vlines(at, low, high, color=color, linewidth=0.7)
    return at, mean.tolist(), low.tolist(), high.tolist()


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


def _handles(figure: Figure, keys: Sequence[str]) -> list[Any]:
    """Return legend entries of all lines in the order of ``keys``; a panel may lack some."""
    handles_by_label: dict[str, Any] = {}
    for panel in figure.axes:
        handles, labels = panel.get_legend_handles_labels()
        handles_by_label |= dict(zip(labels, handles, strict=True))
    return [handles_by_label[key] for key in keys if key in handles_by_label]


def _name_ticks(panel: Axes, names: Sequence[str], max_letters: int = 28) -> None:
    long = sum(map(len, names)) > max_letters
    tick_style: dict[str, Any] = {"rotation": 30, "ha": "right"} if long else {}
    panel.set_xticks(range(len(names)), names, **tick_style)


def draw_success(plan: SweepPlan, table: pd.DataFrame, path: Path) -> Path:
    """Draw the rate of held grasps for every value of every axis, with 95 % intervals."""
    axes, tested = vary(plan, table), table[table["held"].notna()]
    with style.figure(path, _height(len(axes), 1.9), dpi=DPI) as (figure, columns):
        for panel, axis in zip(_panels(figure, len(axes), high=0.75), axes, strict=True):
            shown, rates = levels(tested, axis.path), list[float]()
            for index, level in enumerate(shown):
                held = tested["held"].to_numpy(dtype=bool)[level.rows]
                rates.append(100 * float(held.mean()) if held.size else 0.0)
                panel.bar(index, rates[-1], color=style.ESTABLISHED, edgecolor=style.EDGE)
                low, high = wilson(int(held.sum()), len(held))
                panel.vlines(index, 100 * low, 100 * high, color=style.INK, linewidth=1.0)
                count_text = f"{int(held.sum())} of {len(held)}"
                panel.annotate(count_text, (index, 2), ha="center", fontsize=6.5)
            _name_ticks(panel, [entry.label for entry in shown])
            panel.set_xlim(-0.8, len(shown) - 0.2)
            panel.set_ylim(0, 105)
            # as a title, because rotated tick labels need the space below
            label = axis_label(plan.scene, axis.path)
            panel.set_title(f"held [%] by {label}")
            columns.add({label: [entry.label for entry in shown], f"held [%] by {label}": rates})
            panel.grid(axis="x", visible=False)
    return path


def _fit_ticks(axes: Axes, table: pd.DataFrame, axis: Axis) -> None:
    """Set scale and ticks of the x axis of a panel."""
    from matplotlib.ticker import LogLocator, NullLocator

    if not is_numeric(table, axis.path):
        axes.tick_params(axis="x", rotation=30)
        axes.margins(x=0.15)
        return
    values = sorted({float(value) for value in table[axis.path]})
    log = is_log(axis, values)
    if log:
        axes.set_xscale("log")
    axes.xaxis.set_minor_locator(NullLocator())
    if len(values) <= MAX_LEVELS:
        width = axes.get_position().width * style.WIDTH
        axes.set_xticks(space_ticks(values, width, log=log))
    elif log:
        few = values[-1] / values[0] < 1e3
        axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if few else (1.0,)))
    else:
        axes.locator_params(axis="x", nbins=5)
    axes.xaxis.set_major_formatter(compact)


def space_ticks(values: Sequence[float], width: float, *, log: bool) -> list[float]:
    """Select ascending values whose tick labels do not overlap on an axis of a width [in]."""
    if len(values) < 2:
        return list(values)
    positions = [math.log(value) if log else value for value in values]
    inch = 0.9 * width / (positions[-1] - positions[0])  # matplotlib adds 5 % at each end

    def free(first: int, second: int) -> bool:
        letters = 0.5 * (len(compact(values[first])) + len(compact(values[second]))) + 1.0
        return abs(positions[first] - positions[second]) * inch >= LETTER * letters

    kept, last = [0], len(values) - 1
    for index in range(1, last):
        if free(kept[-1], index) and free(index, last):
            kept.append(index)
    return [values[index] for index in [*kept, last]]
