"""A twin's record in figures: pressure, curvature, tips, and how fast and evenly the loop ran."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np

from softgrasp.mechanics.piece_bends import KPA
from softgrasp.mechanics.transforms import Array
from softgrasp.report import style

HEIGHT = 3.0
MARGINS, GAPS = (0.75, 0.2, 0.5, 0.5), (0.7, 0.4)
SHORTEST = 0.01
"""Of times on a logarithmic axis [ms]."""
Rows = Sequence[dict[str, Any]]


def column(rows: Rows, name: str) -> Array:
    """A column of a record as numbers, NaN where there was none, (t,)."""
    return np.array([np.nan if row.get(name) is None else float(row[name]) for row in rows])


def draw_pressures(rows: Rows, path: Path) -> Path:
    """Draw the measured pressure, the targets that were triggered, and the curvatures.

    Raises:
        ResultError: The place cannot be written.
    """
    time = column(rows, "time")
    with style.figure(path, HEIGHT) as figure:
        grid = style.panels(figure, 1, 2, margins=MARGINS, gaps=GAPS)
        left, right = figure.add_subplot(grid[0, 0]), figure.add_subplot(grid[0, 1])
        for sign, color in (("positive", style.SERIES[1]), ("negative", style.SERIES[4])):
            target = KPA * column(rows, f"{sign}_target")
            target[column(rows, f"{sign}_on") != 1.0] = np.nan
            if np.isfinite(target).any():
                left.plot(time, target, color=color, linestyle="--", label=f"{sign} target")
        left.plot(time, KPA * column(rows, "pressure"), color=style.SERIES[0], label="measured")
        left.set_title("pressure in the fingers [kPa]")
        for number, color in zip(_counted(rows, "curvature"), cycle(style.SERIES), strict=False):
            values = column(rows, f"curvature_{number}")
            right.plot(time, values, color=color, label=f"piece {number}")
        right.set_title("curvature [1/m]")
        _finish(figure, (left, right), time)
    return path


def draw_tips(rows: Rows, path: Path) -> Path:
    """Draw the tip of the first finger, and how far it is in MuJoCo from where arcs have it.

    Raises:
        ResultError: The place cannot be written.
    """
    time = column(rows, "time")
    with style.figure(path, HEIGHT) as figure:
        settled = any("settled_tip1_x" in row for row in rows)
        grid = style.panels(figure, 1, 2 if settled else 1, margins=MARGINS, gaps=GAPS)
        panels = [figure.add_subplot(grid[0, k]) for k in range(2 if settled else 1)]
        for axis, color in zip("xyz", style.AXES_COLORS, strict=True):
            panels[0].plot(time, column(rows, f"tip1_{axis}"), color=color, label=axis)
        panels[0].set_title("tip of finger 1, base of the robot [m]")
        if settled:
            for number, color in zip(_fingers(rows), cycle(style.SERIES), strict=False):
                away = [
                    column(rows, f"settled_tip{number}_{axis}")
                    - column(rows, f"tip{number}_{axis}")
                    for axis in "xyz"
                ]
                gap = 1e3 * np.linalg.norm(away, axis=0)
                panels[1].plot(time, gap, color=color, label=f"finger {number}")
            panels[1].set_title("tip in MuJoCo from that of the arcs [mm]")
        _finish(figure, panels, time)
    return path


def draw_pace(rows: Rows, path: Path) -> Path:
    """Draw how long answers took and how late turns began.

    Raises:
        ResultError: The place cannot be written.
    """
    time = column(rows, "time")
    with style.figure(path, HEIGHT) as figure:
        grid = style.panels(figure, 1, 2, margins=MARGINS, gaps=GAPS)
        left, right = figure.add_subplot(grid[0, 0]), figure.add_subplot(grid[0, 1])
        styles = (("latency", "answer of the controller", 0), ("lateness", "turn begins late", 1))
        for name, label, color in styles:
            values = 1e3 * column(rows, name)
            left.plot(time, values, ".", markersize=2.5, color=style.SERIES[color], label=label)
            ordered = np.sort(values).clip(SHORTEST)
            fractions = np.arange(1, len(ordered) + 1) / len(ordered)
            right.plot(ordered, 100.0 * fractions, color=style.SERIES[color], label=label)
        left.set_title("time [ms]")
        left.set_xlabel("time [s]")
        right.set_title("turns within that time [%]")
        right.set_xlabel("[ms]")
        right.set_xscale("log")
        right.xaxis.set_major_formatter("{x:g}")
        style.time_limits(left, time)
        left.legend(loc="upper right", markerscale=4.0, framealpha=0.9)
    return path


def _finish(figure: Any, panels: Sequence[Any], time: Array) -> None:
    for axes in panels:
        style.time_limits(axes, time)
        axes.legend(loc="best")
    style.edge_labels(figure)


def _counted(rows: Rows, name: str) -> list[int]:
    """Numbers k of the columns ``name_k`` that any row has."""
    keys = {key for row in rows for key in row if key.startswith(f"{name}_")}
    return sorted(int(key.rsplit("_", 1)[1]) for key in keys)


def _fingers(rows: Rows) -> list[int]:
    keys = {key for row in rows for key in row if key.startswith("settled_tip")}
    return sorted({int(key[len("settled_tip") :].split("_")[0]) for key in keys})
