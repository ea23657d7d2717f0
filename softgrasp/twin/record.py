"""Record of a twin run: a file of JSON lines.

A row describes one cycle of the loop. Rows are flushed to the operating system at once and
synced to the disk once a second, so that a power failure loses no more than that. ``replay``
recomputes the shape from a recorded row.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self, cast

import numpy as np
from pydantic import ValidationError

from softgrasp.errors import DescriptionError, ResultError
from softgrasp.mechanics import Array
from softgrasp.plugin_api import (
    Vec3,
    Vec4,
    json_from,
    note_written,
    read_json,
    result_loader,
    write_text,
)
from softgrasp.twin.description import FlangeSample, Twin
from softgrasp.twin.piecewise_bending import TwinShape, twin_shape
from softgrasp.twin.pneumatic_controller import ControllerReading

TWIN_FILE, RECORD = "twin.json", "record.jsonl"
FORCED = 1.0
"""Period at which rows are synced to the disk [s]."""
NEEDED = frozenset(["number", "time", "latency", "lateness", "missed", "connected", "events"])
"""Columns of every row."""
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
        ResultError: The directory contains a record, or cannot be written.
    """

    def __init__(self, directory: Path, twin: Twin) -> None:
        self.path, self.rows, self._forced = directory / RECORD, 0, 0.0
        if self.path.exists():
            raise ResultError(
                f"{self.path}: expected no record here yet, found one; choose another directory "
                "with --out, or move it away"
            )
        document = {"schema": SCHEMA, "twin": twin.model_dump(mode="json")}
        write_text(directory / TWIN_FILE, json.dumps(document, indent=1) + "\n")
        try:
            self._file = self.path.open("x", encoding="utf-8")
            note_written(self.path, grows=True)
        except OSError as error:
            raise ResultError(f"{self.path}: {error.strerror or error}") from error

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
                f"{self.path}: expected space for a row, found: {error.strerror or error}"
            ) from error
        self.rows += 1

    def close(self) -> Path:
        """Sync the rows to the disk, close the file and return its path."""
        if self._file.closed:
            return self.path
        try:
            os.fsync(self._file.fileno())
            self._file.close()
        except OSError as error:  # the row that had no space is reported again
            with contextlib.suppress(OSError):
                self._file.close()
            raise ResultError(
                f"{self.path}: expected space for the file, found: {error.strerror or error}"
            ) from error
        return self.path

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            self.close()
        except ResultError:
            if kind is None or not issubclass(kind, ResultError):
                raise


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    """Read rows one after the other, without a last one that is cut off."""
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
    """
    directory = Path(directory)
    twin = _twin(directory / TWIN_FILE)
    path = directory / RECORD
    if not path.is_file():
        raise ResultError(f"{directory}: expected {RECORD}, found no such file")
    with path.open("rb") as file:
        end = file.seek(0, os.SEEK_END)
        file.seek(max(end - 1, 0))
        broken = file.read(1) not in (b"", b"\n")
    return TwinRecord(twin, list(_rows(path)), broken)


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
