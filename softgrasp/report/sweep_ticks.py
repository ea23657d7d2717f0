"""Ticks of an axis of a sweep: the swept values where they are few."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from softgrasp.report.sweep_data import MOST_LEVELS, compact, is_numeric

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from softgrasp.description.sweep_plan import Axis

DECADES = 30.0
"""Values that span more than this factor are shown by their logarithm."""
LETTER = 0.075
"""Width of a letter of a tick [in]."""


def fit_ticks(place: Axes, table: pd.DataFrame, axis: Axis, width: float) -> None:
    """Scale and ticks of an x axis.

    Args:
        place: The panel.
        table: The sweep's table.
        axis: What lies along x.
        width: Of the panel [in].
    """
    from matplotlib.ticker import LogLocator, NullLocator

    if not is_numeric(table, axis.path):
        place.tick_params(axis="x", rotation=30)
        place.margins(x=0.15)
        return
    values = sorted({float(value) for value in table[axis.path]})
    log = values[0] > 0 and (axis.log or values[-1] / values[0] > DECADES)
    if log:
        place.set_xscale("log")
    place.xaxis.set_minor_locator(NullLocator())
    if len(values) <= MOST_LEVELS:
        place.set_xticks(apart(values, width, log=log))
    elif log:
        few = values[-1] / values[0] < 1e3
        place.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if few else (1.0,)))
    else:
        place.locator_params(axis="x", nbins=5)
    place.xaxis.set_major_formatter(compact)


def apart(values: Sequence[float], width: float, *, log: bool) -> list[float]:
    """Those of rising values whose texts do not touch on an axis of a width [in]; both ends."""
    if len(values) < 2:
        return list(values)
    places = [math.log(value) if log else value for value in values]
    inch = 0.9 * width / (places[-1] - places[0])  # matplotlib leaves a twentieth at each end

    def free(one: int, other: int) -> bool:
        letters = 0.5 * (len(compact(values[one])) + len(compact(values[other]))) + 1.0
        return abs(places[one] - places[other]) * inch >= LETTER * letters

    kept, last = [0], len(values) - 1
    for index in range(1, last):
        if free(kept[-1], index) and free(index, last):
            kept.append(index)
    return [values[index] for index in [*kept, last]]
