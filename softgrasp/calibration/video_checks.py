"""Check tracked videos of releases by themselves.

A video has to show a release, last until rest, and have the right frame rate. The finger oscillates
in its first mode, whose frequency lies between those of the softest and of the stiffest springs
that the calibration allows.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from scipy.ndimage import median_filter

from softgrasp.description.soft_finger import SoftFinger
from softgrasp.errors import DescriptionError
from softgrasp.mechanics.transforms import Array
from softgrasp.sim.soft_dynamics import first_mode

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
