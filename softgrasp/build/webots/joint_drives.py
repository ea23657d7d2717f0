"""What the actuators of a compiled model do to its joints, and what Webots cannot express of it."""

from __future__ import annotations

from typing import NamedTuple

import mujoco
import numpy as np

from softgrasp.errors import BuildError


class JointActuator(NamedTuple):
    """What one actuator does to one joint: torque = clamp(gain·u + bias − k·q − c·q̇)."""

    actuator: int
    gain: float
    bias: float
    stiffness: float
    damping: float
    force_limit: float


def actuators_of_joints(model: mujoco.MjModel) -> list[list[JointActuator]]:
    """What drives each joint of a model.

    Raises:
        BuildError: An actuator is neither a servo of a joint nor a pressure.
    """
    actuators_of_joints: list[list[JointActuator]] = [[] for _ in range(model.njnt)]
    for index in range(model.nu):
        actuator = model.actuator(index)
        plain = int(mujoco.mjtDyn.mjDYN_NONE)
        if actuator.dyntype[0] != plain:
            raise BuildError(
                f"actuator '{actuator.name}': Webots cannot express dynamics of its own"
            )
        for joint, lever in _levers(model, index):
            gain, (bias, by_length, by_speed) = actuator.gainprm[0], actuator.biasprm[:3]
            limited = bool(actuator.forcelimited[0])
            actuators_of_joints[joint].append(
                JointActuator(
                    actuator=index,
                    gain=float(lever * gain),
                    bias=float(lever * bias),
                    stiffness=float(-by_length * lever * lever),
                    damping=float(-by_speed * lever * lever),
                    force_limit=float(actuator.forcerange[1] * abs(lever)) if limited else np.inf,
                )
            )
    return actuators_of_joints


def _levers(model: mujoco.MjModel, index: int) -> list[tuple[int, float]]:
    """The joints that an actuator moves, and how its force counts there."""
    actuator = model.actuator(index)
    target, gear = int(actuator.trnid[0]), float(actuator.gear[0])
    if actuator.trntype[0] == mujoco.mjtTrn.mjTRN_JOINT:
        return [(target, gear)]
    fixed = actuator.trntype[0] == mujoco.mjtTrn.mjTRN_TENDON
    if not fixed or actuator.biasprm[:3].any():
        raise BuildError(
            f"actuator '{actuator.name}': expected a servo of a joint or a pressure, which Webots "
            "can express; found another kind"
        )
    first, count = int(model.tendon_adr[target]), int(model.tendon_num[target])
    rows = range(first, first + count)
    return [(int(model.wrap_objid[row]), gear * float(model.wrap_prm[row])) for row in rows]


def refuse_couplings(model: mujoco.MjModel) -> None:
    """Name what has no counterpart in Webots, instead of dropping it.

    Raises:
        BuildError: There is such a thing.
    """
    if model.neq:
        names = ", ".join(f"'{model.equality(index).name}'" for index in range(model.neq))
        raise BuildError(f"Webots cannot express couplings between joints, found {names}")
    balls = [
        model.joint(index).name
        for index in range(model.njnt)
        if model.jnt_type[index] == mujoco.mjtJoint.mjJNT_BALL
    ]
    if balls:
        raise BuildError(f"Webots worlds are written with hinges and slides, found ball {balls}")
    rubbing = np.flatnonzero(model.dof_frictionloss)
    if rubbing.size:
        name = model.joint(int(model.dof_jntid[rubbing[0]])).name
        raise BuildError(
            f"joint '{name}': Webots has static friction only in motors that it controls itself; "
            "expected a joint without friction"
        )
