"""Soft fingers of a hand: the chain, the pressure that bends it, and its looks."""

from __future__ import annotations

import mujoco

from softgrasp.build import names
from softgrasp.build.shapes import SKINNED_GROUP
from softgrasp.build.skin import add_finger_skin
from softgrasp.build.soft_finger import add_soft_finger
from softgrasp.build.visual import SILICONE_RGBA
from softgrasp.description.soft_finger import MountedSoftFinger
from softgrasp.mechanics.actuation import actuation_forces

LOCKED = 1e-3
"""Width [Pa] of the range of a pressure that cannot change: MuJoCo refuses an empty one."""


def add_soft_digit(
    spec: mujoco.MjSpec, base: mujoco.MjsBody, digit: MountedSoftFinger
) -> list[str]:
    """Add a soft finger to a hand's base and return the bodies that can touch.

    Its pressure [Pa] is one actuator, called as the finger: through a fixed tendon it puts the
    moment gain · pressure on every joint (paper 000, eq 2), and the force area · pressure on those
    that stretch.
    """
    finger = digit.finger
    bodies = [names.soft_link(digit.name, index) for index in range(len(finger.links))]
    joints = names.soft_joint_names(digit)
    rgba = digit.rgba or SILICONE_RGBA
    add_soft_finger(base, finger, digit.base, bodies, joints, names.tip_site(digit.name), rgba)
    for body in bodies:
        spec.geom(body).group = SKINNED_GROUP
    add_finger_skin(spec, digit.name, finger, bodies, rgba)
    per_pascal = actuation_forces(finger, pressure=1.0).tolist()
    _add_pressure(spec, digit, dict(zip(joints, per_pascal, strict=True)))
    return bodies


def _add_pressure(spec: mujoco.MjSpec, digit: MountedSoftFinger, gains: dict[str, float]) -> None:
    name = digit.as_actuator.name
    tendon = spec.add_tendon(name=name)
    for joint, gain in gains.items():
        if gain:
            tendon.wrap_joint(joint, gain)
    low, high = digit.limits
    actuator = spec.add_actuator(
        name=name,
        target=name,
        trntype=mujoco.mjtTrn.mjTRN_TENDON,
        ctrlrange=[low, max(high, low + LOCKED)],
        ctrllimited=True,
    )
    actuator.set_to_motor()
