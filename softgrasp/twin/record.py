"""Record of a twin run: a journal while it runs, a parquet table at the end.

A row describes one cycle of the loop. Rows are flushed to the operating system at once and
synced to the disk once a second, so that a power failure loses no more than that. A killed run
leaves its journal, which is read like the table. ``replay`` recomputes the shape from a
recorded row.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, Self, cast

import numpy as np
from pydantic import ValidationError

from softgrasp.errors import BackendUnavailable, DescriptionError, ResultError
from softgrasp.mechanics import Array
from softgrasp.plugin_api import (
    Vec3,
    Vec4,
    atomic_path,
    json_from,
    note_written,
    read_json,
    result_loader,
    write_text,
)
from softgrasp.twin.description import FlangeSample, Twin
from softgrasp.twin.piecewise_bending import TwinShape, twin_shape
from softgrasp.twin.pneumatic_controller import ControllerReading

TWIN_FILE, JOURNAL, TABLE = "twin.json", "record.jsonl", "record.parquet"
FORCED = 1.0
"""Period at which rows are synced to the disk [s]."""
NEEDED = frozenset(["number", "time", "latency", "lateness", "missed", "connected", "events"])
"""Columns of every row."""
BLOCK = 1_000
"""Number of rows that are converted to the table at once."""
SCHEMA = 1
"""Version of these files; larger numbers are newer."""
READ = ("positive_on", "negative_on", "positive_target", "negative_target", "pressure")
"""Fields of a reading in a row."""


class TwinRow(NamedTuple):
    """Recorded data of one cycle of the control loop; missing values are None."""

    number: int
    """Number of the cycle, from 0, without gaps."""
    time: float
    """Scheduled time since the first cycle [s]."""
    lateness: float
    """Delay of the start after the first period since the previous cycle [s]."""
    latency: float
    """Time from the request to the answer or the failure [s]."""
    missed: int
    """Number of skipped cycles since the previous one."""
    reading: ControllerReading | None
    flange: FlangeSample | None
    shape: TwinShape | None
    joints: Array | None
    """Joint angles of the arm [rad]."""
    settled_tips: Array | None
    """Tips of the fingers in MuJoCo, in the robot's base frame [m], (k, 3)."""
    events: tuple[str, ...]
    """Events, as sentences."""

    @property
    def pressures(self) -> tuple[float, float, float] | None:
        """Measured pressure, positive and negative target [Pa]; None without a reading."""
        if self.reading is None:
            return None
        return (self.reading.pressure, self.reading.positive_target, self.reading.negative_target)

    def document(self) -> dict[str, Any]:
        """Convert the row to flat plain data for the record, in SI."""
        fields_of_row: dict[str, Any] = {
            "number": self.number,
            "time": self.time,
            "lateness": self.lateness,
            "latency": self.latency,
            "missed": self.missed,
            "connected": self.reading is not None,
        }
        fields_of_row |= {key: getattr(self.reading, key, None) for key in READ}
        for name, axes in (("position", "xyz"), ("quaternion", "wxyz")):
            fields_of_row |= _number(name, axes, getattr(self.flange, name, None))
        if self.shape is not None:
            fields_of_row |= _count("angle", self.shape.angles)
            fields_of_row |= _count("curvature", self.shape.curvatures)
            fields_of_row |= _tips("tip", self.shape.tips)
        if self.joints is not None:
            fields_of_row |= _count("joint", self.joints)
        if self.settled_tips is not None:
            fields_of_row |= _tips("settled_tip", self.settled_tips)
        return fields_of_row | {"events": " ".join(self.events)}


def _number(name: str, axes: str, values: Sequence[float] | None) -> dict[str, Any]:
    return {f"{name}_{axis}": values and values[k] for k, axis in enumerate(axes)}


def _tips(name: str, tips: Array) -> dict[str, Any]:
    return {
        f"{name}{k}_{axis}": part
        for k, tip in enumerate(tips.tolist(), 1)
        for axis, part in zip("xyz", tip, strict=True)
    }


def _count(name: str, values: Array) -> dict[str, Any]:
    return {f"{name}_{k}": value for k, value in enumerate(values.tolist(), 1)}


class TwinRecord(NamedTuple):
    """Recorded twin run, read from its directory."""

    twin: Twin
    rows: list[dict[str, Any]]
    """Rows in the order of the cycles; missing values are None."""
    broken: bool
    """Whether the last row was cut off and is omitted."""


class TwinRecorder:
    """Write the record of one run into a directory.

    Args:
        directory: Output directory, created where missing; it must not contain a record yet.
        twin: Digital twin.

    Raises:
        BackendUnavailable: pandas or pyarrow is not installed.
        ResultError: The directory contains a record, or cannot be written.
    """

    def __init__(self, directory: Path, twin: Twin) -> None:
        require_tables()
        for name in (JOURNAL, TABLE):
            if (directory / name).exists():
                raise ResultError(
                    f"{directory / name}: expected no record here yet, found one; choose another "
                    "directory with --out, or move it away"
                )
        self.directory, self.rows, self._forced = directory, 0, 0.0
        document = {"schema": SCHEMA, "twin": twin.model_dump(mode="json")}
        write_text(directory / TWIN_FILE, json.dumps(document, indent=1) + "\n")
        try:
            self._file = (directory / JOURNAL).open("x", encoding="utf-8")
            note_written(directory / JOURNAL, grows=True)
        except OSError as error:
            raise ResultError(f"{directory / JOURNAL}: {error.strerror or error}") from error

    def add(self, row: TwinRow) -> None:
        """Write a row and flush it to the operating system.

        Raises:
            ResultError: It cannot be written, as when the disk is full.
        """
        try:
            self._file.write(json.dumps(row.document(), allow_nan=False) + "\n")
            self._file.flush()
            if row.time - self._forced >= FORCED:
                os.fsync(self._file.fileno())
                self._forced = row.time
        except OSError as error:
            raise ResultError(
                f"{self.directory / JOURNAL}: expected space for a row, found: "
                f"{error.strerror or error}"
            ) from error
        self.rows += 1

    def close(self) -> Path:
        """Write the table and remove the journal; return the table's path."""
        if self._file.closed:
            return self.directory / TABLE
        try:
            os.fsync(self._file.fileno())
            self._file.close()
        except OSError as error:  # the row that had no space is reported again
            with contextlib.suppress(OSError):
                self._file.close()
            raise ResultError(
                f"{self.directory / JOURNAL}: expected space for the file, found: "
                f"{error.strerror or error}"
            ) from error
        _write_table(self.directory / JOURNAL, self.directory / TABLE)
        (self.directory / JOURNAL).unlink()
        return self.directory / TABLE

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            self.close()
        except ResultError:
            if kind is None or not issubclass(kind, ResultError):
                raise


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    """Read the rows of a journal one after the other, without a last one that is cut off."""
    with path.open(encoding="utf-8", errors="replace", newline="\n") as file:
        for number, line in enumerate(file, 1):
            if not line.endswith("\n"):
                return
            try:
                row = json_from(line)
            except ValueError:
                row = None
            if not (isinstance(row, dict) and row.keys() >= NEEDED):
                raise ResultError(f"{path}:{number}: expected a row, found other content")
            yield row


@result_loader
def read_twin_record(directory: str | Path) -> TwinRecord:
    """Read the record of a run, finished or not.

    Raises:
        ResultError: There is none, it has a newer version, or cannot be read.
        BackendUnavailable: pandas or pyarrow is not installed.
    """
    directory = Path(directory)
    twin = _twin(directory / TWIN_FILE)
    if (directory / TABLE).is_file():
        return TwinRecord(twin, _table(directory / TABLE), broken=False)
    journal = directory / JOURNAL
    if not journal.is_file():
        raise ResultError(f"{directory}: expected {TABLE} or {JOURNAL}, found neither")
    with journal.open("rb") as file:
        end = file.seek(0, os.SEEK_END)
        file.seek(max(end - 1, 0))
        broken = file.read(1) not in (b"", b"\n")
    return TwinRecord(twin, list(_rows(journal)), broken)


def _twin(path: Path) -> Twin:
    try:
        document = read_json(path)
        schema, twin = document["schema"], document["twin"]
        newer = schema > SCHEMA
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ResultError(f"{path}: expected the twin of a record, found none: {error}") from None
    if newer:
        raise ResultError(
            f"{path}: expected a record of version {SCHEMA} or older, found {schema}; it was "
            "written by a newer softgrasp"
        )
    try:
        return Twin.model_validate_json(json.dumps(twin))
    except (ValidationError, DescriptionError) as error:
        first = str(error).splitlines()[0]
        raise ResultError(f"{path}: expected the twin of a record, found: {first}") from None


def _table(path: Path) -> list[dict[str, Any]]:
    require_tables()
    import pandas as pd

    try:
        table = pd.read_parquet(path)
    except (OSError, ValueError) as error:
        raise ResultError(f"{path}: expected a table, found: {error}") from None
    if not set(table.columns) >= NEEDED:
        lacking = ", ".join(sorted(NEEDED - set(table.columns)))
        raise ResultError(f"{path}: expected the columns of a record, missing: {lacking}")
    plain = table.astype(object).where(table.notna(), None)
    return [{str(name): value for name, value in row.items()} for row in plain.to_dict("records")]


def _write_table(journal: Path, path: Path) -> None:
    """Convert a journal to a parquet file, atomically; only a block of rows is in memory.

    Raises:
        ResultError: The journal cannot be read, or the file cannot be written.
    """
    import pyarrow as pa
    from pyarrow.parquet import ParquetWriter

    schema = pa.schema(_column_types(journal))
    with atomic_path(path) as temporary, ParquetWriter(temporary, schema) as writer:
        rows = _rows(journal)
        while block := list(islice(rows, BLOCK)):
            writer.write_table(pa.Table.from_pylist(block, schema))


def _column_types(journal: Path) -> list[tuple[str, Any]]:
    """Return the columns of a journal and their types, after reading all of it."""
    import pyarrow as pa

    kinds: dict[str, set[type]] = {}
    for row in _rows(journal):
        for name, value in row.items():
            kinds.setdefault(name, set()).add(type(value))
    types = {bool: pa.bool_(), int: pa.int64(), float: pa.float64(), str: pa.string()}
    columns: list[tuple[str, Any]] = []
    for name, present in kinds.items():
        present -= {type(None)}
        if float in present:
            present -= {int}
        columns.append((name, types[present.pop()] if len(present) == 1 else pa.null()))
    return columns


def require_tables() -> None:
    """Check that the libraries for tables are installed.

    Raises:
        BackendUnavailable: pandas or pyarrow is not installed.
    """
    missing = [name for name in ("pandas", "pyarrow") if find_spec(name) is None]
    if missing:
        raise BackendUnavailable(
            f"the record of a twin needs {' and '.join(missing)}; pip install 'softgrasp[twin]'"
        )


# Replay


def replay(twin: Twin, row: dict[str, Any]) -> tuple[TwinShape, Array | None] | None:
    """Recompute finger shape and arm joint angles [rad] of a recorded row.

    They follow from the recorded pressure and pose, as in the loop. None where one of them is
    missing, or the pressure is outside the measured range.
    """
    if row.get("pressure") is None or row.get("position_x") is None:
        return None
    flange = FlangeSample(
        time=float(row["time"]),
        position=cast("Vec3", tuple(float(row[f"position_{axis}"]) for axis in "xyz")),
        quaternion=cast("Vec4", tuple(float(row[f"quaternion_{axis}"]) for axis in "wxyz")),
    )
    try:
        shape = twin_shape(twin, float(row["pressure"]), flange)
    except DescriptionError:  # the pressure is outside the measured range
        return None
    return shape, joints_in(row)


def joints_in(document: dict[str, Any]) -> Array | None:
    """Return the arm's joint angles in a recorded row [rad]; None without any."""
    values: list[float] = []
    while (value := document.get(f"joint_{len(values) + 1}")) is not None and value == value:
        values.append(float(value))
    return np.array(values) if values else None
