"""What the grasp planner costs over the closures of its candidates, in one run.

Candidates of the four-finger hand around the strawberry, from plan to files, on two workers. The
cost of a closure is what the worker that ran it took, model, physics and result included; a second
line compares processor times with those of the same grasps, simulated without the planner, which
other work on the machine does not disturb.

    python benchmarks/planner_speed.py [CANDIDATES]
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

from measured import Line, machine, show

import softgrasp as sg
from softgrasp.pipeline import SceneRunner
from softgrasp.sweeps.planner import PlannedGrasps, candidates_of

CANDIDATES, WORKERS, ALONE = 1000, 2, 64


def lines(candidates: int = CANDIDATES) -> Iterator[Line]:
    """All that is measured."""
    warnings.simplefilter("ignore")
    for moves in ("hand", "object"):
        yield from search(candidates, moves)


def search(candidates: int, moves: str) -> Iterator[Line]:
    """One search, with hand or object moved."""
    scene = sg.GraspScene(hand=sg.load_hand("four_finger"), object=sg.load_object("strawberry"))
    plan = sg.description.GraspPlan(
        scene=scene,
        candidates=candidates,
        method="poses",
        poses=sg.description.PoseSampling(moves=moves),
    )
    begin = time.perf_counter()
    candidates_of(plan)
    drawing = time.perf_counter() - begin
    with tempfile.TemporaryDirectory() as directory:
        begin, worked = time.perf_counter(), processor_seconds()
        planned = sg.plan_grasps(plan, Path(directory, "plan"), workers=WORKERS)
        taken, worked = time.perf_counter() - begin, processor_seconds() - worked
    closing = float(planned.table["wall_time_s"].sum())
    models = float(planned.table["wall_build_s"].sum())
    alone = seconds_alone(planned)
    about = f"{candidates} candidates, {WORKERS} workers, the {moves} moves"
    yield Line(f"{about}: from plan to files [s]", f"{taken:.1f}")
    yield Line(f"{about}: time × workers over closures", f"{taken * WORKERS / closing:.2f}",
               "at most 1.3")  # fmt: skip
    yield Line(f"{about}: processor time over that of the same grasps alone",
               f"{worked / candidates / alone:.2f}",
               "at most 1.3")  # fmt: skip
    yield Line(f"{about}: share of models in closures", f"{models / closing:.2f}")
    yield Line(f"{about}: drawing poses, share of all", f"{drawing / taken:.3f}")


def seconds_alone(planned: PlannedGrasps) -> float:
    """Mean processor time of a candidate, simulated here, one after the other [s]."""
    every = max(len(planned.table) // ALONE, 1)
    scenes = [planned.scene(row) for row in range(0, len(planned.table), every)]
    runner = SceneRunner()
    list(runner.simulate(scenes[:4]))  # caches are filled before
    begin = processor_seconds()
    for first in range(0, len(scenes), 16):
        list(runner.simulate(scenes[first : first + 16]))
    return (processor_seconds() - begin) / len(scenes)


def processor_seconds() -> float:
    """What this process and those that it started and has ended have used [s]."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(item.ru_utime + item.ru_stime for item in used)


if __name__ == "__main__":
    print(machine())
    show(lines(int(sys.argv[1]) if len(sys.argv) > 1 else CANDIDATES))
