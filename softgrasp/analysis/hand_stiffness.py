"""Stiffness of a hand's joints in a posture, from the model that runs."""

from __future__ import annotations

from collections.abc import Sequence

import mujoco
import numpy as np

from softgrasp.mechanics.transforms import Array
from softgrasp.model.contact_pairs import actuator_moments, tendon_moments


def joint_stiffness(model: mujoco.MjModel, data: mujoco.MjData, dofs: Sequence[int]) -> Array:
    """Torque per turn of springs, servos and tendons with all targets held, (m, m).

    Σ kᵢ·aᵢ aᵢᵀ with the moment arms a of each spring, servo and tendon; what a changing arm adds
    is left out, and so are force limits.

    Args:
        model: The compiled scene.
        data: The posture, computed as far as its moment arms.
        dofs: Degrees of freedom.
    """
    stiffness = np.zeros((model.nv, model.nv))
    springs = [joint for joint in range(model.njnt) if model.jnt_stiffness[joint] > 0.0]
    for joint in springs:
        address = int(model.jnt_dofadr[joint])
        stiffness[address, address] += model.jnt_stiffness[joint]
    for gain, arm in zip(-model.actuator_biasprm[:, 1], actuator_moments(model, data), strict=True):
        stiffness += gain * np.outer(arm, arm)
    for gain, arm in zip(model.tendon_stiffness, tendon_moments(model, data), strict=True):
        stiffness += gain * np.outer(arm, arm)
    return np.asarray(stiffness[np.ix_(dofs, dofs)])
