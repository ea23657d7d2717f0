"""The result of a run: what happened, in numbers and time series."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from softgrasp.description.object import Lift
from softgrasp.description.scene import GraspScene
from softgrasp.description.task import SuccessCriterion
from softgrasp.mechanics.transforms import Array
from softgrasp.simulation.outcome import GraspStatus
from softgrasp.simulation.sensor_reading import SensorReading, readings
from softgrasp.simulation.told_contacts import (
    BodyContact,
    ContactEvent,
    ContactModel,
    OtherContact,
)
from softgrasp.simulation.told_hold import HoldTest, PhaseSpan
from softgrasp.simulation.told_motion import ObjectMotion, SoftFingerEnd

if TYPE_CHECKING:
    from softgrasp.simulation.quality_log import QualityLog

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
"""Arrays of ``trajectory.npz``, one row a control period where they have a time axis."""
SOFT_KEYS = ("pressure", "curvature")
"""Arrays that a hand with soft fingers adds."""
OBJECTS_KEYS = ("object_names", "object_positions", "object_quats_wxyz", "object_normal_force")
"""Arrays that further objects add."""
SENSOR_KEYS = ("sensor_names", "sensor_values", "sensor_truth")
"""Arrays that sensors add."""
ADDED_KEYS = (*SOFT_KEYS, *OBJECTS_KEYS, "object_nodes", *SENSOR_KEYS)
"""Arrays that are there where they apply."""


def _logged(name: str, doc: str) -> property:
    """An array of the log of contacts; None in a result without one."""

    def read(result: GraspResult) -> NDArray[Any] | None:
        log = result.quality_log
        return None if log is None else getattr(log, name)

    return property(read, doc=doc)


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class GraspResult:
    """A finished run. Arrays are write-locked; T control samples, nj joints, nb bodies."""

    scene: GraspScene
    backend: dict[str, str]
    """``name`` and ``version`` of the engine."""
    status: GraspStatus
    held: bool | None
    """Whether the object was held in the hold test; None where none was asked for."""
    simulated_time: float
    """[s]"""
    wall_time: float
    """[s]"""
    contacts: tuple[BodyContact, ...]
    events: tuple[ContactEvent, ...]
    objects: tuple[ObjectMotion, ...]
    contact_model: ContactModel
    hold: HoldTest | None
    soft_fingers: tuple[SoftFingerEnd, ...] = ()
    phases: tuple[PhaseSpan, ...] = ()
    """What the run went through, in order."""
    other_contacts: tuple[OtherContact, ...] = ()
    """Contacts at the end of objects with one another, and of all with what stands around."""
    quality_log: QualityLog | None = None
    """Contacts along the run, from which the quality of the grasp is computed when it is asked
    for; None for a deformable object and a run that diverged."""
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
    """What the sensors told at each control sample, (T, ns) [N, N·m]."""
    sensor_truth: Array | None = None
    """The same without noise, bias, delay, saturation and quantisation, (T, ns) [N, N·m]."""
    message: str = field(init=False)
    """The status as a sentence, with what to change where the run diverged."""
    trajectory_sha256: str = field(init=False)
    advice: str = ""

    def __post_init__(self) -> None:
        sentence = self.status.value + (f": {self.advice}" if self.advice else "")
        object.__setattr__(self, "message", sentence)
        for name in self.trajectory():
            array_copy = np.array(
                getattr(self, name)
            )  # a copy: the caller's arrays stay as they are
            array_copy.flags.writeable = False
            object.__setattr__(self, name, array_copy)
        object.__setattr__(self, "trajectory_sha256", digest(self.trajectory()))

    def __repr__(self) -> str:
        scene, held = self.scene, {None: "", True: ", held", False: ", not held"}[self.held]
        object_names_text = ", ".join(scene.object_names)
        return (
            f"<GraspResult {scene.hand.name} on {object_names_text}: {self.status.name}{held}, "
            f"{self.simulated_time:g} s, {len(self.events)} events>"
        )

    @property
    def joints(self) -> dict[str, float]:
        """Final joint variables [rad or m]."""
        return dict(zip(self.joint_names.tolist(), self.joint_position[-1].tolist(), strict=True))

    @property
    def object(self) -> ObjectMotion:
        """The motion of the first object."""
        return self.objects[0]

    @cached_property
    def quality(self) -> dict[str, Any] | None:
        """Measures of the final grasp with their conventions, and when force closure began."""
        log = self.quality_log
        if log is None:
            return None
        closed = {} if len(log.time) < 2 else {"force_closure_s": log.closed_at}
        return log.at(-1) | closed

    quality_time = _logged("time", "Samples at which contacts were looked at, (Q,) [s].")
    quality_epsilon = _logged("epsilon", "ε at these samples, (Q,) [–]; see ``quality.epsilon``.")
    quality_margin = _logged("margin", "Friction margin of the body nearest to slipping, (Q,) [–].")
    quality_center = _logged("center", "Centre of mass of the object, (Q, 3) [m].")
    quality_first = _logged("first", "Where contacts of each sample begin below, (Q + 1,).")
    quality_points = _logged("points", "Contacts of all samples in the world, (N, 3) [m].")
    quality_normals = _logged("normals", "Their unit normals into the object, (N, 3).")
    quality_friction = _logged("friction", "Their µ, (N,) [–].")
    quality_torsion = _logged("torsion", "Their largest spin over normal force, (N,) [m].")
    quality_body = _logged("body", "Columns of their bodies in ``contact_bodies``, (N,).")
    quality_torque_scale = _logged("torque_scale", "What moments are divided by, () [m].")

    @property
    def tracks(self) -> list[tuple[Array, Array]]:
        """Positions (T, 3) and quaternions (T, 4) of all objects, the one to be grasped first."""
        positions, quaternions = self.object_positions, self.object_quats_wxyz
        if positions is None or quaternions is None:
            return [(self.object_position, self.object_quat_wxyz)]
        return [(positions[:, index], quaternions[:, index]) for index in range(positions.shape[1])]

    @property
    def closing(self) -> PhaseSpan | None:
        """The closure among the phases; None where the run did not get there."""
        phases = zip(self.scene.phases, self.phases, strict=False)
        return next((span for phase, span in phases if phase.type == "close"), None)

    @property
    def success_criterion(self) -> SuccessCriterion | Lift | None:
        """What ``held`` means in this run."""
        return self.scene.success or self.scene.lift

    @property
    def sensors(self) -> dict[str, SensorReading]:
        """What each sensor of the scene told, by its name."""
        return readings(self.scene, self.sensor_names, self.sensor_values, self.sensor_truth)

    def trajectory(self) -> dict[str, NDArray[Any]]:
        """The arrays of ``trajectory.npz`` by name."""
        there = (name for name in ADDED_KEYS if getattr(self, name) is not None)
        return {name: getattr(self, name) for name in (*TRAJECTORY_KEYS, *there)}

    def save(self, directory: str | Path) -> list[Path]:
        """Write ``result.json`` and ``trajectory.npz`` into a folder; see ``save_result``."""
        from softgrasp.simulation.record import save_result

        return save_result(self, directory)

    def contact_of(self, body: str) -> BodyContact:
        """The contact history of one body.

        Raises:
            KeyError: No body of that name can touch.
        """
        return {contact.body: contact for contact in self.contacts}[body]


def column(names: Names, name: str) -> int:
    """Which column of a trajectory belongs to a joint, an actuator or a body."""
    known: list[str] = names.tolist()
    return known.index(name)


def digest(arrays: dict[str, NDArray[Any]]) -> str:
    """SHA-256 over names, types, shapes and bytes of arrays, in the order given."""
    sha = hashlib.sha256()
    for name, array in arrays.items():
        little = np.ascontiguousarray(array)
        sha.update(f"{name} {little.dtype.str} {little.shape}\n".encode())
        sha.update(little.tobytes())
    return sha.hexdigest()
