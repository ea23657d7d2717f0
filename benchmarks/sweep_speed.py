"""What a sweep costs over its physics: five densities of paper 004, and grasps side by side.

The raw engine repeats every grasp from its recorded controls, without a controller, on one thread;
all ways are measured in one run.

    python benchmarks/sweep_speed.py
"""

from __future__ import annotations

import os
import time
import warnings

import mujoco
import numpy as np
from mujoco import rollout

import softgrasp as sg
from softgrasp.build.scene import BuiltScene, build
from softgrasp.simulation.batch import run_batch
from softgrasp.simulation.closure_run import ClosureRun
from softgrasp.simulation.native import NativeStepper, native_available
from softgrasp.simulation.stepper import OwnStepper, PlainStepper
from softgrasp.sweeps.fields import scene_of_row

DENSITIES = (160.0, 700.0, 1000.0, 2300.0, 7860.0)
GRASPS = 32
"""Side by side."""


def main() -> None:
    """Measure and print."""
    warnings.simplefilter("ignore")
    scene = sg.GraspScene(hand=sg.load_hand("four_finger"), object=sg.load_object("sphere"))
    plan = sg.SweepPlan(scene=scene, axes=(sg.Axis(path="object.density", values=DENSITIES),))
    sg.sweep(plan, workers=1)  # caches, compilation
    builts = [build(scene_of_row(plan, row)) for row in range(plan.size)]
    raw = sum(raw_seconds(built) for built in builts)
    print(f"{os.cpu_count()} cores, MuJoCo {mujoco.__version__}")
    print(f"five densities, raw engine: {raw:.2f} s")
    for workers in (1, 2):
        begin = time.perf_counter()
        sg.sweep(plan, workers=workers)
        taken = time.perf_counter() - begin
        print(f"five densities, sweep with {workers}: {taken:.2f} s, {taken / raw:.2f} of raw")
    side_by_side([build(scene) for _ in range(GRASPS)])


def side_by_side(builts: list[BuiltScene]) -> None:
    """Whole runs, building left out: one by one and in one batch, in turns with the raw engine."""
    ways: dict[str, type[OwnStepper]] = {"plain": PlainStepper}
    if native_available():
        ways["compiled"] = NativeStepper
    for name, stepper in ways.items():
        raw = taken = 0.0
        for built in builts:
            raw += raw_seconds(built)
            run = ClosureRun(built, stepper=stepper)
            begin = time.perf_counter()
            run.run()
            taken += time.perf_counter() - begin
        print(f"{len(builts)} grasps one by one, {name}: {raw / taken:.2f} of raw speed")
    for threads in (1, 2):
        raw = sum(raw_seconds(built) for built in builts)
        begin = time.perf_counter()
        run_batch(builts, threads)
        speed = raw / (time.perf_counter() - begin)
        print(f"{len(builts)} grasps in a batch, {threads} threads: {speed:.2f} of raw speed")


def raw_seconds(built: BuiltScene) -> float:
    """Wall time of the same physics without a controller [s]."""
    run = ClosureRun(built)
    run.run()
    controls = np.repeat(
        run.recording.control[: run.recording.rows - 1], run.layout.substeps, axis=0
    )
    data = mujoco.MjData(built.model)
    mujoco.mj_resetDataKeyframe(built.model, data, 0)
    kind = mujoco.mjtState.mjSTATE_FULLPHYSICS
    start = np.empty(mujoco.mj_stateSize(built.model, kind))
    mujoco.mj_getState(built.model, data, start, kind)
    begin = time.perf_counter()
    rollout.rollout(built.model, data, start, controls)
    return time.perf_counter() - begin


if __name__ == "__main__":
    main()
