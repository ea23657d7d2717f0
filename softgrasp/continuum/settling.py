"""Settling of a released finger: overshoots and settling time of the height of its tip.

Published numbers depend on the rule as much as on the finger, so each rule has a name (``RULES``):

``paper000``
    That of the public repository of paper 000. The height, at 960 samples per second, is smoothed
    by a Gaussian of 4 samples. Extrema are the first sample, and peaks and valleys with a
    prominence of 0.9 mm, 30 samples from the next of their kind. The first one counts; another
    counts where it is more than 1 mm above or below both its neighbours, so the last one, which has
    only one neighbour, does not. Overshoots are those that count except the first; the time is that
    of the last plus half the interval before it.
``extrema-1mm``
    The text of the paper, on the same extrema: an overshoot is an extremum more than 1 mm above or
    below the previous one. The time is that of the last.
``band-2%``, ``band-5%``, ``band-1mm``
    The time from which on the height stays within 2 or 5 % of the initial deflection, or 1 mm, of
    its final value: the mean of the last tenth of the motion. The initial deflection is that of the
    first sample from the final value. An overshoot is a swing out of the band, on the other side
    than the previous swing; its extremum is its largest deflection.

``from_webots`` converts dampers that were identified in an engine with implicit springs, such as
ODE in Webots: a spring k that acts at the end of a step h, k·(q + h·q̇), adds a damping of h·k.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from softgrasp.description.soft_finger import SoftFinger
from softgrasp.errors import DescriptionError, did_you_mean
from softgrasp.mechanics.transforms import Array

RATE = 960.0
"""Sampling rate of the rule of paper 000; other signals are resampled to it [1/s]."""
SMOOTHING = 4.0 / RATE
"""Standard deviation of the Gaussian of paper 000 [s]."""
MIN_INTERVAL = 30.0 / RATE
"""Shortest time between two peaks, and between two valleys [s]."""
PROMINENCE, SWING = 0.9e-3, 1e-3
"""Smallest prominence of an extremum, and smallest swing that counts [m]."""
FINAL_FRACTION = 0.1
"""Fraction of the motion whose mean is the final value [–]."""
MIN_HALF_SWINGS = 1.5
"""Half swings that have to be recorded after the last extremum of a settled motion."""
ROUNDING = 1e-12
"""Relative rounding error of a constant height [–]."""
BANDS = {"band-2%": 0.02, "band-5%": 0.05}
"""Half widths over the initial deflection [–]."""
RULES = ("paper000", "extrema-1mm", *BANDS, "band-1mm")
"""Names of the rules."""


# Overshoots and settling time.


class Settling(NamedTuple):
    """Overshoots and settling time of a motion."""

    overshoots: int
    """Number of overshoots; 0 for a signal that is not finite."""
    time: float
    """Settling time from the first sample on [s]; NaN where the signal is not finite or ends before
    it has settled, and then the overshoots are those so far."""
    extremum_times: Array
    """Times of the first sample and of the overshoots, in the time of the signal [s], (n + 1,)."""
    extremum_heights: Array
    """Their heights, smoothed as the rule requires [m], (n + 1,)."""


def settling(
    time: ArrayLike, height: ArrayLike, rule: str = "paper000", *, smoothing: float | None = None
) -> Settling:
    """Count overshoots and compute the settling time (Hadi et al. 2025, III-B, Fig 4).

    The result does not depend on the sampling rate, the sign or the origin of the height: times are
    interpolated between samples. Without an overshoot the two rules on extrema define no time, and
    that of ``band-1mm`` is returned; without motion it is 0.

    Args:
        time: Ascending [s], (T,).
        height: Height of the tip [m], (T,).
        rule: One of ``RULES``; see the module.
        smoothing: Standard deviation of a Gaussian [s]; by default 4/960 s for the rules on extrema
            and none for the bands.

    Raises:
        DescriptionError: No such rule, times that do not ascend, other shapes, fewer than three
            samples or a smoothing below 0.
    """
    times, heights = _check(time, height)
    by_extrema = rule in ("paper000", "extrema-1mm")
    if rule not in RULES:
        raise DescriptionError(f"no rule '{rule}'; {did_you_mean(rule, RULES)}", field="rule")
    if smoothing is None:
        smoothing = SMOOTHING if by_extrema else 0.0
    if not 0.0 <= smoothing < np.inf:
        raise DescriptionError(f"expected a time at least 0, found {smoothing}", field="smoothing")
    if not np.isfinite(heights).all():
        return Settling(0, np.nan, times[:0], heights[:0])
    if by_extrema or smoothing > 0.0:
        times, heights = _smooth(times, heights, smoothing)
    return (_by_extrema if by_extrema else _by_band)(times, heights, rule)


def _check(time: ArrayLike, height: ArrayLike) -> tuple[Array, Array]:
    times, heights = np.asarray(time, dtype=float), np.asarray(height, dtype=float)
    if times.ndim != 1 or times.shape != heights.shape or len(times) < 3:
        raise DescriptionError(
            "expected a time and a height for each of three or more samples, found shapes "
            f"{times.shape} and {heights.shape}",
            field="height",
        )
    if not (np.isfinite(times).all() and (times[1:] > times[:-1]).all()):
        raise DescriptionError("expected finite times that ascend, found others", field="time")
    return times, heights


def _smooth(times: Array, heights: Array, smoothing: float) -> tuple[Array, Array]:
    """Resample to 960 samples per second, the rate of the settling rule, and smooth."""
    count = max(int((times[-1] - times[0]) * RATE + 1e-6) + 1, 3)
    even = times[0] + np.arange(count) / RATE
    sampled = np.interp(even, times, heights)
    if smoothing > 0.0:
        sampled = scipy.ndimage.gaussian_filter1d(sampled, smoothing * RATE)
    return even, sampled


def _by_extrema(times: Array, heights: Array, rule: str) -> Settling:
    at, tops = _extrema(times, heights)
    swings = np.abs(np.diff(tops)) > SWING
    counts = np.ones(len(at), dtype=bool)
    counts[1:] = swings
    if rule == "paper000":
        counts[1:-1] &= swings[1:]
        counts[1:][-1:] = False
    kept, values = at[counts], tops[counts]
    if len(kept) == 1:
        end = _by_band(times, heights, "band-1mm").time
    else:
        half = 0.5 * (kept[-1] - kept[-2]) if rule == "paper000" else 0.0
        # no result where the motion may continue after the recording
        seen = times[-1] - at[-1] >= MIN_HALF_SWINGS * (at[-1] - at[-2])
        end = float(kept[-1] + half - times[0]) if seen else np.nan
    return Settling(len(kept) - 1, end, kept, values)


def _extrema(times: Array, heights: Array) -> tuple[Array, Array]:
    """Return the first sample, peaks and valleys, each at the vertex of a parabola."""
    extrema = [
        scipy.signal.find_peaks(signal, prominence=PROMINENCE, distance=MIN_INTERVAL * RATE)[0]
        for signal in (heights, -heights)
    ]
    indices: NDArray[np.intp] = np.sort(np.concatenate(extrema))
    before, here, after = heights[indices - 1], heights[indices], heights[indices + 1]
    bend = before - 2.0 * here + after
    slope = 0.5 * (after - before)
    shift = -np.divide(slope, bend, out=np.zeros_like(bend), where=bend != 0.0)
    at = times[indices] + shift * (times[1] - times[0])
    return np.append(times[0], at), np.append(heights[0], here + 0.5 * slope * shift)


def _by_band(times: Array, heights: Array, rule: str) -> Settling:
    ending = times >= times[-1] - FINAL_FRACTION * (times[-1] - times[0])
    final = float(heights[ending].mean())
    away = heights - final
    width = BANDS[rule] * abs(float(away[0])) if rule in BANDS else SWING
    width += ROUNDING * abs(final)
    outside = np.flatnonzero(np.abs(away) > width)
    if not len(outside):
        return Settling(0, 0.0, times[:1], heights[:1])
    side = np.sign(away[outside])
    swings = np.split(outside, np.flatnonzero(side[1:] != side[:-1]) + 1)
    tops = np.array([0] + [swing[np.abs(away[swing]).argmax()] for swing in swings[1:]])
    last = int(outside[-1])
    end = np.nan
    if not ending[last]:
        fraction = (abs(away[last]) - width) / (abs(away[last]) - side[-1] * away[last + 1])
        end = float(times[last] - times[0] + fraction * (times[last + 1] - times[last]))
    return Settling(len(swings) - 1, end, times[tops], heights[tops])


# Damping of engines with implicit springs.


def from_webots(finger: SoftFinger, timestep: float) -> SoftFinger:
    """Convert damping identified in Webots at a time step h: total damping is c + h·k.

    Args:
        finger: With dampers as in Webots.
        timestep: Basic time step h there [s].

    Raises:
        DescriptionError: The time step is negative.
    """
    if not timestep >= 0.0:
        raise DescriptionError(f"expected a time of at least 0, found {timestep}", field="timestep")
    joints = (
        joint.replace(damping=joint.damping + timestep * joint.stiffness) for joint in finger.joints
    )
    return finger.replace(joints=tuple(joints))
