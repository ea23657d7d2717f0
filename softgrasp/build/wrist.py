"""The wrist that lifts a hand: a slide along z of the world with a stiff position servo."""

from __future__ import annotations

import math

import mujoco
import numpy as np

from softgrasp.build.names import WRIST
from softgrasp.build.shapes import set_inertia
from softgrasp.description.pose import Pose
from softgrasp.mechanics.transforms import transform

CARRIED_MASS = 0.5
"""Mass of palm and flange [kg]; a palm has none of its own."""
FREQUENCY = 30.0
"""Natural frequency of the servo [Hz]: it sags by 0.3 mm under the hand's weight."""
HELD_ARMATURE = 1e4
"""Inertia [kg] that keeps a prescribed wrist on its path whatever hangs from it."""


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
    palm.gravcomp = 1.0
    set_inertia(palm, CARRIED_MASS, np.eye(3) * CARRIED_MASS * 0.02**2, (0.0, 0.0, 0.0))
    actuator = spec.add_actuator(
        name=WRIST,
        target=WRIST,
        trntype=mujoco.mjtTrn.mjTRN_JOINT,
        ctrlrange=[0.0, height],
        ctrllimited=True,
    )
    if prescribed:
        actuator.gainprm[0] = 0.0
        return
    stiffness = CARRIED_MASS * (2.0 * math.pi * FREQUENCY) ** 2
    actuator.set_to_position(kp=stiffness, dampratio=1.0)
