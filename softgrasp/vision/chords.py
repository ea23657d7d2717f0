"""How far a curve bulges to one side, seen over short chords."""

from __future__ import annotations

import numpy as np
from scipy.ndimage import gaussian_filter1d

from softgrasp.mechanics.transforms import Array

SMOOTHING = 0.06
"""Standard deviation of the smoothing along the curve over half a chord [–]."""


def chord_depths(curve: Array, reach: int) -> Array:
    """How far every point lies to the right of the chord that runs along with it, (n,) [pixels].

    Args:
        curve: Points about a pixel apart, (n, 2) [pixels]; right is as one sees the picture and
            walks along the curve.
        reach: The chord runs from this many points before to as many after.
    """
    indices = np.arange(len(curve))
    before = curve[(indices - reach).clip(0)]
    chord = curve[(indices + reach).clip(max=len(curve) - 1)] - before
    offset = curve - before
    cross = chord[:, 0] * offset[:, 1] - chord[:, 1] * offset[:, 0]
    lengths = np.maximum(np.linalg.norm(chord, axis=1), 1e-12)
    return np.asarray(gaussian_filter1d(cross / lengths, SMOOTHING * reach))
