"""What drives the joints of a compiled model, as springs, dampers and torques of Webots.

Webots takes the spring and the damper of a joint at the end of the step, τ = −K·(q + h·q̇) − C·q̇, so
that a spring damps by h·K besides. MuJoCo's ``discrete`` integrator does the same; the others take
springs at the beginning of the step, and their dampers shrink by h·K here. A position servo becomes
a spring and a damper too; the torque of the motor is what is left: what moves with the target.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import mujoco
import numpy as np

from softgrasp.build.webots.joint_drives import JointActuator, actuators_of_joints, refuse_couplings
from softgrasp.errors import BuildError

HINGE, SLIDE = int(mujoco.mjtJoint.mjJNT_HINGE), int(mujoco.mjtJoint.mjJNT_SLIDE)
ROUNDING = 1e-9
HELD = 1e3
"""Armature [kg·m² or kg] from which on a joint is one that obeys its targets whatever the load."""


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
