"""Tables of numbers in CSV: a line of names, then numbers; lines that begin with # are remarks."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from softgrasp.errors import DescriptionError, reason
from softgrasp.io.files import write_text
from softgrasp.mechanics.transforms import Array

Line = tuple[int, list[str]]
"""Its number, and its cells."""


class CsvTable(NamedTuple):
    """The numbers of a table, and where each row stands."""

    names: list[str]
    values: Array
    """(rows, columns)"""
    lines: list[int]
    """Of the rows, from 1."""


def read_table(path: Path, expected_names: Callable[[int], list[str]], names_text: str) -> CsvTable:
    """Read a table whose columns have known names.

    Args:
        path: The file.
        expected_names: The names of the columns that there have to be, for so many as there are.
        names_text: The same names for a sentence, such as ``time_s, torque_1, torque_2, …``.

    Raises:
        DescriptionError: It cannot be read, has other columns, no rows, or a cell without a
            number; names file, line and column.
    """
    (line, head), *rows = _lines(path)
    names = [cell.strip() for cell in head]
    if names != expected_names(len(names)):
        raise DescriptionError(
            f"expected the columns {names_text}, found {', '.join(names)}", file=path, line=line
        )
    if not rows:
        raise DescriptionError("expected lines of numbers, found only names", file=path)
    values = np.array([_numbers(path, names, row) for row in rows])
    return CsvTable(names, values, [line for line, _ in rows])


def refuse_falling(path: Path, table: CsvTable) -> None:
    """Refuse a table whose first column, the time [s], does not rise.

    Raises:
        DescriptionError: At the first row that does not lie after the one before.
    """
    times = table.values[:, 0]
    late = np.flatnonzero(np.diff(times) <= 0.0)
    if late.size:
        row = int(late[0])
        raise DescriptionError(
            f"expected a time after {times[row]:g} s, found {times[row + 1]:g} s",
            file=path,
            line=table.lines[row + 1],
            field=table.names[0],
        )


def _lines(path: Path) -> list[Line]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, skipinitialspace=True)
            lines = [(reader.line_num, cells) for cells in reader]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        message = f"expected a table in CSV, found: {reason(error)}"
        raise DescriptionError(message, file=path) from None
    rows = [(at, cells) for at, cells in lines if cells and not cells[0].startswith("#")]
    if not rows:
        raise DescriptionError("expected a line of names, found nothing", file=path)
    return rows


def _numbers(path: Path, names: list[str], row: Line) -> list[float]:
    line, cells = row
    if len(cells) != len(names):
        raise DescriptionError(
            f"expected {len(names)} cells, found {len(cells)}", file=path, line=line
        )
    numbers = []
    for name, cell in zip(names, cells, strict=True):
        try:
            value = float(cell)
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            text = f"'{cell.strip()}'" if cell.strip() else "a gap"
            raise DescriptionError(
                f"expected a number, found {text}", file=path, line=line, field=name
            )
        numbers.append(value)
    return numbers


# --------------------
# Tables in CSV, beside the figures that show them.


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
