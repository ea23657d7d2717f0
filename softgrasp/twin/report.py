"""HTML reports and figures of a twin's record, and of the twin's accuracy.

``write_twin_report`` shows pressure, curvature, tips and the timing of the loop of a record.
``write_accuracy`` shows the tip error of an ``AccuracyStudy``: tables, the fit, and images with
picks.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from softgrasp._version import __version__
from softgrasp.continuum.statics import joint_positions
from softgrasp.errors import ResultError
from softgrasp.io.files import write_text
from softgrasp.io.tables import with_numbers
from softgrasp.mechanics.transforms import Array
from softgrasp.report import style
from softgrasp.report.formatting import signed
from softgrasp.report.grasp_report import NO_IMAGES, embedded, embedded_image, templates
from softgrasp.twin.accuracy import LIMIT, PAPER, AccuracyStudy, Sample
from softgrasp.twin.files import PieceAngles, save_piece_angles, save_pressure_fit
from softgrasp.twin.finger_pieces import TwinShape
from softgrasp.twin.piecewise_bending import KPA, angles_at
from softgrasp.twin.point_picking import pick_overlay
from softgrasp.twin.record import TwinRecord, replayed
from softgrasp.twin.viewer import FPS, SIZE, TwinCamera, record_twin_video

if TYPE_CHECKING:
    from matplotlib.axes import Axes


REPORT, IMAGE, VIDEO, PRESSURE, TIPS, TIMING = (
    "report.html", "twin.png", "twin.mp4", "pressure.png", "tips.png", "timing.png",
)  # fmt: skip
MAX_EVENTS = 200
"""Largest number of events in the report; all are in the record."""
HEIGHT = 2.8
MARGINS, GAPS = (0.75, 0.2, 0.5, 0.3), (0.7, 0.4)
SHORTEST = 0.01
"""Smallest time on a logarithmic axis [ms]."""
TABLE, ANGLES, FIT, FIGURE, CURVES, ACCURACY_REPORT = (
    "accuracy.csv", "angles.csv", "fit.yaml", "shapes.png", "fit.png", "report.html",
)  # fmt: skip
WRITTEN = (TABLE, ANGLES, FIT, FIGURE, "shapes.csv", CURVES, "fit.csv", ACCURACY_REPORT)
"""All written files, in this order."""
MILLIMETRES = 1e3
LETTERS = 0.046
"""Height of letters in small images over their width [–]."""
CURVE = 200
"""Points of a fitted curve."""
SIMULATED = (
    "The finger is simulated, not measured: a chain of {links} links in MuJoCo whose stiffness "
    "varies within every piece, which sags under its weight and whose moment is not a polynomial "
    "of the pressure. The paper's numbers are of a real finger and motion capture, so they are "
    "shown for orientation only."
)

# Record of a twin


Rows = Sequence[dict[str, Any]]


class Seen(NamedTuple):
    """State of a recorded run at one time."""

    time: float
    """Time since the first cycle [s]."""
    shape: TwinShape
    joints: Array | None


def seen_at(record: TwinRecord, time: float | None = None) -> Seen:
    """Return the last row with a shape at or before a time; default: the end.

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
        ResultError: The directory cannot be written.
    """
    written: list[Path] = []
    caption, video_file = "", None
    try:
        seen = seen_at(record, at)
    except ResultError:
        if at is not None:
            raise
        seen = None  # a run without any shape still has figures
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
            ("Pressure and curvature", draw_pressures(record.rows, directory / PRESSURE)),
            ("Tips", draw_tips(record.rows, directory / TIPS)),
            ("Timing of the loop", draw_timing(record.rows, directory / TIMING)),
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
    """Return states at equidistant times; the last shape stays where readings are missing."""
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


def _events(record: TwinRecord) -> list[tuple[str, str]]:
    events = [(f"{row['time']:.2f} s", str(row["events"])) for row in record.rows if row["events"]]
    return events[-MAX_EVENTS:]


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
    rate = (len(record.rows) - 1) / max(record.rows[-1]["time"] - record.rows[0]["time"], 1e-9)
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


def draw_pressures(rows: Rows, path: Path) -> Path:
    """Draw the measured pressure, the active targets, and the curvatures.

    Raises:
        ResultError: The file cannot be written.
    """
    time = column(rows, "time")
    with style.figure(path, HEIGHT) as (figure, table):
        grid = style.panels(figure, 1, 2, margins=MARGINS, gaps=GAPS)
        left, right = figure.add_subplot(grid[0, 0]), figure.add_subplot(grid[0, 1])
        for sign, color in (("positive", style.SERIES[1]), ("negative", style.SERIES[4])):
            target = KPA * column(rows, f"{sign}_target")
            target[column(rows, f"{sign}_on") != 1.0] = np.nan
            if np.isfinite(target).any():
                label = f"{sign} target"
                table.plot(left, time, target, f"{label} [kPa]", color=color, ls="--", label=label)
        table.plot(left, time, KPA * column(rows, "pressure"), "measured pressure [kPa]",
                   color=style.SERIES[0], label="measured")  # fmt: skip
        left.set_title("pressure in the fingers [kPa]")
        for number, color in zip(_counted(rows, "curvature"), cycle(style.SERIES), strict=False):
            values = column(rows, f"curvature_{number}")
            label = f"piece {number}"
            table.plot(right, time, values, f"{label} curvature [1/m]", color=color, label=label)
        right.set_title("curvature [1/m]")
        _finish(figure, (left, right), time)
    return path


def _counted(rows: Rows, name: str) -> list[int]:
    """Return the numbers k of the columns ``name_k`` of any row."""
    keys = {key for row in rows for key in row if key.startswith(f"{name}_")}
    return sorted(int(key.rsplit("_", 1)[1]) for key in keys)


def _finish(figure: Any, panels: Sequence[Any], time: Array) -> None:
    for axes in panels:
        style.time_limits(axes, time)
        axes.legend(loc="best")
    style.edge_labels(figure)


def draw_tips(rows: Rows, path: Path) -> Path:
    """Draw the first finger's tip, and the distance of MuJoCo's tips from those of the arcs.

    Raises:
        ResultError: The file cannot be written.
    """
    time = column(rows, "time")
    with style.figure(path, HEIGHT) as (figure, table):
        settled = any("settled_tip1_x" in row for row in rows)
        grid = style.panels(figure, 1, 2 if settled else 1, margins=MARGINS, gaps=GAPS)
        panels = [figure.add_subplot(grid[0, k]) for k in range(2 if settled else 1)]
        for axis, color in zip("xyz", style.AXES_COLORS, strict=True):
            values = column(rows, f"tip1_{axis}")
            table.plot(panels[0], time, values, f"tip 1 {axis} [m]", color=color, label=axis)
        panels[0].set_title("tip of finger 1, base frame of the robot [m]")
        if settled:
            styles = zip(_fingers(rows), cycle(style.SERIES), cycle(style.DASHES), strict=False)
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
        _finish(figure, panels, time)
    return path


def _fingers(rows: Rows) -> list[int]:
    keys = {key for row in rows for key in row if key.startswith("settled_tip")}
    return sorted({int(key[len("settled_tip") :].split("_")[0]) for key in keys})


def draw_timing(rows: Rows, path: Path) -> Path:
    """Draw the latency of answers and the lateness of cycles.

    Raises:
        ResultError: The file cannot be written.
    """
    time = column(rows, "time")
    with style.figure(path, HEIGHT) as (figure, table):
        grid = style.panels(figure, 1, 2, margins=MARGINS, gaps=GAPS)
        left, right = figure.add_subplot(grid[0, 0]), figure.add_subplot(grid[0, 1])
        styles = (
            ("latency", "answer time of the controller", 0),
            ("lateness", "lateness of a cycle", 1),
        )
        for name, label, color in styles:
            values = 1e3 * column(rows, name)
            table.plot(left, time, values, f"{name} [ms]", ls="", marker=".", markersize=2.5,
                       color=style.SERIES[color], label=label)  # fmt: skip
            ordered = np.sort(values).clip(SHORTEST)
            fractions = np.arange(1, len(ordered) + 1) / len(ordered)
            table.plot(right, ordered, 100.0 * fractions, f"cycles within that {name} [%]",
                       f"{name}, sorted [ms]", color=style.SERIES[color], label=label)  # fmt: skip
        left.set_title("time [ms]")
        left.set_xlabel("time [s]")
        right.set_title("cycles within that time [%]")
        right.set_xlabel("[ms]")
        right.set_xscale("log")
        right.xaxis.set_major_formatter("{x:g}")
        style.time_limits(left, time)
        left.legend(loc="upper right", markerscale=4.0, framealpha=0.9)
    return path


# Accuracy of a twin


def write_accuracy(
    study: AccuracyStudy, directory: str | Path, *, report: bool = True
) -> list[Path]:
    """Write the tables and the fit, and optionally figures and HTML report; return the paths.

    Raises:
        ResultError: The directory cannot be written.
    """
    target_directory = Path(directory)
    picked = np.array([sample.measured.angles for sample in study.samples])
    files = [
        write_text(target_directory / TABLE, accuracy_table(study)),
        save_piece_angles(
            PieceAngles(study.pressures, picked),
            target_directory / ANGLES,
            remarks="Picked in synthetic images of a simulated finger.",
        ),
        save_pressure_fit(study.report.fit, target_directory / FIT),
    ]
    if not report:
        return files
    figure = draw_accuracy(study, target_directory / FIGURE)
    curves = draw_fit(study, target_directory / CURVES)
    report_file = write_text(target_directory / ACCURACY_REPORT, _html(study, figure, curves))
    return [*files, *with_numbers([figure, curves]), report_file]


def _html(study: AccuracyStudy, figure: Path, curves: Path) -> str:
    shown = [
        ("Images and shapes", embedded_image(figure), error_clause(study),
         "Above: synthetic images with the picks, reference line blue, chords green, angles "
         "in degrees. Below: the constant-curvature model over the true axis."),
        ("Angles, fit and error", embedded_image(curves), angle_clause(study),
         "Angles of each piece against pressure; below, the error at every pressure. Dotted: the "
         "upper bound of 4 % stated in the paper."),
    ]  # fmt: skip
    return templates().get_template("accuracy.html.j2").render(
        version=__version__,
        title="Accuracy of the twin's tip",
        summary=summary(study),
        rows=table_rows(study),
        shown=shown,
        properties=_rows(study),
    )  # fmt: skip


def _rows(study: AccuracyStudy) -> list[tuple[str, str]]:
    low, high = (1e-3 * float(end(study.pressures)) for end in (np.min, np.max))
    drawn = sum(sample.image is not None for sample in study.samples)
    how = "two picks per cut, at both edges" if study.protocol == "edges" else "one pick per cut"
    lengths = ", ".join(f"{1e3 * length:g}" for length in study.reference.lengths)
    return [
        ("Finger", f"simulated, {len(study.reference.finger.links)} links"),
        ("Pieces", f"{lengths} mm"),
        ("Samples", f"{len(study.samples)}, from {signed(low, 0)} to {signed(high, 0)} kPa"),
        ("Images drawn", str(drawn)),
        ("Picks", how),
        ("Seed", str(study.seed)),
    ]


def accuracy_table(study: AccuracyStudy) -> str:
    """Format E and both tips at every pressure as CSV, with E of Xiang et al.'s table."""
    stream = io.StringIO()
    stream.writelines(f"# {line}\n" for line in _remarks(study))
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(
        ["pressure_kpa", "error_percent", "paper_error_percent",
         "model_x_mm", "model_z_mm", "true_x_mm", "true_z_mm"]
    )  # fmt: skip
    rows = zip(
        study.pressures.tolist(),
        study.errors.tolist(),
        (1e3 * study.model_tips[:, ::2]).tolist(),
        (1e3 * study.true_tips[:, ::2]).tolist(),
        strict=True,
    )
    for pressure, error, model, true in rows:
        paper = f"{100 * PAPER[pressure]:g}" if pressure in PAPER else ""
        numbers = [f"{value:.4f}" for value in (*model, *true)]
        writer.writerow([f"{1e-3 * pressure:g}", f"{100 * error:.4f}", paper, *numbers])
    return stream.getvalue()


def _remarks(study: AccuracyStudy) -> list[str]:
    return [
        f"E of the tip against a SIMULATED finger; protocol {study.protocol}, seed {study.seed}.",
        "paper_error_percent is of a real finger (Xiang et al., Table I).",
    ]


def shown_samples(study: AccuracyStudy) -> list[tuple[Sample, float]]:
    """Return the samples at the pressures of Xiang et al.'s table, with E at each."""
    pairs = zip(study.samples, study.errors.tolist(), strict=True)
    return [(sample, error) for sample, error in pairs if sample.pressure in PAPER]


def draw_accuracy(study: AccuracyStudy, path: str | Path) -> Path:
    """Draw the images with their picks, and below the fitted shape over the true one."""
    shown = shown_samples(study)
    with style.figure(path, 5.35) as (figure, table):
        grid = style.panels(figure, 2, len(shown), margins=(0.6, 0.1, 0.5, 0.6), gaps=(0.12, 0.32))
        for column, (sample, error) in enumerate(shown):
            axes = figure.add_subplot(grid[0, column])
            if sample.image is not None:
                drawn = pick_overlay(sample.image, sample.measured, letters=LETTERS, sigmas=False)
                axes.imshow(drawn, aspect="equal")
            else:
                axes.text(0.5, 0.5, "no image drawn", ha="center", transform=axes.transAxes)
            axes.axis("off")
            axes.set_title(f"{_kpa(sample.pressure)} kPa", pad=6)
            below = figure.add_subplot(grid[1, column])
            true, model = _draw_shapes(below, study, sample)
            for kind, points in (("true", true), ("model", model)):
                table.add_points(f"{_kpa(sample.pressure)} kPa {kind}", "xz", "mm", points)
            paper = 100.0 * PAPER[sample.pressure]
            below.set_title(f"E {100.0 * error:.2f} %  (paper {paper:.1f} %)")
            if column:
                below.tick_params(labelleft=False)
        handles, _ = figure.axes[1].get_legend_handles_labels()
        style.legend(figure, handles)
        style.edge_labels(figure, x="along the straight finger [mm]")
        height = figure.get_size_inches()[1]
        figure.text(
            0.08 / style.WIDTH,
            1.45 / height,
            "up [mm]",
            ha="left",
            va="center",
            rotation="vertical",
        )
    return Path(path)


def _kpa(pressure: float) -> str:
    return signed(1e-3 * pressure, 0)


def _draw_shapes(axes: Axes, study: AccuracyStudy, sample: Sample) -> tuple[Array, Array]:
    """Draw the finger's true axis and the model's; return both, (n, 2) and (m, 2) [mm]."""
    angles = sample.shape.joint_angles
    points = joint_positions(study.reference.finger, angles)[:, ::2]
    true = MILLIMETRES * np.vstack([[0.0, 0.0], points])
    model = MILLIMETRES * study.model_shape(sample.pressure, points=12)[:, ::2]
    axes.plot(*true.T, color=style.INK, lw=4.0, alpha=0.35, label="true: chain in MuJoCo")
    axes.plot(*model.T, color=style.TARGET, lw=1.4, label="constant curvatures from the fit")
    cuts = model[::12]
    axes.plot(*cuts.T, "o", color=style.TARGET, ms=3.5)
    axes.plot(*true[-1], "x", color=style.INK, ms=6, label="true tip")
    axes.set_aspect("equal")
    axes.set_xlim(-4.0, 62.0)
    axes.set_ylim(-36.0, 24.0)
    return true, model


def draw_fit(study: AccuracyStudy, path: str | Path) -> Path:
    """Draw picked angles, true ones and the fit, one panel per piece, and the error below."""
    pressures = study.pressures
    pieces, over = len(study.reference.lengths), "pressure [kPa]"
    picked = np.degrees([sample.measured.angles for sample in study.samples])
    sigmas = np.degrees([sample.measured.sigmas for sample in study.samples])
    along = np.linspace(pressures.min(), pressures.max(), CURVE)
    fitted, true = np.degrees(angles_at(study.report.fit, along)), np.degrees(study.true_angles)
    with style.figure(path, 5.6) as (figure, table):
        grid = style.panels(figure, 2, pieces, margins=(0.6, 0.1, 0.5, 0.6), gaps=(0.35, 0.6))
        for piece in range(pieces):
            axes = figure.add_subplot(grid[0, piece])
            name = f"piece {piece + 1}"
            table.add({over: 1e-3 * pressures, f"{name} picked [°]": picked[:, piece],
                       f"{name} standard error [°]": sigmas[:, piece]})  # fmt: skip
            axes.errorbar(
                1e-3 * pressures, picked[:, piece], sigmas[:, piece], fmt=".", ms=3, lw=0.6,
                color=style.SERIES[0], label="picked, ± 1 σ",
            )  # fmt: skip
            table.plot(axes, 1e-3 * pressures, true[:, piece], f"{name} true [°]", over,
                       color=style.INK, lw=1.0, label="true")  # fmt: skip
            table.plot(axes, 1e-3 * along, fitted[:, piece], f"{name} fit [°]",
                       "pressure of the fit [kPa]", color=style.TARGET, ls="--",
                       label="cubic fit")  # fmt: skip
            axes.set_title(f"piece {piece + 1} [°]")
        errors = figure.add_subplot(grid[1, :])
        table.plot(errors, 1e-3 * pressures, 100.0 * study.errors, "E [%]", over, marker=".",
                   color=style.POSITION, label="tip error E, simulated finger")  # fmt: skip
        table.plot(
            errors, [1e-3 * pressure for pressure in PAPER],
            [100.0 * value for value in PAPER.values()], "E of Xiang et al. (2024) [%]",
            "pressure of Xiang et al. (2024) [kPa]", ls="", marker="s", color=style.LOST, ms=5,
            label="E of Xiang et al. (2024), real finger",
        )  # fmt: skip
        errors.axhline(100.0 * LIMIT, color=style.MUTED, lw=0.8, ls=":")
        errors.set_ylim(0.0, 1.08 * 100.0 * LIMIT)
        errors.set_title("E = distance of the tips over the finger's length [%]")
        handles, _ = figure.axes[0].get_legend_handles_labels()
        more, _ = errors.get_legend_handles_labels()
        style.legend(figure, [*handles, *more])
        style.edge_labels(figure, x=over)
    return Path(path)


def summary(study: AccuracyStudy) -> str:
    """Summarise the result in two sentences."""
    errors = 100.0 * study.errors
    worst = int(np.argmax(errors))
    where = signed(1e-3 * float(study.pressures[worst]), 0)
    verdict = "below" if errors[worst] < 100.0 * LIMIT else "NOT below"
    return (
        f"Over {len(errors)} pressures the tip of the model is at most {errors[worst]:.2f} % of "
        f"the finger's length from the true one (at {where} kPa), {verdict} the {100 * LIMIT:g} % "
        "of the paper. " + simulated_clause(study)
    )


def simulated_clause(study: AccuracyStudy) -> str:
    """State that the reference is simulated, and how."""
    return SIMULATED.format(links=len(study.reference.finger.links))


def error_clause(study: AccuracyStudy) -> str:
    """Describe E at the pressures of Xiang et al.'s table."""
    text = ", ".join(f"{error} % at {pressure} kPa" for pressure, error, _ in table_rows(study))
    return f"E is {text}."


def angle_clause(study: AccuracyStudy) -> str:
    """State the errors of picked and fitted angles."""
    picked = np.array([sample.measured.angles for sample in study.samples]) - study.true_angles
    fitted = angles_at(study.report.fit, study.pressures) - study.true_angles
    rms = np.degrees(np.sqrt((picked**2).mean()))
    smooth = np.degrees(np.sqrt((fitted**2).mean()))
    largest_error = np.degrees(np.abs(picked).max())
    return (
        f"Picked angles are off by {rms:.2f}° rms and {largest_error:.2f}° at most, fitted ones by "
        f"{smooth:.2f}° rms."
    )


def table_rows(study: AccuracyStudy) -> list[list[str]]:
    """Return pressure [kPa], E [%] and published E [%] at the pressures of the paper's table."""
    rows = []
    for pressure, error in zip(study.pressures.tolist(), study.errors.tolist(), strict=True):
        if pressure in PAPER:
            cells = [signed(1e-3 * pressure, 0), f"{100 * error:.2f}", f"{100 * PAPER[pressure]:g}"]
            rows.append(cells)
    return rows
