"""Find coloured dots on the joints of a finger in a photograph.

Dots show the joints of a finger of any colour, also of one without bellows. They are counted from
the clamped end: maybe one on the base, one on every joint, and one on the tip.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from softgrasp.errors import DescriptionError
from softgrasp.mechanics.transforms import Array
from softgrasp.vision.image import Bools, Image, in_white_light, opencv
from softgrasp.vision.segmentation import (
    BRUSH,
    HUES,
    MIN_SATURATION,
    MIN_SOFTENING,
    SOFTENING,
    FingerColour,
    Segmentation,
    dominant_colour,
    hsv_of,
)

MIN_DOT, MAX_DOT = 1.0 / 200.0, 1.0 / 12.0
"""Smallest and largest diameter of a dot, in image widths [–]."""
ROUND = 0.6
"""Smallest area of a dot over that of the circle around it [–]."""
HALF_WIDTH = 0.3
"""Half width of the drawn finger over the distance of the dots [–]."""
Markers = FingerColour | Literal["auto"]


def colour_of(name: str) -> FingerColour:
    """Return the range around a hue: a name of ``segmentation.HUES``, or degrees.

    Raises:
        DescriptionError: No such colour.
    """
    names = {name: 36.0 * HUES.index(name) for name in HUES}
    try:
        hue = names[name] if name in names else float(name)
    except ValueError:
        raise DescriptionError(
            f"expected auto, a hue in degrees or {', '.join(names)}, found '{name}'",
            field="markers",
        ) from None
    return FingerColour.around(hue, 2.0 * MIN_SATURATION)


def find_markers(image: Image, markers: Markers, count: int) -> tuple[Array, Segmentation]:
    """Find dots and order them from the left end of the finger.

    Args:
        image: Photograph, (height, width, 3).
        markers: Colour of the dots in white light; ``auto`` for the only colour of the image.
        count: Number of dots: one on every joint, and one on the tip. One more is on the base.

    Returns:
        Their centres, (count, 2) or (count + 1, 2) [pixels], and the pixels of the dots with a
        band through them as the finger.

    Raises:
        DescriptionError: There are other numbers of dots; names how many and where.
    """
    cv2 = opencv()
    spread = max(SOFTENING * image.shape[1], MIN_SOFTENING)
    soft = cv2.GaussianBlur(image, (0, 0), spread).astype(np.float32) / 255.0
    hsv = hsv_of(in_white_light(soft))
    colour = dominant_colour(hsv) if markers == "auto" else markers
    size = 2 * round(0.5 * BRUSH * image.shape[1]) + 3  # a string may hang over a dot
    brush = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (size, size))
    closed = cv2.morphologyEx(colour.mask(hsv).astype(np.uint8), cv2.MORPH_CLOSE, brush)
    coloured: Bools = closed > 0
    centres = _dots(coloured, (hsv[..., 1] * hsv[..., 2]).astype(float))
    if len(centres) not in (count, count + 1):
        where = ", ".join(f"({x:.0f}, {y:.0f})" for x, y in centres[:12])
        first, last = colour.hue_deg
        raise DescriptionError(
            f"expected {count} markers of hue {first:g}° to {last:g}°, one on every joint and one "
            f"on the tip where it is measured, or {count + 1} with one on the base, found "
            f"{len(centres)} round dots" + (f", at the pixels {where}" if where else ""),
            field="markers",
        )
    ordered = _chain(centres)
    band = _band(ordered, coloured.shape)
    return ordered, Segmentation(
        colour, coloured, coloured, coloured, band, band.astype(np.float32)
    )


def _dots(coloured: Bools, weight: Array) -> Array:
    """Return the centres of round pieces, (n, 2) [pixels]."""
    cv2 = opencv()
    width = coloured.shape[1]
    count, labels, statistics, _ = cv2.connectedComponentsWithStats(
        coloured.astype(np.uint8), connectivity=4
    )
    centres = []
    for index in range(1, count):
        left, top, across, down, area = statistics[index]
        diameter = max(across, down)
        is_round = area > ROUND * np.pi / 4.0 * diameter**2
        if not (MIN_DOT * width < diameter < MAX_DOT * width and is_round):
            continue
        part = (slice(top, top + down), slice(left, left + across))
        weights = np.where(labels[part] == index, weight[part], 0.0).astype(float)
        rows, columns = np.indices(weights.shape)
        total = weights.sum()
        centres.append(
            [left + 0.5 + (weights * columns).sum() / total,
             top + 0.5 + (weights * rows).sum() / total]
        )  # fmt: skip
    return np.array(centres).reshape(-1, 2)


def _chain(points: Array) -> Array:
    """Order points from the leftmost one, each followed by the nearest that is left."""
    left = list(points[np.argsort(points[:, 0])])
    chain = [left.pop(0)]
    while left:
        distances = [float(np.linalg.norm(point - chain[-1])) for point in left]
        chain.append(left.pop(int(np.argmin(distances))))
    return np.array(chain)


def _band(points: Array, shape: tuple[int, ...]) -> Bools:
    """Return the pixels of a band through points, (h, w)."""
    cv2 = opencv()
    pitch = float(np.median(np.linalg.norm(np.diff(points, axis=0), axis=1)))
    band = np.zeros(shape, np.uint8)
    line = np.rint(points - 0.5).astype(np.int32)[:, None]
    cv2.polylines(band, [line], False, 1, max(round(2.0 * HALF_WIDTH * pitch), 3))
    return np.asarray(band > 0)
