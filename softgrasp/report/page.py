"""The report of a run: its files, its figures, its film and one page that holds them all."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from softgrasp._version import __version__
from softgrasp.formats.atomic import write_text
from softgrasp.render.film import Image
from softgrasp.render.instants import key_instants
from softgrasp.render.playback import VideoInfo, render_video
from softgrasp.report import facts, tables, words
from softgrasp.report.contact_figure import draw_contacts
from softgrasp.report.grasp_numbers import write_numbers
from softgrasp.report.hold_words import hold_clause
from softgrasp.report.joint_figure import draw_joints
from softgrasp.report.object_figure import draw_object
from softgrasp.report.pull_figure import draw_pulls
from softgrasp.report.quality_figure import draw_quality
from softgrasp.report.quality_words import quality_clause, quality_rows
from softgrasp.report.sensor_figure import draw_sensors
from softgrasp.report.sensor_words import sensor_clause, sensor_rows
from softgrasp.report.shown_picture import embedded, shown_picture
from softgrasp.report.strip_figure import draw_strip, strip_pictures
from softgrasp.report.tactile_figure import draw_tactile, tactile_readings
from softgrasp.simulation.outcome import GraspStatus
from softgrasp.simulation.result import GraspResult

if TYPE_CHECKING:
    from jinja2 import Environment

FILM, CONTACTS, JOINTS, OBJECT, SENSORS, TACTILE, PULLS, QUALITY, STRIP, PAGE = (
    "grasp.mp4",
    "contacts.png",
    "joints.png",
    "object.png",
    "sensors.png",
    "tactile.png",
    "pulls.png",
    "quality.png",
    "strip.png",
    "report.html",
)
NO_PICTURES = "none"
"""The renderer that draws nothing: no film and no strip."""

Draw = Callable[[GraspResult, Path], Path]
FIGURES: tuple[tuple[str, Draw], ...] = (
    (CONTACTS, draw_contacts),
    (JOINTS, draw_joints),
    (OBJECT, draw_object),
)
"""Of every run."""

Progress = Callable[[str, float], None]
"""Called with the file that is being written and the part of it that is done, 0 to 1."""


def write_report(
    result: GraspResult,
    folder: str | Path,
    *,
    renderer: str = "auto",
    video: bool = True,
    page: bool = True,
    progress: Progress | None = None,
) -> list[Path]:
    """Write a run with its figures, its film and a page that shows them without a network.

    Args:
        result: The run.
        folder: Where to; it is made when it is missing.
        renderer: ``auto``, ``gl``, ``raycast``, or ``none`` for no film and no strip.
        video: Whether to make the film.
        page: Whether to draw the figures and write the page.
        progress: Called with what is being written and how far it is.

    Returns:
        The files, in the order in which they were written: ``result.json``,
        ``trajectory.npz``, figures, each followed by its numbers in CSV, film, page.

    Raises:
        BackendUnavailable: The renderer that was asked for, or ffmpeg, is not there.
        ResultError: The folder cannot be written.
    """
    folder, tell = Path(folder), progress or _silent
    written = result.save(folder)
    drawn: list[Future[list[Path]]] = []
    film = None
    # the pictures are drawn by the engine, the figures by matplotlib: one core each
    with ThreadPoolExecutor(max_workers=1) as beside:
        drawing = renderer != NO_PICTURES
        pictures = strip_pictures(result, renderer=renderer) if page and drawing else []
        if page:
            drawn.append(beside.submit(_write_figures, result, folder, tell))
        if pictures:
            drawn.append(beside.submit(_write_strip, result, folder, pictures, tell))
        if video and drawing:
            film = render_video(
                result,
                folder / FILM,
                renderer=renderer,
                progress=lambda done: tell(FILM, done),
            )
    written += [path for paths in drawn for path in paths.result()]
    if film is not None:
        written.append(film.path)
    if page:
        written.append(write_text(folder / PAGE, page_html(result, written, film)))
        tell(PAGE, 1.0)
    return written


def page_html(result: GraspResult, files: Sequence[Path], film: VideoInfo | None) -> str:
    """The page as HTML that needs no other file.

    Args:
        result: The run.
        files: Its files, of which the pictures go into the page.
        film: The film, where there is one.
    """
    pictures = {path.stem: shown_picture(path) for path in files if path.suffix == ".png"}
    template = templates().get_template("report.html.j2")
    return template.render(
        folder=shown_folder(files[0].parent),
        pictures=pictures,
        film=embedded(film.path, "video/mp4") if film else "",
        film_note=_film_note(film) if film else "",
        strip_alt="; ".join(f"{time:.3f} s {text}" for time, text in key_instants(result)),
        **_content(result, film),
    )


def _content(result: GraspResult, film: VideoInfo | None) -> dict[str, object]:
    """Everything on the page but the pictures."""
    return {
        "version": __version__,
        "title": _title(result),
        "verdict": words.verdict(result),
        "summary": words.summary(result),
        "advice": _sentence(result.message) if result.status is GraspStatus.DIVERGED else "",
        "keys": facts.key_numbers(result),
        "force_clause": words.force_clause(result),
        "motion_clause": words.motion_clause(result),
        "hold_clause": hold_clause(result),
        "directions": tables.direction_rows(result),
        "pulls": tables.pull_rows(result),
        "quality_clause": quality_clause(result),
        "qualities": quality_rows(result),
        "joint_clause": words.joint_clause(result),
        "several": len(result.objects) > 1,
        "others_clause": words.others_clause(result),
        "support_clause": words.support_clause(result),
        "other_contacts": tables.other_rows(result),
        "sensor_clause": sensor_clause(result),
        "sensors": sensor_rows(result),
        "bodies": tables.body_rows(result),
        "untouched": tables.untouched(result),
        "pairs": tables.pair_rows(result),
        "stiffness_verdict": tables.stiffness_verdict(result),
        "contact_asked": facts.contact_text(result.contact_model.asked),
        "contact_used": facts.contact_text(result.contact_model.used),
        "facts": facts.scene_facts(result),
        "warnings": [*result.warnings, *result.scene.hand.notes],
        "events": tables.event_rows(result),
        "provenance": facts.provenance(result, film.renderer_note if film else ""),
    }


def _write_figures(result: GraspResult, folder: Path, tell: Progress) -> list[Path]:
    written, figures = [], FIGURES
    if result.quality_log is not None and len(result.quality_log.time) > 1:
        figures = (*figures, (QUALITY, draw_quality))
    if result.sensors:
        figures = (*figures, (SENSORS, draw_sensors))
    if tactile_readings(result):
        figures = (*figures, (TACTILE, draw_tactile))
    if result.hold is not None and result.hold.pulls:
        figures = (*figures, (PULLS, draw_pulls))
    for name, draw in figures:
        drawn = draw(result, folder / name)
        write_numbers(result, drawn)
        written += [drawn, drawn.with_suffix(".csv")]
        tell(name, 1.0)
    return written


def _write_strip(
    result: GraspResult, folder: Path, pictures: Sequence[Image], tell: Progress
) -> list[Path]:
    written = draw_strip(result, folder / STRIP, pictures)
    tell(STRIP, 1.0)
    return [written]


def _title(result: GraspResult) -> str:
    scene = result.scene
    name = f"{scene.name}: " if scene.name else ""
    return f"{name}{scene.hand.name} grasps {scene.object.name}"


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


def _film_note(film: VideoInfo) -> str:
    return (
        f"{film.frames / film.fps:.1f} s; the closing is shown {film.speed}; {film.renderer_note}. "
        "Green: contact established. Arrows: normal forces on the object."
    )


def shown_folder(folder: Path) -> str:
    """A folder as a command line names it: from where the page was written, or by its own name."""
    whole, here = folder.resolve(), Path.cwd().resolve()
    inside = whole != here and whole.is_relative_to(here)
    return shlex.quote(whole.relative_to(here).as_posix() if inside else whole.name)


def templates() -> Environment:
    """The pages' templates."""
    from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

    return Environment(
        loader=PackageLoader("softgrasp.report"),
        autoescape=select_autoescape(["html", "j2"]),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _silent(file: str, done: float) -> None:
    """Tell nobody."""
