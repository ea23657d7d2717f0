"""Recordings of section ends and of motor torques, and settling."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.interpolate import make_interp_spline

from softgrasp.errors import DescriptionError
from softgrasp.mechanics import Array

SAME = 1e-12
"""Torques that differ by less are the same [N·m]."""


@dataclass(frozen=True)
class TipRecording:
    """Positions of section ends over time, simulated or measured.

    Args:
        times: Increasing times [s], (t,).
        ends: In the frame of the base [m], (t, sections, 3).

    Raises:
        DescriptionError: The times do not rise, a number is not finite, or there are not as many
            times as ends.
    """

    times: Array
    ends: Array

    def __post_init__(self) -> None:
        """Check the arrays."""
        times, ends = np.asarray(self.times, dtype=float), np.asarray(self.ends, dtype=float)
        if times.ndim != 1 or ends.ndim != 3 or ends.shape[::2] != (len(times), 3):
            raise DescriptionError(
                "expected times (t,) and ends (t, sections, 3), found shapes "
                f"{times.shape} and {ends.shape}",
                field="ends",
            )
        if len(times) < 2 or not np.isfinite(times).all() or (np.diff(times) <= 0.0).any():
            raise DescriptionError(
                "expected at least two increasing times, found others", field="times"
            )
        if not np.isfinite(ends).all():
            raise DescriptionError("expected finite numbers, found others", field="ends")

    @property
    def speeds(self) -> Array:
        """Speeds of the ends by central differences [m/s], (t, sections)."""
        return np.asarray(np.linalg.norm(np.gradient(self.ends, self.times, axis=0), axis=2))

    def at(self, times: Array) -> Array:
        """Interpolate the ends at other times within the recorded range [m]."""
        return np.asarray(make_interp_spline(self.times, self.ends, k=1)(times))


def settling_times(recording: TipRecording, band: float = 0.02) -> Array:
    """Compute when the section ends have settled at their final positions [s], (sections,).

    Args:
        recording: Recording that is long enough for the ends to come to rest.
        band: Largest distance from the final position, over that of first and last position [–].
    """
    last = recording.ends[-1]
    travel = np.linalg.norm(last - recording.ends[0], axis=-1)
    away = np.linalg.norm(recording.ends - last, axis=-1) > band * travel
    steps = np.arange(1, len(recording.times) + 1)[:, None]
    after = np.minimum((away * steps).max(axis=0), len(recording.times) - 1)
    return np.asarray(recording.times[after])


@dataclass(frozen=True)
class TorqueTable:
    """Motor torques over time, linear between the times and constant before and after.

    Args:
        times: Increasing times [s], (t,).
        torques: Motor torques, one per chamber [N·m], (t, k).

    Raises:
        DescriptionError: The shapes do not fit, the times do not increase, or a number is not
            finite.
    """

    times: Array
    torques: Array

    def __post_init__(self) -> None:
        """Check the arrays."""
        times, torques = np.asarray(self.times, float), np.asarray(self.torques, float)
        if times.ndim != 1 or torques.ndim != 2 or len(times) != len(torques) or not len(times):
            raise DescriptionError(
                f"expected times (t,) and torques (t, chambers), found shapes {times.shape} and "
                f"{torques.shape}",
                field="torques",
            )
        if not (np.isfinite(times).all() and np.isfinite(torques).all()):
            raise DescriptionError("expected finite numbers, found others", field="torques")
        if (np.diff(times) <= 0.0).any():
            raise DescriptionError("expected increasing times, found others", field="times")
        object.__setattr__(self, "times", times)
        object.__setattr__(self, "torques", torques)

    def __call__(self, time: float) -> Array:
        """Interpolate the torques at a time [N·m], (k,)."""
        return np.array([np.interp(time, self.times, column) for column in self.torques.T])

    @property
    def changes(self) -> list[tuple[float, float]]:
        """Intervals (start, end) in which the torques change [s]."""
        intervals: list[tuple[float, float]] = []
        changing = np.abs(np.diff(self.torques, axis=0)).max(axis=1, initial=0.0) > SAME
        for begin, end, moves in zip(
            self.times[:-1].tolist(), self.times[1:].tolist(), changing.tolist(), strict=True
        ):
            if moves and intervals and intervals[-1][1] == begin:
                intervals[-1] = (intervals[-1][0], end)
            elif moves:
                intervals.append((begin, end))
        return intervals
