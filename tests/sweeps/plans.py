"""Small plans: a pinch of a few control samples."""

from __future__ import annotations

import os
from typing import Any

from softgrasp.description.sweep import Axis, SweepPlan
from tests.support.scenes import pinch

DENSITIES = (200.0, 700.0, 1500.0)


def plan(**changes: Any) -> SweepPlan:
    """Three densities by two coefficients of friction."""
    base: dict[str, Any] = {
        "scene": pinch(duration=0.02),
        "axes": (
            Axis(path="object.density", values=DENSITIES),
            Axis(path="contact.friction", low=0.3, high=0.9, steps=2),
        ),
    }
    return SweepPlan(**(base | changes))


def without_wall(table: Any) -> Any:
    """Return a table without the columns that differ from run to run."""
    return table[[name for name in table.columns if "wall" not in name]]


def dies_elsewhere(process: int) -> str:
    """End any process but one."""
    if os.getpid() != process:
        os._exit(1)
    return "done here"
