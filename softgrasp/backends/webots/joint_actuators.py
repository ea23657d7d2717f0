"""Actuators, springs, dampers and contacts of a compiled model, converted for Webots.

Webots evaluates the spring and the damper of a joint at the end of the step, τ = −K·(q + h·q̇) −
C·q̇, so that a spring also damps by h·K. MuJoCo's ``discrete`` integrator does the same; the other
integrators evaluate springs at the beginning of the step, and their dampers are reduced by h·K
here. A position servo becomes a spring and a damper, too; the motor applies the rest, which depends
on the target.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import mujoco
import numpy as np

from softgrasp.backends.wbt.schema import Node, Value
from softgrasp.description import Contact
from softgrasp.errors import BuildError
from softgrasp.plugin_api import lagging_as_described, torsion_of

HINGE, SLIDE = int(mujoco.mjtJoint.mjJNT_HINGE), int(mujoco.mjtJoint.mjJNT_SLIDE)
ROUNDING = 1e-9
PRESCRIBED_ARMATURE = 1e3
"""Armature above which a joint follows its target under any load [kg·m² or kg]."""


class Servo(NamedTuple):
    """A position servo with a force limit."""

    actuator: int
    stiffness: float
    """Stiffness [N·m/rad or N/m]."""
    damping: float
    """Damping of the servo in the model [N·m·s/rad or N·s/m]."""
    spare_damping: float
    """Implicit damping of its spring, to be compensated at the force limit [N·m·s/rad or N·s/m]."""
    force_limit: float
    """Largest torque or force [N·m or N]."""


class JointLaw(NamedTuple):
    """Actuation of a joint: torque = offset + Σ coefficient · target + inertia_rate · q̇."""

    name: str
    slides: bool
    start: float
    """Start position [rad or m]."""
    zero: float
    """Joint variable at which the position of Webots is 0 and its spring relaxed [rad or m]."""
    limits: tuple[float, float] | None
    spring: float = 0.0
    """K in the world file [N·m/rad or N/m]."""
    damper: float = 0.0
    """C in the world file [N·m·s/rad or N·s/m]."""
    excess: float = 0.0
    """Damping of Webots beyond that of the model, from its implicit spring [N·m·s/rad or N·s/m]."""
    offset: float = 0.0
    """Constant torque or force [N·m or N]."""
    actuators: tuple[tuple[int, float], ...] = ()
    """(index of the actuator, torque per unit of its target)."""
    inertia_rate: float = 0.0
    """Armature over time step, the resistance of the rotor [N·m·s/rad or N·s/m]."""
    servo: Servo | None = None
    follows: int | None = None
    """Index of the actuator whose target it follows under any load."""

    @property
    def driven(self) -> bool:
        """Return whether the joint has a motor."""
        pushed = self.offset != 0.0 or self.inertia_rate != 0.0
        return bool(self.actuators) or pushed or self.follows is not None


def joint_laws(model: mujoco.MjModel, start: mujoco.MjData, timestep: float) -> list[JointLaw]:
    """Compute the actuation law of every hinge and slide of a model, in the model's order.

    Args:
        model: Compiled scene.
        start: Its start state.
        timestep: Time step of Webots [s].

    Raises:
        BuildError: Webots has no such joint, actuator or coupling.
    """
    refuse_couplings(model)
    actuators = actuators_of_joints(model)
    return [
        _law(model, joint, float(start.qpos[model.jnt_qposadr[joint]]), actuators[joint], timestep)
        for joint in range(model.njnt)
        if int(model.jnt_type[joint]) in (HINGE, SLIDE)
    ]


def require_damping(laws: Sequence[JointLaw], timestep: float) -> None:
    """Refuse joints that Webots would damp more strongly than the model does.

    Raises:
        BuildError: There is one; names it, and the longest possible time step.
    """
    over = [law for law in laws if law.excess > 0.0]
    if not over:
        return
    # the total damping is c; h·K may be as large
    longest = min((timestep * law.spring - law.excess) / law.spring for law in over)
    law = max(over, key=lambda item: item.excess / item.spring)
    raise BuildError(
        f"joint '{law.name}': expected a damping of at least {timestep * law.spring:.3g}, which "
        f"Webots' implicit spring adds at a time step of {timestep:g} s, found "
        f"{timestep * law.spring - law.excess:.3g}; the time step can be {longest:.3g} s at most"
    )


def _law(
    model: mujoco.MjModel, joint: int, start: float, actuators: list[JointActuator], timestep: float
) -> JointLaw:
    dof = int(model.jnt_dofadr[joint])
    name, slides = model.joint(joint).name, int(model.jnt_type[joint]) == SLIDE
    limits = tuple(model.jnt_range[joint].tolist()) if model.jnt_limited[joint] else None
    if model.dof_armature[dof] >= PRESCRIBED_ARMATURE:
        return JointLaw(name, slides, start, start, limits, follows=actuators[0].actuator)
    rest = float(model.qpos_spring[model.jnt_qposadr[joint]])
    passive = float(model.jnt_stiffness[joint])
    zero = start if actuators or not passive else rest
    stiffness = sum(actuator.stiffness for actuator in actuators)
    damping = float(model.dof_damping[dof]) + sum(actuator.damping for actuator in actuators)
    delay = _implicit_delay(model, timestep)
    remaining = damping - delay * (passive + stiffness)
    inertia_rate = float(model.dof_armature[dof]) / timestep
    bias = sum(actuator.bias for actuator in actuators)
    return JointLaw(
        name,
        slides,
        start,
        zero,
        limits,
        spring=passive + stiffness,
        damper=max(remaining, 0.0) + inertia_rate,
        excess=max(-remaining - ROUNDING * damping, 0.0),
        offset=passive * (rest - zero) - stiffness * zero + bias,
        actuators=tuple((item.actuator, item.gain) for item in actuators if item.gain),
        inertia_rate=inertia_rate,
        servo=_servo(actuators, timestep, delay),
    )


def _servo(actuators: list[JointActuator], timestep: float, delay: float) -> Servo | None:
    limited = [actuator for actuator in actuators if actuator.force_limit < np.inf]
    if not limited:
        return None
    (item,) = limited
    implicit = (timestep - delay) * item.stiffness
    return Servo(item.actuator, item.stiffness, item.damping, implicit, item.force_limit)


def _implicit_delay(model: mujoco.MjModel, timestep: float) -> float:
    """Return by how much later Webots evaluates springs than the model does [s]."""
    discrete = model.opt.integrator == mujoco.mjtIntegrator.mjINT_DISCRETE
    return timestep - (float(model.opt.timestep) if discrete else 0.0)


class JointActuator(NamedTuple):
    """Effect of one actuator on one joint: torque = clamp(gain·u + bias − k·q − c·q̇)."""

    actuator: int
    gain: float
    bias: float
    stiffness: float
    damping: float
    force_limit: float


def actuators_of_joints(model: mujoco.MjModel) -> list[list[JointActuator]]:
    """List the actuators of each joint of a model.

    Raises:
        BuildError: An actuator is neither a servo of a joint nor a pressure.
    """
    result: list[list[JointActuator]] = [[] for _ in range(model.njnt)]
    # as the servos of a run in MuJoCo
    described, step = model.actuator_biasprm, float(model.opt.timestep)
    biases = lagging_as_described(model, described, step)
    for index in range(model.nu):
        actuator = model.actuator(index)
        if actuator.dyntype[0] != mujoco.mjtDyn.mjDYN_NONE:
            raise BuildError(f"actuator '{actuator.name}': Webots has no actuator dynamics")
        for joint, lever in _levers(model, index):
            gain, (bias, by_length, by_speed) = actuator.gainprm[0], biases[index, :3]
            limit = actuator.forcerange[1] if actuator.forcelimited[0] else np.inf
            item = JointActuator(
                actuator=index,
                gain=float(lever * gain),
                bias=float(lever * bias),
                stiffness=float(-by_length * lever * lever),
                damping=float(-by_speed * lever * lever),
                force_limit=float(limit * abs(lever)),
            )
            result[joint].append(item)
    return result


def _levers(model: mujoco.MjModel, index: int) -> list[tuple[int, float]]:
    """Return the joints that an actuator moves, with its transmission ratios."""
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
    """Refuse couplings, ball joints and joint friction, which Webots lacks.

    Raises:
        BuildError: There is one; names it.
    """
    if model.neq:
        names = ", ".join(f"'{model.equality(index).name}'" for index in range(model.neq))
        raise BuildError(f"Webots cannot express couplings between joints, found {names}")
    of_balls = np.flatnonzero(model.jnt_type == mujoco.mjtJoint.mjJNT_BALL)
    balls = [model.joint(int(index)).name for index in of_balls]
    if balls:
        raise BuildError(f"Webots worlds are written with hinges and slides, found ball {balls}")
    frictional = np.flatnonzero(model.dof_frictionloss)
    if frictional.size:
        name = model.joint(int(model.dof_jntid[frictional[0]])).name
        raise BuildError(
            f"joint '{name}': Webots has static friction only in motors that it controls itself; "
            "expected a joint without friction"
        )


# Contacts


def contact_properties(
    first: str, second: str, contact: Contact, dimension: int, timestep: float
) -> Node:
    """Make the ContactProperties of two materials.

    ODE, which Webots builds on, makes a soft contact with a spring K and a damper D where
    ERP = h·K/(h·K + D) and CFM = 1/(h·K + D) (ODE manual, "Soft constraint"): its force is
    K·(δ + h·δ̇) + D·δ̇, so that force over penetration at rest is K at every time step h. The
    numbers of a world belong to its time step.

    Args:
        first: Material of one side.
        second: Material of the other.
        contact: Stiffness, damping and friction.
        dimension: ``Solver.contact_dimension``: from 4 on a contact resists spinning, from 6 on
            rolling too.
        timestep: Time step h [s].
    """
    strength = timestep * contact.stiffness + contact.damping
    fields: dict[str, Value] = {
        "material1": first,
        "material2": second,
        "coulombFriction": [0.0 if dimension == 1 else contact.static_friction],
        "bounce": 0,  # the default is 0.5
        "softERP": timestep * contact.stiffness / strength,
        "softCFM": 1.0 / strength,
    }
    rolling = contact.rolling_friction if dimension >= 6 else 0.0
    spinning = torsion_of(contact) if dimension >= 4 else 0.0
    if rolling or spinning:
        # largest moments over the normal force: about the surface twice, then about the normal
        fields["rollingFriction"] = (rolling, rolling, spinning)
    return Node("ContactProperties", fields)
