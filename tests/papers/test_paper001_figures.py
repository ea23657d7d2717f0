"""Figures and files of `python -m examples.paper001`."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from examples.paper001 import __main__ as command
from examples.paper001.pieces import LENGTHS, PHIS, POINTS, compared_models
from examples.paper001.report import LINE_STYLES, draw_piece_poses, draw_pressure_fit
from softgrasp.report import style
from softgrasp.twin.files import load_piece_angles, load_pressure_fit
from softgrasp.twin.piecewise_bending import fit_pressures
from tests.conftest import files_in

IMAGES = Path(__file__).resolve().parent.parent.parent / "docs" / "images"
"""``SOFTGRASP_WRITE_DOCS=1`` writes the images of the page there."""
FLAT = np.zeros(len(PHIS))


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


@pytest.mark.slow
def test_a_fit_shows_every_piece_and_its_residuals(tmp_path: Path) -> None:
    table = load_piece_angles("four_piece")
    report = fit_pressures(table.pressures, table.angles, LENGTHS, sigma=float(np.radians(0.3)))
    figure_image = draw_pressure_fit(report, position("pressure_fit.png", tmp_path))
    result = fractions(figure_image, [*style.SERIES[:4], style.HOLD, "#ffffff"])
    assert min(result[:4]) > 5e-4
    assert result[4] > 0.03  # the band of ±σ
    assert result[5] > 0.7


def test_poses_show_every_model(tmp_path: Path) -> None:
    flat = compared_models(phis=FLAT)
    forced = compared_models()
    figure_image = draw_piece_poses(flat, forced, position("piece_poses.png", tmp_path))
    result = fractions(figure_image, [str(look["color"]) for look in LINE_STYLES.values()])
    assert min(result) > 5e-4
    assert [pose.name for pose in forced] == list(LINE_STYLES)


def test_lines_of_arcs_run_through_the_ends_of_the_pieces() -> None:
    for pose in compared_models()[:2]:
        assert pose.line[::POINTS] == pytest.approx(pose.frames[:, :3, 3], abs=1e-16)
        steps = np.linalg.norm(np.diff(pose.line, axis=0), axis=1)
        assert steps.sum() == pytest.approx(0.05571, rel=1e-4)  # chords of a sixteenth


def test_the_command_writes_the_numbers_of_the_poses(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command.main(["poses", "--out", str(tmp_path)]) == 0
    assert "rigid pieces, Unity's order (III-C2)  30.121, 7.842, 40.792   8.304" in (
        capsys.readouterr().out
    )
    assert files_in(tmp_path) == ["poses.csv", "poses.png", "result.json"]


@pytest.mark.slow
def test_the_command_measures_the_accuracy_without_figures(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("cv2", reason="OpenCV is an extra")
    assert command.main(["accuracy", "--no-report", "--out", str(tmp_path)]) == 0
    assert "at most 0.29 % of the finger's length" in capsys.readouterr().out
    assert files_in(tmp_path) == ["accuracy.csv", "angles.csv", "fit.yaml"]
    assert load_pressure_fit(tmp_path / "fit.yaml").lengths == LENGTHS
    head, first, *_ = (tmp_path / "accuracy.csv").read_text("utf-8").splitlines()
    assert head.startswith("pressure_kpa,error_of_simulated_finger_percent,error_of_real_finger")
    assert first.startswith("-90,0.285")
    assert first.split(",")[2] == "2.3"
