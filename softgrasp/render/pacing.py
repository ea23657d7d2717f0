"""How fast a film shows a run: closing in slow motion, holding quickly, the end for a while."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from softgrasp.errors import DescriptionError
from softgrasp.mechanics.transforms import Array
from softgrasp.render.phases import has_phases, video_parts
from softgrasp.simulation.result import GraspResult

CLOSING_SECONDS = 1.9
"""The closing lasts at least this long on film [s]."""
REST_SECONDS, LIFT_SECONDS = 1.0, 2.5
"""What follows the closing, a hold test or a lift, lasts at most this long on film [s]."""
STILL_START, STILL_END = 0.3, 1.0
"""Standing pictures at the two ends of a film [s]."""
AFTERMATH = 0.05
"""Simulated time after the last event that still counts as closing [s]."""
_STEPS = (1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0)
_FACTORS = tuple(step * 10.0**power for power in range(-3, 7) for step in _STEPS)


@dataclass(frozen=True)
class PlaybackSchedule:
    """What a film shows when.

    Args:
        times: Simulated time of every frame [s], shape (n,); never falling.
        slowdown: Film time over simulated time while the hand closes; above 1 in slow motion.
        closing_end: Simulated time at which the closing counts as over [s].
        rest: What follows the closing.
        parts: (end [s], name, whether it is the closing) of the phases of a sequence.
    """

    times: Array
    slowdown: float
    closing_end: float
    rest: str
    parts: tuple[tuple[float, str, bool], ...] = ()

    def label(self, time: float) -> str:
        """What stands in the picture of a simulated time [s]: the time, and how fast it goes."""
        for end, name, is_closing in self.parts:
            if time <= end:
                return f"{time:.3f} s   {name}" + (f", {self.speed}" if is_closing else "")
        return f"{time:.3f} s   {self.rest if time > self.closing_end else self.speed}"

    @property
    def speed(self) -> str:
        """How fast the closing is shown, in words."""
        if round(self.slowdown, 2) == 1.0:
            return "real time"
        factor = max(self.slowdown, 1.0 / self.slowdown)
        number = f"{factor:.0f}" if factor >= 10.0 else f"{factor:.2g}"
        return f"{number} times {'slower' if self.slowdown > 1.0 else 'faster'}"


def pace(result: GraspResult, fps: int, seconds: float | None = None) -> PlaybackSchedule:
    """Lay a run out on film.

    Args:
        result: The run.
        fps: Frames a second.
        seconds: Length of the film [s]; chosen where it is not given.

    Raises:
        DescriptionError: ``fps`` is below 1, or ``seconds`` is not positive.
    """
    if fps < 1:
        raise DescriptionError(f"expected at least 1 frame a second, found {fps}", field="fps")
    if seconds is not None and not 0.0 < seconds < np.inf:
        raise DescriptionError(f"expected a positive length, found {seconds:g}", field="seconds")
    if has_phases(result):
        return _pace_phases(result, fps, seconds)
    start, end = float(result.time[0]), float(result.time[-1])
    closing_end = _closing_end(result)
    closing = closing_end - start
    slowdown = next((f for f in _FACTORS if f * closing >= CLOSING_SECONDS), 1.0)
    lifts = result.scene.lift is not None
    rest = min(slowdown * (end - closing_end), LIFT_SECONDS if lifts else REST_SECONDS)
    spans = np.array([STILL_START, slowdown * closing, rest, STILL_END])
    shown, time_scale = _laid_out(spans, [start, start, closing_end, end, end], fps, seconds)
    what = "settling" if result.hold is None else "lift" if lifts else "hold test"
    return PlaybackSchedule(shown, slowdown * time_scale, closing_end, what)


def _pace_phases(result: GraspResult, fps: int, seconds: float | None) -> PlaybackSchedule:
    """Every phase for itself: the closing in slow motion, others as they are or faster."""
    start, end = float(result.time[0]), float(result.time[-1])
    closing = result.closing
    lasting = 0.0 if closing is None else closing.end_s - closing.start_s
    slowdown = next((f for f in _FACTORS if f * lasting >= CLOSING_SECONDS), 1.0)
    parts = video_parts(result, slowdown)
    spans = np.array([STILL_START, *(part.seconds for part in parts), STILL_END])
    breakpoints = [start, start, *(part.end for part in parts), end]
    shown, time_scale = _laid_out(spans, breakpoints, fps, seconds)
    labels = tuple((part.end, part.name, part.is_closing) for part in parts)
    closing_end = end if closing is None else closing.end_s
    return PlaybackSchedule(shown, slowdown * time_scale, closing_end, "end", labels)


def _laid_out(
    spans: Array, breakpoints: list[float], fps: int, seconds: float | None
) -> tuple[Array, float]:
    """Simulated time of every frame [s], and by how much the film was stretched.

    Args:
        spans: How long each part is on film [s], (n,).
        breakpoints: Simulated times of their ends, the beginning first [s], (n + 1,).
        fps: Frames a second.
        seconds: Length of the film [s]; that of the parts where it is not given.
    """
    time_scale = 1.0 if seconds is None else seconds / float(spans.sum())
    video_times = time_scale * np.concatenate([[0.0], np.cumsum(spans)])
    frames = max(round(video_times[-1] * fps), 1)
    shown = np.interp(np.arange(frames) / fps, video_times, breakpoints)
    shown[-1] = breakpoints[-1]
    return shown, time_scale


def _closing_end(result: GraspResult) -> float:
    """When the last contact has changed and the last target has moved, and a little later [s].

    A lift begins when the hand has closed.
    """
    if result.scene.lift is not None and result.hold is not None:
        return result.hold.start_s
    moved = np.flatnonzero((np.diff(result.joint_target, axis=0) != 0.0).any(axis=1))
    last = max(
        float(result.time[moved[-1] + 1]) if moved.size else 0.0,
        max((event.time_s for event in result.events), default=0.0),
    )
    return float(np.clip(last + AFTERMATH, result.time[0], result.time[-1]))
