"""HTML report and figures of a twin's record: pressure, curvature and tips."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np

from softgrasp import __version__
from softgrasp.errors import ResultError
from softgrasp.mechanics import Array
from softgrasp.plugin_api import embed, embed_image, templates, write_text
from softgrasp.rendering import playable_path
from softgrasp.report import signed, style
from softgrasp.twin.description import KPA
from softgrasp.twin.piecewise_bending import TwinShape
from softgrasp.twin.record import TwinRecord, replay
from softgrasp.twin.viewer import FPS, SIZE, TwinCamera, record_twin_video

REPORT, IMAGE, VIDEO, PRESSURE, TIPS = (
    "report.html", "twin.png", "twin.mp4", "pressure.png", "tips.png",
)  # fmt: skip
HEIGHT = 2.8
MARGINS, GAPS = (0.75, 0.2, 0.5, 0.3), (0.7, 0.4)
Rows = Sequence[dict[str, Any]]


def write_twin_report(
    record: TwinRecord,
    directory: Path,
    *,
    at: float | None = None,
    renderer: str = "auto",
    video: bool = False,
    progress: Callable[[float], None] | None = None,
) -> list[Path]:
    """Write the image of one time, the figures, the video and the HTML report of a record.

    Args:
        record: Record.
        directory: Output directory.
        at: Time of the image [s]; default: the end.
        renderer: ``auto``, ``gl``, ``raycast``, or ``none`` for no image.
        video: Whether to make a video, in real time.
        progress: Called with the completed fraction of the video.

    Raises:
        BackendUnavailable: The requested renderer is not available.
        ResultError: No row up to that time has a shape, or the directory cannot be written.
    """
    written: list[Path] = []
    caption, video_file = "", None
    rows = [row for row in record.rows if at is None or row["time"] <= at + 1e-9]
    replayed = ((row["time"], replay(record.twin, row)) for row in reversed(rows))
    time, seen = next((item for item in replayed if item[1] is not None), (0.0, None))
    if seen is None and at is not None:  # a run without any shape still has figures
        raise ResultError(f"expected a row with a reading and a pose up to {at:g} s, found none")
    if seen is not None and renderer != "none":
        shape, joints = seen
        with TwinCamera(record.twin, renderer) as camera:
            written.append(camera.write(shape, joints, directory / IMAGE))
            bend = np.degrees(shape.bend)
            caption = f"At {time:.2f} s; each finger bent by {bend:.1f}°; {camera.note}."
            if video:
                video_file = record_twin_video(
                    camera, _video_frames(record), playable_path(directory / VIDEO), progress
                )
    drawn: list[tuple[str, Path]] = []
    if record.rows:
        drawn = [
            ("Pressure and curvature", draw_pressures(record, directory / PRESSURE)),
            ("Tips", draw_tips(record, directory / TIPS)),
        ]
    events = [(f"{row['time']:.2f} s", row["events"]) for row in record.rows if row["events"]]
    html = templates().get_template("twin.html.j2").render(
        version=__version__,
        title=f"Record of the twin '{record.twin.name}'",
        summary=twin_words(record),
        image=embed_image(written[0]) if written else None,
        video=embed(video_file) if video_file else "",
        aspect=f"{SIZE[0]} / {SIZE[1]}",
        caption=caption,
        keys=key_numbers(record),
        shown=[(title, embed_image(path)) for title, path in drawn],
        events=events[-200:],
        source=record.twin.source,
    )  # fmt: skip
    written += [path for _, path in drawn] + ([video_file] if video_file else [])
    return [*written, write_text(directory / REPORT, html)]


def _video_frames(record: TwinRecord) -> list[tuple[TwinShape, Array | None, str]]:
    """Return states at equidistant times; the last shape stays where readings are missing."""
    rows = [(float(row["time"]), row, replay(record.twin, row)) for row in record.rows]
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
    """Describe a recorded run from its rows."""
    rows = record.rows
    if not rows:
        return "No cycle was recorded."
    connected = sum(bool(row["connected"]) for row in rows)
    text = f"{len(rows)} cycles in {rows[-1]['time']:.1f} s; {connected} with a reading."
    pressure = column(rows, "pressure")
    if np.isfinite(pressure).any():
        text += (
            f" Pressure from {signed(KPA * np.nanmin(pressure), 1)} to "
            f"{signed(KPA * np.nanmax(pressure), 1)} kPa."
        )
    missed = sum(int(row["missed"]) for row in rows)
    if missed:
        text += f" {missed} cycles were skipped."
    lost = sum("is lost" in str(row["events"]) for row in rows)
    if lost:
        text += f" The connection was lost {lost} times." if lost > 1 else " It was lost once."
    return text + (" The last row was cut off." if record.broken else "")


def key_numbers(record: TwinRecord) -> list[tuple[str, str]]:
    """Return rate, latency and lateness of the control loop."""
    rows = [row for row in record.rows if row["connected"]]
    if len(rows) < 2:
        return []
    latency, lateness = (1e3 * column(rows, name) for name in ("latency", "lateness"))
    # the row of the end comes after the stop, which is no cycle
    ended = str(record.rows[-1]["events"]).endswith("End.")
    cycles = record.rows[:-1] if ended else record.rows
    rate = (len(cycles) - 1) / max(cycles[-1]["time"] - cycles[0]["time"], 1e-9)
    return [
        ("Cycles per second", f"{rate:.1f} of {record.twin.rate:g}"),
        ("Answer time", f"median {np.median(latency):.1f} ms, 99 % within "
         f"{np.percentile(latency, 99):.1f} ms"),
        ("Lateness of a cycle", f"median {np.median(lateness):.2f} ms, 99 % within "
         f"{np.percentile(lateness, 99):.1f} ms"),
    ]  # fmt: skip


def column(rows: Rows, name: str) -> Array:
    """Return a column of a record as numbers, NaN where missing, (t,)."""
    return np.array([np.nan if row.get(name) is None else float(row[name]) for row in rows])


def draw_pressures(record: TwinRecord, path: Path) -> Path:
    """Draw the measured pressure, the active targets, and the curvatures.

    Raises:
        ResultError: The file cannot be written.
    """
    rows, time = record.rows, column(record.rows, "time")
    with _over_time(path, time, 2) as (table, (left, right)):
        for sign, color in (("positive", style.SERIES[1]), ("negative", style.SERIES[4])):
            target = KPA * column(rows, f"{sign}_target")
            target[column(rows, f"{sign}_on") != 1.0] = np.nan
            if np.isfinite(target).any():
                label = f"{sign} target"
                table.plot(left, time, target, f"{label} [kPa]", color=color, ls="--", label=label)
        table.plot(left, time, KPA * column(rows, "pressure"), "measured pressure [kPa]",
                   color=style.SERIES[0], label="measured")  # fmt: skip
        left.set_title("pressure in the fingers [kPa]")
        pieces = range(1, len(record.twin.finger.lengths) + 1)
        for number, color in zip(pieces, cycle(style.SERIES), strict=False):
            values, label = column(rows, f"curvature_{number}"), f"piece {number}"
            table.plot(right, time, values, f"{label} curvature [1/m]", color=color, label=label)
        right.set_title("curvature [1/m]")
    return path


@contextmanager
def _over_time(path: Path, time: Array, count: int) -> Iterator[tuple[style.Table, list[Any]]]:
    """Open a figure of panels over time, each with a legend."""
    with style.figure(path, HEIGHT) as (figure, table):
        grid = style.panels(figure, 1, count, margins=MARGINS, gaps=GAPS)
        panels = [figure.add_subplot(grid[0, column]) for column in range(count)]
        yield table, panels
        for axes in panels:
            style.time_limits(axes, time)
            axes.legend(loc="best")
        style.edge_labels(figure)


def draw_tips(record: TwinRecord, path: Path) -> Path:
    """Draw the first finger's tip, and the distance of MuJoCo's tips from those of the arcs.

    Raises:
        ResultError: The file cannot be written.
    """
    rows, time = record.rows, column(record.rows, "time")
    settled = any("settled_tip1_x" in row for row in rows)
    with _over_time(path, time, 1 + settled) as (table, panels):
        for axis, color in zip("xyz", style.AXES_COLORS, strict=True):
            values = column(rows, f"tip1_{axis}")
            table.plot(panels[0], time, values, f"tip 1 {axis} [m]", color=color, label=axis)
        panels[0].set_title("tip of finger 1, base frame of the robot [m]")
        if settled:
            fingers = range(1, len(record.twin.gripper.fingers) + 1)
            styles = zip(fingers, cycle(style.SERIES), cycle(style.DASHES), strict=False)
            for number, color, dashes in styles:
                away = [
                    column(rows, f"settled_tip{number}_{axis}")
                    - column(rows, f"tip{number}_{axis}")
                    for axis in "xyz"
                ]
                gap = 1e3 * np.linalg.norm(away, axis=0)
                name = f"finger {number} tip distance [mm]"
                table.plot(panels[1], time, gap, name, color=color, ls=dashes,
                           label=f"finger {number}")  # fmt: skip
            panels[1].set_title("distance of the tip in MuJoCo from the arcs [mm]")
    return path
