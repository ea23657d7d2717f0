"""CPU time of starts of the command line; exits with 1 over a budget."""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import NamedTuple

from measured import Line

ROUNDS = 5
"""Processes of each start."""
STOP_AT_PHYSICS = """
import os, sys
from softgrasp.cli import main
from softgrasp.sim.grasp_run import ClosureRun
ClosureRun.run = lambda run: os._exit(0)
sys.exit(main(sys.argv[1:]))
"""
"""Program that runs a verb until the first time step."""


class Start(NamedTuple):
    """A start-up benchmark: a program that starts and ends at once."""

    name: str
    arguments: tuple[str, ...]
    """Arguments of Python."""
    budget: float | None = None
    """Largest CPU time [s]; None where it shows what the machine allows."""
    code: int = 0
    """Its exit code."""


def _verb(words: str, budget: float, code: int = 0) -> Start:
    return Start(f"softgrasp {words}", ("-m", "softgrasp", *words.split()), budget, code)


STARTS = (
    Start("python -c pass", ("-c", "pass")),
    Start("python -c 'import mujoco, numpy'", ("-c", "import mujoco, numpy")),
    _verb("--help", 0.4),
    _verb("list hands", 0.4),
    _verb("gras", 0.4, 2),
    _verb("grasp four_fingr sphere", 0.4, 2),
    _verb("grasp four_finger spere", 0.4, 2),
    _verb("grasp demmo", 0.4, 2),
    Start(
        "softgrasp grasp four_finger sphere, until the physics",
        ("-c", STOP_AT_PHYSICS, "grasp", "four_finger", "sphere", "--no-video", "--no-report"),
        1.0,
    ),
)
"""Measured starts; the first two show what the machine allows."""


def cpu_seconds(start: Start, directory: Path) -> float:
    """Run a start in a new process; return its CPU time, user plus system [s]."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, *start.arguments]
    ran = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if ran.returncode != start.code:
        raise SystemExit(f"{start.name}: expected exit code {start.code}, found {ran.returncode}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure() -> Iterator[tuple[Start, float]]:
    """Return the median CPU time of each start [s]; the first process of each is not counted."""
    with tempfile.TemporaryDirectory() as directory:
        for start in STARTS:
            times = [cpu_seconds(start, Path(directory)) for _ in range(ROUNDS + 1)]
            yield start, median(times[1:])


def lines() -> Iterator[Line]:
    """A line for each start."""
    for start, time in measure():
        budget = "" if start.budget is None else f"at most {start.budget:g}"
        yield Line(f"{start.name} [CPU s]", f"{time:.2f}", budget)


if __name__ == "__main__":
    late = 0
    for start, time in measure():
        late += start.budget is not None and time > start.budget
        print(f"{start.name}: {time:.3f} s of CPU time, budget {start.budget}")
    sys.exit(late > 0)
