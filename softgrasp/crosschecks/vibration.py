"""Frequency and damping of a recorded vibration: the same fit for all engines."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.optimize import least_squares

from softgrasp.mechanics.transforms import Array
from softgrasp.simulation.finger_mode import LinearMode

LARGEST, SMALLEST = 0.2, 2e-3
"""The fit looks at the vibration while its envelope falls from the one to the other, over that at
the release: faster modes have died away by then, large angles too, and rounding is far below."""
MIN_PERIODS = 1.0


class Vibration(NamedTuple):
    """y = offset + amplitude·exp(−ζωt)·cos(ω√(1 − ζ²)·t + phase), fitted to a signal."""

    frequency: float
    """ω√(1 − ζ²)/2π [Hz]; NaN where the signal ends too soon."""
    ratio: float
    """ζ [–]"""
    residual: float
    """Root mean square of what is left over that of the signal [–]."""


def window(expected: LinearMode, duration: float) -> tuple[float, float]:
    """From when to when the fit looks [s].

    Args:
        expected: About what the vibration is.
        duration: Of the signal [s].
    """
    ends = [math.log(1.0 / part) / expected.decay for part in (LARGEST, SMALLEST)]
    return ends[0], min(ends[1], duration)


def vibration(time: Array, signal: Array, expected: LinearMode) -> Vibration:
    """Fit a damped cosine.

    Args:
        time: [s], (T,).
        signal: Any unit, (T,).
        expected: About what it is; where the fit begins, and what part it looks at.

    Returns:
        NaN where the motion does not swing, or ends less than a period into the part that counts.
    """
    nothing = Vibration(math.nan, math.nan, math.nan)
    if expected.frequency <= 0.0 or not expected.ratio < 1.0:
        return nothing
    start, end = window(expected, float(time[-1]))
    if end - start < MIN_PERIODS / expected.frequency or not np.isfinite(signal).all():
        return nothing
    inside = (time >= start) & (time <= end)
    t, y = time[inside] - start, signal[inside]
    scale = float(np.ptp(y)) or 1.0

    def left(rates: Array) -> Array:
        shapes = _shapes(t, rates)
        return np.asarray(shapes @ np.linalg.lstsq(shapes, y / scale, rcond=None)[0] - y / scale)

    swing = 2.0 * math.pi * expected.frequency
    solution = least_squares(
        left, [expected.decay, swing], x_scale=[expected.decay, swing], xtol=1e-13, ftol=1e-13
    )
    decay, turning = solution.x.tolist()
    rms = float(np.sqrt(np.mean(solution.fun**2)) / np.std(y / scale)) if np.std(y) else math.nan
    return Vibration(abs(turning) / (2.0 * math.pi), decay / math.hypot(decay, turning), rms)


def _shapes(t: Array, rates: Array) -> Array:
    decay, swing = rates
    envelope = np.exp(-decay * t)
    return np.stack(
        [np.ones_like(t), envelope * np.cos(swing * t), envelope * np.sin(swing * t)], 1
    )
