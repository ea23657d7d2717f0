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

from softgrasp.mechanics.transforms import Array
from softgrasp.simulation import laws
from softgrasp.simulation.state import Integers

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


@njit(cache=True, nogil=True)
def follow(
    previous: Array,
    targets: Array,
    substep: int,
    substeps: int,
    timestep: float,
    qpos: Array,
    qvel: Array,
    joints: Integers,
    dofs: Integers,
) -> None:
    """Put prescribed joints on the straight line from one target to the next."""
    for j in range(targets.size):
        way = targets[j] - previous[j]
        qpos[joints[j]] = previous[j] + way * (substep / substeps)
        qvel[dofs[j]] = way / (substeps * timestep)


@njit(cache=True, nogil=True)
def run_stretch(
    addresses: tuple[int, int],
    plan: Array,
    constants: tuple[Any, ...],
    engine: tuple[Array, Array, Array, Array],
    memory: tuple[Array, Integers],
    log: tuple[Array, Array],
    first_row: int,
) -> int:
    """Run the samples of a plan until contact changes; see ``Stepper.stretch``.

    Args:
        addresses: Of mjModel and mjData.
        plan: Targets, one row a sample.
        constants: (slots, substeps, first force, prescribed, debounce samples, timestep,
            threshold, qpos of joint, dof of joint).
        engine: (qpos, qvel, ctrl, sensordata).
        memory: (targets before the last ones, flags (4, nb)).
        log: (qpos, force).
        first_row: Row of the first sample in the log.

    Returns:
        Samples that were finished.
    """
    model, data = addresses
    slots, substeps, first, prescribed, needed, timestep, threshold, joints, dofs = constants
    qpos, qvel, ctrl, sensordata = engine
    previous, flags = memory
    log_qpos, log_force = log
    bodies = flags.shape[1]
    forces = np.zeros(bodies)
    for index in range(len(plan)):
        row = first_row + index
        if row > 0:
            for substep in range(substeps):
                if prescribed:
                    follow(previous, ctrl, substep, substeps, timestep, qpos, qvel, joints, dofs)
                step(model, data)
            previous[:] = ctrl
        for body in range(bodies):
            total = 0.0
            for slot in range(slots):
                total += sensordata[first + (body * slots + slot) * 3]
            forces[body] = total
        if forces.any():  # rows are zero, and memory that is not touched costs nothing
            log_force[row] = sensordata[first : first + bodies * slots * 3]
        if debounce(forces, threshold, needed, flags[0], flags[1], flags[2], flags[3]):
            return index
        if not np.isfinite(forces.sum()):
            return index
        ctrl[:] = plan[index]
        log_qpos[row] = qpos
    return len(plan)


@njit(cache=True, nogil=True)
def record_free(
    addresses: tuple[int, int], qpos: Array, ctrl: Array, controls: Array, log: Array
) -> None:
    """Step a model without a controller and record its positions.

    Args:
        addresses: Of mjModel and mjData.
        qpos: Positions of mjData, (nq,).
        ctrl: Controls of mjData, (nu,).
        controls: One row a step, (steps, nu).
        log: Positions after each step, (steps, nq); filled.
    """
    model, data = addresses
    for index in range(len(log)):
        ctrl[:] = controls[index]
        step(model, data)
        log[index] = qpos
