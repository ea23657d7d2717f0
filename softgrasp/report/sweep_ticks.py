"""Ticks of an axis of a sweep: the swept values where they are few."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from softgrasp.report.sweep_data import MAX_LEVELS, compact, is_numeric

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from softgrasp.description.sweep_plan import Axis

DECADES = 30.0
"""Values that span more than this factor are shown by their logarithm."""
LETTER = 0.075
"""Width of a letter of a tick [in]."""


def fit_ticks(axes: Axes, table: pd.DataFrame, axis: Axis, width: float) -> None:
    """Scale and ticks of an x axis.

    Args:
        axes: The panel.
        table: The sweep's table.
        axis: What lies along x.
        width: Of the panel [in].
    """
    from matplotlib.ticker import LogLocator, NullLocator

    if not is_numeric(table, axis.path):
        axes.tick_params(axis="x", rotation=30)
        axes.margins(x=0.15)
        return
    values = sorted({float(value) for value in table[axis.path]})
    log = values[0] > 0 and (axis.log or values[-1] / values[0] > DECADES)
    if log:
        axes.set_xscale("log")
    axes.xaxis.set_minor_locator(NullLocator())
    if len(values) <= MAX_LEVELS:
        axes.set_xticks(apart(values, width, log=log))
    elif log:
        few = values[-1] / values[0] < 1e3
        axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if few else (1.0,)))
    else:
        axes.locator_params(axis="x", nbins=5)
    axes.xaxis.set_major_formatter(compact)


def apart(values: Sequence[float], width: float, *, log: bool) -> list[float]:
    """Those of rising values whose texts do not touch on an axis of a width [in]; both ends."""
    if len(values) < 2:
        return list(values)
    positions = [math.log(value) if log else value for value in values]
    inch = 0.9 * width / (positions[-1] - positions[0])  # matplotlib leaves a twentieth at each end

    def free(one: int, other: int) -> bool:
        letters = 0.5 * (len(compact(values[one])) + len(compact(values[other]))) + 1.0
        return abs(positions[one] - positions[other]) * inch >= LETTER * letters

    kept, last = [0], len(values) - 1
    for index in range(1, last):
        if free(kept[-1], index) and free(index, last):
            kept.append(index)
    return [values[index] for index in [*kept, last]]
