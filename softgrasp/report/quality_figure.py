"""Quality of the grasp over time: ε and the friction margin, and when force closure began."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from softgrasp.rendering.keyframes import has_phases
from softgrasp.report import style
from softgrasp.report.phase_marks import mark_phases
from softgrasp.simulation.quality_log import QualityLog
from softgrasp.simulation.result import GraspResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes

HEADROOM = 1.25
SMALL_MARGIN, MIN_MARGIN = 0.2, 0.01
"""Margins up to the first one are drawn on an axis of their own, of at least the second one."""
PERCENTILE = 95.0
"""Percentile of the margins that decides so: a first touch may be far from slipping."""
MIN_TOP = 0.05
"""Least height of the axis of ε."""


def draw_quality(result: GraspResult, path: str | Path) -> Path:
    """Draw ε and the friction margin at the samples of a run, under one time axis.

    Args:
        result: The run, with a log of its contacts.
        path: The ``.png`` to write.

    Raises:
        ResultError: The place cannot be written.
    """
    log = result.quality_log
    assert log is not None  # asked by the page
    with style.figure(path, 3.6, numbers=False) as figure:
        grid = style.panels(figure, 2, 1, margins=(0.6, 0.1, 0.5, 0.3), gaps=(0.0, 0.42))
        above = figure.add_subplot(grid[0])
        below = figure.add_subplot(grid[1], sharex=above)
        for axes in (above, below):
            _shade(axes, result)
        _draw_epsilon(above, log)
        _draw_margin(below, log)
        above.tick_params(labelbottom=False)
        style.time_limits(below, result.time)
        style.edge_labels(figure)
    return Path(path)


def _shade(axes: Axes, result: GraspResult) -> None:
    if has_phases(result):
        mark_phases(axes, result, named=False)
    elif result.hold is not None:
        axes.axvspan(result.hold.start_s, result.simulated_time, color=style.HOLD, lw=0)


def _draw_epsilon(axes: Axes, log: QualityLog) -> None:
    axes.plot(log.time, log.epsilon, color=style.POSITION)
    axes.set_ylim(0.0, max(HEADROOM * float(log.epsilon.max()), MIN_TOP))
    axes.set_title("ε: the smallest wrench that breaks the grasp, per newton of its contacts [–]")
    if log.closed_at is None:
        style.annotate(axes, "no force closure")
        return
    axes.axvline(log.closed_at, color=style.EDGE, lw=1.1)
    axes.text(
        log.closed_at, 0.96 * axes.get_ylim()[1], f" force closure {log.closed_at:.2f} s ",
        ha="left" if log.closed_at < 0.7 * log.time[-1] else "right", va="top",
        fontsize=7.5, color=style.EDGE,
    )  # fmt: skip


def _draw_margin(axes: Axes, log: QualityLog) -> None:
    axes.plot(log.time, log.margin, color=style.INK)
    axes.axhline(0.0, color=style.LOST, lw=0.9, ls=(0, (3, 2)))
    finite = log.margin[np.isfinite(log.margin)]
    usual = float(np.percentile(finite, PERCENTILE)) if finite.size else 1.0
    # near to slipping all the time, the curve would be a line on the axis
    top = 1.05 if usual > SMALL_MARGIN else HEADROOM * max(usual, MIN_MARGIN)
    axes.set_ylim(-0.05 * top, top)
    if finite.size and finite.max() > top:
        style.annotate(axes, f"cut; the largest is {finite.max():.2f}")
    axes.set_title("friction margin 1 − |Ft|/(µ Fn) of the body nearest to slipping [–]")
    if not np.isfinite(log.margin).any():
        style.annotate(axes, "nothing presses")
