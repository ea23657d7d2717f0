"""The folder of a sweep: its plan, a journal of finished rows, and one writer at a time.

A finished row is a line of JSON at the end of ``rows.jsonl``. A line that a crash has cut short is
left out when the sweep goes on, so at most the grasps in flight are lost.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from softgrasp._version import __version__
from softgrasp.description.sweep_plan import SweepPlan
from softgrasp.errors import DescriptionError, ResultError
from softgrasp.formats.atomic import write_text

PLAN, JOURNAL, LOCK = "plan.json", "rows.jsonl", "sweep.lock"
SCHEMA_VERSION = 1


class SweepStore:
    """A folder that belongs to one plan; used as a context it is locked for writing."""

    def __init__(self, directory: str | Path, plan: SweepPlan) -> None:
        """Name the folder; nothing is written yet."""
        self.directory, self.plan = Path(directory), plan
        self._lock: IO[str] | None = None
        self._journal: IO[str] | None = None

    def __enter__(self) -> Self:
        """Lock the folder, and write the plan where there is none yet.

        Raises:
            ResultError: Another process writes here, the folder belongs to another plan, or it
                cannot be written.
        """
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
            self._lock = (self.directory / LOCK).open("a+")
        except OSError as error:
            raise ResultError(
                f"{self.directory}: expected a folder that can be written, found: "
                f"{error.strerror or error}"
            ) from error
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._lock.seek(0)
            holder = self._lock.read().strip() or "unknown"
            self._lock.close()
            raise ResultError(
                f"{self.directory}: expected no other sweep that writes here, found process {holder}"
            ) from None
        self._lock.truncate(0)
        self._lock.write(f"{os.getpid()}\n")
        self._lock.flush()
        try:
            self._claim()
            self._journal = (self.directory / JOURNAL).open("a", encoding="utf-8")
        except BaseException:
            self._lock.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        """Let others write."""
        try:
            if self._journal is not None:
                with suppress(OSError):  # told already, by ``add``
                    self._journal.close()
        finally:
            if self._lock is not None:
                self._lock.close()

    def _claim(self) -> None:
        path = self.directory / PLAN
        if path.exists():
            if plan_in(self.directory) != self.plan:
                raise ResultError(
                    f"{self.directory}: expected the results of this plan, found those of another "
                    "one; choose another folder"
                )
            self._drop_cut_line()
            return
        content = {
            "schema_version": SCHEMA_VERSION,
            "softgrasp_version": __version__,
            "rows": self.plan.size,
            "plan": self.plan.model_dump(mode="json"),
        }
        write_text(path, json.dumps(content, indent=1) + "\n")

    def _drop_cut_line(self) -> None:
        """Cut what a crash has left behind the last whole line of the journal."""
        path = self.directory / JOURNAL
        if not path.exists():
            return
        content = path.read_bytes()
        whole = content.rfind(b"\n") + 1
        if whole < len(content):
            os.truncate(path, whole)

    def add(self, rows: Iterable[dict[str, Any]]) -> None:
        """Keep finished rows, on the disk before this returns.

        Raises:
            ResultError: They cannot be written; the rows before are safe.
        """
        assert self._journal is not None  # used as a context
        text = "".join(json.dumps(row, allow_nan=True) + "\n" for row in rows)
        try:
            self._journal.write(text)
            self._journal.flush()
            os.fsync(self._journal.fileno())
        except OSError as error:
            raise ResultError(
                f"{self.directory / JOURNAL}: expected room for the finished rows, found: "
                f"{error.strerror or error}; the rows before are safe, and the sweep goes on from "
                "them when it is run again"
            ) from error

    def finished(self) -> Iterator[dict[str, Any]]:
        """Finished rows, in the order in which they were finished."""
        path = self.directory / JOURNAL
        if not path.exists():
            return
        with path.open(encoding="utf-8") as lines:
            for line in lines:
                if line.endswith("\n"):
                    yield json.loads(line)


def plan_in(directory: Path) -> SweepPlan:
    """The plan of a sweep's folder.

    Raises:
        ResultError: There is none, it is damaged, or of another version.
    """
    path = directory / PLAN
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
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
