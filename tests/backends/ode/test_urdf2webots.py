"""A robot that another program wrote for Webots moves in ODE as MuJoCo's own import of its URDF.

Neither reading of the file is ours, so that frames, axes and anchors are proven from outside.
"""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from softgrasp.backends.wbt import parse_world, problems
from tests.sim.engines import require_engine

importer = pytest.importorskip(
    "urdf2webots.importer", reason="urdf2webots, a second writer of Webots nodes, is not installed"
)

STEP, STEPS = 5e-4, 300
TURN = np.array([0.4, -0.7, 0.2])
"""How the robot's base stands in the world, as a rotation vector [rad]."""
LINK = """
  <link name="{name}">
    <inertial><origin xyz="0.01 0 0.06"/><mass value="{mass}"/>
      <inertia ixx="4e-4" iyy="3e-4" izz="1.5e-4" ixy="0" ixz="0" iyz="0"/></inertial>
    <collision><origin xyz="0 0 0.06"/><geometry><box size="0.02 0.02 0.1"/></geometry></collision>
  </link>"""
JOINT = """
  <joint name="{name}" type="revolute">
    <parent link="{parent}"/><child link="{child}"/>
    <origin xyz="{xyz}" rpy="{rpy}"/><axis xyz="{axis}"/>
    <limit lower="-3.1" upper="3.1" effort="5" velocity="30"/><dynamics damping="0.002"/>
  </joint>"""
URDF = (
    '<robot name="twig">'
    + LINK.format(name="base", mass=1.0)
    + LINK.format(name="arm", mass=0.2)
    + LINK.format(name="hand", mass=0.1)
    + JOINT.format(
        name="shoulder", parent="base", child="arm", xyz="0 0.02 0.05", rpy="0.3 -0.2 0.7",
        axis="0 1 0",
    )
    + JOINT.format(
        name="elbow", parent="arm", child="hand", xyz="0.01 0 0.12", rpy="-0.5 0.3 0.1",
        axis="1 0 0",
    )
    + "</robot>"
)  # fmt: skip
HEAD = f"""#VRML_SIM R2025a utf8
WorldInfo {{ basicTimeStep {1e3 * STEP} CFM 1e-10
  physicsDisableLinearThreshold 0 }}
Viewpoint {{ }}
"""


def in_mujoco() -> np.ndarray:
    model = mujoco.MjModel.from_xml_string(URDF)
    model.opt.timestep = STEP
    model.opt.gravity[:] = Rotation.from_rotvec(TURN).inv().apply([0.0, 0.0, -9.81])
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
    data = mujoco.MjData(model)
    track = []
    for _ in range(STEPS):
        mujoco.mj_step(model, data)
        track.append(data.qpos.copy())
    return np.array(track)


def in_ode() -> np.ndarray:
    from softgrasp.backends.ode.controller_api import OdeWorld

    tree = parse_world(HEAD + importer.convertUrdfContent(URDF, robotName="twig"))
    assert problems(tree, min_step=0.0) == []
    robot = tree.nodes[2]
    angle = float(np.linalg.norm(TURN))
    robot.fields["rotation"] = (*(TURN / angle).tolist(), angle)
    robot.fields["physics"] = None  # MuJoCo welds the base to the world
    world = OdeWorld(tree)
    for joint in world.joints:
        if joint.motor is not None:
            joint.motor.setForce(0.0)  # an untouched motor of Webots holds its joint
    track = []
    for _ in range(STEPS):
        world.step()
        track.append([joint.position for joint in world.joints])
    return np.array(track)


def test_it_swings_as_in_mujoco() -> None:
    require_engine("ode")
    expected, result = in_mujoco(), in_ode()
    assert np.degrees(np.ptp(expected, axis=0)).min() > 5.0
    assert np.degrees(np.abs(result - expected)).max() < 0.05
