"""What environments cost over their physics: the same episode, raw and through each interface.

The raw engine steps the same model through the recorded targets, loads and contact stiffness, to
the same state bit for bit, without observations, contact logic, reward or checks. All ways take
turns; medians over the turns.

    python benchmarks/environment_speed.py [TURNS]
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Iterator
from statistics import median
from typing import NamedTuple

import mujoco
import numpy as np
from measured import Line, machine, show
from scripted_policies import SCRIPTS

import softgrasp as sg
from softgrasp.envs.gym_env import GraspEnv
from softgrasp.envs.task_env import TaskEnv, TaskVectorEnv
from softgrasp.sim.control_state import caught_warnings

TURNS, SEED = 7, 1
TASKS_TIMED, COUNT = ("CloseAndHold", "Lift", "InHandRotation", "SoftLift", "TwoHands"), 16
"""Learning tasks that are timed, and the episodes of a vector."""
LONG, SHORT = 0.02, 1e-3
"""Decision periods [s]: 20 physics steps, and one."""
TARGETS = {"gym": 1.0, "composer": 2.2}
"""Largest time over raw at the long period."""
REASONS = {
    "gym": "between the 20 physics steps of a decision Python detects contacts and corrects their "
    "stiffness; planning and observations follow once a decision",
    "composer": "dm_control calls each physics step, its checks and its observables from Python, "
    "besides the detection of contacts",
}
"""Why these are missed, by profiles of both episodes."""


def lines(rotations: int = TURNS) -> Iterator[Line]:
    """All that is measured."""
    warnings.simplefilter("ignore")
    scene = sg.load_scene("four_finger_sphere")
    for period in (LONG, SHORT):
        yield from ratios(scene, period, rotations)
    for task in TASKS_TIMED:
        yield from task_ratios(task, rotations)


def ratios(scene: sg.GraspScene, period: float, rotations: int) -> Iterator[Line]:
    """One decision period."""
    env = sg.make_env(scene, decision_period=period)
    actions = random_actions(env)
    samples = recorded(env, actions)
    end = env.data.qpos.copy()
    with caught_warnings():
        raw_seconds(env, samples)
    if not np.array_equal(env.data.qpos, end):
        raise SystemExit("the raw engine ends in another state: it does not do the same physics")
    ways: dict[str, Callable[[], float]] = {
        "raw": lambda: raw_seconds(env, samples),
        "gym": lambda: gym_seconds(env, actions),
    }
    try:
        dm = sg.make_dm_env(scene, decision_period=period)
        ways["composer"] = lambda: dm_seconds(dm, actions)
    except sg.BackendUnavailable:
        pass
    taken: dict[str, list[float]] = {name: [] for name in ways}
    with caught_warnings():
        for rotation in range(rotations + 1):
            for name, way in ways.items():
                seconds = way()
                if rotation:
                    taken[name].append(seconds)
    raw = median(taken["raw"])
    what = f"a decision of {period * 1e3:g} ms"
    yield Line(f"{what}, raw engine [µs]", f"{1e6 * raw / len(actions):.0f}")
    for name, seconds in taken.items():
        if name != "raw":
            ratio, target = median(seconds) / raw, TARGETS[name] if period == LONG else None
            yield Line(f"{what}, {name}, time over raw", f"{ratio:.2f}",
                       "" if target is None else f"at most {target:g}",
                       REASONS[name] if target is not None and ratio > target else "")  # fmt: skip


def task_ratios(task: str, rotations: int) -> Iterator[Line]:
    """A learning task alone and as 16 of a vector, in CPU time, over the same physics."""
    env, vector = TaskEnv(task), TaskVectorEnv(task, COUNT, threads=1)
    simulation, actions, controls, over = env.simulation, [], [], False
    env.reset(seed=SEED)
    begin, before = simulation.physics.states[0].copy(), simulation.targets[0].copy()
    while not over:
        actions.append(SCRIPTS[task](simulation.features())[0])
        _, _, terminated, truncated, _ = env.step(actions[-1])
        over, after = terminated or truncated, simulation.targets[0].copy()
        ramp = np.arange(1, simulation.substeps + 1)[:, None] / simulation.substeps
        gravity = simulation.physics.model(0).opt.gravity.copy()
        controls.append((gravity, before + ramp * (after - before)))
        before = after
    end, model = simulation.physics.states[0].copy(), simulation.physics.model(0)
    data, kind = mujoco.MjData(model), mujoco.mjtState.mjSTATE_FULLPHYSICS

    def raw() -> float:
        mujoco.mj_setState(model, data, begin, kind)
        start = time.process_time()
        for gravity, targets in controls:
            model.opt.gravity[:], data.qacc_warmstart[:] = gravity, 0.0
            for row in targets:
                data.ctrl[:] = row
                mujoco.mj_step(model, data)
        seconds, state = time.process_time() - start, np.empty_like(end)
        mujoco.mj_getState(model, data, state, kind)
        if not np.array_equal(state, end):
            raise SystemExit(f"{task}: the raw engine ends in another state")
        return seconds / len(actions)

    def alone() -> float:
        env.reset(seed=SEED)
        start = time.process_time()
        for action in actions:
            env.step(action)
        return (time.process_time() - start) / len(actions)

    def together() -> float:
        vector.reset(seed=[SEED] * COUNT)
        start = time.process_time()
        for action in actions[:-1]:
            vector.step(np.tile(action, (COUNT, 1)))
        return (time.process_time() - start) / (len(actions) - 1) / COUNT

    with caught_warnings():
        taken = [(raw(), alone(), together()) for _ in range(rotations)]
    physics, single, many = np.median(taken, axis=0)
    yield Line(f"{task}, raw engine [µs]", f"{1e6 * physics:.0f}")
    for what, seconds, target in (("alone", single, 1.3), (f"{COUNT} together", many, 1.15)):
        ratio = seconds / physics
        reason = "observation, progress and noise of one episode cost as many calls of numpy as 16"
        yield Line(f"{task}, {what}, CPU time over raw", f"{ratio:.2f}", f"at most {target:g}",
                   reason if ratio > target else "")  # fmt: skip


def random_actions(env: GraspEnv) -> np.ndarray:
    """Actions of one episode that closes, at random but mostly inwards, (n, nd)."""
    generator, actions = np.random.default_rng(SEED), []
    env.reset(seed=SEED)
    over = False
    while not over:
        action = generator.uniform(-0.2, 1.0, env.action_space.shape).astype(np.float32)
        actions.append(action)
        _, _, terminated, truncated, _ = env.step(action)
        over = terminated or truncated
    return np.array(actions)


class Sample(NamedTuple):
    """What a control sample sets before its physics step."""

    targets: np.ndarray
    gravity: np.ndarray
    solref: np.ndarray | None
    """Of all contact pairs, where stiffness feedback has corrected it."""


def recorded(env: GraspEnv, actions: np.ndarray) -> list[Sample]:
    """What every control sample of an episode sets."""
    controls, loads = [], []
    env.reset(seed=SEED)
    stepper, feedback = env.simulation.stepper, env.simulation.stiffness
    sample, feedback.history = stepper.step_sample, []

    def noted(targets: np.ndarray) -> np.ndarray:
        controls.append(targets.copy())
        loads.append(env.model.opt.gravity.copy())
        return sample(targets)

    stepper.step_sample = noted
    for action in actions:
        env.step(action)
    corrected = {row: changed["pair_solref"] for row, changed in feedback.history}
    return [
        Sample(*item, corrected.get(row))
        for row, item in enumerate(zip(controls, loads, strict=True))
    ]


def raw_seconds(env: GraspEnv, samples: list[Sample]) -> float:
    """Wall time of the physics alone [s]; ends in the same state bit for bit."""
    env.reset(seed=SEED)
    model, data = env.model, env.data
    gravity, control, contacts, step = (
        model.opt.gravity,
        data.ctrl,
        model.pair_solref,
        mujoco.mj_step,
    )
    begin = time.perf_counter()
    for targets, load, solref in samples:
        gravity[:] = load
        control[:] = targets
        if solref is not None:
            contacts[:] = solref
        step(model, data)
    return time.perf_counter() - begin


def gym_seconds(env: GraspEnv, actions: np.ndarray) -> float:
    """Wall time of the steps of the Gymnasium environment [s]."""
    env.reset(seed=SEED)
    begin = time.perf_counter()
    for action in actions:
        env.step(action)
    return time.perf_counter() - begin


def dm_seconds(env: object, actions: np.ndarray) -> float:
    """Wall time of the steps of the dm_env [s]."""
    env.reset()
    begin = time.perf_counter()
    for action in actions:
        env.step(action)
    return time.perf_counter() - begin


if __name__ == "__main__":
    print(machine())
    show(lines(int(sys.argv[1]) if len(sys.argv) > 1 else TURNS))
