"""Figures of soft fingers: from a mesh, force and grip against pressure, steps of a pressure."""

from __future__ import annotations

from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from softgrasp.calibration.pressure_step import PressureFit, PressureRecord
from softgrasp.description.soft_finger import SoftFinger
from softgrasp.evaluation.result import GraspResult
from softgrasp.io.mesh_sections import Piece
from softgrasp.io.soft_finger.finger import SlicedFinger, slice_again
from softgrasp.mechanics.transforms import Array
from softgrasp.report import style
from softgrasp.sim.soft_statics import blocked_force

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MM = 1e3
LINKS = ("#9fb8d3", "#cfdcea")
"""Colours of neighbouring links."""
DOTS: dict[str, Any] = {"ls": "", "marker": "o", "ms": 4.5, "mec": "white", "mew": 0.6}
"""Style of the joints."""
WALL = 0.03
"""Thickness of the wall at the base over the length of the finger [–]."""
MARGINS = np.array([[-0.06, 0.1], [-0.1, 0.03]])
"""Before and behind, below and above the finger, over its length [–]."""
HIGHEST = 4.0
"""Largest height of the side view [in]."""
EDGES = (0.6, 0.1, 0.45, 0.3)
"""Margins left, right, below and above [in]."""
POINTS = 25
"""Number of pressures of the curve of the blocked tip."""


def draw_finger(sliced: SlicedFinger, path: str | Path) -> Path:
    """Draw a finger from the side, with chambers, joints, base and bending side.

    Raises:
        ResultError: The ``.png`` cannot be written.
    """
    lowest, highest = _corners(sliced)
    (left, right), (low, high) = MARGINS * (highest[0] - lowest[0]) + [
        [lowest[0], highest[0]], [lowest[2], highest[2]]
    ]  # fmt: skip
    across = style.WIDTH - sum(EDGES[:2])
    side = min(across * (high - low) / (right - left), HIGHEST)
    right = left + (high - low) * across / side  # equal scales
    with style.figure(path, side + sum(EDGES[2:])) as (figure, table):
        (view,) = style.subplots(figure, 1, margins=EDGES)
        _draw_side(view, table, sliced)
        view.set_xlim(left, right)
        view.set_ylim(low, high)
    return Path(path)


def draw_finger_of(result: GraspResult, path: str | Path) -> Path:
    """Draw the finger of a hand that was made from a mesh.

    Raises:
        ResultError: The file cannot be written.
    """
    sliced = slice_finger_of(result)
    assert sliced is not None  # as the caller checks
    return draw_finger(sliced, path)


def slice_finger_of(result: GraspResult) -> SlicedFinger | None:
    """Return the first finger of a hand whose mesh is still as it was read; None without one."""
    for digit in result.scene.hand.soft_fingers:
        if digit.finger.mesh is not None:
            return slice_again(digit.finger.mesh)
    return None


def _draw_side(axes: Axes, table: style.Table, sliced: SlicedFinger) -> None:
    """Draw links, chambers, the line of centroids, the chain of joints, base and bending side."""
    for piece, color in zip(sliced.pieces, cycle(LINKS), strict=False):
        _draw_piece(axes, piece, color)
    x, (low, high) = MM * sliced.positions, MM * sliced.chamber_sides.T
    hollow = np.isfinite(low) & np.isfinite(high)
    axes.fill_between(x, low, high, where=hollow, facecolor="white", alpha=0.6, lw=0.0)
    axes.fill_between(x, low, high, where=hollow, facecolor="none", edgecolor=style.EDGE, lw=0.8,
                      hatch="////", label="chambers" if hollow.any() else "_")  # fmt: skip
    table.plot(axes, x, MM * sliced.centers, "centroid of the material, z [mm]", "x [mm]",
               color=style.POSITION, lw=1.0, label="centroids of the material")  # fmt: skip
    table.add({"x [mm]": x, **{
        f"chambers, {name} z [mm]": np.where(hollow, side, np.nan)
        for name, side in (("lowest", low), ("highest", high))
    }})  # fmt: skip
    joints, tip = MM * sliced.joints[:, [0, 2]], MM * sliced.tip[[0, 2]]
    axes.plot(*np.vstack([[0.0, 0.0], joints, tip]).T, color=style.TARGET, ls="--", lw=1.0,
              label="chain of links")  # fmt: skip
    axes.plot(*joints.T, color=style.LOST, label="joints", **DOTS)
    for number, joint in enumerate(joints, start=1):
        axes.annotate(str(number), joint, (3.0, 3.0), textcoords="offset points", fontsize=7.5,
                      color=style.LOST, weight="bold")  # fmt: skip
    _draw_base(axes, sliced)
    _draw_bending(axes, sliced)
    count, what = len(joints), "cells" if sliced.divided else "valleys"
    lowest, highest = _corners(sliced)
    size = " × ".join(f"{edge:.3g}" for edge in highest - lowest)
    axes.set_title(f"side view, {size} mm, joints at {count} {what}")
    axes.set_xlabel("x from the base [mm]")
    axes.set_ylabel("z [mm]")
    axes.grid(visible=False)
    axes.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=4, borderaxespad=0.1,
                fontsize=7.5)  # fmt: skip


def _draw_base(axes: Axes, sliced: SlicedFinger) -> None:
    """Draw the wall to which the finger is clamped."""
    low, high = (corner[2] for corner in _corners(sliced))
    wall = WALL * MM * float(sliced.tip[0])
    axes.fill_betweenx([low, high], -wall, 0.0, facecolor="none", edgecolor=style.INK,
                       hatch="\\\\\\\\", lw=0.8)  # fmt: skip
    axes.annotate("base", (-wall, 0.5 * (low + high)), (-5.0, 0.0), textcoords="offset points",
                  fontsize=7.5, rotation=90, ha="right", va="center")  # fmt: skip


def _draw_bending(axes: Axes, sliced: SlicedFinger) -> None:
    """Draw an arrow to the side to which pressure bends the tip."""
    length, (x, z) = MM * float(sliced.tip[0]), MM * sliced.tip[[0, 2]]
    lowest = _corners(sliced)[0][2]
    style_of_arrow = {"arrowstyle": "-|>", "color": style.INK, "connectionstyle": "arc3,rad=-0.35"}
    axes.annotate("", (x - 0.02 * length, lowest - 0.07 * length), (x + 0.03 * length, z),
                  arrowprops=style_of_arrow)  # fmt: skip
    axes.annotate("bends", (x - 0.03 * length, lowest - 0.07 * length), fontsize=7.5,
                  ha="right", va="center")  # fmt: skip


def _corners(sliced: SlicedFinger) -> tuple[Array, Array]:
    """Return the lowest and highest coordinates of a finger [mm], (3,) each."""
    vertices = MM * np.vstack([piece.vertices for piece in sliced.pieces])
    return vertices.min(axis=0), vertices.max(axis=0)


def _draw_piece(axes: Axes, piece: Piece, color: str) -> None:
    """Draw the faces of a piece as seen from −y, the farthest first."""
    from matplotlib.collections import PolyCollection

    corners = (MM * piece.vertices)[piece.faces]
    order = np.argsort(-corners[:, :, 1].mean(axis=1))
    faces = list(corners[order][:, :, [0, 2]])
    axes.add_collection(PolyCollection(faces, facecolors=color, edgecolors=style.MUTED,
                                       linewidths=0.1))  # fmt: skip


def draw_pressure(result: GraspResult, path: str | Path) -> Path:
    """Draw the force of the blocked tip, and the grip of each finger, against its pressure.

    The blocked tip presses on a plate that it touches while straight, without weight and friction.
    The grip is the sum of the normal forces of a finger during the run.

    Raises:
        ResultError: The file cannot be written.
    """
    assert result.pressure is not None  # there are soft fingers
    digits = result.scene.hand.soft_fingers
    with style.figure(path, 3.0) as (figure, table):
        margins = (0.55, 0.1, 0.6, 0.3)
        left, right = style.subplots(figure, 2, margins=margins, gaps=(0.7, 0.0))
        for finger, whose, highest in _different(result):
            pressures = np.linspace(0.0, highest, POINTS)
            forces = blocked_force(finger, pressures)
            table.plot(left, 1e-3 * pressures, forces, f"blocked tip, {whose} [N]",
                       "pressure [kPa]", label=whose)  # fmt: skip
        for index, digit in enumerate(digits):
            color = style.SERIES[index % len(style.SERIES)]
            table.plot(right, 1e-3 * result.pressure[:, index], grip_of(result, digit.name),
                       f"grip, {digit.name} [N]", f"pressure of {digit.name} [kPa]", color=color,
                       lw=1.0, label=digit.name)  # fmt: skip
        left.set_title("force of the blocked tip [N]")
        right.set_title("grip: normal forces of each finger [N]")
        for axes in (left, right):
            axes.set_xlabel("pressure [kPa]")
            axes.set_xlim(left=0.0)
            axes.set_ylim(bottom=0.0)
            axes.legend(loc="upper left", frameon=False, fontsize=8)
    return Path(path)


def draw_pressure_record(record: PressureRecord, fit: PressureFit, path: str | Path) -> Path:
    """Draw commanded, measured and fitted pressure over time.

    Raises:
        ResultError: The file cannot be written.
    """
    with style.figure(path, 3.0) as (figure, table):
        axes = figure.add_subplot()
        for name, values, color in (
            ("command", record.commands, style.TARGET),
            ("pressure", record.pressures, style.SERIES[0]),
            ("fit", fit.fitted, style.SERIES[1]),
        ):
            table.plot(axes, record.times, 1e-3 * values, f"{name} [kPa]", "time [s]", color=color,
                       lw=1.0, label=name)  # fmt: skip
        axes.set_xlabel("time [s]")
        axes.set_ylabel("pressure [kPa]")
        axes.legend(frameon=False, fontsize=8)
    return Path(path)


def grip_of(result: GraspResult, finger: str) -> Array:
    """Sum the normal forces of all links of a soft finger, (T,) [N]."""
    links = [name.startswith(f"{finger}_") for name in result.contact_bodies]
    return np.asarray(result.normal_force[:, links].sum(axis=1))


def _different(result: GraspResult) -> list[tuple[SoftFinger, str, float]]:
    """Return the different planar fingers with the names of their mountings and pressure limits."""
    known: dict[SoftFinger, tuple[list[str], float]] = {}
    for digit in result.scene.hand.soft_fingers:
        names, highest = known.get(digit.finger, ([], 0.0))
        known[digit.finger] = ([*names, digit.name], max(highest, digit.limits[1]))
    return [
        (finger, ", ".join(names), highest)
        for finger, (names, highest) in known.items()
        if {freedom for _, freedom in finger.freedoms} == {"y"}
    ]
