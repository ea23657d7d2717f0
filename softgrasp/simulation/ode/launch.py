"""Run the player in a process of its own, so that ODE can end nothing else."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import IO

from softgrasp.errors import BackendUnavailable, SimulationError
from softgrasp.simulation.ode.player import FAILED, NO_ENGINE

PLAYER = "softgrasp.simulation.ode.player"
TAIL = 2000
"""Characters of what the process said that an error tells."""


def run_world(world: Path, timeout: float) -> None:
    """Play a world with its controller in ODE until the controller ends.

    Args:
        world: The .wbt file, in a project with ``controllers/``.
        timeout: Wall time after which it is ended [s].

    Raises:
        BackendUnavailable: There is no ODE.
        SimulationError: It was ended by ODE or after the time, or its exit code is not 0; tells
            the end of what it wrote.
    """
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", PLAYER, str(world)],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env=_environment(),
            # a group of its own, which is ended as a whole: controllers may start processes
            start_new_session=True,
        )
        try:
            code = process.wait(timeout)
        except subprocess.TimeoutExpired:
            raise SimulationError(
                f"{world}: the controller had not ended after {timeout:g} s{_tail(output)}"
            ) from None
        finally:
            _end(process)
        _check_exit(world, code, output)


def _check_exit(world: Path, code: int, output: IO[str]) -> None:
    if code == 0:
        return
    if code == NO_ENGINE:
        raise BackendUnavailable(_tail(output).removeprefix(": "))
    if code == FAILED:
        raise SimulationError(f"{world}{_tail(output)}".replace(f"{world}: {world}", str(world)))
    if code < 0:
        name = signal.Signals(-code).name
        raise SimulationError(f"{world}: ODE ended the process ({name}){_tail(output)}")
    raise SimulationError(f"{world}: the controller ended with code {code}{_tail(output)}")


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the process, where it still runs, and all that it started and left behind."""
    process.poll()
    # macOS does not permit it where all have ended
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _tail(output: IO[str]) -> str:
    output.seek(0)
    text = output.read().strip()
    shortened = text if len(text) <= TAIL else f"… {text[-TAIL:]}"
    return f": {shortened}" if shortened else ""


def _environment() -> dict[str, str]:
    """That of this process, with this very package first."""
    directory = str(Path(__file__).resolve().parents[3])
    inherited = os.environ.get("PYTHONPATH")
    return os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, [directory, inherited]))}
