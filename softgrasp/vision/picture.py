"""Photographs as arrays: read from a file, checked, mirrored.

Pixel coordinates are (column, row) throughout this room; (0, 0) is the outer corner of the upper
left pixel, whose middle is at (0.5, 0.5), as in ``softgrasp.render``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image as Pillow
from PIL import ImageOps

from softgrasp.errors import DescriptionError
from softgrasp.formats.atomic import atomic_path

Image = npt.NDArray[np.uint8]
Bools = npt.NDArray[np.bool_]

MIN_WIDTH, MIN_HEIGHT = 320, 160
"""Below it a valley is a few pixels wide and joint angles are wrong by a degree and more."""


def read_photo(path: str | Path) -> Image:
    """Read a photograph, upright as its camera says.

    Args:
        path: PNG, JPEG, TIFF or whatever else Pillow reads.

    Returns:
        Red, green and blue from 0 to 255, shape (height, width, 3).

    Raises:
        DescriptionError: There is no such file, or it is no picture.
    """
    file = Path(path)
    try:
        with Pillow.open(file) as opened:
            return np.asarray(ImageOps.exif_transpose(opened).convert("RGB"))
    except FileNotFoundError:
        raise DescriptionError("expected a photograph, found no such file", file=file) from None
    except (OSError, SyntaxError, ValueError, Pillow.DecompressionBombError) as error:
        received = "a folder" if file.is_dir() else "a file that is no picture, or a damaged one"
        raise DescriptionError(f"expected a photograph, found {received}", file=file) from error


def checked_image(image: npt.NDArray[Any]) -> Image:
    """The picture, if it is one that can be measured.

    Raises:
        DescriptionError: Another shape or another kind of numbers, or too small.
    """
    if image.ndim != 3 or image.shape[2] != 3 or image.dtype != np.uint8:
        raise DescriptionError(
            "expected a picture of shape (height, width, 3) of whole numbers from 0 to 255 "
            f"(uint8), found shape {image.shape} of {image.dtype}",
        )
    height, width = image.shape[:2]
    if width < MIN_WIDTH or height < MIN_HEIGHT:
        raise DescriptionError(
            f"expected a picture of at least {MIN_WIDTH} × {MIN_HEIGHT} pixels, found "
            f"{width} × {height}",
        )
    return image


def mirrored(image: Image) -> Image:
    """Left and right swapped."""
    return np.ascontiguousarray(image[:, ::-1])


def save_image(image: Image, path: str | Path) -> Path:
    """Write a picture as a PNG, whole or not at all.

    Raises:
        DescriptionError: ``path`` does not end in .png.
        ResultError: The place cannot be written.
    """
    if Path(path).suffix.lower() != ".png":
        raise DescriptionError(f"expected a .png file, found '{path}'")
    with atomic_path(path) as temporary:
        Pillow.fromarray(image).save(temporary, format="PNG")
    return Path(path)
