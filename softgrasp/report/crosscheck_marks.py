"""How engines are told apart in figures that compare them: colours, dashes, marks, keys."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from softgrasp.report import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

    from softgrasp.mechanics.transforms import Array

DASHES = ("-", (0, (4, 3)), (0, (1.5, 2)), (0, (6, 2, 1, 2)))
"""Lines that lie on one another are told apart by them."""
MARKERS = "os^v"
BAND = "#f3dfa8"
"""What is within a tolerance."""
MS = 1e3


def marks(axes: Axes, x: Sequence[float] | Array, y: Sequence[float] | Array, index: int) -> None:
    """An engine's points; later engines are open and larger, so that none hides another."""
    axes.plot(
        x, y, color=style.SERIES[index], marker=MARKERS[index % 4], ls="",
        ms=4.5 + 2.5 * index, mfc=style.SERIES[index] if index == 0 else "none",
    )  # fmt: skip


def engine_keys(names: Iterable[str], *, marks: bool = False) -> list[Line2D]:
    """Keys of engines, as lines or as marks."""
    return [
        line_key(
            style.SERIES[index],
            name,
            "" if marks else DASHES[index % 4],
            1.4,
            MARKERS[index % 4] if marks else "",
            filled=index == 0,
        )
        for index, name in enumerate(names)
    ]


def line_key(
    color: str, label: str, dashes: object, width: float, marker: str = "", *, filled: bool = True
) -> Line2D:
    """A key of a line, with a mark where it has one."""
    from matplotlib.lines import Line2D

    return Line2D(
        [], [], color=color, label=label, ls=dashes or "none", lw=width, marker=marker or None,
        ms=5.0, mfc=color if filled else "none",
    )  # fmt: skip
