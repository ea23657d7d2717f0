"""Find Webots and run one world in it, without a window, until its controller has ended.

Webots is a script that starts the simulator, which starts controllers; where there is no display,
xvfb-run and its X server come on top. They form one process group, which ends as a whole. Output is
read while Webots runs, as it does not exit after a controller that crashed.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from time import monotonic, sleep
from typing import NamedTuple

from softgrasp.backends.processes import process_group
from softgrasp.errors import BackendUnavailable, ResultError, SimulationError

PAUSE = 0.05  # [s] between two checks
OPTIONS = ("--batch", "--mode=fast", "--no-rendering", "--minimize", "--stdout", "--stderr")
FAREWELL = 10.0  # [s] for Webots to exit after the result
LAST_LINES, MAX_WARNINGS = 15, 10
WARNING = re.compile(r"(?:WARNING|ERROR|FATAL): ")
# After any of these Webots runs on, without a controller or with an empty world.
ORPHANED = re.compile(
    r"(?:INFO|WARNING|ERROR): .*(?:controller (?:exited|crashed)|: failed to start: "
    r"|Could not find (?:the )?controller|Failed to load due to)"
)
OLDEST = "R2023b"
CURE = f"install it from its makers (cyberbotics.com), {OLDEST} or newer, or use --backend ode"
PROGRAMS = ("webots", "bin/webots", "Contents/MacOS/webots")  # the last: macOS
VERSION_FILE = "resources/version.txt"
VERSION = re.compile(r"\bR?(20\d\d)([a-z])(?![a-z])(?:(?: revision |-rev)(\d+))?")
ANSWER_TIME = 30.0  # [s] for ``webots --version``
VIRTUAL_SCREEN = ("xvfb-run", "--auto-servernum")


def run_world(
    world: Path, result: Path, *, timeout: float = 600.0, webots: Webots | None = None
) -> tuple[str, ...]:
    """Run a world until its controller has written the result file and quit the simulation.

    Webots has no run time and does not exit with its controller, so that the controller must call
    ``simulationQuit`` last. It must write the result under another name and rename it when it
    is complete. Output goes to ``webots.stdout.txt`` and ``webots.stderr.txt`` in the project
    directory, the one with ``worlds``. No process is left running.

    Args:
        world: The .wbt file.
        result: File that the controller writes; an existing one is removed.
        timeout: Longest wall time [s].
        webots: Webots to use; by default that of ``find_webots``.

    Returns:
        Warnings of Webots, and one where it failed after the result was written.

    Raises:
        BackendUnavailable: There is no Webots, it cannot be started, or it has no display.
        ResultError: An earlier result cannot be removed, or the output cannot be written.
        SimulationError: There is no world, or Webots left no result, or not in time.
    """
    world, result = world.absolute(), result.absolute()
    if not world.is_file():
        raise SimulationError(f"{world}: expected a world for Webots, found no file")
    webots = webots or find_webots()
    command = with_screen([str(webots.executable), *OPTIONS, str(world)])
    directory = world.parent.parent if world.parent.name == "worlds" else world.parent
    logs = directory / "webots.stdout.txt", directory / "webots.stderr.txt"
    try:
        result.unlink(missing_ok=True)
        for log in logs:
            log.write_bytes(b"")
    except OSError as error:
        raise ResultError(f"{error.filename}: cannot be written: {error.strerror}") from None
    ending = _run(command, _environment(webots), logs, result, timeout)
    if result.is_file():
        if ending == "ended with exit code 0":
            return _warnings(logs)
        return (*_warnings(logs), f"the result is there, but Webots {ending}")
    output, errors = (list(filter(None, _lines(log))) for log in logs)
    last = "\n".join((errors or output)[-LAST_LINES:]) or "(it wrote nothing)"
    raise SimulationError(
        f"{world}: expected Webots {webots.version} to leave the result {result}, found none; it "
        f"{ending}; its last lines:\n{last}"
    )


def _environment(webots: Webots) -> dict[str, str]:
    """Return environment variables for Webots without display and sound.

    Controllers search the libraries of Webots in ``WEBOTS_HOME``.
    """
    variables = {"AUDIODEV": "null"}
    if is_headless():
        variables["LIBGL_ALWAYS_SOFTWARE"] = "true"
    if webots.home is not None:
        variables["WEBOTS_HOME"] = str(webots.home)
    return {**os.environ, **variables}


def _run(
    command: list[str],
    environment: dict[str, str],
    logs: tuple[Path, Path],
    result: Path,
    timeout: float,
) -> str:
    """Run Webots until it exits or is stopped; return how it ended, for a message."""
    with (
        logs[0].open("wb") as output,
        logs[1].open("wb") as errors,
        process_group(command, output, errors, environment, logs[0].parent) as process,
    ):
        latest, sizes = monotonic() + timeout, [0, 0]
        ending, over = f"did not end within {timeout:g} s and was stopped", False
        while process.poll() is None:
            before, sizes = sizes, [log.stat().st_size for log in logs]
            orphaned = sizes != before and any(ORPHANED.match(x) for g in logs for x in _lines(g))
            if not over and (result.is_file() or orphaned):
                over, latest = True, min(latest, monotonic() + FAREWELL)
                ending = "did not end after its controller and was stopped"
            if monotonic() >= latest:
                return ending
            sleep(PAUSE)
        return f"ended with exit code {_name(process.returncode)}"


def _name(code: int) -> str:
    """Describe an exit code by its signal: negative, or above 128 from a shell script."""
    number = -code if code < 0 else code - 128
    names = {int(known): known.name for known in signal.Signals}
    return f"{code} ({names[number]})" if number in names else str(code)


def _lines(log: Path) -> list[str]:
    return [line.rstrip() for line in log.read_bytes().decode(errors="replace").split("\n")]


def _warnings(logs: tuple[Path, Path]) -> tuple[str, ...]:
    """Return warnings and errors of Webots without repetitions; at most ten lines."""
    lines = tuple(
        dict.fromkeys(line for log in logs for line in _lines(log) if WARNING.match(line))
    )
    if len(lines) <= MAX_WARNINGS:
        return lines
    kept = MAX_WARNINGS - 1
    files = f"{logs[1]} and {logs[0].name}"
    return (*lines[:kept], f"{len(lines) - kept} more warnings of Webots are in {files}")


# Installation


class Webots(NamedTuple):
    """An installation of Webots.

    Attributes:
        executable: The program.
        version: Such as ``"R2025a"`` or ``"R2024a-rev1"``.
        home: Directory of the installation; None where it is unknown.
    """

    executable: Path
    version: str
    home: Path | None


def find_webots() -> Webots:
    """Find Webots by the variable ``WEBOTS_HOME``, or else on the ``PATH``.

    Raises:
        BackendUnavailable: There is none, ``WEBOTS_HOME`` has none, or its version cannot be read
            or is older than R2023b.
    """
    home = os.environ.get("WEBOTS_HOME")
    executable, directory = _in_home(Path(home)) if home else _on_path()
    version = _version(executable, directory)
    if _key(version) < _key(OLDEST):
        raise BackendUnavailable(
            f"{executable}: expected Webots {OLDEST} or newer, found {version}: {CURE}"
        )
    return Webots(executable, version, directory)


def _in_home(home: Path) -> tuple[Path, Path]:
    for program in PROGRAMS:
        if shutil.which(home / program):
            return home / program, home
    raise BackendUnavailable(
        "WEBOTS_HOME: expected the directory of a Webots, with the program "
        f"{' or '.join(PROGRAMS)} in it, found {home} without; correct the variable, or remove it "
        "and have webots on the PATH"
    )


def _on_path() -> tuple[Path, Path | None]:
    located = shutil.which("webots")
    if located is None:
        raise BackendUnavailable(f"no Webots found (looked at WEBOTS_HOME and PATH): {CURE}")
    executable = Path(located)
    # The PATH often has a link into the directory of the installation only.
    for directory in executable.resolve().parents[:2]:
        if (directory / VERSION_FILE).is_file():
            return executable, directory
    return executable, None


def _version(executable: Path, home: Path | None) -> str:
    file = None if home is None else home / VERSION_FILE
    if file is not None and file.is_file():
        where, words = str(file), file.read_text(encoding="utf-8", errors="replace")
    else:
        where, words = f"{executable} --version", _answer(executable)
    match = VERSION.search(words)
    if match is None:
        raise BackendUnavailable(
            f"{where}: expected a version of Webots such as R2025a, found {words.strip()!r}: {CURE}"
        )
    year, letter, revision = match.groups()
    return f"R{year}{letter}" + (f"-rev{revision}" if revision else "")


def _answer(executable: Path) -> str:
    """Return the output of ``webots --version``, which needs a display."""
    command = [str(executable), "--version"]
    with tempfile.TemporaryFile() as words:
        try:
            with process_group(with_screen(command), words, words) as process:
                process.wait(ANSWER_TIME)
        except subprocess.TimeoutExpired:
            raise BackendUnavailable(
                f"{executable} --version: expected an answer within {ANSWER_TIME:g} s, found none: "
                f"{CURE}"
            ) from None
        words.seek(0)
        return words.read().decode(errors="replace")


def _key(version: str) -> tuple[str, ...]:
    """Return year and letter of a version, for comparison."""
    match = VERSION.search(version)
    assert match is not None
    return match.groups()[:2]


# Virtual display


def is_headless() -> bool:
    """Return whether this is a Linux session without a display."""
    screens = (os.environ.get("DISPLAY"), os.environ.get("WAYLAND_DISPLAY"))
    return sys.platform == "linux" and not any(screens)


def with_screen(command: Sequence[str]) -> list[str]:
    """Add xvfb-run to a command where there is no display; Webots opens a window in any case.

    Raises:
        BackendUnavailable: There is neither a display nor xvfb-run.
    """
    if not is_headless():
        return list(command)
    if shutil.which(VIRTUAL_SCREEN[0]) is None:
        raise BackendUnavailable(
            "Webots needs a screen: expected DISPLAY or WAYLAND_DISPLAY to be set, or the program "
            "xvfb-run, found none of them; install it with: apt install xvfb"
        )
    return [*VIRTUAL_SCREEN, *command]
