"""One look for all figures: colours, letters and lines."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from softgrasp.formats.atomic import atomic_path

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DPI = 300
WIDTH = 10.0
"""Width of a figure [in]."""

INK, MUTED, RULE = "#1f2933", "#66727f", "#d5dbe1"
ESTABLISHED, TOUCHING, FORCE = "#2a9d98", "#f3cf65", "#1f2933"
"""Established contact has the colour that a phalanx in contact has in the film."""
POSITION, TARGET, LIMIT = "#1d5f9e", "#d1722a", "#a3adb8"
HOLD = "#eef1f5"
"""Background of a hold test."""
AXES_COLORS = ("#c8452f", "#2f8f4e", "#2b62b5")
"""x, y and z, as coordinate axes are drawn everywhere."""
SERIES = ("#4c78a8", "#e4862f", "#3f9d63", "#c24a5b", "#8567b0", "#8c6d4f", "#3aa5b5", "#6b7480")
"""Runs that are compared with one another."""

_RC: dict[str, object] = {
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.6,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 9,
    "axes.titleweight": "bold",
    "figure.facecolor": "white",
    "figure.constrained_layout.use": True,
    "font.family": "DejaVu Sans",
    "font.size": 8.5,
    "grid.color": RULE,
    "grid.linewidth": 0.5,
    "axes.grid": True,
    "axes.axisbelow": True,
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "lines.linewidth": 1.2,
    "savefig.dpi": DPI,
    "text.color": INK,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelsize": 7.5,
    "ytick.labelsize": 7.5,
}


@contextmanager
def figure(path: str | Path, height: float, width: float = WIDTH) -> Iterator[Figure]:
    """A new figure in the house style that is written as a PNG when the block ends.

    Args:
        path: The ``.png`` to write, whole or not at all.
        height: [in]
        width: [in]

    Raises:
        ResultError: The place cannot be written.
    """
    from matplotlib import rc_context
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with rc_context(_RC):
        canvas = FigureCanvasAgg(Figure(figsize=(width, height)))
        yield canvas.figure
        with atomic_path(path) as temporary:
            canvas.figure.savefig(temporary, format="png")


def corner_text(axes: Axes, text: str, *, top: bool = True) -> None:
    """A small note in the right corner of a panel."""
    axes.text(
        0.985,
        0.95 if top else 0.05,
        text,
        transform=axes.transAxes,
        ha="right",
        va="top" if top else "bottom",
        fontsize=7,
        color=MUTED,
    )
