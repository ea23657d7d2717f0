"""Finds coloured marks in a picture: the picker that needs nobody."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from softgrasp.errors import DescriptionError
from softgrasp.mechanics.transforms import Array
from softgrasp.vision.image import Image, opencv
from softgrasp.vision.segmentation import Hsv, hsv_of

HUE_REACH_DEG = 20.0
"""How far the hue of a mark may be from the one that is asked for."""
MIN_SATURATION = 0.30
MIN_AREA = 12
"""Smaller spots are no marks [pixels]."""


def mark_hue_deg(rgba: Sequence[float]) -> float:
    """Hue of a colour on the colour circle [°]."""
    pixel = np.array(rgba[:3], dtype=np.float32).reshape(1, 1, 3)
    return float(hsv_of(pixel)[0, 0, 0])


def find_marks(image: Image, colours: Mapping[str, Sequence[float]]) -> dict[str, Array]:
    """Middles of all spots of each colour, the largest first, (k, 2) [pixels].

    Args:
        image: Red, green and blue, (height, width, 3).
        colours: Name and colour (red, green, blue from 0 to 1) of each kind of mark.
    """
    hsv = hsv_of(image.astype(np.float32) / np.float32(255.0))
    return {name: _spots(hsv, mark_hue_deg(rgba)) for name, rgba in colours.items()}


def in_order(spots: Array, count: int, start: Array) -> Array:
    """The nearest spot to a point, the nearest one to that, and so on, (count, 2) [pixels].

    Raises:
        DescriptionError: There are fewer spots, or more.
    """
    if len(spots) != count:
        raise DescriptionError(f"expected {count} marks of one colour, found {len(spots)}")
    left, here, ordered = list(spots), start, []
    while left:
        nearest = int(np.argmin([np.hypot(*(spot - here)) for spot in left]))
        here = left.pop(nearest)
        ordered.append(here)
    return np.array(ordered)


def _spots(hsv: Hsv, hue_deg: float) -> Array:
    away = np.abs((hsv[..., 0] - hue_deg + 180.0) % 360.0 - 180.0)
    mask = ((away < HUE_REACH_DEG) & (hsv[..., 1] > MIN_SATURATION)).astype(np.uint8)
    count, labels, statistics, _ = opencv().connectedComponentsWithStats(mask)
    spots = []
    for label in range(1, count):
        left, top, width, height, area = statistics[label].tolist()
        if area < MIN_AREA:
            continue
        part = slice(top, top + height), slice(left, left + width)
        # a pixel at the rim that is half mark is half as saturated
        weight = np.where(labels[part] == label, hsv[part][..., 1], 0.0)
        rows, columns = np.mgrid[part] + 0.5
        middle = [(columns * weight).sum(), (rows * weight).sum()] / weight.sum()
        spots.append((area, middle))
    spots.sort(key=lambda spot: -spot[0])
    return np.array([middle for _, middle in spots]).reshape(-1, 2)
