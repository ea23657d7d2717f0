"""Releases, measured and simulated (Fig 4 and 7a, b of paper 000)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from softgrasp.calibration.result import CalibrationResult, StageResult
from softgrasp.report import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MM = 1e3


def draw_releases(result: CalibrationResult, path: str | Path) -> Path | None:
    """Settling times and overshoots by weight, measured and simulated (Fig 7a, b of paper 000)."""
    if "dampers" not in result.residual or result.problem.release_objective != "settling":
        return None
    stage = result.stage("dampers")
    with style.figure(path, 2.8) as figure:
        grid = style.panels(figure, 1, 2, margins=(0.6, 0.15, 0.65, 0.6), gaps=(0.6, 0.3))
        for index, (start, label) in enumerate(
            (("settling time ", "settling time [s]"), ("overshoots ", "overshoots"))
        ):
            axes = figure.add_subplot(grid[0, index])
            _bars(axes, stage, start)
            axes.set_title(label)
            axes.set_xlabel("weight released")
        handles, _ = figure.axes[0].get_legend_handles_labels()
        style.legend(figure, handles, columns=2)
    return Path(path)


def draw_settling(result: CalibrationResult, path: str | Path) -> Path | None:
    """Tips on their way to rest, with the extrema that count (Fig 4 of paper 000)."""
    from softgrasp.calibration.objectives import finger_values
    from softgrasp.calibration.stages import VirtualExperiments
    from softgrasp.continuum.settling import settling

    releases = sorted(result.problem.releases, key=lambda one: one.mass)
    if not releases or "dampers" not in result.residual:
        return None
    parameters = [finger_values(result.finger, kind)[None] for kind in ("stiffness", "damping")]
    time, heights = VirtualExperiments(result.problem).released(
        parameters[0], parameters[1], releases
    )
    columns = min(len(releases), 2)
    rows = -(-len(releases) // columns)
    with style.figure(path, 0.8 + 1.9 * rows) as figure:
        grid = style.panels(figure, rows, columns, margins=(0.6, 0.15, 0.5, 0.55), gaps=(0.5, 0.5))
        for index, (one, height) in enumerate(zip(releases, heights[0], strict=True)):
            axes = figure.add_subplot(grid[index // columns, index % columns])
            settled = settling(time, height, result.problem.release_rule)
            middle = float(np.mean(height[len(height) // 2 :]))
            axes.plot(time, MM * (height - middle), color=style.POSITION, lw=1.1, label="simulated")
            if one.times:
                measured = np.array(one.heights)
                level = np.mean(measured[len(measured) // 2 :])
                axes.plot(
                    one.times, MM * (measured - level), color=style.LOST, lw=0.8, label="measured"
                )
            axes.plot(
                settled.extremum_times, MM * (settled.extremum_heights - middle), "o", ms=3.5,
                color=style.TARGET, label="counted",
            )  # fmt: skip
            if np.isfinite(settled.time):
                axes.axvline(settled.time, color=style.MUTED, lw=0.9, ls="--")
            title = f"{MM * one.mass:g} g{', held out' if one.held_out else ''}: "
            title += f"{settled.overshoots}, {settled.time:.3f} s"
            if one.overshoots is not None:
                title += f"; measured {one.overshoots}, {one.settling_time:.3f} s"
            axes.set_title(title)
            if index % columns == 0:
                axes.set_ylabel("height of the tip [mm]")
            if index // columns == rows - 1:
                axes.set_xlabel("time [s]")
        handles, _ = figure.axes[0].get_legend_handles_labels()
        style.legend(figure, handles, columns=3)
    return Path(path)


def _bars(axes: Axes, stage: StageResult, start: str) -> None:
    rows = [
        (label.removeprefix(start) + mark, measured, simulated)
        for labels, values, simulated_values, mark in (
            (stage.labels, stage.measured, stage.simulated, ""),
            (stage.held_out_labels, stage.held_out_measured, stage.held_out_simulated,
             "\nheld out"),
        )
        for label, measured, simulated in zip(labels, values, simulated_values, strict=True)
        if label.startswith(start)
    ]  # fmt: skip
    from matplotlib.ticker import MaxNLocator

    rows.sort(key=lambda row: float(row[0].split()[0]))
    names, measured, simulated = zip(*rows, strict=True)
    positions = np.arange(len(rows))
    axes.bar(positions - 0.2, measured, 0.38, color=style.SERIES[3], label="measured")
    axes.bar(positions + 0.2, simulated, 0.38, color=style.SERIES[0], label="simulated")
    axes.set_xticks(positions, names)
    if start.startswith("overshoots"):
        axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    axes.grid(visible=False, axis="x")
