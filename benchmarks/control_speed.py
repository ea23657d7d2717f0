"""Cost of a control period of continuum robots over the physics alone.

The raw engine steps the same model with the same constant controls, in turns with the controlled
robot, in CPU time.

    python benchmarks/control_speed.py [PERIODS]
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Iterator
from statistics import median

import mujoco
from measured import Line, machine, show

import softgrasp as sg

ROBOTS = ("soft_gripper_two", "rigid_soft_finger", "three_segment_arm")
PERIODS, ROUNDS, TARGET = 200, 15, 1.5
"""Control periods of a round, rounds, and largest cost over that of raw steps."""


def lines(periods: int = PERIODS) -> Iterator[Line]:
    """All that is measured."""
    warnings.simplefilter("ignore")
    for name in ROBOTS:
        for moves in (False, True):
            yield from of_robot(name, periods, moves=moves)


def of_robot(name: str, periods: int, *, moves: bool) -> Iterator[Line]:
    """Cost of one robot, at rest or on a trajectory."""
    robot = sg.io.load_robot(name)
    controlled = sg.control.ControlledRobot(robot)
    controller = sg.control.JointTrajectoryController(robot, name="path")
    controlled.manager.load(controller)
    controlled.manager.switch(start=["path"])
    curvature = 0.3 * robot.bendables[0].kappa_max
    model, data = controlled.model, mujoco.MjData(controlled.model)
    duration, steps = periods * controlled.period, round(controlled.period / model.opt.timestep)
    ratios, raw = [], []
    for index in range(ROUNDS + 1):
        target = (curvature if index % 2 else 0.0, 0.0)
        if moves:
            goal = {part.name: target[: 1 + (not part.planar)] for part in robot.bendables}
            controller.go(goal, controlled.now, duration=2.0 * duration)
        begin = time.process_time()
        controlled.step(duration)
        middle = time.process_time()
        data.ctrl[:] = controlled.data.ctrl
        for _ in range(periods):
            mujoco.mj_step(model, data, steps)
        raw.append(time.process_time() - middle)
        ratios.append((middle - begin) / raw[-1])
    what = f"{name}, {'moving' if moves else 'at rest'}"
    yield Line(f"{what}: a period of raw steps [ms]", f"{1e3 * median(raw[1:]) / periods:.3f}")
    cost = median(ratios[1:])
    yield Line(f"{what}: a period over raw [–]", f"{cost:.2f}", f"at most {TARGET:.2f}")


if __name__ == "__main__":
    print(machine())
    show(lines(*[int(number) for number in sys.argv[1:2]]))
