"""Pressure, curvature, tip and poses of a hydraulic arm in time (paper 003, Fig 6 to 8)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from softgrasp.mechanics.transforms import Array
from softgrasp.report import style
from softgrasp.simulation.hydraulic_moves import arm_moves
from softgrasp.simulation.hydraulic_run import ArmRun

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

HEIGHT, POSES_HEIGHT = 3.2, 5.0
"""Of a figure [in]."""
MIN_RATIO = 1e-3
"""A direction with less than this part of the largest number is not drawn."""
POSES = 9
"""Poses over one another."""
MARGINS, GAPS = (0.65, 0.15, 0.5, 0.5), (0.65, 0.4)
DASHES = ("-", (0, (5, 2)), (0, (1.5, 1.5)), (0, (6, 2, 1, 2)))
"""Of lines that may lie on one another."""


def draw_pressures(run: ArmRun, path: str | Path) -> Path:
    """Draw the torques of the motors, and the pressures that they make.

    Raises:
        ResultError: The place cannot be written.
    """
    used = _used(run)
    with style.figure(path, HEIGHT) as figure:
        left, right = _two(figure)
        _lines(left, run, run.commanded[:, used], _chamber_names(used), "torque of the motor [N·m]")
        names = _chamber_names(used)
        _lines(right, run, 1e-6 * run.pressures[:, used], names, "pressure in the chamber [MPa]")
        style.legend(figure, left.get_lines()[: len(used)])
        _finish(figure, run, (left, right))
    return Path(path)


def draw_curvatures(run: ArmRun, path: str | Path) -> Path:
    """Draw the curvatures of the sections and the lengths of their axes.

    Raises:
        ResultError: The place cannot be written.
    """
    names, curvatures = curvature_lines(run)
    with style.figure(path, HEIGHT) as figure:
        left, right = _two(figure)
        _lines(left, run, curvatures, names, "curvature [1/m]")
        _lines(right, run, 1e3 * run.lengths, _sections(run), "length of the axis [mm]")
        style.legend(figure, left.get_lines()[: len(names)])
        right.legend(loc="best")
        _finish(figure, run, (left, right))
        style.set_min_span(right, 1.0)
    return Path(path)


def draw_tip(run: ArmRun, path: str | Path) -> Path:
    """Draw the coordinates of the ends of the sections, and their speeds.

    Raises:
        ResultError: The place cannot be written.
    """
    sections = len(run.arm.sections)
    with style.figure(path, HEIGHT) as figure:
        left, right = _two(figure)
        for axis, color in enumerate(style.AXES_COLORS):
            for section in range(sections):
                last = section == sections - 1
                left.plot(
                    run.times, run.ends[:, section, axis], color=color,
                    linestyle="-" if last else DASHES[2], linewidth=1.4 if last else 1.0,
                    label=f"{'xyz'[axis]} of {run.arm.sections[section].name}",
                )  # fmt: skip
        left.set_title("end of the section, base frame [m]")
        _lines(right, run, run.speeds, _sections(run), "speed of the end [m/s]")
        right.legend(loc="best")
        style.legend(figure, left.get_lines())
        _finish(figure, run, (left, right))
    return Path(path)


def draw_poses(run: ArmRun, path: str | Path) -> Path:
    """Draw poses of the arm over one another, seen from two sides, and the way of its end.

    Raises:
        ResultError: The place cannot be written.
    """
    from matplotlib import colormaps

    rows = pose_rows(run)
    flip = -1.0 if run.arm.gravity[2] > 0.0 else 1.0
    flat = _flat(run)
    with style.figure(path, POSES_HEIGHT) as figure:
        columns, side = (1, 2.4) if flat else (2, 0.65)
        grid = style.panels(figure, 1, columns, margins=(side, 1.3 + side, 0.55, 0.35), gaps=GAPS)
        colors = colormaps["viridis_r"](np.linspace(0.08, 1.0, len(rows)))
        for column in range(columns):
            axes = figure.add_subplot(grid[0, column])
            for row, color in zip(rows, colors, strict=True):
                points = run.backbone[row]
                axes.plot(points[:, column], points[:, 2], color=color, linewidth=3.0,
                          solid_capstyle="round", label=f"{run.times[row]:.2f} s")  # fmt: skip
                ends = run.ends[row]
                axes.plot(ends[:, column], ends[:, 2], "o", color=color, markersize=4.0)
            tip = run.ends[:, -1]
            axes.plot(tip[:, column], tip[:, 2], color=style.INK, linewidth=0.8,
                      linestyle=DASHES[2], label="way of the end")  # fmt: skip
            axes.set_aspect("equal", adjustable="box")
            axes.set_xlabel(f"{'xy'[column]} [m]")
            axes.set_ylabel("z [m]" if column == 0 else "")
            if flip < 0.0:
                axes.invert_yaxis()
        handles = [
            line for line in figure.axes[0].get_lines() if not str(line.get_label()).startswith("_")
        ]
        figure.legend(
            handles=handles, loc="center left", bbox_to_anchor=(0.9 - side / style.WIDTH, 0.5)
        )
        figure.axes[0].set_title("poses in the base frame" + (", z down" if flip < 0.0 else ""))
    return Path(path)


def pose_rows(run: ArmRun) -> list[int]:
    """Rows of the poses that are drawn: at equal parts of the way of the end, first and last."""
    steps = np.linalg.norm(np.diff(run.ends[:, -1], axis=0), axis=1)
    along = np.concatenate([[0.0], np.cumsum(steps)])
    rows = np.searchsorted(along, np.linspace(0.0, along[-1], POSES))
    return sorted({0, *np.minimum(rows[:-1], len(along) - 1).tolist(), len(along) - 1})


def _two(figure: Figure) -> tuple[Axes, Axes]:
    grid = style.panels(figure, 1, 2, margins=MARGINS, gaps=GAPS)
    return figure.add_subplot(grid[0, 0]), figure.add_subplot(grid[0, 1])


def _lines(axes: Axes, run: ArmRun, values: Array, names: Sequence[str], title: str) -> None:
    """One a column; dashed where they may hide one another."""
    styles = zip(values.T, names, cycle(style.SERIES), cycle(DASHES), strict=False)
    for line, name, color, dashes in styles:
        axes.plot(run.times, line, color=color, linestyle=dashes, label=name, linewidth=1.5)
    axes.set_title(title)


def _finish(figure: Figure, run: ArmRun, panels: Sequence[Axes]) -> None:
    for axes in panels:
        style.time_limits(axes, run.times)
        for move in arm_moves(run):
            axes.axvspan(move.begin, move.command_end, color=style.HOLD, zorder=0, linewidth=0)
    style.edge_labels(figure)


def _used(run: ArmRun) -> list[int]:
    """Chambers whose motors ever have a torque; all, where none has."""
    used = np.flatnonzero(np.abs(run.commanded).max(axis=0) > 0.0).tolist()
    return used or list(range(run.pressures.shape[1]))


def _chamber_names(used: Sequence[int]) -> list[str]:
    return [f"chamber {index + 1}" for index in used]


def _sections(run: ArmRun) -> list[str]:
    return [section.name for section in run.arm.sections]


def curvature_lines(run: ArmRun) -> tuple[list[str], Array]:
    """Curvatures towards x and y that are any [1/m], (t, lines), and what to call them."""
    largest = np.abs(run.curvatures).max()
    there = [
        (section, axis)
        for section in range(len(run.arm.sections))
        for axis in range(2)
        if axis == 0 or np.abs(run.curvatures[:, section, axis]).max() > MIN_RATIO * largest
    ]
    names = [f"{run.arm.sections[section].name} towards {'xy'[axis]}" for section, axis in there]
    return names, np.stack([run.curvatures[:, section, axis] for section, axis in there], axis=1)


def _flat(run: ArmRun) -> bool:
    """Whether it stays in the x–z plane."""
    return bool(np.abs(run.backbone[..., 1]).max() < MIN_RATIO * run.lengths[0].sum())
