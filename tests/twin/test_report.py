"""Figures of a fit and of poses show every series in its colour."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from softgrasp.report import style
from softgrasp.twin.files import load_piece_angles
from softgrasp.twin.finger_pieces import POINTS, compared_models
from softgrasp.twin.fit_report import LINE_STYLES, draw_piece_poses, draw_pressure_fit
from softgrasp.twin.piecewise_bending import fit_pressures

IMAGES = Path(__file__).resolve().parent.parent.parent / "docs" / "images"
"""``SOFTGRASP_WRITE_DOCS=1`` writes the images of the page there."""
LENGTHS = (14e-3, 14e-3, 12.32e-3, 15.39e-3)
RISING, FORCED = np.radians([10.0, 15.0, 20.0, 25.0]), np.radians([12.0, 8.8, 6.0, 3.3])


@pytest.fixture(autouse=True)
def _fine_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines of a few pixels, whose colours can be counted."""
    monkeypatch.setattr(style, "DPI", 300)


def position(name: str, directory: Path) -> Path:
    return (IMAGES if "SOFTGRASP_WRITE_DOCS" in os.environ else directory) / name


def fractions(figure_image: Path, colors: list[str]) -> list[float]:
    """Parts of an image that have colours."""
    with Image.open(figure_image) as image:
        pixels = np.asarray(image.convert("RGB"), dtype=int)[::3, ::3].reshape(-1, 3)
    target = [[int(color[k : k + 2], 16) for k in (1, 3, 5)] for color in colors]
    return [float((np.abs(pixels - color).max(axis=1) < 12).mean()) for color in target]


def test_a_fit_shows_every_piece_and_its_residuals(tmp_path: Path) -> None:
    table = load_piece_angles("four_piece")
    sigma = float(np.radians(0.3))
    report = fit_pressures(table.pressures, table.angles, LENGTHS, sigma=sigma)
    figure_image = draw_pressure_fit(report, position("pressure_fit.png", tmp_path))
    result = fractions(figure_image, [*style.SERIES[:4], style.HOLD, "#ffffff"])
    assert min(result[:4]) > 5e-4
    assert result[4] > 0.03  # the band of ±σ
    assert result[5] > 0.7


def test_poses_show_every_model(tmp_path: Path) -> None:
    flat = compared_models(RISING, np.zeros(4), LENGTHS)
    forced = compared_models(RISING, FORCED, LENGTHS)
    figure_image = draw_piece_poses(flat, forced, position("piece_poses.png", tmp_path))
    result = fractions(figure_image, [str(look["color"]) for look in LINE_STYLES.values()])
    assert min(result) > 5e-4
    assert [pose.name for pose in forced] == list(LINE_STYLES)


def test_lines_of_arcs_run_through_the_ends_of_the_pieces() -> None:
    for pose in compared_models(RISING, FORCED, LENGTHS)[:2]:
        assert pose.line[::POINTS] == pytest.approx(pose.ends, abs=1e-16)
        steps = np.linalg.norm(np.diff(pose.line, axis=0), axis=1)
        assert steps.sum() == pytest.approx(0.05571, rel=1e-4)  # chords of a sixteenth
