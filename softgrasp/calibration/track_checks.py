"""Check videos, and tracked tips of releases against the simulated ones.

A video has to show a release, last until rest, and have the right frame rate. The finger oscillates
in its first mode, whose frequency lies between those of the softest and of the stiffest springs
that the calibration allows.

The simulated motion of each release, with several dampings, is compared with other readings of the
track: a clock that starts early or late, another frame rate, exchanged weights.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np
from scipy.ndimage import median_filter

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
LONGEST = 10.0
"""Longest simulated motion [s]."""
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
        now = self._left(self._at(0.0))
        tried = [*self._delays(), *self._rates(), *self._exchanges()]
        if not tried or not np.isfinite(now):
            return
        left, words = min(tried)
        ratio = now / max(left, 1e-12)
        if ratio > BETTER:
            sentence = f"dampers: the residual is {ratio:.2g} times smaller if {words}"
            yield doubt(sentence, refutes=ratio > REFUTED)

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
            yield self._left(self._at(delay)), words

    def _rates(self) -> Iterator[tuple[float, str]]:
        longest = max(release.times[-1] for release in self.releases)
        for rate in RATES:
            if longest * rate <= self.time[-1] + 1e-9:
                words = f"the frame rate is {1.0 / rate:.3g} times the one used"
                yield self._left(self._at(0.0, rate)), words

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
                yield self._left(self._at(0.0, order=exchanged)), words

    def _left(self, reading: Reading) -> float:
        """Return the residual of the best damping, rms [m]."""
        measured = [
            np.array(release.heights) - np.mean(release.heights) for release in self.releases
        ]
        shown = [reading(i, np.array(one.times)) for i, one in enumerate(self.releases)]
        centred = [entry - entry.mean(axis=1, keepdims=True) for entry in shown]
        left = np.concatenate(measured) - np.concatenate(centred, axis=1)
        errors = np.nan_to_num(np.sqrt(np.square(left).mean(axis=1)), nan=np.inf)
        return float(errors.min())


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


def check_video(
    path: Path,
    frame_rate: float,
    heights: Array,
    likeness: Array,
    finger: SoftFinger,
    bounds: tuple[float, float],
) -> Iterator[str]:
    """Check a tracked video of a release.

    Args:
        path: Video, for messages.
        frame_rate: Frames per second [1/s].
        heights: Height of the tip in each frame [m], (T,).
        likeness: Correlation of the end of the finger with that in the first frame [–], (T,).
        finger: Finger model.
        bounds: Softest and stiffest springs [N·m/rad].

    Yields:
        What is doubtful: a frame rate, a camera that sees the finger obliquely.

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
