"""Which pixels of a photograph show the finger: not white, of its colour, and in one piece.

Paper 000 (section III-B) combines a threshold of the grey picture with a mask in HSV. Two things
are done otherwise here. The picture is first divided by its own background, a smooth surface in
every channel, so that the paper is white whatever the light; and the threshold looks at the darkest
channel instead of the grey value: a bright yellow is nearly as light as white, but hardly blue.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from softgrasp.errors import DescriptionError
from softgrasp.vision.background import in_white_light
from softgrasp.vision.colour import (
    FingerColour,
    Hsv,
    dominant_colour,
    dominant_hue_deg,
    hsv_of,
    hue_name,
)
from softgrasp.vision.opencv import opencv
from softgrasp.vision.picture import Bools, Image

NOT_WHITE = 0.86
"""The darkest channel, where the background has 1, at most [–]."""
MIN_AREA = 0.005
"""Part of the picture that the finger has to take, at least [–]."""
SOFTENING, MIN_SOFTENING = 1.0 / 1280.0, 0.6
"""Standard deviation of the blur against noise before all else, in widths of the
picture, and the least one [pixels]."""
BRUSH = 1.0 / 320.0
"""Diameter of the brush of the morphology, in widths of the picture."""


@dataclass(frozen=True, eq=False)
class Segmentation:
    """The steps from a photograph to the pixels of the finger, each of shape (h, w)."""

    colour: FingerColour
    """The range that was used."""
    not_white: Bools
    """The threshold: what is darker than the background."""
    coloured: Bools
    """What has the colour of the finger."""
    both: Bools
    """What is both."""
    finger: Bools
    """The largest piece of it after opening and closing."""
    darkness: npt.NDArray[np.float32]
    """1 less the darkest channel: 0 on white paper and about the same on the lit and the shaded
    sides of the finger; in a pixel across its outline proportional to its share of the pixel."""


def segment(image: Image, colour: FingerColour | None = None) -> Segmentation:
    """Find the pixels that show the finger.

    Args:
        image: Shape (height, width, 3).
        colour: Its colour, as in white light; the dominant one of the picture where not given.

    Raises:
        DescriptionError: No or too few pixels have the colour or are darker than the background.
    """
    cv2 = opencv()
    soft = cv2.GaussianBlur(image, (0, 0), max(SOFTENING * image.shape[1], MIN_SOFTENING))
    even = in_white_light(soft.astype(np.float32) / 255.0)
    hsv = hsv_of(even)
    chosen = dominant_colour(hsv) if colour is None else colour
    coloured = chosen.mask(hsv)
    if coloured.mean() < MIN_AREA:
        raise DescriptionError(_without_colour(chosen, coloured, hsv))
    darkest = np.minimum(np.minimum(even[..., 0], even[..., 1]), even[..., 2])
    not_white = darkest < NOT_WHITE
    both = coloured & not_white
    finger = _one_piece(both)
    if finger.mean() < MIN_AREA:
        raise DescriptionError(
            "expected the finger before a white background, found the largest piece that is of "
            f"its colour and darker than the background on {100 * finger.mean():.2g} % of the "
            f"picture, less than {100 * MIN_AREA:g} %"
        )
    return Segmentation(chosen, not_white, coloured, both, finger, np.float32(1.0) - darkest)


def _without_colour(colour: FingerColour, coloured: Bools, hsv: Hsv) -> str:
    first, last = colour.hue_deg
    dominant = dominant_hue_deg(hsv)
    instead = "has no colour" if dominant is None else f"has mostly hue {hue_name(dominant)}"
    few = f"them on {100 * coloured.mean():.2g} % of the picture"
    received = few if coloured.any() else "no such pixel"
    return (
        f"expected a finger with hue {first:g}° to {last:g}°, saturation {colour.saturation[0]:.2g}"
        f" to {colour.saturation[1]:.2g} and value {colour.value[0]:.2g} to {colour.value[1]:.2g},"
        f" found {received}; the picture {instead}"
    )


def _one_piece(mask: Bools) -> Bools:
    """The largest piece after an opening, which takes specks away, and a closing of gaps."""
    cv2 = opencv()
    size = 2 * round(0.5 * BRUSH * mask.shape[1]) + 1
    brush = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (size, size))
    clean = cv2.morphologyEx(mask.astype(np.uint8), cv2.MORPH_OPEN, brush)
    clean = cv2.morphologyEx(clean, cv2.MORPH_CLOSE, brush)
    count, labels, statistics, _ = cv2.connectedComponentsWithStats(clean, connectivity=4)
    if count < 2:
        return np.zeros_like(mask)
    largest = 1 + int(np.argmax(statistics[1:, cv2.CC_STAT_AREA]))
    return np.asarray(labels == largest)
