"""Find the outline of a finger in a photograph with subpixel accuracy, its valleys, its sharpness.

``find_outline`` refines the border of the finger's mask along its normals to where the darkness
is halfway between finger and background. ``find_notches`` then finds the joints of a notched
finger: the valleys between its bellows, each with its apex where lines through the two flanks
meet.

The depth of a valley is measured from a short chord that moves along the curve, about half a
joint distance to both sides. A drooping or tapering finger therefore does not change it, as it
would change heights over one straight chord.

``photo_faults`` assesses focus, exposure and noise at the outline; its limits were measured on
photographs of a cast finger (tests/vision/test_photo_series.py).

OpenCV traces the border of the mask (``findContours``); its ``cornerSubPix`` was not used for
the apexes, because blur fills a narrow valley and moves its visible corner outwards.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.ndimage import gaussian_filter1d, map_coordinates
from scipy.signal import find_peaks

from softgrasp.errors import DescriptionError
from softgrasp.mechanics.transforms import Array
from softgrasp.vision.image import Bools, Image, opencv
from softgrasp.vision.segmentation import Segmentation

HALF_CHORD = 0.4
"""Half length of the chord over the length of a cell; a cell is the line's length over the number
of links [–]."""
MIN_DEPTH, MIN_DEPTH_RATIO = 0.12, 0.3
"""Smallest prominence of a valley over half the chord, and over the median of the n most prominent,
n joints [–]."""
FLANK = (0.04, 0.3)
"""Range of a flank, from valley ground (0) to crest (1), that its line is fitted to [–]. A parabola
would follow the bellow better, but its extrapolation amplifies noise far more."""
NEAREST, MIN_POINTS = 3, 5
"""Points next to the ground that are left out, because blur has filled it; smallest number of
points for a line."""
MIN_OPENING = np.radians(12.0)
"""Smallest angle between two flanks whose intersection is used [rad]."""
FARTHEST = 0.6
"""Largest distance of an apex from the valley's ground over the valley's depth [–]."""
REACH, MIN_REACH = 1.0 / 300.0, 2.5
"""Half length of the search for the edge across the border of the mask, in image widths [–], and
its smallest value [pixels]."""
MIN_CONTRAST = 0.35
"""Smallest step of the darkness at an edge over the median step [–]."""
SMOOTHING = 1.0 / 1200.0
"""Standard deviation of the smoothing along the outline, in image widths [–]."""
CHORD_SMOOTHING = 0.06
"""Standard deviation of the smoothing along the curve over half a chord [–]."""
MAX_EDGE, UNUSABLE_EDGE = 0.2, 0.3
"""Width of the edge over the distance of the joints from which angles are doubtful, and from which
they are wrong by a degree or more [–]."""
MIN_STEP = 0.08
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
EDGE_SAMPLES, EDGE_REACH = 41, 0.5
"""Samples across the edge, and their half range over the distance of the joints [–]."""
SHARPEST = 20.0
"""Percentile of the widths along the outline: corners and side faces widen the others."""
Indices = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Outline:
    """A closed outline in pixel coordinates (column, row), points about one pixel apart."""

    points: Array
    """Whole outline, clockwise in the image, (n, 2)."""
    top: Array
    """Upper line from the left end to the right end, (k, 2)."""
    bottom: Array
    """Lower line from the left end to the right end, (m, 2)."""


def find_outline(segmentation: Segmentation) -> Outline:
    """Find the outline of the finger with subpixel accuracy.

    The border of the mask is exact to one pixel. Along its normal the darkness falls from that
    of the finger to that of the paper; the outline is where it is halfway between the two, both
    measured nearby. The upper and lower line separate at the middle of the leftmost pixels and
    at the rightmost point (Hadi et al. 2025).
    """
    finger, width = segmentation.finger, segmentation.finger.shape[1]
    cv2 = opencv()
    borders, _ = cv2.findContours(finger.astype(np.uint8), cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
    # OpenCV traces anticlockwise, from the middles of pixels
    border = resample(max(borders, key=len).reshape(-1, 2)[::-1] + 0.5, closed=True)
    smooth = gaussian_filter1d(border, max(SMOOTHING * width, 1.0), axis=0, mode="wrap")
    normals, reach = _outward_normals(smooth), max(REACH * width, MIN_REACH)
    steps = np.linspace(-reach, reach, 21)
    profile = _sample(segmentation.darkness, smooth, normals, steps).astype(float)
    shift = gaussian_filter1d(_crossings(profile, steps), SMOOTHING * width, mode="wrap")
    points = resample(smooth + shift[:, None] * normals, closed=True)
    left = points[points[:, 0] < points[:, 0].min() + 1.0]
    begin = np.argmin(np.linalg.norm(points - [left[:, 0].min(), np.median(left[:, 1])], axis=1))
    ordered = np.roll(points, -int(begin), axis=0)
    end = int(np.argmax(ordered[:, 0]))
    bottom = np.concatenate([ordered[:1], ordered[: end - 1 : -1]])
    return Outline(ordered, ordered[: end + 1], bottom)


def _sample(
    channel: npt.NDArray[Any], curve: Array, normals: Array, steps: Array
) -> npt.NDArray[Any]:
    """Sample a channel (h, w) at steps (k,) along the normals of a curve (n, 2), (n, k)."""
    x, y = np.moveaxis(curve[:, None] + steps[:, None] * normals[:, None] - 0.5, -1, 0)
    return np.asarray(map_coordinates(channel, [y, x], order=1, mode="nearest"))


def _outward_normals(curve: Array) -> Array:
    """Return the outward unit normals of a clockwise closed curve, (n, 2)."""
    along = np.roll(curve, -1, axis=0) - np.roll(curve, 1, axis=0)
    outward = np.stack([along[:, 1], -along[:, 0]], axis=-1)
    return np.asarray(outward / np.maximum(np.linalg.norm(outward, axis=1, keepdims=True), 1e-12))


def _crossings(profile: Array, steps: Array) -> Array:
    """Return where each profile (n, k), inside to outside, falls through its middle, (n,) [pixels].

    Where the step is weak, as in the ground of a narrow valley, values are interpolated from
    neighbours.
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


def refuse_cut(finger: Bools, *, flipped: bool = False) -> None:
    """Refuse a finger that reaches over a border of the image other than at its base, the left one.

    The mask is (h, w); if left and right have been swapped (``flipped``), the original side is
    named.

    Raises:
        DescriptionError: The finger is cut off; names the borders.
    """
    borders = (("left" if flipped else "right", finger[:, -1]), ("top", finger[0]),
               ("bottom", finger[-1]))  # fmt: skip
    cut = [side for side, border in borders if border.any()]
    if cut:
        raise DescriptionError(
            "expected the whole finger in the image, found it cut off at the "
            f"{' and '.join(cut)} border; only its base may lie beyond the image"
        )


def find_notches(line: Array, joints: int, *, below: bool = True) -> Array:
    """Find the apexes of the first valleys from the base, (joints, 2) [pixels].

    An apex is the intersection of lines through the two flanks of the valley. Blur fills the
    ground of a valley and moves it outwards, the more the narrower the valley is, but leaves the
    flanks.

    Args:
        line: Line with the valleys, from the base to the tip, (n, 2) [pixels].
        joints: Number of joints; valleys further from the base are ignored.
        below: Whether it is the bottom line.

    Raises:
        DescriptionError: There are fewer valleys; the message names how many and where.
    """
    curve = resample(line)
    reach = max(round(HALF_CHORD * len(curve) / (joints + 1)), 3)
    depths = chord_depths(curve, reach) * (-1.0 if below else 1.0)
    grounds, properties = find_peaks(depths, prominence=MIN_DEPTH * reach, height=0.0)
    if len(grounds):
        prominences = properties["prominences"]
        typical = float(np.median(np.sort(prominences)[-joints:]))
        grounds = grounds[prominences >= MIN_DEPTH_RATIO * typical]
    if len(grounds) < joints:
        pixels_text = ", ".join(f"({x:.0f}, {y:.0f})" for x, y in curve[grounds])
        raise DescriptionError(
            f"expected {joints} valleys between bellows, one for each joint, found {len(grounds)}"
            + (f", at the pixels {pixels_text}" if pixels_text else "")
            + "; is the notched side the other one, or is the image blurred?"
        )
    # the highest points of the bellows before, between and after the valleys
    between = int(np.median(np.diff(grounds))) if len(grounds) > 1 else len(depths)
    last = min(int(grounds[-1]) + between, len(depths) - 1)
    ends = [max(int(grounds[0]) - between, 0), *grounds.tolist(), last]
    crests = np.array([i + int(np.argmin(depths[i : k + 1])) for i, k in pairwise(ends)])
    grounds = grounds[:joints]
    apexes = _apexes(curve, crests[: joints + 1], grounds)
    # one rule for all joints: two rules would shift the joints relative to each other
    return _lowest(curve, depths, grounds) if apexes is None else apexes


def _apexes(curve: Array, crests: Indices, grounds: Indices) -> Array | None:
    """Return the apexes (n, 2); None where the flanks of any valley do not meet near its bottom."""
    apexes = []
    for before, ground, after in zip(crests[:-1], grounds, crests[1:], strict=True):
        lines = []
        # from the lowest point of the valley to its crest
        for flank in (curve[before : ground + 1][::-1], curve[ground : after + 1]):
            first = max(round(FLANK[0] * len(flank)), NEAREST)
            points = flank[first : round(FLANK[1] * len(flank))]
            if len(points) < MIN_POINTS:
                return None
            lines.append(fit_line(points))
        (left, leftwards), (right, rightwards) = lines
        across = np.column_stack([leftwards, -rightwards])
        if abs(np.linalg.det(across)) < np.sin(MIN_OPENING):
            return None
        apex = left + leftwards * np.linalg.solve(across, right - left)[0]
        depth = np.linalg.norm(0.5 * (curve[before] + curve[after]) - curve[ground])
        if np.linalg.norm(apex - curve[ground]) > FARTHEST * depth:
            return None
        apexes.append(apex)
    return np.array(apexes)


def fit_line(points: Array) -> tuple[Array, Array]:
    """Fit a line to points (n, 2) in total least squares; return its centroid and direction."""
    middle = points.mean(axis=0)
    return middle, np.linalg.svd(points - middle, full_matrices=False)[2][0]


def _lowest(curve: Array, depths: Array, grounds: Indices) -> Array:
    """Return the deepest points of valleys, (n, 2), each by a parabola through three samples."""
    inner = grounds.clip(1, len(curve) - 2)
    before, at, after = depths[inner - 1], depths[inner], depths[inner + 1]
    bend = np.minimum(before - 2.0 * at + after, -1e-9)
    position = inner + (0.5 * (before - after) / bend).clip(-1.0, 1.0)
    index = np.arange(len(curve))
    return np.stack([np.interp(position, index, curve[:, axis]) for axis in range(2)], axis=-1)


def resample(curve: Array, *, closed: bool = False) -> Array:
    """Resample a curve (n, 2) at even distances of about a pixel."""
    whole = np.concatenate([curve, curve[:1]]) if closed else curve
    lengths = np.linalg.norm(np.diff(whole, axis=0), axis=1)
    along = np.concatenate([[0.0], np.cumsum(lengths)])
    count = max(round(along[-1]), 2)
    at = np.linspace(0.0, along[-1], count, endpoint=not closed)
    return np.stack([np.interp(at, along, whole[:, axis]) for axis in range(2)], axis=-1)


def chord_depths(curve: Array, reach: int) -> Array:
    """Return the distance of every point to the right of its moving chord, (n,) [pixels].

    The curve has points (n, 2) about one pixel apart; right is as seen in the image when moving
    along it. The chord of a point joins those ``reach`` indices before and after it.
    """
    indices = np.arange(len(curve))
    before = curve[(indices - reach).clip(0)]
    chord = curve[(indices + reach).clip(max=len(curve) - 1)] - before
    offset = curve - before
    cross = chord[:, 0] * offset[:, 1] - chord[:, 1] * offset[:, 0]
    lengths = np.maximum(np.linalg.norm(chord, axis=1), 1e-12)
    return np.asarray(gaussian_filter1d(cross / lengths, CHORD_SMOOTHING * reach))


# Focus, exposure and noise


def exposure_fault(image: Image) -> str:
    """Return the fault of the exposure of an image in which no finger is found; empty if none."""
    bright = float(np.percentile(image.max(axis=2), 99.0))
    white = float((image >= 250).all(axis=2).mean())
    if bright < DARK:
        return (
            f"underexposed: the brightest 1 % of the image is at {bright:.0f} of 255, expected "
            f"{DARK:g} or more; lengthen the exposure or add light"
        )
    return "" if white <= WHITE else (
        f"overexposed: {100 * white:.0f} % of the image is white, expected at most "
        f"{100 * WHITE:g} %; shorten the exposure"
    )  # fmt: skip


def photo_faults(image: Image, finger: Bools, outline: Array, joints_px: Array) -> tuple[str, ...]:
    """Describe the faults of a photograph, each with measured value, limit and remedy.

    Photograph (height, width, 3), mask of the finger (height, width), closed outline, clockwise in
    the image (n, 2) [pixels], and joint points (n, 2) [pixels].

    Raises:
        DescriptionError: It is so blurred that no angles can be read.
    """
    link = float(np.linalg.norm(np.diff(joints_px, axis=0), axis=1).mean())
    edge, contrast = _edge(image, outline, link)
    # the Laplacian of white noise has the variance 20, the mean of three channels a third of it
    curve = opencv().Laplacian(image.astype(np.float32).mean(axis=2) / 255.0, -1, ksize=1)
    ground = np.abs(curve[~finger][::7])
    noise = 1.4826 * float(np.median(ground)) * np.sqrt(3.0 / 20.0) if len(ground) else 0.0
    pixels = image[finger]
    white, black = ((pixels >= 250).all(axis=1).mean(), (pixels <= 4).all(axis=1).mean())
    faults = {
        f"out of focus: the edge of the finger is {edge:.2g} pixels wide, "
        f"{100 * edge / link:.0f} % of the distance of its joints, expected at most "
        f"{100 * MAX_EDGE:g} %; focus on the finger, close the aperture, or shorten the exposure "
        "of a moving one": edge > MAX_EDGE * link,
        f"too small: neighbouring joints are {link:.0f} pixels apart, expected {MIN_LINK:g} or "
        "more, as angles have errors of 1° and more; move closer or use more pixels":
        link < MIN_LINK,
        f"overexposed: {100 * white:.0f} % of the finger is white, expected at most "
        f"{100 * MAX_CLIPPED:g} %; shorten the exposure": white > MAX_CLIPPED,
        f"underexposed: {100 * black:.0f} % of the finger is black, expected at most "
        f"{100 * MAX_CLIPPED:g} %; lengthen the exposure or add light": black > MAX_CLIPPED,
        f"low contrast: brightness changes by {100 * contrast:.2g} % of full scale at the edge of "
        f"the finger, expected {100 * MIN_STEP:g} % or more; change the exposure, add light, "
        "or use a ground of another brightness": contrast < MIN_STEP,
        f"noisy: the noise is {100 * noise:.2g} % of full scale, expected at most "
        f"{100 * contrast / MIN_RATIO:.2g} %, a fifth of the contrast; add light or lower the "
        "sensitivity": contrast < MIN_RATIO * noise,
    }  # fmt: skip
    reported = tuple(text for text, applies in faults.items() if applies)
    if edge >= UNUSABLE_EDGE * link:
        raise DescriptionError("; ".join(reported))
    return reported


def _edge(image: Image, outline: Array, link: float) -> tuple[float, float]:
    """Measure the width of the edge [pixels] and its step [fraction of full scale].

    Each profile across the outline is projected on the difference of the colours at its ends.
    """
    smooth = gaussian_filter1d(outline, max(0.05 * link, 1.0), axis=0, mode="wrap")[::3]
    normals = _outward_normals(smooth)
    height, width = image.shape[:2]
    inside = ((smooth > 0.02 * width) & (smooth < np.array([width, height]) - 0.02 * width)).all(1)
    reach = max(EDGE_REACH * link, 3.0)
    steps = np.linspace(-reach, reach, EDGE_SAMPLES)
    profiles = np.stack([
        _sample(channel, smooth[inside], normals[inside], steps)
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
