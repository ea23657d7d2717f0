"""Where contacts stand in the memory of an mjData, for compiled code that cannot ask Python.

MuJoCo publishes the layout of the struct for C only, and it changes from version to version. It is
found by looking: a few balls and bars lie on a plane, and the numbers that the Python bindings
give (how many contacts, where their arrays begin) are searched for in the struct until there is
one place left for each.
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import NamedTuple

import mujoco
import numpy as np
from numpy.typing import NDArray

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
