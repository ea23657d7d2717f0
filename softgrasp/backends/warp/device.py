"""Device of MuJoCo Warp: its choice, models and states on it, graphs, memory for contacts.

A step is about a hundred launches, which take longer in Python than on a device. What repeats is
therefore captured once as a ``Graph`` and replayed; nothing in it may depend on the host.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from copy import copy
from functools import cache
from typing import Any

import mujoco
import mujoco_warp
import numpy as np
import warp

from softgrasp.errors import BackendUnavailable, BuildError, DescriptionError
from softgrasp.mechanics import Array
from softgrasp.plugin_api import report_progress

DEVICE = "SOFTGRASP_WARP_DEVICE"
"""Environment variable with the device: ``cpu``, ``cuda`` or ``cuda:1``; the first GPU by default,
and the CPU without one."""
CAPACITY = "SOFTGRASP_WARP_CONTACTS"
"""Environment variable with the number of contacts a world for which there is memory."""
CONTACTS, SPARE_ROWS = 96, 64
"""Default number of contacts a world, and constraint rows beyond theirs and those of limits."""
OVERFLOWS = (
    (mujoco_warp.OverflowType.NEFC, "constraint rows"),
    (mujoco_warp.OverflowType.NJMAX_NNZ, "entries of the constraint Jacobian"),
    (mujoco_warp.OverflowType.BROADPHASE, "pairs of bounding boxes"),
    (mujoco_warp.OverflowType.NARROWPHASE, "contacts"),
    (mujoco_warp.OverflowType.CCD, "contacts of convex geoms"),
    (mujoco_warp.OverflowType.CONTACT_MATCH, "contacts of a sensor"),
    (mujoco_warp.OverflowType.EPA_HORIZON, "faces of a penetration"),
)
"""Overflows after which the forces of a world are not to be trusted, and what there was too much
of."""


def default_device() -> str:
    """Return the device of ``SOFTGRASP_WARP_DEVICE``; by default the first GPU, else the CPU.

    Raises:
        BackendUnavailable: Warp has no such device.
    """
    with quiet():
        warp.init()
        name = os.environ.get(DEVICE) or ("cuda:0" if warp.get_cuda_device_count() else "cpu")
        try:
            return str(warp.get_device(name).alias)
        except (ValueError, RuntimeError):
            known = ", ".join(device.alias for device in warp.get_devices())
            raise BackendUnavailable(f"{DEVICE}: no device '{name}'; there are: {known}") from None


def capacity() -> int:
    """Return the number of contacts per world for which memory is reserved."""
    text = os.environ.get(CAPACITY) or str(CONTACTS)
    if not text.isdecimal():
        raise DescriptionError(f"expected a number of contacts, found '{text}'", field=CAPACITY)
    return int(text)


@contextmanager
def quiet() -> Iterator[None]:
    """Keep Warp from printing which kernels it loads."""
    before = warp.config.log_level
    warp.config.log_level = max(before, warp.LOG_WARNING)
    try:
        yield
    finally:
        warp.config.log_level = before


@cache
def report_compilation(device: str) -> None:
    """Report once a device that kernels are loaded, and compiled where none are in the cache."""
    report_progress(
        f"loading the kernels of MuJoCo Warp for {device}; the first time compiles them for minutes"
    )


def overflow_words(bits: int) -> str:
    """Name the buffers that overflowed; empty where none did."""
    return " and ".join(text for bit, text in OVERFLOWS if bits & int(bit))


def overflow_sentence(text: str) -> str:
    """Return the message about a world whose buffer of that name is too small."""
    return (
        f"the grasp needs more {text} than the backend warp has memory for; its forces are not to "
        f"be trusted: set {CAPACITY} to more than {CONTACTS} contacts a world, or use the backend "
        "mujoco"
    )


def put_on_device(
    model: mujoco.MjModel, size: int, names: Iterable[str], contacts: int
) -> tuple[Any, Any]:
    """Put worlds on the device in use; return MuJoCo Warp's model and data.

    Gravity and the square root of 1 over ``impratio`` have a value a world, too.

    Args:
        model: The model of all worlds.
        size: Number of worlds.
        names: Arrays of the model that have a value a world.
        contacts: Contacts for which there is memory, a world in the mean.

    Raises:
        BuildError: MuJoCo Warp cannot simulate the model; says why.
    """
    model = copy(model)
    model.opt.disableflags &= ~int(mujoco.mjtDisableBit.mjDSBL_AUTORESET)
    try:
        on_device = mujoco_warp.put_model(model, batch_sizes=dict.fromkeys(names, size))
        rows = int(model.pair_dim.max(initial=3)) * contacts + 2 * model.nv + 6 * model.neq
        data = mujoco_warp.make_data(model, size, nconmax=contacts, njmax=rows + SPARE_ROWS)
    except (NotImplementedError, ValueError) as error:
        raise BuildError(f"hand: MuJoCo Warp refuses the model: {error}") from error
    option = on_device.opt
    option.warn_overflow = 0
    option.gravity = warp.array(np.tile(model.opt.gravity, (size, 1)), dtype=warp.vec3)
    option.impratio_invsqrt = warp.full(size, value=model.opt.impratio**-0.5, dtype=float)
    return on_device, data


def assign(target: Any, values: Array) -> None:
    """Write numbers of the host into an array of the device, whose size they have."""
    shape = (*target.shape, *np.shape(target.dtype()))
    target.assign(np.ascontiguousarray(values.reshape(shape), dtype=np.float32))


class Graph:
    """Launches that repeat: a graph of the device, where it can capture one."""

    def __init__(self, device: str, launches: Callable[[], None]) -> None:
        """Keep the launches; the first call of ``launch`` captures them.

        Args:
            device: The device.
            launches: Function that launches them, which has been called before: kernels are then
                compiled and memory is allocated.
        """
        self._device, self._launches, self._graph = device, launches, None

    def launch(self) -> None:
        """Launch once more."""
        # not every GPU captures graphs with loops and allocations, as steps have them
        captures = warp.get_device(self._device).is_cpu or (
            warp.is_mempool_enabled(self._device) and warp.is_conditional_graph_supported()
        )
        if not captures:
            self._launches()
            return
        if self._graph is None:
            with warp.ScopedCapture() as capture:
                self._launches()
            self._graph = capture.graph
        warp.capture_launch(self._graph)
