"""Figures and tables of Xiang et al. (2024): fits (Fig. 3c), poses (Fig. 5), accuracy (Table I)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from examples.paper001.accuracy import LIMIT, PAPER, AccuracyStudy, Sample
from examples.paper001.pieces import LENGTHS, ModelPose
from softgrasp.continuum.statics import joint_positions
from softgrasp.io.files import RESULT_FILE, write_text
from softgrasp.io.tables import with_numbers, write_columns
from softgrasp.mechanics.transforms import Array
from softgrasp.report import style
from softgrasp.report.style import signed
from softgrasp.twin.files import PieceAngles, save_piece_angles, save_pressure_fit
from softgrasp.twin.piecewise_bending import FitReport, angles_at
from softgrasp.vision.figures import draw_measurement

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FIT_FIGURE, POSES_FIGURE = "pressure_fit.png", "poses.png"
SHAPES_FIGURE, ERRORS_FIGURE = "shapes.png", "errors.png"
KPA, MM = 1e-3, 1e3
CURVE = 200
"""Points of a fitted curve."""
MARKERS = "osD^v<>p"
DOTS: dict[str, Any] = {
    "ls": "", "markersize": 3.6, "markeredgecolor": "white", "markeredgewidth": 0.4,
}  # fmt: skip
PRESSURE = "pressure [kPa]"
LINE_STYLES: dict[str, dict[str, Any]] = {
    "arcs_webster": {"color": style.POSITION, "linewidth": 2.6},
    "arcs_bishop": {"color": style.AXES_COLORS[1], "linewidth": 1.8},
    "rigid_unity": {"color": style.LOST, "linewidth": 1.6, "linestyle": (0, (4, 1.5))},
    "rigid_plane": {"color": style.TARGET, "linewidth": 1.4, "linestyle": (0, (1.5, 1.2))},
    "rigid_chord": {"color": style.INK, "linewidth": 0.8},
}
VIEWS = (((0, 2), "from the side"), ((1, 2), "from the front"), ((0, 1), "along the axis"))
"""Horizontal and vertical axis, and name of the view."""
MARGIN, MIN_SIZE = 3.0, 8.0
"""Margin around the drawn points, and half of the smallest width of a panel [mm]."""
LETTERS = 7.0
"""Height of letters in images [pt]."""

# Fits (Fig. 3c)


def draw_pressure_fit(report: FitReport, path: Path) -> Path:
    """Draw measured angles with their curves, and below them the residuals."""
    with style.figure(path, 5.6, 8.0) as (figure, table):
        grid = figure.add_gridspec(
            2, 1, height_ratios=(2.2, 1.0), left=0.085, right=0.98, bottom=0.085, top=0.9,
            hspace=0.16,
        )  # fmt: skip
        upper = figure.add_subplot(grid[0])
        lower = figure.add_subplot(grid[1], sharex=upper)
        _draw_curves(upper, table, report)
        _draw_residuals(lower, table, report)
        upper.tick_params(labelbottom=False)
        style.legend(figure, upper.get_lines()[1::2])
        lower.set_xlabel(PRESSURE)
    return path


def _draw_curves(axes: Axes, table: style.Table, report: FitReport) -> None:
    between = np.linspace(*report.fit.pressures, CURVE)
    curves = np.degrees(angles_at(report.fit, between))
    styles = zip(report.fit.lengths, cycle(style.SERIES), cycle(MARKERS), strict=False)
    for piece, (length, color, marker) in enumerate(styles):
        name = f"piece {piece + 1}"
        table.plot(axes, KPA * between, curves[:, piece], f"{name} fit [°]",
                   "pressure of the fit [kPa]", color=color, linewidth=1.2)  # fmt: skip
        table.plot(axes, KPA * report.pressures, np.degrees(report.angles[:, piece]),
                   f"{name} measured [°]", PRESSURE, marker=marker, color=color, **DOTS,
                   label=f"{name} ({MM * length:.4g} mm)")  # fmt: skip
    axes.set_title("bend of each piece [°]: measured, and cubic fit")


def _draw_residuals(axes: Axes, table: style.Table, report: FitReport) -> None:
    if report.sigma is not None:
        sigma = float(np.degrees(report.sigma))
        axes.axhspan(-sigma, sigma, color=style.HOLD, zorder=0, linewidth=0)
        style.annotate(axes, f"grey: ±σ of a measurement, {sigma:.3g}°")
    styles = zip(np.degrees(report.residuals).T, cycle(style.SERIES), cycle(MARKERS), strict=False)
    for piece, (left, color, marker) in enumerate(styles, start=1):
        table.plot(axes, KPA * report.pressures, left, f"piece {piece} measured − fit [°]",
                   PRESSURE, marker=marker, color=color, **DOTS)  # fmt: skip
    axes.axhline(0.0, color=style.MUTED, linewidth=0.6)
    axes.set_title("measured less fitted [°]")


# Poses (Fig. 5)


def write_poses(
    flat: Sequence[ModelPose], forced: Sequence[ModelPose], directory: Path
) -> list[Path]:
    """Write the figure, its numbers, and ``result.json`` of the compared models.

    Args:
        flat: The models without φ.
        forced: The models with φ.
        directory: Output directory.
    """
    document = {
        "kind": "piece_poses",
        "lengths_m": LENGTHS,
        "flat": [_pose_document(pose) for pose in flat],
        "forced": [_pose_document(pose) for pose in forced],
    }
    text = json.dumps(document, indent=2, ensure_ascii=False) + "\n"
    figure = draw_piece_poses(flat, forced, directory / POSES_FIGURE)
    return [*with_numbers([figure]), write_text(directory / RESULT_FILE, text)]


def _pose_document(pose: ModelPose) -> dict[str, Any]:
    return {
        "model": pose.name,
        "label": pose.label,
        "tip_m": pose.frames[-1, :3, 3].tolist(),
        "axis": pose.frames[-1, :3, 2].tolist(),
        "from_arcs_m": pose.apart,
        "from_arcs_fraction": pose.apart / sum(LENGTHS),
    }


def pose_rows(flat: Sequence[ModelPose], forced: Sequence[ModelPose]) -> list[list[str]]:
    """Return φ, model, tip [mm], distance from eq 5 [mm] and over the length [%] of each pose."""
    rows = []
    for phi, poses in (("0", flat), ("given", forced)):
        for pose in poses:
            tip = ", ".join(f"{MM * part + 0.0:.3f}" for part in pose.frames[-1, :3, 3])
            fraction = 100.0 * pose.apart / sum(LENGTHS)
            rows.append([phi, pose.label, tip, f"{MM * pose.apart:.3f}", f"{fraction:.2f}"])
    return rows


def draw_piece_poses(flat: Sequence[ModelPose], forced: Sequence[ModelPose], path: Path) -> Path:
    """Draw a finger bent in one plane, and with bending-plane angles φ, from three sides."""
    panels = [(flat, *VIEWS[0], "φ = 0"), *((forced, *view, "φ given") for view in VIEWS)]
    boxes = [_box(poses, sides) for poses, sides, _, _ in panels]
    across = max(half[0] for _, half in boxes)
    with style.figure(path, 4.2, 11.0) as (figure, table):
        for poses, title in ((flat, "φ = 0"), (forced, "φ given")):
            for pose in poses:
                table.add_points(f"{title} {pose.label}", "xyz", "mm", MM * pose.line)
        grid = style.panels(figure, 1, 4, margins=(0.5, 0.1, 0.45, 0.75), gaps=(0.5, 0.0))
        for column, (poses, sides, view, title) in enumerate(panels):
            axes = figure.add_subplot(grid[column])
            middle, half = boxes[column]
            _draw_lines(axes, poses, sides)
            axes.set_xlim(middle[0] - across, middle[0] + across)
            axes.set_ylim(middle[1] - half[1], middle[1] + half[1])
            axes.set_aspect("equal", adjustable="box", anchor="S")
            axes.set_title(f"{title}, {view}")
        labels = [f"{pose.label}: {MM * pose.apart:.3g} mm off" for pose in forced]
        style.legend(figure, _handles([forced[0].label, *labels[1:]]), columns=3)
    return path


def _box(poses: Sequence[ModelPose], sides: tuple[int, int]) -> tuple[Array, Array]:
    """Return the middle and half the size of the drawn points, with a margin [mm]."""
    every = MM * np.concatenate([pose.line for pose in poses])[:, list(sides)]
    half = np.maximum(0.5 * np.ptp(every, axis=0) + MARGIN, MIN_SIZE)
    return 0.5 * (every.max(axis=0) + every.min(axis=0)), half


def _draw_lines(axes: Axes, poses: Sequence[ModelPose], sides: tuple[int, int]) -> None:
    right, up = sides
    for pose in poses:
        line_style = LINE_STYLES[pose.name]
        line, ends = MM * pose.line, MM * pose.frames[:, :3, 3]
        axes.plot(line[:, right], line[:, up], solid_capstyle="round", **line_style)
        axes.plot(ends[:, right], ends[:, up], "o", color=line_style["color"], markersize=3.2)
    axes.set_xlabel(f"{'xyz'[right]} [mm]", labelpad=1)
    axes.set_ylabel(f"{'xyz'[up]} [mm]", labelpad=1)


def _handles(labels: Sequence[str]) -> list[Any]:
    from matplotlib.lines import Line2D

    styles = zip(labels, LINE_STYLES.values(), strict=True)
    return [Line2D([], [], label=label, **line_style) for label, line_style in styles]


# Accuracy (Table I)


def write_accuracy(study: AccuracyStudy, directory: Path, *, report: bool = True) -> list[Path]:
    """Write errors, picked angles and fit of a study, and its figures; return the paths.

    Args:
        study: Accuracy study.
        directory: Output directory.
        report: Whether to draw the figures.
    """
    files = [
        write_columns(directory / "accuracy.csv", accuracy_columns(study)),
        save_piece_angles(
            PieceAngles(study.pressures, study.report.angles),
            directory / "angles.csv",
            remarks="Picked in synthetic images of a simulated finger.",
        ),
        save_pressure_fit(study.report.fit, directory / "fit.yaml"),
    ]
    figures = [
        draw_shapes(study, directory / SHAPES_FIGURE),
        draw_pressure_fit(study.report, directory / FIT_FIGURE),
        draw_errors(study, directory / ERRORS_FIGURE),
    ] if report else []  # fmt: skip
    return [*files, *with_numbers(figures)]


def accuracy_columns(study: AccuracyStudy) -> dict[str, Array]:
    """Return E and both tips at every pressure, with E of Table I, by the name of a column."""
    pressures = study.pressures.tolist()
    model, true = MM * study.model_tips, MM * study.true_tips
    return {
        "pressure_kpa": KPA * study.pressures,
        "error_of_simulated_finger_percent": 100.0 * study.errors,
        "error_of_real_finger_percent": np.array([100 * PAPER.get(p, np.nan) for p in pressures]),
        "model_x_mm": model[:, 0],
        "model_z_mm": model[:, 2],
        "true_x_mm": true[:, 0],
        "true_z_mm": true[:, 2],
    }


def draw_shapes(study: AccuracyStudy, path: Path) -> Path:
    """Draw the images with their picks, and below the fitted shape over the true one."""
    shown = [
        item for item in zip(study.samples, study.errors, strict=True) if item[0].pressure in PAPER
    ]
    with style.figure(path, 5.35) as (figure, table):
        grid = style.panels(figure, 2, len(shown), margins=(0.6, 0.1, 0.5, 0.6), gaps=(0.12, 0.32))
        for column, (sample, error) in enumerate(shown):
            axes = figure.add_subplot(grid[0, column])
            if sample.image is not None:
                draw_measurement(axes, sample.image, sample.measured, size=LETTERS, sigmas=False)
            axes.set_axis_off()
            axes.set_title(f"{signed(KPA * sample.pressure, 0)} kPa", pad=6)
            below = figure.add_subplot(grid[1, column])
            _draw_axes_of(below, table, study, sample)
            below.set_title(f"E {100 * error:.2f} %  (paper {100 * PAPER[sample.pressure]:.1f} %)")
            if column:
                below.tick_params(labelleft=False)
        style.legend(figure, figure.axes[1].get_legend_handles_labels()[0])
        style.edge_labels(figure, x="along the straight finger [mm]")
        figure.axes[1].set_ylabel("up [mm]", labelpad=1)
    return path


def _draw_axes_of(axes: Axes, table: style.Table, study: AccuracyStudy, sample: Sample) -> None:
    """Draw the finger's true axis and the model's, in the plane of bending [mm]."""
    points = joint_positions(study.finger, sample.shape.joint_angles)[:, ::2]
    true = MM * np.vstack([[0.0, 0.0], points])
    model = MM * study.model_shape(sample.pressure, points=12)[:, ::2]
    for kind, line in (("true", true), ("model", model)):
        table.add_points(f"{signed(KPA * sample.pressure, 0)} kPa {kind}", "xz", "mm", line)
    axes.plot(*true.T, color=style.INK, lw=4.0, alpha=0.35, label="true: chain in MuJoCo")
    axes.plot(*model.T, color=style.TARGET, lw=1.4, label="constant curvatures from the fit")
    axes.plot(*model[::12].T, "o", color=style.TARGET, ms=3.5)
    axes.plot(*true[-1], "x", color=style.INK, ms=6, label="true tip")
    axes.set_aspect("equal")
    axes.set_xlim(-4.0, 62.0)
    axes.set_ylim(-36.0, 24.0)


def draw_errors(study: AccuracyStudy, path: Path) -> Path:
    """Draw the tip error at every pressure, with that of Table I."""
    with style.figure(path, 2.8, 8.0) as (figure, table):
        axes = figure.add_subplot(style.panels(figure, 1, 1)[0])
        table.plot(axes, KPA * study.pressures, 100.0 * study.errors, "E [%]", PRESSURE, marker=".",
                   color=style.POSITION, label="simulated finger")  # fmt: skip
        table.plot(
            axes, [KPA * pressure for pressure in PAPER], [100 * value for value in PAPER.values()],
            "E of Xiang et al. (2024) [%]", "pressure of Xiang et al. (2024) [kPa]", ls="",
            marker="s", color=style.LOST, ms=5, label="Xiang et al. (2024), real finger",
        )  # fmt: skip
        axes.axhline(100.0 * LIMIT, color=style.MUTED, lw=0.8, ls=":", label="bound of the paper")
        axes.set_ylim(0.0, 108.0 * LIMIT)
        axes.set_title("E = distance of the tips over the finger's length [%]")
        style.legend(figure)
        style.edge_labels(figure, x=PRESSURE)
    return path


def accuracy_rows(study: AccuracyStudy) -> list[list[str]]:
    """Return pressure [kPa], E [%] and published E [%] at the pressures of Table I."""
    return [
        [signed(KPA * pressure, 0), f"{100 * error:.2f}", f"{100 * PAPER[pressure]:g}"]
        for pressure, error in zip(study.pressures.tolist(), study.errors.tolist(), strict=True)
        if pressure in PAPER
    ]


def summary(study: AccuracyStudy) -> str:
    """Summarise the result, and state that the finger is simulated."""
    errors, truth = 100.0 * study.errors, study.true_angles
    worst = int(np.argmax(errors))
    verdict = "below" if errors[worst] < 100.0 * LIMIT else "NOT below"
    where = signed(KPA * study.pressures[worst], 0)
    fitted = angles_at(study.report.fit, study.pressures)
    picked_rms, fitted_rms = (
        np.degrees(np.sqrt(((angles - truth) ** 2).mean()))
        for angles in (study.report.angles, fitted)
    )
    return (
        f"Over {len(errors)} pressures the tip of the model is at most {errors[worst]:.2f} % of "
        f"the finger's length from the true one (at {where} kPa), {verdict} the "
        f"{100 * LIMIT:g} % of the paper. Picked angles are off by "
        f"{picked_rms:.2f}° rms, fitted ones by {fitted_rms:.2f}°.\nThe finger is simulated, not "
        f"measured: a chain of {len(study.finger.links)} links in MuJoCo. The paper's numbers are "
        "of a real finger and motion capture, so they are shown for orientation only."
    )
