"""Pictures inside pages: small enough to send, and as wide as they were drawn."""

from __future__ import annotations

import base64
import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from softgrasp.report.grasp_page import LARGE, embedded_image
from softgrasp.report.style import DPI, WIDTH, figure


def inside(source: str) -> Image.Image:
    """The picture of a data URL."""
    return Image.open(io.BytesIO(base64.b64decode(source.partition(",")[2])))


@pytest.fixture
def photograph(tmp_path: Path) -> Path:
    """With noise, as cameras make it, which PNG cannot make small."""
    noise = np.random.default_rng(0).integers(90, 140, (600, 800, 3)).astype(np.uint8)
    path = tmp_path / "photo.png"
    Image.fromarray(noise).save(path)
    assert path.stat().st_size > LARGE
    return path


def test_photographs_go_into_a_page_smaller_and_look_the_same(photograph: Path) -> None:
    shown = embedded_image(photograph)
    assert shown.source.startswith("data:image/webp;base64,")
    assert len(shown.source) < 0.5 * photograph.stat().st_size
    mean = [np.asarray(image).mean() for image in (Image.open(photograph), inside(shown.source))]
    assert mean[0] == pytest.approx(mean[1], abs=1.0)
    assert (shown.fraction, shown.files) == (1.0, "photo.png")


@pytest.mark.parametrize(("width", "fraction"), [(WIDTH, 1.0), (0.4 * WIDTH, 0.4)])
def test_figures_keep_their_bytes_and_their_width(
    tmp_path: Path, width: float, fraction: float
) -> None:
    path = tmp_path / "line.png"
    with figure(path, 2.0, width) as drawn:
        drawn.subplots().plot([0.0, 1.0], [0.0, 1.0])
    shown = embedded_image(path)
    assert base64.b64decode(shown.source.partition(",")[2]) == path.read_bytes()
    assert shown.fraction == pytest.approx(fraction, abs=1.0 / (DPI * WIDTH))
    assert shown.files == "line.png, line.csv"


def test_pages_with_many_figures_have_them_smaller(photograph: Path) -> None:
    assert inside(embedded_image(photograph, smaller=2).source).size == (400, 300)
