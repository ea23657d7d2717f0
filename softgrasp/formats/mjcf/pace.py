"""How fast a hand should close: its servos lag behind their targets, and press with the lag."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import mujoco
import numpy as np

from softgrasp.description.hand import ModelActuator
from softgrasp.formats.mjcf.actuators import moments
from softgrasp.formats.mjcf.tree import Tree
from softgrasp.mechanics.transforms import Array

SQUEEZE = 6.0
"""What the lag should press with at the far end of a finger [N]."""
FRACTION_OF_LIMIT = 0.4
"""Of the largest force, which the lag should not exceed."""
SLOWEST, FASTEST = 0.25, 1.5
"""Factors on the rates that were found."""


def pace(
    tree: Tree,
    actuators: Sequence[ModelActuator],
    starts: Mapping[str, float],
    tips: Mapping[int, Array],
    rates: Sequence[float],
) -> float:
    """One factor on all rates, with which no finger squeezes more than it should.

    A position servo that follows a moving target is behind it by what its own damping and that of
    its joint take; when the target stops at contact, it presses with as much.

    Args:
        tree: The model.
        actuators: Its drives.
        starts: Joint variables at the start, by name [rad or m].
        tips: Farthest point of each group that can touch [m], by its first body.
        rates: Of the drives.
    """
    model, data = tree.model, mujoco.MjData(tree.model)
    for name, value in starts.items():
        data.qpos[model.joint(name).qposadr[0]] = value
    arms = moments(model, data)
    factors = [
        factor
        for index, (actuator, rate) in enumerate(zip(actuators, rates, strict=True))
        for factor in _factors(tree, index, actuator, rate, arms[index], tips)
    ]
    return float(np.clip(min(factors, default=1.0), SLOWEST, FASTEST))


def _factors(
    tree: Tree,
    index: int,
    actuator: ModelActuator,
    rate: float,
    arm: Array,
    tips: Mapping[int, Array],
) -> list[float]:
    """Of each joint that a drive leads."""
    model, factors = tree.model, []
    for move in actuator.moves if rate else ():
        joint = model.joint(move.joint).id
        dof, arm_length = int(model.jnt_dofadr[joint]), 0.0
        speed = abs(move.ratio * rate)
        arm_length = abs(float(arm[dof]))
        damping = float(np.ravel(model.dof_damping[dof])[0])
        lag = (damping - float(model.actuator_biasprm[index, 2]) * arm_length * arm_length) * speed
        allowed = min(
            SQUEEZE * _reach(tree, joint, tips),
            FRACTION_OF_LIMIT * _limit(model, index, joint, arm_length),
        )
        if lag > 0.0:
            factors.append(allowed / lag)
    return factors


def _reach(tree: Tree, joint: int, tips: Mapping[int, Array]) -> float:
    """From a joint to the end of what it moves [m]; 1 of a slide."""
    model = tree.model
    if int(model.jnt_type[joint]) != mujoco.mjtJoint.mjJNT_HINGE:
        return 1.0
    anchor = tree.data.xanchor[joint]
    groups = tree.below(int(model.jnt_bodyid[joint]))
    return max((float(np.linalg.norm(tips[g] - anchor)) for g in groups if g in tips), default=0.1)


def _limit(model: mujoco.MjModel, index: int, joint: int, arm: float) -> float:
    """Largest torque or force of an actuator at a joint; infinite where none is stated."""
    limits = [np.inf]
    if model.actuator_forcelimited[index]:
        limits.append(arm * float(np.abs(model.actuator_forcerange[index]).max()))
    if model.jnt_actfrclimited[joint]:
        limits.append(float(np.abs(model.jnt_actfrcrange[joint]).max()))
    return float(min(limits))
