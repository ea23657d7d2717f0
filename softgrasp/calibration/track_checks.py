"""Check videos, tracked tips of releases against the simulated ones, and repeated series.

A video has to show a release, last until rest, and have the right frame rate. The finger oscillates
in its first mode, whose frequency lies between those of the softest and of the stiffest springs
that the calibration allows.

The simulated motion of each release, with several dampings, is compared with other readings of the
track: a clock that starts early or late, another frame rate, another scale, exchanged weights.
Short parts of a track that deviate are jumps of the tracker.

What changed between repeated series of measurements is no noise. A series is the k-th row of each
weight or pressure, in the order of the file. The difference of a series from the mean of the others
is a line over that mean, d = a + b·y: an offset a, such as a camera that was moved, and a factor 1
+ b, such as a joint that broke. A t test with the scatter about all lines tells whether b is chance
(Seber and Lee, *Linear Regression Analysis*, 2003, ch. 4).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy import stats
from scipy.ndimage import maximum_filter1d, median_filter

from softgrasp.calibration.measurement_checks import Finding, doubt
from softgrasp.calibration.objectives import Block
from softgrasp.calibration.stages import VirtualExperiments
from softgrasp.description.calibration import CalibrationProblem, Release
from softgrasp.description.soft_finger import SoftFinger
from softgrasp.errors import DescriptionError
from softgrasp.mechanics.transforms import Array
from softgrasp.sim.soft_dynamics import first_mode

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
        for item, left in zip(self.releases, np.split(residuals, ends), strict=True):
            apart = np.abs(left - np.median(left))
            far = apart > JUMP * float(np.median(apart))
            explained = float(np.square(apart[far]).sum() / max(np.square(apart).sum(), 1e-30))
            small = apart.max() < MATERIAL * np.ptp(item.heights)
            if small or not 0 < far.sum() < SHORT * len(left) or explained < EXPLAINED:
                continue
            first = int(np.argmax(far))
            last = first + int(np.argmin(np.append(far[first:], False))) - 1
            yield doubt(
                f"dampers: the track of {1e3 * item.mass:g} g deviates by "
                f"{1e3 * apart[first : last + 1].max():.2g} mm from {item.times[first]:.3g} to "
                f"{item.times[last]:.3g} s, as where the tracker jumps: this alone explains "
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
        shown = [reading(i, np.array(item.times)) for i, item in enumerate(self.releases)]
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


# Repeated series.


CHANCE = 1e-4
"""Probability by chance below which a factor is reported, over the number of tests [–]."""
CHANGED = {"springs": 0.08, "torques": 0.03}
"""Smallest change of a factor that is reported [–]: beyond creep and hysteresis of silicone."""
MIN_LEVELS = 3
"""Fewest weights or pressures that series have in common."""
ROUNDING = 1e-3
"""Scatter that is assumed in any case, over the largest value [–]."""


class _Factor(NamedTuple):
    """Factor of a series over the others."""

    series: int
    column: int
    """Joint, or -1 for all together."""
    value: float
    chance: float
    """Probability of it, or of a larger change, by chance."""


def series_findings(problem: CalibrationProblem) -> Iterator[Finding]:
    """Yield joints, and tip forces, that changed between repeated series of measurements."""
    hung = [reading for reading in problem.hung if not reading.held_out]
    count = min((len(reading.angles) for reading in hung), default=0)
    angles = _series([(reading.mass, reading.angles[:count]) for reading in hung])
    worst = _change(angles, CHANGED["springs"])
    if worst is not None:
        what = "all angles" if worst.column < 0 else f"the angles of joint {worst.column + 1}"
        yield _finding(
            "springs", f"{what} in series {worst.series + 1}", worst,
            "did the joint break or stick" if worst.column >= 0 else "did weights or finger change",
        )  # fmt: skip
    forces = [(force.pressure, (force.force,)) for force in problem.forces if not force.held_out]
    worst = _change(_series(forces), CHANGED["torques"])
    if worst is not None:
        yield _finding("torques", f"the forces of series {worst.series + 1}", worst,
                       "did the finger leak or tire, or was the scale changed")  # fmt: skip


def _finding(stage: str, what: str, factor: _Factor, question: str) -> Finding:
    return doubt(
        f"{stage}: {what} are {factor.value:.2f} times those of the other repeats (p = "
        f"{factor.chance:.1g}); {question} between the series? Calibrate each series alone",
        refutes=True,
    )


def _series(rows: Sequence[tuple[float, Sequence[float]]]) -> Array:
    """Return values (s, l, n) of complete series: the k-th row of each level, levels ascending."""
    levels: dict[float, list[Sequence[float]]] = defaultdict(list)
    for level, values in rows:
        levels[level].append(values)
    repeats = [values for _, values in sorted(levels.items()) if len(values) > 1]
    count = min((len(values) for values in repeats), default=0)
    return np.array([[values[k] for values in repeats] for k in range(count)], dtype=float)


def _change(values: Array, smallest: float) -> _Factor | None:
    """Return what changed in a series (s, l, n) over the mean of the others: a column, or all.

    A column is compared with the other columns of its series, so that what changed all is not
    taken for its change. None where every change is small or chance.
    """
    if values.ndim < 3 or min(values.shape) < 1 or values.shape[1] < MIN_LEVELS:
        return None
    series, levels, columns = values.shape
    others = (values.sum(axis=0) - values) / (series - 1)
    line = others - others.mean(axis=1, keepdims=True)
    apart = values - others
    apart = apart - apart.mean(axis=1, keepdims=True)
    squares = np.maximum(np.square(line).sum(axis=1), 1e-300)
    slopes = (line * apart).sum(axis=1) / squares
    left = apart - line * slopes[:, None]
    variance = np.square(left).sum() / (series * columns * (levels - 2))
    variance += (ROUNDING * float(np.abs(values).max())) ** 2
    freedom = columns * (levels - 2) * (series - 1)

    def largest(changes: Array, errors: Array) -> _Factor | None:
        """Return the surest of changes (s, n) that is neither small nor chance."""
        chances = 2.0 * stats.t.sf(np.abs(changes) / errors, freedom) * changes.size
        chances = np.where(np.abs(changes) > smallest, chances, 1.0)
        row, column = np.unravel_index(int(np.argmin(chances)), chances.shape)
        chance = float(chances[row, column])
        whole = changes.shape[1] == 1
        change = float(changes[row, column] if whole else slopes[row, column])
        return _Factor(int(row), -1 if whole else int(column), 1.0 + change, chance) if (
            chance < CHANCE) else None  # fmt: skip

    total, weighted = squares.sum(axis=1, keepdims=True), squares * slopes
    together = weighted.sum(axis=1, keepdims=True)
    whole = largest(together / total, np.sqrt(variance / total))
    if columns == 1:
        return whole
    rest = np.maximum(total - squares, 1e-300)
    alone = slopes - (together - weighted) / rest
    return largest(alone, np.sqrt(variance * (1.0 / squares + 1.0 / rest))) or whole


# Videos by themselves.


MIN_SWING = 1e-3
"""Smallest motion of a released tip [m]."""
MIN_PERIODS = 1.5
"""Shortest video, in periods of the first mode with the stiffest springs [–]."""
LAST, AT_REST = 0.1, 0.05
"""Last part of a video, at least a period, and largest motion in it over the whole one of a finger
at rest [–]."""
FINAL = 0.1
"""Part of the swing within which crossings of the final height do not count [–]."""
MARGIN, WRONG = 1.5, 3.0
"""Factor between the measured frequency and those of the springs from which it is reported, and
from which the video is refused [–]."""
FPS = (24, 25, 30, 50, 60, 100, 120, 200, 240, 300, 480, 500, 600, 960, 1000, 1200, 1920, 2000)
"""Frame rates of cameras [1/s]."""
OBLIQUE = 0.98
"""Correlation of the end of the finger below which the view is reported [–]; films from 4° aside
had at least 0.986, films from 6° aside 0.950 to 0.968."""
MOVING, STILL, MAX_COPIES = 0.3, 0.02, 0.1
"""Motion between frames that move and between copies [pixels]; largest fraction of copies [–]."""


def check_video(
    path: Path,
    frame_rate: float,
    heights: Array,
    pixels: Array,
    likeness: Array,
    finger: SoftFinger,
    bounds: tuple[float, float],
) -> Iterator[str]:
    """Check a tracked video of a release.

    Args:
        path: Video, for messages.
        frame_rate: Frames per second [1/s].
        heights: Height of the tip in each frame [m], (T,).
        pixels: Position of the tip in each frame [pixels], (T, 2).
        likeness: Correlation of the end of the finger with that in the first frame [–], (T,).
        finger: Finger model.
        bounds: Softest and stiffest springs [N·m/rad].

    Yields:
        What is doubtful: a frame rate, copied frames, a camera that sees the finger obliquely.

    Raises:
        DescriptionError: The video shows no release, is too short, or ends before the finger is at
            rest, or its frame rate cannot be right.
    """
    joints = np.ones(len(finger.joints))
    slowest, fastest = (first_mode(finger, end * joints).frequency for end in bounds)
    _refuse_short(path, frame_rate, heights, fastest)
    frequency = swing_frequency(heights, frame_rate)
    if frequency is not None:
        factor = max(frequency / fastest, slowest / frequency)
        if factor > MARGIN:
            sentence = _rate_sentence(frame_rate, frequency, (slowest, fastest))
            if factor > WRONG:
                raise DescriptionError(sentence, file=path)
            yield f"{path.name}: {sentence}"
    copies = find_copied_frames(pixels)
    if copies > MAX_COPIES:
        yield (
            f"{path.name}: {100 * copies:.0f} % of the frames of the motion are copies of the "
            f"frame before, expected at most {100 * MAX_COPIES:g} %; the video was converted from "
            "another frame rate: use the file of the camera"
        )
    if likeness.min() < OBLIQUE:
        yield (
            f"{path.name}: the end of the finger looks different as it moves (correlation down to "
            f"{likeness.min():.3f}, expected at least {OBLIQUE:g}): the camera sees it obliquely, "
            "which makes motions appear smaller; direct it at right angles to the plane of bending"
        )


def _refuse_short(path: Path, frame_rate: float, heights: Array, fastest: float) -> None:
    frames, swing = len(heights), float(np.ptp(heights))
    seconds, needed = frames / frame_rate, MIN_PERIODS / fastest
    shown = f"{frames} frames, {seconds:.3g} s at {frame_rate:g} frames/s"
    if seconds < needed:
        raise DescriptionError(
            f"expected a video that shows the finger until it settles, at least {needed:.2g} s, "
            f"{MIN_PERIODS:g} periods of its first mode, found {shown}; film longer, or correct "
            "the frame rate",
            file=path,
        )
    if swing < MIN_SWING:
        raise DescriptionError(
            f"expected a release, found a tip that moves by {1e3 * swing:.2g} mm in {shown}; "
            "choose first_frame at the release, and check the scale",
            file=path,
        )
    count = max(round(LAST * frames), round(frame_rate / fastest), 3)
    left = float(np.ptp(median_filter(heights, 3)[-count:]))
    if left > max(AT_REST * swing, MIN_SWING):
        raise DescriptionError(
            f"expected a video that shows the finger until it settles, found {shown}, in whose "
            f"last {count} frames the tip still moves by {1e3 * left:.2g} mm of "
            f"{1e3 * swing:.3g} mm; film until it is at rest",
            file=path,
        )


def swing_frequency(heights: Array, frame_rate: float) -> float | None:
    """Measure the frequency of a decaying oscillation [Hz]; None with fewer than three crossings.

    Args:
        heights: Height of the tip in each frame, at rest in the end [m], (T,).
        frame_rate: Frames per second [1/s].
    """
    ending = heights[-max(round(LAST * len(heights)), 3) :]
    away = heights - ending.mean()
    large = np.flatnonzero(np.abs(away) > FINAL * np.abs(away).max())
    sides = np.sign(away[large])
    # from the last sample well on one side to the first one on the other
    changes = np.flatnonzero(sides[1:] != sides[:-1])
    crossings = [
        first + int(np.argmax(np.sign(away[first : last + 1]) == np.sign(away[last])))
        for first, last in zip(large[changes], large[changes + 1], strict=True)
    ]
    if len(crossings) < 3:
        return None
    return float((len(crossings) - 1) / 2.0 * frame_rate / (crossings[-1] - crossings[0]))


def _rate_sentence(frame_rate: float, frequency: float, modes: tuple[float, float]) -> str:
    slowest, fastest = modes
    right = frame_rate * np.sqrt(slowest * fastest) / frequency
    nearest = min(FPS, key=lambda rate: abs(np.log(rate / right)))
    low, high = frame_rate * slowest / frequency, frame_rate * fastest / frequency
    hint = f", such as {nearest}" if low <= nearest <= high else ""
    return (
        f"expected a finger that oscillates at {slowest:.2g} to {fastest:.2g} Hz, its first mode "
        f"within the bounds of the stiffness, found {frequency:.2g} Hz at {frame_rate:g} frames/s; "
        f"a frame rate of {low:.3g} to {high:.3g} frames/s{hint} would explain it (--frame-rate; "
        "slow-motion videos store the rate of playback), or other masses, lengths or bounds"
    )


def find_copied_frames(pixels: Array) -> float:
    """Return the fraction of frames of a motion that are copies of the frame before [–].

    Args:
        pixels: Position of the tip in each frame [pixels], (T, 2).
    """
    speed = np.linalg.norm(np.diff(pixels, axis=0), axis=1)
    moving = maximum_filter1d(speed, 5) > MOVING
    if moving.sum() < 10:
        return 0.0
    return float((speed[moving] < STILL).mean())
