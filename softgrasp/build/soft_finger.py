"""A soft finger → bodies, hinges and springs of an MjSpec."""

from __future__ import annotations

from collections.abc import Sequence

import mujoco
import numpy as np

from softgrasp.build import names
from softgrasp.build.compiling import compiled
from softgrasp.build.visual import SILICONE_RGBA, Rgba
from softgrasp.description.geometry import Pose
from softgrasp.description.soft_finger import Freedom, SoftFinger, SoftJoint, SoftLink
from softgrasp.mechanics.transforms import Array

TIP = "tip"
MIN_MASS, MIN_INERTIA = 1e-12, 1e-14
"""MuJoCo refuses lighter bodies; a picogram bends no finger."""
AXES: dict[Freedom, tuple[float, float, float]] = {
    "stretch": (1.0, 0.0, 0.0),
    "twist": (1.0, 0.0, 0.0),
    "y": (0.0, 1.0, 0.0),
    "z": (0.0, 0.0, 1.0),
}
"""All ways of a joint go through one point; about y is towards −z."""


def finger_spec(finger: SoftFinger) -> mujoco.MjSpec:
    """The finger alone, clamped at the origin.

    Joints are called as ``names.finger_joint_names`` says.
    """
    spec = mujoco.MjSpec()
    spec.modelname = finger.name
    spec.compiler.degree = False
    spec.compiler.boundmass, spec.compiler.boundinertia = MIN_MASS, MIN_INERTIA
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    spec.option.disableflags |= mujoco.mjtDisableBit.mjDSBL_AUTORESET
    bodies = [f"link{index}" for index in range(len(finger.links))]
    joints = names.finger_joint_names(finger)
    add_soft_finger(spec.worldbody, finger, Pose(), bodies, joints, TIP)
    return spec


def add_soft_finger(
    parent: mujoco.MjsBody,
    finger: SoftFinger,
    pose: Pose,
    bodies: Sequence[str],
    joints: Sequence[str],
    tip: str,
    rgba: Rgba = SILICONE_RGBA,
) -> None:
    """Add a finger to a body.

    Args:
        parent: The body that carries it.
        finger: The finger.
        pose: Its base frame in the parent's frame.
        bodies: Names of its links, the clamped one first; their geoms have the same ones.
        joints: Names of its joints, as ``names.finger_joint_names`` orders them.
        tip: Name of the site at the tip.
        rgba: Colour in pictures.
    """
    body = parent.add_body(name=bodies[0], pos=list(pose.position), quat=list(pose.quaternion))
    _fill(body, finger.links[0], np.zeros(3), rgba)
    origin = np.zeros(3)
    named = list(zip(finger.freedoms, joints, strict=True))
    for index, (joint, link) in enumerate(zip(finger.joints, finger.links[1:], strict=True)):
        position = np.array(joint.position)
        body = body.add_body(name=bodies[index + 1], pos=position - origin)
        origin = position
        for (owner, freedom), name in named:
            if owner == index:
                _add_joint(body, joint, freedom, name)
        _fill(body, link, origin, rgba)
    body.add_site(name=tip, pos=np.array(finger.tip) - origin, size=[0.001] * 3, group=4)


def _add_joint(body: mujoco.MjsBody, joint: SoftJoint, freedom: Freedom, name: str) -> None:
    stiffness_by_freedom = {"stretch": joint.axial_stiffness, "twist": joint.torsion_stiffness}
    stiffness = stiffness_by_freedom.get(freedom) or joint.stiffness
    slides = freedom == "stretch"
    body.add_joint(
        name=name,
        type=mujoco.mjtJoint.mjJNT_SLIDE if slides else mujoco.mjtJoint.mjJNT_HINGE,
        axis=AXES[freedom],
        stiffness=[stiffness, 0.0, 0.0],
        # dividing last keeps the bending's own number
        damping=[joint.damping * stiffness / joint.stiffness, 0.0, 0.0],
    )


def finger_model(finger: SoftFinger) -> mujoco.MjModel:
    """The finger alone as a compiled model; see ``finger_spec``.

    Raises:
        BuildError: MuJoCo refuses it.
    """
    return compiled(finger_spec(finger), finger.name)


def _fill(body: mujoco.MjsBody, link: SoftLink, origin: Array, rgba: Rgba) -> None:
    center = np.array(link.center) - origin
    squares = np.array(link.size) ** 2
    body.explicitinertial = True
    body.mass = link.mass
    body.ipos = np.array(link.balance) - origin
    body.inertia = link.mass * (squares.sum() - squares) / 12.0
    body.add_geom(
        name=body.name,
        type=mujoco.mjtGeom.mjGEOM_BOX,
        pos=center,
        size=0.5 * np.array(link.size),
        contype=0,
        conaffinity=0,
        rgba=rgba,
    )
