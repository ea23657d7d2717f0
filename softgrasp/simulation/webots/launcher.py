"""Runs one world in Webots, without a window, until its controller has written a result."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path
from time import monotonic, sleep

from softgrasp.errors import ResultError, SimulationError
from softgrasp.simulation.webots.console import Console
from softgrasp.simulation.webots.headless import is_headless, with_screen
from softgrasp.simulation.webots.installation import Webots, find_webots
from softgrasp.simulation.webots.process_group import process_group

OPTIONS = ("--batch", "--mode=fast", "--no-rendering", "--minimize", "--stdout", "--stderr")
FAREWELL = 10.0  # [s] that Webots has to end itself, once there is nothing left to wait for
ENDED_WELL = "ended with exit code 0"
PAUSE = 0.05  # [s] between two looks


def run_world(
    world: Path, result: Path, *, timeout: float = 600.0, webots: Webots | None = None
) -> tuple[str, ...]:
    """Run a world until its one controller has written the result and quit the simulation.

    Webots has no run time and does not end with its controller, so the controller has to call
    ``simulationQuit`` last. It has to write the result under another name and rename it when it
    is whole. Output goes to ``webots.stdout.txt`` and ``webots.stderr.txt`` in the project folder,
    the one that holds ``worlds``. Nothing that was started is left running.

    Args:
        world: The .wbt file.
        result: The file that the controller writes; one that is there already is removed.
        timeout: Longest run [s], by the wall clock.
        webots: The Webots; the one that ``find_webots`` finds where not given.

    Returns:
        What Webots warned of, and whether it ended badly once the result was there.

    Raises:
        BackendUnavailable: There is no Webots, it cannot be started, or it has no screen.
        ResultError: An earlier result cannot be removed, or the output cannot be written.
        SimulationError: There is no world, or Webots left no result, or not in time.
    """
    world, result = world.absolute(), result.absolute()
    if not world.is_file():
        raise SimulationError(f"{world}: expected a world for Webots, found no file")
    webots = webots or find_webots()
    command = with_screen([str(webots.executable), *OPTIONS, str(world)])
    console = Console(world.parent.parent if world.parent.name == "worlds" else world.parent)
    _clear(console, result)
    ending = _run(command, _environment(webots), console, result, timeout)
    console.read(all_is_written=True)
    if result.is_file():
        doubt = () if ending == ENDED_WELL else (f"the result is there, but Webots {ending}",)
        return console.warnings() + doubt
    raise SimulationError(
        f"{world}: expected Webots {webots.version} to leave the result {result}, found none; it "
        f"{ending}; its last lines:\n{console.last_lines()}"
    )


def _clear(console: Console, result: Path) -> None:
    """Remove what an earlier run left, which would pass for what this one leaves."""
    try:
        result.unlink(missing_ok=True)
        console.clear()
    except OSError as error:
        raise ResultError(f"{error.filename}: cannot be written: {error.strerror}") from None


def _environment(webots: Webots) -> dict[str, str]:
    """The variables of this process, and what Webots needs where there is neither screen nor sound.

    Controllers look for the libraries of Webots in ``WEBOTS_HOME``.
    """
    variables = {"AUDIODEV": "null"}
    if is_headless():
        variables["LIBGL_ALWAYS_SOFTWARE"] = "true"
    if webots.home is not None:
        variables["WEBOTS_HOME"] = str(webots.home)
    return {**os.environ, **variables}


def _run(
    command: list[str], environment: dict[str, str], console: Console, result: Path, timeout: float
) -> str:
    """Run Webots to its end, or end it; how it ended, as a clause."""
    with (
        console.output.open("wb") as output,
        console.errors.open("wb") as errors,
        process_group(
            command,
            output=output,
            errors=errors,
            environment=environment,
            directory=console.output.parent,
        ) as process,
    ):
        return _wait(process, console, result, timeout)


def _wait(process: subprocess.Popen[bytes], console: Console, result: Path, timeout: float) -> str:
    latest = monotonic() + timeout
    ending, over = f"did not end within {timeout:g} s and was stopped", False
    while process.poll() is None:
        console.read()
        if not over and (result.is_file() or console.orphaned):
            over, latest = True, min(latest, monotonic() + FAREWELL)
            ending = "did not end after its controller and was stopped"
        if monotonic() >= latest:
            return ending
        sleep(PAUSE)
    return f"ended with exit code {_named(process.returncode)}"


def _named(code: int) -> str:
    """An exit code, and the signal that it tells of: negative, or above 128 from a script."""
    number = -code if code < 0 else code - 128
    names = {int(known): known.name for known in signal.Signals}
    return f"{code} ({names[number]})" if number in names else str(code)
