"""Depth pictures of RGB-D cameras, and the depth at a pick."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
from PIL import Image as Pillow

from softgrasp.errors import DescriptionError
from softgrasp.mechanics.transforms import Array

MILLIMETRE = 1e-3
SUFFIXES = (".npy", ".png")
WINDOW = 5
"""The depth at a pick is the median over so many pixels to all sides: cameras have noise and holes
in single pixels."""
MIN_SEEN = 0.25
"""Part of the window that must have a depth."""


def read_depth(path: str | Path, shape: tuple[int, int]) -> Array:
    """Read a depth picture that lies over the colour picture pixel by pixel.

    Args:
        path: A ``.npy`` with metres as floating-point numbers or millimetres as whole ones, or a
            16-bit ``.png`` in millimetres, as RGB-D cameras write it. 0 means nothing was seen.
        shape: Height and width of the colour picture.

    Returns:
        Along the camera's axis, 0 where nothing was seen [m], (height, width).

    Raises:
        DescriptionError: There is no such file, it is none of these, or has another size.
    """
    file = Path(path)
    if file.suffix.lower() not in SUFFIXES:
        raise DescriptionError(f"expected a depth picture, .npy or .png, found '{path}'")
    try:
        raw = _raw(file)
    except FileNotFoundError:
        raise DescriptionError("expected a depth picture, found no such file", file=file) from None
    except (OSError, SyntaxError, ValueError, EOFError) as error:
        raise DescriptionError(
            f"expected a depth picture, found a file that is none: {error}", file=file
        ) from error
    if raw.shape != shape or raw.dtype.kind not in "fiu":
        raise DescriptionError(
            f"expected depths of {shape[1]} × {shape[0]} pixels, as the picture has, found shape "
            f"{raw.shape} of {raw.dtype}",
            file=file,
        )
    depth = raw.astype(float) * (1.0 if raw.dtype.kind == "f" else MILLIMETRE)
    return np.where(np.isfinite(depth) & (depth > 0.0), depth, 0.0)


def depths_at(depth: Array, pixels: Array) -> Array:
    """The depth at picks: the median of what was seen around each, (k,) [m].

    Args:
        depth: (height, width) [m]; 0 where nothing was seen.
        pixels: (k, 2).

    Raises:
        DescriptionError: A pick lies outside the picture, or nearly nothing was seen around it.
    """
    height, width = depth.shape
    depths = []
    for column, row in pixels.tolist():
        if not (0.0 <= column < width and 0.0 <= row < height):
            raise DescriptionError(
                f"expected picks within {width} × {height} pixels, found ({column:g}, {row:g})"
            )
        x, y = int(column), int(row)
        window = depth[max(y - WINDOW, 0) : y + WINDOW + 1, max(x - WINDOW, 0) : x + WINDOW + 1]
        seen = window[window > 0.0]
        if seen.size < MIN_SEEN * window.size:
            raise DescriptionError(
                f"expected depths around the pick ({column:g}, {row:g}), found them in "
                f"{seen.size} of {window.size} pixels: pick where the finger is, or leave the "
                "depth picture out"
            )
        depths.append(float(np.median(seen)))
    return np.array(depths)


def _raw(file: Path) -> npt.NDArray[np.generic]:
    if file.suffix.lower() == ".npy":
        return np.asarray(np.load(file, allow_pickle=False))
    with Pillow.open(file) as opened:
        if not opened.mode.startswith("I"):
            raise ValueError(f"a picture of kind {opened.mode}, not one of 16-bit whole numbers")
        return np.asarray(opened)
