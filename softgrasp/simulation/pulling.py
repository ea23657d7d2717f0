"""Pulling an object out of the closed hand: a force that grows until all contacts slip."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import mujoco
import numpy as np

from softgrasp.description.task import Pull
from softgrasp.mechanics.transforms import Array
from softgrasp.model import names
from softgrasp.simulation.contacts import ContactPoint
from softgrasp.simulation.grasp_contacts import GraspContactReader

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
