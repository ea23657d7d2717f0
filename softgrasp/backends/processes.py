"""Programs of engines, each in a process group of its own, of which nothing is left running."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from softgrasp.errors import BackendUnavailable

GRACE = 5.0
"""Time between SIGTERM and SIGKILL [s]."""


@contextmanager
def process_group(
    command: Sequence[str],
    output: IO[bytes],
    errors: IO[bytes],
    environment: Mapping[str, str] | None = None,
    directory: Path | None = None,
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a program in a new session and process group, which ends with the block (POSIX).

    At the end of the block the group gets SIGTERM, and SIGKILL after ``GRACE`` seconds. Ctrl-C in
    the terminal does not reach it.

    Args:
        command: Program and arguments.
        output: File for the standard output; a pipe would fill up, or stay open.
        errors: File for the standard error.
        environment: Environment variables; by default those of this process.
        directory: Working directory.

    Yields:
        The program.

    Raises:
        BackendUnavailable: It cannot be started.
    """
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=errors,
            env=environment,
            cwd=directory,
            start_new_session=True,
        )
    except OSError as error:
        raise BackendUnavailable(
            f"{command[0]}: expected a program that runs, found one that cannot be started: "
            f"{error.strerror}"
        ) from None
    try:
        yield process
    finally:
        _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    try:
        latest = time.monotonic() + GRACE
        _signal(process, signal.SIGTERM)
        while _signal(process, 0) and time.monotonic() < latest:
            time.sleep(0.05)
    finally:  # also after a second Ctrl-C
        _signal(process, signal.SIGKILL)
        process.wait()


def _signal(process: subprocess.Popen[bytes], number: int) -> bool:
    """Send a signal to a whole process group; return False where it is empty."""
    process.poll()  # an ended program counts until it is polled
    try:
        os.killpg(process.pid, number)
    except (ProcessLookupError, PermissionError):  # macOS does not permit it after all have ended
        return False
    return True
