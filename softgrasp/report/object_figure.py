"""How the object moved: one run (paper 004, Fig 11) and runs over one another (Fig 12)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from softgrasp.mechanics.transforms import Array
from softgrasp.report import style
from softgrasp.report.series import displacement_mm, rotation_deg, thinned
from softgrasp.simulation.result import GraspResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LEAST_SPAN = 0.02
"""Least height of a panel [mm or deg]: below it a motion is rounding."""
TRANSLATIONS = ("x", "y", "z")
ROTATIONS = ("ψ about x", "θ about y", "φ about z")
"""Euler angles of intrinsic z-y-x, named as in paper 004."""


def draw_object(result: GraspResult, path: str | Path) -> Path:
    """Draw the object's translation and Euler angles since the start.

    Args:
        result: The run.
        path: The ``.png`` to write.

    Raises:
        ResultError: The place cannot be written.
    """
    with style.figure(path, 3.3) as figure:
        left, right = figure.subplots(1, 2)
        _draw_run(left, result, displacement_mm(result), TRANSLATIONS, "mm")
        left.set_title("Translation since the start [mm]")
        _draw_run(right, result, rotation_deg(result), ROTATIONS, "°")
        right.set_title("Rotation since the start, Euler z-y-x [°]")
    return Path(path)


def overlay_objects(results: Sequence[GraspResult], labels: Sequence[str], path: str | Path) -> Path:
    """Draw the object's motion in several runs over one another.

    Args:
        results: The runs.
        labels: What to call them, one a run.
        path: The ``.png`` to write.

    Raises:
        ResultError: The place cannot be written.
    """
    with style.figure(path, 4.6) as figure:
        panels = figure.subplots(2, 3, sharex=True)
        for index, (result, label) in enumerate(zip(results, labels, strict=True)):
            color = style.SERIES[index % len(style.SERIES)]
            for row, values in zip(panels, (displacement_mm(result), rotation_deg(result)), strict=True):
                for axis, axes in enumerate(row):
                    axes.plot(
                        *thinned(result.time, values[:, axis]), color=color,
                        label=label if row is panels[0] and axis == 0 else None,
                    )  # fmt: skip
        titles = [f"{name} [mm]" for name in TRANSLATIONS] + [f"{name} [°]" for name in ROTATIONS]
        for axes, title in zip(panels.flat, titles, strict=True):
            axes.set_title(title)
            _widen(axes)
        figure.supxlabel("time [s]", fontsize=8.5)
        figure.legend(loc="outside upper center", ncols=min(len(labels), 6))
    return Path(path)


def _draw_run(
    axes: Axes, result: GraspResult, values: Array, names: Sequence[str], unit: str
) -> None:
    if result.hold is not None:
        axes.axvspan(
            result.hold.start_s, result.simulated_time, color=style.HOLD, lw=0, label="hold test"
        )
    for axis, (name, color) in enumerate(zip(names, style.AXES_COLORS, strict=True)):
        last = values[-1, axis]
        label = f"{name}: {last if abs(last) >= 5e-4 else 0.0:+.3f} {unit}"
        axes.plot(*thinned(result.time, values[:, axis]), color=color, label=label)
    touches = [event.time_s for event in result.events if event.kind == "touching"]
    if touches:
        axes.axvline(touches[0], color=style.MUTED, lw=0.9, ls=":", label="first contact")
    axes.margins(x=0.0)
    _widen(axes)
    axes.set_xlabel("time [s]")
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=3, columnspacing=1.2)


def _widen(axes: Axes) -> None:
    low, high = axes.get_ylim()
    missing = max(LEAST_SPAN - (high - low), 0.0)
    axes.set_ylim(low - 0.5 * missing, high + 0.5 * missing)
