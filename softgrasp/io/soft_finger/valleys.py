"""Valleys between the bellows of a finger, in the profile of its height.

A valley is a minimum of the smoothed height. Its prominence (height that has to be climbed to leave
it towards the lower side) is at least ``MIN_DEPTH`` of the median height, which surface noise does
not reach, and at least ``MIN_DEPTH_RATIO`` of the most prominent one, which ripples on the bellows
do not reach. Minima between which the height does not rise by ``MIN_DEPTH`` are one valley: a flat
bottom has several.
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
"""Standard deviation of the smoothing over the length of the profile [–]."""
MIN_DEPTH = 0.03
"""Smallest prominence of a valley over the median height [–]."""
MIN_DEPTH_RATIO = 0.15
"""Smallest prominence of a valley over that of the deepest [–]."""
STANDS_OUT = 2.0
"""Smallest ratio of prominences of the last expected valley and the first unexpected one [–]."""
BOTTOM = 0.05
"""Fraction of the prominence of a valley that belongs to its bottom [–]."""


class Valleys(NamedTuple):
    """Valleys between the bellows of a finger's profile, in order."""

    positions: Array
    """Along the axis, in the middle of the bottom [m], (n,)."""
    depths: Array
    """Prominences [m], (n,)."""


def find_valleys(positions: ArrayLike, heights: ArrayLike, expected: int | None = None) -> Valleys:
    """Detect the valleys of a profile, with sub-sample resolution; there may be none.

    Args:
        positions: Evenly spaced and ascending [m], (m,).
        heights: Height of the finger [m], (m,).
        expected: Number of valleys, if known; the deepest ones are taken if they are clearly
            deeper than the others.

    Raises:
        DescriptionError: There is not the expected number; the message has those detected.
    """
    along, profile = np.asarray(positions, dtype=float), np.asarray(heights, dtype=float)
    smooth = gaussian_filter1d(profile, SMOOTHING * len(profile))
    min_depth = MIN_DEPTH * float(np.median(smooth))
    minima, properties = find_peaks(-smooth, prominence=min_depth)
    separate = _separate(smooth, minima, min_depth)
    minima = minima[separate]
    left, right = peak_widths(-smooth, minima, rel_height=BOTTOM)[2:]
    middles = np.interp(0.5 * (left + right), np.arange(len(along)), along)
    valleys = Valleys(middles, properties["prominences"][separate])
    if expected is not None:
        return _deepest(valleys, expected, min_depth)
    return _take(valleys, valleys.depths >= MIN_DEPTH_RATIO * valleys.depths.max(initial=0.0))


def _separate(smooth: Array, minima: NDArray[np.intp], min_depth: float) -> NDArray[np.intp]:
    """Return indices of minima from which the profile rises by ``min_depth`` before the next.

    Prominences do not distinguish equally deep minima of one flat bottom.
    """
    kept: list[int] = []
    for index, here in enumerate(minima):
        if kept:
            before = minima[kept[-1]]
            higher = max(smooth[before], smooth[here])
            if smooth[before : here + 1].max() - higher < min_depth:
                if smooth[here] < smooth[before]:
                    kept[-1] = index
                continue
        kept.append(index)
    return np.array(kept, dtype=np.intp)


def _deepest(valleys: Valleys, count: int, min_depth: float) -> Valleys:
    order = np.argsort(valleys.depths)[::-1]
    if count < 1:
        raise DescriptionError(f"expected at least 1 valley, found {count}")
    if len(order) < count:
        raise _refused(f"{count} valley{'s' * (count != 1)} between bellows", valleys, min_depth)
    taken, left = order[:count], order[count:]
    if len(left) and valleys.depths[taken[-1]] < STANDS_OUT * valleys.depths[left[0]]:
        raise _refused(f"{count} valley{'s' * (count != 1)} deeper than others", valleys, min_depth)
    return _take(valleys, np.isin(np.arange(len(order)), taken))


def _take(valleys: Valleys, which: NDArray[np.bool_]) -> Valleys:
    return Valleys(valleys.positions[which], valleys.depths[which])


def _refused(expected: str, valleys: Valleys, min_depth: float) -> DescriptionError:
    count = len(valleys.positions)
    detected = f"none that is {min_depth * 1e3:.2g} mm deep"
    if count:
        detected = (
            f"{count}, at {_millimetres(valleys.positions)} mm and "
            f"{_millimetres(valleys.depths)} mm deep"
        )
    return DescriptionError(
        f"expected {expected}, found {detected}; give their positions along the finger, from the "
        "base in metres, such as valleys=(0.008, 0.016), --valleys 8mm,16mm"
    )


def _millimetres(lengths: Array) -> str:
    return ", ".join(f"{length:.3g}" for length in (1e3 * lengths).tolist())
