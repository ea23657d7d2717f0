"""Figures of the experiments of paper 003: poses over one another, motions, places, convergence."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from softgrasp.mechanics.transforms import Array
from softgrasp.report import style
from softgrasp.report.hydraulic_figures import DASHES, pose_rows
from softgrasp.simulation.hydraulic_experiment_results import (
    CHAIN,
    LUMPED,
    MotionRun,
    ReachRun,
    RefinementRun,
    RestsRun,
)
from softgrasp.simulation.hydraulic_shapes import ArmShapes

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Color = Any
"""Whatever matplotlib takes for one."""
Dash = Any
Pick = Callable[[ArmShapes], Array]
"""One column a section."""
POSES_HEIGHT, MOTION_HEIGHT, SPACE_HEIGHT, SMALL_HEIGHT = 5.0, 6.0, 4.2, 3.4
"""Of figures [in]."""
MARGINS, GAPS = (0.65, 0.2, 0.5, 0.6), (0.65, 0.45)
KEYS = 1.75
"""Room for the keys of poses [in]."""
DASHES_OF_MODEL: dict[str, Dash] = {CHAIN: "-", LUMPED: DASHES[1]}
"""Lines of the two models."""
VIEWS = {False: ((0, 2),), True: ((0, 2), (1, 2), (0, 1))}
"""Axes of the panels of poses in the x–z plane, and in space."""
MIN_OFFSET = 1e-3
"""Out of the plane by less is in it [m]."""


def draw_rests(run: RestsRun, path: str | Path) -> Path:
    """Draw the rests of both models over one another.

    Raises:
        ResultError: The place cannot be written.
    """
    from matplotlib.lines import Line2D

    space = bool(np.abs(run.chain.backbone[..., 1]).max() > MIN_OFFSET)
    with style.figure(path, SPACE_HEIGHT if space else POSES_HEIGHT, numbers=False) as figure:
        panels = _pose_panels(figure, VIEWS[space], run.arm.gravity[2] > 0.0)
        for axes, view in zip(panels, VIEWS[space], strict=True):
            for case, color in enumerate(_colors(len(run.experiment.cases))):
                _pose(axes, run.chain, case, view, color, DASHES_OF_MODEL[CHAIN])
                _pose(axes, run.lumped, case, view, color, DASHES_OF_MODEL[LUMPED])
        names = _case_names(run)
        keys = [
            Line2D([], [], color=color, linewidth=2.0, label=name)
            for name, color in zip(names, _colors(len(names)), strict=True)
        ]
        _pose_legend(figure, [*keys, *_model_keys()])
    return Path(path)


def draw_poses(run: MotionRun, path: str | Path) -> Path:
    """Draw poses of the arm over one another, the chain on the left, the lumped model beside it.

    Raises:
        ResultError: The place cannot be written.
    """
    from matplotlib.lines import Line2D

    rows, view = pose_rows(run.run), (0, 2)
    colors = _shades(len(rows))
    with style.figure(path, POSES_HEIGHT) as figure:
        panels = _pose_panels(figure, (view, view), run.arm.gravity[2] > 0.0)
        for axes, name in zip(panels, (CHAIN, LUMPED), strict=True):
            shapes = run.chain if name == CHAIN else run.lumped
            for row, color in zip(rows, colors, strict=True):
                _pose(axes, shapes, row, view, color, "-")
            tip = shapes.ends[:, -1]
            axes.plot(tip[:, 0], tip[:, 2], color=style.INK, linewidth=0.8, linestyle=DASHES[2])
            axes.set_title(_model_words(run, name))
        _same_part(panels)
        keys = [
            Line2D([], [], color=color, linewidth=2.0, label=f"{run.run.times[row]:.2f} s")
            for row, color in zip(rows, colors, strict=True)
        ]
        path_line = Line2D([], [], color=style.INK, lw=0.8, ls=DASHES[2], label="way of the end")
        _pose_legend(figure, [*keys, path_line])
    return Path(path)


def draw_motion(run: MotionRun, path: str | Path) -> Path:
    """Draw ends, curvatures, speeds and the errors (37) of both models in time.

    Raises:
        ResultError: The place cannot be written.
    """
    with style.figure(path, MOTION_HEIGHT, numbers=False) as figure:
        grid = style.panels(figure, 2, 2, margins=MARGINS, gaps=GAPS)
        position_axes, bend, speed, error = (
            figure.add_subplot(grid[k // 2, k % 2]) for k in range(4)
        )
        for axis, mark in ((0, "x"), (2, "z")):
            shade = style.AXES_COLORS[axis], style.SERIES[axis + 4]
            _both(position_axes, run, partial(_coordinate, axis), shade, mark)
        position_axes.set_title("end of the section, base frame [m]")
        _both(bend, run, lambda shapes: shapes.curvatures[..., 0], style.SERIES, "")
        bend.set_title("curvature towards x [1/m]")
        _speeds(speed, run)
        names = [section.name for section in run.arm.sections]
        for values, name, color in zip(run.errors.errors.T, names, style.SERIES, strict=False):
            error.plot(run.errors.times, values, color=color, label=name)
        error.set_title("lumped model from the chain, ERR [m] (eq 37)")
        error.set_ylim(bottom=0.0)
        for axes in (position_axes, bend, speed, error):
            style.time_limits(axes, run.run.times)
            axes.legend(loc="best", fontsize=7, frameon=True, framealpha=0.8, edgecolor="none")
            for begin, end in run.run.torques.changes:
                axes.axvspan(begin, end, color=style.HOLD, zorder=0, linewidth=0)
        style.legend(figure, _model_keys())
        style.edge_labels(figure)
    return Path(path)


def draw_reach(run: ReachRun, path: str | Path) -> Path:
    """Draw where one section ends over all pressures, from the side and along the straight arm.

    Raises:
        ResultError: The place cannot be written.
    """
    with style.figure(path, POSES_HEIGHT, numbers=False) as figure:
        panels = _pose_panels(figure, ((0, 2), (0, 1)), run.arm.gravity[2] > 0.0)
        for axes, (across, along) in zip(panels, ((0, 2), (0, 1)), strict=True):
            axes.plot(run.chain[:, across], run.chain[:, along], "o", color=style.POSITION,
                      markersize=3.0, label="chain")  # fmt: skip
            axes.plot(run.lumped[:, across], run.lumped[:, along], "o", color=style.TARGET,
                      markersize=6.0, fillstyle="none", label="lumped model")  # fmt: skip
            axes.plot(0.0, 0.0, "+", color=style.INK, markersize=9.0, label="base")
        _pose_legend(figure, panels[0].get_lines())
    return Path(path)


def draw_refinement(run: RefinementRun, path: str | Path) -> Path:
    """Draw how far both models are from their limits of many cells and arcs.

    Raises:
        ResultError: The place cannot be written.
    """
    with style.figure(path, SMALL_HEIGHT, numbers=False) as figure:
        grid = style.panels(figure, 1, 2, margins=MARGINS, gaps=GAPS)
        left, right = (figure.add_subplot(grid[0, k]) for k in range(2))
        series = ((run.chain, "chain", style.POSITION), (run.lumped, "lumped", style.TARGET))
        for refinement, name, color in series:
            off = np.linalg.norm(
                refinement.ends[:, -1] - refinement.limit(refinement.ends)[-1], axis=1
            )
            left.loglog(refinement.counts, off, "o-", color=color, markersize=4.0, label=name)
            angle_errors = np.degrees(np.abs(refinement.bends - refinement.limit(refinement.bends)))
            for values, dash, part in zip(angle_errors.T, DASHES, run.arm.sections, strict=False):
                right.loglog(refinement.counts, values, marker="o", linestyle=dash, color=color,
                             markersize=4.0, label=f"{name}, {part.name}")  # fmt: skip
        left.set_title("end of the arm from its limit [m]")
        right.set_title("bend from its limit [°]")
        for axes in (left, right):
            axes.set_xticks(run.chain.counts, [str(count) for count in run.chain.counts])
            axes.minorticks_off()
            axes.legend(loc="best")
        style.edge_labels(figure, x="cells of the chain, arcs of the lumped model, a section")
    return Path(path)


def _coordinate(axis: int, shapes: ArmShapes) -> Array:
    return np.asarray(shapes.ends[..., axis])


def _speeds(axes: Axes, run: MotionRun) -> None:
    """Of the ends, and of the end of the arm where ramps are steps."""
    for (name, recording), style_ in zip(
        run.recordings.items(), DASHES_OF_MODEL.values(), strict=True
    ):
        for values, part, color in zip(
            recording.speeds.T, run.arm.sections, style.SERIES, strict=False
        ):
            axes.plot(recording.times, values, color=color, linestyle=style_,
                      label=part.name if name == CHAIN else None)  # fmt: skip
    if run.at_once is not None:
        steps = run.at_once.run
        axes.plot(steps.times, steps.speeds[:, -1], color=style.MUTED, linewidth=0.8, zorder=1,
                  label=f"{run.arm.sections[-1].name}, by steps")  # fmt: skip
    axes.set_title("speed of the end [m/s]")


def _both(axes: Axes, run: MotionRun, pick: Pick, colors: Sequence[str], mark: str) -> None:
    """A line a section for both models."""
    for name, shapes in ((CHAIN, run.chain), (LUMPED, run.lumped)):
        for values, part, color in zip(pick(shapes).T, run.arm.sections, colors, strict=False):
            label = f"{mark} of {part.name}" if mark else part.name
            axes.plot(run.run.times, values, color=color, linestyle=DASHES_OF_MODEL[name],
                      label=label if name == CHAIN else None)  # fmt: skip


def _pose(
    axes: Axes, shapes: ArmShapes, row: int, view: tuple[int, int], color: Color, dash: Dash
) -> None:
    points, ends = shapes.backbone[row][:, view], shapes.ends[row][:, view]
    axes.plot(*points.T, color=color, linewidth=2.2 if dash == "-" else 1.3, linestyle=dash)
    axes.plot(
        *ends.T, "o", color=color, markersize=4.0, fillstyle="full" if dash == "-" else "none"
    )


def _pose_panels(figure: Figure, views: Sequence[tuple[int, int]], hanging: bool) -> list[Axes]:
    """Panels of equal scale with the room for keys at the right."""
    grid = style.panels(figure, 1, len(views), margins=(0.65, KEYS, 0.5, 0.35), gaps=GAPS)
    panels = []
    for column, (across, along) in enumerate(views):
        axes = figure.add_subplot(grid[0, column])
        axes.set_aspect("equal", adjustable="datalim")
        axes.set_xlabel(f"{'xyz'[across]} [m]")
        axes.set_ylabel(f"{'xyz'[along]} [m]", labelpad=1.0)
        if along == 2 and hanging:
            axes.invert_yaxis()
        panels.append(axes)
    return panels


def _same_part(panels: Sequence[Axes]) -> None:
    """Let panels of the same view show the same part of it."""
    corners = [corner for axes in panels for corner in axes.dataLim.get_points()]
    for axes in panels:
        axes.update_datalim(corners)
        axes.autoscale_view()


def _pose_legend(figure: Figure, handles: Sequence[Artist]) -> None:
    width = figure.get_size_inches()[0]
    figure.legend(
        handles=list(handles), loc="center left", bbox_to_anchor=(1.0 - (KEYS - 0.1) / width, 0.5)
    )


def _model_keys() -> list[Artist]:
    from matplotlib.lines import Line2D

    styles = ((CHAIN, "chain"), (LUMPED, "lumped model"))
    return [
        Line2D([], [], color=style.INK, linestyle=DASHES_OF_MODEL[m], label=word)
        for m, word in styles
    ]


def _model_words(run: MotionRun, model: str) -> str:
    if model == CHAIN:
        return f"chain, {run.links} cells a section"
    count = run.arm.segments
    return f"lumped model, {count} arc{'s' if count > 1 else ''} a section"


def _case_names(run: RestsRun) -> list[str]:
    """Motors of each case, and their torque where it is not the same in all."""
    cases = run.experiment.cases
    same = len({torque for _, torque in cases}) == 1
    return [
        _motors(motors, run) + ("" if same else f", {torque:g} N·m") for motors, torque in cases
    ]


def _motors(motors: tuple[int, ...], run: RestsRun) -> str:
    if len(motors) == len(run.arm.chambers):
        return "all motors"
    return f"motor{'s' if len(motors) > 1 else ''} {', '.join(map(str, motors))}"


def _colors(count: int) -> list[Color]:
    return list(style.SERIES[:count]) if count <= len(style.SERIES) else _shades(count)


def _shades(count: int) -> list[Color]:
    from matplotlib import colormaps

    return list(colormaps["viridis_r"](np.linspace(0.08, 1.0, count)))
