"""Figures of the twin's accuracy: pictures with picks, shapes, the fit, and the error."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from softgrasp.continuum.statics import joint_positions
from softgrasp.mechanics.piece_bends import angles_at
from softgrasp.report import style
from softgrasp.twin.accuracy import LIMIT, PAPER, AccuracyStudy, Sample
from softgrasp.vision.pick_overlay import pick_overlay

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MILLIMETRES = 1e3
LETTERS = 0.046
"""Height of angles in small pictures over their width."""
CURVE = 200
"""Points of a fitted curve."""


def shown_samples(study: AccuracyStudy) -> list[tuple[Sample, float]]:
    """The samples at pressures that the paper's table has, with E at each."""
    pairs = zip(study.samples, study.errors.tolist(), strict=True)
    return [(sample, error) for sample, error in pairs if sample.pressure in PAPER]


def draw_accuracy(study: AccuracyStudy, path: str | Path) -> Path:
    """Above, the pictures with their picks; below, the fitted shape over the true one."""
    shown = shown_samples(study)
    with style.figure(path, 5.35) as figure:
        grid = style.panels(figure, 2, len(shown), margins=(0.6, 0.1, 0.5, 0.6), gaps=(0.12, 0.32))
        for column, (sample, error) in enumerate(shown):
            axes = figure.add_subplot(grid[0, column])
            if sample.image is not None:
                drawn = pick_overlay(sample.image, sample.measured, letters=LETTERS, sigmas=False)
                axes.imshow(drawn, aspect="equal")
            else:
                axes.text(0.5, 0.5, "no picture drawn", ha="center", transform=axes.transAxes)
            axes.axis("off")
            axes.set_title(f"{_kpa(sample.pressure)} kPa", pad=6)
            below = figure.add_subplot(grid[1, column])
            _draw_shapes(below, study, sample)
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


def draw_fit(study: AccuracyStudy, path: str | Path) -> Path:
    """Angles that were picked, true ones and the fit, a panel a piece, and the error below."""
    pressures = study.pressures
    pieces = len(study.reference.lengths)
    picked = np.degrees([sample.measured.angles for sample in study.samples])
    sigmas = np.degrees([sample.measured.sigmas for sample in study.samples])
    along = np.linspace(pressures.min(), pressures.max(), CURVE)
    fitted, true = np.degrees(angles_at(study.report.fit, along)), np.degrees(study.true_angles)
    with style.figure(path, 5.6) as figure:
        grid = style.panels(figure, 2, pieces, margins=(0.6, 0.1, 0.5, 0.6), gaps=(0.35, 0.45))
        for piece in range(pieces):
            axes = figure.add_subplot(grid[0, piece])
            axes.errorbar(
                1e-3 * pressures, picked[:, piece], sigmas[:, piece], fmt=".", ms=3, lw=0.6,
                color=style.SERIES[0], label="picked, ± 1 σ",
            )  # fmt: skip
            axes.plot(1e-3 * pressures, true[:, piece], color=style.INK, lw=1.0, label="true")
            axes.plot(
                1e-3 * along, fitted[:, piece], color=style.TARGET, ls="--", label="cubic fit"
            )
            axes.set_title(f"piece {piece + 1} [°]")
        errors = figure.add_subplot(grid[1, :])
        errors.plot(1e-3 * pressures, 100.0 * study.errors, ".-", color=style.POSITION,
                    label="tip error E, simulated finger")  # fmt: skip
        errors.plot(
            [1e-3 * pressure for pressure in PAPER], [100.0 * value for value in PAPER.values()],
            "s", color=style.LOST, ms=5, label="E of paper 001, real finger",
        )  # fmt: skip
        errors.axhline(100.0 * LIMIT, color=style.MUTED, lw=0.8, ls=":")
        errors.set_ylim(0.0, 1.08 * 100.0 * LIMIT)
        errors.set_title("E = distance of the tips over the finger's length [%]")
        handles, _ = figure.axes[0].get_legend_handles_labels()
        more, _ = errors.get_legend_handles_labels()
        style.legend(figure, [*handles, *more])
        style.edge_labels(figure, x="pressure [kPa]")
    return Path(path)


def _draw_shapes(axes: Axes, study: AccuracyStudy, sample: Sample) -> None:
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


def _kpa(pressure: float) -> str:
    return style.signed(1e-3 * pressure, 0)
