"""Tables in CSV, beside the figures that show them."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from softgrasp.formats.atomic import write_text
from softgrasp.mechanics.transforms import Array

DIGITS = 12
"""Behind the point; what is smaller is rounding, in SI."""


def write_csv(path: Path, heads: Sequence[str], rows: Iterable[Sequence[str | float]]) -> Path:
    """Write a table in CSV; numbers that are not finite are left empty.

    Raises:
        ResultError: The place cannot be written.
    """
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(heads)
    writer.writerows([_cell(value) for value in row] for row in rows)
    return write_text(path, stream.getvalue())


def write_columns(path: Path, columns: Mapping[str, Array]) -> Path:
    """Write columns of equal length, (T,) each, with their names above them.

    Raises:
        ResultError: The place cannot be written.
    """
    return write_csv(path, list(columns), np.column_stack(list(columns.values())).tolist())


def with_numbers(figures: Iterable[Path]) -> list[Path]:
    """Figures, each followed by the table of its numbers where there is one."""
    pairs = [(figure, figure.with_suffix(".csv")) for figure in figures]
    return [file for figure, table in pairs for file in (figure, table)[: 1 + table.exists()]]


def _cell(value: str | float) -> str:
    if isinstance(value, str):
        return value
    # adding nothing takes the sign from a zero
    return f"{round(value, DIGITS) + 0.0:.9g}" if math.isfinite(value) else ""
