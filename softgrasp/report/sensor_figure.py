"""What the sensors told over time: taxels summed up, forces and torques, joint torques."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from softgrasp.description.sensors import ForceTorqueSensor, TactileSensor
from softgrasp.mechanics.transforms import Array
from softgrasp.report import style
from softgrasp.report.series import thinned
from softgrasp.simulation.result import GraspResult
from softgrasp.simulation.sensor_reading import SensorReading

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ROW_HEIGHT = 1.7
MAX_LEGEND_ENTRIES = 8
"""Lines of a panel that are named; more of them would cover it."""
FORCES, TORQUES = slice(0, 3), slice(3, 6)

Draw = Callable[["Axes"], None]


def draw_sensors(result: GraspResult, path: str | Path) -> Path:
    """Draw what each sensor told, with the truth behind it where the two differ.

    Args:
        result: A run with sensors.
        path: The ``.png`` to write.

    Raises:
        ResultError: The place cannot be written.
    """
    rows = _rows(result)
    with style.figure(path, ROW_HEIGHT * len(rows) + 0.7, numbers=False) as figure:
        grid = style.panels(figure, len(rows), 2, margins=(0.6, 1.35, 0.5, 0.35), gaps=(1.75, 0.4))
        for index, row in enumerate(rows):
            for column, draw in enumerate(row):
                cell = grid[index, column] if len(row) == 2 else grid[index, :]
                axes = figure.add_subplot(cell)
                draw(axes)
                style.time_limits(axes, result.time)
        style.edge_labels(figure)
    return Path(path)


def _rows(result: GraspResult) -> list[list[Draw]]:
    """The panels, row by row."""
    readings = result.sensors.values()
    tactile = [reading for reading in readings if isinstance(reading.sensor, TactileSensor)]
    rows = [[_panel(result, "taxels of a sensor, sum [N]", *_sums(tactile))]] if tactile else []
    for reading in readings:
        name = reading.sensor.name
        if isinstance(reading.sensor, ForceTorqueSensor):
            force = _panel(result, f"{name}: force [N]", *_part(reading, FORCES))
            torque = _panel(result, f"{name}: torque [N·m]", *_part(reading, TORQUES))
            rows.append([force, torque])
        elif not isinstance(reading.sensor, TactileSensor):
            whole = slice(0, len(reading.channels))
            rows.append(
                [_panel(result, f"{name}: servo torque [N·m or N]", *_part(reading, whole))]
            )
    return rows


def _sums(tactile: Sequence[SensorReading]) -> tuple[list[str], Array, Array]:
    names = [reading.sensor.name.removeprefix("tactile_") for reading in tactile]
    values = np.column_stack([reading.values.sum(axis=1) for reading in tactile])
    return names, values, np.column_stack([reading.truth.sum(axis=1) for reading in tactile])


def _part(reading: SensorReading, columns: slice) -> tuple[list[str], Array, Array]:
    names = list(reading.channels[columns])
    return names, reading.values[:, columns], reading.truth[:, columns]


def _panel(
    result: GraspResult, title: str, names: Sequence[str], values: Array, truth: Array
) -> Draw:
    def draw(axes: Axes) -> None:
        colors = style.AXES_COLORS if len(names) == 3 else style.SERIES
        differs = not np.array_equal(values, truth)
        for column, name in enumerate(names):
            color = colors[column % len(colors)]
            line = thinned(result.time, values[:, column])
            axes.plot(*line, color=color, lw=0.7 if differs else 1.2, alpha=0.6 if differs else 1.0)
            axes.plot([], [], color=color, lw=1.4, label=name.replace("_", " "))
            if differs:
                axes.plot(*thinned(result.time, truth[:, column]), color=color, lw=1.3)
        axes.set_title(title)
        style.set_min_span(axes, 1e-3)
        if len(names) <= MAX_LEGEND_ENTRIES:
            axes.legend(
                loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize=7.5, handlelength=1.2
            )
        if differs:
            style.annotate(axes, "pale: told; dark: truth")

    return draw
