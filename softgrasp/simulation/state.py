"""What the closed loop carries from one control sample to the next, and what it records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import mujoco
import numpy as np
from numpy.typing import NDArray

from softgrasp.build import names
from softgrasp.build.scene import BuiltScene
from softgrasp.build.sensors import contact_layout
from softgrasp.mechanics.transforms import Array

Integers = NDArray[np.int64]
ROWS = ("time", "qpos", "control", "force", "in_contact")
"""What is recorded a sample."""


@dataclass(frozen=True)
class ClosureLayout:
    """Which drive moves which body, where everything stands in MuJoCo's arrays; constant.

    A drive is a joint of a rigid finger, the pressure of a soft one, or the wrist.
    """

    threshold: float
    samples: int
    increments: Array
    lower: Array
    upper: Array
    stops: tuple[tuple[int, ...], ...]
    """Indices of the bodies whose contact stops each drive."""
    qpos_of_drive: Integers
    """Of drives under prescribed actuation, which are joints; else empty."""
    dof_of_drive: Integers
    qpos_of_joint: Integers
    """Of all joints that are recorded."""
    force_sum: Array
    first_force: int
    substeps: int
    timestep: float
    control_period: float
    prescribed: bool


def closure_layout(built: BuiltScene) -> ClosureLayout:
    """Everything the loop needs to know of a compiled scene."""
    scene, model = built.scene, built.model
    drives = names.scene_drives(scene)
    still = len(drives) - len(scene.rates)  # the wrist waits until the hand has closed
    places = {body: index for index, body in enumerate(built.bodies)}
    stops = [tuple(places[body] for body in drive.stops) for drive in scene.drives]
    prescribed = scene.actuation == "prescribed"
    first, _, force_sum = contact_layout(model, built.bodies)
    limits = np.array([*scene.limits, *[(0.0, np.inf)] * still])
    obeying = [d.joint or d.name for d in scene.drives] + drives[len(scene.drives) :]
    joints = [model.joint(name) for name in obeying if prescribed]
    return ClosureLayout(
        threshold=scene.closure.threshold,
        samples=scene.closure.samples,
        increments=np.array([*scene.rates, *[0.0] * still]) * scene.control_period,
        lower=limits[:, 0],
        upper=limits[:, 1],
        stops=(*stops, *[()] * still),
        qpos_of_drive=np.array([joint.qposadr[0] for joint in joints], dtype=np.int64),
        dof_of_drive=np.array([joint.dofadr[0] for joint in joints], dtype=np.int64),
        qpos_of_joint=np.array([model.joint(j).qposadr[0] for j in names.scene_joints(scene)]),
        force_sum=force_sum,
        first_force=first,
        substeps=round(scene.control_period / model.opt.timestep),
        timestep=float(model.opt.timestep),
        control_period=scene.control_period,
        prescribed=prescribed,
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


@dataclass
class ClosureState:
    """Counters and targets of a running closure."""

    targets: Array
    """Targets of the last sample [rad, m or Pa], (nd,)."""
    counts: list[int]
    touched: list[int]
    in_contact: list[int]
    changes: list[int]
    idle: int = 0
    """Control samples since a target last moved."""

    @classmethod
    def at_start(cls, start: Sequence[float], bodies: int) -> ClosureState:
        """Nothing has been touched and all targets are where the joints are."""
        zeros = [0] * bodies
        return cls(np.array(start), zeros.copy(), zeros.copy(), zeros.copy(), zeros.copy())
