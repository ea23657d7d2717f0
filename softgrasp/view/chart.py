"""A chart over time in the panel of a page, with a line at the instant that is shown."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from itertools import cycle

import numpy as np
import viser
from viser import uplot

from softgrasp.mechanics.transforms import Array

HEIGHT, NUMBERS = 210, 62
"""Of a chart, and of the numbers at its side [pixels]."""
PADDING = (9, 24, 0, 0)
"""Above, right, below and left of the curves, or the highest number would be cut [pixels]."""
MAX_ROWS = 400
"""A chart shows about so many rows, evenly spread."""
COLORS = (
    "#2a78b5", "#d1622b", "#3a9a5b", "#8a5bb8", "#b5487a", "#5a6b7b",
    "#2aa5a0", "#b58b2a", "#6a4fd1", "#c03a3a", "#4f8a10", "#7f6a4a",
)  # fmt: skip
NOW = "#22272e"
MARGIN, FAR = 0.05, 20.0
"""Space over the highest value, and how far below the lowest one what is not seen lies, both over
the height of the chart. The charts of the page know no gaps."""


class TimeChart:
    """Curves over time in the panel of a page.

    Args:
        gui: The panel.
        title: What stands over it, with the unit.
        time: (t,) [s].
        curves: By what stands in the legend, (t,) each.
    """

    def __init__(
        self, gui: viser.GuiApi, title: str, time: Array, curves: Mapping[str, Array]
    ) -> None:
        rows = _thinned(len(time))
        self._time = np.asarray(time, dtype=float)[rows]
        self._curves = [np.asarray(curve, dtype=float)[rows] for curve in curves.values()]
        values = np.concatenate([*self._curves, [0.0]])
        values = values[np.isfinite(values)]
        self._low, self._high = float(values.min()), float(values.max())
        self._high += MARGIN * (self._high - self._low) or 1.0
        names = [*curves]
        self._handle = gui.add_uplot(
            self._data(float(self._time[0])),
            series=(
                uplot.Series(label="t / s"),
                *map(_line, names, cycle(COLORS)),
                _line("now", NOW),
            ),
            scales={"x": uplot.Scale(time=False), "y": uplot.Scale(range=(self._low, self._high))},
            axes=(uplot.Axis(), uplot.Axis(size=NUMBERS)),
            title=title,
            height=HEIGHT,
            padding=PADDING,
        )

    def move(self, time: float) -> None:
        """Put the line at an instant [s]."""
        self._handle.data = self._data(time)

    def _data(self, time: float) -> tuple[Array, ...]:
        """The curves, and the line as one more of them, that is out of sight but at an instant."""
        at = int(np.searchsorted(self._time, time))
        sunk = self._low - FAR * (self._high - self._low)
        curves = []
        for curve in self._curves:
            there = np.interp(time, self._time, curve)
            curves.append(np.nan_to_num(np.insert(curve, at, 3 * [there]), nan=sunk))
        line = np.full(len(self._time) + 3, sunk)
        line[at : at + 3] = self._low, self._high, self._low
        return (np.insert(self._time, at, 3 * [time]), *curves, line)


def _line(name: str, color: str) -> uplot.Series:
    return uplot.Series(label=name, stroke=color, width=1.5)


def _thinned(rows: int) -> Array:
    """Numbers of at most so many rows, evenly spread, the last one too."""
    return np.unique(np.linspace(0, rows - 1, min(rows, MAX_ROWS)).round().astype(int))


class RunningChart:
    """Curves of the last seconds.

    Args:
        gui: The panel.
        title: What stands over it, with the unit.
        names: Of the curves.
        seconds: How far back they go [s].
    """

    def __init__(self, gui: viser.GuiApi, title: str, names: Sequence[str], seconds: float) -> None:
        self._seconds = seconds
        self._rows: deque[tuple[float, ...]] = deque([(0.0, *[0.0] * len(names))])
        self._handle = gui.add_uplot(
            self._data(),
            series=(uplot.Series(label="t / s"), *map(_line, names, cycle(COLORS))),
            scales={"x": uplot.Scale(time=False)},
            axes=(uplot.Axis(), uplot.Axis(size=NUMBERS)),
            title=title,
            height=HEIGHT,
            padding=PADDING,
        )
        self._rows.clear()

    def add(self, time: float, values: Sequence[float]) -> None:
        """Add an instant [s]; may be called from another thread than ``draw``."""
        self._rows.append((time, *values))
        while self._rows[0][0] < time - self._seconds:
            self._rows.popleft()

    def draw(self) -> None:
        """Show what was added."""
        if self._rows:
            self._handle.data = self._data()

    def _data(self) -> tuple[Array, ...]:
        every = max(1, len(self._rows) // MAX_ROWS)
        rows = np.array(list(self._rows))[::-1][::every][::-1]  # the newest one too
        return tuple(np.ascontiguousarray(column) for column in rows.T)
