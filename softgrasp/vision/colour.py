"""The colour of the finger: ranges of hue, saturation and value, given or read from a picture."""

from __future__ import annotations

from typing import Annotated, Self

import numpy as np
import numpy.typing as npt
from pydantic import Field, model_validator
from scipy.ndimage import gaussian_filter1d

from softgrasp.description.base import Description
from softgrasp.description.problems import FieldError
from softgrasp.errors import DescriptionError
from softgrasp.vision.opencv import opencv
from softgrasp.vision.picture import Bools

Hsv = npt.NDArray[np.float32]
Degrees = Annotated[float, Field(strict=True, ge=0, le=360)]
Fraction = Annotated[float, Field(strict=True, ge=0, le=1)]

MIN_SATURATION, MIN_VALUE = 0.15, 0.08
"""Of a pixel that has a colour at all; white paper, grey metal and shadows have less."""
HUE_REACH_DEG = 25.0
"""How far an automatic range goes to both sides of the dominant hue."""
HUE_SMOOTHING_DEG = 5.0
MIN_FRACTION = 0.002
"""Part of the picture that has to be coloured before it is said to have a dominant hue."""

HUES = ("red", "orange", "yellow", "green", "green", "cyan", "azure", "blue", "violet", "magenta")
"""Names of tenths of the colour circle, the first one around 0°."""


class FingerColour(Description):
    """Which colours are the finger's: hue, saturation and value (HSV) of its pixels.

    The hue does not change with the light's brightness, so one range serves for all of a series.
    """

    hue_deg: tuple[Degrees, Degrees] = (335.0, 70.0)
    """From and to on the colour circle, 0 to 360°; from above to runs through red."""
    saturation: tuple[Fraction, Fraction] = (0.25, 1.0)
    """Lowest and highest [–]."""
    value: tuple[Fraction, Fraction] = (MIN_VALUE, 1.0)
    """Lowest and highest [–]."""

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        for field in ("saturation", "value"):
            low, high = getattr(self, field)
            if low > high:
                raise FieldError(f"expected (lowest, highest), found ({low:g}, {high:g})", field)
        return self

    def mask(self, hsv: Hsv) -> Bools:
        """Which pixels (h, w, 3) of hue [°], saturation and value have this colour, (h, w)."""
        hue, saturation, value = (hsv[..., channel] for channel in range(3))
        first, last = self.hue_deg
        after, before = hue >= first, hue <= last
        right = (after & before) if first <= last else (after | before)
        for channel, (low, high) in ((saturation, self.saturation), (value, self.value)):
            right &= (channel >= low) & (channel <= high)
        return np.asarray(right)


def hsv_of(image: npt.NDArray[np.float32]) -> Hsv:
    """Hue [0 to 360°], saturation and value [0 to 1] of pixels from 0 to 1, (h, w, 3)."""
    cv2 = opencv()
    return np.asarray(cv2.cvtColor(image, cv2.COLOR_RGB2HSV))


def dominant_hue_deg(hsv: Hsv) -> float | None:
    """The hue around which most colour lies, each pixel by its chroma; None in a grey picture."""
    hue, saturation, value = (hsv[..., channel] for channel in range(3))
    coloured = (saturation >= MIN_SATURATION) & (value >= MIN_VALUE)
    if coloured.mean() < MIN_FRACTION:
        return None
    chroma = (saturation * value)[coloured]
    counts, _ = np.histogram(hue[coloured] % 360.0, bins=360, range=(0.0, 360.0), weights=chroma)
    smooth = gaussian_filter1d(counts, HUE_SMOOTHING_DEG, mode="wrap")
    return float(np.argmax(smooth)) + 0.5


def dominant_colour(hsv: Hsv) -> FingerColour:
    """The range around the dominant hue of a picture, for a finger that is its only colour.

    Raises:
        DescriptionError: Nothing in the picture has a colour.
    """
    hue = dominant_hue_deg(hsv)
    if hue is None:
        raise DescriptionError(
            "expected a coloured finger before a white background, found a picture without "
            f"colours: less than {100 * MIN_FRACTION:g} % of it has a saturation of "
            f"{MIN_SATURATION:g} or more",
        )
    ends = ((hue - HUE_REACH_DEG) % 360.0, (hue + HUE_REACH_DEG) % 360.0)
    wide = FingerColour(hue_deg=ends, saturation=(MIN_SATURATION, 1.0))
    # half of the finger's own saturation is what a pixel has through which its outline runs
    half = 0.5 * float(np.median(hsv[..., 1][wide.mask(hsv)]))
    return wide.replace(saturation=(max(half, MIN_SATURATION), 1.0))


def hue_name(hue_deg: float) -> str:
    """``210° (azure)``."""
    return f"{hue_deg:.0f}° ({HUES[round(hue_deg / 36.0) % 10]})"
