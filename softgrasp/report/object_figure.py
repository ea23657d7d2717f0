"""How the object moved: one run (paper 004, Fig 11) and runs over one another (Fig 12)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from softgrasp.mechanics.transforms import Array
from softgrasp.rendering.keyframes import has_phases
from softgrasp.report import style
from softgrasp.report.letting_go import let_go_s, out_of_hand
from softgrasp.report.phase_marks import mark_phases
from softgrasp.report.series import displacement_mm, rotation_deg, thinned
from softgrasp.simulation.result import GraspResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ROW_HEIGHT = 3.3
"""Of the panels of an object [inch]."""
MIN_SPAN = 0.1
"""Least height of a panel [mm or deg]: below it a motion is rounding."""
MARGIN = 0.14
"""Room above and below the curves over what they span, for the words at the top."""
WORD = 0.16
"""Width of a few words over that of a panel."""
KEY_LETTERS, KEY_HEIGHT = 150, 0.19
"""Letters in a line of keys, the signs before them as eight, and the height of a line [in]."""
TRANSLATIONS = ("x", "y", "z")
ROTATIONS = ("ψ about x", "θ about y", "φ about z")
"""Euler angles of intrinsic z-y-x, named as in paper 004."""


def draw_object(result: GraspResult, path: str | Path) -> Path:
    """Draw each object's translation and Euler angles since the start.

    Args:
        result: The run.
        path: The ``.png`` to write.

    Raises:
        ResultError: The place cannot be written.
    """
    count = len(result.objects)
    with style.figure(path, ROW_HEIGHT * count, numbers=False) as figure:
        gaps = (0.6, 1.05)
        grid = style.panels(figure, count, 2, margins=(0.55, 0.1, 0.75, 0.3), gaps=gaps)
        for index, motion in enumerate(result.objects):
            left, right = figure.add_subplot(grid[index, 0]), figure.add_subplot(grid[index, 1])
            whose = "T" if count == 1 else f"{motion.name}: t"
            title_start = "R" if count == 1 else f"{motion.name}: r"
            _draw_run(left, result, displacement_mm(result, index), TRANSLATIONS, " mm")
            left.set_title(f"{whose}ranslation since the start [mm]")
            _draw_run(right, result, rotation_deg(result, index), ROTATIONS, "°")
            right.set_title(f"{title_start}otation since the start, Euler z-y-x [°]")
    return Path(path)


def overlay_objects(
    results: Sequence[GraspResult], labels: Sequence[str], path: str | Path
) -> Path:
    """Draw the object's motion in several runs over one another.

    Args:
        results: The runs.
        labels: What to call them, one a run.
        path: The ``.png`` to write.

    Raises:
        ResultError: The place cannot be written.
    """
    titles = [f"{name} [mm]" for name in TRANSLATIONS] + [f"{name} [°]" for name in ROTATIONS]
    series = [(r.time, np.hstack([displacement_mm(r), rotation_deg(r)])) for r in results]
    columns = max(KEY_LETTERS // (max(map(len, labels)) + 8), 1)
    keys = KEY_HEIGHT * (-(-len(labels) // columns) - 1)
    with style.figure(path, 4.6 + keys) as figure:
        grid = style.panels(figure, 2, 3, margins=(0.55, 0.1, 0.5, 0.6 + keys), gaps=(0.55, 0.3))
        for column, title in enumerate(titles):
            axes = figure.add_subplot(grid[column])
            lines = [
                axes.plot(*thinned(times, values[:, column]), color=color, label=label)[0]
                for (times, values), label, color in zip(series, labels, cycle(style.SERIES))
            ]
            axes.set_title(title)
            axes.tick_params(labelbottom=column >= len(TRANSLATIONS))
            style.time_limits(axes, max((times for times, _ in series), key=lambda t: t[-1]))
            _fit_to_grasps(axes, results, [values[:, column] for _, values in series])
            style.set_min_span(axes, MIN_SPAN)
        style.edge_labels(figure)
        style.legend(figure, lines, columns=columns)
    return Path(path)


def _fit_to_grasps(axes: Axes, results: Sequence[GraspResult], values: Sequence[Array]) -> None:
    """Let the value axis span what moved in hands; free fall would flatten all else."""
    if not any(out_of_hand(result) for result in results):
        return
    parts = []
    for result, series in zip(results, values, strict=True):
        end = let_go_s(result) if out_of_hand(result) else result.time[-1]
        parts.append(series[result.time <= (result.time[0] if end is None else end)])
    seen = np.concatenate(parts)
    low, high = float(seen.min()), float(seen.max())
    spare = MARGIN * max(high - low, MIN_SPAN)
    axes.set_ylim(low - spare, high + spare)


def _draw_run(
    axes: Axes, result: GraspResult, values: Array, names: Sequence[str], unit: str
) -> None:
    end = _last_row(result)
    for axis, (name, color) in enumerate(zip(names, style.AXES_COLORS, strict=True)):
        # how far what nothing ever touched fell until the run ended says nothing
        fell = out_of_hand(result) and end < 0
        label = name if fell else f"{name}: {style.signed(values[end, axis], 3)}{unit}"
        axes.plot(*thinned(result.time, values[:, axis]), color=color, label=label)
    margin = 0.3 if has_phases(result) else MARGIN  # room for the words at the top
    axes.margins(y=margin)
    if end >= 0:
        seen = values[: end + 1]
        spare = margin * max(float(np.ptp(seen)), MIN_SPAN)
        axes.set_ylim(float(seen.min()) - spare, float(seen.max()) + spare)
    axes.legend(
        loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=3, borderaxespad=0.0,
        columnspacing=1.2, handlelength=1.4, fontsize=8,
    )  # fmt: skip
    axes.set_xlabel("time [s]", labelpad=1)
    style.time_limits(axes, result.time)
    style.set_min_span(axes, MIN_SPAN)
    if has_phases(result):
        mark_phases(axes, result, named=True)
    elif result.hold is not None:
        axes.axvspan(result.hold.start_s, result.simulated_time, color=style.HOLD, lw=0)
        _annotate(axes, result.hold.start_s, "hold test")
    let_go = let_go_s(result)
    if let_go is not None:
        axes.axvline(let_go, color=style.LOST, lw=0.9, ls=(0, (3, 2)))
        axes.set_xlabel("time [s]; numbers of when the hand let go, at the red line", labelpad=1)
    touches = [event.time_s for event in result.events if event.kind == "touching"]
    if touches:
        axes.axvline(touches[0], color=style.MUTED, lw=0.9, ls=":")
        near = result.hold is not None and result.hold.start_s - touches[0] < WORD * result.time[-1]
        height = 0.09 if has_phases(result) else 0.985
        _annotate(axes, touches[0], "first contact", height=height, before=near)


def _last_row(result: GraspResult) -> int:
    """The last row in which an object that was lost was touched, −1 where it was not lost."""
    end = let_go_s(result)
    return -1 if end is None else int(np.searchsorted(result.time, end))


def _annotate(
    axes: Axes, time: float, text: str, *, height: float = 0.985, before: bool = False
) -> None:
    axes.text(
        time, height, f" {text} ", transform=axes.get_xaxis_transform(),
        ha="right" if before else "left", va="top", fontsize=7, color=style.MUTED,
    )  # fmt: skip
