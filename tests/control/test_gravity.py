"""What a robot under control says about weight, odd numbers and names."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

import softgrasp as sg
from softgrasp.continuum_control.controllers import JointTrajectoryController
from softgrasp.continuum_control.manager import ControlledRobot
from tests.control.arms import arm


@pytest.mark.slow
def test_a_robot_that_its_weight_bends_down_is_told() -> None:
    """The shipped arm stands upright on w L³/EI = 16, twice the buckling load of a column."""
    robot = sg.load_robot("three_segment_arm")
    with pytest.warns(sg.SoftgraspWarning, match="cannot stand by itself in its start pose"):
        machine = ControlledRobot(robot, gravity=True)
    path = JointTrajectoryController(robot, name="path")
    machine.manager.load(path)
    machine.manager.switch(start=["path"])
    path.go({f"segment{k}": (0.5, 0.0) for k in (1, 2, 3)}, machine.now)
    with pytest.warns(sg.SoftgraspWarning, match="expected a curvature of at most 3.314 1/m"):
        machine.step(6.0)


@pytest.mark.slow
def test_hanging_it_goes_where_it_is_told() -> None:
    robot = sg.load_robot("three_segment_arm")
    machine = ControlledRobot(robot, gravity=(0.0, 0.0, 9.81))
    path = JointTrajectoryController(robot, name="path")
    machine.manager.load(path)
    machine.manager.switch(start=["path"])
    path.go({f"segment{k}": (1.0, 0.3) for k in (1, 2, 3)}, machine.now)
    machine.step(12.0)
    for k in (1, 2, 3):
        assert machine.curvature(f"segment{k}") == pytest.approx((1.0, 0.3), rel=0.02)


def test_rigid_joints_and_segments_move_together() -> None:
    robot = sg.load_robot("soft_gripper_two")
    machine = ControlledRobot(robot)
    path = JointTrajectoryController(robot, name="path")
    machine.manager.load(path)
    machine.manager.switch(start=["path"])
    path.go({"wrist": 0.03, "left_finger": 5.0, "right_finger": (8.0, 0.0)}, machine.now)
    machine.step(path.duration + 1.0)
    assert machine.data.joint("wrist").qpos[0] == pytest.approx(0.03, abs=1e-4)
    assert machine.curvature("left_finger")[0] == pytest.approx(5.0, rel=0.02)
    assert machine.curvature("right_finger")[0] == pytest.approx(8.0, rel=0.02)
    for target, sentence in (
        ({"wrist": 0.06}, "joint 'wrist': expected a position from -0.05 to 0.05, found 0.06"),
        (
            {"left_finger": (5.0, math.pi / 2)},
            "bendable 'left_finger': expected a target in its plane at 0 rad, found phi = 1.5708",
        ),
        ({"left_finger": 20.0},
         "bendable 'left_finger': expected a curvature of at most 15 1/m, found 20"),
    ):  # fmt: skip
        with pytest.raises(sg.DescriptionError, match=f"^{re.escape(sentence)}$"):
            path.go(target, machine.now)


@pytest.mark.parametrize(
    ("gravity", "result"),
    [(-9.81, "-9.81"), ((0.0, 0.0), "(0.0, 0.0)"), ((0.0, 0.0, math.nan), "(0.0, 0.0, nan)")],
)
def test_gravity_is_three_numbers(gravity: object, result: str) -> None:
    sentence = f"gravity: expected three finite numbers, or true or false, found {result}"
    with pytest.raises(sg.DescriptionError, match=f"^{re.escape(sentence)}$"):
        ControlledRobot(arm(), gravity=gravity)


def test_gravity_may_be_an_array() -> None:
    machine = ControlledRobot(arm(), gravity=np.array([0.0, 0.0, 9.81]))
    assert machine.model.opt.gravity.tolist() == [0.0, 0.0, 9.81]


@pytest.mark.parametrize("duration", [0.004, -1.0, math.nan])
def test_a_step_takes_at_least_one_period(duration: float) -> None:
    with pytest.raises(sg.DescriptionError, match=r"^duration: expected at least one period of 0"):
        ControlledRobot(arm()).step(duration)


def test_names_that_are_not_there() -> None:
    machine = ControlledRobot(arm())
    for call, sentence in (
        (lambda: machine.curvature("s2"), "no bendable 's2' under control; known: s1"),
        (lambda: machine.position_of("tip"), "no link 'tip'; known: l0, l1"),
        (lambda: machine.robot.bendable("x"), "no bendable 'x'; known: s1"),
        (lambda: machine.robot.link("x"), "no link 'x'; known: l0, l1"),
    ):
        with pytest.raises(sg.DescriptionError, match=f"^{re.escape(sentence)}$"):
            call()
