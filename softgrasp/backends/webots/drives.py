"""What the actuators of a compiled model do to its joints, and what Webots cannot express of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import mujoco
import numpy as np

from softgrasp.backends.wbt.schema import Node, Value
from softgrasp.description.contact import Contact
from softgrasp.errors import BuildError
from softgrasp.model.contact_pairs import torsion_of

HINGE, SLIDE = int(mujoco.mjtJoint.mjJNT_HINGE), int(mujoco.mjtJoint.mjJNT_SLIDE)
ROUNDING = 1e-9
HELD = 1e3
"""Armature [kg·m² or kg] from which on a joint is one that obeys its targets whatever the load."""


# What drives the joints of a compiled model, as springs, dampers and torques of Webots.
#
# Webots takes the spring and the damper of a joint at the end of the step, τ = −K·(q + h·q̇) −
# C·q̇, so
# that a spring damps by h·K besides. MuJoCo's ``discrete`` integrator does the same; the others
# take
# springs at the beginning of the step, and their dampers shrink by h·K here. A position servo
# becomes
# a spring and a damper too; the torque of the motor is what is left: what moves with the target.


class Servo(NamedTuple):
    """A position servo with a force limit."""

    actuator: int
    stiffness: float
    """[N·m/rad or N/m]"""
    damping: float
    """Of the servo in the model [N·m·s/rad or N·s/m]."""
    spare_damping: float
    """What its spring and damper take implicitly, and give back where it is at its limit."""
    force_limit: float
    """[N·m or N]"""


class JointLaw(NamedTuple):
    """How a joint is driven; torque = offset + Σ coefficient · target + inertia_rate · q̇."""

    name: str
    slides: bool
    start: float
    """Where it starts [rad or m]."""
    zero: float
    """Joint variable at which Webots' position is zero and its spring at rest [rad or m]."""
    spring: float
    """K in the world [N·m/rad or N/m]."""
    damper: float
    """C in the world [N·m·s/rad or N·s/m]."""
    excess: float
    """By how much Webots damps more than the model, as its spring alone does at this step."""
    offset: float
    """[N·m or N]"""
    actuators: tuple[tuple[int, float], ...]
    """(drive, torque per unit of its target)."""
    inertia_rate: float
    """Armature over time step: what the rotor of the motor resists with."""
    servo: Servo | None
    follows: int | None
    """The drive whose target it obeys whatever the load."""
    limits: tuple[float, float] | None

    @property
    def driven(self) -> bool:
        """Whether it has a motor."""
        pushed = self.offset != 0.0 or self.inertia_rate != 0.0
        return bool(self.actuators) or pushed or self.follows is not None


def joint_laws(model: mujoco.MjModel, start: mujoco.MjData, timestep: float) -> list[JointLaw]:
    """The laws of all hinges and slides of a model, in its order.

    Args:
        model: The compiled scene.
        start: Its state at the start.
        timestep: Of Webots [s].

    Raises:
        BuildError: A joint, a drive or a coupling is one that Webots cannot express.
    """
    refuse_couplings(model)
    actuators = actuators_of_joints(model)
    return [
        _law(model, joint, float(start.qpos[model.jnt_qposadr[joint]]), actuators[joint], timestep)
        for joint in range(model.njnt)
        if int(model.jnt_type[joint]) in (HINGE, SLIDE)
    ]


def require_damping(laws: Sequence[JointLaw], timestep: float) -> None:
    """Refuse joints that Webots would damp more than the model does.

    Raises:
        BuildError: There is one; names it, and the longest time step that goes.
    """
    over = [law for law in laws if law.excess > 0.0]
    if not over:
        return
    # all that damps is c; h·K may be as much
    longest = min((timestep * law.spring - law.excess) / law.spring for law in over)
    law = max(over, key=lambda one: one.excess / one.spring)
    raise BuildError(
        f"joint '{law.name}': expected a damping of at least {timestep * law.spring:.3g}, which "
        f"Webots' implicit spring adds at a time step of {timestep:g} s, found "
        f"{timestep * law.spring - law.excess:.3g}; the time step can be {longest:.3g} s at most"
    )


def _law(
    model: mujoco.MjModel, joint: int, start: float, actuators: list[JointActuator], timestep: float
) -> JointLaw:
    dof = int(model.jnt_dofadr[joint])
    if model.dof_armature[dof] >= HELD:
        return _obedient(model, joint, start, actuators[0].actuator)
    rest = float(model.qpos_spring[model.jnt_qposadr[joint]])
    passive = float(model.jnt_stiffness[joint])
    zero = start if actuators or not passive else rest
    stiffness = sum(actuator.stiffness for actuator in actuators)
    damping = float(model.dof_damping[dof]) + sum(actuator.damping for actuator in actuators)
    taken = _taken_implicitly(model, timestep)
    left = damping - taken * (passive + stiffness)
    inertia_rate = float(model.dof_armature[dof]) / timestep
    return JointLaw(
        name=model.joint(joint).name,
        slides=int(model.jnt_type[joint]) == SLIDE,
        start=start,
        zero=zero,
        spring=passive + stiffness,
        damper=max(left, 0.0) + inertia_rate,
        excess=max(-left - ROUNDING * damping, 0.0),
        offset=passive * (rest - zero)
        - stiffness * zero
        + sum(actuator.bias for actuator in actuators),
        actuators=tuple(
            (actuator.actuator, actuator.gain) for actuator in actuators if actuator.gain
        ),
        inertia_rate=inertia_rate,
        servo=_servo(actuators, timestep, taken),
        follows=None,
        limits=_limits(model, joint),
    )


def _obedient(model: mujoco.MjModel, joint: int, start: float, actuator: int) -> JointLaw:
    """The law of a joint that follows its target whatever the load."""
    return JointLaw(
        name=model.joint(joint).name,
        slides=int(model.jnt_type[joint]) == SLIDE,
        start=start,
        zero=start,
        spring=0.0,
        damper=0.0,
        excess=0.0,
        offset=0.0,
        actuators=(),
        inertia_rate=0.0,
        servo=None,
        follows=actuator,
        limits=_limits(model, joint),
    )


def _servo(actuators: list[JointActuator], timestep: float, taken: float) -> Servo | None:
    limited = [actuator for actuator in actuators if actuator.force_limit < np.inf]
    if not limited:
        return None
    (actuator,) = limited
    implicit = (timestep - taken) * actuator.stiffness
    return Servo(
        actuator.actuator, actuator.stiffness, actuator.damping, implicit, actuator.force_limit
    )


def _taken_implicitly(model: mujoco.MjModel, timestep: float) -> float:
    """How much later [s] Webots takes springs than the model does, of its longer time step."""
    discrete = model.opt.integrator == mujoco.mjtIntegrator.mjINT_DISCRETE
    return timestep - (float(model.opt.timestep) if discrete else 0.0)


def _limits(model: mujoco.MjModel, joint: int) -> tuple[float, float] | None:
    if not model.jnt_limited[joint]:
        return None
    low, high = model.jnt_range[joint].tolist()
    return low, high


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


# Contacts of a scene as ContactProperties: stiffness and damping at a time step.


def contact_properties(
    first: str, second: str, contact: Contact, dimension: int, timestep: float
) -> Node:
    """How two materials touch.

    ODE, which Webots builds on, makes a soft contact of a spring K and a damper D when
    ERP = h·K/(h·K + D) and CFM = 1/(h·K + D) (ODE manual, "Soft constraint"): its force is
    K·(δ + h·δ̇) + D·δ̇, so that force over penetration at rest is K at every time step h. The
    numbers of a world belong to its time step.

    Args:
        first: Material of one side.
        second: Of the other.
        contact: Stiffness, damping and friction.
        dimension: Of a contact, as ``Solver.contact_dimension``: from 4 on it resists turning
            about its normal, from 6 on rolling too.
        timestep: h [s].
    """
    strength = timestep * contact.stiffness + contact.damping
    fields: dict[str, Value] = {
        "material1": first,
        "material2": second,
        "coulombFriction": [0.0 if dimension == 1 else contact.static_friction],
        "bounce": 0,  # half of the speed comes back by default
        "softERP": timestep * contact.stiffness / strength,
        "softCFM": 1.0 / strength,
    }
    rolling = contact.rolling_friction if dimension >= 6 else 0.0
    spinning = torsion_of(contact) if dimension >= 4 else 0.0
    if rolling or spinning:
        # largest moments over the normal force: about the surface twice, then about the normal
        fields["rollingFriction"] = (rolling, rolling, spinning)
    return Node("ContactProperties", fields)
