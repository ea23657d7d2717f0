"""What Webots and its controllers say, read while they run."""

from __future__ import annotations

import re
from collections import deque
from pathlib import Path

OUTPUT = "webots.stdout.txt"
ERRORS = "webots.stderr.txt"
LAST_LINES = 15
MAX_WARNINGS = 10
WARNING = re.compile(r"(?:WARNING|ERROR|FATAL): ")
# After any of these Webots goes on for ever, without a controller or with an empty world.
ORPHANED = re.compile(
    r"(?:INFO|WARNING|ERROR): .*(?:controller (?:exited|crashed)|: failed to start: "
    r"|Could not find (?:the )?controller|Failed to load due to)"
)


class Console:
    """Both output files of one run.

    Attributes:
        output: File of the standard output.
        errors: File of the standard error.
        orphaned: Whether Webots said that the controller ended or never started.
    """

    def __init__(self, directory: Path) -> None:
        self.output, self.errors = directory / OUTPUT, directory / ERRORS
        self.orphaned = False
        self._warnings: dict[str, None] = {}
        self._logs = (_Log(self.output), _Log(self.errors))

    def clear(self) -> None:
        """Start both files anew.

        Raises:
            OSError: They cannot be written.
        """
        for file in (self.output, self.errors):
            file.write_bytes(b"")

    def read(self, *, all_is_written: bool = False) -> None:
        """Take note of the lines that were written since the last time.

        Args:
            all_is_written: Also of a last one without a line end.
        """
        for log in self._logs:
            for line in log.new_lines(all_is_written):
                self.orphaned = self.orphaned or bool(ORPHANED.match(line))
                if WARNING.match(line):
                    self._warnings[line] = None

    def last_lines(self) -> str:
        """The end of the standard error, or of the output: xvfb-run may send both there."""
        output, errors = (log.last_lines for log in self._logs)
        return "\n".join(errors or output) or "(it wrote nothing)"

    def warnings(self) -> tuple[str, ...]:
        """The warnings and errors of Webots, each once; at most ten lines."""
        warnings_seen = tuple(self._warnings)
        if len(warnings_seen) <= MAX_WARNINGS:
            return warnings_seen
        kept = warnings_seen[: MAX_WARNINGS - 1]
        return (
            *kept,
            f"{len(warnings_seen) - len(kept)} more warnings of Webots are in {self.errors} and "
            f"{self.output.name}",
        )


class _Log:
    """A file of text that grows."""

    def __init__(self, file: Path) -> None:
        self.last_lines: deque[str] = deque(maxlen=LAST_LINES)
        self._file, self._read, self._rest = file, 0, b""

    def new_lines(self, all_is_written: bool) -> list[str]:
        with self._file.open("rb") as stream:
            stream.seek(self._read)
            new = stream.read()
        self._read += len(new)
        *whole, self._rest = (self._rest + new).split(b"\n")
        if all_is_written:
            whole, self._rest = [*whole, self._rest], b""
        lines = [line.decode(errors="replace").rstrip() for line in whole]
        self.last_lines.extend(line for line in lines if line)
        return lines
