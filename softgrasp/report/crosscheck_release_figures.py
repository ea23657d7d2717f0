"""Releases in several engines: the swing and what is left of it, and the first mode."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from softgrasp.comparison.criteria import Tolerances
from softgrasp.comparison.runs import ReleaseRuns
from softgrasp.report import style
from softgrasp.report.crosscheck_marks import BAND, DASHES, MS, engine_keys, line_key, marks

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MM = 1e3
MIN_DIFFERENCE = 1e-12
"""A residual of nothing is drawn there on a logarithmic axis [deg]."""


def draw_release(runs: ReleaseRuns, tolerances: Tolerances, path: str | Path) -> Path:
    """The height of the tip after the release, and by how much joint angles differ below it."""
    with style.figure(path, 4.6) as figure:
        grid = style.panels(figure, 2, 1, margins=(0.75, 0.15, 0.5, 0.5), gaps=(0.3, 0.45))
        upper, lower = (figure.add_subplot(grid[row, 0]) for row in range(2))
        _draw_swing(upper, runs)
        _draw_residual(lower, runs, tolerances.trajectory_deg)
        keys = engine_keys(runs.moving)
        if runs.without_hk is not None:
            keys.append(line_key(style.MUTED, "MuJoCo with c alone, without h·k", "-", 0.8))
        keys.append(line_key(style.LOST, "tolerance", "--", 0.9))
        style.legend(figure, keys)
    return Path(path)


def _draw_swing(axes: Axes, runs: ReleaseRuns) -> None:
    plain = runs.without_hk
    if plain is not None:
        axes.plot(plain.time, MM * plain.tip[:, 1], color=style.MUTED, lw=0.8)
    for index, name in enumerate(runs.moving):
        motion = runs.motion(name)
        axes.plot(
            motion.time, MM * motion.tip[:, 1], color=style.SERIES[index], ls=DASHES[index % 4],
            lw=1.6 if index == 0 else 1.3,
        )  # fmt: skip
        style.time_limits(axes, motion.time)
    axes.set_title(f"height of the tip after {MM * runs.release.tip_mass:g} g were taken away")
    axes.set_ylabel("height [mm]")


def _draw_residual(axes: Axes, runs: ReleaseRuns, tolerance: float) -> None:
    first, *others = runs.moving
    reference = runs.motion(first)
    for index, name in enumerate(others, start=1):
        apart = np.degrees(np.abs(runs.motion(name).angles - reference.angles)).max(axis=1)
        axes.semilogy(
            reference.time, np.maximum(apart, MIN_DIFFERENCE), color=style.SERIES[index], lw=1.0
        )
    axes.axhline(tolerance, color=style.LOST, lw=0.9, ls="--")
    axes.set_ylim(*_residual_limits(axes, tolerance))
    axes.set_title(f"largest difference of a joint angle from {first}")
    axes.set_ylabel("difference [deg]")
    axes.set_xlabel("time [s]")
    style.time_limits(axes, reference.time)


def _residual_limits(axes: Axes, tolerance: float) -> tuple[float, float]:
    """From below the usual difference to above the tolerance, whatever the first sample is."""
    lines = [np.asarray(line.get_ydata(), dtype=float) for line in axes.get_lines()[:-1]]
    usual = min(float(np.median(line)) for line in lines)
    largest = max(float(line.max()) for line in lines)
    low = min(0.2 * usual, 0.1 * tolerance) if tolerance else 0.2 * usual
    return max(low, MIN_DIFFERENCE), 3.0 * max(largest, tolerance, 10.0 * MIN_DIFFERENCE)


def draw_mode(runs: ReleaseRuns, tolerances: Tolerances, path: str | Path) -> Path:
    """Frequency and damping ratio of the first mode over the time step."""
    from matplotlib.patches import Patch

    with style.figure(path, 2.9) as figure:
        grid = style.panels(figure, 1, 2, margins=(0.75, 0.15, 0.55, 0.6), gaps=(0.75, 0.3))
        left, right = (figure.add_subplot(grid[0, column]) for column in range(2))
        _mode_panel(left, runs, "frequency", tolerances.frequency_percent)
        left.set_title("frequency [Hz]")
        _mode_panel(right, runs, "ratio", tolerances.damping_ratio_percent)
        right.set_title("damping ratio ζ [–]")
        first = next(iter(runs.moving))
        keys = [
            *engine_keys(runs.moving, marks=True),
            line_key(style.INK, "linear mode in such steps", "-", 0.9),
            line_key(style.INK, "linear mode", ":", 0.9),
            Patch(color=BAND, alpha=0.6, label=f"tolerance about {first}"),
        ]
        style.legend(figure, keys)
    return Path(path)


def _mode_panel(axes: Axes, runs: ReleaseRuns, field: str, percent: float) -> None:
    """One number of the first mode, the linear one beside it."""
    axes.axhline(getattr(runs.linear[0.0], field), color=style.INK, lw=0.9, ls=":")
    steps = np.array(sorted(step for step in runs.linear if step > 0.0))
    stepped = [getattr(runs.linear[step], field) for step in steps.tolist()]
    axes.plot(MS * steps, stepped, color=style.INK, lw=0.9)
    for index, (name, motions) in enumerate(runs.moving.items()):
        timesteps = np.array(sorted(motions))
        values = np.array([getattr(runs.mode(name, step), field) for step in timesteps.tolist()])
        if index == 0:
            band = 0.01 * percent * values
            axes.fill_between(
                MS * timesteps, values - band, values + band, color=BAND, alpha=0.6, lw=0
            )
        marks(axes, MS * timesteps, values, index)
    axes.set_xlabel("time step [ms]")
    axes.set_xlim(0.0, None)
    axes.ticklabel_format(useOffset=False)
