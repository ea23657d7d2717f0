"""Programs that start programs: when they end, or have to, none of theirs stays behind.

Webots is a script that starts the simulator, which starts controllers; xvfb-run and its X server
come on top. A signal to the first of them does not reach the others.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep
from typing import IO

from softgrasp.errors import BackendUnavailable

GRACE = 5.0  # [s] from the request to end until the end
PAUSE = 0.05  # [s] between two looks


@contextmanager
def process_group(
    command: Sequence[str],
    *,
    output: IO[bytes],
    errors: IO[bytes],
    environment: Mapping[str, str] | None = None,
    directory: Path | None = None,
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a program as the first of its own process group, which ends with the block (POSIX).

    What is left of the group when the block is left, in whatever way, is asked to end and killed
    after ``GRACE`` seconds. Being a session of its own, it does not hear a Ctrl-C in the terminal.

    Args:
        command: Program and arguments.
        output: File for the standard output; a pipe would fill up, or stay open.
        errors: File for the standard error.
        environment: Variables; those of this process where not given.
        directory: Where it runs.

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
        latest = monotonic() + GRACE
        _signal(process, signal.SIGTERM)
        while _signal(process, 0) and monotonic() < latest:
            sleep(PAUSE)
    finally:  # a second Ctrl-C cuts the grace short, nothing else
        _signal(process, signal.SIGKILL)
        process.wait()


def _signal(process: subprocess.Popen[bytes], number: int) -> bool:
    """Signal a whole group; False where nobody is left in it."""
    process.poll()  # a program that ended counts until it is taken note of
    try:
        os.killpg(process.pid, number)
    except (ProcessLookupError, PermissionError):  # macOS: not permitted when all have ended
        return False
    return True
