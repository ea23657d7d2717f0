"""Find the outline of a finger in a photograph with subpixel accuracy, and the valleys in it.

``find_outline`` refines the border of the finger's mask along its normals to where the darkness
is halfway between finger and background. ``find_notches`` then finds the joints of a notched
finger: the valleys between its bellows, each with its apex where lines through the two flanks
meet.

The depth of a valley is measured from a short chord that moves along the curve, about half a
joint distance to both sides. A drooping or tapering finger therefore does not change it, as it
would change heights over one straight chord.

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
from softgrasp.vision.image import Bools, opencv
from softgrasp.vision.segmentation import Segmentation

HALF_CHORD = 0.4
"""Half length of the chord over the length of a cell; a cell is the line's length over the number
of links [–]."""
MIN_DEPTH = 0.12
"""Smallest prominence of a valley over half the chord [–]."""
MIN_DEPTH_RATIO = 0.3
"""Smallest prominence of a valley over the median of the n most prominent, n joints [–]."""
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
REACH = 1.0 / 300.0
"""Half length of the search for the edge across the border of the mask, in image widths [–]."""
MIN_REACH = 2.5
"""Smallest half length of that search [pixels]."""
MIN_CONTRAST = 0.35
"""Smallest step of the darkness at an edge over the median step [–]."""
SMOOTHING = 1.0 / 1200.0
"""Standard deviation of the smoothing along the outline, in image widths [–]."""
_STEPS = 21
CHORD_SMOOTHING = 0.06
"""Standard deviation of the smoothing along the curve over half a chord [–]."""
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
    border = resampled(max(borders, key=len).reshape(-1, 2)[::-1] + 0.5, closed=True)
    smooth = gaussian_filter1d(border, max(SMOOTHING * width, 1.0), axis=0, mode="wrap")
    normals, reach = outward_normals(smooth), max(REACH * width, MIN_REACH)
    steps = np.linspace(-reach, reach, _STEPS)
    profile = sampled_across(segmentation.darkness, smooth, normals, steps).astype(float)
    shift = gaussian_filter1d(_crossings(profile, steps), SMOOTHING * width, mode="wrap")
    points = resampled(smooth + shift[:, None] * normals, closed=True)
    left = points[points[:, 0] < points[:, 0].min() + 1.0]
    begin = np.argmin(np.linalg.norm(points - [left[:, 0].min(), np.median(left[:, 1])], axis=1))
    ordered = np.roll(points, -int(begin), axis=0)
    end = int(np.argmax(ordered[:, 0]))
    bottom = np.concatenate([ordered[:1], ordered[: end - 1 : -1]])
    return Outline(ordered, ordered[: end + 1], bottom)


def sampled_across(
    channel: npt.NDArray[Any], curve: Array, normals: Array, steps: Array
) -> npt.NDArray[Any]:
    """Sample an image across a curve, by linear interpolation.

    Args:
        channel: One channel, (h, w).
        curve: Points, (n, 2) [pixels].
        normals: Directions of the samples at the points, (n, 2).
        steps: Distances of the samples from the points, (k,) [pixels].

    Returns:
        Samples, (n, k).
    """
    x, y = np.moveaxis(curve[:, None] + steps[:, None] * normals[:, None] - 0.5, -1, 0)
    return np.asarray(map_coordinates(channel, [y, x], order=1, mode="nearest"))


def outward_normals(curve: Array) -> Array:
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
    """Raise an error where the finger reaches over a border of the image other than at its base.

    Args:
        finger: Mask of the finger, (h, w), clamped at the left.
        flipped: Whether left and right have been swapped; the message then names the original
            side.

    Raises:
        DescriptionError: The finger is cut off; names the borders.
    """
    borders = (("left" if flipped else "right", finger[:, -1]), ("top", finger[0]),
               ("bottom", finger[-1]))  # fmt: skip
    cut = [side for side, border in borders if border.any()]
    if cut:
        raise DescriptionError(
            "expected the whole finger in the image, found it cut off at the "
            f"{' and '.join(cut)} border; only its base may lie beyond the image",
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
    curve = resampled(line)
    reach = max(round(HALF_CHORD * len(curve) / (joints + 1)), 3)
    depths = chord_depths(curve, reach) * (-1.0 if below else 1.0)
    grounds = _grounds(depths, reach, joints)
    if len(grounds) < joints:
        pixels_text = ", ".join(f"({x:.0f}, {y:.0f})" for x, y in curve[grounds])
        raise DescriptionError(
            f"expected {joints} valleys between bellows, one for each joint, found {len(grounds)}"
            + (f", at the pixels {pixels_text}" if pixels_text else "")
            + "; is the notched side the other one, or is the image blurred?"
        )
    crests = _crests(depths, grounds)[: joints + 1]
    grounds = grounds[:joints]
    apexes = _apexes(curve, crests, grounds)
    # one rule for all joints: two rules would shift the joints relative to each other
    return _lowest(curve, depths, grounds) if apexes is None else apexes


def _grounds(depths: Array, reach: int, joints: int) -> Indices:
    """Return the indices of all valleys of the outline, in order."""
    minima, properties = find_peaks(depths, prominence=MIN_DEPTH * reach, height=0.0)
    prominences = properties["prominences"]
    if not len(minima):
        return minima
    typical = float(np.median(np.sort(prominences)[-joints:]))
    return np.asarray(minima[prominences >= MIN_DEPTH_RATIO * typical])


def _crests(depths: Array, grounds: Indices) -> Indices:
    """Return the indices of the highest bellow before, between and after the valleys, (n + 1,)."""
    between = int(np.median(np.diff(grounds))) if len(grounds) > 1 else len(depths)
    begin = max(int(grounds[0]) - between, 0)
    end = min(int(grounds[-1]) + between, len(depths) - 1)
    ends = [begin, *grounds.tolist(), end]
    return np.array([
        first + int(np.argmin(depths[first : last + 1]))
        for first, last in pairwise(ends)
    ])  # fmt: skip


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
            lines.append(fitted_line(points))
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


def fitted_line(points: Array) -> tuple[Array, Array]:
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


# Curves


def resampled(curve: Array, step: float = 1.0, *, closed: bool = False) -> Array:
    """Resample a curve (n, 2) at even distances of about ``step`` [pixels]."""
    whole = np.concatenate([curve, curve[:1]]) if closed else curve
    lengths = np.linalg.norm(np.diff(whole, axis=0), axis=1)
    along = np.concatenate([[0.0], np.cumsum(lengths)])
    count = max(round(along[-1] / step), 2)
    at = np.linspace(0.0, along[-1], count, endpoint=not closed)
    return np.stack([np.interp(at, along, whole[:, axis]) for axis in range(2)], axis=-1)


def chord_depths(curve: Array, reach: int) -> Array:
    """Return the distance of every point to the right of its moving chord, (n,) [pixels].

    Args:
        curve: Points about one pixel apart, (n, 2) [pixels]; right is as seen in the image when
            moving along the curve.
        reach: The chord of a point joins the points this many indices before and after it.
    """
    indices = np.arange(len(curve))
    before = curve[(indices - reach).clip(0)]
    chord = curve[(indices + reach).clip(max=len(curve) - 1)] - before
    offset = curve - before
    cross = chord[:, 0] * offset[:, 1] - chord[:, 1] * offset[:, 0]
    lengths = np.maximum(np.linalg.norm(chord, axis=1), 1e-12)
    return np.asarray(gaussian_filter1d(cross / lengths, CHORD_SMOOTHING * reach))
