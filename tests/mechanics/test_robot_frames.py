"""Frames of joints, compared with what MuJoCo makes of the same joints."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from softgrasp.description.bendable import Inertial, Origin
from softgrasp.description.robot import Link, RigidJoint, Robot
from softgrasp.mechanics.robot_kinematics import joint_frame, origin_frame
from softgrasp.mechanics.transforms import rotate_about
from softgrasp.model.robot import robot_model

ORIGIN = Origin(xyz=(0.1, -0.2, 0.3), rpy=(0.4, -0.5, 1.2))


def test_roll_pitch_and_yaw_are_about_fixed_axes() -> None:
    rotation = rotate_about("z", 1.2) @ rotate_about("y", -0.5) @ rotate_about("x", 0.4)
    assert origin_frame(ORIGIN)[:3, :3] == pytest.approx(rotation[:3, :3])
    assert origin_frame(ORIGIN)[:3, 3] == pytest.approx([0.1, -0.2, 0.3])


@pytest.mark.parametrize("kind", ["fixed", "revolute", "continuous", "prismatic"])
def test_a_joint_moves_its_child_as_mujoco_does(kind: str) -> None:
    weight = Inertial(mass=0.1, inertia=(1e-4, 1e-4, 1e-4, 0, 0, 0))
    links = (Link(name="a"), Link(name="b", inertial=weight))
    joint = RigidJoint(
        name="j", type=kind, parent="a", child="b", origin=ORIGIN, axis=(1.0, 2.0, -0.5),
        lower=-1.0, upper=1.0,
    )  # fmt: skip
    model = robot_model(Robot(name="r", links=links, joints=(joint,)))
    data = mujoco.MjData(model)
    data.qpos[:] = 0.7
    mujoco.mj_forward(model, data)
    result = joint_frame(joint, 0.7)
    assert result[:3, 3] == pytest.approx(data.body("b").xpos)
    assert result[:3, :3] == pytest.approx(np.reshape(data.body("b").xmat, (3, 3)))
