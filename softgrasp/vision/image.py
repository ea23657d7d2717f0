"""Photographs as arrays: read, check, mirror, save, correct the light, draw on.

Pixel coordinates are (column, row) in all of ``softgrasp.vision``; (0, 0) is the outer corner of
the upper left pixel, whose middle is at (0.5, 0.5), as in ``softgrasp.rendering``. OpenCV itself
counts from the middle of the first pixel.

OpenCV comes with the extra ``calibrate``; ``opencv()`` imports it where an image is measured.
Photographs in HEIC, as of phones, need the extra ``heic``.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.typing import ArrayLike
from PIL import Image as Pillow
from PIL import ImageDraw, ImageFont, ImageOps

from softgrasp.errors import BackendUnavailable, DescriptionError
from softgrasp.io.input_limits import MAX_ARRAYS, check_size
from softgrasp.mechanics.transforms import Array

DEGREE = 2
"""Degree of the polynomial of the background over the image, in x and in y."""
PAPER = 0.5
"""Saturation, over the range of saturations in the image, below which a pixel may be paper [–]."""
DARKER = 0.05
"""Pixels darker than the fitted surface by this are a clamp, a shadow or print, not paper [–]."""
LIGHT = 0.3
"""Smallest brightness of paper [–]."""
_SAMPLES, _ROUNDS = 96, 8
Color = tuple[int, int, int]
INK: Color = (32, 40, 50)
SHEET: Color = (255, 255, 255)
HEIC = (".heic", ".heif")
"""Suffixes of photographs that Pillow alone does not read."""
_SHIFT = 4
"""Fractional bits of the coordinates that OpenCV draws lines with."""
MIN_WIDTH, MIN_HEIGHT = 320, 160
"""Smallest width and height of a photograph [pixels]. In smaller ones a valley is a few pixels wide
and joint angles are wrong by one degree or more."""
Floats = npt.NDArray[np.float32]
Image = npt.NDArray[np.uint8]
Bools = npt.NDArray[np.bool_]


def opencv() -> Any:
    """Import the module ``cv2``.

    Raises:
        BackendUnavailable: It is not installed.
    """
    try:
        return import_module("cv2")
    except ImportError:
        raise BackendUnavailable(
            "photographs and videos are measured with OpenCV, which is not installed: "
            "pip install 'softgrasp[calibrate]'"
        ) from None


# Files and arrays


def _register_heic(file: Path) -> None:
    """Let Pillow read HEIC."""
    try:
        import_module("pillow_heif").register_heif_opener()
    except ImportError:
        raise BackendUnavailable(
            f"{file}: photographs in HEIC are read with pillow-heif, which is not installed: "
            "pip install 'softgrasp[heic]', or save them as JPEG"
        ) from None


def read_photo(path: str | Path) -> Image:
    """Read a photograph, rotated upright after its EXIF orientation.

    Args:
        path: PNG, JPEG, TIFF or another format that Pillow reads, or HEIC.

    Returns:
        Red, green and blue from 0 to 255, shape (height, width, 3).

    Raises:
        DescriptionError: There is no such file, or it is no image.
        BackendUnavailable: It is in HEIC, and pillow-heif is missing.
    """
    file = Path(path)
    if file.suffix.lower() in HEIC:
        _register_heic(file)
    try:
        check_size(file, MAX_ARRAYS)
        with Pillow.open(file) as opened:
            return np.asarray(ImageOps.exif_transpose(opened).convert("RGB"))
    except FileNotFoundError:
        raise DescriptionError("expected a photograph, found no such file", file=file) from None
    except (OSError, SyntaxError, ValueError, Pillow.DecompressionBombError) as error:
        received = "a directory" if file.is_dir() else "a file that is no image, or a damaged one"
        raise DescriptionError(f"expected a photograph, found {received}", file=file) from error


def checked_image(image: npt.NDArray[Any]) -> Image:
    """Return the image if it can be measured, else raise an error.

    Raises:
        DescriptionError: Wrong shape, wrong type of numbers, or too small.
    """
    if image.ndim != 3 or image.shape[2] != 3 or image.dtype != np.uint8:
        raise DescriptionError(
            "expected an image of shape (height, width, 3) of whole numbers from 0 to 255 "
            f"(uint8), found shape {image.shape} of {image.dtype}",
        )
    height, width = image.shape[:2]
    if width < MIN_WIDTH or height < MIN_HEIGHT:
        raise DescriptionError(
            f"expected an image of at least {MIN_WIDTH} × {MIN_HEIGHT} pixels, found "
            f"{width} × {height}",
        )
    return image


def mirrored(image: Image) -> Image:
    """Swap left and right."""
    return np.ascontiguousarray(image[:, ::-1])


# Light


def in_white_light(image: Floats) -> Floats:
    """Divide an image by its background illumination, so that white paper becomes 1.

    A polynomial surface in each channel is fitted to the pixels that may be paper; pixels well
    below it are removed and the surface is fitted again.

    Args:
        image: Red, green and blue from 0 to 1, (h, w, 3).

    Returns:
        The image over the surfaces, at most 1, (h, w, 3).
    """
    step = max(image.shape[1] // _SAMPLES, 1)
    few = (slice(step // 2, None, step),) * 2
    rows, columns = (_powers(count) for count in image.shape[:2])
    samples = image[few].reshape(-1, 3).astype(float)
    terms = (rows[few[0], None, :, None] * columns[None, few[1], None, :]).reshape(len(samples), -1)
    kept = _may_be_paper(samples)
    weights = np.zeros((terms.shape[1], 3))
    ridge = 1e-6 * len(terms) * np.eye(terms.shape[1])  # where paper is seen on one side only
    for _ in range(_ROUNDS):
        if kept.sum() <= terms.shape[1]:
            return image
        chosen = terms[kept]
        weights = np.linalg.solve(chosen.T @ chosen + ridge, chosen.T @ samples[kept])
        kept &= (samples > terms @ weights - DARKER).all(axis=1)
    even = np.empty_like(image)
    for channel in range(3):
        grid = weights[:, channel].reshape(DEGREE + 1, DEGREE + 1)
        surface = (rows @ grid @ columns.T).clip(min=LIGHT * LIGHT).astype(np.float32)
        np.minimum(image[..., channel] / surface, 1.0, out=even[..., channel])
    return even


def _powers(count: int) -> Array:
    """Powers 0 to ``DEGREE`` of ``count`` coordinates from −1 to 1, (count, DEGREE + 1)."""
    return np.linspace(-1.0, 1.0, count)[:, None] ** np.arange(DEGREE + 1)


def _may_be_paper(samples: Array) -> npt.NDArray[np.bool_]:
    """Return which pixels (n, 3) are light and have little colour, (n,)."""
    brightest, darkest = samples.max(axis=1), samples.min(axis=1)
    saturation = (brightest - darkest) / np.maximum(brightest, 1e-6)
    limit = PAPER * (np.quantile(saturation, 0.02) + np.quantile(saturation, 0.98))
    return np.asarray((saturation <= limit) & (brightest > LIGHT))


# Drawing


def draw_line(
    panel: Image, points: ArrayLike, color: Color, thick: int, *, closed: bool = False
) -> None:
    """Draw a line through points (n, 2) [pixels] into an image."""
    cv2 = opencv()
    # OpenCV counts from the middle of the first pixel, in parts of a pixel
    fixed = np.rint((np.asarray(points) - 0.5) * 2**_SHIFT).astype(np.int32)
    cv2.polylines(panel, [fixed[:, None]], closed, color, thick, cv2.LINE_AA, _SHIFT)


def draw_dot(panel: Image, point: Array, radius: float, color: Color) -> None:
    """Draw a filled circle around a point (2,) [pixels] into an image."""
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
    """Draw a line of text with a light outline, starting at or centred at a position [pixels]."""
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
    """Format an angle [deg] such as ``-0.6°``; never ``-0.0°``."""
    return f"{round(angle, 1) + 0.0:.1f}°"
