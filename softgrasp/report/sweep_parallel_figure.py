"""All axes and measures of a sweep side by side, one line a grasp."""

from __future__ import annotations

from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np

from softgrasp.mechanics.transforms import Array
from softgrasp.report import style
from softgrasp.report.sweep_data import compact, is_numeric, measures_of, numbers, varied
from softgrasp.report.sweep_units import axis_label

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from softgrasp.description.sweep_plan import SweepPlan

HEAD_WIDTH = 15
"""Letters of a line over an axis, so that neighbours and the edge are not reached."""
MAX_LINES = 2000
"""Lines of a parallel plot; more hide one another, and every so manieth is drawn."""
COLORS: dict[Any, str] = {True: style.EDGE, False: style.LOST, None: style.POSITION}
"""Of grasps that held, did not hold, and were not asked to."""


def draw_parallel(plan: SweepPlan, table: pd.DataFrame, path: Path) -> Path:
    """All axes and measures side by side; lines break where a grasp has no number."""
    from matplotlib.collections import LineCollection

    axes, measures = varied(plan, table), measures_of(table)
    shown = table.iloc[:: max(len(table) // MAX_LINES, 1)]
    columns = [_axis_numbers(shown, axis.path) for axis in axes]
    columns += [numbers(shown, measure) for measure in measures]
    heads = [_broken(axis_label(plan.scene, axis.path)) for axis in axes]
    heads += [f"{fill(measure.name, HEAD_WIDTH)}\n[{measure.unit}]" for measure in measures]
    ends = [(float(np.nanmin(column)), float(np.nanmax(column))) for column in columns]
    scaled = [
        (column - low) / (high - low or 1.0)
        for column, (low, high) in zip(columns, ends, strict=True)
    ]
    states = zip(shown["held"], shown["held"].notna(), strict=True)
    tints = [COLORS[bool(held) if known else None] for held, known in states]
    with style.figure(path, 3.6) as figure:
        panel = figure.add_axes((0.05, 0.12, 0.9, 0.68))
        lines = np.stack([np.tile(np.arange(len(columns)), (len(shown), 1)), np.array(scaled).T],
                         axis=-1)  # fmt: skip
        alpha = float(np.clip(60 / len(shown), 0.08, 0.7))
        panel.add_collection(LineCollection(list(lines), colors=tints, alpha=alpha, linewidths=0.8))
        _draw_scales(panel, heads, ends)
    return path


def _draw_scales(panel: Axes, heads: list[str], ends: list[tuple[float, float]]) -> None:
    panel.set_xlim(0, len(heads) - 1)
    panel.set_ylim(-0.03, 1.03)
    panel.set_xticks(range(len(heads)), [""] * len(heads))
    panel.set_yticks([])
    panel.spines["left"].set_visible(False)
    panel.spines["bottom"].set_visible(False)
    for index, (head, (low, high)) in enumerate(zip(heads, ends, strict=True)):
        panel.axvline(index, color=style.MUTED, linewidth=0.7)
        panel.annotate(head, (index, 1.12), ha="center", va="bottom", fontsize=7,
                       annotation_clip=False)  # fmt: skip
        for value, y in ((low, -0.09), (high, 1.06)):
            text = compact(float(f"{value:.3g}"))
            panel.annotate(text, (index, y), ha="center", va="center", fontsize=6.5,
                           color=style.MUTED, annotation_clip=False)  # fmt: skip


def _broken(label: str) -> str:
    """A path over several lines: after its first dot, and before its unit."""
    return label.replace(".", ".\n", 1).replace(" [", "\n[")


def _axis_numbers(table: pd.DataFrame, path: str) -> Array:
    """Values of an axis as numbers; others by their place among all."""
    if is_numeric(table, path):
        return table[path].to_numpy(dtype=float)
    names = list(dict.fromkeys(table[path]))
    return np.array([float(names.index(value)) for value in table[path]])
