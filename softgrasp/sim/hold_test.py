"""Directions of a hold test: the same closed state, one force on the object after the other."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import mujoco
import numpy as np

from softgrasp.description.base import Vec3
from softgrasp.description.task import Pull, SuccessCriterion
from softgrasp.mechanics.transforms import Array, rotation_angles
from softgrasp.model import names
from softgrasp.model.deformable import node_bodies, rigid_track
from softgrasp.sim.contacts import ContactPoint, GraspContactReader
from softgrasp.sim.motion_plan import load_fractions

CHECK_PERIOD = 0.05
"""A direction is looked at every so often [s], to end it where the object is gone."""


class Trial(NamedTuple):
    """One direction that was tried."""

    acceleration: Vec3
    begin: int
    """Row of the closed state from which it, and all others, began."""
    first: int
    """Its own first row."""
    end: int
    """Its last row."""
    contacts: int
    """Bodies in contact at its end."""


class Gone:
    """Tells when a direction is lost already."""

    def __init__(
        self, criterion: SuccessCriterion, model: mujoco.MjModel, data: mujoco.MjData
    ) -> None:
        """Remember where the object is in the palm.

        Args:
            criterion: Its limits.
            model: The compiled scene.
            data: The closed state.
        """
        self._limits = criterion.max_drop, criterion.max_rotation
        self._model = model
        self._start_position, self._start_rotation = _in_palm(model, data)

    def __call__(self, data: mujoco.MjData) -> bool:
        """Whether the object is beyond a limit."""
        position, rotation = _in_palm(self._model, data)
        drop = float(np.linalg.norm(position - self._start_position))
        return (
            drop > self._limits[0]
            or float(rotation_angles(rotation, self._start_rotation)) > self._limits[1]
        )


def push_steps(criterion: SuccessCriterion, period: float) -> Iterator[tuple[int, float]]:
    """How the load of a direction grows and stays.

    Args:
        criterion: The hold test.
        period: Of the controller [s].

    Yields:
        Control samples, and the share of the load during them.
    """
    left, check_samples = (
        max(round(criterion.direction_time / period), 1),
        max(round(CHECK_PERIOD / period), 1),
    )
    for samples, fraction in load_fractions(criterion.ramp_time, period):
        if samples >= left:
            break
        left -= samples
        yield samples, fraction
    while left > 0:
        yield min(check_samples, left), 1.0
        left -= check_samples


def direction_label(acceleration: Sequence[float]) -> str:
    """What a direction is called: ``+x``, or its unit vector."""
    vector = np.array(acceleration)
    along = vector / max(float(np.linalg.norm(vector)), 1e-300)
    axis = int(np.abs(along).argmax())
    if abs(along[axis]) > 1.0 - 1e-9:
        return ("-" if along[axis] < 0.0 else "+") + "xyz"[axis]
    return f"({', '.join(f'{part:.2g}' for part in along.tolist())})"


def _in_palm(model: mujoco.MjModel, data: mujoco.MjData) -> tuple[Array, Array]:
    """The object's centre and orientation in the frame of the palm, of the last physics step."""
    attached = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_BODY, names.MODEL_BASE) >= 0
    palm = data.body(names.MODEL_BASE if attached else names.PALM)
    body = data.body(names.OBJECT)
    position, quaternion = body.xpos, body.xquat
    if model.nflex:
        positions, rotations = rigid_track(model, data.xpos[node_bodies(model)][None])
        position, quaternion = positions[0], rotations[0]
    palm_rotation = palm.xmat.reshape(3, 3).T
    inverse, relative = np.zeros(4), np.zeros(4)
    mujoco.mju_negQuat(inverse, palm.xquat)
    mujoco.mju_mulQuat(relative, inverse, quaternion)
    return palm_rotation @ (position - palm.xpos), relative


# --------------------
# Pulling an object out of the closed hand: a force that grows until all contacts slip.


SLIP_SPEED = 2e-3
"""Contacts that slide faster than this slip [m/s]; friction creeps below its limit, too, with the
settings of a new scene at less than a tenth of it."""
SLIP_TIME = 0.01
"""Time for which all of them have to [s]."""
LONGEST = 20.0
"""A pull goes on for at most so long beyond its own time to reach a least force [s]."""
EARTH = 9.81
"""[m/s²]"""


class Pulled(NamedTuple):
    """A pull that was made."""

    pull: Pull
    begin: int
    """Row of the closed state from which it, and all others, began."""
    first: int
    """Its own first row."""
    end: int
    """Its last row."""
    friction: float
    """Sum of µ·N in the closed state [N]."""
    rate: float
    """Growth of the force [N/s]."""
    slipped: int | None
    """Row in which all contacts began to slip."""


class SlipWatch:
    """Tells since when all contacts of the hand with the object slip."""

    def __init__(self, samples: int) -> None:
        """Begin with nothing seen.

        Args:
            samples: For how many looks they have to.
        """
        self._samples = samples
        self._since: int | None = None
        self._seen = 0

    @property
    def since(self) -> int | None:
        """Row in which slip began; None as long as it is not sure."""
        return self._since if self._seen >= self._samples else None

    def check(self, points: Sequence[ContactPoint], row: int) -> bool:
        """Whether all contacts have slipped for long enough.

        Args:
            points: Contacts of the hand with the object at a row.
            row: The row.
        """
        pressing = [point for point in points if point.normal_force > 0.0]
        if all(point.slip_speed > SLIP_SPEED for point in pressing):
            self._since = row if self._seen == 0 else self._since
            self._seen += 1
        else:
            self._seen = 0
        return self._seen >= self._samples


def friction_limit(model: mujoco.MjModel, data: mujoco.MjData, bodies: list[str]) -> float:
    """Sum of µ·N over all contacts of the hand with the object [N].

    Args:
        model: The compiled scene.
        data: The state after a physics step.
        bodies: Of the hand.
    """
    contacts, force, total = GraspContactReader(model, bodies).read(data), np.zeros(6), 0.0
    for number, friction in zip(contacts.numbers, contacts.friction, strict=True):
        mujoco.mj_contactForce(model, data, int(number), force)
        total += float(friction) * max(float(force[0]), 0.0)
    return total


def pull_rate(model: mujoco.MjModel, pull: Pull, friction: float) -> float:
    """Growth of a pull [N/s].

    Args:
        model: The compiled scene.
        pull: The pull.
        friction: What friction holds at most [N].
    """
    mass = float(model.body_subtreemass[model.body(names.OBJECT).id])
    return max(friction, EARTH * mass) / pull.time


def pull_forces(pull: Pull, rate: float, period: float) -> Iterator[Array]:
    """The force in the world during each control sample [N].

    Args:
        pull: The pull.
        rate: Growth [N/s].
        period: Of the controller [s].
    """
    direction = np.array(pull.direction) / np.linalg.norm(pull.direction)
    # where a least force is asked for, it has to be put on to be borne
    lasting = max(pull.max_ratio * pull.time, min((pull.min_force or 0.0) / rate, LONGEST))
    for sample in range(max(math.ceil(lasting / period - 1e-9), 1)):
        yield (sample + 1) * period * rate * direction
