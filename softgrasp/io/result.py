"""Result directories, dataclasses as arrays, joint states, journals of work that can be resumed.

``result.json`` and ``trajectory.npz`` are written whole and never pickled. ``to_arrays`` and
``from_arrays`` convert results to what an ``.npz`` file holds and back, with all digits, NaN and
infinity. Joint states in CSV have one header line: ``time``, then ``position.J`` for all joints J,
then ``velocity.J`` and ``effort.J``, the fields of ROS's ``sensor_msgs/JointState``; unknown values
are empty cells, numbers have all digits. Journals are in JSON Lines: a line that a crash has cut
short is ignored by ``read`` and removed by ``drop_cut_line``, so that at most the record that was
being written is lost.
"""

from __future__ import annotations

import csv
import io
import json
import os
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from pathlib import Path
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from softgrasp.errors import ResultError, SoftgraspWarning, reason
from softgrasp.io.files import RESULT_FILE, TRAJECTORY_FILE, atomic_path, note_written, write_text
from softgrasp.io.input_limits import MAX_LINE, json_from, read_arrays, read_json

Array = NDArray[np.float64]
T = TypeVar("T")
BLOCK = 2**20
"""Bytes that are read at once from the end."""
REPORTED_LINES = 3
"""Maximum lines that a warning describes."""
MAX_NAMED = 8
"""Number of other results named in a message."""
FIELDS = ("position", "velocity", "effort")
"""Fields of ``sensor_msgs/JointState``, in its order."""


@dataclass(frozen=True, eq=False)
class JointStates:
    """Joint states over time: T samples, n joints; unknown values are NaN."""

    names: tuple[str, ...]
    time: Array
    """(T,) [s]"""
    position: Array
    """(T, n) [rad or m]"""
    velocity: Array
    """(T, n) [rad/s or m/s]"""
    effort: Array
    """(T, n) [N·m or N]"""


def write_result(
    directory: Path, document: dict[str, Any], arrays: dict[str, NDArray[Any]]
) -> list[Path]:
    """Write ``result.json`` and ``trajectory.npz`` of a result; equal content gives equal bytes.

    Raises:
        ResultError: The directory cannot be written, or a number is not finite.
    """
    try:
        text = json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)
    except ValueError as error:
        raise ResultError(f"{directory}: expected finite numbers only, found: {error}") from error
    trajectory = write_arrays(directory / TRAJECTORY_FILE, arrays)
    return [write_text(directory / RESULT_FILE, text + "\n"), trajectory]


def write_arrays(path: Path, arrays: Mapping[str, NDArray[Any]]) -> Path:
    """Write named arrays as ``.npz`` and return the path; equal arrays give equal bytes.

    Raises:
        ResultError: The file cannot be written.
    """
    with atomic_path(path) as temporary, temporary.open("wb") as stream:
        np.savez_compressed(stream, allow_pickle=False, **arrays)
    return path


def read_result(directory: Path) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Read ``result.json`` and ``trajectory.npz`` of a result by its directory or ``result.json``.

    Raises:
        ResultError: A file is missing or invalid.
    """
    directory = directory.parent if directory.name == RESULT_FILE else directory
    return read_document(directory / RESULT_FILE), _read_arrays(directory / TRAJECTORY_FILE)


def read_document(path: Path) -> dict[str, Any]:
    """Read a ``result.json``.

    Raises:
        ResultError: It is missing or invalid.
    """
    try:
        document = read_json(path)
    except OSError as error:
        known = sorted(item.parent.name for item in path.parent.glob(f"*/{RESULT_FILE}"))
        inside = f"results inside: {', '.join(known[:MAX_NAMED])}" if known else ""
        hint = inside or "softgrasp grasp writes one"
        message = f"{path}: expected a result, found: {reason(error)}; {hint}"
        raise ResultError(message) from error
    except ValueError as error:
        raise ResultError(f"{path}: expected JSON, found: {error}") from error
    if not isinstance(document, dict) or "schema_version" not in document:
        raise ResultError(f"{path}: expected a result with a schema_version, found none")
    return document


def _read_arrays(path: Path) -> dict[str, NDArray[Any]]:
    try:
        return read_arrays(path)
    except OSError as error:
        raise ResultError(f"{path}: expected a trajectory, found: {error.strerror}") from error
    except (ValueError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise ResultError(
            f"{path}: expected arrays without pickles, found: {error} ({path.stat().st_size} "
            "bytes); the file is truncated or damaged: copy it again, or repeat the simulation"
        ) from error


# Dataclasses
def to_arrays(value: Any, name: str = "") -> dict[str, NDArray[Any]]:
    """Convert a dataclass to arrays by the names of its fields, such as ``stages/0/values``.

    Args:
        value: Dataclass with fields of numbers, text, enumerations, arrays and further dataclasses,
            tuples of these, or None, which has no array.
        name: Name that precedes those of its parts.
    """
    start = f"{name}/" if name else ""
    if is_dataclass(value):
        parts = {field.name: getattr(value, field.name) for field in fields(value)}
    elif isinstance(value, tuple) and value and is_dataclass(value[0]):
        parts = {str(number): part for number, part in enumerate(value)}
    else:
        content = value.name if isinstance(value, Enum) else value
        return {} if value is None else {name: np.asarray(content)}
    arrays = (to_arrays(part, start + key) for key, part in parts.items())
    return {key: array for some in arrays for key, array in some.items()}


def from_arrays(kind: type[T], arrays: Mapping[str, NDArray[Any]]) -> T:
    """Restore a dataclass of a type from ``to_arrays``, by the type hints of its fields.

    Raises:
        ValueError: An array is missing.
    """
    tree: dict[str, Any] = {}
    for name, array in arrays.items():
        *path, last = name.split("/")
        branch = tree
        for part in path:
            branch = branch.setdefault(part, {})
        branch[last] = array
    restored: T = _restore(kind, tree, "")
    return restored


def _restore(kind: Any, part: Any, name: str) -> Any:
    """Restore a value of a type from its array, or the arrays of its parts by name."""
    inner = get_args(kind)
    if type(None) in inner:
        return None if part is None else _restore(inner[0], part, name)
    if part is None:
        raise ValueError(f"expected an array '{name[1:]}', found none")
    if is_dataclass(kind):
        make: Any = kind
        hints, keys = get_type_hints(kind), [field.name for field in fields(kind)]
        return make(**{key: _restore(hints[key], part.get(key), f"{name}/{key}") for key in keys})
    if isinstance(part, dict):
        numbers = map(str, range(len(part)))
        return tuple(_restore(inner[0], part.get(n), f"{name}/{n}") for n in numbers)
    if get_origin(kind) is np.ndarray:
        return part
    content = part.tolist()
    if isinstance(kind, type) and issubclass(kind, Enum):
        return kind[content]
    return _as_tuple(content)


def _as_tuple(value: Any) -> Any:
    return tuple(map(_as_tuple, value)) if isinstance(value, list) else value


# Joint states
def header(names: Sequence[str]) -> list[str]:
    """Return the column names of a joint-state file."""
    return ["time", *(f"{field}.{name}" for field in FIELDS for name in names)]


def save_joint_states(states: JointStates, path: str | Path) -> Path:
    """Write joint states as CSV and return the path.

    Raises:
        ResultError: The file cannot be written.
    """
    blocks = (states.time[:, None], *(getattr(states, field) for field in FIELDS))
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(header(states.names))
    for row in np.concatenate(blocks, axis=1).tolist():
        writer.writerow(["" if number != number else repr(number) for number in row])
    return write_text(path, stream.getvalue())


# Journals
class JsonLines:
    """A file of JSON records, one per line; methods raise ``OSError`` as the file system does."""

    def __init__(self, path: Path) -> None:
        """Store the file name; nothing is read or written yet."""
        self.path = path

    def read(self) -> Iterator[dict[str, Any]]:
        """Yield all complete records; none where there is no file.

        Raises:
            ValueError: A line is not JSON.
        """
        return map(json_from, self.lines())

    def checked(self, record_of: Callable[[Any], T], *, repair: bool) -> list[T]:
        """Return all records that pass a check; the other lines are left out with a warning.

        Args:
            record_of: Function of the data in a line that returns its record; it raises
                ``ValueError`` with the reason where it is none.
            repair: Whether to remove the other lines from the file.

        Raises:
            OSError: The file cannot be read.
            ResultError: It cannot be written.
        """
        records, good, faults = [], [], []
        for number, line in enumerate(self.lines(), 1):
            try:
                records.append(record_of(json_from(line)))
            except ValueError as error:
                faults.append(f"line {number}: {error}")
            else:
                good.append(line)
        if faults:
            shown = "; ".join(faults[:REPORTED_LINES]) + ("; …" * (len(faults) > REPORTED_LINES))
            warnings.warn(
                f"{self.path}: expected finished rows of this plan, found {len(faults)} damaged or "
                f"foreign lines, whose rows are computed again: {shown}",
                SoftgraspWarning,
                stacklevel=3,
            )
            if repair:
                self.replace(good)
        return records

    def lines(self) -> Iterator[str]:
        """Yield all complete lines, cut at ``MAX_LINE``; none where there is no file."""
        if not self.path.exists():
            return
        with self.path.open(encoding="utf-8", errors="replace") as file:
            while line := file.readline(MAX_LINE):
                rest = line
                while rest and not rest.endswith("\n"):
                    rest = file.readline(MAX_LINE)
                if rest:
                    yield line if rest is line else f"{line}\n"

    def append(self, records: Iterable[dict[str, Any]], *, sync: bool = True) -> None:
        """Append records of plain data to the file, and wait for the disk where ``sync``."""
        text = "".join(json.dumps(record) + "\n" for record in records)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        is_new = not self.path.exists()
        with self.path.open("a", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            if sync:
                os.fsync(file.fileno())
        if is_new:
            note_written(self.path, grows=True)

    def replace(self, lines: Iterable[str]) -> None:
        """Replace the whole file by some of its lines.

        Raises:
            ResultError: It cannot be written; the old file stays.
        """
        note_written(write_text(self.path, "".join(lines)), grows=True)

    def drop_cut_line(self) -> None:
        """Remove the incomplete last line that a crash has left."""
        if not self.path.exists():
            return
        with self.path.open("rb+") as file:
            end = size = file.seek(0, os.SEEK_END)
            whole = 0
            while end > 0 and not whole:
                begin = max(0, end - BLOCK)
                file.seek(begin)
                newline = file.read(end - begin).rfind(b"\n")
                whole = begin + newline + 1 if newline >= 0 else 0
                end = begin
            if whole < size:
                file.truncate(whole)
