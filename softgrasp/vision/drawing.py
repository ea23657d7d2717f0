"""Lines, dots and letters over pictures."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from PIL import ImageDraw, ImageFont

from softgrasp.mechanics.transforms import Array
from softgrasp.vision.opencv import opencv
from softgrasp.vision.picture import Image

Color = tuple[int, int, int]

INK: Color = (32, 40, 50)
SHEET: Color = (255, 255, 255)
_SHIFT = 4


def draw_line(panel: Image, points: ArrayLike, color: Color, thick: int) -> None:
    """An open line through points (n, 2) [pixels], drawn into a picture."""
    cv2 = opencv()
    # OpenCV counts from the middle of the first pixel, in parts of a pixel
    fixed = np.rint((np.asarray(points) - 0.5) * 2**_SHIFT).astype(np.int32)
    cv2.polylines(panel, [fixed[:, None]], False, color, thick, cv2.LINE_AA, _SHIFT)


def draw_dot(panel: Image, point: Array, radius: float, color: Color) -> None:
    """A full circle around a point (2,) [pixels], drawn into a picture."""
    cv2 = opencv()
    x, y = np.rint((point - 0.5) * 2**_SHIFT).astype(int).tolist()
    cv2.circle(panel, (x, y), round(radius * 2**_SHIFT), color, -1, cv2.LINE_AA, _SHIFT)


def write(
    drawing: ImageDraw.ImageDraw,
    position: tuple[float, float],
    text: str,
    letters: float,
    *,
    middle: bool = False,
    color: Color = INK,
) -> None:
    """A line of text that can be read on anything, starting at or around a place."""
    drawing.text(
        position,
        text,
        font=ImageFont.load_default(letters),
        fill=color,
        anchor="mm" if middle else "lm",
        stroke_width=max(round(letters / 8), 1),
        stroke_fill=SHEET,
    )


def degrees(angle: float) -> str:
    """``-0.6°``; never ``-0.0°``."""
    return f"{round(angle, 1) + 0.0:.1f}°"
