"""The closed loop as numba compiles it; imported only where numba is installed.

``mj_step`` is bound by its symbol, not by its address, so that the machine code can be cached
on disk and used by later processes.
"""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
from llvmlite import binding
from numba import njit, types

from softgrasp.simulation import laws

STEP_SYMBOL = "softgrasp_mj_step"


def _bind_step() -> Any:
    """``mj_step`` of the loaded MuJoCo library under a symbol of ours."""
    folder = Path(mujoco.__file__).parent
    patterns = ("libmujoco.so*", "libmujoco*.dylib", "mujoco.dll")
    found = [path for pattern in patterns for path in sorted(folder.glob(pattern))]
    function = ctypes.CDLL(str(found[0])).mj_step
    binding.add_symbol(STEP_SYMBOL, ctypes.cast(function, ctypes.c_void_p).value)
    return types.ExternalFunction(STEP_SYMBOL, types.void(types.intp, types.intp))


step = _bind_step()
debounce = njit(cache=True)(laws.debounce)
advance_targets = njit(cache=True)(laws.advance_targets)


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def follow(previous, targets, substep, substeps, timestep, qpos, qvel, joints, dofs):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Put prescribed joints on the straight line from one target to the next."""
    for j in range(targets.size):
        way = targets[j] - previous[j]
        qpos[joints[j]] = previous[j] + way * (substep / substeps)
        qvel[dofs[j]] = way / (substeps * timestep)


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def run_samples(  # type: ignore[no-untyped-def]  # noqa: ANN201
    addresses, limits, layout, constants, engine, memory, log
):  # noqa: ANN001
    """Run control samples until contact changes, targets rest, or the samples are used up.

    Args:
        addresses: Of mjModel and mjData.
        limits: (samples, idle samples).
        layout: (slots, substeps, first force, prescribed, debounce samples).
        constants: (timestep, period, threshold, increments, lower, upper, body of joint,
            last of finger, qpos of joint, dof of joint).
        engine: (qpos, qvel, ctrl, sensordata).
        memory: (targets, previous targets, flags (4, nb), progress (row, idle, changed)).
        log: (time, qpos, control, force, in contact).
    """
    model, data = addresses
    samples, idle_limit = limits
    slots, substeps, first, prescribed, needed = layout
    timestep, period, threshold, increments, lower, upper, body_of, last_of, joints, dofs = (
        constants
    )
    qpos, qvel, ctrl, sensordata = engine
    targets, previous, flags, progress = memory
    log_time, log_qpos, log_ctrl, log_force, log_contact = log
    bodies = flags.shape[1]
    forces = np.zeros(bodies)
    row, idle = progress[0], progress[1]
    progress[2] = 0
    for _ in range(samples):
        if row > 0:
            for substep in range(substeps):
                if prescribed:
                    follow(
                        previous, targets, substep, substeps, timestep, qpos, qvel, joints, dofs
                    )
                step(model, data)
        for body in range(bodies):
            total = 0.0
            for slot in range(slots):
                total += sensordata[first + (body * slots + slot) * 3]
            forces[body] = total
        changed = debounce(forces, threshold, needed, flags[0], flags[1], flags[2], flags[3])
        previous[:] = targets
        moved = advance_targets(targets, increments, lower, upper, body_of, last_of, flags[2])
        idle = 0 if moved else idle + 1
        if moved or row == 0:
            ctrl[:] = targets
        log_time[row] = row * period
        log_qpos[row] = qpos
        log_ctrl[row] = ctrl
        log_force[row] = sensordata[first : first + bodies * slots * 3]
        log_contact[row] = flags[2]
        row += 1
        if changed:
            progress[2] = 1
        if changed or idle >= idle_limit:
            break
    progress[0], progress[1] = row, idle
