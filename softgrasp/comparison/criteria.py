"""One quantity that engines are compared in, and the verdict."""

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
"""Units that are counted."""
BACKENDS = ("mujoco", "ode")
"""Engines that are compared where none are named."""
FARTHEST = 2.0**7
"""Loads are tried up to so many times the object's own, and down to that part of it [–]."""
CLOSE = 1.03
"""Ratio of the lightest load that fell to the heaviest that was held, at which the search ends."""
ROUNDING = 1e-12
"""Changes below this part of the values are rounding [–]."""
LARGEST, SMALLEST = 0.2, 2e-3
"""The fit looks at the vibration while its envelope falls from the one to the other, over that at
the release: faster modes have died away by then, large angles too, and rounding is far below."""
MIN_PERIODS = 1.0


@dataclass(frozen=True, kw_only=True)
class Finding:
    """What engines say of one quantity, and how far they differ."""

    name: str
    """Short and without blanks, such as ``static_pose``."""
    quantity: str
    """In words."""
    unit: str
    """Of the values."""
    values: Mapping[str, float | str]
    """By backend; also closed forms, where there are some."""
    difference: float
    """The largest; NaN where something could not be compared, which does not pass."""
    difference_unit: str
    """Of difference and tolerance."""
    tolerance: float | None
    """None for what is told and not judged."""
    worst: str = ""
    """The backend that differs most."""
    note: str = ""

    @property
    def passed(self) -> bool:
        """Whether the difference is within the tolerance."""
        return self.tolerance is None or self.difference <= self.tolerance

    @property
    def sentence(self) -> str:
        """The verdict in words."""
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
        return measured(value, self.difference_unit)


def measured(value: float, unit: str) -> str:
    """A number with its unit; of what is counted there is 1 sample and there are 2 samples."""
    number = f"{value:.3g}"
    return f"{number} {SINGULAR.get(unit, unit) if number == '1' else unit}".rstrip()


def farthest(differences: Mapping[T, float]) -> tuple[T, float]:
    """What differs most, and by how much; NaN counts as most, and of equals the first.

    Args:
        differences: By backend, or by backend and body; not negative.
    """
    worst = max(differences, key=lambda name: _rank(differences[name]))
    return worst, differences[worst]


def percents(values: Mapping[str, float]) -> dict[str, float]:
    """How far all but the first are from the first [%]."""
    first, *others = values
    whole = abs(values[first])
    return {
        name: 100.0 * abs(values[name] - values[first]) / whole if whole else math.nan
        for name in others
    }


def _rank(difference: float) -> float:
    return math.inf if math.isnan(difference) else difference


# How far engines may differ; where the numbers come from stands in docs/crosscheck.md.


class Tolerances(Description):
    """Largest differences that pass, in the units of their names.

    Those of statics are from closed forms; all others are from the first backend.
    """

    static_deg: NonNegative = 1e-3
    """Of joint angles of a finger at rest under its weight."""
    trajectory_deg: NonNegative = 5e-3
    """Of joint angles of a finger after its release, at any sample, at the same time step."""
    frequency_percent: NonNegative = 0.1
    """Of the first mode."""
    damping_ratio_percent: NonNegative = 1.0
    """Of the first mode."""
    settling_percent: NonNegative = 1.0
    """Of the settling time (5 %); one sample of the recording passes in any case."""
    order: NonNegative = 0.2
    """Of the order with which a release converges, from 1."""
    normal_force_percent: NonNegative = 2.0
    """Of the normal force of each body at rest."""
    angle_deg: NonNegative = 0.1
    """Of joint angles of a hand at rest, besides ``angle_percent``."""
    angle_percent: NonNegative = 1.0
    """Of joint angles of a hand at rest, added to ``angle_deg``."""
    displacement_mm: NonNegative = 0.5
    """Of the object's place at rest: what the hold test lets an object move by default."""
    touch_samples: NonNegative = 1.0
    """Of the times at which bodies first touch, and stop, in control samples."""
    threshold_percent: NonNegative = 15.0
    """Of the critical density; nearer to it engines need not agree on what is held."""


# The heaviest object that is held, found by bisection, and where engines have to agree on it.


class Threshold(NamedTuple):
    """Between which loads the object begins to fall."""

    held: float | None
    """Heaviest load that was held; None where even the lightest fell."""
    dropped: float | None
    """Lightest load that fell; None where even the heaviest was held."""

    @property
    def middle(self) -> float | None:
        """Their geometric mean; None where there are not both."""
        if self.held is None or self.dropped is None:
            return None
        return math.sqrt(self.held * self.dropped)


class Verdicts:
    """Whether loads are held; each is asked once."""

    def __init__(self, holds: Callable[[float], bool]) -> None:
        """Ask nothing yet.

        Args:
            holds: Whether a load is held.
        """
        self._holds, self.known = holds, dict[float, bool]()

    def __call__(self, load: float) -> bool:
        """Whether a load is held."""
        if load not in self.known:
            self.known[load] = self._holds(load)
        return self.known[load]

    @property
    def monotonic(self) -> bool:
        """Whether nothing was held that is heavier than something that fell."""
        ordered = [held for _, held in sorted(self.known.items())]
        return ordered == sorted(ordered, reverse=True)

    @property
    def bracket(self) -> Threshold:
        """What is known so far; where heavier loads are held again, the first that fell counts."""
        dropped = min((load for load, held in self.known.items() if not held), default=None)
        upper = math.inf if dropped is None else dropped
        held = max(
            (load for load, held in self.known.items() if held and load < upper), default=None
        )
        return Threshold(held, dropped)


def find_threshold(verdicts: Verdicts, start: float = 1.0) -> Threshold:
    """Double or halve the load until it falls or is held, then bisect.

    Args:
        verdicts: Whether loads are held; what it knows already is used.
        start: Load to begin with.
    """
    if not verdicts.known:
        verdicts(start)
    while verdicts.bracket.dropped is None and max(verdicts.known) < FARTHEST * start:
        verdicts(2.0 * max(verdicts.known))
    while verdicts.bracket.held is None and min(verdicts.known) > start / FARTHEST:
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
    """Loads on which engines have to agree and do not.

    Args:
        loads: What was tried.
        held: Whether each was held, by backend.
        critical: Load at which the object begins to fall in the first backend; None where none was
            found, and then they have to agree everywhere.
        percent: Nearer to it they need not agree.
    """
    disagreeing = []
    for index, load in enumerate(loads):
        near = critical is not None and abs(load / critical - 1.0) <= 0.01 * percent
        if not near and len({verdicts[index] for verdicts in held.values()}) > 1:
            disagreeing.append(load)
    return disagreeing


# How answers change as the time step shrinks.


@dataclass(frozen=True)
class Convergence:
    """An engine's answers at several time steps, each half of the one before."""

    timesteps: Array
    """Descending [s], (m,)."""
    deviation: Array
    """Largest difference from the answer at the finest step, in the unit of the values, (m,)."""
    order: float
    """p of error ∝ hᵖ, from the three finest steps; NaN where there are fewer, or no change."""

    @property
    def shrinking(self) -> bool:
        """Whether every smaller step is nearer to the finest."""
        return bool((np.diff(self.deviation) < 0.0).all())


def convergence(timesteps: ArrayLike, values: ArrayLike) -> Convergence:
    """Deviations and order of answers.

    The order is log₂(|x(4h) − x(2h)| / |x(2h) − x(h)|): differences of neighbouring steps need no
    exact answer, while those from the finest step seem to fall faster than errors do.

    Args:
        timesteps: Descending, each half of the one before [s], (m,).
        values: An answer a step, (m, ...).
    """
    steps = np.asarray(timesteps, dtype=float)
    answers = np.asarray(values, dtype=float).reshape(len(steps), -1)
    deviation = np.abs(answers - answers[-1]).max(axis=1)
    changes = np.abs(np.diff(answers, axis=0)).max(axis=1)
    order = math.nan
    min_change = ROUNDING * float(np.abs(answers).max(initial=0.0))
    if len(changes) >= 2 and (changes[-2:] > min_change).all():
        order = math.log2(float(changes[-2] / changes[-1]))
    return Convergence(steps, deviation, order)


def halved(timestep: float, times: int, shortest: float = 0.0) -> list[float]:
    """A time step and its halves [s], those below the shortest of an engine left out.

    Args:
        timestep: The first [s].
        times: How often to halve it.
        shortest: [s]
    """
    steps = [timestep / 2**part for part in range(times + 1)]
    return [step for step in steps if step >= shortest * (1.0 - 1e-9)]


# Frequency and damping of a recorded vibration: the same fit for all engines.


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
