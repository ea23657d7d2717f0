"""State of the closed loop: constants of a scene, debounced contacts and targets, recorded rows.

``ClosureLayout`` holds what is constant during a run (actuator limits and increments, addresses in
MuJoCo's arrays), ``ClosureState`` what the controller carries from one control sample to the next,
``Recording`` one row per control sample. The control laws are in ``laws``, the loop is in
``stepper``. An actuator is a joint of a rigid finger, the pressure of a soft finger, or the wrist.

The engine state and the recording of a run take some megabytes, which the operating system provides
page by page; for a grasp of a second that costs more than its controller. ``Workspace`` keeps them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass
from functools import lru_cache

import mujoco
import numpy as np
from numpy.typing import NDArray

from softgrasp.description.hand import Hand
from softgrasp.mechanics.hand_kinematics import contact_arms
from softgrasp.mechanics.transforms import Array
from softgrasp.model import names
from softgrasp.model.compile import sizes_of
from softgrasp.model.contact_sensors import contact_layout
from softgrasp.model.scene import CompiledScene
from softgrasp.sim.laws import DebouncedFlags
from softgrasp.sim.pressures import LaggedPressure, PressureLags, Stiffening

Integers = NDArray[np.int64]
SEPARATION_FACTOR = 10
"""An actuator that presses slowly speeds up again when a body was without force for this many times
the samples that establish contact. It must outlast a bounce: with less, fingers hit again and again
and never press."""
LIGHT_TOUCH_FACTOR = 5
"""Targets backtrack at touches without established contact for this many times the samples that
establish contact; with more, a finger that chatters would never press."""
EXCESS_RATIO = 1.02
"""Force over the requested one from which the targets of a finger move back, to this much below."""
MAX_RELIEFS = 4
"""Number of times that the targets of a finger move back before no touching finger closes further:
others oppose it, and would push the object past it."""
IN_VAIN = 16
"""Number of times after which the targets of all touching fingers move back, not of one alone."""
SMALLEST_MOBILITY = 1e-3
"""Smallest inverse mass of two bodies that touch, for those that cannot move [1/kg]."""
RELEASE_RATIO = 0.9
"""Fraction of the requested force below which a stopped actuator continues. Without this band
fingers that share a load advance alternately and push the object along."""
STATE = mujoco.mjtState.mjSTATE_INTEGRATION
"""Parts of MuJoCo's state that decide the next step, the solver's warm start included."""
ROWS = ("time", "qpos", "control", "force", "in_contact")
"""Fields of a recording, one row per control sample."""


@dataclass(frozen=True)
class ClosureLayout:
    """Constants of the closed loop: nd actuators, nb bodies of the hand that can touch."""

    threshold: float
    """Contact threshold [N]."""
    samples: int
    """Consecutive samples that establish contact."""
    stop_force: float | None
    """Normal force at which actuators stop [N]; None where contact itself stops them."""
    torque_limits: Array | None
    """Servo torques at which actuators stop, infinite where none does, (nd,) [N·m or N]."""
    approach_speed: Array
    """Speed at which a body may touch the object where actuators stop at a force, (nb,) [m/s]."""
    contact_rate_scale: float
    """Factor on the increment of an actuator in contact [–]."""
    increments: Array
    """Increment of each target per control sample, (nd,) [rad, m or Pa]."""
    lower: Array
    upper: Array
    """Limits of the targets, (nd,) [rad, m or Pa]."""
    bodies: tuple[str, ...]
    """Names of the bodies, (nb,)."""
    stops: tuple[tuple[int, ...], ...]
    """Indices of the bodies whose contact stops each actuator, (nd,)."""
    leads: tuple[tuple[float, ...], ...]
    """Largest lead of a stopped servo's target over its joint where each of these bodies is the
    outermost in contact, (nd,) [rad or m]; none without a grip force."""
    qpos_of_actuator: Integers
    dof_of_actuator: Integers
    """Addresses of the joints under prescribed actuation, (nd,); else empty."""
    joint_of_actuator: Integers
    """Address in ``qpos`` of the joint of each actuator, −1 without a joint, (nd,)."""
    qpos_of_joint: Integers
    """Addresses in ``qpos`` of all recorded joints."""
    force_sum: Array
    """Matrix from contact sensors to normal forces of bodies, (nb, nf)."""
    object_slots: tuple[int, ...]
    """Contacts that a body can report with each object."""
    first_force: int
    """Address of the first contact sensor in ``sensordata``."""
    substeps: int
    """Physics steps per control sample."""
    timestep: float
    """Time step [s]."""
    control_period: float
    """Control period [s]."""
    actuator_bias: Array
    """``actuator_biasprm`` as described, without what a time step adds, (nu, 10)."""
    prescribed: bool
    """Whether joints follow their targets exactly."""
    feels: bool
    """Whether contact is detected by tactile sensors instead of true forces."""
    lags: PressureLags | None = None
    """Lags of pressures; None where none lags."""
    stiffening: Stiffening | None = None
    """Stiffness that depends on pressures; None where none does."""

    def body_forces(self, sensors: Array) -> Array:
        """Sum the normal forces of the contacts of each body, always in the same order.

        Args:
            sensors: Contact sensors, (…, nf) [N].

        Returns:
            Shape (…, nb) [N]; a view where a body reports one contact.
        """
        slots = sum(self.object_slots)
        forces = sensors[..., :: 3 * slots]
        for slot in range(1, slots):
            forces = forces + sensors[..., 3 * slot :: 3 * slots]
        return forces


def closure_layout(built: CompiledScene) -> ClosureLayout:
    """Collect the constants of the closed loop of a compiled scene."""
    scene, model = built.scene, built.model
    actuators = names.scene_actuators(scene)
    carried = len(actuators) - len(scene.rates)  # the wrist waits until the hand has closed
    body_indices = {body: index for index, body in enumerate(built.bodies)}
    stops = [tuple(body_indices[body] for body in actuator.stops) for actuator in scene.actuators]
    prescribed = scene.actuation == "prescribed"
    first, slots, force_sum = contact_layout(model, built.bodies, 1 + len(scene.objects))
    limits = np.array([*scene.limits, *[(0.0, np.inf)] * carried])
    moved = [d.joint or d.name for d in scene.actuators] + actuators[len(scene.actuators) :]
    joints = [model.joint(name) for name in moved if prescribed]
    return ClosureLayout(
        threshold=scene.closure.threshold,
        samples=scene.closure.samples,
        stop_force=scene.closure.stop_force,
        torque_limits=None
        if scene.closure.torque_limit is None
        else _torque_limits(built, carried),
        approach_speed=_approach_speed(built),
        contact_rate_scale=scene.closure.contact_rate_scale,
        increments=np.array([*scene.rates, *[0.0] * carried]) * scene.control_period,
        lower=limits[:, 0],
        upper=limits[:, 1],
        bodies=tuple(built.bodies),
        stops=(*stops, *[()] * carried),
        leads=(*_grip_leads(built), *[()] * carried),
        qpos_of_actuator=np.array([joint.qposadr[0] for joint in joints], dtype=np.int64),
        dof_of_actuator=np.array([joint.dofadr[0] for joint in joints], dtype=np.int64),
        joint_of_actuator=_joint_of_actuator(built, carried),
        qpos_of_joint=np.array([model.joint(j).qposadr[0] for j in names.scene_joints(scene)]),
        force_sum=force_sum,
        object_slots=slots,
        first_force=first,
        substeps=round(scene.control_period / model.opt.timestep),
        timestep=float(model.opt.timestep),
        control_period=scene.control_period,
        actuator_bias=built.start.actuator_biasprm,
        prescribed=prescribed,
        feels=scene.closure.sense == "sensor",
        lags=PressureLags.of(scene, limits),
        stiffening=Stiffening.of(built),
    )


def _approach_speed(built: CompiledScene) -> Array:
    """Return limit/(D + √(K·m)), with m the mass of a body and the object in touch, (nb,) [m/s]."""
    limit, contact, model = built.scene.closure.stop_force, built.contact, built.model
    if limit is None or not contact.converted:
        return np.full(len(built.bodies), np.inf)
    weights = model.body_invweight0[:, 0]
    hand = weights[[model.body(name).id for name in built.bodies]]
    mobility = np.maximum(hand + weights[model.body(names.OBJECT).id], SMALLEST_MOBILITY)
    return np.asarray(limit / (contact.damping + np.sqrt(contact.stiffness / mobility)))


def _grip_leads(built: CompiledScene) -> tuple[tuple[float, ...], ...]:
    """Return grip force · arm / servo stiffness of the bodies that stop each actuator, (nd,).

    The arm is the distance from the joint to the end of the body's link in the hand's start
    posture. An actuator that is no servo of one joint, or a prescribed one, which has no gain, has
    no limit.
    """
    scene, model = built.scene, built.model
    force, hand = scene.closure.grip_limit(scene.hand), scene.hand
    if force is None:
        return ((),) * len(scene.actuators)
    arms, leads = _start_arms(hand), []
    for actuator in scene.actuators:
        gain, bias = (getattr(model.actuator(actuator.name), f"{n}prm") for n in ("gain", "bias"))
        servo = actuator.joint in arms and gain[0] > 0.0 and bias[1] == -gain[0]
        joint = arms[str(actuator.joint)] if servo else {}
        bodies = actuator.stops if servo else ()
        leads.append(tuple(force * joint.get(body, np.inf) / float(gain[0]) for body in bodies))
    return tuple(leads)


@lru_cache(maxsize=16)
def _start_arms(hand: Hand) -> dict[str, dict[str, float]]:
    """Return the contact arms of a hand in its start posture."""
    return contact_arms(hand, hand.posture([actuator.start for actuator in hand.actuators]))


def _torque_limits(built: CompiledScene, carried: int) -> Array:
    limits = [
        built.model.actuator(actuator.name).forcerange[1] if actuator.joint is not None else np.inf
        for actuator in built.scene.actuators
    ]
    return np.array([*limits, *[np.inf] * carried])


def _joint_of_actuator(built: CompiledScene, carried: int) -> Integers:
    joints = [actuator.joint for actuator in built.scene.actuators] + [None] * carried
    addresses = [-1 if name is None else built.model.joint(name).qposadr[0] for name in joints]
    return np.array(addresses, dtype=np.int64)


@dataclass
class ClosureState:
    """Actuator targets and contact flags of a running closure: nd actuators, nb bodies."""

    targets: Array
    """Targets of the last sample [rad, m or Pa], (nd,)."""
    contact: DebouncedFlags
    """Established contacts of bodies."""
    separated: DebouncedFlags
    """Bodies without any force for long enough; one sample with a force ends that. Used, as all
    fields up to ``gripping``, where actuators stop at a force."""
    pressing: list[int]
    """1 for a body from established contact until it has separated: its actuators press slowly."""
    light: list[int]
    """1 for a body that touches and does not press yet: its actuators backtrack."""
    light_counts: list[int]
    """Samples of such a touch since the body was separated."""
    gripped: DebouncedFlags
    """Bodies that press with the requested force."""
    gripping: list[int]
    """1 for a body that has pressed with that force, and still does with nearly as much."""
    reliefs: list[int]
    """How often targets were moved back because a body pressed too much, (nb,)."""
    full: bool
    """Whether nothing that touches presses on, as a finger at its limit opposes the others."""
    strained: DebouncedFlags
    """Actuators at the torque at which they stop, where they do."""
    idle: int = 0
    """Control samples since a target last moved."""
    lagged: LaggedPressure | None = None
    """Where pressures lag; None before the first sample, and where none does."""

    @classmethod
    def at_start(cls, start: Sequence[float], bodies: int, samples: int = 1) -> ClosureState:
        """Return the state before the first contact.

        Args:
            start: Initial targets [rad, m or Pa], (nd,).
            bodies: Number of bodies that can touch.
            samples: Consecutive samples that establish contact.
        """
        return cls(
            np.array(start),
            contact=DebouncedFlags.initial(bodies),
            separated=DebouncedFlags.initial(bodies, SEPARATION_FACTOR * samples),
            pressing=[0] * bodies,
            light=[0] * bodies,
            light_counts=[0] * bodies,
            gripped=DebouncedFlags.initial(bodies),
            gripping=[0] * bodies,
            reliefs=[0] * bodies,
            full=False,
            strained=DebouncedFlags.initial(len(start)),
        )

    @property
    def in_contact(self) -> list[int]:
        """1 where contact of a body is established, (nb,)."""
        return self.contact.active

    def copy(self) -> ClosureState:
        """Return an independent copy."""
        return deepcopy(self)


@dataclass
class Peaks:
    """Largest normal force of each body in any physics step so far: nb bodies."""

    force: Array
    """(nb,) [N]"""
    row: Integers
    """Row of the control sample at whose end, or before which, it acted, (nb,)."""
    timestep: Array
    """Time step with which it was computed, (nb,) [s]."""

    @classmethod
    def of(cls, bodies: int) -> Peaks:
        """Return peaks of zero."""
        return cls(np.zeros(bodies), np.zeros(bodies, dtype=np.int64), np.zeros(bodies))

    def update(self, forces: Array, timestep: float, row: int, substeps: int = 1) -> None:
        """Add the forces of consecutive physics steps.

        Args:
            forces: Normal forces, (n, nb) [N].
            timestep: Time step [s].
            row: Row of the first control sample.
            substeps: Forces of a control sample.
        """
        largest = np.maximum.reduce(forces)
        for body in (largest > self.force).nonzero()[0].tolist():
            self.force[body], self.timestep[body] = largest[body], timestep
            self.row[body] = row + int(forces[:, body].argmax()) // substeps


@dataclass
class Recording:
    """Time series of a run, one row per control sample; memory grows by doubling."""

    time: Array
    qpos: Array
    control: Array
    force: Array
    """Values of the contact sensors, (T, nb·slots·3) [N]."""
    in_contact: NDArray[np.int8]
    rows: int = 0
    """Rows that are filled."""

    @classmethod
    def empty(cls, model: mujoco.MjModel, bodies: int, width: int, rows: int) -> Recording:
        """Allocate a recording for a number of control samples."""
        return cls(
            time=np.zeros(rows),
            qpos=np.zeros((rows, model.nq)),
            control=np.zeros((rows, model.nu)),
            force=np.zeros((rows, width)),
            in_contact=np.zeros((rows, bodies), dtype=np.int8),
        )

    @property
    def capacity(self) -> int:
        """Number of rows that fit without allocating memory."""
        return len(self.time)

    def reserve(self, rows: int) -> None:
        """Allocate memory for ``rows`` more rows."""
        while self.capacity < self.rows + rows:
            for name in ROWS:
                old = getattr(self, name)
                setattr(self, name, np.concatenate([old, np.zeros_like(old)]))

    def cut(self, rows: int) -> None:
        """Discard all rows after the first ``rows``."""
        self.rows = min(self.rows, rows)


UNUSABLE = [
    int(mujoco.mjtWarning.mjWARN_BADQPOS),
    int(mujoco.mjtWarning.mjWARN_BADQVEL),
    int(mujoco.mjtWarning.mjWARN_BADQACC),
]
HARMLESS = {
    "Linesearch objective is not convex": "rounding in the solver; harmless when it is rare"
}
"""Explanations of warnings that are harmless."""


def sentences(seen: Counter[str]) -> list[str]:
    """Format the collected warnings as sentences with their counts."""
    messages = []
    for text, count in seen.items():
        times = "once" if count == 1 else f"{count} times"
        reason = next((why for known, why in HARMLESS.items() if known in text), "")
        messages.append(f"MuJoCo: {text} ({times}{'; ' + reason if reason else ''})")
    return messages


@contextmanager
def caught_warnings(seen: Counter[str] | None = None) -> Iterator[Counter[str]]:
    """Collect MuJoCo's warnings instead of letting them reach the terminal and MUJOCO_LOG.TXT.

    Args:
        seen: Where they are counted; in a new counter by default.
    """
    seen = Counter() if seen is None else seen

    def record(message: str) -> None:
        # the time in the text would make every message different
        seen[message.split(" Time = ")[0].strip().rstrip(".")] += 1

    before = mujoco.get_mju_user_warning()
    mujoco.set_mju_user_warning(record)
    try:
        yield seen
    finally:
        mujoco.set_mju_user_warning(before)


def has_diverged(data: mujoco.MjData) -> bool:
    """Whether MuJoCo has reported an invalid position, velocity or acceleration."""
    numbers = data.warning.number.tolist()
    return any(numbers[kind] > 0 for kind in UNUSABLE)


class Workspace:
    """MuJoCo state and recordings that the next run overwrites."""

    def __init__(self) -> None:
        """Start without memory."""
        self._data: mujoco.MjData | None = None
        self._sizes: tuple[int, ...] = ()
        self._recording: Recording | None = None
        self._widths: tuple[int, ...] = ()

    def data(self, model: mujoco.MjModel) -> mujoco.MjData:
        """Return a MuJoCo state for a model, to be reset; reused if the sizes are equal."""
        sizes = sizes_of(model)
        if self._data is None or sizes != self._sizes:
            self._data, self._sizes = mujoco.MjData(model), sizes
        return self._data

    def recording(self, model: mujoco.MjModel, bodies: int, width: int, rows: int) -> Recording:
        """Return a recording for a run, with zero forces; see ``Recording.empty``."""
        widths, kept = (model.nq, model.nu, bodies, width), self._recording
        if kept is None or widths != self._widths or kept.capacity < rows:
            kept = self._recording = Recording.empty(model, bodies, width, rows)
            self._widths = widths
        else:  # all other arrays are overwritten
            kept.force[:rows] = 0.0
        return Recording(*(getattr(kept, name) for name in ROWS))
