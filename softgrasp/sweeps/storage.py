"""Directory of a sweep: its plan, a journal of finished rows, and a lock against two writers.

A finished row is one line of JSON at the end of ``rows.jsonl``, on the disk before the next one is
accepted (``io.json_lines``). A line that a crash has cut short is removed when the sweep is
resumed, so a kill costs only the grasps that were in work. The lock is that of the operating system
(``flock``), which no kill leaves behind.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any, Self

from softgrasp._version import __version__
from softgrasp.description.sweep import SweepPlan
from softgrasp.errors import DescriptionError, ResultError
from softgrasp.io.files import note_written, write_text
from softgrasp.io.input_limits import read_json
from softgrasp.io.json_lines import JsonLines

PLAN, JOURNAL, LOCK = "plan.json", "rows.jsonl", "sweep.lock"
SCHEMA_VERSION = 2


class SweepStore:
    """Directory of one sweep plan and its finished rows; as a context, locked for writing."""

    def __init__(self, directory: str | Path, plan: SweepPlan) -> None:
        """Store the directory's name; nothing is written yet."""
        self.directory, self.plan = Path(directory), plan
        self._lock: IO[str] | None = None
        self._journal = JsonLines(self.directory / JOURNAL)

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
        """Unlock the directory."""
        if self._lock is not None:
            self._lock.close()

    def add(self, rows: Iterable[dict[str, Any]]) -> None:
        """Append finished rows; they are on the disk when this returns.

        Raises:
            ResultError: They cannot be written; the rows before are safe.
        """
        assert self._lock is not None  # used as a context
        try:
            self._journal.append(rows)
        except OSError as error:
            raise ResultError(
                f"{self._journal.path}: expected space for the finished rows, found: "
                f"{error.strerror or error}; the rows before are safe, and the sweep goes on from "
                "them when it is run again"
            ) from error

    def finished(self) -> Iterator[dict[str, Any]]:
        """Return finished rows in the order in which they were finished."""
        return self._journal.read()

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
        path = self.directory / PLAN
        if path.exists():
            if plan_in(self.directory) != self.plan:
                raise ResultError(
                    f"{self.directory}: expected the results of this plan, found those of another "
                    "one; choose another directory"
                )
            self._journal.drop_cut_line()
            return
        content = {
            "schema_version": SCHEMA_VERSION,
            "softgrasp_version": __version__,
            "rows": self.plan.size,
            "plan": self.plan.model_dump(mode="json"),
        }
        write_text(path, json.dumps(content, indent=1) + "\n")


def plan_in(directory: Path) -> SweepPlan:
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
        return SweepPlan(**content["plan"])
    except OSError as error:
        raise ResultError(
            f"{path}: expected the plan of a sweep, found: {error.strerror or error}"
        ) from error
    except (ValueError, KeyError, TypeError, DescriptionError) as error:
        raise ResultError(f"{path}: damaged: {error}") from error


def count_finished(directory: Path) -> int:
    """Count the finished rows in a sweep's directory; 0 where there is no journal."""
    path = directory / JOURNAL
    return path.read_bytes().count(b"\n") if path.exists() else 0
