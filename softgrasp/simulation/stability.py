"""The largest time step at which a model near its start state does not blow up."""

from __future__ import annotations

import copy

import mujoco
import numpy as np

from softgrasp.description.soft_finger import SoftFinger
from softgrasp.mechanics.transforms import Array
from softgrasp.model.soft_finger import finger_model
from softgrasp.simulation.engine_warnings import caught_warnings

INTEGRATORS = {
    "discrete": mujoco.mjtIntegrator.mjINT_DISCRETE,
    "implicitfast": mujoco.mjtIntegrator.mjINT_IMPLICITFAST,
    "implicit": mujoco.mjtIntegrator.mjINT_IMPLICIT,
    "euler": mujoco.mjtIntegrator.mjINT_EULER,
    "rk4": mujoco.mjtIntegrator.mjINT_RK4,
}
SMALLEST, LARGEST = 1e-6, 1e-2
"""Between these steps [s] the answer is looked for."""
GRID, HALVINGS = 1.15, 12
"""Ratio of the steps that are tried upwards, and bisections after the first that fails."""
NUDGE = 1e-6
"""Change of a position or velocity for central differences [rad or m, per s]."""
ROUNDING = 1e-5
"""How much a free vibration may seem to grow in a step by rounding alone [–]."""


def stable_timestep(model: mujoco.MjModel | SoftFinger) -> dict[str, float]:
    """The largest stable time step of each integrator [s].

    MuJoCo's own step is linearised around the first keyframe, or around the straight state, with
    contacts as they are there; it is stable where no eigenvalue lies outside the unit circle.
    Larger deflections can need smaller steps.

    Args:
        model: A compiled model, or a soft finger.

    Returns:
        Seconds by the name of the integrator: at most 0.01, the largest step that is tried; 0
        where even the smallest, a microsecond, is unstable.
    """
    finger_or_model = finger_model(model) if isinstance(model, SoftFinger) else model
    return {name: stable_step_of(finger_or_model, name) for name in INTEGRATORS}


def stable_step_of(model: mujoco.MjModel, integrator: str) -> float:
    """The largest stable time step of one integrator [s]; see ``stable_timestep``."""
    model_copy = copy.copy(model)
    model_copy.opt.integrator = INTEGRATORS[integrator]
    return _largest(model_copy)


def is_stable(model: mujoco.MjModel, integrator: str, timestep: float) -> bool:
    """Whether a time step [s] of an integrator is stable; see ``stable_timestep``."""
    model_copy = copy.copy(model)
    model_copy.opt.integrator = INTEGRATORS[integrator]
    return _is_stable(model_copy, timestep)


def _largest(model: mujoco.MjModel) -> float:
    stable, step = 0.0, SMALLEST
    while step <= LARGEST and _is_stable(model, step):
        stable, step = step, step * GRID
    if step > LARGEST:
        return LARGEST
    if stable == 0.0:
        return 0.0
    failing = step
    for _ in range(HALVINGS):
        middle = 0.5 * (stable + failing)
        stable, failing = (middle, failing) if _is_stable(model, middle) else (stable, middle)
    return stable


def _is_stable(model: mujoco.MjModel, step: float) -> bool:
    model.opt.timestep = step
    with caught_warnings():  # a blown-up step is an answer here
        matrix = _transition(model)
    if not np.isfinite(matrix).all():
        return False
    return float(np.abs(np.linalg.eigvals(matrix)).max()) <= 1.0 + ROUNDING


def _transition(model: mujoco.MjModel) -> Array:
    """Derivative of one step, (2 nv, 2 nv), by central differences of the engine's own."""
    data = mujoco.MjData(model)
    columns = []
    for index in range(2 * model.nv):
        ends = [_after(model, data, index, sign * NUDGE) for sign in (1.0, -1.0)]
        columns.append((ends[0] - ends[1]) / (2.0 * NUDGE))
    return np.stack(columns, axis=1)


def _after(model: mujoco.MjModel, data: mujoco.MjData, index: int, change: float) -> Array:
    """Position and velocity after a step from a state that is nudged in one of them, (2 nv,)."""
    if model.nkey:
        mujoco.mj_resetDataKeyframe(model, data, 0)
    else:
        mujoco.mj_resetData(model, data)
    base, nudge = data.qpos.copy(), np.zeros(model.nv)
    nudge[index % model.nv] = change
    if index < model.nv:
        mujoco.mj_integratePos(model, data.qpos, nudge, 1.0)
    else:
        data.qvel[:] = nudge
    mujoco.mj_step(model, data)
    moved = np.zeros(model.nv)
    mujoco.mj_differentiatePos(model, moved, 1.0, base, data.qpos)
    return np.concatenate([moved, data.qvel])
