"""A soft finger → bodies, hinges and springs of an MjSpec."""

from __future__ import annotations

import mujoco
import numpy as np

from softgrasp.build.compiling import compiled
from softgrasp.description.soft_finger import SoftFinger, SoftLink

TIP = "tip"
LEAST_MASS, LEAST_INERTIA = 1e-12, 1e-14
"""MuJoCo refuses lighter bodies; a picogram bends no finger."""
AXES = ((0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
"""A joint turns about y, towards −z; in a spatial finger then about z, at the same point."""


def finger_spec(finger: SoftFinger) -> mujoco.MjSpec:
    """The finger alone, clamped at the origin.

    Joints are called ``J1`` and so on, those of a spatial finger ``J1y``, ``J1z`` and so on.
    """
    spec = mujoco.MjSpec()
    spec.modelname = finger.name
    spec.compiler.degree = False
    spec.compiler.boundmass, spec.compiler.boundinertia = LEAST_MASS, LEAST_INERTIA
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    spec.option.disableflags |= mujoco.mjtDisableBit.mjDSBL_AUTORESET
    body = spec.worldbody.add_body(name="link0")
    _fill(body, finger.links[0], np.zeros(3))
    origin = np.zeros(3)
    for index, joint in enumerate(finger.joints, start=1):
        place = np.array(joint.position)
        body = body.add_body(name=f"link{index}", pos=place - origin)
        origin = place
        for axis, letter in zip(AXES, ("y", "z"), strict=True):
            if letter == "z" and finger.planar:
                break
            body.add_joint(
                name=f"J{index}" if finger.planar else f"J{index}{letter}",
                type=mujoco.mjtJoint.mjJNT_HINGE,
                axis=axis,
                stiffness=[joint.stiffness, 0.0, 0.0],
                damping=[joint.damping, 0.0, 0.0],
            )
        _fill(body, finger.links[index], origin)
    body.add_site(name=TIP, pos=np.array(finger.tip) - origin)
    return spec


def finger_model(finger: SoftFinger) -> mujoco.MjModel:
    """The finger alone as a compiled model; see ``finger_spec``.

    Raises:
        BuildError: MuJoCo refuses it.
    """
    return compiled(finger_spec(finger), finger.name)


def _fill(body: mujoco.MjsBody, link: SoftLink, origin: np.ndarray) -> None:
    center = np.array(link.center) - origin
    squares = np.array(link.size) ** 2
    body.explicitinertial = True
    body.mass = link.mass
    body.ipos = center
    body.inertia = link.mass * (squares.sum() - squares) / 12.0
    body.add_geom(
        name=body.name,
        type=mujoco.mjtGeom.mjGEOM_BOX,
        pos=center,
        size=0.5 * np.array(link.size),
        contype=0,
        conaffinity=0,
    )
