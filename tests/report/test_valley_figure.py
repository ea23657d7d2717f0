"""The picture of a sliced finger in the documentation.

``SOFTGRASP_WRITE_DOCS=1`` writes it into docs/images, from a finer mesh.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from PIL import Image

from softgrasp.io.soft_finger_mesh import slice_finger
from softgrasp.report.soft_finger import draw_valleys
from tests.support.bellows_mesh import bellows_mesh

IMAGES = Path(__file__).resolve().parent.parent.parent / "docs" / "images"


def test_the_picture_of_the_page_shows_the_pieces_of_a_finger(tmp_path: Path) -> None:
    written = "SOFTGRASP_WRITE_DOCS" in os.environ
    made = bellows_mesh(7, taper=0.35, depth=0.009, resolution=5e-4 if written else 8e-3)
    made.surface.export(tmp_path / "finger.stl")
    sliced = slice_finger(tmp_path / "finger.stl")
    figure_image = draw_valleys(sliced, (IMAGES if written else tmp_path) / "valleys.png")
    with Image.open(figure_image) as image:
        assert image.size == (3000, 1320)
        # pieces on white paper
        red, green, blue = np.asarray(image.convert("RGB"), dtype=int)[::5, ::5].reshape(-1, 3).T
    bluish = (blue - red > 15) & (green > 100) & (green < 230)
    assert bluish.mean() > 0.1
    assert (red + green + blue == 3 * 255).mean() > 0.4
