"""A gripper from a URDF file: what was found in it, what a side file says otherwise, a grasp."""

from pathlib import Path

import softgrasp as sg

JAW = """<link name="{name}"><inertial><origin xyz="0 0 0.03"/><mass value="0.05"/>
  <inertia ixx="2e-5" iyy="2e-5" izz="4e-6" ixy="0" ixz="0" iyz="0"/></inertial><collision>
  <origin xyz="0 0 0.03"/><geometry><box size="0.014 0.03 0.06"/></geometry></collision></link>
  <joint name="{name}_joint" type="revolute"><parent link="base"/><child link="{name}"/>
  <origin xyz="{x} 0 0"/><axis xyz="0 {side} 0"/>
  <limit lower="-0.2" upper="1.2" effort="2" velocity="3"/></joint>"""
PALM = '<collision><geometry><box size="0.1 0.04 0.02"/></geometry></collision>'
SIDE_FILE = """
model: gripper.urdf
name: gentle_gripper
joints:
  left_joint: {effort: 0.5}
  right_joint: {effort: 0.5}
"""

jaws = JAW.format(name="left", x=-0.04, side=1) + JAW.format(name="right", x=0.04, side=-1)
robot = f'<robot name="gripper"><link name="base">{PALM}</link>{jaws}</robot>'
Path("gripper.urdf").write_text(robot, encoding="utf-8")
Path("gentle_gripper.yaml").write_text(SIDE_FILE, encoding="utf-8")

for file in ("gripper.urdf", "gentle_gripper.yaml"):
    hand = sg.load_hand(file)
    print(f"{hand.name}: drives {[actuator.name for actuator in hand.actuators]}")
    print(f"  closes at {hand.grasps.precision.rates} rad/s on {hand.grasps.precision.center} m")
    obj = sg.load_object("sphere")
    result = sg.simulate(sg.GraspScene(hand=hand, object=obj, grasp="precision"))
    print(f"  {result.message}, squeeze {result.normal_force[-1].sum():.1f} N")
