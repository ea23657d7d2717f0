"""The phases of a run in its figures: shades behind the curves, and a lane with their names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from softgrasp.rendering.keyframes import shown_phases
from softgrasp.report import style
from softgrasp.simulation.result import GraspResult
from softgrasp.simulation.told_hold import PhaseSpan

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PHASE_BAR_HEIGHT, BAR_HEIGHT = 0.36, 0.2
"""Of the lane with the names, and of its bars [in]."""
LETTER = 0.062
"""Width of a letter of the names [in]."""
SHADES = (style.HOLD, "#ffffff")
CLOSING = "#e4ecd9"
"""Shade of the closure."""


def mark_phases(axes: Axes, result: GraspResult, *, named: bool) -> None:
    """Shade every second phase of a run, and the closure.

    Args:
        axes: Where to; its x axis is the time.
        result: The run.
        named: Whether to write the names upright at the top.
    """
    transform = axes.get_xaxis_transform()
    for phase, color in _shades(result):
        axes.axvspan(phase.start_s, phase.end_s, color=color, lw=0, zorder=-1)
        if named:
            axes.text(
                phase.start_s, 0.985, f" {phase.name}", transform=transform, rotation="vertical",
                ha="left", va="top", fontsize=6.5, color=style.MUTED,
            )  # fmt: skip


def draw_phase_bar(figure: Figure, result: GraspResult) -> None:
    """Draw bars with the names of the phases over all panels, below the keys."""
    width, height = figure.get_size_inches().tolist()
    left, right = 0.6 / width, 0.1 / width
    bottom = height - 0.3 - BAR_HEIGHT
    axes = figure.add_axes((left, bottom / height, 1.0 - left - right, BAR_HEIGHT / height))
    axes.set_axis_off()
    begin, end = float(result.time[0]), float(result.time[-1])
    axes.set_xlim(begin, end)
    axes.set_ylim(0.0, 1.0)
    inches = (1.0 - left - right) * width / max(end - begin, 1e-9)
    for phase, color in _shades(result):
        lasting = phase.end_s - phase.start_s
        edge = style.RULE
        axes.broken_barh(
            [(phase.start_s, lasting)], (0, 1), facecolor=color, edgecolor=edge, lw=0.6
        )
        max_letters = int(lasting * inches / LETTER)
        text = (
            phase.name
            if len(phase.name) <= max_letters
            else phase.name[: max(max_letters - 1, 0)] + "…"
        )
        if max_letters >= 2:
            middle = 0.5 * (phase.start_s + phase.end_s)
            axes.text(middle, 0.46, text, ha="center", va="center", fontsize=7, color=style.INK)


def phase_key() -> Artist:
    """The key of the closure's shade."""
    from matplotlib.patches import Patch

    return Patch(facecolor=CLOSING, edgecolor=style.RULE, lw=0.6, label="closing")


def _shades(result: GraspResult) -> list[tuple[PhaseSpan, str]]:
    closing = result.closing
    return [
        (phase, CLOSING if phase is closing else SHADES[index % 2])
        for index, phase in enumerate(shown_phases(result))
    ]
