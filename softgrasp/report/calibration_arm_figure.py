"""Recorded motions of a hydraulic arm, and those of the calibrated one."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from softgrasp.calibration.arm_bench import columns_of
from softgrasp.calibration.arm_result import ArmCalibrationResult
from softgrasp.mechanics.transforms import Array
from softgrasp.report import style

MM = 1e3
DEGREES = 180.0 / math.pi


def arm_pictures(result: ArmCalibrationResult, directory: Path) -> list[tuple[str, Path, str]]:
    """Draw the motions of an arm; return the title, the file and the caption of each figure."""
    message = "Dots were recorded, lines are of the calibrated arm; held-out motions were not used."
    return [("Motions", draw_motions(result, directory / "motions.png"), message)]


def draw_motions(result: ArmCalibrationResult, path: str | Path) -> Path:
    """What was recorded (dots) and simulated (lines) in time, a panel a motion."""
    problem, stage = result.problem, result.stages[0]
    parts: dict[bool, list[Array]] = {}
    for held, simulated in ((False, stage.simulated), (True, stage.held_out_simulated)):
        sizes = [len(m.times) * len(m.rows[0]) for m in problem.motions if m.held_out == held]
        parts[held] = np.split(simulated, np.cumsum(sizes)[:-1]) if sizes else []
    count = len(problem.motions)
    with style.figure(path, 0.9 + 2.3 * count) as figure:
        grid = style.panels(figure, count, 1, margins=(0.75, 0.15, 0.5, 0.6), gaps=(0.3, 0.45))
        for index, (label, motion) in enumerate(zip(problem.labels, problem.motions, strict=True)):
            axes = figure.add_subplot(grid[index, 0])
            factor = MM if motion.ends else DEGREES
            rows_simulated = parts[motion.held_out].pop(0).reshape(len(motion.times), -1)
            columns = zip(
                columns_of(motion), np.array(motion.rows).T, rows_simulated.T, strict=True
            )
            for number, (name, measured, simulated) in enumerate(columns):
                color = style.SERIES[number % len(style.SERIES)]
                axes.plot(
                    motion.times, factor * measured, "o", color=color, ms=4, mew=0, alpha=0.45
                )
                axes.plot(motion.times, factor * simulated, color=color, lw=1.1, label=name)
            style.time_limits(axes, np.array(motion.times))
            axes.set_title(label + (", held out" if motion.held_out else ""))
            axes.set_ylabel("end of a section [mm]" if motion.ends else "bend [°]")
        handles, _ = figure.axes[0].get_legend_handles_labels()
        style.legend(figure, handles)
        style.edge_labels(figure)
    return Path(path)
