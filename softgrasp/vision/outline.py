"""The outline of the finger to a fraction of a pixel, and its top and bottom line."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.ndimage import gaussian_filter1d, map_coordinates

from softgrasp.errors import DescriptionError
from softgrasp.mechanics.transforms import Array
from softgrasp.vision.opencv import opencv
from softgrasp.vision.picture import Bools
from softgrasp.vision.segmentation import Segmentation

REACH = 1.0 / 300.0
"""How far to both sides of the border of the mask the edge is looked for, in picture widths."""
MIN_REACH = 2.5
"""The same, at least [pixels]."""
MIN_CONTRAST = 0.35
"""Step of the darkness at an edge over the median one, at least [–]."""
SMOOTHING = 1.0 / 1200.0
"""Standard deviation of the smoothing along the outline, in picture widths."""
_STEPS = 21


@dataclass(frozen=True, eq=False)
class Outline:
    """A closed curve in pixel coordinates (column, row), its points about a pixel apart."""

    points: Array
    """Once around, clockwise as one sees the picture, (n, 2)."""
    top: Array
    """From the left end to the right one, (k, 2)."""
    bottom: Array
    """From the left end to the right one, (m, 2)."""


def find_outline(segmentation: Segmentation) -> Outline:
    """The outline of the finger where its share in the pixels is one half.

    The border of the mask is known to a pixel. Along its normal the darkness falls from the
    finger's to the paper's; the outline runs where it is halfway between the two, both read close
    by. The two lines part at the middle of the leftmost pixels and at the rightmost point (paper
    000).
    """
    border = _border(segmentation.finger)
    width = segmentation.finger.shape[1]
    points = _refined(border, segmentation.darkness, width)
    left = points[points[:, 0] < points[:, 0].min() + 1.0]
    begin = np.argmin(np.linalg.norm(points - [left[:, 0].min(), np.median(left[:, 1])], axis=1))
    ordered = np.roll(points, -int(begin), axis=0)
    end = int(np.argmax(ordered[:, 0]))
    bottom = np.concatenate([ordered[:1], ordered[: end - 1 : -1]])
    return Outline(ordered, ordered[: end + 1], bottom)


def refuse_cut(finger: Bools, *, flipped: bool = False) -> None:
    """Refuse a finger that reaches over the border of the picture anywhere but at its base.

    Args:
        finger: Its pixels, (h, w), clamped at the left.
        flipped: Whether left and right have been swapped, for the sentence.

    Raises:
        DescriptionError: It does; names the borders.
    """
    touched = {
        "right": finger[:, -1].any(),
        "top": finger[0].any(),
        "bottom": finger[-1].any(),
    }
    mirror = {"right": "left"} if flipped else {}
    cut = [mirror.get(side, side) for side, touches in touched.items() if touches]
    if cut:
        raise DescriptionError(
            "expected the whole finger in the picture, found it cut off at the "
            f"{' and '.join(cut)} border; only its base may lie beyond the picture",
        )


def resampled(curve: Array, step: float = 1.0, *, closed: bool = False) -> Array:
    """The same curve (n, 2) with points evenly apart, about a step [pixels]."""
    whole = np.concatenate([curve, curve[:1]]) if closed else curve
    lengths = np.linalg.norm(np.diff(whole, axis=0), axis=1)
    along = np.concatenate([[0.0], np.cumsum(lengths)])
    count = max(round(along[-1] / step), 2)
    at = np.linspace(0.0, along[-1], count, endpoint=not closed)
    return np.stack([np.interp(at, along, whole[:, axis]) for axis in range(2)], axis=-1)


def _border(finger: Bools) -> Array:
    """The border of the mask, clockwise as one sees it, evenly sampled, (n, 2)."""
    cv2 = opencv()
    contours = cv2.findContours(finger.astype(np.uint8), cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)[
        0
    ]
    border = max(contours, key=len).reshape(-1, 2) + 0.5
    x, y = border.T
    area = float(np.sum(x * np.roll(y, -1) - y * np.roll(x, -1)))  # positive: clockwise, y is down
    return resampled(border[:: 1 if area > 0 else -1], closed=True)


def _refined(border: Array, darkness: npt.NDArray[np.float32], width: int) -> Array:
    smooth = gaussian_filter1d(border, max(SMOOTHING * width, 1.0), axis=0, mode="wrap")
    normals = _normals(smooth)
    reach = max(REACH * width, MIN_REACH)
    steps = np.linspace(-reach, reach, _STEPS)
    samples = smooth[:, None] + steps[:, None] * normals[:, None]
    columns, rows = samples[..., 0] - 0.5, samples[..., 1] - 0.5
    profile = np.asarray(
        map_coordinates(darkness, [rows, columns], order=1, mode="nearest"), dtype=float
    )
    shift = gaussian_filter1d(_crossings(profile, steps), SMOOTHING * width, mode="wrap")
    return resampled(smooth + shift[:, None] * normals, closed=True)


def _normals(curve: Array) -> Array:
    """Unit normals of a clockwise closed curve, outwards, (n, 2)."""
    along = np.roll(curve, -1, axis=0) - np.roll(curve, 1, axis=0)
    outward = np.stack([along[:, 1], -along[:, 0]], axis=-1)
    return np.asarray(outward / np.maximum(np.linalg.norm(outward, axis=1, keepdims=True), 1e-12))


def _crossings(profile: Array, steps: Array) -> Array:
    """Where each profile (n, k), from inside to outside, falls through the middle, (n,) [pixels].

    Where the step is weak, as in the ground of a narrow valley, neighbours are interpolated.
    """
    quarter = len(steps) // 4
    inner, outer = profile[:, :quarter].mean(axis=1), profile[:, -quarter:].mean(axis=1)
    contrast = inner - outer
    level = profile - 0.5 * (inner + outer)[:, None]
    falls = (level[:, :-1] > 0.0) & (level[:, 1:] <= 0.0)
    drop = np.where(falls, level[:, :-1] - level[:, 1:], 1.0)
    at = steps[:-1] + (steps[1] - steps[0]) * level[:, :-1] / drop
    at = np.where(falls, at, np.inf)
    best = np.take_along_axis(at, np.abs(at).argmin(axis=1)[:, None], axis=1)[:, 0]
    good = np.isfinite(best) & (contrast > MIN_CONTRAST * np.median(contrast))
    if not good.any():
        return np.zeros(len(profile))
    index = np.arange(len(profile))
    return np.asarray(np.interp(index, index[good], best[good], period=len(profile)))
