"""``softgrasp twin serve`` as a process of its own."""

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 60.0


class Serving:
    """A server process, and what it has told."""

    def __init__(self, process: subprocess.Popen[str], message: IO[str]) -> None:
        self.process, self._told = process, message
        assert process.stdout is not None
        lines = []
        for line in process.stdout:
            lines.append(line)
            if line == "}\n":
                break
        assert lines, self.errors()
        self.document: dict[str, Any] = json.loads("".join(lines))
        self.port: int = self.document["port"]

    def stop(self, number: signal.Signals = signal.SIGINT) -> int:
        """End it as a person does."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.process.wait(PATIENCE)

    def errors(self) -> str:
        """What it said on standard error, without the last line that it always says."""
        self._told.seek(0)
        lines = self._told.read().splitlines()
        return "\n".join(line for line in lines if line != "softgrasp: stopped")

    def farewell(self) -> str:
        self._told.seek(0)
        return self._told.read().splitlines()[-1]


@contextmanager
def serving(*words: str) -> Iterator[Serving]:
    """The process, until the block ends."""
    with tempfile.TemporaryFile("w+") as message:
        process = subprocess.Popen(
            [sys.executable, "-m", "softgrasp", "twin", "serve", "--json", *words],
            stdout=subprocess.PIPE, stderr=message, text=True,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
        )  # fmt: skip
        try:
            there = Serving(process, message)
            yield there
            assert there.stop() == 0
        finally:
            process.kill()
            process.wait(PATIENCE)
            assert process.stdout is not None
            process.stdout.close()
