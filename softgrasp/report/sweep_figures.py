"""The figures of a sweep, chosen by what varies in it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np

from softgrasp.mechanics.transforms import Array
from softgrasp.report import style
from softgrasp.report.sweep_data import (
    Measure,
    compact,
    is_numeric,
    last_name,
    levels,
    measures_of,
    numbers,
    short,
    wilson,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from softgrasp.description.sweep_plan import Axis

COLUMNS = 3
"""Panels side by side."""
MOST_SERIES = len(style.SERIES)
HEAD_WIDTH = 15
"""Letters of a line over an axis, so that neighbours and the edge are not reached."""
MOST_LINES = 2000
"""Lines of a parallel plot; more hide one another, and every so manieth is drawn."""
HELD, DROPPED = style.EDGE, style.LOST


def draw_lines(table: pd.DataFrame, axes: Sequence[Axis], path: Path) -> Path:
    """Measures over the first axis, one line a value of the second one.

    Lines join means over numbers; bars reach from the least to the largest of repeats and of
    other axes.
    """
    measures, first = measures_of(table), axes[0]
    other = levels(table, axes[1].path)[:MOST_SERIES] if len(axes) > 1 else None
    with style.figure(path, _height(len(measures))) as figure:
        for place, measure in zip(_panels(figure, len(measures)), measures, strict=True):
            for index, level in enumerate(other or [None]):
                rows = np.ones(len(table), dtype=bool) if level is None else level.rows
                color = style.SERIES[index]
                label = None if level is None else f"{last_name(axes[1].path)} = {level.label}"
                _line(place, table[rows], first, measure, color, label)
            place.set_title(measure.label)
            place.set_xlabel(first.path)
            _fit_x(place, table, first)
        if other:
            handles, _ = figure.axes[0].get_legend_handles_labels()
            style.legend(figure, handles, columns=min(len(handles), 5))
    return path


def _line(
    place: Axes, table: pd.DataFrame, axis: Axis, measure: Measure, color: str, label: str | None
) -> None:
    at: list[Any] = []
    low, mean, high = list[float](), list[float](), list[float]()
    for value, rows in table.groupby(axis.path, sort=is_numeric(table, axis.path)):
        found = numbers(rows, measure)
        found = found[np.isfinite(found)]
        if found.size:
            at.append(value if is_numeric(table, axis.path) else short(value))
            low.append(float(found.min()))
            mean.append(float(found.mean()))
            high.append(float(found.max()))
    if not at:
        return
    middle = np.array(mean)
    errors = np.abs([middle - low, high - middle])
    joined = 1.2 if is_numeric(table, axis.path) else 0.0  # names have no way between them
    place.errorbar(at, middle, errors, color=color, label=label, marker="o", markersize=3,
                   linewidth=joined, elinewidth=0.7, capsize=2)  # fmt: skip


def _fit_x(place: Axes, table: pd.DataFrame, axis: Axis) -> None:
    if not is_numeric(table, axis.path):
        place.tick_params(axis="x", rotation=30)
        place.margins(x=0.15)
        return
    place.locator_params(axis="x", nbins=5)
    place.xaxis.set_major_formatter(compact)
    values = table[axis.path].to_numpy(dtype=float)
    if values.min() > 0 and (axis.log or values.max() / values.min() > 30):
        place.set_xscale("log")


def draw_heat_maps(table: pd.DataFrame, axes: Sequence[Axis], path: Path) -> Path:
    """Means of measures over the first two axes of a grid; the rest is averaged."""
    measures, (first, second) = measures_of(table), axes[:2]
    across, along = levels(table, first.path), levels(table, second.path)
    with style.figure(path, _height(len(measures), 2.4)) as figure:
        for place, measure in zip(_panels(figure, len(measures), wide=0.95), measures, strict=True):
            found = numbers(table, measure)
            cells = [[_mean(found[x.rows & y.rows]) for x in across] for y in along]
            image = place.imshow(cells, origin="lower", aspect="auto", cmap="viridis")
            place.set_xticks(range(len(across)), [level.label for level in across], rotation=45)
            place.set_yticks(range(len(along)), [level.label for level in along])
            place.grid(False)
            place.set_title(measure.label)
            place.set_xlabel(first.path)
            place.set_ylabel(second.path)
            figure.colorbar(image, ax=place, fraction=0.05, pad=0.03, format=compact)
    return path


def _mean(values: Array) -> float:
    finite = values[np.isfinite(values)]
    return float(finite.mean()) if finite.size else float("nan")


def draw_scatter(table: pd.DataFrame, axes: Sequence[Axis], path: Path) -> Path:
    """Measures of sampled grasps over the first axis, coloured by the second."""
    measures, first = measures_of(table), axes[0]
    color = table[axes[1].path] if len(axes) > 1 and is_numeric(table, axes[1].path) else None
    with style.figure(path, _height(len(measures))) as figure:
        for place, measure in zip(_panels(figure, len(measures), wide=0.95), measures, strict=True):
            at = table[first.path]
            at = at if is_numeric(table, first.path) else at.map(short)
            tint: dict[str, Any] = {"color": style.POSITION}
            if color is not None:
                tint = {"c": color.to_numpy(dtype=float), "cmap": "viridis"}
            dots = place.scatter(at, numbers(table, measure), s=8, linewidths=0, **tint)
            place.set_title(measure.label)
            place.set_xlabel(first.path)
            _fit_x(place, table, first)
            if color is not None:
                bar = figure.colorbar(dots, ax=place, fraction=0.05, pad=0.03, format=compact)
                bar.set_label(axes[1].path, fontsize=7)
    return path


def draw_success(table: pd.DataFrame, axes: Sequence[Axis], path: Path) -> Path:
    """How often the object was held for every value of every axis, with 95 % intervals."""
    judged = table[table["held"].notna()]
    with style.figure(path, _height(len(axes))) as figure:
        for place, axis in zip(_panels(figure, len(axes)), axes, strict=True):
            for index, level in enumerate(levels(judged, axis.path)):
                held = judged["held"].to_numpy(dtype=bool)[level.rows]
                low, high = wilson(int(held.sum()), len(held))
                rate = float(held.mean()) if held.size else 0.0
                place.bar(index, 100 * rate, color=style.ESTABLISHED, edgecolor=style.EDGE)
                place.vlines(index, 100 * low, 100 * high, color=style.INK, linewidth=1.0)
                place.annotate(
                    f"{int(held.sum())}/{len(held)}", (index, 2), ha="center", fontsize=6.5
                )
            names = [level.label for level in levels(judged, axis.path)]
            place.set_xticks(range(len(names)), names, rotation=30, ha="right")
            place.set_ylim(0, 105)
            place.set_title(f"held [%] by {axis.path}")
            place.grid(axis="x", visible=False)
    return path


def draw_parallel(table: pd.DataFrame, axes: Sequence[Axis], path: Path) -> Path:
    """All axes and measures side by side, one line a grasp."""
    from matplotlib.collections import LineCollection

    measures = measures_of(table)
    shown = table.iloc[:: max(len(table) // MOST_LINES, 1)]
    columns = [_axis_numbers(shown, axis.path) for axis in axes]
    columns += [numbers(shown, measure) for measure in measures]
    heads = [axis.path.replace(".", ".\n", 1) for axis in axes]
    heads += [f"{fill(measure.name, HEAD_WIDTH)}\n[{measure.unit}]" for measure in measures]
    ends = [(np.nanmin(column), np.nanmax(column)) for column in columns]
    scaled = [
        (column - low) / (high - low or 1.0)
        for column, (low, high) in zip(columns, ends, strict=True)
    ]
    known = shown["held"].notna().tolist()
    held = [
        bool(state) if there else None for state, there in zip(shown["held"], known, strict=True)
    ]
    colors = {True: HELD, False: DROPPED, None: style.POSITION}
    with style.figure(path, 3.6) as figure:
        place = figure.add_axes((0.05, 0.12, 0.9, 0.68))
        lines = np.stack([np.tile(np.arange(len(columns)), (len(shown), 1)), np.array(scaled).T],
                         axis=-1)  # fmt: skip
        tints = [colors[state] for state in held]
        alpha = float(np.clip(60 / len(shown), 0.08, 0.7))
        place.add_collection(LineCollection(list(lines), colors=tints, alpha=alpha, linewidths=0.8))
        place.set_xlim(0, len(columns) - 1)
        place.set_ylim(-0.03, 1.03)
        place.set_xticks(range(len(columns)), [""] * len(columns))
        place.set_yticks([])
        place.spines["left"].set_visible(False)
        place.spines["bottom"].set_visible(False)
        for index, (head, (low, high)) in enumerate(zip(heads, ends, strict=True)):
            place.axvline(index, color=style.MUTED, linewidth=0.7)
            place.annotate(head, (index, 1.12), ha="center", va="bottom", fontsize=7,
                           annotation_clip=False)  # fmt: skip
            for value, y in ((low, -0.09), (high, 1.06)):
                text = compact(float(f"{value:.3g}"))
                place.annotate(text, (index, y), ha="center", va="center", fontsize=6.5,
                               color=style.MUTED, annotation_clip=False)  # fmt: skip
    return path


def _axis_numbers(table: pd.DataFrame, path: str) -> Array:
    """Values of an axis as numbers; others by their place among all."""
    if is_numeric(table, path):
        return table[path].to_numpy(dtype=float)
    names = list(dict.fromkeys(table[path]))
    return np.array([float(names.index(value)) for value in table[path]])


def _height(count: int, each: float = 1.9) -> float:
    return 0.65 + each * -(-count // COLUMNS)


def _panels(figure: Any, count: int, *, wide: float = 0.45) -> list[Axes]:
    """As many panels as there is to show, in rows of three."""
    columns = min(count, COLUMNS)
    grid = style.panels(
        figure, -(-count // columns), columns, margins=(0.7, wide, 0.65, 0.55), gaps=(wide, 0.75)
    )
    return [figure.add_subplot(grid[index // columns, index % columns]) for index in range(count)]
