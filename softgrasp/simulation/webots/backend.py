"""Webots and ODE: a scene → a project → a finished run → a result.

Both engines run the same world and the same controller. ``webots`` needs an installed Webots;
``ode`` reads the text of the world with the rules of Webots and steps the Open Dynamics Engine,
which Webots is built on (decision 0013).
"""

from __future__ import annotations

import json
import shutil
import signal
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from softgrasp.build.scene import BuiltScene, build
from softgrasp.build.webots.scene_world import require_plain, scene_world
from softgrasp.build.webots.world import SHORTEST_STEP, STIFF, WebotsWorld
from softgrasp.description.problems import either
from softgrasp.description.scene import GraspScene
from softgrasp.errors import BuildError
from softgrasp.simulation.closure_run import Progress, max_rows
from softgrasp.simulation.finished_run import Engine
from softgrasp.simulation.result import GraspResult
from softgrasp.simulation.run_result import result_of
from softgrasp.simulation.told_run import ImportedRun
from softgrasp.simulation.webots.job import Job, closure_job
from softgrasp.simulation.webots.project import job_name, write_project

PATIENCE = 60.0
"""A run may take this long [s], and as much again for every second that it simulates."""
WORLD_FILE = "softgrasp.wbt"
WHOLE_FORCES = (
    "normal_force is the whole force of a contact and friction_force is 0: touch sensors of Webots "
    "do not tell one from the other"
)


class Player(NamedTuple):
    """An engine that runs Webots worlds."""

    name: str
    version: Callable[[], str]
    play: Callable[[Path, Path, float], tuple[str, ...]]
    """(world, result, time-out [s]) → warnings."""
    shortest_step: float
    """[s]"""
    constraint_softness: float = STIFF
    """Constraint force mixing of the world [m/(N·s)]."""


def run_in_webots(
    scene: GraspScene, progress: Progress | None = None, quality_rate: float | None = None
) -> GraspResult:
    """Simulate a scene in an installed Webots; raises as ``run_in`` does."""
    return run_in(webots_player(), scene, progress, quality_rate)


CLOSURES_OF_WEBOTS = ("position-increment", "pressure")
"""Closures that the controller in Webots can run."""


def run_in_ode(
    scene: GraspScene, progress: Progress | None = None, quality_rate: float | None = None
) -> GraspResult:
    """Simulate a scene in ODE with the rules of Webots; raises as ``run_in`` does."""
    return run_in(ode_player(), scene, progress, quality_rate)


def run_in(
    player: Player,
    scene: GraspScene,
    progress: Progress | None = None,
    quality_rate: float | None = None,
) -> GraspResult:
    """Simulate a scene in an engine that runs Webots worlds.

    Args:
        player: The engine.
        scene: What to simulate.
        progress: Called with the simulated time [s] when it has ended.
        quality_rate: As ``result_of``.

    Raises:
        BackendUnavailable: The engine is not there.
        BuildError: The scene holds what Webots cannot express; names it.
        SimulationError: The engine has failed.
    """
    begin = time.perf_counter()
    require_plain(scene)
    version = player.version()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        built = build(scene)
    world, job = world_and_job(built, player.shortest_step, job_name(Path(WORLD_FILE)))
    patience = PATIENCE * (1.0 + max_rows(scene) * scene.control_period)
    rows, console_warnings = play(player, world, job, patience)
    engine = Engine(player.name, version, "dWorldStep of ODE", world.timestep)
    run = ImportedRun(built, engine, [law.name for law in world.laws], rows)
    if progress is not None:
        progress(run.now)
    messages = [str(warning.message) for warning in caught]
    messages += [f"{player.name}: {remark}" for remark in (*world.remarks, *console_warnings)]
    return result_of(run, messages, time.perf_counter() - begin, quality_rate=quality_rate)


def world_and_job(
    built: BuiltScene, shortest_step: float, job_file: str, max_faces: int | None = None
) -> tuple[WebotsWorld, Job]:
    """The world and the job of a scene, at its own time step or the shortest one of an engine.

    Args:
        built: The scene.
        shortest_step: Of the engine [s].
        job_file: Name of the job's file.
        max_faces: Meshes with more triangles are made coarser; none where not given.

    Raises:
        BuildError: The scene holds what Webots cannot express, or samples faster than it steps.
    """
    if built.scene.closure.name not in CLOSURES_OF_WEBOTS:
        raise BuildError(
            f"closure: expected {either(CLOSURES_OF_WEBOTS)} in Webots and ODE, "
            f"found '{built.scene.closure.name}'"
        )
    model_timestep = float(built.model.opt.timestep)
    timestep = max(model_timestep, shortest_step)
    if timestep > model_timestep and built.scene.control_period < timestep * (1.0 - 1e-9):
        raise BuildError(
            f"control_period: expected at least {timestep:g} s, the shortest time step of Webots, "
            f"found {built.scene.control_period:g} s"
        )
    if shortest_step:
        require_milliseconds(timestep)
    world = scene_world(built, timestep, (job_file,), max_faces)
    if timestep > model_timestep:
        remark = (
            f"time steps of {timestep:g} s, the shortest of Webots, instead of {model_timestep:g} s"
        )
        world = world._replace(remarks=(remark, *world.remarks))
    return world, closure_job(built, world)


def require_milliseconds(timestep: float) -> None:
    """Refuse time steps [s] that controllers of Webots cannot ask for.

    Raises:
        BuildError: It is not a whole number of milliseconds.
    """
    if abs(1e3 * timestep - round(1e3 * timestep)) > 1e-6:
        raise BuildError(
            "timestep: expected a whole number of milliseconds, in which controllers of Webots "
            f"step, found {timestep:g} s"
        )


@contextmanager
def ended_by_sigterm() -> Iterator[None]:
    """Let SIGTERM end this process by way of its ``finally`` blocks, where nothing else is set.

    Otherwise the engine would go on alone, and its folder would stay.
    """

    def end(*_: object) -> None:
        sys.exit(128 + signal.SIGTERM)

    main = threading.current_thread() is threading.main_thread()
    if not main or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def play(
    player: Player, world: WebotsWorld, job: Job, patience: float
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Run a world in a folder of its own.

    Args:
        player: The engine.
        world: The world.
        job: Of its controller.
        patience: Time-out [s].

    Returns:
        What the controller wrote, and warnings of the engine.

    Raises:
        BackendUnavailable: The engine is not there.
        SimulationError: It has failed.
    """
    directory = Path(tempfile.mkdtemp(prefix="softgrasp_world_"))
    try:
        project = write_project(directory / "worlds" / WORLD_FILE, world, job)
        with ended_by_sigterm():
            console_warnings = player.play(project.world, project.result, patience)
        return json.loads(project.result.read_text(encoding="utf-8")), console_warnings
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def webots_player() -> Player:
    """An installed Webots."""
    from softgrasp.simulation.webots.installation import find_webots
    from softgrasp.simulation.webots.launcher import run_world

    def _play(world: Path, result: Path, patience: float) -> tuple[str, ...]:
        return (WHOLE_FORCES, *run_world(world, result, timeout=patience))

    return Player("webots", lambda: find_webots().version, _play, SHORTEST_STEP)


def ode_player() -> Player:
    """ODE, which takes any time step."""
    from softgrasp.simulation.ode.launch import run_world
    from softgrasp.simulation.ode.library import load_library

    def _play(world: Path, _result: Path, patience: float) -> tuple[str, ...]:
        run_world(world, patience)
        return ()

    return Player("ode", lambda: load_library().describe(), _play, 0.0)
