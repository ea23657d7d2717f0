"""What a sweep costs over its physics: a row and its parts, five densities, bookkeeping, its page.

The raw engine repeats every grasp from its recorded controls, loads and corrections, without a
controller, by ``mujoco.rollout`` on one thread, in turns with what is measured, in CPU time.

    python benchmarks/sweep_speed.py [GRASPS]
    python benchmarks/sweep_speed.py page
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

import mujoco
import numpy as np
from measured import Line, machine, show

import softgrasp as sg
from softgrasp.comparison.closure_speed import OpenLoop
from softgrasp.evaluation.result_builder import result_of
from softgrasp.model.scene import CompiledScene
from softgrasp.pipeline import compile_scene
from softgrasp.sim.control_state import Workspace
from softgrasp.sim.grasp_run import ClosureRun
from softgrasp.sweeps.executors import Rows
from softgrasp.sweeps.parameters import combinations, scene_of, scene_of_row
from softgrasp.sweeps.storage import SweepStore
from softgrasp.sweeps.table import row_of, table_of, write_tables

GRASPS, ROUND, ROUNDS = 256, 32, 7
"""Grasps of the sweep, grasps that are measured in parts, and how often."""
SIDE_BY_SIDE = 64
"""Rows that are simulated; the others of the journal repeat them."""
WORKSPACE = Workspace()
DENSITIES = (160.0, 700.0, 2300.0, 7860.0, 19250.0)
ROWS = 10_000
PAGE_SWEEP = (
    *("sweep", "four_finger", "sphere", "--hold", "--workers", "2"),
    *("--vary", "object.density=200:3000:5", "--vary", "contact.friction=0.3:0.9:6"),
    *("--vary", "object.radius=0.024:0.030:4"),
)
"""Command of 120 grasps."""
PAGE_ROUNDS, PAGE_BUDGET = 3, 0.1


def lines(grasps: int = GRASPS) -> Iterator[Line]:
    """All that is measured."""
    warnings.simplefilter("ignore")
    yield from many_grasps(grasps)
    yield from one_simulation()
    yield from five_densities()
    yield from bookkeeping()
    yield from page_share()


def page_share(rounds: int = PAGE_ROUNDS) -> Iterator[Line]:
    """Share of the HTML page in the wall time of ``softgrasp sweep`` with two workers.

    The command runs with and without its page, in turns; the shortest of each counts, because other
    processes of the machine only add to it.
    """
    taken: dict[str, list[float]] = {"--report": [], "--no-report": []}
    processor: dict[str, list[float]] = {"--report": [], "--no-report": []}
    after = []
    for _ in range(rounds):
        for option, walls in taken.items():
            with tempfile.TemporaryDirectory() as directory:
                words = [*PAGE_SWEEP, *(["--no-report"] if option == "--no-report" else [])]
                begin, used = time.perf_counter(), children_seconds()
                subprocess.run(
                    [sys.executable, "-W", "ignore", "-m", "softgrasp", *words, "--out", directory],
                    check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                )  # fmt: skip
                walls.append(time.perf_counter() - begin)
                processor[option].append(children_seconds() - used)
                page = Path(directory, "report.html")
                if page.exists():
                    table = Path(directory, "sweep.parquet").stat().st_mtime
                    after.append(page.stat().st_mtime - table)
    whole, bare = (min(walls) for walls in taken.values())
    cost, bare_cost = (min(seconds) for seconds in processor.values())
    share = max(whole - bare, 0.0) / whole
    verdict = "within" if share <= PAGE_BUDGET else "over"
    yield Line("120 grasps with two workers, from command to page [s]", f"{whole:.1f}")
    yield Line("the same from command to table [s]", f"{bare:.1f}")
    yield Line("from table to page [s]", f"{min(after):.2f}")
    yield Line("share of the page in the time of all processors", f"{1 - bare_cost / cost:.0%}")
    budget = f"at most {PAGE_BUDGET:.0%}"
    reason = (
        "matplotlib's import takes 0.3 s of a core that the rows need, and figures and example "
        "grasps follow the last row"
    )
    yield Line("share of the page in the wall time", f"{share:.0%}, {verdict} the budget", budget,
               reason if share > PAGE_BUDGET else "")  # fmt: skip


def children_seconds() -> float:
    """Time of all processors that finished child processes have used [s]."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def plan_of(grasps: int) -> sg.description.SweepPlan:
    """Balls of other densities, frictions and sizes in the four-finger hand, held and weighed."""
    scene = sg.GraspScene(
        hand=sg.load_hand("four_finger"),
        object=sg.load_object("sphere"),
        success=sg.SuccessCriterion(),
    )
    ranges = {
        "object.density": (200.0, 3000.0),
        "contact.static_friction": (0.3, 0.9),
        "object.radius": (0.024, 0.032),
    }
    axes = tuple(
        sg.description.Axis(path=path, low=low, high=high) for path, (low, high) in ranges.items()
    )
    return sg.description.SweepPlan(scene=scene, axes=axes, method="latin", samples=grasps)


def many_grasps(grasps: int) -> Iterator[Line]:
    """Grasps with their hold tests: a row and its parts, and a sweep with two workers."""
    plan = plan_of(grasps)
    values = combinations(plan)
    scenes = [scene_of(plan, value, None) for value in values[:ROUND]]
    raws = [open_loop(compile_scene(scene)) for scene in scenes]
    names = ("scene", "build", "closed loop", "result", "row")
    ratios: dict[str, list[float]] = {name: [] for name in (*names, "all")}
    raw_seconds = []
    for _ in range(ROUNDS):
        raw_seconds.append(sum(raw()[0] for raw in raws))
        taken = np.sum([row_seconds(plan, value) for value in values[:ROUND]], axis=0)
        for name, seconds in zip(names, taken.tolist(), strict=True):
            ratios[name].append(seconds / raw_seconds[-1])
        ratios["all"].append(float(taken.sum()) / raw_seconds[-1])
    one_thread = median(raw_seconds) * grasps / ROUND
    yield Line(f"{grasps} grasps, raw engine, one thread [CPU s]", f"{one_thread:.1f}")
    for name in names:
        yield Line(f"a row of them, part: {name}, time over raw", f"{median(ratios[name]):.3f}")
    yield aimed("a row of them, time over raw", median(ratios["all"]), 1.30,
                "between blocks Python plans, corrects stiffness and records")  # fmt: skip
    yield Line("raw engine, two processes, speed over one", f"{process_ratio():.2f}")
    speed = swept_speed(plan, raws, grasps)
    yield aimed(f"{grasps} grasps as a sweep with two workers, from plan to table, speed over raw",
                speed, 1.3, "each new shape is tried once before its row; start of the workers",
                least=True)  # fmt: skip
    yield one_shape(grasps)


def swept_speed(plan: sg.description.SweepPlan, raws: list[OpenLoop], grasps: int) -> float:
    """Speed of a sweep with two workers over the raw engine on one thread, which repeats a part."""
    begin = time.perf_counter()
    list(map(OpenLoop.__call__, raws))
    wall = (time.perf_counter() - begin) * grasps / ROUND
    begin = time.perf_counter()
    sg.sweep(plan, workers=2)
    return wall / (time.perf_counter() - begin)


def one_shape(grasps: int) -> Line:
    """A sweep of density and friction with two workers, whose object keeps its shape."""
    plan = plan_of(grasps)
    plan = plan.replace(axes=tuple(axis for axis in plan.axes if axis.path != "object.radius"))
    values = combinations(plan)[:ROUND]
    raws = [open_loop(compile_scene(scene_of(plan, value, None))) for value in values]
    speed = swept_speed(plan, raws, grasps)
    return aimed("the same of one shape", speed, 1.3, "a row as above; start of the workers",
                 least=True)  # fmt: skip


def one_simulation(rounds: int = 15) -> Iterator[Line]:
    """The call ``simulate`` of one closure, from its scene to its result."""
    scene = sg.GraspScene(hand=sg.load_hand("four_finger"), object=sg.load_object("sphere"))
    raw = open_loop(compile_scene(scene))
    ratios = []
    for _ in range(rounds):
        before, begin = raw()[0], time.process_time()
        sg.simulate(scene)
        ratios.append((time.process_time() - begin) / before)
    yield aimed(f"simulate, a closure of {raw.steps} steps, time over raw", median(ratios), 1.5,
                "model, result and quality weigh more where steps are cheap")  # fmt: skip


def aimed(what: str, value: float, target: float, reason: str, *, least: bool = False) -> Line:
    """Return a line with a target and, where it is missed, the reason."""
    missed = value < target if least else value > target
    word = "at least" if least else "at most"
    return Line(what, f"{value:.2f}", f"{word} {target:.2f}", reason if missed else "")


def open_loop(built: CompiledScene) -> OpenLoop:
    """Return the physics of a scene's grasp, to be repeated."""
    run = ClosureRun(built)
    run.stiffness.history = []
    run.run()
    raw = OpenLoop(run)
    if not np.array_equal(raw()[1], run.data.qpos):
        raise RuntimeError("the repeated physics ends elsewhere than the grasp")
    return raw


def row_seconds(plan: sg.description.SweepPlan, values: dict[str, Any]) -> list[float]:
    """CPU time of the parts of a row [s]."""
    times = [time.process_time()]

    def done() -> None:
        times.append(time.process_time())

    scene = scene_of(plan, values, None)
    done()
    built = compile_scene(scene)
    done()
    run = ClosureRun(built, workspace=WORKSPACE)
    run.run()
    done()
    result = result_of(run, [], 0.0)
    done()
    row_of(result)
    done()
    return np.diff(times).tolist()


def process_ratio() -> float:
    """Speed of the raw engine in two processes over that in one."""
    script = (
        "import time, mujoco, softgrasp as sg\n"
        "model = sg.compile_model(sg.load_scene('demo')); data = mujoco.MjData(model)\n"
        "mujoco.mj_resetDataKeyframe(model, data, 0)\n"
        "begin = time.perf_counter(); mujoco.mj_step(model, data, 60000)\n"
        "print(time.perf_counter() - begin)"
    )

    def slowest(count: int) -> float:
        words = [sys.executable, "-W", "ignore", "-c", script]
        runs = [subprocess.Popen(words, stdout=subprocess.PIPE, text=True) for _ in range(count)]
        return max(float(run.communicate()[0]) for run in runs)

    return 2.0 * slowest(1) / slowest(2)


def five_densities() -> Iterator[Line]:
    """The sweep of paper 004 with its time step of 1e-5 s, from plan to tables."""
    scene = sg.load_scene("paper004_power_sphere")
    plan = sg.description.SweepPlan(
        scene=scene, axes=(sg.description.Axis(path="object.density", values=DENSITIES),)
    )
    built = [compile_scene(scene_of_row(plan, row)) for row in range(plan.size)]
    prescribed_seconds(built[0])
    raw = sum(prescribed_seconds(item) for item in built)
    yield Line("five densities of paper 004, raw engine, one thread [s]", f"{raw:.1f}")
    for workers in (1, 2):
        with tempfile.TemporaryDirectory() as directory:
            begin = time.perf_counter()
            sg.sweep(plan, Path(directory, "sweep"), workers=workers)
            taken = time.perf_counter() - begin
        reason = "at steps of 1e-5 s Python sets prescribed joints and friction between steps"
        yield Line(f"five densities, plan to tables, {workers} workers, time over raw",
                   f"{taken / raw:.2f}", "at most 1.5",
                   reason if taken > 1.5 * raw else "")  # fmt: skip


def prescribed_seconds(built: CompiledScene) -> float:
    """Wall time of the physics of a prescribed closure along its recorded path [s]."""
    run = ClosureRun(built)
    run.run()
    model, data, layout = built.model, mujoco.MjData(built.model), run.layout
    mujoco.mj_resetDataKeyframe(model, data, 0)
    controls = run.recording.control[: run.recording.rows]
    steps = np.diff(controls, axis=0) / layout.substeps
    begin = time.perf_counter()
    for start, step in zip(controls, steps, strict=False):
        for substep in range(layout.substeps):
            data.qpos[layout.qpos_of_actuator] = start + substep * step
            data.qvel[layout.dof_of_actuator] = step / layout.timestep
            mujoco.mj_step(model, data)
    return time.perf_counter() - begin


def bookkeeping() -> Iterator[Line]:
    """What is done besides simulating: 10,000 rows in the journal and in the tables."""
    plan = plan_of(ROWS)
    begin = time.perf_counter()
    rows = Rows(plan)
    some = rows.compute(range(SIDE_BY_SIDE))
    grasp = (time.perf_counter() - begin) / SIDE_BY_SIDE
    begin = time.perf_counter()
    with tempfile.TemporaryDirectory() as directory, SweepStore(Path(directory), plan) as store:
        for row in range(ROWS):
            store.add([some[row % SIDE_BY_SIDE] | rows.inputs(row)])
        write_tables(table_of(plan, store.finished().values()), Path(directory))
    taken = time.perf_counter() - begin
    yield Line(f"journal and tables of {ROWS} rows, share of their grasps",
               f"{100 * taken / (ROWS * grasp):.2f} %", "less than 3 %")  # fmt: skip
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    yield Line("largest memory of this process [GB]", f"{peak:.2f}", "less than 1.5")


if __name__ == "__main__":
    print(machine())
    words = sys.argv[1:]
    show(page_share() if words == ["page"] else lines(*map(int, words)))
