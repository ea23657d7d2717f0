"""The page of a twin's record: words, pictures, figures and events."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from softgrasp._version import __version__
from softgrasp.errors import ResultError
from softgrasp.formats.atomic import write_text
from softgrasp.mechanics.piece_bends import KPA
from softgrasp.mechanics.transforms import Array
from softgrasp.mechanics.twin_shape import TwinShape
from softgrasp.render.twin_picture import FPS, SIZE, TwinCamera, record_twin_video
from softgrasp.report import twin_figures as figures
from softgrasp.report.grasp_page import NO_IMAGES, embedded, embedded_image, templates
from softgrasp.report.style import signed
from softgrasp.report.twin_figures import column
from softgrasp.twin.record import TwinRecord
from softgrasp.twin.replay import replayed

REPORT, IMAGE, VIDEO, PRESSURE, TIPS, PACE = (
    "report.html", "twin.png", "twin.mp4", "pressure.png", "tips.png", "pace.png",
)  # fmt: skip
MAX_EVENTS = 200
"""Of the page; all are in the record."""


class Seen(NamedTuple):
    """An instant of a record, and how it looks."""

    time: float
    """Since the first turn [s]."""
    shape: TwinShape
    joints: Array | None


def seen_at(record: TwinRecord, time: float | None = None) -> Seen:
    """The last row with a shape at or before a time; that of the end where none is given.

    Raises:
        ResultError: No row up to then has a shape.
    """
    for row in reversed(record.rows):
        if time is not None and row["time"] > time + 1e-9:
            continue
        shape_and_joints = replayed(record.twin, row)
        if shape_and_joints is not None:
            return Seen(float(row["time"]), *shape_and_joints)
    when = "in the record" if time is None else f"up to {time:g} s"
    raise ResultError(f"expected a row with a reading and a pose {when}, found none")


def write_twin_report(
    record: TwinRecord,
    directory: Path,
    *,
    at: float | None = None,
    renderer: str = "auto",
    video: bool = False,
    progress: Callable[[float], None] | None = None,
) -> list[Path]:
    """Write the picture of an instant, the figures, the film and the page of a record.

    Args:
        record: The record.
        directory: Where to.
        at: The instant of the picture [s]; that of the end where none is given.
        renderer: ``auto``, ``gl``, ``raycast``, or ``none`` for no picture.
        video: Whether to make a film, as fast as it was.
        progress: Called with the part of the film that is done.

    Raises:
        BackendUnavailable: The renderer that was asked for is not there.
        ResultError: The folder cannot be written.
    """
    written: list[Path] = []
    caption, video_file = "", None
    try:
        seen = seen_at(record, at)
    except ResultError:
        if at is not None:
            raise
        seen = None  # a run without any shape has figures of what there was
    if seen is not None and renderer != NO_IMAGES:
        with TwinCamera(record.twin, renderer) as camera:
            written.append(camera.write(seen.shape, seen.joints, directory / IMAGE))
            bend = np.degrees(seen.shape.bend)
            caption = f"At {seen.time:.2f} s; each finger bent by {bend:.1f}°; {camera.note}."
            if video:
                video_file = record_twin_video(
                    camera, _video_frames(record), directory / VIDEO, progress
                )
    drawn = (
        []
        if not record.rows
        else [
            ("Pressure and curvature", figures.draw_pressures(record.rows, directory / PRESSURE)),
            ("Tips", figures.draw_tips(record.rows, directory / TIPS)),
            ("Pace of the loop", figures.draw_pace(record.rows, directory / PACE)),
        ]
    )
    html = templates().get_template("twin.html.j2").render(
        version=__version__,
        title=f"Record of the twin '{record.twin.name}'",
        summary=twin_words(record),
        image=embedded_image(written[0]) if written else None,
        video=embedded(video_file, "video/mp4") if video_file else "",
        aspect=f"{SIZE[0]} / {SIZE[1]}",
        caption=caption,
        keys=key_numbers(record),
        shown=[(title, embedded_image(path)) for title, path in drawn],
        events=_events(record),
        source=record.twin.source,
    )  # fmt: skip
    written += [path for _, path in drawn] + ([video_file] if video_file else [])
    return [*written, write_text(directory / REPORT, html)]


def _video_frames(record: TwinRecord) -> list[tuple[TwinShape, Array | None, str]]:
    """What is seen at even instants; where nothing was read, the last shape stays."""
    rows = [(float(row["time"]), row, replayed(record.twin, row)) for row in record.rows]
    frames: list[tuple[TwinShape, Array | None, str]] = []
    last, at = None, 0
    for instant in np.arange(0.0, rows[-1][0] + 1e-9, 1.0 / FPS).tolist():
        while at < len(rows) and rows[at][0] <= instant + 1e-9:
            last = rows[at] if rows[at][2] is not None else last
            at += 1
        if last is not None and last[2] is not None:
            label = f"{instant:.2f} s   {KPA * float(last[1]['pressure']):.0f} kPa"
            frames.append((*last[2], label))
    return frames


def twin_words(record: TwinRecord) -> str:
    """What happened, in sentences computed from the rows."""
    rows = record.rows
    if not rows:
        return "Nothing was recorded."
    connected = sum(bool(row["connected"]) for row in rows)
    text = f"{len(rows)} turns in {rows[-1]['time']:.1f} s; {connected} with a reading."
    pressure = column(rows, "pressure")
    if np.isfinite(pressure).any():
        text += (
            f" The pressure went from {signed(KPA * np.nanmin(pressure), 1)} to "
            f"{signed(KPA * np.nanmax(pressure), 1)} kPa."
        )
    missed = sum(int(row["missed"]) for row in rows)
    if missed:
        text += f" {missed} turns could not begin in time."
    lost = sum("is lost" in str(row["events"]) for row in rows)
    if lost:
        text += f" The connection was lost {lost} times." if lost > 1 else " It was lost once."
    return text + (" The last row was cut off." if record.broken else "")


def key_numbers(record: TwinRecord) -> list[tuple[str, str]]:
    """Rate, latency and jitter of the loop."""
    rows = [row for row in record.rows if row["connected"]]
    if len(rows) < 2:
        return []
    latency, lateness = (1e3 * column(rows, name) for name in ("latency", "lateness"))
    rate = (len(record.rows) - 1) / max(record.rows[-1]["time"] - record.rows[0]["time"], 1e-9)
    return [
        ("turns a second", f"{rate:.1f} of {record.twin.rate:g} wanted"),
        ("answer", f"median {np.median(latency):.1f} ms, 99 % within "
         f"{np.percentile(latency, 99):.1f} ms"),
        ("turn late by", f"median {np.median(lateness):.2f} ms, 99 % within "
         f"{np.percentile(lateness, 99):.1f} ms"),
    ]  # fmt: skip


def _events(record: TwinRecord) -> list[tuple[str, str]]:
    events = [(f"{row['time']:.2f} s", str(row["events"])) for row in record.rows if row["events"]]
    return events[-MAX_EVENTS:]
