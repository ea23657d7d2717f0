"""Runs that are more than a closure, phase by phase: how long each is on film, and its instants."""

from __future__ import annotations

from typing import NamedTuple

from softgrasp.simulation.result import GraspResult
from softgrasp.simulation.told_hold import PhaseSpan

LONGEST = {"hold": 1.0, "push": 0.8}
"""Phases last as long on film as in the run, but at most this long [s], by their first word."""
LONGEST_OTHER = 2.0
"""The same for all others [s]."""
SHORTEST = 0.02
"""A phase that is shorter than this is not shown for itself [s]."""
MAX_KEY_FRAMES = 3
"""Instants between start and end."""


class VideoPart(NamedTuple):
    """A part of a film."""

    end: float
    """Simulated time at which it ends [s]."""
    seconds: float
    """How long it lasts on film."""
    name: str
    is_closing: bool


def has_phases(result: GraspResult) -> bool:
    """Whether a run is more than a closure with a ramp of gravity or a lift behind it."""
    return bool(result.phases) and not result.scene.is_plain


def video_parts(result: GraspResult, slowdown: float) -> list[VideoPart]:
    """The phases of a run as parts of a film.

    Args:
        result: The run.
        slowdown: Film time over simulated time while the hand closes.
    """
    closing = result.closing
    return [
        VideoPart(
            phase.end_s,
            _video_seconds(phase, slowdown if phase is closing else None),
            phase.name,
            phase is closing,
        )
        for phase in shown_phases(result)
    ]


def shown_phases(result: GraspResult) -> list[PhaseSpan]:
    """The phases that last long enough to be seen."""
    return [phase for phase in result.phases if phase.end_s - phase.start_s >= SHORTEST]


def phase_key_frames(result: GraspResult) -> list[tuple[float, str]]:
    """Three instants (time [s], caption) between the start and the end of such a run.

    The end of the closure, where something was lost, and ends of other phases, evenly.
    """
    closing, hold = result.closing, result.hold
    chosen: dict[float, str] = {}
    if closing is not None:
        chosen[closing.end_s] = "closed"
    if hold is not None and hold.failed_s is not None and hold.failed_in is not None:
        chosen[hold.failed_s] = f"beyond the limits: {hold.failed_in}"
    others = [phase for phase in shown_phases(result)[:-1] if phase is not closing]
    missing = max(MAX_KEY_FRAMES - len(chosen), 0)
    for index in range(missing):
        if others:
            phase_index = round((index + 0.5) * len(others) / missing - 0.5)
            phase = others[min(phase_index, len(others) - 1)]
            chosen.setdefault(phase.end_s, f"end of {phase.name}")
    start, end = float(result.time[0]), float(result.time[-1])
    for fraction in (0.5, 0.25, 0.75):  # where there are too few phases
        if len(chosen) < MAX_KEY_FRAMES:
            chosen.setdefault(start + fraction * (end - start), "on the way")
    return sorted(chosen.items())[:MAX_KEY_FRAMES]


def _video_seconds(phase: PhaseSpan, slowdown: float | None) -> float:
    lasting = phase.end_s - phase.start_s
    if slowdown is not None:
        return slowdown * lasting
    return min(lasting, LONGEST.get(phase.name.split()[0], LONGEST_OTHER))
