"""Result of a run: status, contact records, hold test, objects, sensor readings and time series.

``GraspResult`` is what ``simulate`` returns; the other classes are its parts. All values are
those of ``result.json`` (units in the field names) and ``trajectory.npz``, see ``result_files``.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from softgrasp.description.base import Description, Vec3, Vec4
from softgrasp.description.contact import Contact
from softgrasp.description.object import Lift
from softgrasp.description.resolved import ResolvedScene
from softgrasp.description.scene import GraspScene
from softgrasp.description.sensor import AnySensor, TactileSensor
from softgrasp.description.task import SuccessCriterion
from softgrasp.evaluation.diagnostics import ReachedForce
from softgrasp.evaluation.outcome import GraspStatus, Outcome, OutcomeReason, outcome_of
from softgrasp.evaluation.put_down import PutDown
from softgrasp.evaluation.time_tables import dataset_of, table_of
from softgrasp.extensions import NOTEBOOK
from softgrasp.mechanics.transforms import Array
from softgrasp.sim.load_balance import LoadBalance, first_unborne
from softgrasp.sim.run_record import ContactEvent
from softgrasp.sim.sensors import channels_of
from softgrasp.sim.stiffness_feedback import PairContact
from softgrasp.sim.suction import SuctionEvent

if TYPE_CHECKING:
    import pandas as pd
    import xarray

    from softgrasp.evaluation.quality_log import QualityLog


Names = NDArray[np.str_]
TRAJECTORY_KEYS = (
    "time",
    "joint_names",
    "joint_position",
    "actuator_names",
    "joint_target",
    "object_position",
    "object_quat_wxyz",
    "contact_bodies",
    "normal_force",
    "friction_force",
    "in_contact",
)
"""Arrays of ``trajectory.npz``, one row per control period where they have a time axis."""
SOFT_KEYS = ("pressure", "curvature")
"""Arrays that a hand with soft fingers adds."""
OBJECTS_KEYS = ("object_names", "object_positions", "object_quats_wxyz", "object_normal_force")
"""Arrays that further objects add."""
SENSOR_KEYS = ("sensor_names", "sensor_values", "sensor_truth")
"""Arrays that sensors add."""
ADDED_KEYS = (*SOFT_KEYS, "vacuum", *OBJECTS_KEYS, "object_nodes", *SENSOR_KEYS)
"""Arrays that are present where they apply."""

ROUNDING = 1e-3
"""Relative tolerance in the comparison of two time steps."""


class BodyContact(Description):
    """The contact history of one body of the hand; forces are those at the end.

    Of several objects that a body touches, they are those on the one that it presses hardest.
    """

    body: str
    finger: str
    phalanx: str
    object: str | None = None
    """Name of the object that it touches, or touched last; None where it never did."""
    first_touch_s: float | None
    established_s: tuple[float, ...]
    lost_s: tuple[float, ...]
    normal_force_N: float
    friction_force_N: float
    point_m: Vec3 | None
    normal: Vec3 | None
    slip_speed_m_s: float

    @property
    def in_contact(self) -> bool:
        """Whether contact is established at the end."""
        return len(self.established_s) > len(self.lost_s)


class OtherContact(Description):
    """A contact at the end of the run that is not between the hand and an object."""

    first: str
    """Name of an object, or body of the hand."""
    second: str
    """Name of a later object, of a part of the surroundings, or of a later body of the hand."""
    point_m: Vec3
    """Centre of pressure in the world."""
    normal: Vec3
    """Unit normal into the second one."""
    normal_force_N: float
    """Sum over its points."""
    friction_force_N: float
    """Sum over its points."""
    force_N: Vec3
    """Total force on the second one in the world; on the first one it is opposite."""
    separation_m: float
    """Negative where the two overlap; the deepest point's."""


class SaturatedActuator(Description):
    """An actuator that was at its force limit at the end."""

    actuator: str
    force: float
    """Its torque or force [N·m or N]."""


class ContactModel(Description):
    """Requested contact parameters, those set in MuJoCo, and stiffness measured at the end."""

    requested: Contact
    """As the scene states it."""
    used: Contact
    """As requested, or softer where the time step needed it and that was allowed."""
    measured_stiffness_N_m: dict[str, float]
    """Normal force over penetration of each pair in contact at the end."""
    set_stiffness_N_m: dict[str, float] = Field(default_factory=dict)
    """Set stiffness of these pairs, where it differs from the scene's contact."""

    integrator: str
    timestep_s: float
    """Time step; while contacts begin and end the physics takes those of ``fine_timesteps_s``."""
    fine_timesteps_s: tuple[float, ...] = ()
    pairs: tuple[PairContact, ...] = ()
    """What acted in every pair that touched; empty for other engines than MuJoCo and native
    contacts."""
    saturated: tuple[SaturatedActuator, ...] = ()
    """Actuators at their force limits at the end."""

    @property
    def steps_text(self) -> str:
        """Time steps as text: ``1 ms, 0.01 ms while contacts begin and end``."""
        text = f"{1e3 * self.timestep_s:g} ms"
        if not self.fine_timesteps_s:
            return text
        return f"{text}, {1e3 * min(self.fine_timesteps_s):g} ms while contacts begin and end"

    @property
    def impact_timestep_s(self) -> float | None:
        """Step that resolves the first touch of every pair [s]; None where that of the run does."""
        shortest = min((*self.fine_timesteps_s, self.timestep_s))
        step = min((pair.impact_timestep_s for pair in self.pairs), default=shortest)
        return step if step < shortest else None

    @property
    def moving(self) -> tuple[PairContact, ...]:
        """Pairs that touch and are not at rest at the end."""
        return tuple(pair for pair in self.pairs if pair.touching and not pair.at_rest)

    def set_stiffness(self, pair: str) -> float:
        """Return the stiffness that was set for a pair of bodies [N/m]."""
        return self.set_stiffness_N_m.get(pair, self.used.stiffness)


class PeakForce(Description):
    """The largest normal force of a body of the hand on objects in a run."""

    body: str
    force_N: float
    time_s: float
    """Control sample at whose end, or before which, it acted."""
    every_step: bool
    """Whether forces were compared at every physics step, or at control samples only."""
    timestep_s: float
    """Step of the physics with which it was computed."""
    resolving_timestep_s: float | None = None
    """Step up to which a first touch of this body is resolved within 15 %; None where not known."""

    @property
    def resolved(self) -> bool:
        """Whether it is within 15 % of that at a shorter step."""
        limit = self.resolving_timestep_s
        return self.every_step and limit is not None and self.timestep_s <= limit * (1.0 + ROUNDING)

    @property
    def doubt(self) -> str:
        """Reason why it is not resolved, for a sentence; empty where it is."""
        if self.resolved:
            return ""
        if not self.every_step:
            return "not resolved: compared at control samples only, too low"
        limit = self.resolving_timestep_s
        if limit is None:
            return "resolution not known: the contact has no damping in N·s/m"
        step = f"the time step of {1e3 * self.timestep_s:.3g} ms"
        return f"not resolved at {step}, too low: a first touch needs {1e3 * limit:.2g} ms"


class PhaseSpan(Description):
    """Time span of a part of a run: closure, phase of a sequence, hold test, or push."""

    name: str
    start_s: float
    end_s: float
    stopped_by_N: float | None = None
    """Force on hand and object at which a guarded move stopped; None where it did not."""


class DirectionTest(Description):
    """Motion of the object in the hand under one push of a hold test."""

    name: str
    """``+x``, or the unit vector."""
    acceleration: Vec3
    """In the world [m/s²]."""
    force_N: float
    """Acceleration times the object's mass."""
    start_s: float
    end_s: float
    """Earlier than requested where a limit was exceeded."""
    drop_m: float
    """Largest distance of its centre from the closed state, in the frame of the palm."""
    rotation_rad: float
    contacts: int
    """Bodies of the hand in contact at the end."""
    held: bool
    balance: LoadBalance | None = None
    """What bore the load at its end; None where it ended early."""


class PullTest(Description):
    """Force that was needed to pull the object out of the hand."""

    name: str
    """Name of the direction: ``+x``, or the unit vector."""
    slip_force_N: float | None = None
    """Force from which all contacts slipped; None where they did not."""
    largest_force_N: float
    """Largest force that was applied."""
    friction_N: float
    """Sum of µ·N over all contacts of the closed hand: Coulomb's bound where all of them resist
    along the pull and none presses more while it grows."""
    rate_N_s: float
    """Rate of the force, from zero."""
    start_s: float
    end_s: float
    drop_m: float
    """Displacement of the object's centre in the palm frame until it slipped, or until the end."""
    held: bool | None = None
    """Whether it withstood the required minimum force; None where none was required."""


class OtherHeld(Description):
    """Motion of a further object in the hand, which does not decide whether a test is passed."""

    name: str
    drop_m: float
    rotation_rad: float


class HoldPart(Description):
    """State at the end of a part of a hold test: load, and deviation of the palm."""

    name: str
    end_s: float
    balance: LoadBalance | None = None
    """What bore the load; None where the engine does not measure it."""
    sag_m: float | None = None
    """Displacement of the palm, at the object's place in it, from where the targets of wrist and
    arm put it, at the end, since the test began; None where these targets are not known."""
    lag_m: float | None = None
    """Largest such displacement during the part."""
    miss_m: float | None = None
    """The sag at the end of a motion of the wrist that was not carried out; None where it was."""
    wrist_force_N: float | None = None
    """Force of the servos of the wrist's sliding joints; None without any."""


class HoldTest(Description):
    """Motion of the object in the hand from the end of the closure on, and what bore its load.

    Numbers are the largest of all parts after the closure and of all pushes. Of several objects
    the one to be grasped decides.
    """

    drop_m: float
    """Largest distance of its centre from where the test began, in the frame of the palm."""
    rotation_rad: float
    """Largest rotation since the test began."""
    weight_N: float
    start_s: float
    load_m_s2: float | None = None
    """Largest load per mass of the object: gravity, pushes, pulls, and the inertia of motions."""
    inertia_m_s2: float = 0.0
    """Part of it that is the commanded acceleration of the wrist."""
    within_limits: bool | None = None
    """Whether all limits of the criterion were met, whatever bore the load."""
    parts: tuple[HoldPart, ...] = ()
    """Parts after the closure, without pushes and pulls."""
    sag_m: float | None = None
    """Largest sag at the end of a part."""
    lag_m: float | None = None
    """Largest lag of the palm behind the targets of its carrier during the test."""
    creep_m_s: float
    """Mean speed in the hand over the last quarter of the time under full load or at the top; where
    the last part is none of these, over its last quarter, and of a shake over its last cycle."""
    lifted_m: float | None = None
    """Rise of the object during the test, where it was to be lifted."""
    failed_in: str | None = None
    """First part of the run, or push, in which a limit was exceeded."""
    failed_s: float | None = None
    """Time at which it was exceeded."""
    directions: tuple[DirectionTest, ...] = ()
    pulls: tuple[PullTest, ...] = ()
    others: tuple[OtherHeld, ...] | None = None
    """Further objects; None without them."""

    def is_borne(self, max_support: float) -> tuple[bool | None, LoadBalance | None]:
        """Return whether the hand bore the load, and what is against it; see ``first_unborne``."""
        parts = [part.balance for part in self.parts]
        pushes = [test.balance for test in self.directions]
        return first_unborne(parts, pushes, max_support)


class ObjectMotion(Description):
    """Initial and final pose of an object in the world."""

    name: str
    initial_position_m: Vec3
    final_position_m: Vec3
    initial_quat_wxyz: Vec4
    final_quat_wxyz: Vec4
    displacement_m: Vec3
    rotation_rad: Vec3
    """Rotation since the start about (x, y, z) of intrinsic z-y-x."""


class SoftFingerEnd(Description):
    """Pressure, curvature and discretisation error of a soft finger at the end of a run."""

    finger: str
    pressure_Pa: float
    curvature_1_m: float
    """Bending angle from base to tip over the length."""
    discretisation_error_m: float | None
    """Distance of the tip of its chain of links from that of the continuous beam, at this pressure
    without contact; see ``Equilibrium.discretisation_error``."""


def _log(name: str, doc: str) -> property:
    """Make a property that returns an array of the quality log; None in a result without one."""

    def read(result: GraspResult) -> NDArray[Any] | None:
        log = result.quality_log
        return None if log is None else getattr(log, name)

    return property(read, doc=doc)


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class GraspResult:
    """Result of a finished run, arrays read-only; T control samples, nj joints, nb bodies."""

    scene: GraspScene
    backend: dict[str, str]
    """``name`` and ``version`` of the engine."""
    status: GraspStatus
    held: bool | None
    """Whether the object was held in the hold test; None without a hold test."""
    simulated_time: float
    """Simulated time [s]."""
    wall_time: float
    """Wall time [s]."""
    build_time: float = 0.0
    """Wall time until the model was compiled; 0 in a result that was read [s]."""
    contacts: tuple[BodyContact, ...]
    events: tuple[ContactEvent, ...]
    objects: tuple[ObjectMotion, ...]
    contact_model: ContactModel
    hold: HoldTest | None
    put_down: PutDown | None = None
    """How the object was put down, and where it rests; None where the hand kept it."""
    reached_forces: tuple[ReachedForce, ...] = ()
    """Force of every finger in contact at the end of a force-limited closure, with its limit."""
    peaks: tuple[PeakForce, ...] = ()
    """Largest normal force of each body of the hand that touched an object."""
    soft_fingers: tuple[SoftFingerEnd, ...] = ()
    suction_events: tuple[SuctionEvent, ...] = ()
    """Seals and breaks of suction cups, those in pushes and pulls of a hold test included."""
    phases: tuple[PhaseSpan, ...] = ()
    """Parts of the run, in order."""
    other_contacts: tuple[OtherContact, ...] = ()
    """Contacts at the end between objects, and of all with the surroundings."""
    closing_contacts: tuple[OtherContact, ...] = ()
    """The same at the end of the closure, where the run goes on."""
    hand_contacts: tuple[OtherContact, ...] = ()
    """Contacts at the end between two bodies of the hand."""
    quality_log: QualityLog | None = None
    """Contacts along the run, from which the quality of the grasp is computed at first use; None
    for a deformable object and a run that diverged."""
    warnings: tuple[str, ...]

    time: Array
    """(T,) [s]"""
    joint_names: Names
    """(nj,)"""
    joint_position: Array
    """(T, nj) [rad or m]"""
    actuator_names: Names
    """(nu,)"""
    joint_target: Array
    """Targets of all actuators, (T, nu) [rad or m, Pa for the pressure of a soft finger]."""
    object_position: Array
    """Centre of mass of the object to be grasped in the world, (T, 3) [m]."""
    object_quat_wxyz: Array
    """(T, 4)"""
    contact_bodies: Names
    """(nb,)"""
    normal_force: Array
    """Sum over the contacts of a body, (T, nb) [N]; of the physics step before each sample."""
    friction_force: Array
    """(T, nb) [N]"""
    in_contact: NDArray[np.bool_]
    """Established contact, (T, nb)."""
    pressure: Array | None = None
    """Pressure of each soft finger, (T, ns) [Pa]; None for a hand without."""
    curvature: Array | None = None
    """Mean curvature of each soft finger, its bending angle over its length, (T, ns) [1/m]."""
    vacuum: Array | None = None
    """Difference of pressure of each suction cup, (T, nc) [Pa]; None for a hand without."""
    object_names: Names | None = None
    """(no,), as the arrays below only where there are several objects, the one to be grasped
    first."""
    object_positions: Array | None = None
    """Centres of mass of all objects in the world, (T, no, 3) [m]."""
    object_quats_wxyz: Array | None = None
    """(T, no, 4)"""
    object_normal_force: Array | None = None
    """Normal force of each body of the hand on each object, (T, nb, no) [N]."""
    object_nodes: Array | None = None
    """Nodes of a deformable object in the world, (T, nn, 3) [m]; None for a rigid one."""
    sensor_names: Names | None = None
    """Channels of the scene's sensors such as ``wrist.fx``, (ns,); None without sensors."""
    sensor_values: Array | None = None
    """Sensor readings at each control sample, (T, ns) [N, N·m]."""
    sensor_truth: Array | None = None
    """The same without noise, bias, delay, saturation and quantisation, (T, ns) [N, N·m]."""
    trajectory_sha256: str = field(init=False)
    resolved: ResolvedScene | None = None
    """The scene with the origins of its values; None in results of before."""
    advice: str = ""
    """What to change where the run diverged, or why the hand was not closed."""

    def __post_init__(self) -> None:
        for name in self.trajectory():
            copied = np.array(getattr(self, name))  # a copy: the caller's array stays writeable
            copied.flags.writeable = False
            object.__setattr__(self, name, copied)
        object.__setattr__(self, "trajectory_sha256", digest(self.trajectory()))

    def __repr__(self) -> str:
        scene, object_names_text = self.scene, ", ".join(self.scene.object_names)
        return (
            f"<GraspResult {scene.hand.name} on {object_names_text}: {self.outcome.name}, "
            f"{self.simulated_time:g} s, {len(self.events)} events>"
        )

    def _repr_html_(self) -> str:
        """Show summary and motion of the object in a notebook."""
        html: str = NOTEBOOK.load("html")(self)
        return html

    def to_pandas(self) -> pd.DataFrame:
        """Return the time series as a table: columns (array, body or axis), index time [s].

        Raises:
            BackendUnavailable: pandas is not installed.
        """
        return table_of(self.trajectory(), self._soft_finger_names)

    def to_xarray(self) -> xarray.Dataset:
        """Return the time series as a dataset with named dimensions and units.

        Raises:
            BackendUnavailable: xarray is not installed.
        """
        scene = self.scene
        about = {"outcome": self.outcome.name, "hand": scene.hand.name}
        about["object"] = ", ".join(scene.object_names)
        return dataset_of(self.trajectory(), self._soft_finger_names, about)

    @property
    def _soft_finger_names(self) -> list[str]:
        return [digit.name for digit in self.scene.hand.soft_fingers]

    @cached_property
    def _reason(self) -> OutcomeReason:
        return outcome_of(self)

    @property
    def outcome(self) -> Outcome:
        """Outcome of the run, decided after the hold test; see ``outcome.outcome_of``."""
        return self._reason.outcome

    @property
    def message(self) -> str:
        """The outcome as a sentence, with what to change where there is such advice."""
        return self._reason.sentence + (f": {self.advice}" if self.advice else "")

    @property
    def joints(self) -> dict[str, float]:
        """Final joint variables [rad or m]."""
        return dict(zip(self.joint_names.tolist(), self.joint_position[-1].tolist(), strict=True))

    @property
    def object(self) -> ObjectMotion:
        """The motion of the first object."""
        return self.objects[0]

    @property
    def force_on_objects_N(self) -> float:
        """Sum of the normal forces of the hand on objects at the end [N]."""
        return sum(contact.normal_force_N for contact in self.contacts)

    @property
    def peak(self) -> PeakForce | None:
        """The largest of ``peaks``; None where nothing was touched."""
        return max(self.peaks, key=lambda peak: peak.force_N, default=None)

    @property
    def peak_force(self) -> float:
        """The largest normal force of a body of the hand on objects in any physics step [N]."""
        return 0.0 if self.peak is None else self.peak.force_N

    @property
    def force_within_hand_N(self) -> float:
        """Sum of the normal forces between bodies of the hand at the end [N]."""
        return sum(contact.normal_force_N for contact in self.hand_contacts)

    @cached_property
    def quality(self) -> dict[str, Any] | None:
        """Measures of the final grasp with their conventions, and the start of force closure."""
        log = self.quality_log
        if log is None:
            return None
        closed = {} if len(log.time) < 2 else {"force_closure_s": log.closed_at}
        return log.at(-1) | closed

    quality_time = _log("time", "Times of the contact samples, (Q,) [s].")
    quality_epsilon = _log("epsilon", "ε at these samples, (Q,) [–]; see ``quality.epsilon``.")
    quality_margin = _log("margin", "Friction margin of the body nearest to slipping, (Q,) [–].")
    quality_center = _log("center", "Centre of mass of the object, (Q, 3) [m].")
    quality_first = _log("first", "Index of the first contact of each sample, (Q + 1,).")
    quality_points = _log("points", "Contacts of all samples in the world, (N, 3) [m].")
    quality_normals = _log("normals", "Their unit normals into the object, (N, 3).")
    quality_friction = _log("friction", "Their µ, (N,) [–].")
    quality_torsion = _log("torsion", "Their largest spin over normal force, (N,) [m].")
    quality_body = _log("body", "Columns of their bodies in ``contact_bodies``, (N,).")
    quality_torque_scale = _log("torque_scale", "Length by which moments are divided, () [m].")

    @property
    def tracks(self) -> list[tuple[Array, Array]]:
        """Positions (T, 3) and quaternions (T, 4) of all objects, the one to be grasped first."""
        positions, quaternions = self.object_positions, self.object_quats_wxyz
        if positions is None or quaternions is None:
            return [(self.object_position, self.object_quat_wxyz)]
        return [(positions[:, index], quaternions[:, index]) for index in range(positions.shape[1])]

    @property
    def closing(self) -> PhaseSpan | None:
        """Time span of the closure; None where the run ended before it."""
        phases = zip(self.scene.phases, self.phases, strict=False)
        return next((span for phase, span in phases if phase.type == "close"), None)

    @property
    def success_criterion(self) -> SuccessCriterion | Lift | None:
        """Criterion by which ``held`` was decided in this run."""
        return self.scene.success or self.scene.lift

    @property
    def sensors(self) -> dict[str, SensorReading]:
        """Readings of each sensor of the scene by its name."""
        return readings(self.scene, self.sensor_names, self.sensor_values, self.sensor_truth)

    def trajectory(self) -> dict[str, NDArray[Any]]:
        """Return the arrays of ``trajectory.npz`` by name."""
        there = (name for name in ADDED_KEYS if getattr(self, name) is not None)
        return {name: getattr(self, name) for name in (*TRAJECTORY_KEYS, *there)}

    def save(self, directory: str | Path) -> list[Path]:
        """Write ``result.json`` and ``trajectory.npz`` into a directory; see ``save_result``."""
        from softgrasp.evaluation.result_files import save_result

        return save_result(self, directory)

    def contact_of(self, body: str) -> BodyContact:
        """Return the contact history of one body.

        Raises:
            KeyError: No body of that name can touch.
        """
        return {contact.body: contact for contact in self.contacts}[body]


def column(names: Names, name: str) -> int:
    """Return the column of a joint, an actuator or a body in a trajectory."""
    return int(names.tolist().index(name))


def digest(arrays: dict[str, NDArray[Any]]) -> str:
    """Compute SHA-256 over names, types, shapes and bytes of arrays, in their order."""
    sha = hashlib.sha256()
    for name, array in arrays.items():
        little = np.ascontiguousarray(array)
        sha.update(f"{name} {little.dtype.str} {little.shape}\n".encode())
        sha.update(little.tobytes())
    return sha.hexdigest()


@dataclass(frozen=True)
class SensorReading:
    """Channels of one sensor over the T control samples of a run."""

    sensor: AnySensor
    channels: tuple[str, ...]
    """Names within the sensor: ``r0c3``, ``fx``, or a joint."""
    values: Array
    """Readings, (T, n) [N, N·m]."""
    truth: Array
    """Values without errors, (T, n) [N, N·m]."""

    @property
    def taxels(self) -> Array:
        """Values of a tactile sensor as maps, (T, rows, columns) [N].

        Raises:
            TypeError: It is another kind of sensor.
        """
        if not isinstance(self.sensor, TactileSensor):
            raise TypeError(f"expected a tactile sensor, found one of {self.sensor.type}")
        return self.values.reshape(-1, self.sensor.rows, self.sensor.columns)


def readings(
    scene: GraspScene, names: NDArray[np.str_] | None, values: Array | None, truth: Array | None
) -> dict[str, SensorReading]:
    """Split the recorded channels by sensor; empty without sensors."""
    if names is None or values is None or truth is None:
        return {}
    readings_by_name, first = {}, 0
    for sensor in scene.sensors:
        channels = channels_of(sensor, scene.hand)
        columns = slice(first, first + len(channels))
        readings_by_name[sensor.name] = SensorReading(
            sensor, channels, values[:, columns], truth[:, columns]
        )
        first = columns.stop
    return readings_by_name


class Interrupted(KeyboardInterrupt):
    """Interruption of a simulation by Ctrl-C, with what was finished.

    Attributes:
        result: The run up to the last finished control sample.
    """

    def __init__(self, result: GraspResult) -> None:
        """Store the finished part of the run."""
        super().__init__(f"interrupted at {result.simulated_time:.3f} s")
        self.result = result
