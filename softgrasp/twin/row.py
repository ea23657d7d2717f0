"""What a twin saw and what followed from it, at one turn of its loop: a row of its record."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from softgrasp.description.flange import FlangeSample
from softgrasp.mechanics.transforms import Array
from softgrasp.mechanics.twin_shape import TwinShape
from softgrasp.twin.controller.reading import ControllerReading

READ = ("positive_on", "negative_on", "positive_target", "negative_target", "pressure")
"""Fields of a reading that stand in a row."""


class TwinRow(NamedTuple):
    """One turn of the loop. What was not there is None."""

    number: int
    """Of the turn, from 0, without gaps."""
    time: float
    """When the turn was due, since the first one [s]."""
    lateness: float
    """Of its beginning [s]."""
    latency: float
    """From asking the controller to its answer, or to giving up [s]."""
    missed: int
    """Turns since the one before that could not begin."""
    reading: ControllerReading | None
    flange: FlangeSample | None
    shape: TwinShape | None
    joints: Array | None
    """Of the arm [rad]."""
    settled_tips: Array | None
    """Of the fingers in MuJoCo, in the base of the robot [m], (k, 3)."""
    events: tuple[str, ...]
    """What happened, in sentences."""

    @property
    def pressures(self) -> tuple[float, float, float] | None:
        """Measured one, positive and negative target [Pa]; None without a reading."""
        if self.reading is None:
            return None
        return (
            self.reading.pressure,
            self.reading.positive_target,
            self.reading.negative_target,
        )

    def document(self) -> dict[str, Any]:
        """The row as one level of plain numbers and texts, as it is recorded; SI units."""
        fields_of_row: dict[str, Any] = {
            "number": self.number,
            "time": self.time,
            "lateness": self.lateness,
            "latency": self.latency,
            "missed": self.missed,
            "connected": self.reading is not None,
        }
        fields_of_row |= {key: getattr(self.reading, key, None) for key in READ}
        fields_of_row |= _numbered(
            "position", "xyz", None if self.flange is None else self.flange.position
        )
        fields_of_row |= _numbered(
            "quaternion", "wxyz", None if self.flange is None else self.flange.quaternion
        )
        if self.shape is not None:
            fields_of_row |= _counted("angle", self.shape.angles)
            fields_of_row |= _counted("curvature", self.shape.curvatures)
            for finger, tip in enumerate(self.shape.tips):
                fields_of_row |= _numbered(f"tip{finger + 1}", "xyz", tip.tolist())
        if self.joints is not None:
            fields_of_row |= _counted("joint", self.joints)
        if self.settled_tips is not None:
            for finger, tip in enumerate(self.settled_tips):
                fields_of_row |= _numbered(f"settled_tip{finger + 1}", "xyz", tip.tolist())
        return fields_of_row | {"events": " ".join(self.events)}


def joints_in(document: dict[str, Any]) -> Array | None:
    """The arm's joints in a recorded row [rad]; None where it has none."""
    values: list[float] = []
    while (value := document.get(f"joint_{len(values) + 1}")) is not None and value == value:
        values.append(float(value))
    return np.array(values) if values else None


def _numbered(name: str, axes: str, values: Sequence[float] | None) -> dict[str, Any]:
    parts = [None] * len(axes) if values is None else values
    return {f"{name}_{axis}": value for axis, value in zip(axes, parts, strict=True)}


def _counted(name: str, values: Array) -> dict[str, Any]:
    return {f"{name}_{k + 1}": value for k, value in enumerate(values.tolist())}
