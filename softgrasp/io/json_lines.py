"""Journals in JSON Lines: records appended as they come, so that interrupted work resumes.

A line that a crash has cut short is ignored by ``read`` and removed by ``drop_cut_line``; at most
the record that was being written is lost.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from softgrasp.errors import SoftgraspWarning
from softgrasp.io.files import note_written, write_text
from softgrasp.io.input_limits import MAX_LINE, json_from

R = TypeVar("R")
BLOCK = 2**20
"""Bytes that are read at once from the end."""
REPORTED_LINES = 3
"""Maximum lines that a warning describes."""


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

    def checked(self, record_of: Callable[[Any], R], *, repair: bool) -> list[R]:
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
        """Append records to the file.

        Args:
            records: Plain data; NaN is permitted.
            sync: Whether to wait until they are on the disk.
        """
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
