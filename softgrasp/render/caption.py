"""Writes the simulated time and the speed into the pictures of a film."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from PIL import Image as Pillow
from PIL import ImageDraw, ImageFont

Image = npt.NDArray[np.uint8]

INK, PAPER = (32, 40, 50), (255, 255, 255, 190)
TEXT_FRACTION, GAP_FRACTION = 0.036, 0.028
"""Height of the letters and distance from the edges over the picture's height."""

_LETTERS = ImageDraw.Draw(Pillow.new("1", (1, 1)))


def stamp(image: Image, text: str) -> None:
    """Write a line of text into the upper left corner, dark on a light band.

    Args:
        image: The picture, shape (height, width, 3); changed in place.
        text: One line.
    """
    height = image.shape[0]
    gap = round(GAP_FRACTION * height)
    label = _label(text, max(round(TEXT_FRACTION * height), 9))[:, : image.shape[1] - 2 * gap]
    rows, columns = label.shape[:2]
    region = image[gap : gap + rows, gap : gap + columns]
    alpha = label[..., 3:] / 255.0
    region[:] = np.rint(alpha * label[..., :3] + (1.0 - alpha) * region).astype(np.uint8)


def _label(text: str, size: int) -> Image:
    """The text on its band, with opacity: shape (rows, columns, 4)."""
    font = ImageFont.load_default(size)
    _, top, right, bottom = _LETTERS.textbbox((0, 0), text, font=font)
    pad = size // 2
    band = Pillow.new("RGBA", (round(right) + 2 * pad, size + 2 * pad))
    draw = ImageDraw.Draw(band)
    draw.rounded_rectangle((0, 0, band.width - 1, band.height - 1), radius=pad, fill=PAPER)
    middle = 0.5 * (band.height - top - bottom)
    draw.text((pad, middle), text, font=font, fill=INK)
    return np.asarray(band)
