"""Report of a hydraulic arm: figures (cf. Chen et al. 2022, Fig 6 to 8), text, video and HTML."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import mujoco
import numpy as np

from softgrasp import __version__
from softgrasp.hydraulics.arm import SECTION_RGBA, arm_model
from softgrasp.hydraulics.calibration import ArmCalibrationResult
from softgrasp.hydraulics.description import arm_robot
from softgrasp.hydraulics.drive import LAMINAR, TURBULENT, law_holds_to
from softgrasp.hydraulics.run import BAND, ArmMove, ArmRun, arm_moves, point_of, save_arm_run
from softgrasp.io import RESULT_FILE, TRAJECTORY_FILE, with_numbers
from softgrasp.mechanics import Array
from softgrasp.model import visual
from softgrasp.plugin_api import embed, embed_image, templates, write_text
from softgrasp.rendering import (
    Ball,
    Camera,
    Image,
    Mark,
    Rgba,
    draw_frames,
    frame_points,
    geom_corner_points,
    open_renderer,
    playable_path,
    stamp,
    video_names,
    write_frames,
)
from softgrasp.report import signed, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as figure_Figure

VIDEO, PRESSURE, CURVATURE, TIP, POSES_FIGURE, REPORT = (
    "hydraulic.mp4", "pressure.png", "curvature.png", "tip.png", "poses.png", "report.html",
)  # fmt: skip
FIGURES = (PRESSURE, CURVATURE, TIP, POSES_FIGURE)
NUMBERS = tuple(Path(name).with_suffix(".csv").name for name in FIGURES)
WRITTEN = (RESULT_FILE, TRAJECTORY_FILE, *FIGURES, *NUMBERS, *video_names(VIDEO), REPORT)
"""Everything that a report of an arm writes, in this order."""
HARDLY = 0.02
"""Part of the highest pressure below which a chamber counts as one without."""
HEIGHT, POSES_HEIGHT = 3.2, 5.0
"""Width of a figure [in]."""
MIN_RATIO = 1e-3
"""A direction with less than this part of the largest number is not drawn."""
POSES = 9
"""Poses over one another."""
MARGINS, GAPS = (0.65, 0.15, 0.5, 0.5), (0.65, 0.4)
MM = 1e3
DEGREES = 180.0 / math.pi
FileProgress = Callable[[str, float], None]
VideoProgress = Callable[[float], None]
"""Called with the part that is done, from 0 to 1."""
SIZE, FPS = (640, 480), 24
AZIMUTH_DEG, ELEVATION_DEG, MARGIN = 90.0, -8.0, 0.1
"""Against the y axis of the base, so that its x goes to the right."""
CAMERA_SAMPLES, TRACE = 24, 48
"""Times that the camera frames, and points of the whole trace."""
TRACE_RATIO = 0.0045
"""Radius of a trace point over the image height."""


class Figure(NamedTuple):
    """A figure with heading, summary in numbers and caption."""

    title: str
    path: Path
    finding: str
    caption: str


def write_arm_report(
    run: ArmRun,
    directory: str | Path,
    *,
    renderer: str = "auto",
    video: bool = True,
    report: bool = True,
    progress: FileProgress | None = None,
) -> list[Path]:
    """Write a run with figures, video and a self-contained HTML report.

    Args:
        run: The run.
        directory: Output directory; created where missing.
        renderer: ``auto``, ``gl``, ``raycast``, or ``none`` for no video.
        video: Whether to write the video.
        report: Whether to draw the figures and write the page.
        progress: Called with what is being written and how far it is.

    Returns:
        The files, in the order in which they were written.

    Raises:
        BackendUnavailable: The requested renderer, or ffmpeg, is missing.
        ResultError: The directory cannot be written.
    """
    directory, update = Path(directory), progress or (lambda _file, _done: None)
    written, arm_video = save_arm_run(run, directory), None
    shown = _draw(run, directory) if report else []
    written += with_numbers(part.path for part in shown)
    if video and renderer != "none":
        arm_video = record_arm_video(
            run,
            playable_path(directory / VIDEO),
            renderer=renderer,
            progress=lambda done: update(VIDEO, done),
        )
        written.append(arm_video.path)
    if report:
        written.append(write_text(directory / REPORT, arm_report_html(run, shown, arm_video)))
        update(REPORT, 1.0)
    return written


def _draw(run: ArmRun, directory: Path) -> list[Figure]:
    fluid_words = f"{pressure_clause(run)} {flow_clause(run)} {coupling_clause(run)}"
    return [
        Figure("Pressure", draw_pressures(run, directory / PRESSURE), fluid_words,
                "Motors without torque are left out. Grey: while the torques change."),
        Figure("Curvature", draw_curvatures(run, directory / CURVATURE),
                curvature_clause(run),
                "Bending angle of a section over the length of its axis, towards x and y of its "
                "base; a direction in which nothing bends is left out."),
        Figure("Tip", draw_tip(run, directory / TIP), tip_clause(run),
                "Coordinates in the frame of the base, z along the straight arm."),
        Figure("Poses", draw_poses(run, directory / POSES_FIGURE), poses_clause(run),
                "Axis of the arm at equal parts of the tip path; dots are ends of sections, "
                "dotted, the tip path."),
    ]  # fmt: skip


def arm_report_html(run: ArmRun, shown: list[Figure], arm_video: ArmVideo | None) -> str:
    """Render the report as HTML that needs no other file."""
    note = "" if arm_video is None else (
        f"{arm_video.seconds:.1f} s at real speed; {arm_video.renderer_note}. Gravity points down, "
        "x of the base to the right. Angles: bending of the sections. Points: path of the tip."
    )  # fmt: skip
    return templates().get_template("hydraulic.html.j2").render(
        version=__version__,
        title=f"{run.arm.name} under the torques of its motors",
        summary=f"{len(run.arm.sections)} sections, {run.times[-1]:g} s: {tip_clause(run)}",
        keys=key_numbers(run),
        video=embed(arm_video.path) if arm_video else "",
        video_note=note,
        moves=move_rows(run),
        band=f"{100.0 * BAND:g}",
        shown=[(part, embed_image(part.path)) for part in shown],
        source=run.arm.source,
        properties=_rows(run),
    )  # fmt: skip


def _rows(run: ArmRun) -> list[tuple[str, str]]:
    sections = ", ".join(
        f"{part.name} {1e3 * part.length:.4g} mm, {1e3 * part.mass:.4g} g"
        for part in run.arm.sections
    )
    return [
        ("Sections", sections),
        ("Cells per section", str(run.links)),
        ("Chambers", str(len(run.arm.chambers))),
        ("Largest torque", f"{np.abs(run.torques.torques).max():.4g} N·m"),
    ]


def key_numbers(run: ArmRun) -> list[tuple[str, str]]:
    """Return names and values of the main results."""
    fastest = int(np.argmax(run.speeds[:, -1]))
    bends = np.degrees(np.linalg.norm(run.bends[-1], axis=1)).tolist()
    return [
        ("Final position of the tip, x, y, z", f"{_point_text(run.ends[-1, -1])} m"),
        ("Final bending angles", ", ".join(f"{bend:.1f}°" for bend in bends)),
        ("Highest pressure", f"{1e-6 * run.pressures.max():.3f} MPa"),
        (
            "Largest speed of the tip",
            f"{run.speeds[fastest, -1]:.2f} m/s at {run.times[fastest]:.2f} s",
        ),
        ("Largest Reynolds number in a tube", f"{run.largest_reynolds:.0f}"),
    ]


def _point_text(point: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> str:
    return ", ".join(signed(value, 3) for value in point.tolist())


def move_rows(run: ArmRun) -> list[list[str]]:
    """Return one table row for each motion between changes of the torques."""
    return [
        [
            str(index),
            f"{move.begin:.2f} … {move.command_end:.2f}",
            f"{move.distance:.3f}",
            settle(move),
            f"{100.0 * move.overshoot:.1f} %",
            f"{move.top_speed:.2f}",
            f"{move.top_speed_time:.2f}",
        ]
        for index, move in enumerate(arm_moves(run), 1)
    ]


def settle(move: ArmMove) -> str:
    """Format a settling time, or state that it did not settle."""
    return "not reached" if move.settling is None else f"{move.settling:.2f} s"


def pressure_clause(run: ArmRun) -> str:
    """State the highest pressure of each chamber that is driven."""
    highest = 1e-6 * run.pressures.max(axis=0)
    threshold = max(HARDLY * highest.max(), 1e-6)
    used = [
        f"{p:.3f} MPa in chamber {k}" for k, p in enumerate(highest.tolist(), 1) if p > threshold
    ]
    return f"Highest: {', '.join(used)}." if used else "No chamber is under pressure."


def flow_clause(run: ArmRun) -> str:
    """State the fastest flow, the flow law of the tubes, and whether it is valid there."""
    tube, number = run.arm.drive.tube, run.largest_reynolds
    if number <= LAMINAR:
        return f"Flow in the tubes: laminar, Reynolds number at most {number:.0f}."
    law = "Poiseuille's law of laminar flow" if tube.flow == "laminar" else "Blasius's law"
    text = f"Flow in the tubes: Reynolds number up to {number:.0f}; {law}"
    if number > law_holds_to(tube):
        return f"{text} is valid only up to {law_holds_to(tube):g}; the true resistance is higher."
    return f"{text} replaces laminar flow between {LAMINAR:g} and {TURBULENT:g}."


def coupling_clause(run: ArmRun) -> str:
    """State the coupling of arm and fluid."""
    if run.coupling == "state":
        return "Arm and fluid act on each other."
    return "The drives include the static compliance of the arm, not its motion."


def curvature_clause(run: ArmRun) -> str:
    """State the curvature, bending angle and length of each section at the end."""
    names, curvatures = curvature_lines(run)
    bent = [
        f"{name} {signed(k, 3)} 1/m" for name, k in zip(names, curvatures[-1].tolist(), strict=True)
    ]
    bends = np.degrees(np.linalg.norm(run.bends[-1], axis=1)).tolist()
    arcs = [
        f"{section.name} by {bend:.1f}° over {1e3 * length:.1f} mm"
        for section, bend, length in zip(
            run.arm.sections, bends, run.lengths[-1].tolist(), strict=True
        )
    ]
    return f"Curvature at the end: {', '.join(bent)}. Bent: {', '.join(arcs)}."


def tip_clause(run: ArmRun) -> str:
    """State the settling time, overshoot and speed after every change of the torques."""
    moves = [
        f"change {i} settles in {settle(move)}, overshoots by {100.0 * move.overshoot:.1f} % of "
        f"{move.distance:.3f} m and has a top speed of {move.top_speed:.2f} m/s"
        if move.settling is not None
        else f"change {i} does not settle, and has a top speed of {move.top_speed:.2f} m/s"
        for i, move in enumerate(arm_moves(run), 1)
    ]
    text = "; ".join(moves) or "the torques do not change"
    return f"{text[0].upper()}{text[1:]}."


def poses_clause(run: ArmRun) -> str:
    """State the path length, the final position of the tip, and its error of discretisation."""
    path_length = np.linalg.norm(np.diff(run.ends[:, -1], axis=0), axis=1).sum()
    end = f"The tip moves {path_length:.3f} m and ends at {_point_text(run.ends[-1, -1])} m."
    return f"{end} {cells_clause(run)}"


def cells_clause(run: ArmRun) -> str:
    """State how far the number of cells puts the end of the arm from its limit."""
    error, cells = run.discretisation_error, f"{run.links} cells a section"
    if error is None:
        return f"{cells}: error of the end not estimated, as there is no rest."
    return f"{cells} put the end {1e3 * error:.1f} mm from the limit of many cells."


def draw_pressures(run: ArmRun, path: str | Path) -> Path:
    """Draw the motor torques and the resulting pressures.

    Raises:
        ResultError: The file cannot be written.
    """
    used = np.flatnonzero(np.abs(run.commanded).max(axis=0) > 0.0).tolist()
    used = used or list(range(run.pressures.shape[1]))
    names, pressures = [f"chamber {index + 1}" for index in used], 1e-6 * run.pressures[:, used]
    with _over_time(run, path) as (figure, table, left, right):
        _lines(left, table, run, run.commanded[:, used], names, "torque of the motor [N·m]")
        _lines(right, table, run, pressures, names, "pressure in the chamber [MPa]")
        style.legend(figure, left.get_lines()[: len(used)])
    return Path(path)


@contextmanager
def _over_time(
    run: ArmRun, path: str | Path
) -> Iterator[tuple[figure_Figure, style.Table, Axes, Axes]]:
    """Open a figure of two panels over time, grey while the torques change."""
    with style.figure(path, HEIGHT) as (figure, table):
        grid = style.panels(figure, 1, 2, margins=MARGINS, gaps=GAPS)
        left, right = figure.add_subplot(grid[0, 0]), figure.add_subplot(grid[0, 1])
        yield figure, table, left, right
        for axes in (left, right):
            style.time_limits(axes, run.times)
            for move in arm_moves(run):
                axes.axvspan(move.begin, move.command_end, color=style.HOLD, zorder=0, linewidth=0)
        style.edge_labels(figure)


def _lines(
    axes: Axes, table: style.Table, run: ArmRun, values: Array, names: Sequence[str], title: str
) -> None:
    """Draw one line per column, dashed where lines may coincide."""
    styles = zip(values.T, names, cycle(style.SERIES), cycle(style.DASHES), strict=False)
    for line, name, color, dashes in styles:
        table.plot(axes, run.times, line, f"{name} {title}", color=color, linestyle=dashes,
                   label=name, linewidth=1.5)  # fmt: skip
    axes.set_title(title)


def draw_curvatures(run: ArmRun, path: str | Path) -> Path:
    """Draw the curvatures of the sections and the lengths of their axes.

    Raises:
        ResultError: The file cannot be written.
    """
    names, curvatures = curvature_lines(run)
    with _over_time(run, path) as (figure, table, left, right):
        _lines(left, table, run, curvatures, names, "curvature [1/m]")
        _lines(right, table, run, 1e3 * run.lengths, _sections(run), "length of the axis [mm]")
        style.legend(figure, left.get_lines()[: len(names)])
        right.legend(loc="best")
        style.set_min_span(right, 1.0)
    return Path(path)


def _sections(run: ArmRun) -> list[str]:
    return [section.name for section in run.arm.sections]


def draw_tip(run: ArmRun, path: str | Path) -> Path:
    """Draw the coordinates and the speeds of the section ends.

    Raises:
        ResultError: The file cannot be written.
    """
    sections = _sections(run)
    with _over_time(run, path) as (figure, table, left, right):
        for axis, color in enumerate(style.AXES_COLORS):
            for section, name in enumerate(sections):
                last = section == len(sections) - 1
                label = f"{'xyz'[axis]} of {name}"
                table.plot(
                    left, run.times, run.ends[:, section, axis], f"{label} [m]", color=color,
                    linestyle="-" if last else style.DASHES[2], linewidth=1.4 if last else 1.0,
                    label=label,
                )  # fmt: skip
        left.set_title("end of the section, base frame [m]")
        _lines(right, table, run, run.speeds, sections, "speed of the end [m/s]")
        right.legend(loc="best")
        style.legend(figure, left.get_lines())
    return Path(path)


def draw_poses(run: ArmRun, path: str | Path) -> Path:
    """Draw several poses of the arm in two views, and the path of the tip.

    Raises:
        ResultError: The file cannot be written.
    """
    from matplotlib import colormaps

    rows = pose_rows(run)
    flip = -1.0 if run.arm.gravity[2] > 0.0 else 1.0
    flat = np.abs(run.backbone[..., 1]).max() < MIN_RATIO * run.lengths[0].sum()  # in x and z
    with style.figure(path, POSES_HEIGHT) as (figure, table):
        for row in rows:
            table.add_points(f"{run.times[row]:.2f} s", "xyz", "m", run.backbone[row])
        table.add_points("tip", "xyz", "m", run.ends[:, -1])
        columns, side = (1, 2.4) if flat else (2, 0.65)
        grid = style.panels(figure, 1, columns, margins=(side, 1.3 + side, 0.55, 0.35), gaps=GAPS)
        colors = colormaps["viridis_r"](np.linspace(0.08, 1.0, len(rows)))
        for column in range(columns):
            axes = figure.add_subplot(grid[0, column])
            for row, color in zip(rows, colors, strict=True):
                points = run.backbone[row]
                axes.plot(points[:, column], points[:, 2], color=color, linewidth=3.0,
                          solid_capstyle="round", label=f"{run.times[row]:.2f} s")  # fmt: skip
                ends = run.ends[row]
                axes.plot(ends[:, column], ends[:, 2], "o", color=color, markersize=4.0)
            tip = run.ends[:, -1]
            axes.plot(tip[:, column], tip[:, 2], color=style.INK, linewidth=0.8,
                      linestyle=style.DASHES[2], label="tip path")  # fmt: skip
            axes.set_aspect("equal", adjustable="box")
            axes.set_xlabel(f"{'xy'[column]} [m]")
            axes.set_ylabel("z [m]" if column == 0 else "")
            if flip < 0.0:
                axes.invert_yaxis()
        handles = [
            line for line in figure.axes[0].get_lines() if not str(line.get_label()).startswith("_")
        ]
        figure.legend(
            handles=handles, loc="center left", bbox_to_anchor=(0.9 - side / style.WIDTH, 0.5)
        )
        figure.axes[0].set_title("poses in the base frame" + (", z down" if flip < 0.0 else ""))
    return Path(path)


def pose_rows(run: ArmRun) -> list[int]:
    """Return indices of samples at equal distances along the tip path, both ends included."""
    return sorted({0, *_space(run.ends[:, -1], POSES)[:-1], len(run.times) - 1})


def curvature_lines(run: ArmRun) -> tuple[list[str], Array]:
    """Return the curvatures that are drawn [1/m], (t, lines), and their labels."""
    largest = np.abs(run.curvatures).max()
    there = [
        (section, axis)
        for section in range(len(run.arm.sections))
        for axis in range(2)
        if axis == 0 or np.abs(run.curvatures[:, section, axis]).max() > MIN_RATIO * largest
    ]
    names = [f"{run.arm.sections[section].name} towards {'xy'[axis]}" for section, axis in there]
    return names, np.stack([run.curvatures[:, section, axis] for section, axis in there], axis=1)


def arm_images(result: ArmCalibrationResult, directory: Path) -> list[tuple[str, Path, str]]:
    """Draw the motions of an arm; return the title, the file and the caption of each figure."""
    message = "Dots were recorded, lines are of the calibrated arm; held-out motions were not used."
    return [("Motions", draw_motions(result, directory / "motions.png"), message)]


def draw_motions(result: ArmCalibrationResult, path: str | Path) -> Path:
    """Draw recorded (dots) and simulated (lines) values over time, one panel per motion."""
    problem, stage = result.problem, result.stages[0]
    parts: dict[bool, list[Array]] = {}
    for held, simulated in ((False, stage.simulated), (True, stage.held_out_simulated)):
        sizes = [len(m.times) * len(m.rows[0]) for m in problem.motions if m.held_out == held]
        parts[held] = np.split(simulated, np.cumsum(sizes)[:-1]) if sizes else []
    count = len(problem.motions)
    with style.figure(path, 0.9 + 2.3 * count) as (figure, table):
        grid = style.panels(figure, count, 1, margins=(0.75, 0.15, 0.5, 0.6), gaps=(0.3, 0.45))
        for index, (label, motion) in enumerate(zip(problem.labels, problem.motions, strict=True)):
            axes = figure.add_subplot(grid[index, 0])
            factor = MM if motion.ends else DEGREES
            rows_simulated = parts[motion.held_out].pop(0).reshape(len(motion.times), -1)
            columns = zip(motion.columns, np.array(motion.rows).T, rows_simulated.T, strict=True)
            for number, (name, measured, simulated) in enumerate(columns):
                color = style.SERIES[number % len(style.SERIES)]
                unit = "mm" if motion.ends else "°"
                table.add({
                    f"{label} time [s]": motion.times,
                    f"{label} {name} measured [{unit}]": factor * measured,
                    f"{label} {name} simulated [{unit}]": factor * simulated,
                })  # fmt: skip
                axes.plot(
                    motion.times, factor * measured, "o", color=color, ms=4, mew=0, alpha=0.45
                )
                axes.plot(motion.times, factor * simulated, color=color, lw=1.1, label=name)
            style.time_limits(axes, np.array(motion.times))
            axes.set_title(label + (", held out" if motion.held_out else ""))
            axes.set_ylabel("end of a section [mm]" if motion.ends else "bending angle [°]")
        style.legend(figure)
        style.edge_labels(figure)
    return Path(path)


@dataclass(frozen=True)
class ArmVideo:
    """File and properties of a rendered video.

    Args:
        path: Video file.
        renderer_note: One line about the renderer.
        seconds: Duration [s].
    """

    path: Path
    renderer_note: str
    seconds: float


class PosedArm:
    """Model states of a recorded run, with the base rotated so that gravity points down."""

    def __init__(self, run: ArmRun) -> None:
        self.run = run
        self.model = arm_model(run.arm, run.links)
        self.data = mujoco.MjData(self.model)
        base = self.model.body(arm_robot(run.arm, run.links).root).id
        self.rotation = upright(np.array(run.arm.gravity))
        mujoco.mju_mat2Quat(self.model.body_quat[base], self.rotation.ravel())
        self._trace = _space(run.ends[:, -1], TRACE)
        for index, part in enumerate(arm_robot(self.run.arm, self.run.links).bendables):
            rgba = SECTION_RGBA[index % len(SECTION_RGBA)]
            for k in range(1 + part.backbone.links):
                body = self.model.body(f"{part.name}_{k}").id
                self.model.geom_rgba[self.model.geom_bodyid == body] = rgba
        self.model.geom(visual.FLOOR_NAME).pos[2] = self.cloud()[:, 2].min() - visual.FLOOR_GAP

    def pose(self, time: float) -> mujoco.MjData:
        """Return the recorded state nearest to a time [s]; the next call overwrites it."""
        self.data.qpos[:] = self.run.joints[self._row(time)]
        mujoco.mj_kinematics(self.model, self.data)
        mujoco.mj_comPos(self.model, self.data)
        mujoco.mj_camlight(self.model, self.data)
        return self.data

    def marks(self, time: float, camera: Camera, window: float = 0.0) -> list[Mark]:  # noqa: ARG002
        """Return points of the tip path until a time, at equal distances."""
        height = 2.0 * camera.distance * np.tan(0.5 * np.radians(camera.fovy_deg))
        rows = [row for row in self._trace if row <= self._row(time)]
        positions = self.run.ends[rows, -1] @ self.rotation.T
        return [
            Ball(point_of(position), TRACE_RATIO * height, visual.CONTACT_RGBA)
            for position in positions
        ]

    def colors(self, time: float) -> dict[int, Rgba]:  # noqa: ARG002
        """Return no colour changes."""
        return {}

    def cloud(self) -> Array:
        """Return points around the arm during the run, in the world frame [m], (n, 3)."""
        times = np.linspace(0.0, self.run.times[-1], CAMERA_SAMPLES).tolist()
        return np.concatenate([geom_corner_points(self.model, self.pose(time)) for time in times])

    def _row(self, time: float) -> int:
        return int(np.abs(self.run.times - time).argmin())


def _space(path: Array, count: int) -> list[int]:
    """Return indices of samples at about equal distances on a path, the first included."""
    along = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(path, axis=0), axis=1))])
    rows = np.searchsorted(along, np.linspace(0.0, along[-1], count))
    return sorted(set(np.minimum(rows, len(path) - 1).tolist()))


def record_arm_video(
    run: ArmRun, path: str | Path, *, renderer: str = "auto", progress: VideoProgress | None = None
) -> ArmVideo:
    """Render a video of a run in real time.

    Args:
        run: The run.
        path: The ``.mp4`` to write.
        renderer: ``auto``, ``gl`` or ``raycast``.
        progress: Called with the part that is done.

    Raises:
        BackendUnavailable: The requested renderer, or ffmpeg, is missing.
        DescriptionError: There is no such renderer.
        ResultError: The video cannot be written.
    """
    posed = PosedArm(run)
    times = np.arange(0.0, run.times[-1] + 0.5 / FPS, 1.0 / FPS)
    with open_renderer(posed.model, *SIZE, renderer) as drawer:
        camera = frame_points(
            posed.cloud(),
            azimuth_deg=AZIMUTH_DEG,
            elevation_deg=ELEVATION_DEG,
            aspect=SIZE[0] / SIZE[1],
            margin=MARGIN,
        )
        frames = draw_frames(posed, drawer, camera, times, np.zeros_like(times))
        write_frames(path, _stamp(frames, run, times, progress), FPS)
        note = drawer.description
    return ArmVideo(Path(path), note, len(times) / FPS)


def _stamp(
    frames: Iterator[Image], run: ArmRun, times: Array, progress: VideoProgress | None
) -> Iterator[Image]:
    for index, (time, frame) in enumerate(zip(times.tolist(), frames, strict=True)):
        image = frame.copy()
        row = int(np.abs(run.times - time).argmin())
        bends = np.degrees(np.linalg.norm(run.bends[row], axis=1)).tolist()
        names = [section.name for section in run.arm.sections]
        bend_texts = (f"{name} {bend:.0f}°" for name, bend in zip(names, bends, strict=True))
        stamp(image, f"{time:.2f} s   {'   '.join(bend_texts)}")
        yield image
        if progress is not None:
            progress((index + 1) / len(times))


def upright(gravity: Array) -> Array:
    """Compute a rotation of the base that makes gravity point down, (3, 3); identity without it.

    Args:
        gravity: In the base frame [m/s²], (3,).
    """
    size = float(np.linalg.norm(gravity))
    if size == 0.0:
        return np.eye(3)
    down = gravity / size
    if down[2] > 1.0 - 1e-12:  # half a revolution about x: the shortest rotation has no unique axis
        return np.diag([1.0, -1.0, -1.0])
    goal = np.array([0.0, 0.0, -1.0])
    axis, cosine = np.cross(down, goal), float(down @ goal)
    cross = np.cross(axis, np.eye(3)).T
    return np.asarray(np.eye(3) + cross + cross @ cross / (1.0 + cosine))
