"""Figure of docs/soft_fingers.md: convergence of rigid-link chains."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, get_args

import numpy as np

from softgrasp.continuum import rld
from softgrasp.report import style
from softgrasp.sim.soft_statics import equilibrium
from tests.support.beams import under_tip_force

if TYPE_CHECKING:
    from matplotlib.axes import Axes


COUNTS = (2, 4, 8, 16, 32, 64)
"""Numbers of joints."""
LOADS = (1.0, 3.0, 10.0)
"""Tip loads P·L²/EI [–]."""
COLORS = dict(zip(get_args(rld.Layout), ("#1d5f9e", "#c8452f", "#e4862f"), strict=True))


class ConvergencePoint(NamedTuple):
    """Distance of a chain's tip from the exact one."""

    layout: str
    load: float
    """P·L²/EI [–]"""
    joints: int
    error: float
    """Over the length [–]."""
    estimate: float
    """What ``Equilibrium.discretisation_error`` says of it, over the length [–]."""


def convergence() -> list[ConvergencePoint]:
    """Cantilevers under a tip load, every layout, load and number of joints."""
    points = []
    for layout in get_args(rld.Layout):
        for load in LOADS:
            exact = under_tip_force(load)
            for joints in COUNTS:
                finger = rld.discretise(1.0, 1.0, 1e-9, joints, layout)
                rest = equilibrium(finger, tip_force=(0.0, 0.0, -load), gravity=False)
                away = rest.tip_position - [exact.x, 0.0, -exact.y]
                error = float(np.linalg.norm(away))
                points.append(
                    ConvergencePoint(layout, load, joints, error, rest.discretisation_error)
                )
    return points


def draw_convergence(points: list[ConvergencePoint], path: str | Path) -> Path:
    """Draw tip errors over the number of joints: a panel a load, a line a layout."""
    from matplotlib.lines import Line2D

    with style.figure(path, 3.2) as (figure, table):
        grid = style.panels(figure, 1, len(LOADS), margins=(0.7, 0.1, 0.55, 0.6))
        first: Axes | None = None
        for column, load in enumerate(LOADS):
            first = axes = figure.add_subplot(grid[0, column], sharex=first, sharey=first)
            axes.set_title(f"P·L²/EI = {load:g}")
            axes.tick_params(labelleft=column == 0)
            _draw_load(axes, table, [point for point in points if point.load == load])
        style.edge_labels(figure, x="number of joints", y="tip error over length [%]")
        keys = [Line2D([], [], color=c, marker="o", ms=3, label=name) for name, c in COLORS.items()]
        keys += [
            Line2D([], [], color=style.INK, ls="", marker="x", ms=4, label="Richardson's estimate"),
            Line2D([], [], color=style.MUTED, ls=":", lw=1.0, label="order 1 and order 2"),
        ]
        style.legend(figure, keys)
    return Path(path)


def _draw_load(axes: Axes, table: style.Table, points: list[ConvergencePoint]) -> None:
    for layout, color in COLORS.items():
        layout_points = [point for point in points if point.layout == layout]
        joints, errors = [p.joints for p in layout_points], [100.0 * p.error for p in layout_points]
        name = f"P·L²/EI = {points[0].load:g}: {layout}"
        table.plot(axes, joints, errors, f"{name} tip error [%]", "joints", color=color,
                   marker="o", ms=3, lw=1.2)  # fmt: skip
        if layout == "midpoint":
            estimates = [100.0 * point.estimate for point in layout_points]
            table.plot(axes, joints, estimates, f"{name} estimate [%]", "joints",
                       color=style.INK, ls="", marker="x", ms=4)  # fmt: skip
    counts = np.array(COUNTS, dtype=float)
    for order, start in ((1, 20.0), (2, 2.0)):
        guide = start * (counts / counts[0]) ** -order
        axes.loglog(counts, guide, color=style.MUTED, ls=":", lw=0.9)
    axes.set_xticks(COUNTS, [str(count) for count in COUNTS])
    axes.minorticks_off()
