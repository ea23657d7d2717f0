"""Sweeps and learning in MuJoCo Warp, by stages, and in MuJoCo on all cores, in ten minutes.

The four-fingered hand closes on balls of different density and friction, with hold tests. It needs
the extra ``gpu``; without a GPU Warp runs on the CPU, which only shows that everything works, so
use ``--quick`` there. What there was no time for is "not measured".

    python benchmarks/gpu_sweep.py [--quick] [DIRECTORY]

It writes ``gpu_sweep.json`` and ``gpu_sweep.md`` to the directory after every stage.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import mujoco
import numpy as np
from measured import machine

import softgrasp as sg
from softgrasp.description.sweep import Axis, SweepPlan
from softgrasp.sweeps.parameters import with_one_grasp
from softgrasp.sweeps.run import CHECKS, sweep

if __name__ == "__main__":  # not in the workers of sweeps, which read this file again
    import warp
    from softgrasp.backends.warp.device import default_device

    from softgrasp.backends.warp.rows import MESHES, WarpRows, rows_of
    from softgrasp.backends.warp.worlds import WorldBatch
    from softgrasp.envs.task_env import TaskVectorEnv

DEADLINE = 540.0
"""Time after which no stage begins [s]."""
MESH_TIME = 60.0
"""Time of the stage with a mesh [s]; the rest of its run is left out."""
COLUMNS = (
    *("stage", "worlds", "compile_s", "build_s", "put_s", "run_s", "rows_s", "all_s"),
    *("steps_per_s", "decisions_per_s", "grasps_per_s", "held", "in_mujoco", "memory_MB"),
)


class Sizes(NamedTuple):
    """How much is computed."""

    worlds: tuple[int, ...] = (1024, 4096, 16384)
    mesh: int = 512
    in_mujoco: int = 2048
    end_to_end: int = 16384
    episodes: int = 4096


QUICK = Sizes((8, 16), 2, 8, 16, 6)
LEARNING, DECISIONS = ("CloseAndHold", "Lift"), 40
"""Learning tasks that are timed, and their decisions."""


def plan_of(grasps: int, shape: str = "sphere") -> SweepPlan:
    """Return a plan of some grasps, in eight values of friction, with its grasp chosen."""
    scene = sg.GraspScene(
        hand=sg.load_hand("four_finger"),
        object=sg.load_object(shape),
        success=sg.SuccessCriterion(),
    )
    frictions = min(grasps, 8)
    axes = (
        Axis(path="object.density", low=200.0, high=3000.0, steps=grasps // frictions),
        Axis(path="contact.static_friction", low=0.5, high=0.9, steps=frictions),
    )
    return with_one_grasp(SweepPlan(scene=scene, axes=axes))


class Watch:
    """Seconds since the last reading."""

    def __init__(self) -> None:
        """Begin now."""
        self._last = time.perf_counter()

    def read(self) -> float:
        """Return the seconds, when the device has done all that was launched."""
        warp.synchronize()
        last, self._last = self._last, time.perf_counter()
        return self._last - last


def batch_of(grasps: int, shape: str = "sphere") -> tuple[WorldBatch, Any, dict[str, float]]:
    """Put worlds on the device; return them, and what it took."""
    plan = plan_of(grasps, shape)
    watch = Watch()
    (worlds, _), *_ = WarpRows(plan).worlds(range(plan.size), [])
    build = watch.read()
    batch = WorldBatch(worlds, contacts=32 if shape == "sphere" else None)
    return batch, worlds, {"build_s": build, "put_s": watch.read()}


def compiled() -> dict[str, Any]:
    """Load the kernels, which compiles them where they are not in Warp's cache."""
    batch, _, _ = batch_of(16)
    watch = Watch()
    batch.run(3)
    return {"worlds": 16, "compile_s": watch.read()}


def simulated(grasps: int) -> dict[str, Any]:
    """Run worlds to their ends and make their rows."""
    batch, worlds, taken = batch_of(grasps)
    watch = Watch()
    batch.run()
    taken["run_s"] = watch.read()
    rows = rows_of(worlds, batch.outcome())
    taken["rows_s"] = watch.read()
    steps = batch.row * grasps * worlds.base.scene.control_period / worlds.base.model.opt.timestep
    return taken | {
        "worlds": grasps,
        "all_s": sum(taken.values()),
        "steps_per_s": steps / taken["run_s"],
        "grasps_per_s": grasps / sum(taken.values()),
        "held": sum(row is not None and bool(row["held"]) for row in rows),
        "in_mujoco": sum(row is None for row in rows),
        "memory_MB": used_memory(),
    }


def with_a_mesh(grasps: int, limit: float) -> dict[str, Any]:
    """Run worlds with a mesh for some time [s]."""
    os.environ[MESHES] = "1"
    batch, worlds, taken = batch_of(grasps, "strawberry")
    batch.run(3)  # compiles what meshes need
    first, watch, run = batch.row, Watch(), 0.0
    while run < limit and batch.row < batch.max_rows:
        batch.run(64)
        run += watch.read()
    period = worlds.base.scene.control_period
    steps = (batch.row - first) * grasps * period / worlds.base.model.opt.timestep
    return taken | {
        "worlds": grasps, "run_s": run, "steps_per_s": steps / run, "memory_MB": used_memory()
    }  # fmt: skip


def learned(task: str, episodes: int, engine: str) -> dict[str, Any]:
    """Step a learning task with random actions, the starts of ended episodes included."""
    cores, watch = os.cpu_count() or 1, Watch()
    env = TaskVectorEnv(task, episodes, threads=cores, engine=engine)
    env.reset(seed=0)
    taken, draw = {"build_s": watch.read()}, np.random.default_rng(0)
    actions = draw.uniform(-0.2, 1.0, (DECISIONS + 2, *env.action_space.shape))
    for action in actions[:2]:
        env.step(action)
    taken["compile_s"] = watch.read()
    for action in actions[2:]:
        env.step(action)
    taken["run_s"] = watch.read()
    decisions = DECISIONS * episodes / taken["run_s"]
    return taken | {
        "worlds": episodes,
        "decisions_per_s": decisions,
        "steps_per_s": decisions * env.simulation.substeps,
        "memory_MB": used_memory(),
    }


def swept(grasps: int, **executor: Any) -> dict[str, Any]:
    """Compute a table from its plan."""
    plan = plan_of(grasps)
    with tempfile.TemporaryDirectory() as directory:
        watch = Watch()
        table = sweep(plan, directory, **executor)
        taken = watch.read()
        checks = Path(directory, CHECKS)
        report = json.loads(checks.read_text("utf-8")) if checks.is_file() else {}
    steps = float((table["simulated_time_s"] / table["timestep_s"]).sum())
    return {
        "worlds": grasps,
        "all_s": taken,
        "steps_per_s": steps / taken,
        "grasps_per_s": grasps / taken,
        "held": int(table["held"].sum()),
        "in_mujoco": len(report["computed_in_mujoco"]) if report else grasps,
    }


def used_memory() -> float | None:
    """Return the memory in use on the device [MB]; None on the CPU."""
    device = warp.get_device(default_device())
    return None if device.is_cpu else (device.total_memory - device.free_memory) / 1e6


def stages(sizes: Sizes, mesh_time: float) -> dict[str, Callable[[], dict[str, Any]]]:
    """Return what is measured, in order, by name."""
    cores = os.cpu_count() or 1
    runs = {f"Warp, {n} worlds": lambda n=n: simulated(n) for n in sizes.worlds}
    return {
        "kernels": compiled,
        **dict(list(runs.items())[:1]),
        f"MuJoCo, {cores} processes": lambda: swept(sizes.in_mujoco, workers=cores),
        **dict(list(runs.items())[1:]),
        "Warp, from plan to table": lambda: swept(sizes.end_to_end, executor="warp", workers=cores),
        **{
            f"{task} in {engine}": partial(learned, task, sizes.episodes, engine)
            for task in LEARNING
            for engine in ("warp", "mujoco")
        },
        "Warp, a mesh": lambda: with_a_mesh(sizes.mesh, mesh_time),
    }


def text_of(value: Any) -> str:
    """Return a cell of the table."""
    if value is None:
        return ""
    return f"{value:.3g}" if isinstance(value, float) and value < 1e3 else f"{value:,.0f}"


def page(results: dict[str, Any]) -> str:
    """Return the table as markdown."""
    lines = ["| " + " | ".join(COLUMNS) + " |", "|" + "---|" * len(COLUMNS)]
    for stage, measured in results["stages"].items():
        cells = [
            text_of(measured.get(name)) if isinstance(measured, dict) else ""
            for name in COLUMNS[1:]
        ]
        if not isinstance(measured, dict):
            cells[0] = measured
        lines.append("| " + " | ".join((stage, *cells)) + " |")
    return f"{results['device']}; {results['machine']}\n\n" + "\n".join(lines) + "\n"


def main(words: list[str]) -> None:
    """Measure, print and write."""
    quick = "--quick" in words
    directory = Path(next((word for word in words if word != "--quick"), "."))
    directory.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore")
    begin, device = time.perf_counter(), default_device()
    todo = stages(QUICK if quick else Sizes(), 10.0 if quick else MESH_TIME)
    results: dict[str, Any] = {
        "device": f"{warp.get_device(device).name} ({device})",
        "machine": machine(),
        "warp": warp.__version__,
        "mujoco": mujoco.__version__,
        "quick": quick,
        "stages": dict.fromkeys(todo, "not measured"),
    }
    for name, stage in todo.items():
        if time.perf_counter() - begin < DEADLINE:
            try:
                results["stages"][name] = stage()
            except Exception as error:  # noqa: BLE001 - the other stages are measured all the same
                results["stages"][name] = f"failed: {type(error).__name__}: {error}"
        print(f"{time.perf_counter() - begin:6.1f} s {name}: {results['stages'][name]}", flush=True)
        (directory / "gpu_sweep.json").write_text(json.dumps(results, indent=1) + "\n", "utf-8")
        (directory / "gpu_sweep.md").write_text(page(results), "utf-8")
    print(page(results))


if __name__ == "__main__":
    main(sys.argv[1:])
