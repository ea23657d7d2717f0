"""The simulated robot: its pose is that of its table, it is smooth, and always the same."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import softgrasp as sg
from softgrasp.io.scene import load_arm
from softgrasp.mechanics.transforms import transform
from softgrasp.twin.flange_server import RobotStream
from softgrasp.twin.flange_streams import ManualClock
from tests.twin.robots import finished, first, program, robot

ANOTHER = sg.SimulatedRobot(sg.load_robot_program())
TIME = st.floats(-1.0, 100.0)


def test_the_published_pose_of_the_irb120_at_zero() -> None:
    """As its data sheet has it: 374 mm in front, 630 mm up, looking forward."""
    home = sg.forward_kinematics(load_arm("irb120").chain, [0.0] * 6)[-1]
    rotation = math.sqrt(0.5)
    assert home == pytest.approx(
        transform((0.374, 0.0, 0.630), (rotation, 0.0, rotation, 0.0)), abs=1e-12
    )


@given(TIME)
def test_the_pose_is_the_forward_kinematics_of_the_joints(time: float) -> None:
    one = robot()
    sample = one.sample_at(time)
    frame = sg.forward_kinematics(program().arm.chain, one.joints_at(time))[-1]
    assert sample.time == time
    assert transform(sample.position, sample.quaternion) == pytest.approx(frame, abs=1e-12)


@given(TIME)
def test_a_time_always_has_the_same_pose(time: float) -> None:
    assert robot().sample_at(time) == ANOTHER.sample_at(time)


def test_it_goes_through_its_postures_round_and_round() -> None:
    plan, one = program(), robot()
    leg = plan.move_time + plan.rest_time
    for lap in range(3):
        for position, posture in enumerate(plan.postures):
            begin = lap * plan.period + position * leg
            for time in (begin + 1e-9, begin + plan.rest_time):
                assert one.joints_at(time) == pytest.approx(posture, abs=1e-9)
    assert one.joints_at(-1.0) == plan.postures[0]


def test_no_joint_jumps_or_leaves_its_limits() -> None:
    """The largest speed of a minimum-jerk move is 1.875 ways a time."""
    plan, one = program(), robot()
    times = np.arange(0.0, plan.period + 1.0, 0.01)
    joints = np.array([one.joints_at(time) for time in times])
    ends = np.array(plan.postures)
    way = np.abs(ends - np.roll(ends, -1, axis=0)).max(axis=0)
    speed = np.abs(np.diff(joints, axis=0)).max(axis=0) / 0.01
    assert (speed <= 1.875 * way / plan.move_time + 1e-9).all()
    assert speed.max() > 1.8 * way.max() / plan.move_time
    low, high = np.array([row.limits for row in plan.arm.chain.phalanges]).T
    assert ((low <= joints) & (joints <= high)).all()


def test_the_flange_of_the_shipped_program_looks_down_in_its_postures() -> None:
    plan = program()
    for posture in plan.postures:
        frame = sg.forward_kinematics(plan.arm.chain, posture)[-1]
        assert frame[:3, 2] == pytest.approx([0.0, 0.0, -1.0], abs=1e-12)
        assert frame[2, 3] > 0.2


def test_one_posture_is_a_robot_that_stands() -> None:
    still = sg.SimulatedRobot(program().replace(postures=program().postures[:1]))
    assert still.sample_at(0.0).pose == still.sample_at(7.3).pose


def test_its_stream_is_at_the_rate_and_the_quaternion_goes_on() -> None:
    clock = ManualClock(5.0)
    samples = finished(first(RobotStream(robot(), 50.0, clock), 701))
    assert [sample.time for sample in samples] == pytest.approx(np.arange(701) / 50.0)
    assert clock.now() == pytest.approx(5.0 + 14.0)
    quaternions = np.array([sample.quaternion for sample in samples])
    steps = np.linalg.norm(np.diff(quaternions, axis=0), axis=1)
    # without the choice of the sign there are jumps of 2
    raw = np.array([robot().sample_at(sample.time).quaternion for sample in samples])
    assert np.linalg.norm(np.diff(raw, axis=0), axis=1).max() > 1.9
    assert steps.max() < 0.05
