"""Every evaluation on disk as it comes, so that a killed calibration goes on where it was."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np

from softgrasp.errors import ResultError
from softgrasp.formats.atomic import write_text
from softgrasp.mechanics.transforms import Array

NAME = "evaluations.jsonl"


class Journal:
    """Remembers what was asked and told, in order.

    Optimisers ask the same again after a restart, as they are seeded; what they have asked before
    is told from the journal.
    """

    def __init__(self, directory: Path | None, problem: str) -> None:
        """Read what is there.

        Args:
            directory: Where to write; None to keep nothing.
            problem: Everything that decides the evaluations, as text.

        Raises:
            ResultError: The folder belongs to another problem, or cannot be written.
        """
        self._head = {"problem": hashlib.sha256(problem.encode()).hexdigest()}
        self._entries: list[dict[str, Any]] = []
        self._next = 0
        self._path = None if directory is None else directory / NAME
        if self._path is None or not self._path.exists():
            return
        entries = _whole_lines(self._path)
        if entries[:1] != [self._head]:
            raise ResultError(
                f"{self._path}: expected evaluations of this problem, found another's; choose "
                "another folder"
            )
        self._entries = entries[1:]
        self._rewrite()  # a line that was cut by a kill goes

    def known(self, requested: Array) -> Array | None:
        """What was told when this was asked before; None where it is new."""
        if self._next >= len(self._entries):
            return None
        line = self._entries[self._next]
        if line["parameters"] != _digest(requested):
            self._entries = self._entries[: self._next]  # another numpy, or another machine
            self._rewrite()
            return None
        self._next += 1
        return np.array([[np.nan if x is None else x for x in row] for row in line["values"]])

    def record(self, requested: Array, values: Array) -> None:
        """Keep an answer, (B, m)."""
        rows = [[None if np.isnan(x) else x for x in row] for row in values.tolist()]
        self._entries.append({"parameters": _digest(requested), "values": rows})
        self._next += 1
        if self._path is not None:
            first = [] if self._path.exists() else [self._head]
            self._append([*first, self._entries[-1]])

    def _rewrite(self) -> None:
        if self._path is not None:
            write_text(self._path, _text([self._head, *self._entries]))

    def _append(self, lines: list[dict[str, Any]]) -> None:
        assert self._path is not None
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._path.open("a", encoding="utf-8") as file:
                file.write(_text(lines))
        except OSError as error:
            raise ResultError(f"{self._path}: cannot be written: {error.strerror}") from error


def _text(lines: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(line) + "\n" for line in lines)


def _digest(requested: Array) -> str:
    return hashlib.sha256(np.ascontiguousarray(requested).tobytes()).hexdigest()[:16]


def _whole_lines(path: Path) -> list[dict[str, Any]]:
    try:
        text = path.read_bytes().decode("utf-8", errors="replace")
    except OSError as error:
        raise ResultError(f"{path}: cannot be read: {error.strerror}") from error
    entries = []
    for line in text.splitlines():
        try:
            entries.append(json.loads(line))
        except ValueError:
            break
    return entries
