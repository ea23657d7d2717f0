"""Grasps per second in MuJoCo Warp on its device, against all cores with MuJoCo, in the same run.

The four-fingered hand closes on balls of different density and friction, with hold tests. It needs
the extra ``gpu``; without a GPU Warp runs on the CPU, which only shows that everything works.

    python benchmarks/gpu_sweep.py [GRASPS]
"""

from __future__ import annotations

import os
import sys
import time
import warnings

import softgrasp as sg
from softgrasp.backends.warp.worlds import default_device
from softgrasp.description.sweep import Axis, SweepPlan
from softgrasp.sweeps.run import sweep

GRASPS = 4096


def plan_of(grasps: int) -> SweepPlan:
    """Return a plan of at least some grasps, in eight values of friction."""
    scene = sg.GraspScene(
        hand=sg.load_hand("four_finger"),
        object=sg.load_object("sphere"),
        success=sg.SuccessCriterion(),
    )
    axes = (
        Axis(path="object.density", low=200.0, high=3000.0, steps=max(grasps // 8, 1)),
        Axis(path="contact.static_friction", low=0.5, high=0.9, steps=8),
    )
    return SweepPlan(scene=scene, axes=axes)


def main(grasps: int) -> None:
    """Measure and print both engines."""
    warnings.simplefilter("ignore")
    plan, cores = plan_of(grasps), os.cpu_count() or 1
    engines = {
        f"MuJoCo, {cores} cores": {"workers": cores},
        f"MuJoCo Warp, {default_device()}": {"executor": "warp"},
    }
    for executor in engines.values():
        sweep(plan_of(8), **executor)  # compiles kernels and starts libraries
    for name, executor in engines.items():
        begin = time.perf_counter()
        table = sweep(plan, **executor)
        seconds = time.perf_counter() - begin
        steps = float((table["simulated_time_s"] / table["timestep_s"]).sum())
        print(f"{name}: {plan.size / seconds:.3g} grasps/s, {steps / seconds:.3g} steps/s, "
              f"{int(table['held'].sum())} of {plan.size} held")  # fmt: skip


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else GRASPS)
