"""The report of a hydraulic arm: its files, its figures, its film and the page with all of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from softgrasp._version import __version__
from softgrasp.formats.atomic import write_text
from softgrasp.formats.results import RESULT_FILE, TRAJECTORY_FILE
from softgrasp.render.hydraulic_film import ArmVideo, record_arm_video
from softgrasp.report import hydraulic_figures as figures
from softgrasp.report.csv_file import with_numbers
from softgrasp.report.grasp_page import NO_IMAGES, embedded, embedded_image, templates
from softgrasp.report.hydraulic_words import (
    coupling_clause,
    curvature_clause,
    flow_clause,
    key_numbers,
    move_rows,
    poses_clause,
    pressure_clause,
    summary,
    tip_clause,
)
from softgrasp.simulation.hydraulic_moves import BAND
from softgrasp.simulation.hydraulic_record import save_arm_run
from softgrasp.simulation.hydraulic_run import ArmRun

VIDEO, PRESSURE, CURVATURE, TIP, POSES, REPORT = (
    "hydraulic.mp4", "pressure.png", "curvature.png", "tip.png", "poses.png", "report.html",
)  # fmt: skip
FIGURES = (PRESSURE, CURVATURE, TIP, POSES)
NUMBERS = tuple(Path(name).with_suffix(".csv").name for name in FIGURES)
WRITTEN = (RESULT_FILE, TRAJECTORY_FILE, *FIGURES, *NUMBERS, VIDEO, REPORT)
"""Everything that a report of an arm writes, in this order."""

Progress = Callable[[str, float], None]
"""Called with the file that is being written and the part of it that is done, 0 to 1."""


class Figure(NamedTuple):
    """A figure with its heading, what it says in numbers, and its caption."""

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
    progress: Progress | None = None,
) -> list[Path]:
    """Write a run with its figures, its film and a page that shows them without a network.

    Args:
        run: The run.
        directory: Where to; it is made when it is missing.
        renderer: ``auto``, ``gl``, ``raycast``, or ``none`` for no film.
        video: Whether to make the film.
        report: Whether to draw the figures and write the page.
        progress: Called with what is being written and how far it is.

    Returns:
        The files, in the order in which they were written.

    Raises:
        BackendUnavailable: The renderer that was asked for, or ffmpeg, is not there.
        ResultError: The folder cannot be written.
    """
    directory, update = Path(directory), progress or _silent
    written, arm_video = save_arm_run(run, directory), None
    shown = _drawn(run, directory) if report else []
    written += with_numbers(part.path for part in shown)
    if video and renderer != NO_IMAGES:
        arm_video = record_arm_video(
            run, directory / VIDEO, renderer=renderer, progress=lambda done: update(VIDEO, done)
        )
        written.append(arm_video.path)
    if report:
        written.append(write_text(directory / REPORT, arm_report_html(run, shown, arm_video)))
        update(REPORT, 1.0)
    return written


def arm_report_html(run: ArmRun, shown: list[Figure], arm_video: ArmVideo | None) -> str:
    """The page as HTML that needs no other file."""
    return templates().get_template("hydraulic.html.j2").render(
        version=__version__,
        title=f"{run.arm.name} under the torques of its motors",
        summary=summary(run),
        keys=key_numbers(run),
        video=embedded(arm_video.path, "video/mp4") if arm_video else "",
        video_note=_video_note(arm_video) if arm_video else "",
        moves=move_rows(run),
        band=f"{100.0 * BAND:g}",
        shown=[(part, embedded_image(part.path)) for part in shown],
        source=run.arm.source,
        properties=_rows(run),
    )  # fmt: skip


def _drawn(run: ArmRun, directory: Path) -> list[Figure]:
    fluid_words = f"{pressure_clause(run)} {flow_clause(run)} {coupling_clause(run)}"
    return [
        Figure("Pressure", figures.draw_pressures(run, directory / PRESSURE), fluid_words,
                "Motors without torque are left out. Grey: while the torques change."),
        Figure("Curvature", figures.draw_curvatures(run, directory / CURVATURE),
                curvature_clause(run),
                "Bending angle of a section over the length of its axis, towards x and y of its "
                "base; a direction in which nothing bends is left out."),
        Figure("Tip", figures.draw_tip(run, directory / TIP), tip_clause(run),
                "Coordinates in the frame of the base, z along the straight arm."),
        Figure("Poses", figures.draw_poses(run, directory / POSES), poses_clause(run),
                "Axis of the arm at equal parts of the way of its end; dots are ends of sections, "
                "dotted, the way of the end."),
    ]  # fmt: skip


def _video_note(arm_video: ArmVideo) -> str:
    return (
        f"{arm_video.seconds:.1f} s, as fast as it is; {arm_video.renderer_note}. Weight pulls down, x of "
        "the base goes to the right. Angles: how far the sections bend. Points: the way of the end."
    )


def _rows(run: ArmRun) -> list[tuple[str, str]]:
    sections = ", ".join(
        f"{part.name} {1e3 * part.length:.4g} mm, {1e3 * part.mass:.4g} g"
        for part in run.arm.sections
    )
    return [
        ("Sections", sections),
        ("Cells a section", str(run.links)),
        ("Chambers", str(len(run.arm.chambers))),
        ("Largest torque asked", f"{np.abs(run.torques.torques).max():.4g} N·m"),
    ]


def _silent(file: str, done: float) -> None:
    """Tell nobody."""
