"""Journals in JSON Lines: records appended as they come, so that interrupted work resumes.

A line that a crash has cut short is ignored by ``read`` and removed by ``drop_cut_line``; at most
the record that was being written is lost.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from softgrasp.io.files import note_written
from softgrasp.io.input_limits import json_from


class JsonLines:
    """A file of JSON records, one per line; methods raise ``OSError`` as the file system does."""

    def __init__(self, path: Path) -> None:
        """Store the file name; nothing is read or written yet."""
        self.path = path

    def read(self) -> Iterator[dict[str, Any]]:
        """Yield all complete records; none where there is no file."""
        if not self.path.exists():
            return
        with self.path.open(encoding="utf-8", errors="replace") as lines:
            for line in lines:
                if line.endswith("\n"):
                    yield json_from(line)

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

    def drop_cut_line(self) -> None:
        """Remove the incomplete last line that a crash has left."""
        if not self.path.exists():
            return
        content = self.path.read_bytes()
        whole = content.rfind(b"\n") + 1
        if whole < len(content):
            os.truncate(self.path, whole)
