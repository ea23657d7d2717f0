"""Convergence of rigid-link chains, and the figures of docs/soft_fingers.md.

``SOFTGRASP_WRITE_DOCS=1`` writes the figures and their numbers into docs/images.
"""

from __future__ import annotations

import csv
import os
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from softgrasp.io.soft_finger.finger import slice_finger
from softgrasp.report import style
from tests.report.soft_finger_figures import (
    ConvergencePoint,
    convergence,
    draw_convergence,
    draw_valleys,
)
from tests.support.bellows_mesh import bellows_mesh

IMAGES = Path(__file__).resolve().parent.parent.parent / "docs" / "images"


ORDERS = {"midpoint": 2.00, "interfaces": 0.97, "interfaces_corrected": 1.92}


@pytest.fixture(scope="module")
def points() -> list[ConvergencePoint]:
    return convergence()


@pytest.mark.slow
@pytest.mark.parametrize("layout", ORDERS)
@pytest.mark.parametrize("load", [1.0, 3.0, 10.0])
def test_the_order_between_16_and_64_joints(
    points: list[ConvergencePoint], layout: str, load: float
) -> None:
    error = {p.joints: p.error for p in points if (p.layout, p.load) == (layout, load)}
    assert np.log2(error[16] / error[64]) / 2 == pytest.approx(ORDERS[layout], abs=0.05)


@pytest.mark.slow
def test_eight_midpoint_joints_are_as_near_as_the_documentation_states(
    points: list[ConvergencePoint],
) -> None:
    result = [p.error for p in points if (p.layout, p.joints) == ("midpoint", 8)]
    assert 100 * np.array(result) == pytest.approx([0.129, 0.326, 0.642], abs=6e-4)


@pytest.mark.slow
def test_the_estimate_of_a_midpoint_chain_is_its_error(points: list[ConvergencePoint]) -> None:
    for point in points:
        if point.layout == "midpoint" and point.joints >= 4:
            assert point.estimate == pytest.approx(point.error, rel=0.03)


@pytest.mark.slow
def test_the_image_of_the_documentation_shows_these_numbers(
    points: list[ConvergencePoint], tmp_path: Path
) -> None:
    directory = IMAGES if os.environ.get("SOFTGRASP_WRITE_DOCS") else tmp_path
    image = draw_convergence(points, directory / "convergence.png")
    assert image.stat().st_size > 5_000
    if directory is IMAGES:
        with (IMAGES / "convergence.csv").open("w", newline="") as file:
            csv.writer(file).writerows([ConvergencePoint._fields, *points])
    with (IMAGES / "convergence.csv").open() as file:
        kept = list(csv.DictReader(file))
    assert [float(row["error"]) for row in kept] == pytest.approx(
        [point.error for point in points], rel=1e-6
    )


# --------------------
# The picture of a sliced finger in the documentation.
#
# ``SOFTGRASP_WRITE_DOCS=1`` writes it into docs/images, from a finer mesh.


def test_the_image_of_the_documentation_shows_the_pieces_of_a_finger(tmp_path: Path) -> None:
    written = "SOFTGRASP_WRITE_DOCS" in os.environ
    made = bellows_mesh(7, taper=0.35, depth=0.009, resolution=5e-4 if written else 8e-3)
    made.surface.export(tmp_path / "finger.stl")
    sliced = slice_finger(tmp_path / "finger.stl")
    figure_image = draw_valleys(sliced, (IMAGES if written else tmp_path) / "valleys.png")
    with Image.open(figure_image) as image:
        assert image.size == (10 * style.DPI, round(4.4 * style.DPI))
        # pieces on white paper
        red, green, blue = np.asarray(image.convert("RGB"), dtype=int)[::5, ::5].reshape(-1, 3).T
    bluish = (blue - red > 15) & (green > 100) & (green < 230)
    assert bluish.mean() > 0.1
    assert (red + green + blue == 3 * 255).mean() > 0.4
