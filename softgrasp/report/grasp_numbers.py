"""The numbers behind the figures of a grasp: whole columns, a row a millisecond.

Every control sample stands in ``trajectory.npz``; ten thousand rows a second would fill folders.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from softgrasp.mechanics.transforms import Array
from softgrasp.rendering.keyframes import body_label
from softgrasp.report.csv_file import write_columns
from softgrasp.report.series import actuator_rows, displacement_mm, rotation_deg
from softgrasp.simulation.result import GraspResult

TIME = "time [s]"
APART = 1e-3
"""Rows are no nearer to one another [s]."""
Columns = dict[str, Array]


def write_numbers(result: GraspResult, figure: Path) -> Path | None:
    """Write the numbers of a figure of a grasp beside it, whole columns in its units.

    Args:
        result: The run.
        figure: The figure, by whose name it is known what it shows.

    Returns:
        The ``.csv``; None for a figure that has none here.

    Raises:
        ResultError: The place cannot be written.
    """
    table = TABLES.get(figure.stem)
    if table is None:
        return None
    columns = table(result)
    kept = _kept(columns[TIME])
    chosen = {name: values[kept] for name, values in columns.items()}
    return write_columns(figure.with_suffix(".csv"), chosen)


def _kept(times: Array) -> NDArray[np.int64]:
    """Which samples become rows: evenly ``APART``, and the last."""
    step = max(round(APART / (times[1] - times[0])), 1) if len(times) > 1 else 1
    return np.unique([*range(0, len(times), step), len(times) - 1])


def _contacts(result: GraspResult) -> Columns:
    """Forces of each body of the hand, and whether contact is established, 0 or 1."""
    columns: Columns = {TIME: result.time}
    for index, body in enumerate(result.contact_bodies.tolist()):
        contact = result.contact_of(body)
        label = body_label(contact)
        columns[f"{label} normal force [N]"] = result.normal_force[:, index]
        columns[f"{label} friction force [N]"] = result.friction_force[:, index]
        columns[f"{label} in contact"] = result.in_contact[:, index].astype(float)
    return columns


def _joints(result: GraspResult) -> Columns:
    """Values and targets of all that drives the hand."""
    columns: Columns = {TIME: result.time}
    for panel_item in (panel for row in actuator_rows(result) for panel in row):
        unit = {"": "", "/m": " [1/m]"}.get(panel_item.unit, f" [{panel_item.unit.strip()}]")
        columns[f"{panel_item.title}{unit}"] = panel_item.values
        if panel_item.target is not None:
            columns[f"{panel_item.title} target{unit}"] = panel_item.target
    return columns


def _object(result: GraspResult) -> Columns:
    """Translation and Euler angles z-y-x of each object since the start."""
    columns: Columns = {TIME: result.time}
    for index, motion in enumerate(result.objects):
        moved, rotation = displacement_mm(result, index), rotation_deg(result, index)
        columns |= {f"{motion.name} {x} [mm]": moved[:, i] for i, x in enumerate("xyz")}
        columns |= {f"{motion.name} about {x} [°]": rotation[:, i] for i, x in enumerate("xyz")}
    return columns


def _quality(result: GraspResult) -> Columns:
    """ε and the friction margin; the margin is empty where nothing presses."""
    log = result.quality_log
    assert log is not None  # its figure was drawn
    return {TIME: log.time, "ε": log.epsilon, "friction margin": log.margin}


def _sensors(result: GraspResult) -> Columns:
    """What each channel told, and the truth where it told something else."""
    columns: Columns = {TIME: result.time}
    for name, reading in result.sensors.items():
        for index, channel in enumerate(reading.channels):
            reported, truth = reading.values[:, index], reading.truth[:, index]
            columns[f"{name}.{channel}"] = reported
            if not np.array_equal(reported, truth):
                columns[f"{name}.{channel} truth"] = truth
    return columns


TABLES: dict[str, Callable[[GraspResult], Columns]] = {
    "contacts": _contacts,
    "joints": _joints,
    "object": _object,
    "quality": _quality,
    "sensors": _sensors,
}
"""By the name of the figure; the numbers of others are written as they are drawn."""
