"""Segment a finger in a photograph by colour or by difference to an empty image; find markers.

Hadi et al. (2025, section III-B) combine a threshold of the grey image with a mask in HSV. Two
steps differ here. The image is first divided by its own background, a smooth surface in every
channel, so that the paper is white in any light. And the threshold is applied to the darkest
channel instead of the grey value: bright yellow is nearly as light as white, but has hardly any
blue.

A grey, white or translucent finger is segmented by the difference to an image of the same scene
without it. Changes of the light between the two, a smooth surface in every channel, are removed.

Coloured dots show the joints of a finger of any colour, also of one without bellows. They are
counted from the clamped end: maybe one on the base, one on every joint, and one on the tip.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal, Self

import numpy as np
from pydantic import Field, model_validator
from scipy.ndimage import binary_fill_holes, center_of_mass, gaussian_filter1d

from softgrasp.description.base import Description, FieldError
from softgrasp.errors import DescriptionError
from softgrasp.mechanics.transforms import Array
from softgrasp.vision.image import Bools, Floats, Image, fit_surface, in_white_light, opencv

MIN_SATURATION, MIN_VALUE = 0.15, 0.08
"""Smallest saturation and value of a coloured pixel [–]; white paper, grey metal and shadows have
less."""
HUE_REACH_DEG, HUE_SMOOTHING_DEG = 25.0, 5.0
"""Half width of an automatic range around the dominant hue, and standard deviation of the smoothing
of the histogram of hues [deg]."""
MIN_FRACTION = 0.002
"""Smallest coloured fraction of an image that has a dominant hue [–]."""
HUES = ("red", "orange", "yellow", "green", "green", "cyan", "azure", "blue", "violet", "magenta")
"""Names of tenths of the colour circle, the first one around 0°."""
NOT_WHITE = 0.86
"""Largest value of the darkest channel of the finger, where the background has 1 [–]."""
MIN_AREA = 0.005
"""Smallest fraction of the image that the finger covers [–]."""
SOFTENING, MIN_SOFTENING = 1.0 / 1280.0, 0.6
"""Standard deviation of the initial blur against noise, in image widths [–], and its smallest value
[pixels]."""
BRUSH, STRING = 1.0 / 320.0, 1.0 / 160.0
"""Diameter of the structuring element of the morphology, and that where the string of a weight
differs from the empty image too, in image widths [–]."""
NOISE_LEVEL, MIN_DIFFERENCE = 6.0, 0.03
"""Smallest difference of the finger to the empty image, over its noise [–], and of full scale."""
EDGE_LEVEL = 0.4
"""Threshold of the difference over that of the finger [–]."""
UNCHANGED = 0.04
"""Pixels of two images whose ratio differs from the fitted one by less are unchanged [–]."""
MIN_DOT, MAX_DOT = 1.0 / 200.0, 1.0 / 12.0
"""Smallest and largest diameter of a dot, in image widths [–]."""
ROUND = 0.6
"""Smallest area of a dot over that of the circle around it [–]."""
HALF_WIDTH = 0.3
"""Half width of the drawn finger over the distance of the dots [–]."""
Degrees = Annotated[float, Field(strict=True, ge=0, le=360)]
Fraction = Annotated[float, Field(strict=True, ge=0, le=1)]


class FingerColour(Description):
    """Range of the finger's colours: hue, saturation and value (HSV) of its pixels.

    The hue does not change with the brightness of the light, so one range serves for a whole
    series.
    """

    hue_deg: tuple[Degrees, Degrees] = (335.0, 70.0)
    """First and last hue on the colour circle, 0 to 360°; if first > last, the range includes red
    (0°)."""
    saturation: tuple[Fraction, Fraction] = (0.25, 1.0)
    """Lowest and highest saturation [–]."""
    value: tuple[Fraction, Fraction] = (MIN_VALUE, 1.0)
    """Lowest and highest value [–]."""

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        for field in ("saturation", "value"):
            low, high = getattr(self, field)
            if low > high:
                raise FieldError(f"expected (lowest, highest), found ({low:g}, {high:g})", field)
        return self

    @classmethod
    def around(cls, hue_deg: float, min_saturation: float) -> Self:
        """Return a range centred on a hue [deg], with a minimum saturation [–]."""
        ends = ((hue_deg - HUE_REACH_DEG) % 360.0, (hue_deg + HUE_REACH_DEG) % 360.0)
        return cls(hue_deg=ends, saturation=(min_saturation, 1.0))

    def mask(self, hsv: Floats) -> Bools:
        """Return which HSV pixels (h, w, 3) have this colour, (h, w)."""
        hue, saturation, value = (hsv[..., channel] for channel in range(3))
        first, last = self.hue_deg
        after, before = hue >= first, hue <= last
        right = (after & before) if first <= last else (after | before)
        for channel, (low, high) in ((saturation, self.saturation), (value, self.value)):
            right &= (channel >= low) & (channel <= high)
        return np.asarray(right)


@dataclass(frozen=True, eq=False)
class Segmentation:
    """The steps from a photograph to the mask of the finger, each of shape (h, w)."""

    colour: FingerColour | None
    """Range of colours that was used; None where the image was compared with an empty one."""
    not_white: Bools
    """Pixels darker than the background, or that differ from the empty image."""
    coloured: Bools
    """Pixels with the colour of the finger, or that differ from the empty image."""
    finger: Bools
    """Largest connected piece after opening and closing."""
    darkness: Floats
    """1 less the darkest channel, or the difference to the empty image: 0 on the background and
    about the same on the lit and the shaded sides of the finger; in a pixel on the outline
    proportional to the fraction that the finger covers."""


def _soften(image: Image) -> Floats:
    """Return an image from 0 to 1, blurred against noise."""
    spread = max(SOFTENING * image.shape[1], MIN_SOFTENING)
    return np.asarray(opencv().GaussianBlur(image, (0, 0), spread).astype(np.float32) / 255.0)


def segment(image: Image, colour: FingerColour | None = None) -> Segmentation:
    """Find the pixels of a photograph (height, width, 3) that show the finger.

    Its colour is that in white light, by default the dominant one of the image.

    Raises:
        DescriptionError: No or too few pixels have the colour or are darker than the background.
    """
    even = in_white_light(_soften(image))
    hsv = hsv_of(even)
    chosen = dominant_colour(hsv) if colour is None else colour
    coloured = chosen.mask(hsv)
    if coloured.mean() < MIN_AREA:
        raise DescriptionError(_without_colour(chosen, coloured, hsv))
    darkest = even.min(axis=2)
    not_white = darkest < NOT_WHITE
    finger = _one_piece(coloured & not_white)
    if finger.mean() < MIN_AREA:
        raise DescriptionError(
            "expected the finger before a white background, found the largest piece that is of "
            f"its colour and darker than the background on {100 * finger.mean():.2g} % of the "
            f"image, less than {100 * MIN_AREA:g} %"
        )
    return Segmentation(chosen, not_white, coloured, finger, np.float32(1.0) - darkest)


def segment_difference(image: Image, empty: Image) -> Segmentation:
    """Find the pixels that differ from an image of the same scene without the finger.

    Both have the shape (height, width, 3).

    Raises:
        DescriptionError: The images differ in size, or too little in their pixels.
    """
    if image.shape != empty.shape:
        (height, width), (rows, columns) = image.shape[:2], empty.shape[:2]
        raise DescriptionError(
            f"expected an empty image of {width} × {height} pixels like the photograph, found "
            f"{columns} × {rows}",
            field="empty",
        )
    seen, ground = _soften(image), _soften(empty)
    change = np.linalg.norm(seen - ground * _change_of_light(seen, ground), axis=-1)
    noise = float(np.median(change))  # most pixels show the background
    differs = change > max(2.0 * noise, 0.5 * MIN_DIFFERENCE)
    piece = _one_piece(differs, STRING)
    typical = float(np.median(change[piece])) if piece.any() else 0.0
    if typical < max(NOISE_LEVEL * noise, MIN_DIFFERENCE):
        raise DescriptionError(
            f"expected a finger that differs from the empty image by {100 * MIN_DIFFERENCE:g} % "
            f"of full scale and {NOISE_LEVEL:g} times the noise, found {100 * typical:.2g} % and "
            f"noise of {100 * noise:.2g} %; use another ground, more light, or markers"
        )
    differs = change > max(EDGE_LEVEL * typical, 3.0 * noise)
    finger = binary_fill_holes(_one_piece(differs, STRING))
    if finger.mean() < MIN_AREA:
        raise DescriptionError(
            "expected the finger where the photograph differs from the empty image, found a piece "
            f"of {100 * finger.mean():.2g} % of the image, less than {100 * MIN_AREA:g} %"
        )
    inside = np.where(finger, np.maximum(change, typical), change) / typical
    return Segmentation(None, differs, differs, finger, np.minimum(inside, 1.0).astype(np.float32))


def _change_of_light(seen: Floats, ground: Floats) -> Floats:
    """Fit the ratio of two images by a surface in each channel, (h, w, 3)."""

    def similar(ratios: Array) -> Bools:
        spread = np.abs(ratios / np.median(ratios, axis=0) - 1.0)
        return np.asarray((spread < 5.0 * UNCHANGED).all(axis=1))

    ratio = (seen + 0.02) / (ground + 0.02)
    surface = fit_surface(ratio, similar, (-UNCHANGED, UNCHANGED), rounds=4)
    return np.ones_like(seen) if surface is None else surface


def _without_colour(colour: FingerColour, coloured: Bools, hsv: Floats) -> str:
    first, last = colour.hue_deg
    dominant = dominant_hue_deg(hsv)
    instead = "has no colour"
    if dominant is not None:
        instead = f"has mostly hue {dominant:.0f}° ({HUES[round(dominant / 36.0) % 10]})"
    some = f"them on {100 * coloured.mean():.2g} % of the image"
    return (
        f"expected a finger with hue {first:g}° to {last:g}°, saturation {colour.saturation[0]:.2g}"
        f" to {colour.saturation[1]:.2g} and value {colour.value[0]:.2g} to {colour.value[1]:.2g},"
        f" found {some if coloured.any() else 'no such pixel'}; the image {instead}"
    )


def _one_piece(mask: Bools, brush_size: float = BRUSH) -> Bools:
    """Return the largest piece after an opening, which removes specks, and a closing of gaps."""
    cv2 = opencv()
    size = 2 * round(0.5 * brush_size * mask.shape[1]) + 1
    brush = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (size, size))
    clean = cv2.morphologyEx(mask.astype(np.uint8), cv2.MORPH_OPEN, brush)
    clean = cv2.morphologyEx(clean, cv2.MORPH_CLOSE, brush)
    count, labels, statistics, _ = cv2.connectedComponentsWithStats(clean, connectivity=4)
    if count < 2:
        return np.zeros_like(mask)
    largest = 1 + int(np.argmax(statistics[1:, cv2.CC_STAT_AREA]))
    return np.asarray(labels == largest)


def hsv_of(image: Floats) -> Floats:
    """Convert pixels from 0 to 1, (h, w, 3), to hue [0 to 360°], saturation and value [0 to 1]."""
    return np.asarray(opencv().cvtColor(image, opencv().COLOR_RGB2HSV))


def dominant_colour(hsv: Floats) -> FingerColour:
    """Return the range around the dominant hue, for a finger that is the only coloured object.

    Raises:
        DescriptionError: The image has no colours.
    """
    hue = dominant_hue_deg(hsv)
    if hue is None:
        raise DescriptionError(
            "expected a coloured finger before a white background, found an image without "
            f"colours: less than {100 * MIN_FRACTION:g} % of it has a saturation of "
            f"{MIN_SATURATION:g} or more; for a grey, white or translucent finger add an image of "
            "the same scene without it (empty), or coloured dots on its joints (markers)"
        )
    wide = FingerColour.around(hue, MIN_SATURATION)
    # a pixel on the outline has half of the finger's saturation
    half = 0.5 * float(np.median(hsv[..., 1][wide.mask(hsv)]))
    return wide.replace(saturation=(max(half, MIN_SATURATION), 1.0))


def dominant_hue_deg(hsv: Floats) -> float | None:
    """Return the most frequent hue, pixels weighted by chroma [deg]; None in a grey image."""
    hue, saturation, value = (hsv[..., channel] for channel in range(3))
    coloured = (saturation >= MIN_SATURATION) & (value >= MIN_VALUE)
    if coloured.mean() < MIN_FRACTION:
        return None
    chroma = (saturation * value)[coloured]
    counts, _ = np.histogram(hue[coloured] % 360.0, bins=360, range=(0.0, 360.0), weights=chroma)
    return float(np.argmax(gaussian_filter1d(counts, HUE_SMOOTHING_DEG, mode="wrap"))) + 0.5


# Markers

Markers = FingerColour | Literal["auto"]


def colour_of(name: str) -> FingerColour:
    """Return the range around a hue: a name in ``HUES``, or degrees.

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

    There are ``count`` dots, one on every joint and one on the tip, or one more on the base. Their
    colour is that in white light, or ``auto`` for the only colour of the photograph (height, width,
    3).

    Returns:
        Their centres, (count, 2) or (count + 1, 2) [pixels], and the pixels of the dots with a
        band through them as the finger.

    Raises:
        DescriptionError: There are other numbers of dots; names how many and where.
    """
    cv2 = opencv()
    hsv = hsv_of(in_white_light(_soften(image)))
    colour = dominant_colour(hsv) if markers == "auto" else markers
    size = 2 * round(0.5 * BRUSH * image.shape[1]) + 3  # a string may hang over a dot
    brush = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (size, size))
    closed = cv2.morphologyEx(colour.mask(hsv).astype(np.uint8), cv2.MORPH_CLOSE, brush)
    coloured: Bools = closed > 0
    centres = _dots(coloured, hsv[..., 1] * hsv[..., 2])
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
    pitch = float(np.median(np.linalg.norm(np.diff(ordered, axis=0), axis=1)))
    line, width = np.rint(ordered - 0.5).astype(np.int32), max(round(2.0 * HALF_WIDTH * pitch), 3)
    band = cv2.polylines(np.zeros(coloured.shape, np.uint8), [line], False, 1, width)
    return ordered, Segmentation(colour, coloured, coloured, band > 0, band.astype(np.float32))


def _dots(coloured: Bools, weight: Floats) -> Array:
    """Return the centres of round pieces, (n, 2) [pixels]."""
    cv2, mask = opencv(), coloured.astype(np.uint8)
    _, labels, statistics, _ = cv2.connectedComponentsWithStats(mask, connectivity=4)
    across, down, area = statistics[:, cv2.CC_STAT_WIDTH : cv2.CC_STAT_AREA + 1].T
    diameter, width = np.maximum(across, down), coloured.shape[1]
    good = (area > ROUND * np.pi / 4.0 * diameter**2) & (diameter > MIN_DOT * width)
    good &= (diameter < MAX_DOT * width) & (np.arange(len(area)) > 0)
    centres = center_of_mass(weight.astype(float), labels, np.flatnonzero(good))
    return np.array(centres).reshape(-1, 2)[:, ::-1] + 0.5


def _chain(points: Array) -> Array:
    """Order points from the leftmost one, each followed by the nearest that is left."""
    left = list(points[np.argsort(points[:, 0])])
    chain = [left.pop(0)]
    while left:
        distances = [float(np.linalg.norm(point - chain[-1])) for point in left]
        chain.append(left.pop(int(np.argmin(distances))))
    return np.array(chain)
