"""The largest time step that the springs of a model bear."""

from __future__ import annotations

import math

import mujoco
import numpy as np
from scipy.linalg import eigh


def spring_limit(model: mujoco.MjModel) -> float:
    """2/ω of the fastest mode of a model's joint springs in its straight state [s].

    Semi-implicit steps (``euler``, ``implicitfast``) are stable below it without damping, and with
    damping that they take implicitly further; found at once where ``stable_timestep`` takes long.
    Infinite without springs.
    """
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    inertia, stiffness = np.zeros((model.nv, model.nv)), np.zeros(model.nv)
    mujoco.mj_fullM(model, data, inertia)
    stiffness[model.jnt_dofadr] = model.jnt_stiffness
    fastest = float(eigh(np.diag(stiffness), inertia, eigvals_only=True)[-1])
    return 2.0 / math.sqrt(fastest) if fastest > 0.0 else math.inf
