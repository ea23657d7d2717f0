"""From a recorded row back to the shape that the loop had."""

from __future__ import annotations

from typing import Any

from softgrasp.description.flange import FlangeSample
from softgrasp.description.twin import Twin
from softgrasp.errors import DescriptionError
from softgrasp.mechanics.transforms import Array
from softgrasp.mechanics.twin_shape import TwinShape, twin_shape
from softgrasp.twin.row import joints_in


def replayed(twin: Twin, row: dict[str, Any]) -> tuple[TwinShape, Array | None] | None:
    """The fingers and the arm's joints of a recorded row; None where the loop had no shape.

    It is computed anew from the recorded pressure and pose, as the loop computed it.
    """
    if row.get("pressure") is None or row.get("position_x") is None:
        return None
    flange = FlangeSample(
        time=float(row["time"]),
        position=tuple(float(row[f"position_{axis}"]) for axis in "xyz"),
        quaternion=tuple(float(row[f"quaternion_{axis}"]) for axis in "wxyz"),
    )
    try:
        shape = twin_shape(twin, float(row["pressure"]), flange)
    except DescriptionError:  # the loop told that the pressure was outside of what was measured
        return None
    return shape, joints_in(row)
