"""Figures and files of fitted bending angles and compared kinematic models (Xiang et al. 2024).

``write_fit_report`` writes a pressure fit with its curves and residuals (Fig. 3c of the paper);
``write_poses_report`` writes a finger as arcs and as rigid pieces side by side.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from softgrasp._version import __version__
from softgrasp.io.files import RESULT_FILE, remove_written, write_text
from softgrasp.mechanics.transforms import Array
from softgrasp.report import style
from softgrasp.report.formatting import count
from softgrasp.twin.files import TipPoints, save_pressure_fit
from softgrasp.twin.finger_pieces import ModelPose, compared_models, tip_error
from softgrasp.twin.piecewise_bending import MAX_CURVE_ERROR, FitReport, angles_at, reversal_clause

if TYPE_CHECKING:
    from matplotlib.axes import Axes


SCHEMA_VERSION = 2
KPA = 1e-3
FIGURE = "poses.png"
HEIGHT = 4.2
"""Height of the figure [in]."""
MM = 1e3
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
FIT, PRESSURE_FIT_FIGURE = "pressure_fit.yaml", "pressure_fit.png"
PRESSURE_FIT_HEIGHT, WIDTH = 5.6, 8.0
"""Height and width of the figure [in]."""
POINTS = 200
MARKERS = "osD^v<>p"
DOTS: dict[str, Any] = {
    "ls": "", "markersize": 3.6, "markeredgecolor": "white", "markeredgewidth": 0.4,
}  # fmt: skip
PRESSURE = "pressure [kPa]"

# Pressure fits


def write_fit_report(
    report: FitReport, directory: str | Path, *, figure: bool = True
) -> list[Path]:
    """Write ``pressure_fit.yaml``, ``result.json`` and the figure; return their paths.

    Args:
        report: Fit report.
        directory: Output directory; created where missing.
        figure: Whether to draw; without it the figure of an earlier fit is removed.

    Raises:
        ResultError: The directory cannot be written.
    """
    directory = Path(directory)
    comment = "SI: m, rad, Pa; angle = sum of c_k (pressure / scale)^k, one row per piece."
    text = json.dumps(fit_document(report), indent=2, ensure_ascii=False, allow_nan=False)
    written = [
        save_pressure_fit(report.fit, directory / FIT, comment=comment),
        write_text(directory / RESULT_FILE, text + "\n"),
    ]
    if figure:
        return [*written, draw_pressure_fit(report, directory / PRESSURE_FIT_FIGURE)]
    remove_written(directory, (PRESSURE_FIT_FIGURE, f"{Path(PRESSURE_FIT_FIGURE).stem}.csv"))
    return written


def fit_document(report: FitReport) -> dict[str, Any]:
    """Convert a fit to the content of ``result.json``, in SI except for ``pieces``."""
    return {
        "schema_version": SCHEMA_VERSION,
        "softgrasp_version": __version__,
        "kind": "pressure_fit",
        "fit": report.fit.model_dump(mode="json"),
        "samples": len(report.pressures),
        "condition_scaled": report.condition,
        "condition_kpa": report.condition_kpa,
        "sigma_rad": report.sigma,
        "accepted": report.accepted,
        "pieces": piece_rows(report),
        "reversals": [one._asdict() for one in report.reversals],
        "pressures_Pa": report.pressures.tolist(),
        "angles_rad": report.angles.tolist(),
        "residuals_rad": report.residuals.tolist(),
    }


def piece_rows(report: FitReport) -> list[dict[str, Any]]:
    """Return the residuals of each finger piece: lengths in mm, angles in degrees."""
    errors = report.curve_errors
    return [
        {
            "piece": piece + 1,
            "length_mm": round(1e3 * length, 9),
            "rms_deg": float(np.degrees(report.rms[piece])),
            "max_deg": float(np.degrees(report.largest[piece])),
            "sigma_deg": float(np.degrees(report.scatter[piece])),
            "r_squared": float(report.r_squared[piece]),
            "curve_error_deg": None if errors is None else float(np.degrees(errors[piece])),
        }
        for piece, length in enumerate(report.fit.lengths)
    ]


def range_clause(report: FitReport) -> str:
    """Describe the number of samples and pieces, and the valid pressures."""
    low, high = report.fit.pressures
    pieces = count(len(report.fit.lengths), "piece")
    return (
        f"{count(len(report.pressures), 'sample')} of {pieces}, valid from "
        f"{KPA * low:g} to {KPA * high:g} kPa"
    )


def condition_clause(report: FitReport) -> str:
    """Describe the condition number with and without scaling."""
    return (
        f"{report.condition:.2g} with pressures over {KPA * report.fit.scale:g} kPa, "
        f"{report.condition_kpa:.2g} with them in kPa"
    )


def reversal_words(report: FitReport) -> str:
    """Describe pressures at which the fitted curves are not monotonic."""
    reversals = report.reversals
    return (
        "no: " + "; ".join(reversal_clause(report.fit, one) for one in reversals)
        if reversals
        else "yes"
    )


def verdict_clause(report: FitReport) -> str:
    """Describe whether the fit is accepted, and why."""
    errors = report.curve_errors
    if errors is None or report.sigma is None:
        return "not assessed: the sigma of a measurement is unknown (--sigma-deg)"
    worst, sigma = float(errors.max()), report.sigma
    verdict = "accepted" if report.accepted else "not accepted"
    return (
        f"{verdict}: expected {np.degrees(worst):.3g}° from the truth at worst, "
        f"{worst / sigma:.3g} sigma; the limit is {MAX_CURVE_ERROR:g} sigma"
    )


def draw_pressure_fit(report: FitReport, path: str | Path) -> Path:
    """Draw measured angles with their curves, and below them the residuals.

    Args:
        report: Fit report.
        path: ``.png`` file to write.

    Raises:
        ResultError: The file cannot be written.
    """
    with style.figure(path, PRESSURE_FIT_HEIGHT, WIDTH) as (figure, table):
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
    return Path(path)


def _draw_curves(axes: Axes, table: style.Table, report: FitReport) -> None:
    between = np.linspace(*report.fit.pressures, POINTS)
    curves = np.degrees(angles_at(report.fit, between))
    styles = zip(report.fit.lengths, cycle(style.SERIES), cycle(MARKERS), strict=False)
    for piece, (length, color, marker) in enumerate(styles):
        name = f"piece {piece + 1}"
        table.plot(axes, KPA * between, curves[:, piece], f"{name} fit [°]",
                   "pressure of the fit [kPa]", color=color, linewidth=1.2)  # fmt: skip
        table.plot(axes, KPA * report.pressures, np.degrees(report.angles[:, piece]),
                   f"{name} measured [°]", PRESSURE, marker=marker, color=color, **DOTS,
                   label=f"{name} ({1e3 * length:.4g} mm)")  # fmt: skip
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


# Compared models


def write_poses_report(
    thetas: Sequence[float],
    phis: Sequence[float],
    lengths: Sequence[float],
    directory: str | Path,
    measured: TipPoints | None = None,
) -> tuple[dict[str, Any], list[Path]]:
    """Compare the bending models in one plane (φ = 0) and with plane angles φ; write files.

    Args:
        thetas: Bending angles of the pieces, base first [rad], (n,).
        phis: Angles of the bending planes [rad], (n,).
        lengths: Lengths of the pieces [m], (n,).
        directory: Output directory; created where missing.
        measured: Measured tips with φ, in the frame of the finger's base.

    Returns:
        The content of ``result.json``, and the files.

    Raises:
        DescriptionError: As ``compared_models``.
        ResultError: The directory cannot be written.
    """
    flat = compared_models(thetas, [0.0] * len(thetas), lengths)
    forced = compared_models(thetas, phis, lengths)
    document = {
        "schema_version": SCHEMA_VERSION,
        "softgrasp_version": __version__,
        "kind": "piece_poses",
        "lengths_m": list(lengths),
        "thetas_rad": list(thetas),
        "phis_rad": list(phis),
        "flat": [_row(pose) for pose in flat],
        "forced": [_row(pose) | _from_measured(pose, lengths, measured) for pose in forced],
    }
    text = json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)
    points = None if measured is None else measured.position
    figure = draw_piece_poses(flat, forced, Path(directory) / FIGURE, points)
    return document, [write_text(Path(directory) / RESULT_FILE, text + "\n"), figure]


def _row(pose: ModelPose) -> dict[str, Any]:
    return {
        "model": pose.name,
        "label": pose.label,
        "tip_m": pose.tip.tolist(),
        "axis": pose.axis.tolist(),
        "from_arcs_m": pose.apart,
        "from_arcs_fraction": pose.fraction,
    }


def _from_measured(
    pose: ModelPose, lengths: Sequence[float], measured: TipPoints | None
) -> dict[str, float]:
    """Return the tip error E of a model against the mean of the measured tips."""
    if measured is None:
        return {}
    mean = measured.position.mean(axis=0)
    return {"from_measured_fraction": float(tip_error(pose.tip, mean, lengths))}


def draw_piece_poses(
    flat: Sequence[ModelPose],
    forced: Sequence[ModelPose],
    path: str | Path,
    measured: Array | None = None,
) -> Path:
    """Draw a finger bent in one plane, and with bending-plane angles φ, from three sides.

    Args:
        flat: The models without φ.
        forced: The models with φ.
        path: ``.png`` file to write.
        measured: Measured tips with φ [m], (m, 3).

    Raises:
        ResultError: The file cannot be written.
    """
    panels = [(flat, *VIEWS[0], "φ = 0"), *((forced, *view, "φ given") for view in VIEWS)]
    boxes = [_box(poses, sides) for poses, sides, _, _ in panels]
    across = max(half[0] for _, half in boxes)
    with style.figure(path, HEIGHT, 11.0) as (figure, table):
        for poses, title in ((flat, "φ = 0"), (forced, "φ given")):
            for pose in poses:
                table.add_points(f"{title} {_label(pose)}", "xyz", "mm", MM * pose.line)
        if measured is not None:
            table.add_points("measured tip", "xyz", "mm", MM * measured)
        grid = style.panels(figure, 1, 4, margins=(0.5, 0.1, 0.45, 0.75), gaps=(0.5, 0.0))
        for column, (poses, sides, view, title) in enumerate(panels):
            axes = figure.add_subplot(grid[column])
            middle, half = boxes[column]
            _draw(axes, poses, sides)
            if measured is not None and column > 0:
                points = MM * measured[:, list(sides)]
                axes.plot(*points.T, "+", color=style.INK, zorder=5)
            axes.set_xlim(middle[0] - across, middle[0] + across)
            axes.set_ylim(middle[1] - half[1], middle[1] + half[1])
            axes.set_aspect("equal", adjustable="box", anchor="S")
            axes.set_title(f"{title}, {view}")
        figure.axes[0].text(0.97, 0.03, _deviation_label(flat), transform=figure.axes[0].transAxes,
                            ha="right", color=style.MUTED, fontsize=7.5)  # fmt: skip
        style.legend(figure, _keys(forced, measured is not None), columns=3)
    return Path(path)


def _box(poses: Sequence[ModelPose], sides: tuple[int, int]) -> tuple[Array, Array]:
    """Return the middle and half the size of the drawn points, with a margin [mm]."""
    every = MM * np.concatenate([pose.line for pose in poses])[:, list(sides)]
    half = np.maximum(0.5 * np.ptp(every, axis=0) + MARGIN, MIN_SIZE)
    return 0.5 * (every.max(axis=0) + every.min(axis=0)), half


def _draw(axes: Axes, poses: Sequence[ModelPose], sides: tuple[int, int]) -> None:
    right, up = sides
    for pose in poses:
        line_style = LINE_STYLES[pose.name]
        line, ends = MM * pose.line, MM * pose.ends
        axes.plot(line[:, right], line[:, up], solid_capstyle="round", **line_style)
        axes.plot(ends[:, right], ends[:, up], "o", color=line_style["color"], markersize=3.2)
    axes.set_xlabel(f"{'xyz'[right]} [mm]", labelpad=1)
    axes.set_ylabel(f"{'xyz'[up]} [mm]", labelpad=1)


def _deviation_label(poses: Sequence[ModelPose]) -> str:
    far = {pose.name: pose for pose in poses}
    unity, chord = far["rigid_unity"], far["rigid_chord"]
    return (
        f"rigid pieces: {MM * unity.apart:.3g} mm off,\n"
        f"{100.0 * unity.fraction:.3g} % of the finger;\n"
        f"leaning by θ/2: {MM * chord.apart:.2g} mm"
    )


def _keys(poses: Sequence[ModelPose], measured: bool) -> list[Any]:
    from matplotlib.lines import Line2D

    keys = [Line2D([], [], label=_label(pose), **LINE_STYLES[pose.name]) for pose in poses]
    if measured:
        keys.append(Line2D([], [], label="measured tip", color=style.INK, marker="+", ls=""))
    return keys


def _label(pose: ModelPose) -> str:
    text = pose.label.replace("theta", "θ").replace("phi", "φ")
    if pose.name == "arcs_webster":
        return text
    return f"{text}: {MM * pose.apart:.3g} mm off"
