"""Bending angles against pressure with their fit, and what the fit leaves (paper 001, Fig 3c)."""

from __future__ import annotations

from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from softgrasp.mechanics.piece_bends import angles_at
from softgrasp.mechanics.pressure_fit import FitReport
from softgrasp.report import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

HEIGHT, WIDTH = 5.6, 8.0
"""[in]"""
KPA = 1e-3
POINTS = 200
MARKERS = "osD^v<>p"


def draw_pressure_fit(report: FitReport, path: str | Path) -> Path:
    """Draw measured angles with their curves, and below them the residuals.

    Args:
        report: The fit.
        path: The ``.png`` to write.

    Raises:
        ResultError: The place cannot be written.
    """
    with style.figure(path, HEIGHT, WIDTH) as figure:
        grid = figure.add_gridspec(
            2, 1, height_ratios=(2.2, 1.0), left=0.085, right=0.98, bottom=0.085, top=0.9,
            hspace=0.16,
        )  # fmt: skip
        upper = figure.add_subplot(grid[0])
        lower = figure.add_subplot(grid[1], sharex=upper)
        _draw_curves(upper, report)
        _draw_residuals(lower, report)
        upper.tick_params(labelbottom=False)
        style.legend(figure, upper.get_lines()[1::2])
        lower.set_xlabel("pressure [kPa]")
    return Path(path)


def _draw_curves(axes: Axes, report: FitReport) -> None:
    between = np.linspace(*report.fit.pressures, POINTS)
    curves = np.degrees(angles_at(report.fit, between))
    styles = zip(report.fit.lengths, cycle(style.SERIES), cycle(MARKERS), strict=False)
    for piece, (length, color, marker) in enumerate(styles):
        axes.plot(KPA * between, curves[:, piece], color=color, linewidth=1.2)
        axes.plot(KPA * report.pressures, np.degrees(report.angles[:, piece]), marker, color=color,
                  markersize=3.6, markeredgecolor="white", markeredgewidth=0.4,
                  label=f"piece {piece + 1} ({1e3 * length:.4g} mm)")  # fmt: skip
    axes.set_title("bend of each piece [°]: measured, and cubic fit")


def _draw_residuals(axes: Axes, report: FitReport) -> None:
    if report.sigma is not None:
        sigma = float(np.degrees(report.sigma))
        axes.axhspan(-sigma, sigma, color=style.HOLD, zorder=0, linewidth=0)
        style.annotate(axes, f"grey: ±σ of a measurement, {sigma:.3g}°")
    styles = zip(np.degrees(report.residuals).T, cycle(style.SERIES), cycle(MARKERS), strict=False)
    for left, color, marker in styles:
        axes.plot(KPA * report.pressures, left, marker, color=color, markersize=3.6,
                  markeredgecolor="white", markeredgewidth=0.4)  # fmt: skip
    axes.axhline(0.0, color=style.MUTED, linewidth=0.6)
    axes.set_title("measured less fitted [°]")
