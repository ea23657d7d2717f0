"""Assess photographs: focus, exposure and noise at the outline of a finger.

The limits were measured on photographs of a cast finger (tests/vision/test_photo_quality.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.ndimage import gaussian_filter1d

from softgrasp.mechanics.transforms import Array
from softgrasp.vision.contour import outward_normals, sampled_across
from softgrasp.vision.image import Bools, Image, opencv
from softgrasp.vision.segmentation import Segmentation

MAX_EDGE, UNUSABLE_EDGE = 0.2, 0.3
"""Width of the edge over the distance of the joints from which angles are doubtful, and from which
they are wrong by a degree or more [–]."""
MIN_CONTRAST = 0.08
"""Smallest step of brightness at the edge [fraction of full scale]."""
MIN_RATIO = 5.0
"""Smallest step over the noise of a pixel [–]."""
MAX_CLIPPED = 0.3
"""Largest fraction of the finger's pixels that are white or black in all channels [–]."""
MIN_LINK = 45.0
"""Smallest mean distance of joints [pixels]."""
DARK, WHITE = 60.0, 0.97
"""Smallest brightness of the brightest pixels, of 255, and largest fraction of white pixels of an
image in which no finger is found [–]."""
SAMPLES, REACH = 41, 0.5
"""Samples across the edge, and their half range over the distance of the joints [–]."""
SHARPEST = 20.0
"""Percentile of the widths along the outline: corners and side faces widen the others."""


@dataclass(frozen=True)
class PhotoQuality:
    """Focus, exposure and noise of a photograph.

    Args:
        edge: Width of the edge from 10 to 90 % of its step [pixels].
        link: Mean distance of neighbouring joints [pixels].
        contrast: Step of the brightness at the edge [fraction of full scale].
        noise: Standard deviation of a pixel of the background [fraction of full scale].
        white: Fraction of the finger's pixels that are white in all channels [–].
        black: Fraction that are black in all channels [–].
    """

    edge: float
    link: float
    contrast: float
    noise: float
    white: float
    black: float

    @property
    def usable(self) -> bool:
        """Whether angles can be read at all."""
        return self.edge < UNUSABLE_EDGE * self.link

    def findings(self) -> Iterator[str]:
        """Yield what is wrong: what was measured, what is needed, and what to do."""
        if self.edge > MAX_EDGE * self.link:
            yield (
                f"out of focus: the edge of the finger is {self.edge:.2g} pixels wide, "
                f"{100 * self.edge / self.link:.0f} % of the distance of its joints, expected at "
                f"most {100 * MAX_EDGE:g} %; focus on the finger, close the aperture, or shorten "
                "the exposure of a moving one"
            )
        if self.link < MIN_LINK:
            yield (
                f"too small: neighbouring joints are {self.link:.0f} pixels apart, expected "
                f"{MIN_LINK:g} or more, as angles have errors of 1° and more; move closer or use "
                "more pixels"
            )
        if self.white > MAX_CLIPPED:
            yield (
                f"overexposed: {100 * self.white:.0f} % of the finger is white, expected at most "
                f"{100 * MAX_CLIPPED:g} %; shorten the exposure"
            )
        if self.black > MAX_CLIPPED:
            yield (
                f"underexposed: {100 * self.black:.0f} % of the finger is black, expected at most "
                f"{100 * MAX_CLIPPED:g} %; lengthen the exposure or add light"
            )
        if self.contrast < MIN_CONTRAST:
            yield (
                f"low contrast: brightness changes by {100 * self.contrast:.2g} % of full scale at "
                f"the edge of the finger, expected {100 * MIN_CONTRAST:g} % or more; change the "
                "exposure, add light, or use a ground of another brightness"
            )
        if self.contrast < MIN_RATIO * self.noise:
            yield (
                f"noisy: the noise is {100 * self.noise:.2g} % of full scale, expected at most "
                f"{100 * self.contrast / MIN_RATIO:.2g} %, a fifth of the contrast; add light or "
                "lower the sensitivity"
            )


def exposure_fault(image: Image) -> str | None:
    """Return what is wrong with the exposure of an image in which no finger is found, if it is."""
    bright = float(np.percentile(image.max(axis=2), 99.0))
    white = float((image >= 250).all(axis=2).mean())
    if bright < DARK:
        return (
            f"underexposed: the brightest 1 % of the image is at {bright:.0f} of 255, expected "
            f"{DARK:g} or more; lengthen the exposure or add light"
        )
    if white > WHITE:
        return (
            f"overexposed: {100 * white:.0f} % of the image is white, expected at most "
            f"{100 * WHITE:g} %; shorten the exposure"
        )
    return None


def quality_of(
    image: Image, segmentation: Segmentation, outline: Array, joints_px: Array
) -> PhotoQuality:
    """Assess a measured photograph.

    Args:
        image: Photograph, (height, width, 3).
        segmentation: Mask of the finger.
        outline: Closed outline, clockwise in the image, (n, 2) [pixels].
        joints_px: Joint points, (n, 2) [pixels].
    """
    finger = segmentation.finger
    link = float(np.linalg.norm(np.diff(joints_px, axis=0), axis=1).mean())
    width, contrast = _edge(image, outline, link)
    white, black = (image[finger] >= 250).all(axis=1), (image[finger] <= 4).all(axis=1)
    return PhotoQuality(
        width, link, contrast, _noise(image, finger), float(white.mean()), float(black.mean())
    )


def _edge(image: Image, outline: Array, link: float) -> tuple[float, float]:
    """Measure the width of the edge [pixels] and its step [fraction of full scale].

    Each profile across the outline is projected on the difference of the colours at its ends.
    """
    smooth = gaussian_filter1d(outline, max(0.05 * link, 1.0), axis=0, mode="wrap")[::3]
    normals = outward_normals(smooth)
    height, width = image.shape[:2]
    inside = ((smooth > 0.02 * width) & (smooth < np.array([width, height]) - 0.02 * width)).all(1)
    reach = max(REACH * link, 3.0)
    steps = np.linspace(-reach, reach, SAMPLES)
    profiles = np.stack([
        sampled_across(channel, smooth[inside], normals[inside], steps)
        for channel in np.moveaxis(image.astype(np.float32), -1, 0)
    ], axis=-1)  # fmt: skip
    profiles = gaussian_filter1d(profiles, 3.0, axis=0)
    inner, outer = profiles[:, :5].mean(axis=1), profiles[:, -5:].mean(axis=1)
    step = outer - inner
    size = np.linalg.norm(step, axis=1)
    good = size > 0.5 * np.median(size)
    level = np.einsum("nkc,nc->nk", profiles - inner[:, None], step)[good]
    level /= np.square(size[good])[:, None]
    # length between the last sample below 10 % and the first one above 90 %, interpolated
    widths = _crossing(level, 0.9, steps) - _crossing(level, 0.1, steps)
    sharp = float(np.percentile(np.maximum(widths, 0.0), SHARPEST)) if len(widths) else 2.0 * reach
    return sharp, float(np.median(size)) / (255.0 * np.sqrt(3.0))


def _crossing(level: Array, value: float, steps: Array) -> Array:
    """Return where each profile (n, k) first rises through a value, (n,)."""
    above = level >= value
    above[:, -1] = True
    index = np.maximum(above.argmax(axis=1), 1)
    rows = np.arange(len(level))
    before, after = level[rows, index - 1], level[rows, index]
    rise = np.where(after > before, after - before, 1.0)
    fraction = np.clip((value - before) / rise, 0.0, 1.0)
    return np.asarray(steps[index - 1] + fraction * (steps[1] - steps[0]))


def _noise(image: Image, finger: Bools) -> float:
    """Measure the noise of a background pixel by its difference to its neighbours."""
    grey = image.astype(np.float32).mean(axis=2) / 255.0
    curve = opencv().Laplacian(grey, -1, ksize=1)
    ground = curve[~finger][::7]
    # the Laplacian of white noise has the variance 20, the mean of three channels a third of it
    typical = float(np.median(np.abs(ground))) if len(ground) else 0.0
    return 1.4826 * typical * float(np.sqrt(3.0 / 20.0))
