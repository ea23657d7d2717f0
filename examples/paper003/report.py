"""Figures of the experiments of paper 003: poses over one another, motions, places, convergence."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial, singledispatch
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from jinja2 import ChoiceLoader, FileSystemLoader

from examples.paper003.experiments import (
    CHAIN,
    LUMPED,
    AnyRun,
    Finer,
    MotionRun,
    ReachRun,
    RefinementRun,
    RestsRun,
)
from softgrasp._version import __version__
from softgrasp.errors import SoftgraspError
from softgrasp.hydraulics.report import pose_rows
from softgrasp.hydraulics.run import BAND, ArmMove, ArmShapes
from softgrasp.io.files import RESULT_FILE, write_text
from softgrasp.io.result import read_document
from softgrasp.io.tables import with_numbers, write_columns, write_csv
from softgrasp.mechanics.transforms import Array
from softgrasp.report import style
from softgrasp.report.grasp_report import embed_image, templates
from softgrasp.report.style import signed

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


# --------------------
# The experiments of paper 003 as files: figures, recordings, numbers, and the page with them.


SMALLER = 2
"""Seventeen figures at 300 dpi would make a page of 6 MB."""
REPORT, KIND, SCHEMA_VERSION = "report.html", "hydraulic_experiments", 1


class Shown(NamedTuple):
    """A figure and its caption."""

    path: Path
    caption: str


def write_hydraulic_experiments(
    runs: Sequence[AnyRun], directory: str | Path, *, report: bool = True
) -> list[Path]:
    """Write experiments: ``result.json``, numbers and recordings in CSV, figures, and a page.

    What earlier experiments have written into the folder is removed first.

    Args:
        runs: Of ``run_hydraulic_experiments``.
        directory: Where to; it is made when it is missing.
        report: Whether to draw the figures and write the page.

    Returns:
        The files, in the order in which they were written.

    Raises:
        ResultError: The folder cannot be written.
    """
    directory = Path(directory)
    _clear_earlier(directory)
    written = [write_recording(run, directory / f"{run.experiment.name}.csv") for run in runs]
    written += write_numbers(runs, directory)
    shown = [_drawn(run, directory) if report else [] for run in runs]
    written += with_numbers(part.path for parts in shown for part in parts)
    written = list(dict.fromkeys(written))  # recordings are the numbers of some figures
    if report:
        html = experiments_report_html(runs, shown)
        written.append(write_text(directory / REPORT, html))
    document = experiments_document(runs) | {"files": [path.name for path in written]}
    text = json.dumps(document, indent=2, ensure_ascii=False)
    return [*written, write_text(directory / RESULT_FILE, text + "\n")]


def experiments_document(runs: Sequence[AnyRun]) -> dict[str, Any]:
    """The numbers of experiments as the content of ``result.json``; null where one was not seen."""
    return {
        "schema_version": SCHEMA_VERSION,
        "softgrasp_version": __version__,
        "kind": KIND,
        "experiments": [
            {
                "name": run.experiment.name,
                "title": run.experiment.title,
                "source": run.experiment.source,
                "cells_per_section": None if isinstance(run, RefinementRun) else run.links,
                "arcs_per_section": None if isinstance(run, RefinementRun) else run.arm.segments,
                "numbers": [
                    {
                        "what": n.what, "unit": n.unit, "paper": n.paper, "kind": n.kind,
                        "chain": _finite(n.chain), "lumped": _finite(n.lumped), "agrees": n.met,
                    }
                    for n in numbers(run)
                ],
            }
            for run in runs
        ],
    }  # fmt: skip


def experiments_report_html(runs: Sequence[AnyRun], shown: Sequence[Sequence[Shown]]) -> str:
    """The page as HTML that needs no other file."""
    refined = [run for run in runs if isinstance(run, RefinementRun)]
    environment = templates()
    here = FileSystemLoader(Path(__file__).parent)
    environment.loader = ChoiceLoader([here, environment.loader])
    return environment.get_template("hydraulic_experiments.html.j2").render(
        version=__version__,
        arm=runs[0].arm.name if runs else "",
        source=runs[0].arm.source if runs else "",
        parts=[
            (run.experiment, _discretised(run), number_rows(run), [
                (part, embed_image(part.path, smaller=SMALLER)) for part in parts
            ])
            for run, parts in zip(runs, shown, strict=True)
        ],
        errors=error_rows(runs),
        finer_heads=REFINEMENT_WORDS,
        finer=[row for run in refined for row in refinement_words(run)],
        less=f"{LESS_BY:g}",
        swing=f"{100.0 * NO_SWING:g}",
        band=f"{100.0 * BAND:g}",
    )  # fmt: skip


def _discretised(run: AnyRun) -> str:
    """Cells and arcs a section, in words."""
    if isinstance(run, RefinementRun):
        return "more and more cells and arcs a section"
    arcs = f"{run.arm.segments} arc{'s' if run.arm.segments > 1 else ''}"
    return f"chain of {run.links} cells, lumped model of {arcs} a section"


def _drawn(run: AnyRun, directory: Path) -> list[Shown]:
    path = directory / f"{run.experiment.name}.png"
    if isinstance(run, RestsRun):
        return [Shown(draw_rests(run, path),
                      "Axis of the arm at rest; dots are ends of sections. Solid: chain, dashed: "
                      "lumped model.")]  # fmt: skip
    if isinstance(run, ReachRun):
        return [Shown(draw_reach(run, path),
                      "Ends of the section, from the side and along the arm.")]  # fmt: skip
    if isinstance(run, RefinementRun):
        return [Shown(draw_refinement(run, path),
                      "Distance from Richardson's limit of each model: the chain comes nearer with "
                      "the square of the cell, the lumped model with the arc.")]  # fmt: skip
    return _drawn_motion(run, path)


def _drawn_motion(run: MotionRun, path: Path) -> list[Shown]:
    steps = " Grey line: the same torques as steps." if run.at_once is not None else ""
    return [
        Shown(draw_poses(run, path.with_name(f"{path.stem}_poses.png")),
              "Axis of the arm at equal parts of the way of the chain's end; dots are ends of "
              "sections."),
        Shown(draw_motion(run, path),
              f"Solid: chain, dashed: lumped model. Grey band: while the torques change.{steps}"),
    ]  # fmt: skip


def _clear_earlier(directory: Path) -> None:
    """Remove what earlier experiments wrote; files of anything else stay."""
    try:
        earlier = read_document(directory / RESULT_FILE)
    except SoftgraspError:
        return
    if earlier.get("kind") == KIND:
        for name in [*earlier.get("files", []), RESULT_FILE]:
            (directory / Path(str(name)).name).unlink(missing_ok=True)


def _finite(value: float) -> float | None:
    return value if abs(value) < float("inf") else None


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
DASHES_OF_MODEL: dict[str, Dash] = {CHAIN: "-", LUMPED: style.DASHES[1]}
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
    with style.figure(path, SPACE_HEIGHT if space else POSES_HEIGHT) as (figure, _):
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
    with style.figure(path, POSES_HEIGHT) as (figure, table):
        panels = _pose_panels(figure, (view, view), run.arm.gravity[2] > 0.0)
        for axes, name in zip(panels, (CHAIN, LUMPED), strict=True):
            shapes = run.chain if name == CHAIN else run.lumped
            for row, color in zip(rows, colors, strict=True):
                _pose(axes, shapes, row, view, color, "-")
                axis_name = f"{name} {run.run.times[row]:.2f} s"
                table.add_points(axis_name, "xz", "m", shapes.backbone[row][:, view])
            tip = shapes.ends[:, -1]
            table.add_points(f"{name} tip", "xz", "m", tip[:, view])
            axes.plot(
                tip[:, 0], tip[:, 2], color=style.INK, linewidth=0.8, linestyle=style.DASHES[2]
            )
            axes.set_title(_model_words(run, name))
        _same_part(panels)
        keys = [
            Line2D([], [], color=color, linewidth=2.0, label=f"{run.run.times[row]:.2f} s")
            for row, color in zip(rows, colors, strict=True)
        ]
        path_line = Line2D(
            [], [], color=style.INK, lw=0.8, ls=style.DASHES[2], label="way of the end"
        )
        _pose_legend(figure, [*keys, path_line])
    return Path(path)


def draw_motion(run: MotionRun, path: str | Path) -> Path:
    """Draw ends, curvatures, speeds and the errors (37) of both models in time.

    Raises:
        ResultError: The place cannot be written.
    """
    with style.figure(path, MOTION_HEIGHT) as (figure, _):
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
    with style.figure(path, POSES_HEIGHT) as (figure, _):
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
    with style.figure(path, SMALL_HEIGHT) as (figure, _):
        grid = style.panels(figure, 1, 2, margins=MARGINS, gaps=GAPS)
        left, right = (figure.add_subplot(grid[0, k]) for k in range(2))
        series = ((run.chain, "chain", style.POSITION), (run.lumped, "lumped", style.TARGET))
        for refinement, name, color in series:
            off = np.linalg.norm(
                refinement.ends[:, -1] - refinement.limit(refinement.ends)[-1], axis=1
            )
            left.loglog(refinement.counts, off, "o-", color=color, markersize=4.0, label=name)
            angle_errors = np.degrees(np.abs(refinement.bends - refinement.limit(refinement.bends)))
            for values, dash, part in zip(
                angle_errors.T, style.DASHES, run.arm.sections, strict=False
            ):
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


# --------------------
# The experiments of paper 003 as tables: numbers and recordings in CSV, rows of the page.


NUMBERS, ERRORS = "numbers.csv", "errors.csv"
NUMBER_HEADS = ("experiment", "what", "unit", "paper", "chain", "lumped", "kind", "agrees")
ERROR_HEADS = (
    "experiment", "max_sectional_m", "max_cumulative_m", "last_cumulative_m",
    "paper_against_its_experiment_m",
)  # fmt: skip
Row = list[str | float]


def write_numbers(runs: Sequence[AnyRun], directory: Path) -> list[Path]:
    """Write ``numbers.csv`` and ``errors.csv``, everything at full precision.

    Raises:
        ResultError: The folder cannot be written.
    """
    rows: list[Row] = [
        [n.experiment, n.what, n.unit, n.paper, n.chain, n.lumped, n.kind, n.met]
        for run in runs
        for n in numbers(run)
    ]
    errors: list[Row] = [
        [e.experiment, e.sectional, e.cumulative, e.last, e.paper] for e in errors_of(runs)
    ]
    return [
        write_csv(directory / NUMBERS, NUMBER_HEADS, rows),
        write_csv(directory / ERRORS, ERROR_HEADS, errors),
    ]


def errors_of(runs: Iterable[AnyRun]) -> list[Apart]:
    """The errors (37) of all experiments that have some."""
    return [difference for difference in map(apart, runs) if difference is not None]


def write_recording(run: AnyRun, path: Path) -> Path:
    """Write all that an experiment recorded: a row a time, a rest, a pressure, a number of cells.

    Raises:
        ResultError: The place cannot be written.
    """
    if isinstance(run, MotionRun):
        columns = _of_motion(run)
    elif isinstance(run, RestsRun):
        columns = _of_rests(run)
    elif isinstance(run, ReachRun):
        columns = _points(CHAIN, run.chain[:, None]) | _points(LUMPED, run.lumped[:, None])
    else:
        return write_csv(path, REFINEMENT_HEADS, refinement_rows(run))
    return write_columns(path, columns)


def _of_motion(run: MotionRun) -> dict[str, Array]:
    chain = run.run
    columns = {"time_s": chain.times}
    columns |= _columns("torque", "Nm", chain.commanded) | _columns(
        "pressure", "Pa", chain.pressures
    )
    for name, shapes in ((CHAIN, run.chain), (LUMPED, run.lumped)):
        columns |= _points(name, shapes.ends)
        curved = shapes.curvatures.reshape(len(chain.times), -1)
        columns |= _columns(f"{name}_curvature", "1_per_m", curved, _pairs(curved.shape[1] // 2))
        columns |= _columns(f"{name}_speed", "m_per_s", run.recordings[name].speeds)
    return columns | _columns("error", "m", run.errors.errors)


def _of_rests(run: RestsRun) -> dict[str, Array]:
    columns = _columns("torque", "Nm", run.experiment.torques)
    for name, shapes in ((CHAIN, run.chain), (LUMPED, run.lumped)):
        bends = shapes.bends.reshape(len(shapes.bends), -1)
        columns |= _points(name, shapes.ends)
        columns |= _columns(f"{name}_bend", "rad", bends, _pairs(bends.shape[1] // 2))
        columns |= _columns(f"{name}_length", "m", shapes.lengths)
    return columns | _columns("error", "m", run.errors)


def _columns(
    name: str, unit: str, values: Array, marks: Sequence[str] | None = None
) -> dict[str, Array]:
    """Columns by name, counted from 1."""
    marks = marks or [str(k) for k in range(1, values.shape[1] + 1)]
    return {f"{name}_{mark}_{unit}": column for mark, column in zip(marks, values.T, strict=True)}


def _points(name: str, ends: Array) -> dict[str, Array]:
    marks = [f"{k}_{axis}" for k in range(1, ends.shape[1] + 1) for axis in "xyz"]
    return _columns(f"{name}_end", "m", ends.reshape(len(ends), -1), marks)


def _pairs(sections: int) -> list[str]:
    return [f"{k}_{axis}" for k in range(1, sections + 1) for axis in "xy"]


REFINEMENT_HEADS = (
    "model", "cells_or_arcs", "end_x_m", "end_z_m", "change_m", "bend_1_deg", "bend_2_deg",
)  # fmt: skip
REFINEMENT_WORDS = (
    "model", "cells or arcs", "x of the end [m]", "z of the end [m]", "change of the end [m]",
    "bend 1 [°]", "bend 2 [°]",
)  # fmt: skip
"""The same in words, for a page."""


def refinement_rows(run: RefinementRun) -> list[Row]:
    """A row a model and a number of cells or arcs, and one of each model's limit."""
    return [*_finer_rows(CHAIN, run.chain), *_finer_rows(LUMPED, run.lumped)]


def _finer_rows(model: str, finer: Finer) -> list[Row]:
    changes = [math.nan, *finer.changes.tolist(), math.nan]
    counts = [*map(str, finer.counts), "limit"]
    ends = np.concatenate([finer.ends[:, -1], finer.limit(finer.ends)[None, -1]])
    bends = np.degrees(np.concatenate([finer.bends, finer.limit(finer.bends)[None]]))
    return [
        [model, count, float(end[0]), float(end[2]), change, *bend.tolist()]
        for count, end, change, bend in zip(counts, ends, changes, bends, strict=True)
    ]


def number_rows(run: AnyRun) -> list[list[str]]:
    """What it found, the paper's number and both models', as words of a page."""
    return [
        [
            n.what,
            n.unit,
            n.paper,
            _value_text(n, n.chain),
            _value_text(n, n.lumped),
            n.kind,
            n.met or "–",
        ]
        for n in numbers(run)
    ]


def _value_text(number: Number, value: float) -> str:
    return signed(value, number.digits) if math.isfinite(value) else "not seen"


def error_rows(runs: Iterable[AnyRun]) -> list[list[str]]:
    """The errors (37) of all experiments as words of a page."""
    return [
        [
            e.experiment, signed(e.sectional, 4), signed(e.cumulative, 4),
            "–" if math.isnan(e.last) else signed(e.last, 4), e.paper or "–",
        ]
        for e in errors_of(runs)
    ]  # fmt: skip


def refinement_words(run: RefinementRun) -> list[list[str]]:
    """``refinement_rows`` as words of a page, under ``REFINEMENT_WORDS``."""
    digits = (4, 4, 4, 3, 3)
    return [
        [
            str(row[0]), str(row[1]),
            *("–" if math.isnan(float(v)) else signed(float(v), d)
              for v, d in zip(row[2:], digits, strict=True)),
        ]
        for row in refinement_rows(run)
    ]  # fmt: skip


# --------------------
# What the experiments of paper 003 found, beside what the paper prints, and what kind it is.


Kind = Literal["fitted", "predicted", "ours"]
"""Parameters were chosen with it in sight; they were not; or the paper says nothing of it."""
FIGURE_ONLY = "drawn only"
IN_PLANE = 1e-6
"""An arm whose axis leaves the plane by less is in it [m]."""
PRINTED_BENDS = ((165.7, 0.401, 0.139), (168.0, 0.3988, 0.136))
"""Bend [°], arc and radius [m] of sec. 3.1; the second arc is 0.136 m · 168°, printed is 0.473."""
BENDS_WITHIN = (0.015, 0.005, 0.02)
SETTLES = {"step-one-way": 1.0, "step-two-ways": 1.5}
"""Times within which the paper's simulations are steady [s]."""
LESS_BY = 3.0
"""What "significantly reduced" is taken for; the paper gives no number."""
NO_SWING = 0.02
"""Overshoot below which "no oscillation" is taken as met: the band that counts as settled."""
SAME_ANGLE = 0.05
"""Within which the limits of both models have to be [°]."""
PRINTED_ERRORS = {"sequential-steps": "0.0305 / 0.0565", "slow-ramps": "0.0245 / 0.042"}
"""The paper's model against its experiment, which is not published."""


@dataclass(frozen=True)
class Number:
    """A number of both models beside the paper's.

    Args:
        experiment: Its name.
        what: In words.
        unit: Of the numbers.
        paper: What the paper prints, in words.
        kind: See ``Kind``.
        values: Of the chain in MuJoCo, and of the lumped model.
        within: Least and largest number that agrees with the paper; None where it prints none.
        digits: Behind the point.
    """

    experiment: str
    what: str
    unit: str
    paper: str
    kind: Kind
    values: Sequence[float]
    within: tuple[float, float] | None = None
    digits: int = 3

    @property
    def chain(self) -> float:
        """Of the chain in MuJoCo."""
        return float(self.values[0])

    @property
    def lumped(self) -> float:
        """Of the lumped model."""
        return float(self.values[1])

    @property
    def met(self) -> str:
        """Which models agree with the paper: both, one by its name, neither; "" without bounds."""
        if self.within is None:
            return ""
        low, high = self.within
        values_of_model = {CHAIN: self.chain, LUMPED: self.lumped}
        good = [name for name, value in values_of_model.items() if low <= value <= high]
        return {0: "neither", 1: f"{good[0]} only" if good else "", 2: "both"}[len(good)]


@singledispatch
def numbers(run: AnyRun) -> list[Number]:
    """Everything that an experiment found, beside the paper's numbers."""
    raise TypeError(type(run).__name__)


@numbers.register
def _numbers_of_rests(run: RestsRun) -> list[Number]:
    if run.experiment.name == "bends":
        return _bends(run)
    if run.experiment.name == "limit-posture":
        return _postures(run)
    return _steady(run)


def _bends(run: RestsRun) -> list[Number]:
    entries = []
    for case, printed in enumerate(PRINTED_BENDS):
        motors = " and ".join(map(str, run.experiment.cases[case][0]))
        values = [
            _arc(shapes.angles[case, 0], shapes.lengths[case, 0]) for shapes in _both_numbers(run)
        ]
        for index, (what, unit) in enumerate((("bend", "°"), ("arc", "m"), ("radius", "m"))):
            goal, relative_tolerance = printed[index], BENDS_WITHIN[index]
            entries.append(Number(
                run.experiment.name, f"{what}, 1 MPa in {motors}", unit, f"{goal:g}", "fitted",
                [values[0][index], values[1][index]],
                (goal * (1 - relative_tolerance), goal * (1 + relative_tolerance)),
                digits=1 if unit == "°" else 4,
            ))  # fmt: skip
    return entries


def _arc(angle: float, length: float) -> tuple[float, float, float]:
    return float(np.degrees(angle)), float(length), float(length / angle)


def _postures(run: RestsRun) -> list[Number]:
    name, angles = run.experiment.name, [np.degrees(s.angles[1:]) for s in _both_numbers(run)]
    ends = [float(shapes.ends[0, -1, 2]) for shapes in _both_numbers(run)]
    rows = [Number(name, "z of the end, all at the limit", "m", FIGURE_ONLY, "ours", ends)]
    for section, part in enumerate(run.arm.sections):
        for what, pick in (("least", np.min), ("largest", np.max)):
            values = [float(pick(angle_array[:, section])) for angle_array in angles]
            words = f"{what} bend of {part.name} at its limit"
            rows.append(Number(name, words, "°", FIGURE_ONLY, "ours", values, digits=1))
    return rows


def _steady(run: RestsRun) -> list[Number]:
    name, rows = run.experiment.name, []
    bends = [np.degrees(shapes.bends[:, :, 0]) for shapes in _both_numbers(run)]
    for section, part in enumerate(run.arm.sections):
        for case, (_, torque) in enumerate(run.experiment.cases):
            values = [float(bend_array[case, section]) for bend_array in bends]
            words = f"bend of {part.name} towards x at {torque:g} N·m"
            rows.append(Number(name, words, "°", FIGURE_ONLY, "predicted", values, digits=1))
    return rows


@numbers.register
def _numbers_of_motion(run: MotionRun) -> list[Number]:
    name, slow = run.experiment.name, run.experiment.name == "slow-ramps"
    rows = _settling(run)
    for index, moves in enumerate(_moves(run)):
        after = _after(run, index)
        swing, fast = [m.overshoot for m in moves], [m.top_speed for m in moves]
        claim, bounds = ("no oscillation", (0.0, NO_SWING)) if slow else (FIGURE_ONLY, None)
        rows.append(Number(name, f"overshoot{after}", "–", claim, "predicted", swing, bounds))
        rows.append(Number(name, f"top speed{after}", "m/s", FIGURE_ONLY, "predicted", fast,
                           digits=2))  # fmt: skip
        if run.at_once is not None:
            rows += _against_steps(name, moves, _moves(run.at_once)[index], after)
    away = [float(np.abs(shapes.backbone[..., 1]).max()) for shapes in _both_numbers(run)]
    fields = "farthest from the x–z plane", "m", "in the plane"
    rows.append(Number(name, *fields, "predicted", away, (0.0, IN_PLANE), digits=6))
    return rows


def _settling(run: MotionRun) -> list[Number]:
    """Of every section where the paper has a time, else of the end of the arm."""
    name, limit, rows = run.experiment.name, SETTLES.get(run.experiment.name), []
    last = len(run.arm.sections) - 1
    for section in range(last + 1) if limit else [last]:
        for index, moves in enumerate(_moves(run, section)):
            where = f" of {run.arm.sections[section].name}" if limit else ""
            values = [np.nan if m.settling is None else m.settling for m in moves]
            rows.append(Number(
                name, f"settled{where}{_after(run, index)}", "s",
                f"within {limit:g}" if limit else FIGURE_ONLY,
                "fitted" if limit else "predicted", values,
                (0.0, limit) if limit else None, digits=2,
            ))  # fmt: skip
    return rows


def _against_steps(name: str, ramp: Pair, step: Pair, after: str) -> list[Number]:
    """How many times less the end swings, and how much slower it is, than after steps."""
    bounds = (LESS_BY, np.inf)
    return [
        Number(name, f"overshoot after a step over this{after}", "–", "significantly reduced",
               "predicted", _ratios([m.overshoot for m in step], [m.overshoot for m in ramp]),
               bounds, digits=1),
        Number(name, f"top speed after a step over this{after}", "–", "significantly reduced",
               "predicted", _ratios([m.top_speed for m in step], [m.top_speed for m in ramp]),
               bounds, digits=1),
    ]  # fmt: skip


def _ratios(upper: list[float], lower: list[float]) -> list[float]:
    return [a / b if b > 0.0 else np.inf for a, b in zip(upper, lower, strict=True)]


def _after(run: MotionRun, index: int) -> str:
    """Which change, where there is more than one."""
    changes = run.run.torques.changes
    return f", from {changes[index][0]:g} s" if len(changes) > 1 else ""


Pair = tuple[ArmMove, ArmMove]
"""One change of the torques, as the chain and the lumped model answer."""


def _moves(run: MotionRun, section: int = -1) -> list[Pair]:
    return list(zip(run.moves(CHAIN, section), run.moves(LUMPED, section), strict=True))


@numbers.register
def _of_reach(run: ReachRun) -> list[Number]:
    spans = np.ptp(run.chain, axis=0).tolist(), np.ptp(run.lumped, axis=0).tolist()
    return [
        Number(run.experiment.name, f"extent along {axis}", "m", "about 0.5", "predicted",
               (spans[0][k], spans[1][k]), digits=2)
        for k, axis in enumerate("xyz")
    ]  # fmt: skip


@numbers.register
def _of_refinement(run: RefinementRun) -> list[Number]:
    name = run.experiment.name
    limits = [
        np.degrees(refinement.limit(refinement.bends)) for refinement in (run.chain, run.lumped)
    ]
    rows = []
    for section, part in enumerate(run.arm.sections):
        chain, lumped = (float(limit[section]) for limit in limits)
        bounds = (lumped - SAME_ANGLE, lumped + SAME_ANGLE)
        rows.append(
            Number(
                name,
                f"bend of {part.name}, limit of many",
                "°",
                f"both within {SAME_ANGLE:g}°",
                "ours",
                (chain, lumped),
                bounds,
            )
        )
    ends = [refinement.limit(refinement.ends)[-1] for refinement in (run.chain, run.lumped)]
    for axis, key in ((0, "x"), (2, "z")):
        values = [float(end[axis]) for end in ends]
        rows.append(Number(name, f"{key} of the end, limit of many", "m", "–", "ours", values,
                           digits=4))  # fmt: skip
    return rows


@dataclass(frozen=True)
class Apart:
    """How far the ends of both models are apart in an experiment (eq 37).

    Args:
        experiment: Its name.
        sectional: Largest error of any section [m].
        cumulative: Largest sum over the sections [m].
        last: Sum over the sections in the last row [m]; NaN for rests.
        paper: The paper's two errors against its experiment, in words; "" where it has none.
    """

    experiment: str
    sectional: float
    cumulative: float
    last: float
    paper: str


def apart(run: AnyRun) -> Apart | None:
    """The errors (37) between both models; None where there are no ends of sections to compare."""
    if isinstance(run, MotionRun):
        errors, last = run.errors.errors, float(run.errors.errors[-1].sum())
    elif isinstance(run, RestsRun):
        errors, last = run.errors, np.nan
    else:
        return None
    name = run.experiment.name
    sectional, cumulative = float(errors.max()), float(errors.sum(axis=1).max())
    return Apart(name, sectional, cumulative, last, PRINTED_ERRORS.get(name, ""))


def _both_numbers(run: RestsRun | MotionRun) -> tuple[ArmShapes, ArmShapes]:
    return run.chain, run.lumped
