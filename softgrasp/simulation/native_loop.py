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
from llvmlite import binding, ir
from numba import carray, njit, types  # type: ignore[attr-defined]
from numba.extending import intrinsic

from softgrasp.mechanics.transforms import Array
from softgrasp.simulation import laws
from softgrasp.simulation.state import Integers

MAX_CONSTRAINT_ROWS = 1 << 24
"""Length of the view of ``efc_vel``; rows are only read where a contact says there are some."""
STEP_SYMBOL = "softgrasp_mj_step"


def _bind_step() -> Any:
    """``mj_step`` of the loaded MuJoCo library under a symbol of ours."""
    directory = Path(mujoco.__file__).parent
    patterns = ("libmujoco.so*", "libmujoco*.dylib", "mujoco.dll")
    libraries = [path for pattern in patterns for path in sorted(directory.glob(pattern))]
    function = ctypes.CDLL(str(libraries[0])).mj_step
    binding.add_symbol(STEP_SYMBOL, ctypes.cast(function, ctypes.c_void_p).value)
    return types.ExternalFunction(STEP_SYMBOL, types.void(types.intp, types.intp))


step = _bind_step()
debounce = njit(cache=True)(laws.debounce)
update_slip = njit(cache=True)(laws.update_slip)


def _reader(numba_type: Any, llvm_type: Any) -> Any:
    """A function for compiled code that reads a number at an address."""

    @intrinsic
    def number_at(_: Any, __: Any) -> Any:
        def generate(_: Any, builder: Any, __: Any, arguments: Any) -> Any:
            return builder.load(builder.inttoptr(arguments[0], llvm_type.as_pointer()))

        return numba_type(types.intp), generate

    return number_at


long_at = _reader(types.int64, ir.IntType(64))
int_at = _reader(types.int32, ir.IntType(32))
doubles_at = _reader(types.CPointer(types.float64), ir.DoubleType().as_pointer())  # type: ignore[no-untyped-call]


@njit(cache=True, nogil=True)
def switch_friction(data: int, data_map: tuple[int, ...], law: Any) -> None:
    """Give sliding pairs the dynamic coefficient and others the static one.

    Args:
        data: Address of mjData.
        data_map: A ``DataMap``.
        law: A ``SlipFriction``.
    """
    count_at, contacts_at, velocities_at, size, geoms_at, row_at = data_map
    critical, coefficients, pair_of, friction, slipping, seen = law
    count = int_at(data + count_at)
    if count == 0:
        return
    first = long_at(data + contacts_at)
    pairs, rows = np.empty(count, dtype=np.int64), np.empty(count, dtype=np.int64)
    for index in range(count):
        contact = first + index * size
        one = int_at(contact + geoms_at)
        other = int_at(contact + geoms_at + 4)
        pairs[index] = pair_of[one, other]
        rows[index] = int_at(contact + row_at)
    velocities = carray(doubles_at(data + velocities_at), (MAX_CONSTRAINT_ROWS,))
    if update_slip(pairs, rows, velocities, critical, slipping, seen):
        for pair in pairs:
            if pair >= 0:
                coefficient = coefficients[pair, slipping[pair]]
                friction[pair, 0] = coefficient
                friction[pair, 1] = coefficient


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
        step = targets[j] - previous[j]
        qpos[joints[j]] = previous[j] + step * (substep / substeps)
        qvel[dofs[j]] = step / (substeps * timestep)


@njit(cache=True, nogil=True)
def run_chunk(
    addresses: tuple[int, int],
    plan: Array,
    constants: tuple[Any, ...],
    engine: tuple[Array, Array, Array, Array, Array],
    loads: Array,
    memory: tuple[Array, Integers],
    log: tuple[Array, Array],
    first_row: int,
    data_map: Any,
    law: Any,
) -> int:
    """Run the samples of a plan until contact changes; see ``Stepper.stretch``.

    Args:
        addresses: Of mjModel and mjData.
        plan: Targets, one row a sample.
        constants: (slots, substeps, first force, prescribed, debounce samples, timestep,
            threshold, qpos of joint, dof of joint).
        engine: (qpos, qvel, ctrl, sensordata, gravity).
        loads: Gravity at each sample; empty where it stays, (n, 3) [m/s²].
        memory: (targets before the last ones, flags (4, nb)).
        log: (qpos, force).
        first_row: Row of the first sample in the log.
        data_map: A ``DataMap``; None where friction does not switch.
        law: A ``SlipFriction``; None where friction does not switch.

    Returns:
        Samples that were finished.
    """
    model, data = addresses
    slots, substeps, first, prescribed, needed, timestep, threshold, joints, dofs = constants
    qpos, qvel, ctrl, sensordata, gravity = engine
    previous, flags = memory
    log_qpos, log_force = log
    bodies = flags.shape[1]
    forces = np.zeros(bodies)
    for index in range(len(plan)):
        row = first_row + index
        if len(loads) > 0:
            gravity[:] = loads[index]
        if row > 0:
            for substep in range(substeps):
                if prescribed:
                    follow(previous, ctrl, substep, substeps, timestep, qpos, qvel, joints, dofs)
                step(model, data)
                if law is not None:
                    switch_friction(data, data_map, law)
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
