"""Runs one world in Webots, without a window, until its controller has written a result."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep
from typing import IO, NamedTuple

from softgrasp.errors import BackendUnavailable, ResultError, SimulationError

PAUSE = 0.05  # [s] between two looks
OPTIONS = ("--batch", "--mode=fast", "--no-rendering", "--minimize", "--stdout", "--stderr")
FAREWELL = 10.0  # [s] that Webots has to end itself, once there is nothing left to wait for
ENDED_WELL = "ended with exit code 0"
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
OLDEST = "R2023b"
CURE = f"install it from its makers (cyberbotics.com), {OLDEST} or newer, or use --backend ode"
PROGRAMS = ("webots", "bin/webots", "Contents/MacOS/webots")  # the last: macOS
VERSION_FILE = "resources/version.txt"
VERSION = re.compile(r"\bR?(20\d\d)([a-z])(?![a-z])(?:(?: revision |-rev)(\d+))?")
ANSWER_TIME = 30.0  # [s] that ``webots --version`` may take
VIRTUAL_SCREEN = ("xvfb-run", "--auto-servernum")
GRACE = 5.0  # [s] from the request to end until the end


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


# What Webots and its controllers say, read while they run.


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


# Where Webots is on this machine, and which version it is.


class Webots(NamedTuple):
    """A Webots that is installed.

    Attributes:
        executable: The program.
        version: Such as ``"R2025a"`` or ``"R2024a-rev1"``.
        home: Folder of the installation; None where it is not known.
    """

    executable: Path
    version: str
    home: Path | None


def find_webots() -> Webots:
    """The Webots named by the variable ``WEBOTS_HOME``, or else the one on the ``PATH``.

    Raises:
        BackendUnavailable: There is none, ``WEBOTS_HOME`` holds none, its version cannot be read
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
        "WEBOTS_HOME: expected the folder of a Webots, with the program "
        f"{' or '.join(PROGRAMS)} in it, found {home} without; correct the variable, or remove it "
        "and have webots on the PATH"
    )


def _on_path() -> tuple[Path, Path | None]:
    located = shutil.which("webots")
    if located is None:
        raise BackendUnavailable(f"no Webots found (looked at WEBOTS_HOME and PATH): {CURE}")
    executable = Path(located)
    # On the PATH there is often but a link into the folder of the installation.
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
    """What ``webots --version`` writes; it wants a screen even for that."""
    command = [str(executable), "--version"]
    with tempfile.TemporaryFile() as words:
        try:
            with process_group(with_screen(command), output=words, errors=words) as process:
                process.wait(ANSWER_TIME)
        except subprocess.TimeoutExpired:
            raise BackendUnavailable(
                f"{executable} --version: expected an answer within {ANSWER_TIME:g} s, found none: "
                f"{CURE}"
            ) from None
        words.seek(0)
        return words.read().decode(errors="replace")


def _key(version: str) -> tuple[str, ...]:
    """Year and letter, which order versions; revisions of one do not matter here."""
    match = VERSION.search(version)
    assert match is not None
    return match.groups()[:2]


# A screen for Webots, which opens a window even when it draws nothing.


def is_headless() -> bool:
    """Whether this is a Linux session without a screen."""
    screens = (os.environ.get("DISPLAY"), os.environ.get("WAYLAND_DISPLAY"))
    return sys.platform == "linux" and not any(screens)


def with_screen(command: Sequence[str]) -> list[str]:
    """A command that finds a screen: itself, or on a virtual one where there is no other.

    Args:
        command: Program and arguments.

    Raises:
        BackendUnavailable: There is no screen and no program that makes a virtual one.
    """
    if not is_headless():
        return list(command)
    if shutil.which(VIRTUAL_SCREEN[0]) is None:
        raise BackendUnavailable(
            "Webots needs a screen: expected DISPLAY or WAYLAND_DISPLAY to be set, or the program "
            "xvfb-run, found none of them; install it with: apt install xvfb"
        )
    return [*VIRTUAL_SCREEN, *command]


# Programs that start programs: when they end, or have to, none of theirs stays behind.
#
# Webots is a script that starts the simulator, which starts controllers; xvfb-run and its X
# server
# come on top. A signal to the first of them does not reach the others.


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
        latest = time.monotonic() + GRACE
        _signal(process, signal.SIGTERM)
        while _signal(process, 0) and time.monotonic() < latest:
            time.sleep(PAUSE)
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
