"""A hand on an arm: it starts where it did, and the arm moves as its table says."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import softgrasp as sg
from softgrasp.io.hand import load_arm
from softgrasp.mechanics.hand_kinematics import forward_kinematics
from softgrasp.mechanics.transforms import transform
from softgrasp.model import names
from softgrasp.model.arm import arm_base
from tests.conftest import Golden


@pytest.fixture(scope="module")
def scene() -> sg.GraspScene:
    return sg.load_scene("paper000_arm")


def test_dh_table_of_the_ur3e() -> None:
    """Flange at all joints zero, from the published table: x = a2 + a3, y = −(d4 + d6)."""
    home = forward_kinematics(load_arm("ur3e").chain, [0.0] * 6)[-1]
    assert home[:3, 3] == pytest.approx([-0.45675, -0.22315, 0.0665])


def test_start_pose_of_the_hand_is_that_without_an_arm(scene: sg.GraspScene) -> None:
    built = sg.compile_model(scene)
    data = mujoco.MjData(built)
    mujoco.mj_resetDataKeyframe(built, data, 0)
    mujoco.mj_forward(built, data)
    assert data.body(names.PALM).xpos == pytest.approx(scene.hand_pose.position, abs=1e-9)
    assert data.body(names.PALM).xmat == pytest.approx(np.eye(3).ravel(), abs=1e-9)
    assert scene.arm is not None
    assert arm_base(scene.arm, scene.hand_pose)[:3, 2] == pytest.approx([0, 0, 1], abs=1e-9)


def test_arm_kinematics_match_the_dh_table(scene: sg.GraspScene) -> None:
    model = sg.compile_model(scene)
    data = mujoco.MjData(model)
    base = arm_base(scene.arm, scene.hand_pose)
    tool = transform(scene.arm.tool.position, scene.arm.tool.quaternion)
    rng = np.random.default_rng(3)
    for _ in range(5):
        joints = rng.uniform(-2.0, 2.0, 6)
        for name, value in zip(names.carrier_joints(scene), joints, strict=True):
            data.qpos[model.joint(name).qposadr[0]] = value
        mujoco.mj_kinematics(model, data)
        hand = base @ forward_kinematics(scene.arm.chain, joints.tolist())[-1] @ tool
        assert data.body(names.PALM).xpos == pytest.approx(hand[:3, 3], abs=1e-9)


def test_order_of_actuators(scene: sg.GraspScene) -> None:
    model = sg.compile_model(scene)
    result = [model.actuator(index).name for index in range(model.nu)]
    assert result == names.scene_actuators(scene)
    assert result == ["F1_pressure", "F2_pressure", *(f"arm_J{j}" for j in range(1, 7))]


@pytest.mark.slow
def test_arm_lifts_a_ball_with_soft_fingers(scene: sg.GraspScene) -> None:
    result = sg.simulate(scene)
    assert result.held
    assert result.hold.lifted_m == pytest.approx(0.1, abs=1e-3)
    assert result.hold.drop_m < 5e-3


def test_scene_with_an_arm_round_trips(scene: sg.GraspScene, tmp_path: object) -> None:
    path = f"{tmp_path}/arm.yaml"
    sg.save_scene(scene, path)
    assert sg.load_scene(path) == scene
    sg.save_scene(scene.replace(arm=scene.arm.replace(name="mine")), path)
    again = sg.load_scene(path).arm
    assert again.name == "mine"
    assert [row.servo_stiffness for row in again.chain.phalanges] == [4000.0] * 6


def test_error_in_an_arm_names_file_and_field(tmp_path: object, golden: Golden) -> None:
    path = f"{tmp_path}/bad.yaml"
    with open(path, "w") as file:  # noqa: PTH123
        file.write("name: bad\nconvention: standard\nphalanges:\n  - {a: 0.1, masss: 1}\n")
    with pytest.raises(sg.DescriptionError) as caught:
        load_arm(path)
    assert str(caught.value).startswith(f"{path}:4: phalanges[0].masss: no such field")
    golden.refused(lambda: load_arm("ur3"), "no arm 'ur3'; did you mean 'ur3e'")
