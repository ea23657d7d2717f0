"""Maps of taxels at the end of a run: where each skin is pressed, and how hard."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from softgrasp.description.sensors import TactileSensor
from softgrasp.report import style
from softgrasp.simulation.result import GraspResult
from softgrasp.simulation.sensor_reading import SensorReading

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLUMNS, PANEL_HEIGHT = 4, 1.9
"""Maps side by side, and height of one [in]."""
MAP = "YlGnBu"
MAX_NUMBERS = 150
"""Taxels of a map in which numbers are written."""


def tactile_readings(result: GraspResult) -> list[SensorReading]:
    """The tactile sensors of a run."""
    readings = result.sensors.values()
    return [reading for reading in readings if isinstance(reading.sensor, TactileSensor)]


def draw_tactile(result: GraspResult, path: str | Path) -> Path:
    """Draw a map a tactile sensor at the last control sample, all to one scale.

    Args:
        result: A run with tactile sensors.
        path: The ``.png`` to write.

    Raises:
        ResultError: The place cannot be written.
    """
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    readings = tactile_readings(result)
    columns = min(len(readings), COLUMNS)
    rows = math.ceil(len(readings) / columns)
    top = max((float(np.abs(reading.values[-1]).max()) for reading in readings), default=0.0)
    scale = Normalize(0.0, top or 1.0)
    with style.figure(path, PANEL_HEIGHT * rows + 0.9) as figure:
        grid = style.panels(figure, rows, columns, margins=(0.55, 1.0, 0.55, 0.4), gaps=(0.3, 0.45))
        for index, reading in enumerate(readings):
            axes = figure.add_subplot(grid[index // columns, index % columns])
            _draw_map(axes, reading, scale)
            axes.tick_params(labelleft=index % columns == 0)
        style.edge_labels(figure, x="column, around the body", y="row, along the body")
        width, height = figure.get_size_inches().tolist()
        bar = figure.add_axes(
            (1.0 - 0.75 / width, 0.55 / height, 0.13 / width, 1.0 - 0.95 / height)
        )
        figure.colorbar(ScalarMappable(scale, MAP), cax=bar, label="normal force of a taxel [N]")
    return Path(path)


def _draw_map(axes: Axes, reading: SensorReading, scale: object) -> None:
    felt = reading.taxels[-1]
    axes.imshow(felt, cmap=MAP, norm=scale, origin="lower", aspect="auto", interpolation="nearest")  # type: ignore[arg-type]
    axes.set_title(reading.sensor.name.removeprefix("tactile_").replace("_", " "))
    style.annotate(axes, f"{felt.sum():.2f} N")
    axes.set_xticks(range(0, felt.shape[1], max(felt.shape[1] // 8, 1)))
    axes.set_yticks(range(0, felt.shape[0], max(felt.shape[0] // 8, 1)))
    axes.grid(visible=False)
    if felt.size > MAX_NUMBERS:
        return
    largest = max(float(np.abs(felt).max()), 1e-12)
    for (row, column), force in np.ndenumerate(felt):
        if abs(force) > 0.05 * largest and abs(force) >= 0.005:
            dark = force > 0.55 * float(getattr(scale, "vmax", 1.0))
            axes.text(
                column, row, f"{force:.2f}", ha="center", va="center", fontsize=6,
                color="white" if dark else style.INK,
            )  # fmt: skip
