"""CSV tables of numbers: one reader with column specifications, and the writers of tables.

A table has one line of column names, then lines of numbers. Lines that begin with # are comments.
A name carries its unit (``mass_g``, ``q1_deg``); values are returned in SI. Where semicolons
separate the names, as spreadsheets of many countries write them, commas are decimal points.

``pandas.read_csv`` was considered: it reads the same numbers, but reports neither the line nor the
column of a wrong cell.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path

import numpy as np

from softgrasp.errors import DescriptionError, did_you_mean, reason
from softgrasp.io.files import write_text
from softgrasp.io.input_limits import check_size
from softgrasp.mechanics.transforms import Array

FORMULA = ("=", "+", "-", "@", "\t")
"""Beginnings of formulas in spreadsheets."""
DECIMALS = 12
"""Decimals that are written; smaller values are rounding errors, in SI."""


@dataclass(frozen=True)
class Column:
    """One column of a table, or a numbered group of columns.

    Args:
        name: Name without the unit, such as ``mass``; of a group without the number, such as ``q``.
        units: SI value of each accepted unit, in any case, the preferred one first; empty where the
            name in the file has no unit.
        numbered: A group ``q1_deg``, ``q2_deg``, …, at least one, without a gap.
    """

    name: str
    units: Mapping[str, float] = field(default_factory=dict)
    numbered: bool = False

    def header(self, number: int = 1) -> str:
        """Name in the first line of a file, in the preferred unit."""
        stem = f"{self.name}{number}" if self.numbered else self.name
        return "_".join([stem, *list(self.units)[:1]])

    def parse(self, header: str) -> tuple[int, float] | None:
        """Return index in the group, from 1, and SI value of the unit; None for other columns."""
        number = r"([1-9]\d*)" if self.numbered else "()"
        unit = f"_(?i:({'|'.join(map(re.escape, self.units))}))" if self.units else "()"
        match = re.fullmatch(re.escape(self.name) + number + unit, header)
        factors = {name.lower(): factor for name, factor in self.units.items()}
        return match and (int(match[1] or 1), factors.get(match[2].lower(), 1.0))


@dataclass(frozen=True, eq=False)
class CsvTable:
    """Values of a table, in SI."""

    columns: Mapping[str, Array]
    """By ``Column.name``: (m,), of a numbered group (m, n)."""
    lines: tuple[int, ...]
    """Line of each row in the file, from 1, (m,)."""

    def __getitem__(self, name: str) -> Array:
        """Values of a column (m,), or of a numbered group (m, n)."""
        return self.columns[name]


def read_table(path: Path, columns: Sequence[Column], *, rising: str = "") -> CsvTable:
    """Read a table with the given columns, in any order.

    Args:
        path: The file.
        columns: All columns of the file.
        rising: Name of a column whose values must increase from row to row, such as ``time``.

    Raises:
        DescriptionError: The file cannot be read, its columns differ, it has no rows, a cell is
            not a finite number, or ``rising`` does not increase; names file, line and column.
    """
    (line, cells), *rows = _lines(path)
    headers = [cell.strip() for cell in cells]
    try:
        positions, factors = _match(headers, columns)
    except DescriptionError as error:
        raise error.located(file=path, line=line) from None
    if not rows:
        raise DescriptionError("expected lines of numbers, found only names", file=path)
    values = np.array([_numbers(path, headers, *row) for row in rows])
    lines = tuple(line for line, _ in rows)
    if rising:
        index = positions[rising][0]
        _check_rising(path, values[:, index], lines, headers[index])
    values = values * factors
    table = {column.name: values[:, positions[column.name]] for column in columns}
    table |= {column.name: table[column.name][:, 0] for column in columns if not column.numbered}
    return CsvTable(table, lines)


def column_names(path: Path) -> list[str]:
    """Read the first line of a table: names of its columns, with units.

    Raises:
        DescriptionError: The file cannot be read, or has no line of names.
    """
    return [cell.strip() for cell in _lines(path)[0][1]]


def cell_text(text: str) -> str:
    """Return a text for a cell of a CSV table, with an apostrophe before what may be a formula.

    Spreadsheets evaluate cells that begin with one of ``FORMULA``, and names come from files of
    other people. Numbers stay; a carriage return, which ends a line for some readers, becomes a
    space.
    """
    text = text.replace("\r", " ")
    return f"'{text}" if text.startswith(FORMULA) and _number(text) is None else text


def write_csv(path: Path, headers: Sequence[str], rows: Iterable[Sequence[str | float]]) -> Path:
    """Write a table; numbers that are not finite become empty cells.

    Raises:
        ResultError: The file cannot be written.
    """
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(map(cell_text, headers))
    writer.writerows([_cell(value) for value in row] for row in rows)
    return write_text(path, stream.getvalue())


def write_columns(path: Path, columns: Mapping[str, Array | Sequence[str | float]]) -> Path:
    """Write named columns side by side; shorter ones end with empty cells.

    Raises:
        ResultError: The file cannot be written.
    """
    cells = (v.tolist() if isinstance(v, np.ndarray) else v for v in columns.values())
    return write_csv(path, list(columns), zip_longest(*cells, fillvalue=""))


def with_numbers(figures: Iterable[Path]) -> list[Path]:
    """List figure files, each followed by the CSV table of its data where one exists."""
    pairs = [(figure, figure.with_suffix(".csv")) for figure in figures]
    return [file for figure, table in pairs for file in (figure, table)[: 1 + table.exists()]]


def _lines(path: Path) -> list[tuple[int, list[str]]]:
    """Line numbers and cells, without comments and empty lines; at least one."""
    try:
        check_size(path)
        with path.open(encoding="utf-8-sig", newline="") as file:
            text = file.read()
        # semicolons separate the cells where the names have one
        names = next((line for line in text.splitlines() if line.strip() and line[0] != "#"), "")
        separator = ";" if ";" in names else ","
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator,
                            skipinitialspace=True)  # fmt: skip
        lines = [(reader.line_num, cells) for cells in reader]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        message = f"expected a table in CSV, found: {reason(error)}"
        raise DescriptionError(message, file=path) from None
    rows = [(line, cells) for line, cells in lines if cells and not cells[0].startswith("#")]
    if not rows:
        raise DescriptionError("expected a line of names, found nothing", file=path)
    if separator == ";":
        return [(line, [cell.replace(",", ".") for cell in cells]) for line, cells in rows]
    return rows


def _match(headers: list[str], columns: Sequence[Column]) -> tuple[dict[str, list[int]], Array]:
    """Positions of each column in the file, by name, and SI values of the units in the file."""
    positions: dict[str, dict[int, int]] = {column.name: {} for column in columns}
    factors = np.ones(len(headers))
    for index, header in enumerate(headers):
        parsed = [(column.name, match) for column in columns if (match := column.parse(header))]
        if not parsed:
            hint = did_you_mean(header, [column.header() for column in columns])
            raise DescriptionError(f"no column '{header}'; {hint}")
        name, (number, factors[index]) = parsed[0]
        positions[name][number] = index
    groups = positions.values()
    complete = all(group and sorted(group) == [*range(1, len(group) + 1)] for group in groups)
    if not complete or sum(map(len, groups)) < len(headers):
        names = ", ".join(
            f"{column.header(1)}, {column.header(2)}, …" if column.numbered else column.header()
            for column in columns
        )
        raise DescriptionError(f"expected the columns {names}, found {', '.join(headers)}")
    return {name: [group[k] for k in sorted(group)] for name, group in positions.items()}, factors


def _numbers(path: Path, headers: list[str], line: int, cells: list[str]) -> list[float]:
    if len(cells) != len(headers):
        raise DescriptionError(
            f"expected {len(headers)} cells, found {len(cells)}", file=path, line=line
        )
    values = []
    for header, cell in zip(headers, cells, strict=True):
        value = _number(cell)
        if value is None or not math.isfinite(value):
            text = f"'{cell.strip()}'" if cell.strip() else "an empty cell"
            raise DescriptionError(
                f"expected a finite number, found {text}", file=path, line=line, field=header
            )
        values.append(value)
    return values


def _number(cell: str) -> float | None:
    try:
        return float(cell)
    except ValueError:
        return None


def _check_rising(path: Path, values: Array, lines: Sequence[int], header: str) -> None:
    """Refuse values that do not increase, in the unit of the file."""
    wrong = np.flatnonzero(np.diff(values) <= 0.0)
    if wrong.size:
        row = int(wrong[0])
        stem, _, unit = header.rpartition("_")
        raise DescriptionError(
            f"expected a {stem} after {values[row]:g} {unit}, found {values[row + 1]:g} {unit}",
            file=path,
            line=lines[row + 1],
            field=header,
        )


def _cell(value: str | float) -> str:
    if isinstance(value, str):
        return cell_text(value)
    # adding zero makes -0.0 positive
    return f"{round(value, DECIMALS) + 0.0:.9g}" if math.isfinite(value) else ""
