"""The largest time step that the springs of a model bear."""

from __future__ import annotations

import math

import mujoco
import numpy as np
from scipy.linalg import eigh

from softgrasp.mechanics.transforms import Array

LONGEST, PRECISE = 1.0, 1e-3
"""Longest step that is looked at [s], and the relative precision of a limit with damping."""


def spring_limit(model: mujoco.MjModel) -> float:
    """2/ω of the fastest mode of a model's joint springs in its straight state [s].

    Semi-implicit steps (``euler``, ``implicitfast``) are stable below it without damping, and with
    damping that they take implicitly further; found at once where ``stable_timestep`` takes long.
    Infinite without springs.
    """
    inertia, stiffness = _joint_springs(model)
    fastest = float(eigh(np.diag(stiffness), inertia, eigvals_only=True)[-1])
    return 2.0 / math.sqrt(fastest) if fastest > 0.0 else math.inf


def damped_spring_limit(model: mujoco.MjModel, explicit: Array | None = None) -> float:
    """The largest stable step of a model's joint springs and dampers in its straight state [s].

    Of semi-implicit steps that take damping D implicitly (``implicitfast``): a step h is stable
    where 4 M + 2 h (D − C) − h² K is positive definite. 1 s at most.

    Args:
        model: The model.
        explicit: C, damping that is applied as a force [N·m·s/rad], (nv, nv).
    """
    inertia, stiffness = _joint_springs(model)
    damping = np.diag(model.dof_damping)
    damping = damping if explicit is None else damping - explicit

    def stable(step: float) -> bool:
        rest = 4.0 * inertia + 2.0 * step * damping - step**2 * np.diag(stiffness)
        return bool(np.linalg.eigvalsh(rest)[0] > 0.0)

    low, high = _surely_stable(inertia, stiffness, explicit), LONGEST
    if stable(high):
        return high
    while high > low * (1.0 + PRECISE):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if stable(middle) else (low, middle)
    return low


def _surely_stable(inertia: Array, stiffness: Array, explicit: Array | None) -> float:
    """A step at which no mode is unstable, whatever damping is taken implicitly [s].

    A mode ω with the rate λ of explicit damping is stable where ω² h² + 2 λ h < 4, taken here with
    the largest of both.
    """
    fastest = math.sqrt(max(float(eigh(np.diag(stiffness), inertia, eigvals_only=True)[-1]), 0.0))
    drag = np.zeros_like(inertia) if explicit is None else explicit
    rate = max(float(eigh(drag, inertia, eigvals_only=True)[-1]), 0.0)
    slowest = rate + math.hypot(rate, 2.0 * fastest)
    return min(4.0 / slowest, LONGEST) if slowest > 0.0 else LONGEST


def _joint_springs(model: mujoco.MjModel) -> tuple[Array, Array]:
    """Mass matrix in the straight state (nv, nv) and stiffness of the joints (nv,)."""
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    inertia, stiffness = np.zeros((model.nv, model.nv)), np.zeros(model.nv)
    mujoco.mj_fullM(model, data, inertia)
    stiffness[model.jnt_dofadr] = model.jnt_stiffness
    return inertia, stiffness
