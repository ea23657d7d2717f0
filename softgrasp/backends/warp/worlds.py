"""Many worlds on a device of MuJoCo Warp: one compiled model and its arrays, with their kernels.

``WorldBatch`` takes scenes of one structure (``scenes.Worlds``), runs all of them to the end of
their hold tests and returns what the device recorded (``Outcome``). The model is the one that runs
in MuJoCo, without the flag that switches off automatic resets. Where the solver of a world fails,
which happens in single precision, its sample is stepped again without the solver's earlier
solution and with softer friction; a world that fails again and again has diverged and is reported.

A step is about a hundred launches, which take longer in Python than on a device. Blocks of control
samples are therefore captured as one ``Graph`` and replayed until all worlds have ended: what
changes from sample to sample is on the device, and nothing depends on the host.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from copy import copy
from functools import cache, partial
from typing import Any, NamedTuple

import mujoco
import mujoco_warp
import numpy as np
import warp
from numpy.typing import NDArray

from softgrasp.backends.warp import kernels
from softgrasp.backends.warp.scenes import Worlds, object_address, test_loads
from softgrasp.errors import BackendUnavailable, BuildError, DescriptionError, SimulationError
from softgrasp.evaluation import CREEP_FRACTION
from softgrasp.mechanics import Array
from softgrasp.model import names
from softgrasp.plugin_api import ClosureLayout, closure_layout, report_progress, stiffness_feedback

BLOCK_SAMPLES, CPU_BLOCK_SAMPLES = 64, 4
"""Control samples of a graph, between two checks whether all worlds have ended. On the CPU the
capture of a sample takes as long as 80 replays, and a check nothing."""
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


class Outcome(NamedTuple):
    """Arrays of a finished batch on the host: nw worlds, nb bodies, nd actuators, np pairs."""

    loop: dict[str, Array]
    """Fields of ``kernels.Loop``."""
    summary: dict[str, Array]
    """Fields of ``kernels.Summary``."""
    log: dict[str, Array]
    """Fields of ``kernels.Log``; empty unless the batch was recorded."""
    pair_solref: Array
    """Contact parameters at the end, (nw, np, 2)."""

    def overflow(self, world: int) -> str:
        """Name the buffers that overflowed in a world; empty where none did."""
        return overflow_words(int(self.loop["overflow"][world]))

    @property
    def is_valid(self) -> NDArray[np.bool_]:
        """Which worlds neither overflowed nor diverged, (nw,)."""
        bits = sum(int(bit) for bit, _ in OVERFLOWS)
        fits = (self.loop["overflow"].astype(int) & bits) == 0
        return np.asarray(fits & (self.loop["phase"] != kernels.DIVERGED))

    def require_no_overflow(self) -> None:
        """Check that no world had more contacts or constraint rows than there was memory for.

        Raises:
            SimulationError: One had; says of what.
        """
        for world in range(len(self.loop["overflow"])):
            if text := self.overflow(world):
                raise SimulationError(overflow_sentence(text))

    def diverged(self, world: int) -> bool:
        """Whether a world has diverged."""
        return int(self.loop["phase"][world]) == kernels.DIVERGED


class WorldBatch:
    """Scenes of one structure on a device, each a world."""

    def __init__(
        self,
        worlds: Worlds,
        *,
        device: str | None = None,
        contacts: int | None = None,
        recorded: bool = False,
        block: int | None = None,
    ) -> None:
        """Put the worlds on the device, in their start states.

        Args:
            worlds: The scenes.
            device: Device of Warp; see ``default_device``.
            contacts: Contacts for which there is memory, a world in the mean; by default
                ``SOFTGRASP_WARP_CONTACTS``, or ``CONTACTS``.
            recorded: Whether to record time series.
            block: Control samples of a graph; by default ``BLOCK_SAMPLES``, fewer on the CPU.

        Raises:
            BackendUnavailable: There is no such device.
            BuildError: MuJoCo Warp cannot simulate the model; says why.
            DescriptionError: The number of contacts is not positive.
        """
        contacts = capacity() if contacts is None else contacts
        if contacts < 1:
            raise DescriptionError(f"expected at least 1, found {contacts}", field="contacts")
        self._worlds, self._base, self.size = worlds, worlds.base, worlds.size
        self.device = device or default_device()
        self._layout = closure_layout(self._base)
        self._loads = test_loads(self._base)
        self._switches = bool((worlds.numbers["critical"] >= 0.0).any())
        on_cpu = warp.get_device(self.device).is_cpu
        self._block = block or (CPU_BLOCK_SAMPLES if on_cpu else BLOCK_SAMPLES)
        self._graph = Graph(self.device, partial(self._step_samples, self._block))
        with quiet(), warp.ScopedDevice(self.device):
            self._put(contacts)
            self._make_structs(recorded)

    @property
    def max_rows(self) -> int:
        """Largest number of control samples of a world."""
        return int(self._worlds.numbers["samples"].max()) + len(self._loads)

    def run(
        self, samples: int | None = None, progress: Callable[[float], None] | None = None
    ) -> None:
        """Simulate all worlds to their ends, or for a number of control samples.

        Args:
            samples: Control samples; all by default.
            progress: Called with the simulated time [s] from time to time.
        """
        period = self._base.scene.control_period
        longest = (1 + kernels.RETRIES) * self.max_rows + self._block
        remaining = longest if samples is None else samples
        with quiet(), warp.ScopedDevice(self.device):
            while remaining > 0:
                remaining -= self._advance(remaining)
                if progress is not None:
                    progress(self.row * period)
                if (self._loop.phase.numpy() >= kernels.ENDED).all():
                    return

    def outcome(self) -> Outcome:
        """Copy the recorded values from the device to the host."""
        log = _fields(kernels.Log, self._log) if self._log.qpos.shape[0] else {}
        solref: Array = self._model.pair_solref.numpy()
        return Outcome(
            _fields(kernels.Loop, self._loop), _fields(kernels.Summary, self._summary), log, solref
        )

    # State on the device

    def _put(self, contacts: int) -> None:
        numbers = self._worlds.numbers
        arrays = self._worlds.arrays | {"actuator_biasprm": numbers["actuator_bias"]}
        self._model, self._data = put_on_device(
            self._base.model, self.size, {*arrays, "pair_solref", "pair_friction"}, contacts
        )
        for name, values in arrays.items():
            assign(getattr(self._model, name), values)
        assign(self._model.opt.gravity, numbers["gravity"])
        assign(self._data.qpos, numbers["start"])
        self.row = 0
        """Control samples so far."""

    def _make_structs(self, recorded: bool) -> None:
        layout, model = self._layout, self._base.model
        sizes = {
            "nw": self.size, "nb": len(layout.bodies), "nd": model.nu, "nq": model.nq,
            "nv": model.nv, "np": model.npair, "ng": model.ngeom,
            "rows": self.max_rows if recorded else 0,
            "nf": layout.force_sum.shape[1],
        }  # fmt: skip
        self._law = _law(self._worlds, layout, self._loads)
        self._loop = _loop(self._worlds.numbers, sizes)
        self._summary = _summary(sizes)
        self._log = _log(sizes)
        self._stiffness = _stiffness(self._worlds, sizes)

    # Steps

    def _advance(self, limit: int) -> int:
        """Simulate a block of control samples, at most some; return their number."""
        if self.row == 0:  # there is no step before the first sample
            samples = 1
            self._evaluate()
        elif self.row == 1:  # compiles kernels and allocates memory
            samples = 1
            report_compilation(self.device)
            self._step_samples(1)
        elif limit < self._block:
            samples = limit
            self._step_samples(samples)
        else:
            samples = self._block
            self._graph.launch()
        self.row += samples
        return samples

    def _step_samples(self, samples: int) -> None:
        """Launch the kernels of some control samples; none depends on the index of a sample."""
        for _ in range(samples):
            for _ in range(self._layout.substeps):
                mujoco_warp.step(self._model, self._data)
                if self._switches:
                    self._switch_friction()
            self._evaluate()

    def _evaluate(self) -> None:
        """Evaluate a control sample: control law, contacts, stiffness."""
        data, contact, size = self._data, self._data.contact, self.size
        warp.launch(kernels.control, size, [
            self._law, self._loop, self._summary, self._log, data.qpos, data.qvel,
            data.qacc_warmstart, data.sensordata, data.overflow, data.ctrl,
            self._model.opt.gravity, self._model.opt.impratio_invsqrt,
        ])  # fmt: skip
        warp.launch(kernels.read_contacts, data.naconmax, [
            self._loop, self._summary, self._stiffness, data.nacon, contact.worldid,
            contact.geom, contact.efc_address, contact.dist, contact.pos, contact.frame,
            contact.dim, data.efc.force, data.efc.D, self._model.pair_solref,
            self._model.pair_solimp,
        ])  # fmt: skip
        warp.launch(
            kernels.correct_stiffness, size, [self._loop, self._stiffness, self._model.pair_solref]
        )

    def _switch_friction(self) -> None:
        data, contact = self._data, self._data.contact
        warp.launch(kernels.detect_slip, data.naconmax, [
            self._stiffness, data.nacon, contact.worldid, contact.geom, contact.efc_address,
            data.efc.vel,
        ])  # fmt: skip
        pairs = (self.size, self._base.model.npair)
        warp.launch(kernels.switch_friction, pairs, [self._stiffness, self._model.pair_friction])


def _fields(kind: Any, struct: Any) -> dict[str, Array]:
    """Copy the arrays of a struct to the host."""
    return {name: getattr(struct, name).numpy() for name in _variables(kind)}


def _variables(kind: Any) -> dict[str, Any]:
    """Return the arrays of a struct by name."""
    variables: dict[str, Any] = kind.vars
    return variables


def _law(worlds: Worlds, layout: ClosureLayout, loads: Array) -> Any:
    """Make the constants of the closed loops."""
    law, scene, numbers = kernels.Law(), worlds.base.scene, worlds.numbers
    bodies, actuators = len(layout.bodies), worlds.base.model.nu
    law.impratio_invsqrt = worlds.base.model.opt.impratio**-0.5
    law.threshold, law.samples = layout.threshold, layout.samples
    law.first_force, law.slots = layout.first_force, sum(layout.object_slots)
    law.bodies, law.actuators = bodies, actuators
    law.object_qpos = object_address(worlds.base.model)
    law.loads = warp.array(loads.astype(np.float32), dtype=warp.vec3)
    held = 0.0 if scene.success is None else scene.success.hold_time
    law.stays_on = int(scene.closure.stays_on)
    law.late = min(max(round(CREEP_FRACTION * held / scene.control_period), 1), len(loads))
    law.joint = warp.array(layout.joint_of_actuator.astype(np.int32), dtype=int)
    stops = np.zeros((actuators, bodies), dtype=np.int32)
    for row, stopping in zip(stops, layout.stops, strict=True):
        row[list(stopping)] = 1
    law.stops = warp.array(stops, dtype=int)
    for name in ("increments", "lower", "upper", "leads"):
        setattr(law, name, warp.array(numbers[name], dtype=warp.float64))
    law.max_samples = warp.array(numbers["samples"], dtype=int)
    law.idle_limit = warp.array(numbers["idle_limit"], dtype=int)
    return law


def _loop(numbers: Mapping[str, Array], sizes: dict[str, int]) -> Any:
    """Make the variables of the closed loops at their start."""
    loop = kernels.Loop()
    _fill(loop, kernels.Loop, sizes, {
        "touched": "nb", "counts": "nb", "active": "nb", "changes": "nb", "free": "nd",
        "targets": "nd", "qpos": "nq", "qvel": "nv",
    })  # fmt: skip
    loop.targets = warp.array(numbers["targets"], dtype=warp.float64)
    loop.free.fill_(1)
    loop.closed_row.fill_(-1)
    loop.end_row.fill_(-1)
    loop.next_row.fill_(stiffness_feedback.INTERVAL)
    loop.interval.fill_(stiffness_feedback.INTERVAL)
    return loop


def _summary(sizes: dict[str, int]) -> Any:
    """Make the summaries of all worlds at their start."""
    summary = kernels.Summary()
    of_bodies = (
        "first_touch", "first_contact", "losses", "force", "closed_active", "closed_normal",
        "body_force", "body_friction", "body_point",
    )  # fmt: skip
    widths = dict.fromkeys(of_bodies, "nb") | {"closed_qpos": "nq", "final_qpos": "nq"}
    widths |= {"closed_targets": "nd", "pair_force": "np", "pair_depth": "np"}
    _fill(summary, kernels.Summary, sizes, widths)
    for name in ("first_touch", "first_contact", "last_touch", "left_row"):
        getattr(summary, name).fill_(-1)
    return summary


def _log(sizes: dict[str, int]) -> Any:
    """Make the memory of the time series."""
    log = kernels.Log()
    widths = {"qpos": "nq", "qvel": "nv", "control": "nd", "force": "nf"}
    widths |= {"active": "nb", "changes": "nb"}
    for name, width in widths.items():
        shape = (sizes["rows"], sizes["nw"] if sizes["rows"] else 0, sizes[width])
        dtype = _variables(kernels.Log)[name].type.dtype
        setattr(log, name, warp.zeros(shape, dtype=dtype))
    return log


def _fill(struct: Any, kind: Any, sizes: dict[str, int], widths: dict[str, str]) -> None:
    """Set all arrays of a struct to zero, one row a world, with the widths of some of them."""
    for name, variable in _variables(kind).items():
        shape = (sizes["nw"], sizes[widths[name]]) if name in widths else (sizes["nw"],)
        setattr(struct, name, warp.zeros(shape, dtype=variable.type.dtype))


def _stiffness(worlds: Worlds, sizes: dict[str, int]) -> Any:
    """Make the variables of stiffness feedback and switching friction."""
    state, base, numbers = kernels.Stiffness(), worlds.base, worlds.numbers
    model, shape = base.model, (sizes["nw"], sizes["np"])
    discrete = model.opt.integrator == mujoco.mjtIntegrator.mjINT_DISCRETE
    state.step = float(model.opt.timestep) if discrete else 0.0
    pair = -np.ones((sizes["ng"], sizes["ng"]), dtype=np.int32)
    geoms = (model.pair_geom1, model.pair_geom2)
    pair[geoms] = pair[geoms[::-1]] = np.arange(sizes["np"])
    owner = [model.body(int(body)).name for body in model.geom_bodyid]
    bodies = {body: index for index, body in enumerate(base.bodies)}
    hand = np.array([bodies.get(body, -1) for body in owner], dtype=np.int32)
    is_object = np.array([body == names.OBJECT for body in owner], dtype=np.int32)
    state.pair, state.hand = warp.array(pair, dtype=int), warp.array(hand, dtype=int)
    state.is_object = warp.array(is_object, dtype=int)
    state.described = warp.array(numbers["stiffness"], dtype=warp.float64)
    state.forces = warp.zeros(shape, dtype=warp.float64)
    state.depths = warp.zeros(shape, dtype=warp.float64)
    state.touching = warp.zeros(shape, dtype=int)
    state.critical = warp.array(numbers["critical"], dtype=float)
    coefficients = np.broadcast_to(numbers["coefficients"], (*shape, 2))
    state.coefficients = warp.array(coefficients, dtype=float)
    state.sliding = warp.full(shape, value=-1, dtype=int)
    return state


# Devices


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
