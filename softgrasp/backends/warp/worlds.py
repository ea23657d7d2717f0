"""Many worlds on a device: one compiled model with per-world arrays, stepped with its kernels.

``WorldBatch`` takes scenes of one structure (``scenes.groups``), runs all of them to the end of
their hold tests and returns what the device recorded (``Outcome``). The model is the one that runs
in MuJoCo, without the flag that switches off automatic resets. Where the solver of a world fails,
which happens in single precision, its sample is stepped again without the solver's earlier
solution; a world that fails again has diverged and is reported.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from typing import Any, NamedTuple

import mujoco
import mujoco_warp
import numpy as np
import warp

from softgrasp.backends.warp import kernels
from softgrasp.backends.warp.scenes import PER_WORLD, object_address, test_loads
from softgrasp.errors import BackendUnavailable, BuildError, DescriptionError, SimulationError
from softgrasp.evaluation import CREEP_FRACTION
from softgrasp.mechanics import Array
from softgrasp.model import names
from softgrasp.plugin_api import (
    ClosureLayout,
    CompiledScene,
    closure_layout,
    planned_samples,
    start_targets,
    stiffness_feedback,
)

DEVICE = "SOFTGRASP_WARP_DEVICE"
"""Environment variable with the device: ``cpu``, ``cuda`` or ``cuda:1``; the first GPU by default,
and the CPU without one."""
CAPACITY = "SOFTGRASP_WARP_CONTACTS"
"""Environment variable with the number of contacts a world for which there is memory."""
CONTACTS, SPARE_ROWS = 96, 64
"""Default number of contacts a world, and constraint rows beyond theirs and those of limits."""
CHECK_SAMPLES = 64
"""Control samples between two checks whether all worlds have ended."""
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
    """Return the device to use, as ``SOFTGRASP_WARP_DEVICE`` or the machine has it.

    Raises:
        BackendUnavailable: Warp has no such device.
    """
    with _quiet():
        warp.init()
        name = os.environ.get(DEVICE) or ("cuda:0" if warp.get_cuda_device_count() else "cpu")
        try:
            return str(warp.get_device(name).alias)
        except (ValueError, RuntimeError):
            known = ", ".join(device.alias for device in warp.get_devices())
            raise BackendUnavailable(f"{DEVICE}: no device '{name}'; there are: {known}") from None


def _capacity() -> int:
    """Return the contacts a world for which there is memory."""
    text = os.environ.get(CAPACITY) or str(CONTACTS)
    if not text.isdecimal():
        raise DescriptionError(f"expected a number of contacts, found '{text}'", field=CAPACITY)
    return int(text)


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep Warp from printing which kernels it loads."""
    before = warp.config.log_level
    warp.config.log_level = max(before, warp.LOG_WARNING)
    try:
        yield
    finally:
        warp.config.log_level = before


def overflow_sentence(text: str) -> str:
    """Return the message about a world with too many contacts.

    Args:
        text: What there was too much of.
    """
    return (
        f"the grasp needs more {text} than the backend warp has memory for; its forces are not to "
        f"be trusted: set {CAPACITY} to more than {CONTACTS} contacts a world, or use the backend "
        "mujoco"
    )


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
        """Return what a world had too much of, as words; empty where nothing overflowed."""
        bits = int(self.loop["overflow"][world])
        return " and ".join(text for bit, text in OVERFLOWS if bits & int(bit))

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
        built: Sequence[CompiledScene],
        *,
        device: str | None = None,
        contacts: int | None = None,
        recorded: bool = False,
    ) -> None:
        """Put the worlds on the device, in their start states.

        Args:
            built: The scenes.
            device: Device of Warp; see ``default_device``.
            contacts: Contacts for which there is memory, a world in the mean; by default
                ``SOFTGRASP_WARP_CONTACTS``, or ``CONTACTS``.
            recorded: Whether to record time series.

        Raises:
            BackendUnavailable: There is no such device.
            BuildError: MuJoCo Warp cannot simulate the model; says why.
            DescriptionError: The number of contacts is not positive.
        """
        contacts = _capacity() if contacts is None else contacts
        if contacts < 1:
            raise DescriptionError(f"expected at least 1, found {contacts}", field="contacts")
        self._built, self.size = built, len(built)
        self.device = device or default_device()
        self._layouts = [closure_layout(one) for one in built]
        self._longest = max(planned_samples(one.scene) for one in built)
        self._loads = test_loads(built[0])
        with _quiet(), warp.ScopedDevice(self.device):
            self._put(contacts)
            self._make_structs(recorded)

    @property
    def max_rows(self) -> int:
        """Largest number of control samples of a world."""
        return self._longest + len(self._loads)

    def run(
        self, samples: int | None = None, progress: Callable[[float], None] | None = None
    ) -> None:
        """Simulate all worlds to their ends, or some samples more.

        Args:
            samples: Control samples; all by default.
            progress: Called with the simulated time [s] from time to time.
        """
        period = self._built[0].scene.control_period
        with _quiet(), warp.ScopedDevice(self.device):
            # a sample that is stepped again takes two
            remaining = 2 * self.max_rows - self.row if samples is None else samples
            while remaining > 0:
                chunk = min(CHECK_SAMPLES, remaining)
                self._advance(chunk)
                remaining -= chunk
                if progress is not None:
                    progress(self.row * period)
                if (self._loop.phase.numpy() >= kernels.ENDED).all():
                    return

    def outcome(self) -> Outcome:
        """Copy what was recorded to the host."""
        log = _fields(kernels.Log, self._log) if self._log.qpos.shape[0] else {}
        solref: Array = self._model.pair_solref.numpy()
        return Outcome(
            _fields(kernels.Loop, self._loop), _fields(kernels.Summary, self._summary), log, solref
        )

    # State on the device

    def _put(self, contacts: int) -> None:
        first = self._built[0].model
        model = copy(first)
        model.opt.disableflags &= ~int(mujoco.mjtDisableBit.mjDSBL_AUTORESET)
        differing = [
            name
            for name in PER_WORLD
            if any(not _equal(first, one.model, name) for one in self._built[1:])
        ]
        sizes = dict.fromkeys({*differing, "pair_solref", "pair_friction"}, self.size)
        try:
            self._model = mujoco_warp.put_model(model, batch_sizes=sizes)
            self._data = mujoco_warp.make_data(
                model, self.size, nconmax=contacts, njmax=_constraint_rows(model, contacts)
            )
        except (NotImplementedError, ValueError) as error:
            raise BuildError(f"hand: MuJoCo Warp refuses the model: {error}") from error
        self._model.opt.warn_overflow = 0
        for name in sizes:
            target = getattr(self._model, name)
            values = np.stack([getattr(one.model, name) for one in self._built])
            target.assign(values.reshape(target.numpy().shape).astype(np.float32))
        gravity = np.stack([one.model.opt.gravity for one in self._built])
        self._model.opt.gravity = warp.array(gravity, dtype=warp.vec3)
        start = np.stack([one.model.key_qpos[0] for one in self._built])
        self._data.qpos.assign(start.astype(np.float32))
        self.row = 0
        """Control samples so far."""

    def _make_structs(self, recorded: bool) -> None:
        layout, model = self._layouts[0], self._built[0].model
        sizes = {
            "nw": self.size, "nb": len(layout.bodies), "nd": model.nu, "nq": model.nq,
            "nv": model.nv, "np": model.npair, "ng": model.ngeom,
            "rows": self.max_rows if recorded else 0,
            "nf": layout.force_sum.shape[1],
        }  # fmt: skip
        self._law = _law(self._built, self._layouts, self._loads)
        self._loop = _loop(self._built, sizes)
        self._summary = _summary(sizes)
        self._log = _log(sizes)
        self._stiffness = _stiffness(self._built, sizes)
        self._switches = any(one.switching for one in self._built)

    # Steps

    def _advance(self, samples: int) -> None:
        for _ in range(samples):
            if self.row:
                for _ in range(self._layouts[0].substeps):
                    mujoco_warp.step(self._model, self._data)
                    if self._switches:
                        self._switch_friction()
            self._evaluate()
            self.row += 1

    def _evaluate(self) -> None:
        """Evaluate a control sample: control law, contacts, stiffness."""
        data, contact, size = self._data, self._data.contact, self.size
        warp.launch(kernels.control, size, [
            self._law, self._loop, self._summary, self._log, data.qpos, data.qvel,
            data.qacc_warmstart, data.sensordata, data.overflow, data.ctrl,
            self._model.opt.gravity,
        ])  # fmt: skip
        if not self.row:
            return
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
        pairs = (self.size, self._built[0].model.npair)
        warp.launch(kernels.switch_friction, pairs, [self._stiffness, self._model.pair_friction])


def _equal(one: mujoco.MjModel, other: mujoco.MjModel, name: str) -> bool:
    return np.array_equal(getattr(one, name), getattr(other, name))


def _constraint_rows(model: mujoco.MjModel, contacts: int) -> int:
    """Return the number of constraint rows of a world for which there is memory."""
    dimension = int(model.pair_dim.max(initial=3))
    return int(dimension * contacts + 2 * model.nv + 6 * model.neq) + SPARE_ROWS


def _fields(kind: Any, struct: Any) -> dict[str, Array]:
    """Copy the arrays of a struct to the host."""
    return {name: getattr(struct, name).numpy() for name in _variables(kind)}


def _variables(kind: Any) -> dict[str, Any]:
    """Return the arrays of a struct by name."""
    variables: dict[str, Any] = kind.vars
    return variables


def _filled(value: float, shape: tuple[int, ...], dtype: Any) -> Any:
    return warp.full(shape, value=value, dtype=dtype)


def _law(built: Sequence[CompiledScene], layouts: Sequence[ClosureLayout], loads: Array) -> Any:
    """Make the constants of the closed loops."""
    law, first, scene = kernels.Law(), layouts[0], built[0].scene
    bodies, actuators = len(first.bodies), built[0].model.nu
    law.threshold, law.samples = first.threshold, first.samples
    law.first_force, law.slots = first.first_force, sum(first.object_slots)
    law.bodies, law.actuators = bodies, actuators
    law.object_qpos = object_address(built[0].model)
    law.loads = warp.array(loads.astype(np.float32), dtype=warp.vec3)
    held = 0.0 if scene.success is None else scene.success.hold_time
    law.stays_on = int(scene.closure.stays_on)
    law.late = min(max(round(CREEP_FRACTION * held / scene.control_period), 1), len(loads))
    law.joint = warp.array(first.joint_of_actuator.astype(np.int32), dtype=int)
    stops = np.zeros((actuators, bodies), dtype=np.int32)
    leads = -np.ones((len(built), actuators, bodies))
    for d, stopping in enumerate(first.stops):
        stops[d, list(stopping)] = 1
        for world, layout in enumerate(layouts):
            for body, lead in zip(stopping, layout.leads[d], strict=False):
                leads[world, d, body] = lead
    law.stops = warp.array(stops, dtype=int)
    law.leads = warp.array(leads, dtype=warp.float64)
    for name in ("increments", "lower", "upper"):
        values = np.stack([getattr(layout, name) for layout in layouts])
        setattr(law, name, warp.array(values, dtype=warp.float64))
    longest = [planned_samples(one.scene) for one in built]
    law.max_samples = warp.array(np.array(longest, dtype=np.int32), dtype=int)
    law.idle_limit = warp.array(np.array([_idle_limit(one) for one in built], np.int32), dtype=int)
    return law


def _idle_limit(built: CompiledScene) -> int:
    """Return the samples without motion after which a closure ends."""
    scene = built.scene
    if scene.duration is not None:
        return planned_samples(scene) + 1
    return max(round(scene.settling_time / scene.control_period), 1)


def _loop(built: Sequence[CompiledScene], sizes: dict[str, int]) -> Any:
    """Make the variables of the closed loops at their start."""
    loop = kernels.Loop()
    _fill(loop, kernels.Loop, sizes, {
        "touched": "nb", "counts": "nb", "active": "nb", "changes": "nb", "free": "nd",
        "targets": "nd", "qpos": "nq", "qvel": "nv",
    })  # fmt: skip
    loop.targets = warp.array(
        np.stack([start_targets(one.scene) for one in built]), dtype=warp.float64
    )
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


def _stiffness(built: Sequence[CompiledScene], sizes: dict[str, int]) -> Any:
    """Make the variables of stiffness feedback and switching friction."""
    state, model, worlds = kernels.Stiffness(), built[0].model, len(built)
    discrete = model.opt.integrator == mujoco.mjtIntegrator.mjINT_DISCRETE
    state.step = float(model.opt.timestep) if discrete else 0.0
    pair = -np.ones((sizes["ng"], sizes["ng"]), dtype=np.int32)
    geoms = (model.pair_geom1, model.pair_geom2)
    pair[geoms] = pair[geoms[::-1]] = np.arange(sizes["np"])
    described, critical = np.zeros((worlds, sizes["np"])), -np.ones((worlds, sizes["np"]))
    coefficients = np.zeros((worlds, sizes["np"], 2))
    for index in range(sizes["np"]):
        name = model.pair(index).name
        for world, one in enumerate(built):
            described[world, index] = one.stiffness.get(name, 0.0)
            if name in one.switching:
                contact = one.switching[name]
                critical[world, index] = contact.critical_velocity
                coefficients[world, index] = contact.static_friction, contact.kinetic_friction
    owner = [model.body(int(body)).name for body in model.geom_bodyid]
    bodies = {body: index for index, body in enumerate(built[0].bodies)}
    hand = np.array([bodies.get(body, -1) for body in owner], dtype=np.int32)
    is_object = np.array([body == names.OBJECT for body in owner], dtype=np.int32)
    state.pair, state.hand = warp.array(pair, dtype=int), warp.array(hand, dtype=int)
    state.is_object = warp.array(is_object, dtype=int)
    state.described = warp.array(described, dtype=warp.float64)
    state.forces = warp.zeros(described.shape, dtype=warp.float64)
    state.depths = warp.zeros(described.shape, dtype=warp.float64)
    state.touching = warp.zeros(described.shape, dtype=int)
    state.critical = warp.array(critical, dtype=float)
    state.coefficients = warp.array(coefficients, dtype=float)
    state.sliding = _filled(-1, described.shape, int)
    return state
