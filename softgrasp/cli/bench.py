"""``softgrasp bench``: speed of the closed loop, CPU time of start-up."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from statistics import median
from typing import Annotated, Any, NamedTuple

import typer
from typer import Argument, Option

from softgrasp.cli import terminal
from softgrasp.cli.names import require_known
from softgrasp.cli.options import PROBLEMS, WRONG_INPUT, Json, Out
from softgrasp.errors import BackendUnavailable, SimulationError

SCENE = "demo"
"""Scene of the closed loop."""
ROUNDS = {"closure": 25, "startup": 5}
"""Benchmarks of time, and the default number of repetitions."""
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
    _verb("gras", 0.4, WRONG_INPUT),
    _verb("grasp four_fingr sphere", 0.4, WRONG_INPUT),
    _verb("grasp four_finger spere", 0.4, WRONG_INPUT),
    _verb("grasp demmo", 0.4, WRONG_INPUT),
    Start(
        "softgrasp grasp four_finger sphere, until the physics",
        ("-c", STOP_AT_PHYSICS, "grasp", "four_finger", "sphere", "--no-video", "--no-report"),
        1.0,
    ),
)
"""Measured starts; the first two show what the machine allows."""


def bench(
    name: Annotated[
        str, Argument(metavar="NAME", help="Benchmark: closure or startup.")
    ] = "closure",
    *,
    rounds: Annotated[
        int | None, Option(min=1, help="Repetitions; else 25 of closure, 5 of startup.")
    ] = None,
    out: Out = None,
    json: Json = False,
) -> None:
    """Measure the closed loop or the start-up.

    closure: raw is the same compiled model with the same recorded controls and number of steps, in
    one call; plain is the closed loop. Only the closure is measured, without the hold test.
    startup: CPU time of a new process, median of its repetitions; exits with 1 where a start takes
    longer than its budget.
    """
    require_known("benchmark", name, [*ROUNDS])
    measure = {"closure": _measure_closure, "startup": _measure_startup}[name]
    document, show = measure(rounds or ROUNDS[name])
    document = {"benchmark": name} | document
    if out is not None:
        terminal.save_json(document, out / "bench.json")
    if json:
        terminal.put_json(document)
    else:
        show()
    if not document.get("within_budget", True):
        raise typer.Exit(PROBLEMS)


Measured = tuple[dict[str, Any], Callable[[], None]]
"""Figures as plain data, and a function that prints them."""


def _measure_closure(rounds: int) -> Measured:
    from softgrasp.comparison.closure_speed import closure_speed
    from softgrasp.io.files import listening
    from softgrasp.io.scene import load_scene

    with terminal.progress_bar() as update, listening(update):
        speed = closure_speed(load_scene(SCENE), rounds)

    def show() -> None:
        rows = [
            ["raw", f"{speed.raw_steps_s:,.0f}", "1.00"],
            ["plain", f"{speed.plain_steps_s:,.0f}", f"{speed.plain_ratio:.2f}"],
        ]
        terminal.put_table(["loop", "steps/s", "over raw"], rows)
        equal = "equal bit for bit" if speed.bit_equal else "NOT equal"
        terminal.put(
            f"{SCENE}, closure only: {speed.steps} steps, {speed.events} events, "
            f"{speed.contacts_at_end} contact points at the end, median of {speed.rounds} rounds; "
            f"final joint angles {equal}"
        )

    return {"scene": SCENE, **asdict(speed)}, show


def _measure_startup(rounds: int) -> Measured:
    times = {}
    with terminal.progress_bar() as update, tempfile.TemporaryDirectory() as directory:
        for index, start in enumerate(STARTS):
            update(start.name, index / len(STARTS))
            cpu_seconds(start, Path(directory))  # once, so that files are in memory
            times[start] = median(cpu_seconds(start, Path(directory)) for _ in range(rounds))
    late = [start for start in STARTS if start.budget is not None and times[start] > start.budget]

    def show() -> None:
        rows = [
            [start.name, f"{times[start]:.3f}", "" if start.budget is None else f"{start.budget:g}",
             "over budget" if start in late else ""]
            for start in STARTS
        ]  # fmt: skip
        terminal.put_table(["start", "CPU time [s]", "budget [s]", ""], rows)
        terminal.put(
            f"median of {rounds} processes; {len(late) or 'none'} of "
            f"{sum(start.budget is not None for start in STARTS)} over budget"
        )

    starts = [
        {"start": start.name, "cpu_time_s": round(times[start], 4), "budget_s": start.budget}
        for start in STARTS
    ]
    return {"rounds": rounds, "starts": starts, "within_budget": not late}, show


def cpu_seconds(start: Start, directory: Path) -> float:
    """Run one start-up benchmark in a new process; return its CPU time, user plus system [s].

    Raises:
        BackendUnavailable: The system does not report CPU times of processes (Windows).
        SimulationError: It ended with another exit code than expected.
    """
    try:
        import resource
    except ImportError:
        raise BackendUnavailable(
            "bench startup: expected a system that reports CPU times of processes, found "
            f"{sys.platform}"
        ) from None
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, *start.arguments]
    ran = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if ran.returncode != start.code:
        last = (ran.stderr.strip().splitlines() or [""])[-1]
        raise SimulationError(
            f"{start.name}: expected exit code {start.code}, found {ran.returncode}: {last}"
        )
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
