"""Check tracked tips of releases against the simulated ones.

The simulated motion of each release, with several dampings, is compared with other readings of the
track: a clock that starts early or late, another frame rate, another scale, exchanged weights.
Short parts of a track that deviate are jumps of the tracker.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from softgrasp.calibration.measurement_checks import Finding, doubt
from softgrasp.calibration.objectives import Block
from softgrasp.calibration.stages import VirtualExperiments
from softgrasp.description.calibration import CalibrationProblem, Release
from softgrasp.mechanics.transforms import Array

DAMPINGS = 9
"""Number of dampings, between the bounds, with which a reading is compared."""
BETTER = 2.0
"""Ratio of residuals from which another reading is reported [–]."""
REFUTED = 4.0
"""The same from which the fit is not credible [–]."""
DELAYS = np.linspace(-0.3, 0.3, 241)
"""Delays that are tried [s]."""
MIN_DELAY = 0.01
"""Smallest delay that is reported [s]."""
RATES = (0.1, 0.125, 0.2, 0.25, 1 / 3, 0.4, 0.5, 0.8, 1.25, 2.0, 2.5, 3.0, 4.0, 5.0, 8.0, 10.0)
"""Factors of the times that are tried [–]."""
SCALE = 1.15
"""Smallest factor of the heights that is reported [–]."""
LONGEST = 10.0
"""Longest simulated motion [s]."""
JUMP, SHORT = 6.0, 0.15
"""Deviation over the usual one from which samples belong to a jump, and largest part of a track
that is one [–]."""
MATERIAL = 0.02
"""Smallest jump over the range of the track that is reported [–]."""
EXPLAINED = 0.3
"""Part of the squared residuals that jumps must explain to be reported [–]."""

Reading = Callable[[int, Array], Array]
"""Number of a track and simulated times → simulated heights of each damping, (d, T) [m]."""


@dataclass(frozen=True)
class Tracks:
    """Tracks of releases with simulated motions.

    Args:
        releases: Releases with tracks.
        time: Simulated times since the release, (T,) [s].
        heights: Simulated heights of the tip, (d, l, T) [m], for d dampings.
    """

    releases: Sequence[Release]
    time: Array
    heights: Array

    @classmethod
    def of(
        cls, problem: CalibrationProblem, experiments: VirtualExperiments, stiffness: Array,
        block: Block,
    ) -> Tracks:  # fmt: skip
        """Simulate the releases of a problem.

        Args:
            problem: Calibration problem with tracks.
            experiments: Virtual experiments of its finger.
            stiffness: Joint by joint [N·m/rad], (n,).
            block: Damping with its bounds.
        """
        releases = [
            release for release in problem.releases if release.times and not release.held_out
        ]
        dampings = np.geomspace(block.lower[0], block.upper[0], DAMPINGS)
        damping = np.repeat(dampings[:, None], len(stiffness), axis=1)
        duration = min(2.0 * max(release.times[-1] for release in releases), LONGEST)
        springs = np.repeat(stiffness[None], DAMPINGS, axis=0)
        time, heights = experiments.simulate_releases(springs, damping, releases, duration)
        return cls(releases, time, heights)

    def readings(self) -> Iterator[Finding]:
        """Yield the reading of the tracks that fits best, where it is far better."""
        now = self._left(self._at(0.0))[0]
        tried = [*self._delays(), *self._rates(), *self._scales(), *self._exchanges()]
        if not tried or not np.isfinite(now):
            return
        left, words = min(tried)
        ratio = now / max(left, 1e-12)
        if ratio > BETTER:
            sentence = f"dampers: the residual is {ratio:.2g} times smaller if {words}"
            yield doubt(sentence, refutes=ratio > REFUTED)

    def jumps(self, residuals: Array) -> Iterator[Finding]:
        """Yield the part of a track that deviates far more than the rest.

        Args:
            residuals: Measured minus simulated heights of all tracks [m], (m,).
        """
        ends = np.cumsum([len(release.times) for release in self.releases])[:-1]
        for one, left in zip(self.releases, np.split(residuals, ends), strict=True):
            apart = np.abs(left - np.median(left))
            far = apart > JUMP * float(np.median(apart))
            explained = float(np.square(apart[far]).sum() / max(np.square(apart).sum(), 1e-30))
            small = apart.max() < MATERIAL * np.ptp(one.heights)
            if small or not 0 < far.sum() < SHORT * len(left) or explained < EXPLAINED:
                continue
            first = int(np.argmax(far))
            last = first + int(np.argmin(np.append(far[first:], False))) - 1
            yield doubt(
                f"dampers: the track of {1e3 * one.mass:g} g deviates by "
                f"{1e3 * apart[first : last + 1].max():.2g} mm from {one.times[first]:.3g} to "
                f"{one.times[last]:.3g} s, as where the tracker jumps: this alone explains "
                f"{100 * explained:.3g} % of the squared residuals of this track"
            )
            return

    # Readings

    def _at(self, delay: float, rate: float = 1.0, order: Sequence[int] | None = None) -> Reading:
        def heights(index: int, times: Array) -> Array:
            simulated = self.heights[:, index if order is None else order[index]]
            at = (times - delay) * rate
            return np.array([np.interp(at, self.time, row) for row in simulated])

        return heights

    def _delays(self) -> Iterator[tuple[float, str]]:
        for delay in DELAYS[np.abs(DELAYS) > MIN_DELAY].tolist():
            word = "before" if delay > 0.0 else "after"
            words = f"the clock of the tracks starts {abs(delay):.2g} s {word} the release"
            yield self._left(self._at(delay))[0], words

    def _rates(self) -> Iterator[tuple[float, str]]:
        longest = max(release.times[-1] for release in self.releases)
        for rate in RATES:
            if longest * rate <= self.time[-1] + 1e-9:
                words = f"the frame rate is {1.0 / rate:.3g} times the one used"
                yield self._left(self._at(0.0, rate))[0], words

    def _scales(self) -> Iterator[tuple[float, str]]:
        left, factor = self._left(self._at(0.0), scaled=True)
        if factor > 0.0 and max(factor, 1.0 / factor) > SCALE:
            words = (
                f"the heights are {factor:.3g} times those of the simulated finger: compare the "
                "scale of the pictures and the weights"
            )
            yield left, words

    def _exchanges(self) -> Iterator[tuple[float, str]]:
        count = len(self.releases)
        grams = [f"{1e3 * release.mass:g} g" for release in self.releases]
        orders = {tuple(range(count))[::-1]: "the tracks are in the reverse order of the weights"}
        for a, b in combinations(range(count), 2):
            order = list(range(count))
            order[a], order[b] = b, a
            orders[tuple(order)] = f"the tracks of {grams[a]} and {grams[b]} are exchanged"
        for exchanged, words in orders.items():
            if count > 1:
                yield self._left(self._at(0.0, order=exchanged))[0], words

    def _left(self, reading: Reading, *, scaled: bool = False) -> tuple[float, float]:
        """Return the residual of the best damping, rms [m], and the factor of the heights."""
        measured = [
            np.array(release.heights) - np.mean(release.heights) for release in self.releases
        ]
        shown = [reading(i, np.array(one.times)) for i, one in enumerate(self.releases)]
        centred = [entry - entry.mean(axis=1, keepdims=True) for entry in shown]
        simulated, track = np.concatenate(centred, axis=1), np.concatenate(measured)
        factors = np.ones(len(simulated))
        if scaled:
            squares = np.maximum(np.square(simulated).sum(axis=1), 1e-30)
            factors = simulated @ track / squares
        errors = np.sqrt(np.square(track - factors[:, None] * simulated).mean(axis=1))
        errors = np.nan_to_num(errors, nan=np.inf)
        best = int(errors.argmin())
        return float(errors[best]), float(factors[best])
