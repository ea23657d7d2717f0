"""The report of a run: its files, its figures, its film and one page that holds them all."""

from __future__ import annotations

import base64
import io
import shlex
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from softgrasp._version import __version__
from softgrasp.io.files import write_text
from softgrasp.rendering.keyframes import key_frames
from softgrasp.rendering.video import Image, VideoInfo, render_video
from softgrasp.report import grasp_tables, grasp_text
from softgrasp.report.contact_figures import (
    draw_contacts,
    draw_pulls,
    draw_quality,
    draw_sensors,
    draw_strip,
    draw_tactile,
    strip_images,
    tactile_readings,
)
from softgrasp.report.grasp_text import (
    hold_clause,
    quality_clause,
    quality_rows,
    sensor_clause,
    sensor_rows,
)
from softgrasp.report.style import WIDTH
from softgrasp.report.time_series import draw_joints, draw_object, write_numbers
from softgrasp.sim.result import GraspResult, GraspStatus

if TYPE_CHECKING:
    from jinja2 import Environment


VIDEO, CONTACTS, JOINTS, OBJECT, SENSORS, TACTILE, PULLS, QUALITY, STRIP, REPORT = (
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
NO_IMAGES = "none"
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
    directory: str | Path,
    *,
    renderer: str = "auto",
    video: bool = True,
    report: bool = True,
    progress: Progress | None = None,
) -> list[Path]:
    """Write a run with its figures, its film and a page that shows them without a network.

    Args:
        result: The run.
        directory: Where to; it is made when it is missing.
        renderer: ``auto``, ``gl``, ``raycast``, or ``none`` for no film and no strip.
        video: Whether to make the film.
        report: Whether to draw the figures and write the page.
        progress: Called with what is being written and how far it is.

    Returns:
        The files, in the order in which they were written: ``result.json``,
        ``trajectory.npz``, figures, each followed by its numbers in CSV, film, page.

    Raises:
        BackendUnavailable: The renderer that was asked for, or ffmpeg, is not there.
        ResultError: The folder cannot be written.
    """
    directory, update = Path(directory), progress or _silent
    written = result.save(directory)
    drawn: list[Future[list[Path]]] = []
    video_info = None
    # the pictures are drawn by the engine, the figures by matplotlib: one core each
    with ThreadPoolExecutor(max_workers=1) as beside:
        drawing = renderer != NO_IMAGES
        images = strip_images(result, renderer=renderer) if report and drawing else []
        if report:
            drawn.append(beside.submit(_write_figures, result, directory, update))
        if images:
            drawn.append(beside.submit(_write_strip, result, directory, images, update))
        if video and drawing:
            video_info = render_video(
                result,
                directory / VIDEO,
                renderer=renderer,
                progress=lambda done: update(VIDEO, done),
            )
    written += [path for paths in drawn for path in paths.result()]
    if video_info is not None:
        written.append(video_info.path)
    if report:
        written.append(write_text(directory / REPORT, report_html(result, written, video_info)))
        update(REPORT, 1.0)
    return written


def report_html(result: GraspResult, files: Sequence[Path], video_info: VideoInfo | None) -> str:
    """The page as HTML that needs no other file.

    Args:
        result: The run.
        files: Its files, of which the pictures go into the page.
        video_info: The film, where there is one.
    """
    images = {path.stem: embedded_image(path) for path in files if path.suffix == ".png"}
    template = templates().get_template("report.html.j2")
    return template.render(
        directory=displayed_path(files[0].parent),
        images=images,
        video=embedded(video_info.path, "video/mp4") if video_info else "",
        video_note=_video_note(video_info) if video_info else "",
        strip_alt="; ".join(f"{time:.3f} s {text}" for time, text in key_frames(result)),
        **_content(result, video_info),
    )


def _content(result: GraspResult, video_info: VideoInfo | None) -> dict[str, object]:
    """Everything on the page but the pictures."""
    return {
        "version": __version__,
        "title": _title(result),
        "verdict": grasp_text.verdict(result),
        "summary": grasp_text.summary(result),
        "advice": _sentence(result.message) if result.status is GraspStatus.DIVERGED else "",
        "keys": grasp_tables.key_numbers(result),
        "force_clause": grasp_text.force_clause(result),
        "motion_clause": grasp_text.motion_clause(result),
        "hold_clause": hold_clause(result),
        "directions": grasp_tables.direction_rows(result),
        "pulls": grasp_tables.pull_rows(result),
        "quality_clause": quality_clause(result),
        "qualities": quality_rows(result),
        "joint_clause": grasp_text.joint_clause(result),
        "several": len(result.objects) > 1,
        "others_clause": grasp_text.others_clause(result),
        "support_clause": grasp_text.support_clause(result),
        "other_contacts": grasp_tables.other_rows(result),
        "sensor_clause": sensor_clause(result),
        "sensors": sensor_rows(result),
        "bodies": grasp_tables.body_rows(result),
        "untouched": grasp_tables.untouched(result),
        "pairs": grasp_tables.pair_rows(result),
        "stiffness_verdict": grasp_tables.stiffness_verdict(result),
        "requested_contact": grasp_tables.contact_text(result.contact_model.asked),
        "contact_used": grasp_tables.contact_text(result.contact_model.used),
        "properties": grasp_tables.scene_properties(result),
        "warnings": [*result.warnings, *result.scene.hand.notes],
        "events": grasp_tables.event_rows(result),
        "provenance": grasp_tables.provenance(
            result, video_info.renderer_note if video_info else ""
        ),
    }


def _write_figures(result: GraspResult, directory: Path, update: Progress) -> list[Path]:
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
        drawn = draw(result, directory / name)
        write_numbers(result, drawn)
        written += [drawn, drawn.with_suffix(".csv")]
        update(name, 1.0)
    return written


def _write_strip(
    result: GraspResult, directory: Path, images: Sequence[Image], update: Progress
) -> list[Path]:
    written = draw_strip(result, directory / STRIP, images)
    update(STRIP, 1.0)
    return [written]


def _title(result: GraspResult) -> str:
    scene = result.scene
    name = f"{scene.name}: " if scene.name else ""
    return f"{name}{scene.hand.name} grasps {scene.object.name}"


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


def _video_note(video_info: VideoInfo) -> str:
    return (
        f"{video_info.frames / video_info.fps:.1f} s; the closing is shown {video_info.speed}; {video_info.renderer_note}. "
        "Green: contact established. Arrows: normal forces on the object."
    )


def displayed_path(directory: Path) -> str:
    """A folder as a command line names it: from where the page was written, or by its own name."""
    whole, here = directory.resolve(), Path.cwd().resolve()
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


# --------------------
# Pictures and films as a page holds them: inside it, so that it needs no other file.


LARGE = 400_000
"""Bytes above which a PNG is a photograph or a drawing of the engine rather than of lines."""
JPEG_QUALITY = 90
"""Of WebP, of 100: a tenth of the PNG's size with no difference to be seen."""
EDGE = 0.95
"""Share of the page's width above which a picture fills it."""


class EmbeddedImage(NamedTuple):
    """A picture as a page holds it.

    Attributes:
        source: Its data URL.
        files: The files beside the page that hold it and its numbers.
        share: Its width over that of the page, at most 1, so that letters are alike in all figures.
    """

    source: str
    files: str
    fraction: float


def embedded_image(path: Path, *, smaller: int = 1) -> EmbeddedImage:
    """A PNG for a page: its data URL, its name, and that of its numbers where there are any.

    Args:
        path: The picture; the file keeps all its pixels, the page has photographs as WebP.
        smaller: Its width over the width on the page. For pages with so many figures that they
            would be too large to send.
    """
    from PIL import Image

    numbers = path.with_suffix(".csv")
    files = f"{path.name}, {numbers.name}" if numbers.exists() else path.name
    content, kind = path.read_bytes(), "image/png"
    with Image.open(io.BytesIO(content)) as image:
        inch = image.info.get("dpi", (image.width / WIDTH,))[0]
        width_fraction = image.width / inch / WIDTH
        stream = io.BytesIO()
        if smaller > 1:
            image.convert("RGB").reduce(smaller).save(stream, "PNG")
            content = stream.getvalue()
        elif len(content) > LARGE:
            image.convert("RGB").save(stream, "WEBP", quality=JPEG_QUALITY)
            content, kind = stream.getvalue(), "image/webp"
    return EmbeddedImage(
        data_url(content, kind), files, width_fraction if width_fraction < EDGE else 1.0
    )


def embedded(path: Path, kind: str) -> str:
    """A file as a data URL."""
    return data_url(path.read_bytes(), kind)


def data_url(content: bytes, kind: str) -> str:
    """Bytes as a data URL."""
    return f"data:{kind};base64,{base64.b64encode(content).decode('ascii')}"
