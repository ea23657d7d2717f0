"""Style of all figures: colours, fonts, panel grid, and the CSV file beside each figure.

``figure`` opens a matplotlib figure, writes it as a PNG, and writes the drawn numbers into a CSV
file of the same name. The numbers are read back from the matplotlib artists (lines, error bars,
scatter points, bars, maps) in the units of their axes, so that figure and table cannot differ.
This takes 150 lines once; returning the numbers from each of the about 40 figures in eleven modules
would take as many. Margins are fixed distances in inches: matplotlib's layout
engines measure every text twice and take ten times as long.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from softgrasp.io.files import atomic_path
from softgrasp.io.tables import write_csv
from softgrasp.mechanics.transforms import Array

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.container import ErrorbarContainer
    from matplotlib.figure import Figure
    from matplotlib.gridspec import GridSpec
    from matplotlib.lines import Line2D


DPI = 300
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

HEADS = ("panel", "series", "x_axis", "x", "y_axis", "y", "value")
"""Columns of the CSV; ``value`` is the number of a map cell, empty for all other marks."""
Row = tuple[str | float, ...]
SHARED_X, SHARED_Y = "shared x", "shared y"
"""Group ids of the axis labels that all panels of a figure share."""

Mark = tuple[str, float, float, float | str]
LineStyle = tuple[str, ...]


@contextmanager
def figure(
    path: str | Path, height: float, width: float = WIDTH, *, numbers: bool = True
) -> Iterator[Figure]:
    """Open a figure that is written as a PNG, with its numbers in a CSV, when the block ends.

    Args:
        path: The ``.png`` to write; it is written atomically.
        height: Height [in].
        width: Width [in].
        numbers: Whether the drawn numbers are written into a ``.csv`` of the same name; False where
            the caller writes a more complete table.

    Raises:
        ResultError: The file cannot be written.
    """
    from matplotlib import rc_context
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with rc_context(_RC):
        canvas = FigureCanvasAgg(Figure(figsize=(width, height), dpi=DPI))
        yield canvas.figure
        with atomic_path(path) as temporary:
            canvas.figure.savefig(temporary, format="png", dpi=DPI)
        if numbers and (rows := drawn_numbers(canvas.figure)):
            write_csv(Path(path).with_suffix(".csv"), HEADS, rows)


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


def legend(figure: Figure, handles: Sequence[Artist], columns: int = 6) -> None:
    """Add a legend at the centre of the upper edge of a figure."""
    height = figure.get_size_inches()[1]
    figure.legend(
        handles=list(handles),
        loc="upper center",
        bbox_to_anchor=(0.5, 1.0 - 0.02 / height),
        ncols=columns,
        borderaxespad=0.2,
    )


def edge_labels(figure: Figure, *, x: str = "time [s]", y: str = "", above: float = 0.0) -> None:
    """Label the axes that all panels share; ``above`` raises the x label [in]."""
    width, height = figure.get_size_inches().tolist()
    figure.text(0.5, (0.08 + above) / height, x, ha="center", va="bottom", gid=SHARED_X)
    figure.text(0.08 / width, 0.5, y, ha="left", va="center", rotation="vertical", gid=SHARED_Y)


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


def drawn_numbers(figure: Figure) -> list[Row]:
    """Read all points, bars and map cells of a figure back, in the units of its axes.

    Lines and areas that span a whole panel, such as limits and shading, are not included.

    Args:
        figure: A finished figure.

    Returns:
        Rows with the columns ``HEADS``.
    """
    shared = {text.get_gid(): text.get_text() for text in figure.texts}
    rows: list[Row] = []
    for number, axes in enumerate(figure.axes, start=1):
        panel = axes.get_title(loc="left") or axes.get_title() or f"panel {number}"
        x_axis = axes.get_xlabel() or shared.get(SHARED_X, "")
        y_axis = axes.get_ylabel() or shared.get(SHARED_Y, "")
        names = _tick_names(axes.xaxis), _tick_names(axes.yaxis)
        for series, x, y, value in _marks(axes):
            labels = names[0].get(x, x), names[1].get(y, y)
            rows.append((panel, series, x_axis, labels[0], y_axis, labels[1], value))
    return rows


def _tick_names(axis: Axis) -> dict[float, str]:
    """Text labels of ticks, such as the names of bars, by tick position."""
    from matplotlib.ticker import FixedFormatter, FixedLocator, FuncFormatter

    formatter, locator = axis.get_major_formatter(), axis.get_major_locator()
    is_fixed = isinstance(formatter, FixedFormatter | FuncFormatter)
    if not is_fixed or not isinstance(locator, FixedLocator):
        return {}
    locations: list[float] = np.asarray(locator(), float).tolist()
    texts = formatter.format_ticks(locations)
    return {location: text for location, text in zip(locations, texts, strict=True) if text}


def _marks(axes: Axes) -> Iterator[Mark]:
    yield from _lines(axes)
    yield from _error_bars(axes)
    yield from _dots(axes)
    yield from _bars(axes)
    yield from _maps(axes)


def _lines(axes: Axes) -> Iterator[Mark]:
    with_bars = {part for bars in _error_containers(axes) for part in (bars[0], *bars[1])}
    for index, line in enumerate(axes.lines, start=1):
        # lines across a whole panel are given in axes coordinates
        if line in with_bars or line.get_transform() != axes.transData:
            continue
        points = np.asarray(line.get_xydata(), float)
        yield from ((_name(line, "line", index), x, y, "") for x, y in points.tolist())


def _error_containers(axes: Axes) -> list[ErrorbarContainer]:
    from matplotlib.container import ErrorbarContainer

    return [one for one in axes.containers if isinstance(one, ErrorbarContainer)]


def _name(artist: Any, kind: str, index: int) -> str:
    """Name of an artist: its label, its legend entry, or its number."""
    label = str(artist.get_label())
    if label and not label.startswith("_"):
        return label
    labels = _legend_labels(artist) if kind == "line" else set()
    return labels.pop() if len(labels) == 1 else f"{kind} {index}"


def _legend_labels(line: Line2D) -> set[str]:
    """Legend labels of a line: of entries with its style, else with its colour."""
    keys, line_style = _keys(line), _line_style(line)
    return set(keys.get(line_style) or keys.get(line_style[:1]) or ())


def _keys(line: Line2D) -> dict[LineStyle, set[str]]:
    """Legend labels of a figure by line style, and by colour alone."""
    from matplotlib.lines import Line2D

    legends = [line.axes.get_legend() if line.axes is not None else None]
    legends += line.get_figure(root=True).legends  # type: ignore[union-attr]
    labels_of_style: dict[LineStyle, set[str]] = {}
    for handle in (one for legend in legends if legend for one in legend.legend_handles):
        if isinstance(handle, Line2D):
            for line_style in (_line_style(handle), _line_style(handle)[:1]):
                labels_of_style.setdefault(line_style, set()).add(str(handle.get_label()))
    return labels_of_style


def _line_style(line: Line2D) -> LineStyle:
    """Colour, dashes and marker of a line."""
    from matplotlib.colors import to_hex

    return to_hex(line.get_color()), str(line.get_linestyle()), str(line.get_marker())


def _error_bars(axes: Axes) -> Iterator[Mark]:
    """Points with error bars; the two ends of a bar are separate rows."""
    for index, bars in enumerate(_error_containers(axes), start=1):
        name = _name(bars, "points", index)
        if bars[0] is not None:
            points = np.asarray(bars[0].get_xydata(), float).tolist()
            yield from ((name, x, y, "") for x, y in points)
        for end in (end for part in bars[2] for bar in part.get_segments() for end in bar):
            yield f"{name}, end of a bar", float(end[0]), float(end[1]), ""


def _dots(axes: Axes) -> Iterator[Mark]:
    from matplotlib.collections import PathCollection

    containers = [one for one in axes.collections if isinstance(one, PathCollection)]
    for index, dots in enumerate(containers, start=1):
        points = np.asarray(dots.get_offsets(), float)
        values = dots.get_array()
        values_text = [""] * len(points) if values is None else np.asarray(values, float).tolist()
        for (x, y), value in zip(points.tolist(), values_text, strict=True):
            yield _name(dots, "dots", index), x, y, value


def _bars(axes: Axes) -> Iterator[Mark]:
    from matplotlib.container import BarContainer

    containers = [one for one in axes.containers if isinstance(one, BarContainer)]
    for index, bars in enumerate(containers, start=1):
        for bar in bars:
            low, left = bar.get_y(), bar.get_x()
            center = left + 0.5 * bar.get_width(), low + 0.5 * bar.get_height()
            end = (left + bar.get_width(), low + bar.get_height())
            along = (end[0], center[1]) if bars.orientation == "horizontal" else (center[0], end[1])
            yield _name(bars, "bars", index), float(along[0]), float(along[1]), ""


def _maps(axes: Axes) -> Iterator[Mark]:
    for index, image in enumerate(axes.images, start=1):
        cells: Array = np.ma.filled(np.ma.asarray(image.get_array(), float), np.nan)
        if cells.ndim == 2:  # else it is an RGB image
            for (row, column), value in np.ndenumerate(cells):
                yield _name(image, "map", index), float(column), float(row), float(value)
