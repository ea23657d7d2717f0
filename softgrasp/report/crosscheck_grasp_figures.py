"""Grasps in several engines: normal forces, what is held, and forces over the time step."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from softgrasp.comparison.checks import load_scale, mean_force
from softgrasp.comparison.criteria import Tolerances
from softgrasp.comparison.runs import GraspRuns, bodies_in_contact, force_at, force_name
from softgrasp.report import style
from softgrasp.report.crosscheck_marks import BAND, DASHES, MARKERS, MS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

HELD, DROPPED = "#9fd2cf", "#f0c4bb"
MIN_FORCE = 1e-3
"""A force of nothing is drawn there on a logarithmic axis [N]."""
LATE = 0.6
"""Time after the first touch that the course of the forces shows [s]."""


def draw_forces(runs: GraspRuns, path: str | Path) -> Path | None:
    """Normal forces at rest as bars, and the course of the one that differs most."""
    from matplotlib.patches import Patch

    bodies = sorted({body for one in runs.resting.values() for body in bodies_in_contact(one)})
    if not bodies:
        return None
    worst = max(bodies, key=lambda body: _spread(runs, body))
    count = len(runs.resting)
    with style.figure(path, 2.9) as figure:
        grid = style.panels(figure, 1, 2, margins=(0.65, 0.15, 0.55, 0.6), gaps=(0.6, 0.3))
        left, right = (figure.add_subplot(grid[0, column]) for column in range(2))
        for index, result in enumerate(runs.resting.values()):
            color = style.SERIES[index]
            values = [force_at(result, body) for body in bodies]
            width = 0.8 / count
            positions = np.arange(len(bodies)) + (index - 0.5 * (count - 1)) * width
            bars = left.bar(positions, values, 0.94 * width, color=color)
            if len(bodies) * count <= 12:
                left.bar_label(bars, [f"{value:.4g}" for value in values], fontsize=6.5, padding=1)
            column = result.contact_bodies.tolist().index(worst)
            right.plot(
                result.time, np.maximum(result.normal_force[:, column], MIN_FORCE), color=color, lw=1.3,
                ls=DASHES[index % 4],
            )  # fmt: skip
        left.set_xticks(np.arange(len(bodies)), bodies, rotation=90 if len(bodies) > 8 else 0)
        left.set_ylim(0.0, 1.1 * left.get_ylim()[1])
        left.set_title("at rest")
        left.set_ylabel(f"{force_name(runs.closing).lower()} [N]")
        left.grid(visible=False, axis="x")
        _course(right, runs, worst)
        keys = [Patch(color=style.SERIES[i], label=name) for i, name in enumerate(runs.resting)]
        style.legend(figure, keys)
    return Path(path)


def draw_loads(runs: GraspRuns, tolerances: Tolerances, path: str | Path) -> Path | None:
    """Which loads each engine holds, and where the object begins to fall."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    middles = [
        threshold.middle for threshold in runs.thresholds.values() if threshold.middle is not None
    ]
    if len(runs.loads) < 2 or not middles:
        return None
    scale, unit = load_scale(runs)
    loads = [scale * load for load in runs.loads]
    with style.figure(path, 1.4 + 0.5 * len(runs.held)) as figure:
        grid = style.panels(figure, 1, 1, margins=(0.85, 0.2, 0.55, 0.6))
        axes = figure.add_subplot(grid[0, 0])
        relative_tolerance = 0.01 * tolerances.threshold_percent
        ends = [scale * middles[0] * (1.0 + sign * relative_tolerance) for sign in (-1, 1)]
        axes.axvspan(*ends, color=BAND, alpha=0.6, lw=0)
        for row, (name, held) in enumerate(runs.held.items()):
            middle = runs.thresholds[name].middle
            _load_row(axes, row, loads, held, None if middle is None else scale * middle)
        axes.set_xscale("log")
        axes.set_xlim(0.88 * min(loads), 1.14 * max(loads))
        axes.set_xticks(loads, [f"{load:.5g}" for load in loads])
        axes.minorticks_off()
        axes.set_ylim(len(runs.held) - 0.4, -0.6)
        axes.set_yticks(range(len(runs.held)), list(runs.held))
        axes.grid(visible=False)
        axes.set_xlabel(f"{'density' if unit != 'kg' else 'mass'} of the object [{unit}]")
        label = f"within {tolerances.threshold_percent:g} % of the first: need not agree"
        keys = [
            Line2D([], [], color=style.MUTED, lw=2.2, label="critical"),
            Patch(color=BAND, alpha=0.6, label=label),
        ]
        style.legend(figure, keys)
    return Path(path)


def _load_row(
    axes: Axes, row: int, loads: Sequence[float], held: Sequence[bool], critical: float | None
) -> None:
    """The verdicts of one engine, and where it drops the object."""
    for load, is_held in zip(loads, held, strict=True):
        label, color = ("held", HELD) if is_held else ("dropped", DROPPED)
        axes.text(
            load, row - 0.1, label, ha="center", va="center", fontsize=8,
            bbox={"boxstyle": "round,pad=0.35", "lw": 0, "fc": color},
        )  # fmt: skip
    if critical is None:
        return
    color = style.SERIES[row]
    axes.plot([critical] * 2, [row - 0.46, row + 0.46], color=color, lw=2.2, zorder=1)
    axes.annotate(
        f"{critical:.5g}", (critical, row + 0.46), (4, 1), textcoords="offset points", fontsize=7,
        color=color, va="bottom",
    )  # fmt: skip


def draw_steps(runs: GraspRuns, tolerances: Tolerances, path: str | Path) -> Path | None:
    """Mean normal force at rest over the time step."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    shared = [
        set(bodies_in_contact(one))
        for runs_by_step in runs.finer.values()
        for one in runs_by_step.values()
    ]
    bodies = sorted(set.intersection(*shared))
    if not bodies or max(map(len, runs.finer.values())) < 2:
        return None
    first = next(iter(runs.finer))
    with style.figure(path, 2.7) as figure:
        grid = style.panels(figure, 1, 1, margins=(0.75, 0.15, 0.55, 0.6))
        axes = figure.add_subplot(grid[0, 0])
        for index, (name, runs_by_step) in enumerate(runs.finer.items()):
            steps = np.array(list(runs_by_step))
            forces = np.array([mean_force(runs, name, step, bodies) for step in runs_by_step])
            if name == first:
                band = 0.01 * tolerances.normal_force_percent * forces
                axes.fill_between(MS * steps, forces - band, forces + band, color=BAND, alpha=0.6)
            axes.plot(
                MS * steps, forces, color=style.SERIES[index], marker=MARKERS[index % 4],
                ms=4.5 + 2.5 * index, lw=1.0, mfc=style.SERIES[index] if index == 0 else "none",
            )  # fmt: skip
        ticks = sorted({step for runs_by_step in runs.finer.values() for step in runs_by_step})
        axes.set_xscale("log", base=2)
        axes.set_xticks([MS * step for step in ticks], [f"{MS * step:g}" for step in ticks])
        axes.minorticks_off()
        axes.set_xlabel("time step [ms]")
        axes.set_ylabel(f"mean {force_name(runs.closing).lower()} at rest [N]")
        style.set_min_span(axes, 0.1 * float(np.mean(axes.get_ylim())))
        keys: list[Line2D | Patch] = [
            Line2D([], [], color=style.SERIES[index], marker=MARKERS[index % 4], label=name)
            for index, name in enumerate(runs.finer)
        ]
        label = f"within {tolerances.normal_force_percent:g} % of {first}"
        keys.append(Patch(color=BAND, alpha=0.6, label=label))
        style.legend(figure, keys)
    return Path(path)


def _spread(runs: GraspRuns, body: str) -> float:
    values = [force_at(result, body) for result in runs.resting.values()]
    return max(values) - min(values)


def _course(axes: Axes, runs: GraspRuns, body: str) -> None:
    """Limits and names of the panel with the course of a force."""
    from matplotlib.ticker import LogLocator, NullFormatter

    touched = [result.contact_of(body).first_touch_s for result in runs.resting.values()]
    begin = min((time for time in touched if time is not None), default=0.0)
    axes.set_xlim(begin - 0.02, begin + LATE)
    ends = [value for result in runs.resting.values() if (value := force_at(result, body)) > 0.0]
    axes.set_yscale("log")
    axes.set_ylim(0.3 * min(ends, default=1.0), 1.4 * axes.get_ylim()[1])
    axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.yaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.set_title(f"{body}: {force_name(runs.closing).lower()} from the first touch on")
    axes.set_xlabel("time [s]")
