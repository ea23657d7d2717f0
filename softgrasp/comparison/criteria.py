"""Findings and tolerances of a comparison of engines, critical loads, and convergence.

Here are tolerances (their sources are in docs/crosscheck.md), the search of the critical load by
bisection, the order of convergence with the time step, and the fit of the first mode.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import least_squares

from softgrasp.description.base import Description, NonNegative
from softgrasp.mechanics.transforms import Array
from softgrasp.sim.soft_dynamics import LinearMode

T = TypeVar("T")
SINGULAR = {
    "samples": "sample",
    "control samples": "control sample",
    "bodies": "body",
    "engines": "engine",
    "loads": "load",
}
"""Singular of units that are counted."""
BACKENDS = ("mujoco", "ode")
"""Engines that are compared by default."""
FARTHEST = 2.0**7
"""Largest factor, and inverse of the smallest, of the loads over that of the object [–]."""
CLOSE = 1.03
"""Ratio of the lightest dropped load to the heaviest held one at which the search ends [–]."""
ROUNDING = 1e-12
"""Relative changes below this are rounding errors [–]."""
LARGEST, SMALLEST = 0.2, 2e-3
"""Envelopes over that at the release between which the vibration is fitted [–]: then faster modes
and large angles have decayed, and rounding errors are far below."""


@dataclass(frozen=True, kw_only=True)
class Finding:
    """Values of one quantity in several engines, with their difference and its tolerance."""

    name: str
    """Identifier, such as ``static_pose``."""
    quantity: str
    """Quantity in words."""
    unit: str
    """Unit of the values."""
    values: Mapping[str, float | str]
    """Values by backend, with closed forms where there are any."""
    difference: float
    """Largest difference; NaN where a comparison was not possible, which does not pass."""
    difference_unit: str
    """Unit of difference and tolerance."""
    tolerance: float | None
    """Largest difference that passes; None for information only."""
    worst: str = ""
    """Backend with the largest difference."""
    note: str = ""

    @property
    def passed(self) -> bool:
        """Whether the difference is within the tolerance."""
        return self.tolerance is None or self.difference <= self.tolerance

    @property
    def sentence(self) -> str:
        """The verdict as a sentence."""
        who = f" in {self.worst}" if self.worst else ""
        if math.isnan(self.difference):
            text = f"{self.quantity}: could not be compared{who}"
        elif self.difference == 0.0:
            text = f"{self.quantity}: equal"
        elif self.tolerance is None:
            text = f"{self.quantity}: {self._in_words(self.difference)} apart{who}"
        else:
            relation = "within" if self.passed else "beyond"
            text = (
                f"{self.quantity}: {self._in_words(self.difference)} apart{who}, {relation} the "
                f"tolerance of {self._in_words(self.tolerance)}"
            )
        return f"{text}; {self.note}" if self.note else text

    def _in_words(self, value: float) -> str:
        return measure(value, self.difference_unit)


def measure(value: float, unit: str) -> str:
    """Write a number with its unit, in singular or plural: 1 sample, 2 samples."""
    number = f"{value:.3g}"
    return f"{number} {SINGULAR.get(unit, unit) if number == '1' else unit}".rstrip()


def farthest(differences: Mapping[T, float]) -> tuple[T, float]:
    """Return key and value of the largest difference; NaN is largest, of equals the first."""
    worst = max(differences, key=lambda name: (math.isnan(differences[name]), differences[name]))
    return worst, differences[worst]


def percents(values: Mapping[str, float]) -> dict[str, float]:
    """Compute the relative differences from the first value [%]."""
    first, *others = values
    whole = abs(values[first])
    return {
        name: 100.0 * abs(values[name] - values[first]) / whole if whole else math.nan
        for name in others
    }


# Tolerances


class Tolerances(Description):
    """Largest differences that pass, in the units that their names end with.

    In statics they are differences from closed forms, else from the first backend.
    """

    static_deg: NonNegative = 1e-3
    """Joint angles of a finger at rest under its weight."""
    trajectory_deg: NonNegative = 5e-3
    """Joint angles of a finger after its release, at any sample, with equal time steps."""
    frequency_percent: NonNegative = 0.1
    """Frequency of the first mode."""
    damping_ratio_percent: NonNegative = 1.0
    """Damping ratio of the first mode."""
    settling_percent: NonNegative = 1.0
    """Settling time to 5 %; one sample of the recording passes in any case."""
    order: NonNegative = 0.2
    """Order of convergence of a release, from 1."""
    normal_force_percent: NonNegative = 2.0
    """Normal force of each body at rest."""
    angle_deg: NonNegative = 0.1
    """Joint angles of a hand at rest, besides ``angle_percent``."""
    angle_percent: NonNegative = 1.0
    """Joint angles of a hand at rest, added to ``angle_deg``."""
    displacement_mm: NonNegative = 0.5
    """Position of the object at rest: the default largest displacement of the hold test."""
    touch_samples: NonNegative = 1.0
    """Times of first touches and of established contacts, in control samples."""
    threshold_percent: NonNegative = 15.0
    """Critical density; closer to it engines need not agree on held and dropped."""


# Critical load


class Threshold(NamedTuple):
    """Loads between which the object begins to fall: largest held and smallest dropped one."""

    held: float | None
    """Heaviest held load; None where even the lightest was dropped."""
    dropped: float | None
    """Lightest dropped load; None where even the heaviest was held."""

    @property
    def middle(self) -> float | None:
        """Geometric mean of the held and the dropped load; None where one is missing."""
        if self.held is None or self.dropped is None:
            return None
        return math.sqrt(self.held * self.dropped)


class Verdicts:
    """Cache of hold tests: whether loads are held."""

    def __init__(self, holds: Callable[[float], bool]) -> None:
        """Start with an empty cache of a function that tests whether a load is held."""
        self._holds, self.known = holds, dict[float, bool]()

    def __call__(self, load: float) -> bool:
        """Whether a load is held."""
        if load not in self.known:
            self.known[load] = self._holds(load)
        return self.known[load]

    @property
    def monotonic(self) -> bool:
        """Whether every held load is lighter than every dropped one."""
        ordered = [held for _, held in sorted(self.known.items())]
        return ordered == sorted(ordered, reverse=True)

    @property
    def bracket(self) -> Threshold:
        """Return the current bracket; the lightest dropped load counts over heavier held ones."""
        dropped = min((load for load, held in self.known.items() if not held), default=None)
        upper = math.inf if dropped is None else dropped
        lighter = [load for load, held in self.known.items() if held and load < upper]
        return Threshold(max(lighter, default=None), dropped)


def find_threshold(verdicts: Verdicts) -> Threshold:
    """Double or halve a load of 1 until it is dropped or held, then bisect between the two."""
    if not verdicts.known:
        verdicts(1.0)
    while verdicts.bracket.dropped is None and max(verdicts.known) < FARTHEST:
        verdicts(2.0 * max(verdicts.known))
    while verdicts.bracket.held is None and min(verdicts.known) > 1.0 / FARTHEST:
        verdicts(0.5 * min(verdicts.known))
    while (middle := verdicts.bracket.middle) is not None:
        held, dropped = verdicts.bracket
        if held is None or dropped is None or dropped <= CLOSE * held:
            break
        verdicts(middle)
    return verdicts.bracket


def disagreements(
    loads: Sequence[float],
    held: Mapping[str, Sequence[bool]],
    critical: float | None,
    percent: float,
) -> list[float]:
    """Return the loads, clear of the critical one, on which engines disagree.

    ``held`` states by backend whether each was held. Within some percent of the critical load of
    the first backend engines need not agree; without one they must on all loads.
    """
    disagreeing = []
    for index, load in enumerate(loads):
        near = critical is not None and abs(load / critical - 1.0) <= 0.01 * percent
        if not near and len({verdicts[index] for verdicts in held.values()}) > 1:
            disagreeing.append(load)
    return disagreeing


# Convergence


@dataclass(frozen=True)
class Convergence:
    """Results of an engine at several time steps, each half of the one before."""

    timesteps: Array
    """Time steps in descending order, (m,) [s]."""
    deviation: Array
    """Largest difference from the result at the smallest step, (m,), in the unit of the values."""
    order: float
    """p of error ∝ hᵖ, from the three smallest steps; NaN for fewer steps or without change."""

    @property
    def shrinking(self) -> bool:
        """Whether the deviation decreases with every smaller step."""
        return bool((np.diff(self.deviation) < 0.0).all())


def convergence(timesteps: ArrayLike, values: ArrayLike) -> Convergence:
    """Compute deviations and order of convergence.

    The order is log₂(|x(4h) − x(2h)| / |x(2h) − x(h)|): differences of neighbouring steps need no
    exact result, while those from the smallest step decrease faster than errors do.

    Args:
        timesteps: In descending order, each half of the one before, (m,) [s].
        values: One result per step, (m, ...).
    """
    steps = np.asarray(timesteps, dtype=float)
    results = np.asarray(values, dtype=float).reshape(len(steps), -1)
    deviation = np.abs(results - results[-1]).max(axis=1)
    changes = np.abs(np.diff(results, axis=0)).max(axis=1)
    order = math.nan
    min_change = ROUNDING * float(np.abs(results).max(initial=0.0))
    if len(changes) >= 2 and (changes[-2:] > min_change).all():
        order = math.log2(float(changes[-2] / changes[-1]))
    return Convergence(steps, deviation, order)


def halve(timestep: float, times: int, shortest: float = 0.0) -> list[float]:
    """Return a time step and its halves, not below the shortest of an engine [s]."""
    steps = [timestep / 2**part for part in range(times + 1)]
    return [step for step in steps if step >= shortest * (1.0 - 1e-9)]


# First mode


class Vibration(NamedTuple):
    """y = offset + amplitude·exp(−ζωt)·cos(ω√(1 − ζ²)·t + phase), fitted to a signal."""

    frequency: float
    """ω√(1 − ζ²)/2π [Hz]; NaN where the signal is too short."""
    ratio: float
    """ζ [–]"""
    residual: float
    """Root mean square of the residual over that of the signal [–]."""


def window(expected: LinearMode, duration: float) -> tuple[float, float]:
    """Return begin and end of the fitted part of a signal of a duration [s]."""
    ends = [math.log(1.0 / part) / expected.decay for part in (LARGEST, SMALLEST)]
    return ends[0], min(ends[1], duration)


def vibration(time: Array, signal: Array, expected: LinearMode) -> Vibration:
    """Fit a damped cosine to a signal (T,) of any unit over time (T,) [s].

    The expected vibration is the initial guess, and selects the fitted part. The result is NaN
    where the motion does not oscillate, or that part is shorter than a period.
    """
    nothing = Vibration(math.nan, math.nan, math.nan)
    if expected.frequency <= 0.0 or not expected.ratio < 1.0:
        return nothing
    start, end = window(expected, float(time[-1]))
    if end - start < 1.0 / expected.frequency or not np.isfinite(signal).all():
        return nothing
    inside = (time >= start) & (time <= end)
    t, y = time[inside] - start, signal[inside]
    scale = float(np.ptp(y)) or 1.0

    def residuals(rates: Array) -> Array:
        shapes = _shapes(t, rates)
        return np.asarray(shapes @ np.linalg.lstsq(shapes, y / scale, rcond=None)[0] - y / scale)

    swing = 2.0 * math.pi * expected.frequency
    solution = least_squares(
        residuals, [expected.decay, swing], x_scale=[expected.decay, swing], xtol=1e-13, ftol=1e-13
    )
    decay, rate = solution.x.tolist()
    rms = float(np.sqrt(np.mean(solution.fun**2)) / np.std(y / scale)) if np.std(y) else math.nan
    return Vibration(abs(rate) / (2.0 * math.pi), decay / math.hypot(decay, rate), rms)


def _shapes(t: Array, rates: Array) -> Array:
    decay, swing = rates
    cosine, sine = np.cos(swing * t), np.sin(swing * t)
    return np.stack([np.ones_like(t), np.exp(-decay * t) * cosine, np.exp(-decay * t) * sine], 1)
