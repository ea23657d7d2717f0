"""The closed loop as numba compiles it; imported only where numba is installed.

``mj_step`` is bound by its symbol, not by its address, so that the machine code can be cached
on disk and used by later processes.
"""

from __future__ import annotations

import ctypes
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import mujoco
import numpy as np
from llvmlite import binding, ir
from numba import carray, njit, types  # type: ignore[attr-defined]
from numba.extending import intrinsic
from numpy.typing import NDArray

from softgrasp.mechanics.transforms import Array
from softgrasp.sim import closure_law
from softgrasp.sim.controller import Integers

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
debounce = njit(cache=True)(closure_law.debounce)
update_slip = njit(cache=True)(closure_law.update_slip)


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


# --------------------
# Where contacts stand in the memory of an mjData, for compiled code that cannot ask Python.
#
# MuJoCo publishes the layout of the struct for C only, and it changes from version to version. It
# is
# found by looking: a few balls and bars lie on a plane, and the numbers that the Python bindings
# give (how many contacts, where their arrays begin) are searched for in the struct until there is
# one place left for each.


SEARCHED = 161_920
"""Bytes that are looked through: no more than the struct has had since MuJoCo 3.17."""
LYING = (7, 5, 3, 2)
"""How many bars lie on the plane in each look. A bar makes two contacts, so that their number is
neither that of bodies nor that of pairs; it falls, so that it is not the largest one so far."""
BARS = 8
RESTING, LIFTED = 0.099, 1.0
"""Heights of a bar of radius 0.1 that touches the plane and of one that does not [m]."""


class DataMap(NamedTuple):
    """Offsets in bytes: three in mjData, then the size of a contact and two offsets in it."""

    contact_count: int
    contacts: int
    """Of the pointer to them."""
    row_velocities: int
    """Of the pointer to ``efc_vel``."""
    contact_size: int
    geoms: int
    first_row: int
    """Of ``efc_address``."""


@cache
def data_map() -> DataMap | None:
    """The map of the loaded MuJoCo; None where a place is not unique."""
    model = mujoco.MjModel.from_xml_string(_bars())
    data = mujoco.MjData(model)
    counts: set[int] | None = None
    contacts: set[int] | None = None
    velocities: set[int] | None = None
    for lying in LYING:
        _lay(model, data, lying)
        words = _memory(data)
        last = int(np.flatnonzero(words == data.efc_vel.ctypes.data).max(initial=-1))
        if last < 0:
            return None
        words = words[: last + 1]
        contacts = _still(contacts, words == data.contact.dist.ctypes.data)
        velocities = _still(velocities, words == data.efc_vel.ctypes.data)
        counts = _still(counts, words.view(np.int32) == data.ncon)
    if not counts or not contacts or not velocities or len(counts) > 1:
        return None
    contact = data.contact
    begin = contact.dist.ctypes.data
    return DataMap(
        contact_count=4 * counts.pop(),
        contacts=8 * max(contacts),  # the arena that holds them begins there, too
        row_velocities=8 * min(velocities),
        contact_size=int(contact.dist.strides[0]),
        geoms=int(contact.geom.ctypes.data - begin),
        first_row=int(contact.efc_address.ctypes.data - begin),
    )


def agrees(data_map: DataMap, data: mujoco.MjData) -> bool:
    """Whether a map gives what the bindings give for a state with contacts."""
    address = data._address
    count = ctypes.c_int32.from_address(address + data_map.contact_count).value
    contacts = ctypes.c_int64.from_address(address + data_map.contacts).value
    velocities = ctypes.c_int64.from_address(address + data_map.row_velocities).value
    if count != data.ncon:
        return False
    same_contacts = count == 0 or contacts == data.contact.dist.ctypes.data
    # contacts that do not press have no rows
    return bool(same_contacts and (data.nefc == 0 or velocities == data.efc_vel.ctypes.data))


def _bars() -> str:
    bar = '<geom type="capsule" size="0.1 0.2" euler="0 90 0"/>'
    bodies = "".join(f'<body pos="0 {index} 1"><freejoint/>{bar}</body>' for index in range(BARS))
    plane = '<geom type="plane" size="9 9 1"/>'
    return f"<mujoco><worldbody>{plane}{bodies}</worldbody></mujoco>"


def _lay(model: mujoco.MjModel, data: mujoco.MjData, lying: int) -> None:
    data.qpos[2::7] = np.where(np.arange(BARS) < lying, RESTING, LIFTED)
    mujoco.mj_forward(model, data)


def _memory(data: mujoco.MjData) -> NDArray[np.int64]:
    content = ctypes.string_at(data._address, SEARCHED)
    return np.frombuffer(content, dtype=np.int64)


def _still(before: set[int] | None, hits: NDArray[np.bool_]) -> set[int]:
    indices = set(np.flatnonzero(hits).tolist())
    return indices if before is None else before & indices
