"""What a closure puts on a hand: sliders, tendons, and the motors and servos that pull them."""

from __future__ import annotations

import math
from collections.abc import Mapping

import mujoco

from softgrasp.description.closure_base import ActuationModel, ClosureActuator, Slider

SLIDER_MASS = 1e-6
"""Mass [kg] of the body of a slider: MuJoCo needs moving bodies to have some."""


def add_mechanism(spec: mujoco.MjSpec, mechanism: ActuationModel) -> None:
    """Add what a closure moves beside the servos of the joints.

    Args:
        spec: A model with the hand; its actuators come first.
        mechanism: The closure's.
    """
    if not mechanism.actuators:
        return
    for slider in mechanism.sliders:
        _add_slider(spec, slider)
    inertia = _joint_inertia(spec.copy())
    for actuator in mechanism.actuators:
        _add_actuator(spec, actuator, inertia)


def _add_slider(spec: mujoco.MjSpec, slider: Slider) -> None:
    body = spec.worldbody.add_body(name=slider.name, gravcomp=1)
    body.mass = SLIDER_MASS
    body.inertia = [SLIDER_MASS] * 3
    body.explicitinertial = True
    body.add_joint(
        name=slider.name,
        type=mujoco.mjtJoint.mjJNT_SLIDE,
        axis=[1, 0, 0],
        armature=slider.inertia,
    )


def _joint_inertia(spec: mujoco.MjSpec) -> dict[str, float]:
    """Inertia about each joint with the model in its zero posture [kg·m² or kg]."""
    model = spec.compile()
    joints = (model.joint(index) for index in range(model.njnt))
    return {joint.name: float(model.dof_M0[joint.dofadr[0]]) for joint in joints}


def _add_actuator(
    spec: mujoco.MjSpec, actuator: ClosureActuator, inertia: Mapping[str, float]
) -> None:
    name, (low, high) = actuator.actuator.name, actuator.actuator.limits
    tendon = spec.add_tendon(name=name)
    for joint, arm in actuator.arms:
        tendon.wrap_joint(joint, arm)
    made = spec.add_actuator(
        name=name,
        target=name,
        trntype=mujoco.mjtTrn.mjTRN_TENDON,
        ctrlrange=[low, max(high, low + 1e-9)],
        ctrllimited=True,
        forcerange=list(actuator.force_limits),
        forcelimited=True,
    )
    if not actuator.stiffness:
        made.set_to_motor()
        return
    stiffness = actuator.stiffness
    made.gaintype = mujoco.mjtGain.mjGAIN_FIXED
    made.biastype = mujoco.mjtBias.mjBIAS_AFFINE
    made.gainprm[0] = stiffness
    made.biasprm[:3] = [stiffness * actuator.zero, -stiffness, -_damping(actuator, inertia)]


def _damping(actuator: ClosureActuator, inertia: Mapping[str, float]) -> float:
    """Velocity gain of a servo: 2 ζ √(k m), m the inertia along its length, 1/Σ(arm²/M)."""
    mobility = sum(arm**2 / inertia[joint] for joint, arm in actuator.arms)
    return 2.0 * actuator.damping_ratio * math.sqrt(actuator.stiffness / mobility)
