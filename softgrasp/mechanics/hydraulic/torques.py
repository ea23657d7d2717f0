"""Torques of the motors of an arm in time, on straight lines between given instants."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from softgrasp.errors import DescriptionError
from softgrasp.mechanics.transforms import Array

SAME = 1e-12
"""Torques that differ by less are the same [N·m]."""


@dataclass(frozen=True)
class TorqueTable:
    """Torques at instants; straight lines between, and they stay before and after.

    Args:
        times: Rising [s], (t,).
        torques: One a chamber [N·m], (t, k).

    Raises:
        DescriptionError: The shapes do not fit, the times do not rise, or a number is not finite.
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
            raise DescriptionError("expected rising times, found others", field="times")
        object.__setattr__(self, "times", times)
        object.__setattr__(self, "torques", torques)

    def __call__(self, time: float) -> Array:
        """Torques at a time [N·m], (k,)."""
        return np.array([np.interp(time, self.times, column) for column in self.torques.T])

    @property
    def changes(self) -> list[tuple[float, float]]:
        """From when to when they change without a pause [s]."""
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
