"""Figures of docs/soft_fingers.md: convergence of rigid-link chains, and a sliced finger."""

from __future__ import annotations

from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, get_args

import numpy as np

from softgrasp.continuum import rld
from softgrasp.io.mesh_sections import Piece
from softgrasp.io.soft_finger.finger import SlicedFinger
from softgrasp.mechanics.transforms import Array, rotate_about
from softgrasp.report import style
from softgrasp.sim.soft_statics import equilibrium
from tests.support.beams import under_tip_force

if TYPE_CHECKING:
    from matplotlib.axes import Axes


COUNTS = (2, 4, 8, 16, 32, 64)
"""Numbers of joints."""
LOADS = (1.0, 3.0, 10.0)
"""Tip loads P·L²/EI [–]."""
COLORS = dict(zip(get_args(rld.Layout), ("#1d5f9e", "#c8452f", "#e4862f"), strict=True))


class ConvergencePoint(NamedTuple):
    """Distance of a chain's tip from the exact one."""

    layout: str
    load: float
    """P·L²/EI [–]"""
    joints: int
    error: float
    """Over the length [–]."""
    estimate: float
    """What ``Equilibrium.discretisation_error`` says of it, over the length [–]."""


def convergence() -> list[ConvergencePoint]:
    """Cantilevers under a tip load, every layout, load and number of joints."""
    points = []
    for layout in get_args(rld.Layout):
        for load in LOADS:
            exact = under_tip_force(load)
            for joints in COUNTS:
                finger = rld.discretise(1.0, 1.0, 1e-9, joints, layout)
                rest = equilibrium(finger, tip_force=(0.0, 0.0, -load), gravity=False)
                away = rest.tip_position - [exact.x, 0.0, -exact.y]
                error = float(np.linalg.norm(away))
                points.append(
                    ConvergencePoint(layout, load, joints, error, rest.discretisation_error)
                )
    return points


def draw_convergence(points: list[ConvergencePoint], path: str | Path) -> Path:
    """Draw tip errors over the number of joints: a panel a load, a line a layout.

    Args:
        points: What ``convergence`` found.
        path: The ``.png`` to write.

    Raises:
        ResultError: The place cannot be written.
    """
    from matplotlib.lines import Line2D

    with style.figure(path, 3.2) as (figure, table):
        grid = style.panels(figure, 1, len(LOADS), margins=(0.7, 0.1, 0.55, 0.6))
        first: Axes | None = None
        for column, load in enumerate(LOADS):
            first = axes = figure.add_subplot(grid[0, column], sharex=first, sharey=first)
            axes.set_title(f"P·L²/EI = {load:g}")
            axes.tick_params(labelleft=column == 0)
            _draw_load(axes, table, [point for point in points if point.load == load])
        style.edge_labels(figure, x="number of joints", y="tip error over length [%]")
        keys = [Line2D([], [], color=c, marker="o", ms=3, label=name) for name, c in COLORS.items()]
        keys += [
            Line2D([], [], color=style.INK, ls="", marker="x", ms=4, label="Richardson's estimate"),
            Line2D([], [], color=style.MUTED, ls=":", lw=1.0, label="order 1 and order 2"),
        ]
        style.legend(figure, keys)
    return Path(path)


def _draw_load(axes: Axes, table: style.Table, points: list[ConvergencePoint]) -> None:
    for layout, color in COLORS.items():
        layout_points = [point for point in points if point.layout == layout]
        joints, errors = [p.joints for p in layout_points], [100.0 * p.error for p in layout_points]
        name = f"P·L²/EI = {points[0].load:g}: {layout}"
        table.plot(axes, joints, errors, f"{name} tip error [%]", "joints", color=color,
                   marker="o", ms=3, lw=1.2)  # fmt: skip
        if layout == "midpoint":
            estimates = [100.0 * point.estimate for point in layout_points]
            table.plot(axes, joints, estimates, f"{name} estimate [%]", "joints",
                       color=style.INK, ls="", marker="x", ms=4)  # fmt: skip
    counts = np.array(COUNTS, dtype=float)
    for order, start in ((1, 20.0), (2, 2.0)):
        guide = start * (counts / counts[0]) ** -order
        axes.loglog(counts, guide, color=style.MUTED, ls=":", lw=0.9)
    axes.set_xticks(COUNTS, [str(count) for count in COUNTS])
    axes.minorticks_off()


# Figure of a sliced finger.


MM = 1e3
VALLEY_COLORS = ("#9fb8d3", "#cfdcea")
"""Of pieces that lie beside one another."""
DOTS: dict[str, Any] = {"ls": "", "marker": "o", "ms": 4.5, "mec": "white", "mew": 0.6}
"""How joints are marked."""
LIGHT = np.array([0.15, -0.7, 0.7])
"""Direction to the light, seen from the front, where −y is."""
AMBIENT = 0.55
"""Brightness of what turns away from the light [–]."""
AZIMUTH, TILT = np.radians(-32.0), np.radians(24.0)
"""View of the exploded finger: from its base end, and from above [rad]."""
APART = 0.07
"""Gap between exploded pieces, in lengths of the finger [–]."""


def draw_valleys(sliced: SlicedFinger, path: str | Path) -> Path:
    """Draw a finger from the side above its profile, and its pieces apart.

    Args:
        sliced: What ``slice_finger`` made.
        path: The ``.png`` to write.

    Raises:
        ResultError: The place cannot be written.
    """
    with style.figure(path, 4.4) as (figure, table):
        grid = figure.add_gridspec(
            2, 2, width_ratios=(1.15, 1.0), height_ratios=(1.0, 0.8), left=0.06, right=0.99,
            bottom=0.105, top=0.93, wspace=0.04, hspace=0.14,
        )  # fmt: skip
        side = figure.add_subplot(grid[0, 0])
        profile = figure.add_subplot(grid[1, 0], sharex=side)
        apart = figure.add_subplot(grid[:, 1])
        _draw_side(side, sliced)
        _draw_profile(profile, table, sliced)
        _draw_apart(apart, sliced)
    return Path(path)


def _draw_side(axes: Axes, sliced: SlicedFinger) -> None:
    for piece, color in zip(sliced.pieces, cycle(VALLEY_COLORS), strict=False):
        _draw_piece(axes, piece, color, np.eye(3), np.zeros(3))
    _mark_valleys(axes, sliced)
    x, _, z = MM * sliced.joints.T
    tip_x, _, tip_z = MM * sliced.tip
    axes.plot([0.0, *x, tip_x], [0.0, *z, tip_z], color=style.TARGET, ls="--", lw=1.0)
    axes.plot(x, z, color=style.LOST, **DOTS)
    axes.set_title(f"{len(x)} joints at the centroids of the sections at the valleys")
    axes.set_ylabel("z [mm]")
    axes.set_aspect("equal", adjustable="datalim")
    axes.tick_params(labelbottom=False)
    axes.grid(visible=False)


def _draw_profile(axes: Axes, table: style.Table, sliced: SlicedFinger) -> None:
    table.plot(axes, MM * sliced.positions, MM * sliced.heights, "section over width [mm]",
               "x [mm]", color=style.POSITION, lw=1.4)  # fmt: skip
    _mark_valleys(axes, sliced)
    joint_positions = sliced.joints[:, 0]
    heights = np.interp(joint_positions, sliced.positions, sliced.heights)
    axes.plot(MM * joint_positions, MM * heights, color=style.LOST, **DOTS)
    axes.set_ylim(0.0, 1.12 * MM * float(sliced.heights.max()))
    axes.set_xlabel("x from the base [mm]")
    axes.set_ylabel("section over width [mm]")


def _draw_apart(axes: Axes, sliced: SlicedFinger) -> None:
    view = rotate_about("x", TILT) @ rotate_about("z", AZIMUTH)
    gap = APART * float(sliced.tip[0])
    pieces = list(enumerate(zip(sliced.pieces, cycle(VALLEY_COLORS), strict=False)))
    for index, (piece, color) in reversed(pieces):
        _draw_piece(axes, piece, color, view[:3, :3], np.array([index * gap, 0.0, 0.0]))
    axes.set_title(f"{len(pieces)} rigid links")
    axes.set_aspect("equal", adjustable="datalim")
    axes.autoscale_view()
    axes.axis("off")


def _mark_valleys(axes: Axes, sliced: SlicedFinger) -> None:
    for position in MM * sliced.joints[:, 0]:
        axes.axvline(position, color=style.MUTED, lw=0.6, ls=":", zorder=3)


def _draw_piece(axes: Axes, piece: Piece, color: str, view: Array, shift: Array) -> None:
    """The faces of a piece that look to the viewer, who is at −y, the farthest first."""
    from matplotlib.collections import PolyCollection
    from matplotlib.colors import to_rgb

    corners = (MM * (piece.vertices + shift) @ view.T)[piece.faces]
    a, b, c = corners.transpose(1, 0, 2)
    normals = np.cross(b - a, c - a)
    shown = normals[:, 1] < 0.0
    normals = normals[shown] / np.linalg.norm(normals[shown], axis=1, keepdims=True)
    corners = corners[shown]
    order = np.argsort(-corners[:, :, 1].mean(axis=1))
    bright = AMBIENT + (1.0 - AMBIENT) * np.clip(normals @ LIGHT, 0.0, 1.0)
    colors = np.array(to_rgb(color)) * bright[:, None]
    seen = corners[:, :, [0, 2]]
    axes.add_collection(
        PolyCollection(
            list(seen[order]), facecolors=colors[order], edgecolors="face", linewidths=0.3
        )
    )
    axes.update_datalim(seen.reshape(-1, 2))
