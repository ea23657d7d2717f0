"""What bends a segment: fixed tendons whose lengths are those of its tendons or chambers."""

from __future__ import annotations

import math

import mujoco

from softgrasp.build.bendable_names import bend_joints, segment_actuator_names, slide_joints
from softgrasp.description.bendable import Bendable, Chamber

UNLIMITED = 1e9
"""Largest tension [N] or pressure [Pa] of a drive that has no limit: a range has two ends."""
LOCKED = 1e-3
"""Width [Pa] of the range of a pressure that cannot change: MuJoCo refuses an empty one."""


def add_segment_actuators(spec: mujoco.MjSpec, part: Bendable) -> None:
    """Fixed tendons: l − r (u cos α + v sin α) an element, or the bending angles themselves."""
    directions = [(math.cos(d.angle), math.sin(d.angle)) for d in part.actuation]
    factors = [-actuator_part.radius for actuator_part in part.actuation]
    if not part.actuation:
        phi = part.limits.phi_min or 0.0
        directions = [(math.cos(phi), math.sin(phi))] if part.planar else [(1.0, 0.0), (0.0, 1.0)]
        factors = [1.0] * len(directions)
    names = segment_actuator_names(part)
    for index, (name, (x, y), factor) in enumerate(zip(names, directions, factors, strict=True)):
        tendon = spec.add_tendon(name=name)
        for joint, (towards_x, towards_y) in bend_joints(part):
            tendon.wrap_joint(joint, factor * (towards_x * x + towards_y * y))
        for joint in slide_joints(part) if part.actuation else ():
            tendon.wrap_joint(joint, 1.0)
        actuator = spec.add_actuator(name=name, target=name, trntype=mujoco.mjtTrn.mjTRN_TENDON)
        actuator.set_to_motor()
        if part.actuation:
            _set_limits(actuator, part.actuation[index])


def _set_limits(actuator: mujoco.MjsActuator, actuator_part: object) -> None:
    """A chamber pushes with pressure · area; a tendon pulls with its tension."""
    actuator.ctrllimited = True
    if isinstance(actuator_part, Chamber):
        actuator.gainprm[0] = actuator_part.area
        high = UNLIMITED if actuator_part.pressure_max is None else actuator_part.pressure_max
        actuator.ctrlrange = [
            actuator_part.pressure_min,
            max(high, actuator_part.pressure_min + LOCKED),
        ]
    else:
        actuator.gainprm[0] = -1.0
        actuator.ctrlrange = [0.0, UNLIMITED]
