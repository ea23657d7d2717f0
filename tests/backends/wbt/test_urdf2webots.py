"""What another program writes for Webots is read, and found without a problem."""

from __future__ import annotations

import math

import numpy as np
import pytest

from softgrasp.backends.wbt import parse_world, problems

importer = pytest.importorskip(
    "urdf2webots.importer", reason="urdf2webots, a second writer of Webots nodes, is not installed"
)

URDF = """<robot name="twig">
  <link name="base">
    <inertial><mass value="1"/>
      <inertia ixx="0.001" iyy="0.001" izz="0.0015" ixy="0" ixz="0" iyz="0"/></inertial>
    <collision><geometry><box size="0.1 0.1 0.02"/></geometry></collision>
  </link>
  <link name="arm">
    <inertial><origin xyz="0 0 0.05"/><mass value="0.2"/>
      <inertia ixx="2e-4" iyy="2e-4" izz="1e-5" ixy="0" ixz="1e-6" iyz="0"/></inertial>
    <visual><origin xyz="0 0 0.05" rpy="0 0.2 0"/>
      <geometry><cylinder radius="0.01" length="0.1"/></geometry>
      <material name="red"><color rgba="1 0 0 1"/></material></visual>
    <collision><origin xyz="0 0 0.05" rpy="0 0.2 0"/>
      <geometry><cylinder radius="0.01" length="0.1"/></geometry></collision>
  </link>
  <joint name="hinge" type="revolute">
    <parent link="base"/><child link="arm"/>
    <origin xyz="0 0.02 0.01" rpy="0.3 -0.2 0.7"/><axis xyz="0 1 0"/>
    <limit lower="-1" upper="1.2" effort="5" velocity="3"/><dynamics damping="0.01"/>
  </joint>
</robot>"""
HEAD = "#VRML_SIM R2025a utf8\nWorldInfo { }\nViewpoint { }\n"


def test_a_robot_of_urdf2webots_is_read_without_a_problem():
    world = parse_world(HEAD + importer.convertUrdfContent(URDF, robotName="twig"))
    assert problems(world) == []
    joint = world.nodes[2].node("children")
    parameters, arm = joint.node("jointParameters"), joint.node("endPoint")
    assert arm.fields["translation"] == parameters.fields["anchor"] == (0.0, 0.02, 0.01)
    # the axis is in the frame of the parent: the column of the joint's rotation
    roll, pitch, yaw = 0.3, -0.2, 0.7
    middle = (math.sin(pitch) * math.sin(roll), math.cos(roll))
    axis = (
        math.cos(yaw) * middle[0] - math.sin(yaw) * middle[1],
        math.sin(yaw) * middle[0] + math.cos(yaw) * middle[1],
        math.cos(pitch) * math.sin(roll),
    )
    np.testing.assert_allclose(parameters.fields["axis"], axis, atol=1e-6)
