"""The figures of a sweep, chosen by what varies in it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from softgrasp.mechanics.transforms import Array
from softgrasp.report import style
from softgrasp.report.sweep_data import (
    Level,
    Measure,
    at_random,
    compact,
    is_numeric,
    last_name,
    levels,
    lost,
    measures_of,
    numbers,
    short,
    varied,
    wilson,
)
from softgrasp.report.sweep_ticks import fit_ticks
from softgrasp.report.sweep_units import axis_label, unit_of

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from softgrasp.description.sweep_plan import Axis, SweepPlan

COLUMNS = 3
"""Panels side by side."""
MAX_SERIES = len(style.SERIES)
MAX_LETTERS = 28
"""Of names along an axis, all together; more are written askew."""
BELOW = 0.06
"""Crosses of one line stand so far below those of the line before, over the panel's height."""
CROSS = "×"
"""Stands where the object is not in the hand at the end."""


def draw_lines(plan: SweepPlan, table: pd.DataFrame, path: Path) -> Path:
    """Measures over the first axis, one line a value of the second one.

    Lines join means over numbers; bars reach from the least to the largest of repeats and of
    other axes. A cross at the upper edge is a grasp that ended without the object in the hand.
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


def _key(plan: SweepPlan, axis: Axis, level: Level) -> str:
    unit = unit_of(plan.scene, axis.path)
    unit_text = f" {unit}" if unit not in ("", "–") else ""
    return f"{last_name(axis.path)} = {level.label}{unit_text}"


def _handles(figure: Figure) -> list[Any]:
    """The keys of all lines; a panel may lack one whose grasps have no number in it."""
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
    joined = 1.2 if is_numeric(table, axis.path) else 0.0  # names have no way between them
    panel.errorbar(at, middle, errors, color=color, label=label, marker="o", markersize=3,
                   linewidth=joined, elinewidth=0.7, capsize=2)  # fmt: skip


def _crosses(panel: Axes, table: pd.DataFrame, axis: Axis, color: str, height: float = 1.0) -> None:
    """Crosses at the upper edge, which are no numbers, at a share of the panel's height."""
    at = table[axis.path]
    at = at if is_numeric(table, axis.path) else at.map(short)
    values = list(dict.fromkeys(at))
    if not values:
        return
    panel.margins(y=0.15)  # the largest numbers do not reach the crosses
    panel.plot(values, [height] * len(values), ls="", marker="x", ms=5, mew=1.3, color=color,
               transform=panel.get_xaxis_transform(), clip_on=False)  # fmt: skip


def draw_heat_maps(plan: SweepPlan, table: pd.DataFrame, path: Path) -> Path:
    """Means of measures over the first two axes of a grid; the rest is averaged."""
    (first, second), measures = varied(plan, table)[:2], measures_of(table)
    across, along = levels(table, first.path), levels(table, second.path)
    with style.figure(path, _height(len(measures), 2.4)) as figure:
        for panel, measure in zip(_panels(figure, len(measures), wide=0.95), measures, strict=True):
            values = numbers(table, measure)
            cells = [[_mean(values[x.rows & y.rows]) for x in across] for y in along]
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


def _mark_lost(
    panel: Axes, gone: NDArray[np.bool_], across: list[Level], along: list[Level]
) -> None:
    """How many grasps of each cell are left out, in the cell."""
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


def _mean(values: Array) -> float:
    finite = values[np.isfinite(values)]
    return float(finite.mean()) if finite.size else float("nan")


def draw_scatter(plan: SweepPlan, table: pd.DataFrame, path: Path) -> Path:
    """Measures of sampled grasps over the first axis, coloured by the second."""
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
    """How often the object was held for every value of every axis.

    Where rows are drawn at random, lines are 95 % intervals of the rates; those of a grid without
    noise would come again as they are.
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
            # not below: names that are written askew need the room
            panel.set_title(f"held [%] by {axis_label(plan.scene, axis.path)}")
            panel.grid(axis="x", visible=False)
    return path


def _height(count: int, each: float = 1.9) -> float:
    return 0.65 + each * -(-count // COLUMNS)


def _width(figure: Figure, panel: Axes) -> float:
    """Of a panel [in]."""
    return float(panel.get_position().width * figure.get_size_inches()[0])


def _panels(figure: Any, count: int, *, wide: float = 0.45) -> list[Axes]:
    """As many panels as there is to show, in rows of three."""
    columns = min(count, COLUMNS)
    grid = style.panels(
        figure, -(-count // columns), columns, margins=(0.7, wide, 0.65, 0.55), gaps=(wide, 0.75)
    )
    return [figure.add_subplot(grid[index // columns, index % columns]) for index in range(count)]
