"""Hardware that bends all segments of a MuJoCo model together."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import mujoco
import numpy as np

from softgrasp.control.hardware.correction import Correction, tuned
from softgrasp.control.hardware.segment import SegmentHardware
from softgrasp.control.resources import ResourceManager
from softgrasp.mechanics.transforms import Array


class SegmentsHardware:
    """All segments of a robot, with one correction of their measured bending."""

    def __init__(self, segments: Sequence[SegmentHardware], correction: Correction | None) -> None:
        """Take segments.

        Args:
            segments: The segments.
            correction: Of the angles about their ``axes``, one after the other; None where the
                model is only a mirror of the commands.
        """
        self._segments, self._correction = list(segments), correction
        counts = [len(segment.axes) for segment in segments]
        ends = np.cumsum([0, *counts]).tolist()
        self._slices = [slice(*pair) for pair in pairwise(ends)]

    def read(self, resources: ResourceManager) -> None:
        """Put what is measured into the state interfaces."""
        for segment in self._segments:
            segment.read(resources)

    def write(self, resources: ResourceManager) -> None:
        """Set all drives for one period.

        Raises:
            SimulationError: A command asks for controls beyond their range.
        """
        assert self._correction is not None  # a mirror follows
        errors = np.zeros(len(self._correction.rates))
        pushed, held = np.zeros(len(errors), dtype=bool), np.zeros(len(errors), dtype=bool)
        targets = [segment.targets(resources) for segment in self._segments]
        for segment, rows, (bend, _) in self._all(targets):
            pushed[rows] = segment.is_pushed(resources)
            errors[rows] = segment.axes @ (bend - segment.bend)
        more = self._correction.moments(errors)
        for segment, rows, (bend, length) in self._all(targets):
            if pushed[rows].any():
                segment.push(resources)
            else:
                segment.actuate(bend, length, more[rows] @ segment.axes)
            held[rows] = segment.saturated
        self._correction.hold(errors, held)
        self._correction.forget(pushed)

    def follow(self, resources: ResourceManager) -> None:
        """Bend the model as commanded, without physics."""
        for segment in self._segments:
            segment.put(*segment.targets(resources))

    def release(self) -> None:
        """Let go of all drives."""
        for segment in self._segments:
            segment.release()
        if self._correction is not None:
            self._correction.forget(np.ones(len(self._correction.rates), dtype=bool))

    def _all(
        self, targets: list[tuple[Array, float | None]]
    ) -> list[tuple[SegmentHardware, slice, tuple[Array, float | None]]]:
        return list(zip(self._segments, self._slices, targets, strict=True))


def correction_of(
    segments: Sequence[SegmentHardware], model: mujoco.MjModel, pose: Array, period: float
) -> Correction:
    """The correction of all bending angles of a robot.

    Args:
        segments: Its segments.
        model: The robot with its time step and gravity.
        pose: Around which it is tuned, (nq,).
        period: Between two corrections [s].
    """
    unit_controls = np.zeros((model.nu, sum(len(segment.axes) for segment in segments)))
    rates, column = list[float](), 0
    for segment in segments:
        count = len(segment.axes)
        unit_controls[segment.actuators, column : column + count] = segment.per_moment()
        rates += [segment.integral_gain] * count
        column += count
    measured = np.vstack([segment.bend_rows(model) for segment in segments])
    return tuned(model, pose, measured, unit_controls, period, np.array(rates))
