"""Result folders on disk: ``result.json`` and ``trajectory.npz``, written whole, never pickled."""

from __future__ import annotations

import csv
import io
import json
import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softgrasp.errors import ResultError, reason
from softgrasp.io.files import atomic_path, write_text

RESULT_FILE, TRAJECTORY_FILE = "result.json", "trajectory.npz"
MAX_NAMED = 8
"""Other results that a sentence names."""


def write_result(
    directory: Path, document: dict[str, Any], arrays: dict[str, NDArray[Any]]
) -> list[Path]:
    """Write a result's document and arrays; the same content gives the same bytes.

    Raises:
        ResultError: The folder cannot be written, or a number is not finite.
    """
    try:
        text = json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)
    except ValueError as error:
        raise ResultError(f"{directory}: expected finite numbers only, found: {error}") from error
    trajectory = directory / TRAJECTORY_FILE
    with atomic_path(trajectory) as temporary, temporary.open("wb") as stream:
        np.savez_compressed(stream, allow_pickle=False, **arrays)
    return [write_text(directory / RESULT_FILE, text + "\n"), trajectory]


def read_result(directory: Path) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Read what ``write_result`` has written.

    Args:
        directory: The result's folder, or its ``result.json``.

    Raises:
        ResultError: A file is missing or is not what it should be.
    """
    directory = directory.parent if directory.name == RESULT_FILE else directory
    return read_document(directory / RESULT_FILE), _read_arrays(directory / TRAJECTORY_FILE)


def read_document(path: Path) -> dict[str, Any]:
    """Read a ``result.json``.

    Raises:
        ResultError: It is missing or is not what it should be.
    """
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ResultError(
            f"{path}: expected a result, found: {reason(error)}{_results_beside(path.parent)}"
        ) from error
    except ValueError as error:
        raise ResultError(f"{path}: expected JSON, found: {error}") from error
    if not isinstance(document, dict) or "schema_version" not in document:
        raise ResultError(f"{path}: expected a result with a schema_version, found none")
    return document


def _read_arrays(path: Path) -> dict[str, NDArray[Any]]:
    try:
        # opened here: numpy leaves a file open that it cannot read
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as stored:
            return {name: stored[name] for name in stored.files}
    except OSError as error:
        raise ResultError(f"{path}: expected a trajectory, found: {error.strerror}") from error
    except (ValueError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise ResultError(
            f"{path}: expected arrays without pickles, found: {error} ({path.stat().st_size} "
            "bytes); the file is cut off or damaged: copy it again, or simulate the scene anew"
        ) from error


def _results_beside(directory: Path) -> str:
    """What else there is to read, where a folder has no result: those right inside it."""
    known = sorted(path.parent.name for path in directory.glob(f"*/{RESULT_FILE}"))
    if known:
        return f"; results inside: {', '.join(known[:MAX_NAMED])}"
    return "; softgrasp grasp writes one"


# --------------------
# Joint states over time as CSV, in the order of the fields of ROS's ``sensor_msgs/JointState``.
#
# One header line: ``time``, then ``position.J`` for all joints J, then ``velocity.J`` and
# ``effort.J`` alike. What is not known is an empty field. Numbers have all digits.


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
