"""One look for all figures: colours, letters and lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from softgrasp.formats.atomic import atomic_path
from softgrasp.report.csv_file import write_csv
from softgrasp.report.drawn_numbers import HEADS, SHARED_X, SHARED_Y, drawn_numbers

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.gridspec import GridSpec

    from softgrasp.mechanics.transforms import Array

DPI = 300
WIDTH = 10.0
"""Width of a figure [in]."""

INK, MUTED, RULE = "#1f2933", "#66727f", "#d5dbe1"
ESTABLISHED, LATER, EDGE = "#9fd2cf", "#d7ecea", "#2a9d98"
"""Established contact has the colour that a phalanx in contact has in the film; lighter,
contact of a later phalanx; darker, the moment."""
TOUCHING, FORCE = "#f8e7b0", "#1f2933"
LOST = "#c8452f"
POSITION, TARGET = "#1d5f9e", "#d1722a"
LARGEST = 1e6
"""Larger numbers are written with an exponent."""
HOLD = "#eef1f5"
"""Background of a hold test."""
AXES_COLORS = ("#c8452f", "#2f8f4e", "#2b62b5")
"""x, y and z, as coordinate axes are drawn everywhere."""
SERIES = ("#4c78a8", "#e4862f", "#3f9d63", "#c24a5b", "#8567b0", "#8c6d4f", "#3aa5b5", "#6b7480")
"""Runs that are compared with one another."""

_RC: dict[Any, Any] = {
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.6,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 9,
    "axes.titlepad": 4,
    # a fixed height spares matplotlib a search that takes a fifth of the drawing time
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


@contextmanager
def figure(
    path: str | Path, height: float, width: float = WIDTH, *, numbers: bool = True
) -> Iterator[Figure]:
    """A new figure in the house style, written as a PNG with its numbers when the block ends.

    Args:
        path: The ``.png`` to write, whole or not at all.
        height: [in]
        width: [in]
        numbers: Whether what is drawn goes into a ``.csv`` beside the figure; not where its numbers
            are written in full by somebody else, and never where there are none.

    Raises:
        ResultError: The place cannot be written.
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
    """A grid of equal panels, laid out in inches.

    Fixed distances take a tenth of the time of matplotlib's layout engines, which measure every
    text twice.

    Args:
        figure: Where to.
        rows: Panels above one another.
        columns: Panels side by side.
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
    """Keys in the middle of a figure's upper edge."""
    height = figure.get_size_inches()[1]
    figure.legend(
        handles=list(handles),
        loc="upper center",
        bbox_to_anchor=(0.5, 1.0 - 0.02 / height),
        ncols=columns,
        borderaxespad=0.2,
    )


def edge_labels(figure: Figure, *, x: str = "time [s]", y: str = "", above: float = 0.0) -> None:
    """Names of the axes that all panels share, at the left edge and above the lower one [in]."""
    width, height = figure.get_size_inches().tolist()
    figure.text(0.5, (0.08 + above) / height, x, ha="center", va="bottom", gid=SHARED_X)
    figure.text(0.08 / width, 0.5, y, ha="left", va="center", rotation="vertical", gid=SHARED_Y)


def annotate(axes: Axes, text: str) -> None:
    """A small remark over the right end of a panel."""
    axes.annotate(
        text, (1.0, 1.0), (0.0, 4.0), xycoords="axes fraction", textcoords="offset points",
        ha="right", va="baseline", fontsize=7, color=MUTED,
    )  # fmt: skip


def time_limits(axes: Axes, times: Array) -> None:
    """Let the time axis span a run, also one that ended at its first sample."""
    start, end = float(times[0]), float(times[-1])
    axes.set_xlim(start, end if end > start else start + 1e-3)
    axes.locator_params(axis="x", nbins=6)


def set_min_span(axes: Axes, span: float) -> None:
    """Widen the value axis to a least height, so that rounding does not look like motion."""
    low, high = axes.get_ylim()
    missing = max(span - (high - low), 0.0)
    axes.set_ylim(low - 0.5 * missing, high + 0.5 * missing)
    axes.locator_params(axis="y", nbins=6)


def signed(value: float, digits: int) -> str:
    """A number with a true minus sign, no negative zero, and no more digits than it deserves."""
    rounded = round(value, digits) + 0.0
    text = f"{rounded:.{digits}f}" if abs(rounded) < LARGEST else f"{rounded:.1e}"
    return text.replace("-", "\N{MINUS SIGN}")
