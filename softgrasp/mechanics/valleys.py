"""The valleys between the bellows of a finger, found in its height along the axis.

A valley is a minimum of the smoothed height whose prominence (how far one climbs out of it to the
lower side, until the profile falls deeper) is at least ``LEAST_DEPTH`` of the median height and
``LEAST_SHARE`` of the most prominent one. Noise of the surface stays below the first bound, ripples
on the bellows below the second.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.ndimage import gaussian_filter1d
from scipy.signal import find_peaks, peak_widths

from softgrasp.errors import DescriptionError
from softgrasp.mechanics.transforms import Array

SMOOTHING = 0.002
"""Standard deviation of the smoothing, in lengths of the profile [–]."""
MIN_DEPTH = 0.03
"""Prominence of a valley over the median height, at least [–]."""
MIN_DEPTH_RATIO = 0.15
"""Prominence of a valley over that of the deepest, at least [–]."""
STANDS_OUT = 2.0
"""Prominence of the least valley that is expected over that of the first that is not [–]."""
BOTTOM = 0.05
"""Part of a valley's prominence that counts as its ground [–]."""


class Valleys(NamedTuple):
    """Valleys of a profile, in order."""

    positions: Array
    """Along the axis, in the middle of their ground [m], (n,)."""
    depths: Array
    """Prominences [m], (n,)."""


def find_valleys(positions: ArrayLike, heights: ArrayLike, expected: int | None = None) -> Valleys:
    """Find the valleys of a profile, to a fraction of the distance of its samples.

    Args:
        positions: Evenly spaced and ascending [m], (m,).
        heights: Of the finger there [m], (m,).
        expected: How many there are, where that is known; then those are taken that are deepest,
            if they stand out from the others.

    Raises:
        DescriptionError: There is no valley, or not as many as expected; tells what was found and
            how to give them by hand.
    """
    along, profile = np.asarray(positions, dtype=float), np.asarray(heights, dtype=float)
    smooth = gaussian_filter1d(profile, SMOOTHING * len(profile))
    min_depth = MIN_DEPTH * float(np.median(smooth))
    minima, properties = find_peaks(-smooth, prominence=min_depth)
    left, right = peak_widths(-smooth, minima, rel_height=BOTTOM)[2:]
    middles = np.interp(0.5 * (left + right), np.arange(len(along)), along)
    valleys = Valleys(middles, properties["prominences"])
    if expected is not None:
        return _deepest(valleys, expected, min_depth)
    if not len(minima):
        raise _refused("valleys between bellows", valleys, min_depth)
    return _taken(valleys, valleys.depths >= MIN_DEPTH_RATIO * valleys.depths.max())


def _deepest(valleys: Valleys, count: int, min_depth: float) -> Valleys:
    order = np.argsort(valleys.depths)[::-1]
    if count < 1:
        raise DescriptionError(f"expected at least 1 valley, found {count} asked for")
    if len(order) < count:
        raise _refused(f"{count} valley{'s' * (count != 1)} between bellows", valleys, min_depth)
    taken, left = order[:count], order[count:]
    if len(left) and valleys.depths[taken[-1]] < STANDS_OUT * valleys.depths[left[0]]:
        raise _refused(f"{count} valley{'s' * (count != 1)} deeper than others", valleys, min_depth)
    return _taken(valleys, np.isin(np.arange(len(order)), taken))


def _taken(valleys: Valleys, which: NDArray[np.bool_]) -> Valleys:
    return Valleys(valleys.positions[which], valleys.depths[which])


def _refused(expected: str, valleys: Valleys, min_depth: float) -> DescriptionError:
    count = len(valleys.positions)
    detected = f"none that is {min_depth * 1e3:.2g} mm deep"
    if count:
        detected = (
            f"{count}, at {_millimetres(valleys.positions)} mm and {_millimetres(valleys.depths)} mm "
            "deep"
        )
    return DescriptionError(
        f"expected {expected}, found {detected}; give their places along the finger by hand, from the "
        "base in metres, such as valleys=(0.008, 0.016)"
    )


def _millimetres(lengths: Array) -> str:
    return ", ".join(f"{length:.3g}" for length in (1e3 * lengths).tolist())
