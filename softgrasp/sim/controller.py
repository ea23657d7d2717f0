"""What the closed loop carries from one control sample to the next, and what it records."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import NamedTuple

import mujoco
import numpy as np
from numpy.typing import NDArray

from softgrasp.mechanics.transforms import Array
from softgrasp.model import names
from softgrasp.model.scene import BuiltScene
from softgrasp.model.sensors import contact_layout

Integers = NDArray[np.int64]
APART = 10
"""A drive that squeezes speeds up again after this many times the samples that establish contact
without any force. It must outlast a bounce: sooner, fingers hit again and again, and never squeeze.
"""
LIGHT = 5
"""A drive gives way to touches that do not establish contact for this many times the samples that
do; longer, a finger that chatters would never press."""
KEPT = 0.9
"""Share of the asked force below which a drive that has stopped at it goes on. Without that band
fingers that share a load go on by turns, and push the object along."""
ROWS = ("time", "qpos", "control", "force", "in_contact")
"""What is recorded a sample."""


@dataclass(frozen=True)
class ClosureLayout:
    """Which drive moves which body, where everything stands in MuJoCo's arrays; constant.

    A drive is a joint of a rigid finger, the pressure of a soft one, or the wrist.
    """

    threshold: float
    samples: int
    grip_force: float | None
    """Normal force at which drives stop [N]; None where contact itself stops them."""
    torque_limits: Array | None
    """Torques of servos at which their drives stop, infinite where none does, (nd,) [N·m or N]."""
    contact_rate_scale: float
    """Share of its increment by which a drive goes on in contact."""
    increments: Array
    lower: Array
    upper: Array
    bodies: tuple[str, ...]
    """Of the hand, that can touch."""
    stops: tuple[tuple[int, ...], ...]
    """Indices of the bodies whose contact stops each drive."""
    qpos_of_actuator: Integers
    """Of drives under prescribed actuation, which are joints; else empty."""
    dof_of_actuator: Integers
    joint_of_actuator: Integers
    """Where the joint of each drive stands in ``qpos``, −1 where it drives none."""
    qpos_of_joint: Integers
    """Of all joints that are recorded."""
    force_sum: Array
    object_slots: tuple[int, ...]
    """Contacts that a body can report with each object."""
    first_force: int
    substeps: int
    timestep: float
    control_period: float
    prescribed: bool
    feels: bool
    """Whether contact is judged by what tactile sensors tell."""


def closure_layout(built: BuiltScene) -> ClosureLayout:
    """Everything the loop needs to know of a compiled scene."""
    scene, model = built.scene, built.model
    actuators = names.scene_actuators(scene)
    still = len(actuators) - len(scene.rates)  # the wrist waits until the hand has closed
    body_indices = {body: index for index, body in enumerate(built.bodies)}
    stops = [tuple(body_indices[body] for body in actuator.stops) for actuator in scene.actuators]
    prescribed = scene.actuation == "prescribed"
    first, slots, force_sum = contact_layout(model, built.bodies, 1 + len(scene.objects))
    limits = np.array([*scene.limits, *[(0.0, np.inf)] * still])
    obeying = [d.joint or d.name for d in scene.actuators] + actuators[len(scene.actuators) :]
    joints = [model.joint(name) for name in obeying if prescribed]
    return ClosureLayout(
        threshold=scene.closure.threshold,
        samples=scene.closure.samples,
        grip_force=scene.closure.grip_force,
        torque_limits=_torque_limits(built, still) if scene.closure.stops_at_torque else None,
        contact_rate_scale=scene.closure.contact_rate_scale,
        increments=np.array([*scene.rates, *[0.0] * still]) * scene.control_period,
        lower=limits[:, 0],
        upper=limits[:, 1],
        bodies=tuple(built.bodies),
        stops=(*stops, *[()] * still),
        qpos_of_actuator=np.array([joint.qposadr[0] for joint in joints], dtype=np.int64),
        dof_of_actuator=np.array([joint.dofadr[0] for joint in joints], dtype=np.int64),
        joint_of_actuator=_joint_of_actuator(built, still),
        qpos_of_joint=np.array([model.joint(j).qposadr[0] for j in names.scene_joints(scene)]),
        force_sum=force_sum,
        object_slots=slots,
        first_force=first,
        substeps=round(scene.control_period / model.opt.timestep),
        timestep=float(model.opt.timestep),
        control_period=scene.control_period,
        prescribed=prescribed,
        feels=scene.closure.sense == "sensor",
    )


@dataclass
class Recording:
    """One row a control sample; grows by doubling and is cut when it is read."""

    time: Array
    qpos: Array
    control: Array
    force: Array
    """Contact sensors, raw (T, nb·slots·3) [N]."""
    in_contact: NDArray[np.int8]
    rows: int = 0

    @classmethod
    def empty(cls, model: mujoco.MjModel, bodies: int, width: int, rows: int) -> Recording:
        """Room for a number of control samples."""
        return cls.side_by_side(model, bodies, width, rows, 1).one(0)

    @classmethod
    def side_by_side(
        cls, model: mujoco.MjModel, bodies: int, width: int, rows: int, count: int
    ) -> Recording:
        """Room for ``count`` grasps, which is the first axis of every array."""
        shape = (count, rows)
        return cls(
            time=np.zeros(shape),
            qpos=np.zeros((*shape, model.nq)),
            control=np.zeros((*shape, model.nu)),
            force=np.zeros((*shape, width)),
            in_contact=np.zeros((*shape, bodies), dtype=np.int8),
        )

    def one(self, index: int) -> Recording:
        """One of several grasps side by side, in the same memory."""
        return Recording(*(getattr(self, name)[index] for name in ROWS))

    @property
    def capacity(self) -> int:
        """Rows that fit without growing."""
        return len(self.time)

    def reserve(self, rows: int) -> None:
        """Make room for more rows."""
        while self.capacity < self.rows + rows:
            for name in ROWS:
                old = getattr(self, name)
                setattr(self, name, np.concatenate([old, np.zeros_like(old)]))

    def cut(self, rows: int) -> None:
        """Forget the rows behind the first ``rows``."""
        self.rows = min(self.rows, rows)


def _joint_of_actuator(built: BuiltScene, still: int) -> Integers:
    joints = [actuator.joint for actuator in built.scene.actuators] + [None] * still
    addresses = [-1 if name is None else built.model.joint(name).qposadr[0] for name in joints]
    return np.array(addresses, dtype=np.int64)


def _torque_limits(built: BuiltScene, still: int) -> Array:
    limits = [
        built.model.actuator(actuator.name).forcerange[1] if actuator.joint is not None else np.inf
        for actuator in built.scene.actuators
    ]
    return np.array([*limits, *[np.inf] * still])


class DebouncedBodies(NamedTuple):
    """Bodies or drives judged by something else than contact is."""

    counts: list[int]
    touched: list[int]
    reached: list[int]
    """1 where it is reached, (n,)."""
    changes: list[int]

    @classmethod
    def from_start(cls, count: int, samples: int) -> DebouncedBodies:
        """All are judged to be there after some samples, or none after no sample."""
        here = int(samples > 0)
        return cls([samples] * count, [0] * count, [here] * count, [0] * count)


@dataclass
class ClosureState:
    """Counters and targets of a running closure."""

    targets: Array
    """Targets of the last sample [rad, m or Pa], (nd,)."""
    counts: list[int]
    touched: list[int]
    in_contact: list[int]
    changes: list[int]
    apart: DebouncedBodies
    """Bodies without any force for long enough; one sample with a force ends that. Only where
    drives stop at a force."""
    pressing: list[int]
    """1 for a body from when contact is established until it is apart. Only where drives stop at a
    force, which squeeze so long."""
    light: list[int]
    """1 for a body that touches and does not press yet, whose drives give way."""
    light_counts: list[int]
    """Samples in which it has done so since it was apart."""
    gripped: DebouncedBodies
    """By the force at which drives stop, where they do."""
    gripping: list[int]
    """1 for a body that has pressed with that force, and still does with nearly as much."""
    strained: DebouncedBodies
    """Drives by the torque at which they stop, where they do."""
    idle: int = 0
    """Control samples since a target last moved."""

    @classmethod
    def at_start(cls, start: Sequence[float], bodies: int, samples: int = 1) -> ClosureState:
        """Nothing has been touched and all targets are where the joints are.

        Args:
            start: Targets, (nd,).
            bodies: That can touch.
            samples: That it takes to judge one.
        """
        zeros = [0] * bodies
        return cls(
            np.array(start),
            zeros.copy(),
            zeros.copy(),
            zeros.copy(),
            zeros.copy(),
            apart=DebouncedBodies.from_start(bodies, APART * samples),
            pressing=zeros.copy(),
            light=zeros.copy(),
            light_counts=zeros.copy(),
            gripped=DebouncedBodies.from_start(bodies, 0),
            gripping=zeros.copy(),
            strained=DebouncedBodies.from_start(len(start), 0),
        )

    def copy(self) -> ClosureState:
        """A state of its own with the same numbers."""
        return deepcopy(self)
