"""Programs that stand in for Webots and xvfb-run, each a few lines of Python."""

from __future__ import annotations

import sys
import textwrap
import time
from pathlib import Path

from softgrasp.backends.webots.launcher import Webots

PRELUDE = """
import json, os, signal, subprocess, sys, time
from pathlib import Path

world = Path(sys.argv[-1])
project = world.parent.parent

def leave(text="{}"):
    (project / "result.json.part").write_text(text)
    os.replace(project / "result.json.part", project / "result.json")

def stubborn():  # ends for nothing but SIGKILL
    script = "trap '' TERM; echo $$ > part; mv part stubborn.pid; while :; do sleep 60; done"
    subprocess.Popen(["/bin/sh", "-c", script], cwd=project)
    while not (project / "stubborn.pid").exists():
        time.sleep(0.01)

"""


def program(file: Path, body: str) -> Path:
    """Write a program whose body is Python; the prelude above goes before it."""
    file.parent.mkdir(parents=True, exist_ok=True)
    script = file.with_name(f"{file.name}.body.py")
    script.write_text(PRELUDE + textwrap.dedent(body))
    file.write_text(f"#!/bin/sh\nexec '{sys.executable}' '{script}' \"$@\"\n")
    file.chmod(0o755)
    return file


def installed(home: Path, body: str = "", version: str = "R2025a") -> Webots:
    """A Webots with a version file."""
    executable = program(home / "webots", body)
    (home / "resources").mkdir(parents=True, exist_ok=True)
    (home / "resources" / "version.txt").write_text(f"{version}\n")
    return Webots(executable, version, home)


def project(directory: Path) -> tuple[Path, Path]:
    """A project with an empty world; the world and where its result goes."""
    world = directory / "worlds" / "grasp.wbt"
    world.parent.mkdir(parents=True)
    world.write_text("#VRML_SIM R2023b utf8\n")
    return world, directory / "result.json"


def is_dead(file: Path) -> bool:
    """Whether the process whose number is in a file has ended; waits for signals to arrive."""
    status = Path("/proc") / file.read_text().strip() / "stat"
    for _ in range(3000):
        try:
            if status.read_text().rpartition(")")[2].split()[0] in "ZX":
                return True
        except (FileNotFoundError, ProcessLookupError):
            return True
        time.sleep(0.01)
    return False
