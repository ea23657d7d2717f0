"""Arms in MJCF: their chain is the model's, and they lift what a hand holds."""

import mujoco
import numpy as np
import pytest

import softgrasp as sg
from softgrasp.io.hand import load_arm
from softgrasp.mechanics.hand_kinematics import forward_kinematics
from tests.support.mjcf_hands import LOOP, TENDON, written

ARM = """<mujoco model="crane">
  <compiler angle="radian" autolimits="true"/>
  <worldbody>
    <body name="foot">
      <geom type="cylinder" size=".05 .02"/>
      <body name="turn" pos="0 0 .1">
        <joint name="turn" axis="0 0 1"/>
        <geom type="capsule" size=".03" fromto="0 0 0 0 0 .2"/>
        <body name="upper" pos="0 .05 .2" quat=".9 .1 .3 0">
          <joint name="shoulder" axis="0 1 0" range="-3 3" pos="0 0 .01" ref=".1"/>
          <geom type="capsule" size=".02" fromto="0 0 0 .3 0 0"/>
          <body name="fore" pos=".3 0 0">
            <joint name="elbow" axis="0 1 0" range="-3 3"/>
            <geom type="box" size=".12 .02 .02" pos=".12 0 0"/>
            <body name="hand" pos=".25 0 0">
              <joint name="roll" axis="1 0 0" range="-3 3"/>
              <joint name="pitch" axis="0 1 0" range="-3 3"/>
              <joint name="yaw" axis="0 0 1" range="-3 3"/>
              <geom type="sphere" size=".03" mass=".3"/>
              <site name="attachment_site" pos=".03 0 0" quat=".7071068 0 .7071068 0"/>
            </body>
          </body>
        </body>
      </body>
    </body>
  </worldbody>
  <actuator>
    <position joint="turn" kp="2000" forcerange="-50 50"/>
    <position joint="shoulder" kp="3000" forcerange="-80 80"/>
  </actuator>
  <keyframe><key name="home" qpos="0 .6 1.2 0 -.3 0"/></keyframe>
</mujoco>
"""


def test_the_chain_is_that_of_the_model(tmp_path):
    file = written(tmp_path, ARM, "arm.xml")
    arm, own = load_arm(file), mujoco.MjModel.from_xml_path(str(file))
    assert [row.joint_name for row in arm.chain.phalanges] == [
        *("turn", "shoulder", "elbow", "roll", "pitch", "yaw")
    ]
    data, random = mujoco.MjData(own), np.random.default_rng(4)
    for _ in range(5):
        joints = random.uniform(-2.0, 2.0, 6)
        data.qpos[:] = joints
        mujoco.mj_kinematics(own, data)
        frames = forward_kinematics(arm.chain, joints.tolist())
        np.testing.assert_allclose(frames[1:, :3, 3], data.xanchor, atol=1e-9)
        np.testing.assert_allclose(frames[1:, :3, 2], data.xaxis, atol=1e-9)
        tool = frames[-1][:3, :3] @ arm.tool.position + frames[-1][:3, 3]
        np.testing.assert_allclose(tool, data.site("attachment_site").xpos, atol=1e-9)
    masses = [row.inertial.mass for row in arm.chain.phalanges if row.inertial]
    assert sum(masses) == pytest.approx(own.body_mass[2:].sum(), rel=1e-9)


def test_its_servos_and_start_are_kept(tmp_path):
    arm = load_arm(written(tmp_path, ARM, "arm.xml"))
    rotation, shoulder, *others = arm.chain.phalanges
    assert (rotation.servo_stiffness, rotation.force_limit) == (2000.0, 50.0)
    assert (shoulder.servo_stiffness, shoulder.force_limit) == (3000.0, 80.0)
    # nothing is said of the others: what hangs on them and 5 kg more
    assert others[0].force_limit == pytest.approx(9.81 * (5.0 + _mass_from(arm, 2)), rel=1e-9)
    assert [row.start for row in arm.chain.phalanges] == [0.0, 0.6, 1.2, 0.0, -0.3, 0.0]


def _mass_from(arm: object, first: int) -> float:
    rows = arm.chain.phalanges[first:]
    return sum(row.inertial.mass for row in rows if row.inertial is not None)


def test_branches_are_refused(tmp_path, golden):
    file = written(tmp_path, LOOP, "arm.xml")
    with pytest.raises(sg.DescriptionError) as refused:
        load_arm(file)
    golden(refused.value, "expected an arm whose joints are one chain, found branches")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::softgrasp.SoftgraspWarning")
def test_an_arm_of_mjcf_lifts_a_hand_of_mjcf(tmp_path):
    post = sg.GraspObject(
        name="post", shape=sg.Cylinder(radius=0.034, height=0.2), density=100.0, upright=True
    )
    scene = sg.GraspScene(
        hand=sg.load_hand(written(tmp_path, TENDON)),
        arm=load_arm(written(tmp_path, ARM, "arm.xml")),
        object=post,
        hand_pose=sg.Pose(position=(0.0, 0.0, 0.5)),
        surroundings=(sg.Table(),),
        lift=sg.description.Lift(height=0.05),
        gravity=True,
    )
    result = sg.simulate(scene)
    assert result.status is sg.GraspStatus.CLOSED
    assert result.hold.lifted_m == pytest.approx(0.05, abs=5e-3)
