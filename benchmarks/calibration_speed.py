"""What a calibration costs: equilibria in a batch over stepping to rest, and all three stages.

python benchmarks/calibration_speed.py
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import mujoco
import numpy as np
from measured import Line, machine, show

from softgrasp.calibration.calibrate import calibrate
from softgrasp.calibration.files import load_problem
from softgrasp.calibration.stages import VirtualExperiments
from softgrasp.description.calibration import HungAngles
from softgrasp.description.scene import STANDARD_GRAVITY
from softgrasp.model.shapes import set_inertia
from softgrasp.model.soft_finger import TIP, finger_spec

PARTICLES, MASSES = 1000, (0.0, 0.02, 0.04)
STILL = 1e-3
"""A finger is taken to be at rest where no joint is faster [rad/s]."""


def lines() -> Iterator[Line]:
    """All that is measured."""
    problem = load_problem("paper000_webots").problem
    loads = [HungAngles(mass=mass, angles=(0.0,) * 7) for mass in MASSES]
    stiffness = np.random.default_rng(0).uniform(0.1, 0.6, (PARTICLES, 7))
    experiments = VirtualExperiments(problem)
    experiments.hung(stiffness[:10], loads)
    begin = time.perf_counter()
    experiments.hung(stiffness, loads)
    batched = (time.perf_counter() - begin) / PARTICLES
    stepped = stepped_seconds(problem.finger, stiffness[:3]) / 3
    yield Line("three weights in a batch of 1000, a parameter set [µs]", f"{1e6 * batched:.0f}")
    yield Line("the same stepped to rest one by one, over the batch",
               f"{stepped / batched:.0f}", "at least 1000")  # fmt: skip
    paper = problem.replace(damping_model="per-joint", gain_model="per-joint")
    begin = time.perf_counter()
    calibrate(paper, "pso", threads=2)
    taken = time.perf_counter() - begin
    yield Line("three stages of 14 particles and 100 iterations [s]", f"{taken:.0f}",
               "less than 90")  # fmt: skip
    begin = time.perf_counter()
    result = calibrate(problem)
    taken = time.perf_counter() - begin
    yield Line(f"three stages by least squares, {result.evaluations} evaluations [s]",
               f"{taken:.1f}")  # fmt: skip


def weighted_model(finger: object, mass: float) -> mujoco.MjModel:
    """Compile a horizontal finger with a weight at its tip."""
    spec = finger_spec(finger)
    spec.option.gravity = list(STANDARD_GRAVITY)
    if mass > 0.0:
        weight = spec.body(f"link{len(finger.joints)}").add_body(pos=spec.site(TIP).pos)
        set_inertia(weight, mass, 1e-6 * mass * np.eye(3))
    return spec.compile()


def stepped_seconds(finger: object, stiffness: np.ndarray) -> float:
    """Wall time of stepping every set to rest under every weight [s]."""
    taken = 0.0
    for mass in MASSES:
        model = weighted_model(finger, mass)
        model.opt.timestep = 2e-4
        for row in stiffness:
            model.jnt_stiffness[:] = row
            data = mujoco.MjData(model)
            begin = time.perf_counter()
            mujoco.mj_step(model, data, 50)
            while np.abs(data.qvel).max() > STILL:
                mujoco.mj_step(model, data, 50)
            taken += time.perf_counter() - begin
    return taken


if __name__ == "__main__":
    print(machine())
    show(lines())
