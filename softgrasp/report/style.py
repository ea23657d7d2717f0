"""Style of all figures, their CSV tables, and formats of numbers in reports and on the terminal.

``figure`` opens a matplotlib figure and a ``Table``; at the end it writes the figure as a PNG and
the table as a CSV of the same name. Margins are fixed distances in inches: matplotlib's layout
engines measure every text twice and take ten times as long.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np

from softgrasp.io.files import atomic_path
from softgrasp.io.tables import write_columns
from softgrasp.mechanics.transforms import Array

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.gridspec import GridSpec
    from matplotlib.lines import Line2D


DPI = 300
PNG = {"compress_level": 3}
"""Half the time of the default level 6; files are 14 % smaller to 25 % larger."""
WIDTH = 10.0
"""Width of a figure [in]."""

INK, MUTED, RULE = "#1f2933", "#66727f", "#d5dbe1"
ESTABLISHED, LATER, EDGE = "#9fd2cf", "#d7ecea", "#2a9d98"
"""Contact shading, as phalanges in contact are coloured in the video; ``LATER``: contact of a more
distal phalanx; ``EDGE``: the instant at which contact is established."""
TOUCHING, FORCE = "#f8e7b0", "#1f2933"
LOST = "#c8452f"
POSITION, TARGET = "#1d5f9e", "#d1722a"
HOLD = "#eef1f5"
"""Background of a hold test."""
AXES_COLORS = ("#c8452f", "#2f8f4e", "#2b62b5")
"""Colours of x, y and z."""
SERIES = ("#4c78a8", "#e4862f", "#3f9d63", "#c24a5b", "#8567b0", "#8c6d4f", "#3aa5b5", "#6b7480")
"""Colours of runs, engines or values that are compared."""

DASHES: tuple[Any, ...] = ("-", (0, (5, 2)), (0, (1.5, 1.5)), (0, (6, 2, 1, 2)))
"""Dash patterns of lines that may coincide."""

_RC: dict[Any, Any] = {
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.6,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 9,
    "axes.titlepad": 4,
    # a fixed height avoids a search that takes a fifth of the drawing time
    "axes.titley": 1.0,
    "axes.titleweight": "bold",
    "figure.facecolor": "white",
    "font.family": "DejaVu Sans",
    "font.size": 8.5,
    "grid.color": RULE,
    "grid.linewidth": 0.5,
    "axes.grid": True,
    "axes.axisbelow": True,
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "lines.linewidth": 1.2,
    "text.color": INK,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelsize": 7.5,
    "ytick.labelsize": 7.5,
}


LARGEST = 1e6
"""Absolute value above which numbers are written with an exponent."""


class Table:
    """Numbers shown in a figure, as columns named with their units."""

    def __init__(self) -> None:
        self.columns: dict[str, list[str | float]] = {}

    def add(self, columns: Mapping[str, Array | Sequence[Any]]) -> None:
        """Append columns of equal length; a first column that exists already is shared.

        The first column holds what the others are plotted over.
        """
        for index, (name, values) in enumerate(columns.items()):
            cells = np.asarray(values).tolist()
            if index == 0 and self.columns.get(name) == cells:
                continue
            names = (name if k == 1 else f"{name} ({k})" for k in itertools.count(1))
            self.columns[next(item for item in names if item not in self.columns)] = cells

    def add_points(self, name: str, axes: str, unit: str, points: Array) -> None:
        """Append points (n, axes) of a unit, one column per letter of ``axes``, such as ``xz``."""
        names = (f"{name} {axis} [{unit}]" for axis in axes)
        self.add(dict(zip(names, points.T, strict=True)))

    def plot(
        self, axes: Axes, x: Any, y: Any, name: str, over: str = "time [s]", **style: Any
    ) -> Line2D:
        """Plot ordinates (n,) over abscissae (n,), and append both to the table under their names.

        ``style`` are options of ``Axes.plot``.
        """
        self.add({over: x, name: y})
        (line,) = axes.plot(x, y, **style)
        return line


@contextmanager
def figure(
    path: str | Path, height: float, width: float = WIDTH, *, dpi: float | None = None
) -> Iterator[tuple[Figure, Table]]:
    """Open a figure and its table, which are written when the context ends.

    Args:
        path: The ``.png`` to write, atomically; the table becomes a ``.csv`` of the same name, and
            none where it has no columns.
        height: Height [in].
        width: Width [in].
        dpi: Dots per inch; by default ``DPI``.

    Raises:
        ResultError: A file cannot be written.
    """
    from matplotlib import rc_context
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    table = Table()
    with rc_context(_RC):
        canvas = FigureCanvasAgg(Figure(figsize=(width, height), dpi=dpi or DPI))
        yield canvas.figure, table
        with atomic_path(path) as temporary:
            canvas.figure.savefig(temporary, format="png", dpi="figure", pil_kwargs=PNG)
    if table.columns:
        write_columns(Path(path).with_suffix(".csv"), table.columns)


def panels(
    figure: Figure,
    rows: int,
    columns: int,
    *,
    margins: tuple[float, float, float, float] = (0.6, 0.1, 0.5, 0.55),
    gaps: tuple[float, float] = (0.35, 0.33),
) -> GridSpec:
    """Divide a figure into a grid of equal panels with margins in inches.

    Args:
        figure: The figure.
        rows: Number of rows.
        columns: Number of columns.
        margins: Left, right, bottom, top [in].
        gaps: Between columns and between rows [in].
    """
    width, height = figure.get_size_inches().tolist()
    left, right, bottom, top = margins
    across = (width - left - right - (columns - 1) * gaps[0]) / columns
    along = (height - bottom - top - (rows - 1) * gaps[1]) / rows
    return figure.add_gridspec(
        rows,
        columns,
        left=left / width,
        right=1.0 - right / width,
        bottom=bottom / height,
        top=1.0 - top / height,
        wspace=gaps[0] / across,
        hspace=gaps[1] / along,
    )


def subplots(
    figure: Figure,
    count: int,
    columns: int | None = None,
    *,
    margins: tuple[float, float, float, float] = (0.6, 0.15, 0.5, 0.35),
    gaps: tuple[float, float] = (0.6, 0.3),
) -> list[Axes]:
    """Add panels to a figure row by row, by default in one row; the others as for ``panels``."""
    columns = columns or count
    grid = panels(figure, -(-count // columns), columns, margins=margins, gaps=gaps)
    return [figure.add_subplot(grid[index // columns, index % columns]) for index in range(count)]


def legend(figure: Figure, handles: Sequence[Artist] = (), columns: int = 6) -> None:
    """Add a legend at the centre of the upper edge, by default that of the first panel."""
    handles = handles or figure.axes[0].get_legend_handles_labels()[0]
    height = figure.get_size_inches()[1]
    figure.legend(
        handles=list(handles),
        loc="upper center",
        bbox_to_anchor=(0.5, 1.0 - 0.02 / height),
        ncols=columns,
        borderaxespad=0.2,
    )


def edge_labels(figure: Figure, *, x: str = "time [s]", y: str = "", above: float = 0.0) -> None:
    """Label the axes that all panels share; ``above`` raises the x label over a footnote [in]."""
    width, height = figure.get_size_inches().tolist()
    figure.text(0.5, (0.08 + above) / height, x, ha="center", va="bottom")
    figure.text(0.08 / width, 0.5, y, ha="left", va="center", rotation="vertical")


def footnote(figure: Figure, text: str) -> None:
    """Write a note below the panels of a figure."""
    width, height = figure.get_size_inches().tolist()
    letters = int(width / 0.06)
    figure.text(0.55 / width, 0.06 / height, fill(text, letters), fontsize=7.5, color=INK,
                va="bottom")  # fmt: skip


def annotate(axes: Axes, text: str) -> None:
    """Write a small annotation above the right end of a panel."""
    axes.annotate(
        text, (1.0, 1.0), (0.0, 4.0), xycoords="axes fraction", textcoords="offset points",
        ha="right", va="baseline", fontsize=7, color=MUTED,
    )  # fmt: skip


def time_limits(axes: Axes, times: Array) -> None:
    """Fit the time axis to a run, also to one with a single sample."""
    start, end = float(times[0]), float(times[-1])
    axes.set_xlim(start, end if end > start else start + 1e-3)
    axes.locator_params(axis="x", nbins=6)


def set_min_span(axes: Axes, span: float) -> None:
    """Widen the value axis to a minimum span, so that rounding errors do not look like motion."""
    low, high = axes.get_ylim()
    missing = max(span - (high - low), 0.0)
    axes.set_ylim(low - 0.5 * missing, high + 0.5 * missing)
    axes.locator_params(axis="y", nbins=6)


# Formats of numbers.


def signed(value: float, digits: int) -> str:
    """Format a number with a typographic minus sign and without negative zero."""
    rounded = round(value, digits) + 0.0
    text = f"{rounded:.{digits}f}" if abs(rounded) < LARGEST else f"{rounded:.1e}"
    return text.replace("-", "\N{MINUS SIGN}")


def millimetres(length: float) -> str:
    """Format a length [m] in millimetres: three decimals below 1 mm, one above."""
    value = 1e3 * length
    return f"{value:.3f} mm" if abs(value) < 1.0 else f"{value:.1f} mm"


def newtons(force: float) -> str:
    """Format a force [N] with three significant digits."""
    return f"{group_digits(force)} N" if force >= 1000.0 else f"{force:.3g} N"


def group_digits(number: float) -> str:
    """Format a large number in groups of three digits: ``100 751``."""
    return f"{number:,.0f}".replace(",", "\N{NARROW NO-BREAK SPACE}")


def count(number: int, noun: str) -> str:
    """Format a count with its noun: ``1 sample``, ``10 samples``."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def capitalize(text: str) -> str:
    """Return a text with an upper-case first letter."""
    return f"{text[:1].upper()}{text[1:]}"
