"""What environments cost over their physics: the same random episode, raw and through both doors.

The raw engine steps the same model through the recorded targets and loads, without observations,
contact logic, reward or checks. All ways take turns; medians over the turns.

    python benchmarks/environment_speed.py [TURNS]
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Iterator
from statistics import median

import mujoco
import numpy as np
from measured import Line, machine, show

import softgrasp as sg
from softgrasp.envs.gym_env import GraspEnv

TURNS, SEED = 7, 1
LONG, SHORT = 0.02, 1e-3
"""Decision periods [s]: 20 physics steps, and one."""
TARGETS = {"gym": 1.0, "composer": 2.2}
"""Largest time over raw at the long period."""
REASONS = {
    "gym": "between the 20 physics steps of a decision Python detects contacts and corrects their "
    "stiffness; planning and observations follow once a decision",
    "composer": "dm_control calls the two halves of each physics step, its checks and its "
    "observables from Python, besides the detection of contacts",
}
"""Why these are missed, by profiles of both episodes."""


def lines(rotations: int = TURNS) -> Iterator[Line]:
    """All that is measured."""
    warnings.simplefilter("ignore")
    scene = sg.load_scene("four_finger_sphere")
    for period in (LONG, SHORT):
        yield from ratios(scene, period, rotations)


def ratios(scene: sg.GraspScene, period: float, rotations: int) -> Iterator[Line]:
    """One decision period."""
    env = sg.make_env(scene, decision_period=period)
    actions = random_actions(env)
    controls, loads = recorded(env, actions)
    ways: dict[str, Callable[[], float]] = {
        "raw": lambda: raw_seconds(env, controls, loads),
        "gym": lambda: gym_seconds(env, actions),
    }
    try:
        dm = sg.make_dm_env(scene, decision_period=period)
        ways["composer"] = lambda: dm_seconds(dm, actions)
    except sg.BackendUnavailable:
        pass
    taken: dict[str, list[float]] = {name: [] for name in ways}
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


def recorded(env: GraspEnv, actions: np.ndarray) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Targets and gravity of every control sample of an episode."""
    controls, loads = [], []
    env.reset(seed=SEED)
    stepper = env._simulation._stepper
    sample = stepper.step_sample

    def noted(targets: np.ndarray) -> np.ndarray:
        controls.append(targets.copy())
        loads.append(env.model.opt.gravity.copy())
        return sample(targets)

    stepper.step_sample = noted
    for action in actions:
        env.step(action)
    return controls, loads


def raw_seconds(env: GraspEnv, controls: list[np.ndarray], loads: list[np.ndarray]) -> float:
    """Wall time of the physics alone [s]; ends in the same state bit for bit."""
    env.reset(seed=SEED)
    model, data = env.model, env.data
    gravity, control, step = model.opt.gravity, data.ctrl, mujoco.mj_step
    begin = time.perf_counter()
    for targets, load in zip(controls, loads, strict=True):
        gravity[:] = load
        control[:] = targets
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
