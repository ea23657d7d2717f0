"""When a released finger has settled, and how often it overshot: rules on the height of its tip.

Published numbers depend on the rule as much as on the finger, so each has a name (``RULES``):

``paper000``
    That of the public repository of paper 000. The height, at 960 samples a second, is smoothed by
    a Gaussian of 4 samples. Extrema are the first sample, and the peaks and valleys that are 0.9 mm
    prominent and 30 samples from the next of their kind. The first one counts; another counts where
    it is more than 1 mm above or below both its neighbours, and so the last one found, which has
    one neighbour only, does not. Overshoots are those that count but the first; the time is that
    of the last plus half the interval before it.
``extrema-1mm``
    The paper's own words, on the same extrema: an overshoot is an extremum more than 1 mm above or
    below the one before. The time is that of the last.
``band-2%``, ``band-5%``, ``band-1mm``
    The time from which on the height stays within 2 or 5 % of the initial deflection, or 1 mm, of
    its final value: the mean of the last tenth of the motion. The initial deflection is that of the
    first sample from the final value. An overshoot is a swing out of the band, on the other side
    than the swing before; its extremum is where it goes farthest.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.ndimage import gaussian_filter1d
from scipy.signal import find_peaks

from softgrasp.description.soft_finger import SoftFinger
from softgrasp.errors import DescriptionError, did_you_mean
from softgrasp.mechanics.transforms import Array

RATE = 960.0
"""Samples a second for which paper 000 states its rule; other signals are resampled to it [1/s]."""
SMOOTHING = 4.0 / RATE
"""Standard deviation of the Gaussian of paper 000 [s]."""
APART = 30.0 / RATE
"""Two peaks are at least so far from each other, and so are two valleys [s]."""
PROMINENCE, SWING = 0.9e-3, 1e-3
"""An extremum stands out by at least, and counts above [m]."""
ENDING = 0.1
"""Part of the motion whose mean is the final value [–]."""
STILL = 1.5
"""Half swings that a motion must be watched after its last extremum before it counts as settled."""
ROUNDING = 1e-12
"""A height that stands still strays by so much of itself [–]."""
BANDS = {"band-2%": 0.02, "band-5%": 0.05}
"""Half widths over the initial deflection [–]."""
RULES = ("paper000", "extrema-1mm", *BANDS, "band-1mm")


class Settling(NamedTuple):
    """How a motion came to rest."""

    overshoots: int
    """How many; 0 for a signal that is not finite."""
    time: float
    """From the first sample on [s]; NaN where the signal is not finite or ends before it settled,
    and then the overshoots are those so far."""
    extremum_times: Array
    """Of the first sample and of the overshoots, as the signal's own times [s], (n + 1,)."""
    extremum_heights: Array
    """There, smoothed as the rule was applied [m], (n + 1,)."""


def settling(
    time: ArrayLike, height: ArrayLike, rule: str = "paper000", *, smoothing: float | None = None
) -> Settling:
    """Count overshoots and find the settling time of a motion (paper 000, II-B and Fig 4).

    The answer does not depend on the sampling rate, the sign or the origin of the height: times
    are found between samples. Without an overshoot the two rules on extrema say nothing of the
    time, and that of ``band-1mm`` is given; without motion it is 0.

    Args:
        time: Ascending [s], (T,).
        height: Of the tip [m], (T,).
        rule: One of ``RULES``; the module says what each means.
        smoothing: Standard deviation of a Gaussian [s]; where not given, 4/960 s for the rules on
            extrema and none for the bands.

    Raises:
        DescriptionError: No such rule, times that do not ascend, other shapes, fewer than three
            samples or a smoothing below 0.
    """
    times, heights = _checked(time, height)
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
        times, heights = _smoothed(times, heights, smoothing)
    return (_by_extrema if by_extrema else _by_band)(times, heights, rule)


def _checked(time: ArrayLike, height: ArrayLike) -> tuple[Array, Array]:
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


def _smoothed(times: Array, heights: Array, smoothing: float) -> tuple[Array, Array]:
    """Both at 960 samples a second: the rule is stated there, and fewer samples are faster."""
    count = max(int((times[-1] - times[0]) * RATE + 1e-6) + 1, 3)
    even = times[0] + np.arange(count) / RATE
    sampled = np.interp(even, times, heights)
    return even, gaussian_filter1d(sampled, smoothing * RATE) if smoothing > 0.0 else sampled


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
        # where the motion could have gone on unseen nothing can be said
        seen = times[-1] - at[-1] >= STILL * (at[-1] - at[-2])
        end = float(kept[-1] + half - times[0]) if seen else np.nan
    return Settling(len(kept) - 1, end, kept, values)


def _extrema(times: Array, heights: Array) -> tuple[Array, Array]:
    """First sample, peaks and valleys in order, each at the top of a parabola through three."""
    extrema = [
        find_peaks(signal, prominence=PROMINENCE, distance=APART * RATE)[0]
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
    ending = times >= times[-1] - ENDING * (times[-1] - times[0])
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


# --------------------
# Dampers in engines that take springs implicitly, such as ODE in Webots, and elsewhere.
#
# A spring k that is taken at the end of a step h, k·(q + h·q̇), damps by h·k besides. So a
# damping
# that was identified there belongs to its time step.


def from_webots(finger: SoftFinger, timestep: float) -> SoftFinger:
    """The finger with all of its damping, c + h·k, from one identified at a time step.

    Args:
        finger: With dampers as they stand in Webots.
        timestep: Basic time step h there [s].

    Raises:
        DescriptionError: The time step is negative.
    """
    _check(timestep)
    return _with(finger, [j.damping + timestep * j.stiffness for j in finger.joints])


def _with(finger: SoftFinger, damping: list[float]) -> SoftFinger:
    pairs = zip(finger.joints, damping, strict=True)
    return finger.replace(joints=tuple(joint.replace(damping=c) for joint, c in pairs))


def _check(timestep: float) -> None:
    if not timestep >= 0.0:
        raise DescriptionError(f"expected a time of at least 0, found {timestep}", field="timestep")
