"""HTML report of a grasp simulation: result files, figures, video and one self-contained file.

``write_report`` is the entry point. Images and the video are embedded as data URLs, so the page
needs no other file and no network. Other reports (sweep, calibration, cross-engine validation)
use ``render_html`` and ``Figure`` from here.
"""

from __future__ import annotations

import base64
import io
import mimetypes
import shlex
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from softgrasp._version import __version__
from softgrasp.evaluation.result import GraspResult
from softgrasp.io.files import RESULT_FILE, TRAJECTORY_FILE, write_text
from softgrasp.io.tables import with_numbers
from softgrasp.rendering.encoding import playable_path
from softgrasp.rendering.keyframes import key_frames
from softgrasp.rendering.video import SIZE as VIDEO_SIZE
from softgrasp.rendering.video import VideoInfo, render_video
from softgrasp.rendering.viewpoint import Viewpoint
from softgrasp.report import grasp_tables, grasp_text
from softgrasp.report.contact_figures import (
    band_rows,
    draw_contacts,
    draw_ensemble,
    draw_quality,
    draw_sensors,
    draw_strip,
    draw_tactile,
    strip_images,
    tactile_readings,
)
from softgrasp.report.finger_figure import draw_finger_of, draw_pressure, slice_finger_of
from softgrasp.report.style import WIDTH
from softgrasp.report.time_series import draw_joints, draw_object

if TYPE_CHECKING:
    from jinja2 import Environment

    from softgrasp.sweeps.ensemble import EnsembleResult

VIDEO, STRIP, REPORT = "grasp.mp4", "strip.png", "report.html"
CONTACTS, JOINTS, OBJECT, QUALITY = "contacts.png", "joints.png", "object.png", "quality.png"
SENSORS, TACTILE, PRESSURE = "sensors.png", "tactile.png", "pressure.png"
FINGER = "finger.png"
ENSEMBLE, ENSEMBLE_RESULT = "ensemble_bands.png", "ensemble.json"
"""Files of a grasp with fingers of a posterior, besides those of the run."""
NO_IMAGES = "none"
"""Value of ``renderer`` that disables video and key frames."""

Draw = Callable[[GraspResult, Path], Path]
FIGURES: tuple[tuple[str, Draw, Callable[[GraspResult], bool]], ...] = (
    (CONTACTS, draw_contacts, lambda _: True),
    (JOINTS, draw_joints, lambda _: True),
    (OBJECT, draw_object, lambda _: True),
    (
        QUALITY,
        draw_quality,
        lambda run: run.quality_log is not None and len(run.quality_log.time) > 1,
    ),
    (SENSORS, draw_sensors, lambda run: bool(run.sensors)),
    (TACTILE, draw_tactile, lambda run: bool(tactile_readings(run))),
    (PRESSURE, draw_pressure, lambda run: run.pressure is not None),
    (FINGER, draw_finger_of, lambda run: slice_finger_of(run) is not None),
)
"""Figures, and whether a run has what they draw."""

Progress = Callable[[str, float], None]
"""Called with the name of the file in progress and the completed fraction, 0 to 1."""

LARGE = 400_000
"""PNG files larger than this [bytes] are photographs or renderings, not line drawings."""
EDGE = 0.95
"""Fraction of the page width above which an image fills it."""


class EmbeddedImage(NamedTuple):
    """An image embedded in an HTML report.

    Attributes:
        source: Data URL.
        files: Names of the image file and of its CSV table.
        fraction: Width over page width, at most 1, so that all figures have equal font sizes.
    """

    source: str
    files: str
    fraction: float


class Figure(NamedTuple):
    """An image of a report with its heading and caption."""

    title: str
    path: Path
    caption: str


def write_report(
    result: GraspResult,
    directory: str | Path,
    *,
    renderer: str = "auto",
    video: bool = True,
    report: bool = True,
    save: bool = True,
    progress: Progress | None = None,
    ensemble: EnsembleResult | None = None,
    video_size: tuple[int, int] = VIDEO_SIZE,
    viewpoint: Viewpoint | None = None,
) -> list[Path]:
    """Write result files, figures, video and a self-contained HTML report of a run.

    Args:
        result: The run.
        directory: Output directory; created if missing.
        renderer: ``auto``, ``gl``, ``raycast``, or ``none`` for no video and no key frames.
        video: Whether to write the video.
        report: Whether to write figures and HTML report.
        save: Whether to write ``result.json`` and ``trajectory.npz``; False where the run was read
            from this directory.
        progress: Called with the file in progress and the completed fraction.
        ensemble: The same grasp with fingers of a posterior, for a section of the report.
        video_size: Width and height of the video [px].
        viewpoint: Where the camera of video and key frames stands; automatic if None.

    Returns:
        The files in the order of writing: ``result.json``, ``trajectory.npz``, figures, each
        followed by its CSV table, video, HTML report.

    Raises:
        BackendUnavailable: The requested renderer, or ffmpeg, is not available.
        ResultError: The directory cannot be written.
    """
    directory, update = Path(directory), progress or (lambda _file, _done: None)
    numbers = [directory / RESULT_FILE, directory / TRAJECTORY_FILE]
    written = result.save(directory) if save else numbers
    drawing, video_info = renderer != NO_IMAGES, None

    def draw(name: str, draw_file: Draw) -> list[Path]:
        path = draw_file(result, directory / name)
        update(name, 1.0)
        return with_numbers([path])

    # images are rendered on this thread while matplotlib draws the figures on another
    with ThreadPoolExecutor(max_workers=1) as executor:
        images = strip_images(result, renderer, viewpoint) if report and drawing else []
        figures = [(name, item) for name, item, is_drawn in FIGURES if report and is_drawn(result)]
        if images:
            figures.append((STRIP, partial(draw_strip, images=images)))
        drawn = [executor.submit(draw, *figure) for figure in figures]
        if video and drawing:
            video_info = render_video(
                result,
                playable_path(directory / VIDEO),
                renderer=renderer,
                size=video_size,
                viewpoint=viewpoint,
                progress=lambda done: update(VIDEO, done),
            )
    written += [path for paths in drawn for path in paths.result()]
    if video_info is not None:
        written.append(video_info.path)
    if report and ensemble is not None:
        written += with_numbers([draw_ensemble(ensemble, directory / ENSEMBLE)])
    if report:
        html = report_html(result, written, video_info, ensemble)
        written.append(write_text(directory / REPORT, html))
        update(REPORT, 1.0)
    return written


def report_html(
    result: GraspResult,
    files: Sequence[Path],
    video_info: VideoInfo | None,
    ensemble: EnsembleResult | None = None,
) -> str:
    """Render the report as HTML that needs no other file, with the images among ``files``."""
    images = {path.stem: embed_image(path) for path in files if path.suffix == ".png"}
    scene = result.scene
    return render_html(
        "report.html.j2",
        directory=format_path(files[0].parent),
        images=images,
        video=embed(video_info.path) if video_info else "",
        video_caption=f"{video_info.frames / video_info.fps:.1f} s; closure {video_info.speed}; "
        f"{video_info.renderer_description}. Green: contact established. "
        "Arrows: normal forces on the object."
        if video_info
        else "",
        ensemble_sentence=ensemble.sentence if ensemble else "",
        ensemble_bands=band_rows(ensemble) if ensemble else [],
        strip_alt="; ".join(f"{time:.3f} s {text}" for time, text in key_frames(result)),
        title=f"{scene.name}: " * bool(scene.name)
        + f"{scene.hand.name} grasps {scene.object.name}",
        summary=grasp_text.summary(result),
        renderer_text=video_info.renderer_description if video_info else "",
        result=result,
        text=grasp_text,
        tables=grasp_tables,
    )


def templates() -> Environment:
    """Open the jinja2 environment with the templates of all reports."""
    from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

    return Environment(
        loader=PackageLoader("softgrasp.report"),
        autoescape=select_autoescape(["html", "j2"]),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def render_html(template: str, *, figures: Sequence[Figure] = (), **values: Any) -> str:
    """Render a page from a template, its figures (embedded), and the values that it names."""
    shown = [(figure.title, embed_image(figure.path), figure.caption) for figure in figures]
    values = {"version": __version__, "shown": shown} | values
    return templates().get_template(template).render(values)


def embed_image(path: Path, *, smaller: int = 1) -> EmbeddedImage:
    """Embed a PNG file, a large one as WebP, or reduced by an integer factor ``smaller``."""
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
            # a tenth of the size of the PNG without visible difference
            image.convert("RGB").save(stream, "WEBP", quality=90)
            content, kind = stream.getvalue(), "image/webp"
    fraction = width_fraction if width_fraction < EDGE else 1.0
    return EmbeddedImage(data_url(content, kind), files, fraction)


def embed(path: Path) -> str:
    """Encode a file as a data URL."""
    return data_url(path.read_bytes(), str(mimetypes.guess_type(path)[0]))


def data_url(content: bytes, kind: str) -> str:
    """Encode bytes as a data URL."""
    return f"data:{kind};base64,{base64.b64encode(content).decode('ascii')}"


def format_path(directory: Path) -> str:
    """Shell-quoted directory: relative to the working directory if inside it, else its name."""
    whole, here = directory.resolve(), Path.cwd().resolve()
    inside = whole != here and whole.is_relative_to(here)
    return shlex.quote(whole.relative_to(here).as_posix() if inside else whole.name)
