"""Joint states over time as CSV, in the order of the fields of ROS's ``sensor_msgs/JointState``.

One header line: ``time``, then ``position.J`` for all joints J, then ``velocity.J`` and
``effort.J`` alike. What is not known is an empty field. Numbers have all digits.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from softgrasp.errors import ResultError
from softgrasp.formats.atomic import write_text

Array = NDArray[np.float64]
FIELDS = ("position", "velocity", "effort")
"""Of ``sensor_msgs/JointState``, in its order."""


@dataclass(frozen=True, eq=False)
class JointStates:
    """Joint states over time; T instants, n joints, NaN where something is not known."""

    names: tuple[str, ...]
    time: Array
    """(T,) [s]"""
    position: Array
    """(T, n) [rad or m]"""
    velocity: Array
    """(T, n) [rad/s or m/s]"""
    effort: Array
    """(T, n) [N·m or N]"""


def header(names: Sequence[str]) -> list[str]:
    """The column names of a file of some joints."""
    return ["time", *(f"{field}.{name}" for field in FIELDS for name in names)]


def save_joint_states(states: JointStates, path: str | Path) -> Path:
    """Write joint states as CSV and return the path.

    Raises:
        ResultError: The place cannot be written.
    """
    blocks = (states.time[:, None], *(getattr(states, field) for field in FIELDS))
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(header(states.names))
    for row in np.concatenate(blocks, axis=1).tolist():
        writer.writerow(["" if number != number else repr(number) for number in row])
    return write_text(path, stream.getvalue())


def load_joint_states(path: str | Path) -> JointStates:
    """Read what ``save_joint_states`` has written.

    Raises:
        ResultError: The file cannot be read, or is not such a file.
    """
    try:
        with Path(path).open(encoding="utf-8", newline="") as file:
            first, *rows = csv.reader(file)
    except (OSError, UnicodeDecodeError, csv.Error, ValueError) as error:
        reason = getattr(error, "strerror", None) or "no header line"
        raise ResultError(f"{path}: expected joint states as CSV, found: {reason}") from None
    count = (len(first) - 1) // len(FIELDS)
    names = [column.removeprefix("position.") for column in first[1 : 1 + count]]
    if first != header(names):
        raise ResultError(
            f"{path}: expected the columns {', '.join(header(['J1']))} alike for all joints, found "
            f"{', '.join(first[:4])}, …"
        )
    try:
        table = np.array([[float(cell or "nan") for cell in row] for row in rows], dtype=float)
        table = table.reshape(len(rows), len(first))
    except ValueError as error:
        raise ResultError(f"{path}: expected {len(first)} numbers a line: {error}") from None
    blocks = (table[:, 1 + k * count : 1 + (k + 1) * count] for k in range(len(FIELDS)))
    return JointStates(tuple(names), table[:, 0], *blocks)
