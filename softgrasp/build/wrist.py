"""The wrist that carries a hand: slides and hinges with stiff position servos.

To lift, a slide along z of the world is enough. A sequence has three slides along the axes of the
world and then three hinges about z, y and x, whose axes are those of the world at home.
"""

from __future__ import annotations

import math

import mujoco
import numpy as np

from softgrasp.build.names import WRIST, WRIST_JOINTS
from softgrasp.build.shapes import set_inertia
from softgrasp.description.geometry import Pose
from softgrasp.mechanics.transforms import transform

CARRIED_MASS = 0.5
"""Mass of palm and flange [kg]; a palm has none of its own."""
FREQUENCY = 30.0
"""Natural frequency of the servo [Hz]: it sags by 0.3 mm under the hand's weight."""
HELD_ARMATURE = 1e4
"""Inertia [kg or kg·m²] that keeps a prescribed wrist on its path whatever hangs from it."""
CARRIED_INERTIA = 5e-3
"""Inertia of what turns with the palm [kg·m²]: the mass above at 0.1 m. With the servo's frequency
it is as stiff as 180 N·m/rad: it gives way by 0.3° under 1 N·m."""


def add_wrist(
    spec: mujoco.MjSpec, palm_name: str, pose: Pose, height: float, *, prescribed: bool
) -> None:
    """Let the palm of a hand slide up.

    Args:
        spec: The model; it holds a hand already.
        palm_name: The body in the hand's frame.
        pose: Pose of the hand in the world.
        height: How far it is lifted [m].
        prescribed: Whether the joint obeys its targets whatever the load.
    """
    palm = spec.body(palm_name)
    upright = transform(quaternion=pose.quaternion)[:3, :3]
    palm.add_joint(
        name=WRIST,
        type=mujoco.mjtJoint.mjJNT_SLIDE,
        axis=(upright.T @ [0.0, 0.0, 1.0]).tolist(),
        armature=HELD_ARMATURE if prescribed else 0.0,
    )
    _weigh(palm)
    actuator = _servo(spec, WRIST, CARRIED_MASS, prescribed=prescribed)
    actuator.ctrlrange = [0.0, height]
    actuator.ctrllimited = True


def add_free_wrist(spec: mujoco.MjSpec, palm_name: str, pose: Pose, *, prescribed: bool) -> None:
    """Let the palm of a hand move and turn; arguments as for ``add_wrist``."""
    palm = spec.body(palm_name)
    axes = transform(quaternion=pose.quaternion)[:3, :3]  # row k: axis k of the world in the palm
    slide, hinge = mujoco.mjtJoint.mjJNT_SLIDE, mujoco.mjtJoint.mjJNT_HINGE
    for index, (name, axis) in enumerate(zip(WRIST_JOINTS, (0, 1, 2, 2, 1, 0), strict=True)):
        is_hinge = index >= 3
        armature = CARRIED_INERTIA if is_hinge else 0.0
        palm.add_joint(
            name=name,
            type=hinge if is_hinge else slide,
            axis=axes[axis].tolist(),
            armature=HELD_ARMATURE if prescribed else armature,
        )
        _servo(spec, name, CARRIED_INERTIA if is_hinge else CARRIED_MASS, prescribed=prescribed)
    _weigh(palm)


def _weigh(palm: mujoco.MjsBody) -> None:
    palm.gravcomp = 1.0
    set_inertia(palm, CARRIED_MASS, np.eye(3) * CARRIED_MASS * 0.02**2, (0.0, 0.0, 0.0))


def _servo(
    spec: mujoco.MjSpec, joint: str, inertia: float, *, prescribed: bool
) -> mujoco.MjsActuator:
    """A critically damped position servo, or one that pulls at nothing for a prescribed joint."""
    actuator = spec.add_actuator(name=joint, target=joint, trntype=mujoco.mjtTrn.mjTRN_JOINT)
    if prescribed:
        actuator.gainprm[0] = 0.0
    else:
        actuator.set_to_position(kp=inertia * (2.0 * math.pi * FREQUENCY) ** 2, dampratio=1.0)
    return actuator
