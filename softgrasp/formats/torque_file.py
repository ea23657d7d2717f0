"""Torques of motors in CSV: a column ``time_s``, and ``torque_1``, ``torque_2``, … in N·m."""

from __future__ import annotations

from pathlib import Path

from softgrasp import library
from softgrasp.errors import DescriptionError, did_you_mean
from softgrasp.formats.csv_table import read_table, refuse_falling
from softgrasp.mechanics.hydraulic.torques import TorqueTable

TIME, TORQUE, SUFFIX = "time_s", "torque_{}", ".csv"


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
    columns_text = f"{TIME}, {TORQUE.format(1)}, {TORQUE.format(2)}, …"
    table = read_table(path, _columns, columns_text)
    refuse_falling(path, table)
    return TorqueTable(table.values[:, 0], table.values[:, 1:])


def _columns(count: int) -> list[str]:
    return [TIME, *(TORQUE.format(k) for k in range(1, max(count, 2)))]


def _shipped(name: str) -> Path:
    directory = library.directory("hydraulic_arms")
    known = sorted(path.stem for path in directory.glob(f"*{SUFFIX}"))
    if name not in known:
        raise DescriptionError(f"no torques '{name}'; {did_you_mean(name, known)}")
    return directory / f"{name}{SUFFIX}"
