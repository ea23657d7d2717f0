"""Measured tips of a finger in CSV, such as motion capture writes: ``time_s,x_m,y_m,z_m``."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from softgrasp.formats.atomic import write_text
from softgrasp.formats.csv_table import read_table, refuse_falling
from softgrasp.mechanics.transforms import Array

COLUMNS = ["time_s", "x_m", "y_m", "z_m"]


@dataclass(frozen=True, eq=False)
class TipPoints:
    """A tip over time, in the frame of the finger's base; m samples."""

    time: Array
    """Rising [s], (m,)."""
    position: Array
    """[m], (m, 3)."""


def load_tip_points(path: str | Path) -> TipPoints:
    """Read measured tips.

    Raises:
        DescriptionError: It cannot be read, has other columns, a cell without a number, or times
            that do not rise; names file, line and column.
    """
    path = Path(path)
    table = read_table(path, lambda _: COLUMNS, ", ".join(COLUMNS))
    refuse_falling(path, table)
    return TipPoints(table.values[:, 0], table.values[:, 1:])


def save_tip_points(points: TipPoints, path: str | Path) -> Path:
    """Write what ``load_tip_points`` reads back to the last digit, and return the path.

    Raises:
        ResultError: The place cannot be written.
    """
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(np.column_stack([points.time, points.position]).tolist())
    return write_text(path, stream.getvalue())
