"""Postures that obey a model's equalities: closed linkages, joints that follow others."""

from __future__ import annotations

import mujoco
import numpy as np
from numpy.typing import NDArray

from softgrasp.mechanics.transforms import Array

ROUNDS, NEAR = 30, 1e-10
LONGEST_STEP = 0.3
"""Of a joint in one round [rad or m]."""


def closed(model: mujoco.MjModel, data: mujoco.MjData, held: NDArray[np.bool_]) -> bool:
    """Move the joints that are not held until all equalities hold, by Gauss and Newton.

    Args:
        model: The model.
        data: Its state; ``qpos`` is changed, and kinematics are made for it.
        held: Degrees of freedom that stay where they are, booleans (nv,).

    Returns:
        Whether the equalities hold to 0.1 mm or mrad in the end.
    """
    if not model.neq:
        mujoco.mj_kinematics(model, data)
        return True
    residual = np.zeros(0)
    for _ in range(ROUNDS):
        mujoco.mj_fwdPosition(model, data)
        rows = data.efc_type == mujoco.mjtConstraint.mjCNSTR_EQUALITY
        residual = np.array(data.efc_pos[rows])
        if not len(residual) or np.abs(residual).max() < NEAR:
            return True
        jacobian = _jacobian(model, data)[rows][:, ~held]
        correction = np.linalg.lstsq(jacobian, -residual, rcond=1e-8)[0]
        step = np.zeros(model.nv)
        step[~held] = correction * min(
            1.0, LONGEST_STEP / max(np.abs(correction).max(initial=0.0), 1e-12)
        )
        mujoco.mj_integratePos(model, data.qpos, step, 1.0)
    mujoco.mj_kinematics(model, data)
    return bool(np.abs(residual).max(initial=0.0) < 1e-4)


def _jacobian(model: mujoco.MjModel, data: mujoco.MjData) -> Array:
    """Of all constraints, (nefc, nv)."""
    if not mujoco.mj_isSparse(model):
        return np.array(data.efc_J).reshape(data.nefc, model.nv)
    dense = np.zeros((data.nefc, model.nv))
    mujoco.mju_sparse2dense(
        dense, data.efc_J, data.efc_J_rownnz, data.efc_J_rowadr, data.efc_J_colind
    )
    return dense
