"""A finger after the kinematic models of paper 001: arcs and rigid pieces, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from softgrasp.mechanics.piece_models import ModelPose
from softgrasp.mechanics.transforms import Array
from softgrasp.report import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

HEIGHT = 4.2
"""[in]"""
MM = 1e3
LINE_STYLES: dict[str, dict[str, Any]] = {
    "arcs_webster": {"color": style.POSITION, "linewidth": 2.6},
    "arcs_bishop": {"color": style.AXES_COLORS[1], "linewidth": 1.8},
    "rigid_unity": {"color": style.LOST, "linewidth": 1.6, "linestyle": (0, (4, 1.5))},
    "rigid_plane": {"color": style.TARGET, "linewidth": 1.4, "linestyle": (0, (1.5, 1.2))},
    "rigid_chord": {"color": style.INK, "linewidth": 0.8},
}
VIEWS = (((0, 2), "from the side"), ((1, 2), "from the front"), ((0, 1), "along the axis"))
"""Axes to the right and up, and what it is seen from."""
MARGIN, MIN_SIZE = 3.0, 8.0
"""Around what is drawn, and half of the least width of a panel [mm]."""


def draw_piece_poses(
    flat: Sequence[ModelPose],
    forced: Sequence[ModelPose],
    path: str | Path,
    measured: Array | None = None,
) -> Path:
    """Draw a finger that bends in a plane, and beside it the same with φ, from three sides.

    Args:
        flat: After each of the models, without φ.
        forced: The same with φ.
        path: The ``.png`` to write.
        measured: Where the tip with φ was measured [m], (m, 3).

    Raises:
        ResultError: The place cannot be written.
    """
    panels = [(flat, *VIEWS[0], "φ = 0"), *((forced, *view, "φ given") for view in VIEWS)]
    boxes = [_box(poses, sides) for poses, sides, _, _ in panels]
    across = max(half[0] for _, half in boxes)
    with style.figure(path, HEIGHT, 11.0) as figure:
        grid = style.panels(figure, 1, 4, margins=(0.5, 0.1, 0.45, 0.75), gaps=(0.5, 0.0))
        for column, (poses, sides, view, title) in enumerate(panels):
            axes = figure.add_subplot(grid[column])
            middle, half = boxes[column]
            _draw(axes, poses, sides)
            if measured is not None and column > 0:
                points = MM * measured[:, list(sides)]
                axes.plot(*points.T, "+", color=style.INK, zorder=5)
            axes.set_xlim(middle[0] - across, middle[0] + across)
            axes.set_ylim(middle[1] - half[1], middle[1] + half[1])
            axes.set_aspect("equal", adjustable="box", anchor="S")
            axes.set_title(f"{title}, {view}")
        figure.axes[0].text(0.97, 0.03, _flat_note(flat), transform=figure.axes[0].transAxes,
                            ha="right", color=style.MUTED, fontsize=7.5)  # fmt: skip
        style.legend(figure, _keys(forced, measured is not None), columns=3)
    return Path(path)


def _draw(axes: Axes, poses: Sequence[ModelPose], sides: tuple[int, int]) -> None:
    right, up = sides
    for pose in poses:
        line_style = LINE_STYLES[pose.name]
        line, ends = MM * pose.line, MM * pose.ends
        axes.plot(line[:, right], line[:, up], solid_capstyle="round", **line_style)
        axes.plot(ends[:, right], ends[:, up], "o", color=line_style["color"], markersize=3.2)
    axes.set_xlabel(f"{'xyz'[right]} [mm]", labelpad=1)
    axes.set_ylabel(f"{'xyz'[up]} [mm]", labelpad=1)


def _box(poses: Sequence[ModelPose], sides: tuple[int, int]) -> tuple[Array, Array]:
    """Middle and half of the edges of all that is drawn, with some room [mm]."""
    every = MM * np.concatenate([pose.line for pose in poses])[:, list(sides)]
    half = np.maximum(0.5 * np.ptp(every, axis=0) + MARGIN, MIN_SIZE)
    return 0.5 * (every.max(axis=0) + every.min(axis=0)), half


def _flat_note(poses: Sequence[ModelPose]) -> str:
    far = {pose.name: pose for pose in poses}
    unity, chord = far["rigid_unity"], far["rigid_chord"]
    return (
        f"rigid pieces: {MM * unity.apart:.3g} mm off,\n"
        f"{100.0 * unity.fraction:.3g} % of the finger;\n"
        f"leaning by θ/2: {MM * chord.apart:.2g} mm"
    )


def _keys(poses: Sequence[ModelPose], measured: bool) -> list[Any]:
    from matplotlib.lines import Line2D

    keys = [Line2D([], [], label=_label(pose), **LINE_STYLES[pose.name]) for pose in poses]
    if measured:
        keys.append(Line2D([], [], label="measured tip", color=style.INK, marker="+", ls=""))
    return keys


def _label(pose: ModelPose) -> str:
    text = pose.label.replace("theta", "θ").replace("phi", "φ")
    if pose.name == "arcs_webster":
        return text
    return f"{text}: {MM * pose.apart:.3g} mm off"
