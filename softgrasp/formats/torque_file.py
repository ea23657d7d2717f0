"""Torques of motors in CSV: a column ``time_s``, and ``torque_1``, ``torque_2``, … in N·m."""

from __future__ import annotations

import csv
import math
from itertools import pairwise
from pathlib import Path

import numpy as np

from softgrasp import library
from softgrasp.errors import DescriptionError, did_you_mean
from softgrasp.mechanics.hydraulic.torques import TorqueTable

TIME, TORQUE, SUFFIX = "time_s", "torque_{}", ".csv"

Line = tuple[int, list[str]]
"""Its number, and its cells."""


def load_torques(name: str | Path) -> TorqueTable:
    """Shipped torques by name (``paper003_ramp``), or those of a CSV file.

    The first line names the columns, ``time_s, torque_1, torque_2, …``; lines that begin with #
    are remarks. Between the times torques run straight, after the last one they stay.

    Raises:
        DescriptionError: There is no such table, or it is wrong: a cell without a number, times
            that do not rise, columns that are missing; names file and line.
    """
    path = Path(name)
    if path.suffix.lower() != SUFFIX:
        path = _shipped(str(name))
    head, *rows = _lines(path)
    _check_head(path, head)
    if not rows:
        raise DescriptionError("expected lines of numbers, found only names", file=path)
    names = [cell.strip() for cell in head[1]]
    table = [_numbers(path, names, row) for row in rows]
    for (_, above), (line, below) in pairwise(rows):
        if float(below[0]) <= float(above[0]):
            raise DescriptionError(
                f"expected a time after {float(above[0]):g} s, found {float(below[0]):g} s",
                file=path,
                line=line,
                field=TIME,
            )
    found = np.array(table)
    return TorqueTable(found[:, 0], found[:, 1:])


def _shipped(name: str) -> Path:
    folder = library.folder("hydraulic_arms")
    known = sorted(path.stem for path in folder.glob(f"*{SUFFIX}"))
    if name not in known:
        raise DescriptionError(f"no torques '{name}'; {did_you_mean(name, known)}")
    return folder / f"{name}{SUFFIX}"


def _lines(path: Path) -> list[Line]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, skipinitialspace=True)
            lines = [(reader.line_num, cells) for cells in reader]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        told = f"expected a table in CSV, cannot read it: {error}"
        raise DescriptionError(told, file=path) from None
    found = [(at, cells) for at, cells in lines if cells and not cells[0].startswith("#")]
    if not found:
        raise DescriptionError("expected a line of names, found nothing", file=path)
    return found


def _check_head(path: Path, head: Line) -> None:
    line, cells = head
    names = [cell.strip() for cell in cells]
    wanted = [TIME, *(TORQUE.format(k) for k in range(1, max(len(names), 2)))]
    if names != wanted:
        raise DescriptionError(
            f"expected the columns {TIME}, {TORQUE.format(1)}, {TORQUE.format(2)}, …, "
            f"found {', '.join(names)}",
            file=path,
            line=line,
        )


def _numbers(path: Path, names: list[str], row: Line) -> list[float]:
    line, cells = row
    if len(cells) != len(names):
        raise DescriptionError(
            f"expected {len(names)} cells, found {len(cells)}", file=path, line=line
        )
    found = []
    for name, cell in zip(names, cells, strict=True):
        try:
            value = float(cell)
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            told = f"'{cell.strip()}'" if cell.strip() else "a gap"
            raise DescriptionError(
                f"expected a number, found {told}", file=path, line=line, field=name
            )
        found.append(value)
    return found
