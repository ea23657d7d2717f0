"""Releases in several engines as the time step shrinks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from softgrasp.comparison.criteria import Tolerances
from softgrasp.comparison.runs import ReleaseRuns
from softgrasp.report import style
from softgrasp.report.crosscheck_marks import MS, engine_keys, line_key, marks

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

MIN_DIFFERENCE = 1e-12
"""A difference of nothing is drawn there on a logarithmic axis [deg]."""


def draw_convergence(runs: ReleaseRuns, tolerances: Tolerances, path: str | Path) -> Path | None:
    """Differences from the finest step, and between engines, over the time step."""
    able = [name for name, motions in runs.moving.items() if len(motions) > 2]
    if not able:
        return None
    steps = runs.convergence(able[0]).timesteps
    with style.figure(path, 3.2) as figure:
        grid = style.panels(figure, 1, 1, margins=(0.75, 0.15, 0.55, 0.6))
        axes = figure.add_subplot(grid[0, 0])
        keys = [*engine_keys(runs.moving, marks=True), *_draw_between(axes, runs, able)]
        _draw_order(axes, runs, able)
        axes.axhline(tolerances.trajectory_deg, color=style.LOST, lw=0.9, ls="--")
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        axes.set_xticks(MS * steps, [f"{MS * step:g}" for step in steps])
        axes.set_xlabel("time step [ms]")
        axes.set_ylabel("difference of a joint angle [deg]")
        keys += [
            line_key(style.MUTED, "order 1, from the finest step", ":", 1.2),
            line_key(style.LOST, "tolerance between engines", "--", 0.9),
        ]
        style.legend(figure, keys)
    return Path(path)


def _draw_order(axes: Axes, runs: ReleaseRuns, able: Sequence[str]) -> None:
    """Each engine's distance from its finest step, and that of an error of order 1."""
    for index, name in enumerate(runs.moving):
        if name in able:
            convergence = runs.convergence(name)
            marks(axes, MS * convergence.timesteps[:-1], convergence.deviation[:-1], index)
    steps, deviation = runs.convergence(able[0]).timesteps, runs.convergence(able[0]).deviation
    # an error of h at step h is one of h less the finest step, seen from there
    coarser = np.linspace(1.05 * steps[-1], steps[0], 200)
    guide = deviation[0] * (coarser - steps[-1]) / (steps[0] - steps[-1])
    axes.plot(MS * coarser, guide, color=style.MUTED, ls=":", lw=1.2)


def _draw_between(axes: Axes, runs: ReleaseRuns, able: Sequence[str]) -> list[Line2D]:
    """How far engines are from the first one at equal steps; returns their keys."""
    first, *others = able
    keys = []
    for name in others:
        shared = [step for step in runs.moving[name] if step in runs.moving[first]]
        motions = [(runs.moving[name][step], runs.moving[first][step]) for step in shared]
        apart = [np.degrees(np.abs(a.angles - b.angles)).max() for a, b in motions]
        axes.plot(
            MS * np.array(shared), np.maximum(apart, MIN_DIFFERENCE), color=style.INK, marker="D", ms=3.5,
            lw=1.0,
        )  # fmt: skip
        keys.append(line_key(style.INK, f"{name} from {first}", "-", 1.0, "D"))
    return keys
