"""Distance between two recordings of a hydraulic arm (Chen et al. 2022, eq 37)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from softgrasp.errors import DescriptionError
from softgrasp.hydraulics.integrators import TipRecording
from softgrasp.mechanics import Array


@dataclass(frozen=True)
class TipErrors:
    """Distances between the section ends of two recordings (Chen et al. 2022, eq 37).

    Args:
        times: [s], (t,).
        errors: ERR_i, distance of the ends of section i at each time [m], (t, sections).
    """

    times: Array
    errors: Array

    @property
    def max_sectional(self) -> float:
        """Largest error of any section at any time [m]."""
        return float(self.errors.max())

    @property
    def max_cumulative(self) -> float:
        """Largest sum of the errors of all sections at any time [m]."""
        return float(self.errors.sum(axis=1).max())


def tip_errors(first: TipRecording, second: TipRecording) -> TipErrors:
    """Compute the errors (eq 37) between two recordings, at times of the first within both.

    Args:
        first: Such as an experiment.
        second: Such as a simulation.

    Raises:
        DescriptionError: They have different numbers of sections, or no time in common.
    """
    counts = first.ends.shape[1], second.ends.shape[1]
    if counts[0] != counts[1]:
        raise DescriptionError(
            f"expected recordings of equally many sections, found {counts[0]} and {counts[1]}"
        )
    both = (first.times >= second.times[0]) & (first.times <= second.times[-1])
    if not both.any():
        raise DescriptionError(
            f"expected recordings with times in common, found {first.times[0]:g} to "
            f"{first.times[-1]:g} s and {second.times[0]:g} to {second.times[-1]:g} s"
        )
    times = first.times[both]
    errors = np.linalg.norm(first.ends[both] - second.at(times), axis=2)
    return TipErrors(times, np.asarray(errors))
