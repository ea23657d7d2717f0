"""Where Webots is on this machine, and which version it is."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import NamedTuple

from softgrasp.errors import BackendUnavailable
from softgrasp.simulation.webots.headless import with_screen
from softgrasp.simulation.webots.process_group import process_group

OLDEST = "R2023b"
CURE = f"install it from its makers (cyberbotics.com), {OLDEST} or newer, or use --backend ode"
PROGRAMS = ("webots", "bin/webots", "Contents/MacOS/webots")  # the last: macOS
VERSION_FILE = "resources/version.txt"
VERSION = re.compile(r"\bR?(20\d\d)([a-z])(?![a-z])(?:(?: revision |-rev)(\d+))?")
ANSWER_TIME = 30.0  # [s] that ``webots --version`` may take


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
