"""Rigid joints of a robot, their servos, and joints that follow others."""

from __future__ import annotations

import mujoco

from softgrasp.build.compiling import compiled
from softgrasp.description.robot import RigidJoint, Robot
from softgrasp.errors import BuildError

SERVO_RATE = 100.0
"""Natural frequency of a joint's servo [rad/s]."""
LOCKED = 1e-9
"""Width [rad or m] of the range of a joint whose limits coincide: MuJoCo refuses an empty one."""


def add_joint(spec: mujoco.MjSpec, body: mujoco.MjsBody, joint: RigidJoint) -> None:
    """Let a link's body move as its joint does; one that follows no other gets a servo."""
    slides = joint.type == "prismatic"
    joint_element = body.add_joint(
        name=joint.name,
        type=mujoco.mjtJoint.mjJNT_SLIDE if slides else mujoco.mjtJoint.mjJNT_HINGE,
        axis=list(joint.axis),
        damping=[joint.damping, 0.0, 0.0],
        frictionloss=joint.friction,
    )
    ends = None
    if joint.type != "continuous" and joint.lower is not None and joint.upper is not None:
        ends = [joint.lower, max(joint.upper, joint.lower + LOCKED)]
        joint_element.limited, joint_element.range = True, ends
    if joint.mimic is not None:
        return
    servo = spec.add_actuator(name=joint.name, target=joint.name, trntype=mujoco.mjtTrn.mjTRN_JOINT)
    if ends is not None:
        servo.ctrllimited, servo.ctrlrange = True, ends
    if joint.effort:
        servo.forcelimited, servo.forcerange = True, [-joint.effort, joint.effort]


def tune_servos(spec: mujoco.MjSpec, robot: Robot) -> None:
    """Make servos equally quick and critically damped, whatever they carry.

    A U(C)RDF gives no gains, so the stiffness comes from the inertia at the straight pose.

    Raises:
        BuildError: MuJoCo refuses the robot.
    """
    moving = [joint.name for joint in robot.joints if spec.actuator(joint.name)]
    if not moving:
        return
    model = compiled(spec, robot.name)
    for name in moving:
        inertia = float(model.dof_M0[model.joint(name).dofadr[0]])
        spec.actuator(name).set_to_position(kp=inertia * SERVO_RATE**2, dampratio=1.0)


def add_mimics(spec: mujoco.MjSpec, robot: Robot) -> None:
    """Make joints follow those that they mimic.

    Raises:
        BuildError: One would follow a joint that is fixed.
    """
    kinds = {joint.name: joint.type for joint in robot.joints}
    for joint in robot.joints:
        if joint.mimic is not None and joint.type != "fixed":
            if kinds[joint.mimic.joint] == "fixed":
                raise BuildError(
                    f"joint '{joint.name}': expected to mimic a joint that moves, found "
                    f"'{joint.mimic.joint}', which is fixed"
                )
            equality = spec.add_equality(
                name=f"{joint.name}_mimic",
                type=mujoco.mjtEq.mjEQ_JOINT,
                objtype=mujoco.mjtObj.mjOBJ_JOINT,
                name1=joint.name,
                name2=joint.mimic.joint,
            )
            equality.data[:2] = joint.mimic.offset, joint.mimic.multiplier
