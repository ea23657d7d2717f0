"""Load balance of a hold test: what bears the grasped object at the end of every loaded part.

By Newton's second law the forces of hand, surroundings, other objects and mount on the object
balance its load, m·(g − a) plus applied forces. ``LoadSampler`` averages both over the last control
samples of a part. The fraction of a bearer is the component of its force against the load, over the
load: the fractions of a free object sum to 1. Where an engine records no force vectors, the hand
bears the whole load of a free object that nothing else touches (``borne_by_hand``).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

import mujoco
import numpy as np

from softgrasp.description.base import Description, Vec3
from softgrasp.mechanics.transforms import Array
from softgrasp.model import names
from softgrasp.model.deformable import node_bodies

if TYPE_CHECKING:
    from softgrasp.description.scene import GraspScene
    from softgrasp.sim.contacts import ContactReader

WINDOW = 20
"""Control samples at the end of a part over which forces are averaged."""
EARTH = 9.81
"""Gravity [m/s²]."""
NO_LOAD = 0.01 * EARTH
"""Load per mass below which nothing is tested [m/s²]."""
HAND: Literal["hand"] = "hand"
MOUNT: Literal["mount"] = "mount"
SHOWN = 0.005
"""Smallest fraction of a bearer that a sentence names [–]."""

Kind = Literal["hand", "surroundings", "object", "mount"]


class Bearer(Description):
    """Force of one body, or of the whole hand, on the grasped object."""

    name: str
    """``hand``, ``mount``, or the name of the object or of the part of the surroundings."""
    kind: Kind
    force_N: Vec3
    """On the object, world frame."""
    fraction: float
    """Its component against the load, over the load [–]; 0 where there is no load."""


class LoadBalance(Description):
    """Load on the grasped object at the end of a part, and the bodies that bear it."""

    load_N: Vec3
    """Gravity, inertia and applied force, m·(g − a) + F, world frame."""
    bearers: tuple[Bearer, ...]
    """The hand, the mount, and everything else that touches the object."""
    measured: bool = True
    """Whether forces were read from contacts; else the hand bears what nothing else can."""

    @property
    def size(self) -> float:
        """Size of the load [N]."""
        return float(np.linalg.norm(self.load_N))

    @property
    def is_loaded(self) -> bool:
        """Whether there is a load to bear."""
        return any(bearer.fraction for bearer in self.bearers)

    @property
    def hand_fraction(self) -> float:
        """Fraction of the load that the hand bears [–]."""
        return sum(bearer.fraction for bearer in self.bearers if bearer.kind == HAND)

    @property
    def support(self) -> float:
        """Fraction of the load that is not the hand's, or that surroundings and mount carry [–].

        The two differ where bodies that the hand presses on push the object along its load.
        """
        fixed = [bearer for bearer in self.bearers if bearer.kind in ("surroundings", MOUNT)]
        return max(1.0 - self.hand_fraction, sum(max(item.fraction, 0.0) for item in fixed))

    @property
    def sentence(self) -> str:
        """Bodies that bear the load: ``the table carries 98 % of the load (19.25 of 19.62 N)``."""
        ordered = sorted(self.bearers, key=lambda bearer: -bearer.fraction)
        shown = [item for item in ordered if abs(item.fraction) >= SHOWN or item.kind == HAND]
        first, *rest = ((_called(entry), f"{percent(entry.fraction)} %") for entry in shown)
        borne = f"{shown[0].fraction * self.size:.4g} of {self.size:.4g} N"
        sentence = f"{first[0]} carries {first[1]} of the load ({borne})"
        return ", ".join([sentence, *(f"{name} {part}" for name, part in rest)])


class LoadRecord(NamedTuple):
    """Mean forces on the grasped object at the end of a part of a run."""

    row: int
    """Last row of the part."""
    load: Array
    """m·(g − a) + applied force, (3,) [N], world frame."""
    forces: dict[str, Array]
    """Force of each body that touches it, (3,) [N]."""
    wrist_force: float | None = None
    """Force of the servos that move the wrist [N]; None without sliding joints."""
    measured: bool = True


class LoadSampler:
    """Averages the forces on the grasped object over the last control samples of a part."""

    def __init__(self, scene: GraspScene, reader: ContactReader) -> None:
        """Look up constants.

        Args:
            scene: The scene.
            reader: Reads the contacts of the run in its model, whose gravity changes.
        """
        self._reader = reader
        model = self._model = reader.model
        self._bodies = node_bodies(model) or [model.body(names.OBJECT).id]
        self._mass = object_mass(model)
        self._slides = moving_axes(model)
        indices = [int(model.actuator(name).id) for name in names.carrier_actuators(scene)]
        slide = int(mujoco.mjtJoint.mjJNT_SLIDE)
        self._wrist = [
            i for i in indices if int(model.jnt_type[model.actuator_trnid[i, 0]]) == slide
        ]
        self._period = scene.control_period
        self._totals: dict[str, Array] = {}
        self._load, self._servo, self._samples = np.zeros(3), np.zeros(len(self._wrist)), 0
        self._momentum = np.zeros(3)

    def start(self, data: mujoco.MjData) -> None:
        """Begin the window at the state before its first sample."""
        self._totals, self._samples = {}, 0
        self._load, self._servo = np.zeros(3), np.zeros(len(self._wrist))
        self._momentum = self._momentum_of(data)

    def sample(self, data: mujoco.MjData) -> None:
        """Add the forces of the last physics step."""
        for body, force in self._reader.forces_on(data, names.OBJECT).items():
            self._totals[body] = self._totals.get(body, 0.0) + force
        self._load += self._mass * self._model.opt.gravity
        self._load += data.xfrc_applied[self._bodies, :3].sum(axis=0)
        self._servo += data.actuator_force[self._wrist]
        self._samples += 1

    def record(self, data: mujoco.MjData, row: int) -> LoadRecord:
        """Return the means of the window, which ends at a row."""
        count = self._samples
        inertia = (self._momentum_of(data) - self._momentum) / (count * self._period)
        force = float(np.linalg.norm(self._servo)) / count if self._wrist else None
        forces = {body: total / count for body, total in self._totals.items()}
        return LoadRecord(row, self._load / count - inertia, forces, force)

    def _momentum_of(self, data: mujoco.MjData) -> Array:
        """Compute the linear momentum of the object, (3,) [kg·m/s]."""
        total = np.zeros(3)
        for joint, first, count in self._slides:
            mass = float(self._model.body_subtreemass[self._model.jnt_bodyid[joint]])
            axes = np.eye(3) if count == 3 else data.xaxis[[joint]]
            total += mass * data.qvel[first : first + count] @ axes
        return total


def object_mass(model: mujoco.MjModel) -> float:
    """Return the mass of the object to be grasped [kg]."""
    return float(model.body_subtreemass[model.body(names.OBJECT).id])


def moving_axes(model: mujoco.MjModel) -> list[tuple[int, int, int]]:
    """Return the joints that translate the object: joint, first dof, number of dofs."""
    bodies = node_bodies(model) or [model.body(names.OBJECT).id]
    kinds = {int(mujoco.mjtJoint.mjJNT_FREE): 3, int(mujoco.mjtJoint.mjJNT_SLIDE): 1}
    return [
        (joint, int(model.jnt_dofadr[joint]), kinds[int(model.jnt_type[joint])])
        for body in {moved for item in bodies for moved in (item, int(model.body_parentid[item]))}
        for joint in np.flatnonzero(model.jnt_bodyid == body).tolist()
        if int(model.jnt_type[joint]) in kinds
    ]


def borne_by_hand(model: mujoco.MjModel, scene: GraspScene, row: int, gravity: Array) -> LoadRecord:
    """Return the balance of an object that rests and that nothing but hand and mount touches.

    Args:
        model: The compiled scene.
        scene: The scene.
        row: Last row of the part.
        gravity: (3,) [m/s²].
    """
    load = object_mass(model) * np.asarray(gravity)
    free = np.eye(3) - _constrain(scene)
    return LoadRecord(row, load, {HAND: -free @ load}, measured=False)


def load_balance(model: mujoco.MjModel, scene: GraspScene, record: LoadRecord) -> LoadBalance:
    """Compute the fractions of a record."""
    called = names.display_names(scene)
    forces: dict[tuple[str, Kind], Array] = {(HAND, HAND): np.zeros(3)}
    for body, force in record.forces.items():
        kind: Kind = "surroundings" if names.is_around(body) else "object"
        key = (called[body], kind) if body in called else (HAND, HAND)
        forces[key] = forces.get(key, 0.0) + force
    constrained = _constrain(scene)
    if constrained.any():
        forces[MOUNT, MOUNT] = -constrained @ (record.load + np.sum([*forces.values()], axis=0))
    square = float(record.load @ record.load)
    loaded = math.sqrt(square) >= NO_LOAD * object_mass(model)
    bearers = tuple(
        Bearer(
            name=name,
            kind=kind,
            force_N=tuple(force.tolist()),
            fraction=-float(force @ record.load) / square if loaded else 0.0,
        )
        for (name, kind), force in forces.items()
    )
    load = tuple(record.load.tolist())
    return LoadBalance(load_N=load, bearers=bearers, measured=record.measured)


def first_unborne(
    parts: Sequence[LoadBalance | None], pushes: Iterable[LoadBalance | None], max_support: float
) -> tuple[bool | None, LoadBalance | None]:
    """Decide whether the hand bore the load of a hold test.

    An object may stand on a table until it is lifted: the hand has to bear the load at the end of
    the last part, of every part after the first at whose end it did, and of every push.

    Args:
        parts: Balances of the parts before pushes, in order; None where forces are not known.
        pushes: Balances of the pushes.
        max_support: Largest fraction that something else may bear [–].

    Returns:
        Whether it did, None where that is not known; and the first balance that is against it.
    """
    if max_support >= 1.0:
        return True, None
    loaded = [part for part in parts if part is None or part.is_loaded]
    enough = [item is not None and item.support <= max_support for item in loaded]
    begin = enough.index(True) if True in enough else len(loaded) - 1
    needed = [*loaded[max(begin, 0) :], *pushes]
    for balance in needed:
        if balance is not None and balance.support > max_support:
            return False, balance
    return (None if None in needed else True), None


def _constrain(scene: GraspScene) -> Array:
    """Return the projection onto the directions in which the mount holds the object, (3, 3)."""
    held = {"free": (0.0, 0.0, 0.0), "planar": (0.0, 1.0, 0.0), "fixed": (1.0, 1.0, 1.0)}
    return np.diag(held[scene.object_mount])


def percent(fraction: float) -> str:
    """Format a fraction in per cent with one decimal place at most."""
    return f"{round(100.0 * fraction, 1) + 0.0:g}"


def _called(bearer: Bearer) -> str:
    plain = bearer.kind in (HAND, MOUNT) or names.is_around(bearer.name)
    return f"the {bearer.name}" if plain else f"'{bearer.name}'"
