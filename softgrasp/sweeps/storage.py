"""Directory of a sweep: its plan, a journal of finished rows, and a lock against two writers.

The plan is stored with hashes of all files that its rows are computed from, at any depth; a sweep
goes on with these files only.

A finished row is one line of JSON at the end of ``rows.jsonl``, in the file before the next one is
accepted (``io.result``), with a hash of its content. When the sweep is resumed, each line is
checked: its hash, its row, the values of the axes and its columns. One that a crash has cut short
is removed; one that is damaged or of another plan is reported, too, and its row is computed again.
So a kill costs only the grasps that were in work, and a loss of power also the rows of the last
``SYNC_PERIOD``: waiting for the disk takes some milliseconds, as long as a short row. The lock is
that of the operating system (``flock``), which no kill leaves behind.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import IO, Any, NamedTuple, Self

import mujoco

from softgrasp._version import __version__
from softgrasp.description.sweep import SweepPlan
from softgrasp.errors import DescriptionError, ResultError
from softgrasp.io.files import note_written, write_text
from softgrasp.io.input_limits import read_json
from softgrasp.io.load import current_hashes, find_changed_input, input_hashes
from softgrasp.io.result import JsonLines
from softgrasp.sweeps.parameters import combinations, files_of, inputs_of
from softgrasp.sweeps.table import COLUMNS, Row

PLAN, JOURNAL, LOCK = "plan.json", "rows.jsonl", "sweep.lock"
SCHEMA_VERSION = 3
READ, TEXTS = "inputs", "plan_files"
"""Keys of the hashes of files in the plan: of those that its rows read, and of those from which it
was read itself, where they are known."""
Hashes = Mapping[str, str]
"""Hashes of files by their names, as ``io.load.input_hashes`` returns them."""
SHA256 = "sha256"
"""Key of the hash of a line of the journal."""
SYNC_PERIOD = 0.5
"""Maximum time between a row's end and a wait for the disk, where rows follow each other [s]."""


class SweepStore:
    """Directory of one sweep plan and its finished rows; as a context, locked for writing."""

    def __init__(
        self,
        directory: str | Path,
        plan: SweepPlan,
        engine: str | None = None,
        inputs: Mapping[str, Hashes] | None = None,
        files: Sequence[Path] = (),
    ) -> None:
        """Store the directory's name; nothing is written yet.

        Args:
            directory: Directory of the sweep.
            plan: Its plan.
            engine: Version of the engine that computes its rows, by default that of MuJoCo; rows
                of others are not mixed with them.
            inputs: Hashes as in ``StoredPlan``, by default those of the present files.
            files: Files from which the plan was read.
        """
        self.directory, self.plan = Path(directory), plan
        self._inputs, self._files = inputs, files
        self._engine = engine or mujoco.__version__
        self._lock: IO[str] | None = None
        self._journal = JsonLines(self.directory / JOURNAL)
        self._synced = -SYNC_PERIOD

    def __enter__(self) -> Self:
        """Lock the directory, and write the plan where there is none yet.

        Raises:
            ResultError: Another process writes here, the directory belongs to another plan, or it
                cannot be written.
        """
        try:
            self._lock = self._locked()
        except OSError as error:
            raise ResultError(
                f"{self.directory}: expected a directory that can be written, found: "
                f"{error.strerror or error}"
            ) from error
        try:
            self._claim()
        except BaseException:
            self._lock.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        """Wait until the rows are on the disk, and unlock the directory."""
        if self._lock is not None:
            with suppress(OSError), self._journal.path.open("rb") as file:
                os.fsync(file.fileno())
            self._lock.close()

    def add(self, rows: Iterable[dict[str, Any]]) -> None:
        """Append finished rows; they are in the file when this returns.

        Raises:
            ResultError: They cannot be written; the rows before are safe.
        """
        assert self._lock is not None  # used as a context
        now = time.monotonic()
        sync = now - self._synced >= SYNC_PERIOD
        try:
            self._journal.append((row | {SHA256: _hash(row)} for row in rows), sync=sync)
        except OSError as error:
            raise ResultError(
                f"{self._journal.path}: expected space for the finished rows, found: "
                f"{error.strerror or error}; the rows before are safe, and the sweep goes on from "
                "them when it is run again"
            ) from error
        if sync:
            self._synced = now

    def finished(self) -> dict[int, Row]:
        """Return the finished rows by their numbers, in the order in which they were finished.

        A damaged or foreign line is left out with a warning; with the lock it is removed, too.

        Raises:
            ResultError: The journal cannot be read, or not be written without such lines.
        """
        check = partial(_check_row, self.plan, combinations(self.plan))
        try:
            rows = self._journal.checked(check, repair=self._lock is not None)
        except OSError as error:
            raise ResultError(
                f"{self._journal.path}: expected the finished rows, found: "
                f"{error.strerror or error}"
            ) from error
        return {row["row"]: row for row in rows}

    def _locked(self) -> IO[str]:
        self.directory.mkdir(parents=True, exist_ok=True)
        is_new = not (self.directory / LOCK).exists()
        lock = (self.directory / LOCK).open("a+")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            lock.seek(0)
            holder = lock.read().strip() or "unknown"
            lock.close()
            raise ResultError(
                f"{self.directory}: expected no other sweep that writes here, found process "
                f"{holder}"
            ) from None
        lock.truncate(0)
        lock.write(f"{os.getpid()}\n")
        lock.flush()
        if is_new:
            note_written(self.directory / LOCK, grows=True)
        return lock

    def _claim(self) -> None:
        path, rows = self.directory / PLAN, count_finished(self.directory)
        if self._inputs is None:
            texts = {TEXTS: input_hashes(self._files)} if self._files else {}
            self._inputs = texts | {READ: input_hashes(files_of(self.plan))}
        if path.exists():
            if rows:
                self._refuse_other_versions()
            require_inputs(self.directory, self._inputs)
            as_read = SweepPlan.model_validate_json(self.plan.model_dump_json())
            if stored_in(self.directory).plan != as_read:
                raise ResultError(
                    f"{self.directory}: expected the results of this plan, found those of another "
                    "one; choose another directory"
                )
            self._journal.drop_cut_line()
            if rows:
                return
        elif rows:
            raise ResultError(
                f"{path}: expected the plan of the {rows} finished rows in {JOURNAL}, found none; "
                "bring it back, or choose another directory"
            )
        content = {
            "schema_version": SCHEMA_VERSION,
            "softgrasp_version": __version__,
            "mujoco_version": self._engine,
            "rows": self.plan.size,
            "plan": self.plan.model_dump(mode="json"),
            **self._inputs,
        }
        write_text(path, json.dumps(content, indent=1) + "\n")

    def _refuse_other_versions(self) -> None:
        """Refuse finished rows of other versions, with which others would not agree bit for bit."""
        here, stored = _versions(__version__, self._engine), stored_in(self.directory).versions
        if stored != here:
            raise ResultError(
                f"{self.directory}: expected finished rows of {here}, found those of {stored}; "
                "resume them with these versions, or choose another directory"
            )


def _check_row(plan: SweepPlan, values: Sequence[Any], record: Any) -> Row:
    """Return the row in a record of the journal; ValueError with the reason where it is none."""
    if not isinstance(record, dict) or SHA256 not in record:
        raise ValueError(f"expected a row with {SHA256}, found none")
    row = {name: value for name, value in record.items() if name != SHA256}
    if record[SHA256] != _hash(row):
        raise ValueError("expected the content of its hash, found another")
    number, size = row.get("row"), plan.size
    if not isinstance(number, int) or not 0 <= number < size:
        raise ValueError(f"expected a row from 0 to {size - 1}, found {number}")
    inputs = inputs_of(plan, values[number // plan.repeats], number)
    for name, value in json.loads(json.dumps(inputs)).items():
        if name not in row or row[name] != value:
            raise ValueError(f"row {number}: expected {name} {value}, found {row.get(name)}")
    if missing := COLUMNS.keys() - row.keys():
        raise ValueError(f"row {number}: expected the column {min(missing)}, found none")
    return row


def _hash(row: Row) -> str:
    """Return the hash of a row's content."""
    return hashlib.sha256(json.dumps(row).encode()).hexdigest()


class StoredPlan(NamedTuple):
    """What ``plan.json`` of a sweep's directory states."""

    plan: SweepPlan
    versions: str
    """Versions of softgrasp and of the engine."""
    inputs: Mapping[str, Hashes]
    """Hashes of files: ``READ`` by the rows, and ``TEXTS`` where they are known."""


def stored_in(directory: Path) -> StoredPlan:
    """Read the plan of a sweep's directory.

    Raises:
        ResultError: There is none, it is damaged, or of another version.
    """
    path = directory / PLAN
    try:
        content = read_json(path)
        version = content["schema_version"]
        if version != SCHEMA_VERSION:
            raise ResultError(f"{path}: expected schema_version {SCHEMA_VERSION}, found {version}")
        inputs = {key: dict(content[key]) for key in (READ, TEXTS) if key in content}
        versions = _versions(content["softgrasp_version"], content["mujoco_version"])
        return StoredPlan(SweepPlan(**content["plan"]), versions, {READ: {}} | inputs)
    except OSError as error:
        raise ResultError(
            f"{path}: expected the plan of a sweep, found: {error.strerror or error}"
        ) from error
    except (ValueError, KeyError, TypeError, AttributeError, DescriptionError) as error:
        raise ResultError(f"{path}: damaged: {error}") from error


def plan_in(directory: Path) -> SweepPlan:
    """Read the plan of a sweep alone; errors as ``stored_in``."""
    return stored_in(directory).plan


def require_inputs(directory: Path, now: Mapping[str, Hashes] | None = None) -> None:
    """Refuse files that have changed since the sweep in a directory began.

    Args:
        directory: Directory of the sweep.
        now: Hashes of the files as in ``StoredPlan``, by default those of the files whose names are
            stored.

    Raises:
        ResultError: One has changed, or is another file; names it. Or as ``stored_in``.
    """
    before = stored_in(directory).inputs
    now = now or {key: current_hashes(hashes) for key, hashes in before.items()}
    for key in before.keys() & now.keys():
        if (name := find_changed_input(before[key], now[key])) is not None:
            raise ResultError(
                f"{directory}: expected the files with which this sweep began, found another "
                f"content of {name}; bring the old one back, or choose another directory"
            )


def _versions(softgrasp: str, engine: str) -> str:
    return f"softgrasp {softgrasp} with MuJoCo {engine}"


def count_finished(directory: Path) -> int:
    """Count the finished rows in a sweep's directory; 0 where there is no journal.

    Raises:
        ResultError: The journal cannot be read.
    """
    path = directory / JOURNAL
    try:
        return sum(1 for _ in JsonLines(path).lines())
    except OSError as error:
        raise ResultError(
            f"{path}: expected the finished rows, found: {error.strerror or error}"
        ) from error
