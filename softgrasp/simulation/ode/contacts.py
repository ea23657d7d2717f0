"""Contacts as Webots makes them, step by step, and the forces that come of them."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any

import numpy as np

from softgrasp.errors import SimulationError
from softgrasp.simulation.ode.binding import NearCallback, Ode
from softgrasp.simulation.ode.found_points import CollisionPoints
from softgrasp.simulation.ode.pairs import Pair, Pairing
from softgrasp.simulation.ode.solids import Solid

MAX_CONTACTS = 4096
"""In the whole world."""


@dataclass(slots=True)
class ContactForce:
    """What touches a Solid presses on it with, in the last step."""

    vector: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """In the world [N]."""
    normal: float = 0.0
    """Sum of the sizes of the forces along the normals of the points [N]."""
    friction: float = 0.0
    """Sum of the sizes of the forces across them [N]."""


class Contacts:
    """All contacts of a world.

    Args:
        ode: The functions.
        world: ODE's world.
        space: ODE's space with all geometries.
        pairing: Which geometries touch.
        sleep: Whether bodies can fall asleep.
    """

    def __init__(self, ode: Ode, world: int, space: int, pairing: Pairing, sleep: bool) -> None:
        self._ode, self._world, self._space = ode, world, space
        self._pairing, self._sleep = pairing, sleep
        self._pairs: dict[tuple[int, int], Pair | None] = {}
        self._group = ode.JointGroupCreate(0)
        self._candidates = CollisionPoints(ode)
        feedbacks = (ode.types.Feedback * MAX_CONTACTS)()
        self._feedback_address = ctypes.addressof(feedbacks)
        self._feedback_size = ctypes.sizeof(ode.types.Feedback)
        self._feedbacks = np.ndarray((MAX_CONTACTS, 16), ode.number, feedbacks)
        self._normals = np.zeros((MAX_CONTACTS, 3))
        self._live: list[tuple[Pair, int, int]] = []
        """Pairs that touch, with the first and one past the last of their contacts."""
        self._forces: dict[tuple[int, str], ContactForce] | None = {}
        self._problem: BaseException | None = None
        self._callback = NearCallback(self._near)

    @property
    def count(self) -> int:
        """How many points are in contact."""
        return self._live[-1][2] if self._live else 0

    def find(self) -> None:
        """Make the contacts of the step that comes, where the bodies are now.

        Raises:
            SimulationError: This build of ODE cannot collide two shapes that are near each other,
                or there are too many points.
        """
        self._ode.JointGroupEmpty(self._group)
        self._live.clear()
        self._forces = None
        self._ode.SpaceCollide(self._space, None, self._callback)
        if self._problem is not None:
            problem, self._problem = self._problem, None
            raise problem

    def force_on(self, solid: Solid, other: str = "") -> ContactForce:
        """What presses on the shapes of one Solid in the last step.

        Args:
            solid: The Solid.
            other: DEF of the Solid whose presses count alone; all do where it is not given.
        """
        if self._forces is None:
            self._forces = self._summed()
        return self._forces.get((id(solid), other)) or ContactForce()

    def touches(self, solid: Solid) -> bool:
        """Whether anything touches a Solid in the last step."""
        return any(solid is pair.first or solid is pair.second for pair, _, _ in self._live)

    def _near(self, _: Any, first: int, second: int) -> None:
        if self._problem is not None:
            return
        try:
            key = (first, second)
            if key not in self._pairs:
                self._pairs[key] = self._pairing.pair(first, second)
            pair = self._pairs[key]
            if pair is not None:
                self._collide(pair, first, second)
        except BaseException as error:  # noqa: BLE001 - C cannot pass it on; find() raises it
            self._problem = error

    def _collide(self, pair: Pair, first: int, second: int) -> None:
        ode, candidates = self._ode, self._candidates
        points = candidates.sample(pair, first, second)
        if len(points) == 0 or (self._sleep and not any(map(ode.BodyIsEnabled, pair.both))):
            return
        begin = self.count
        end = begin + len(points)
        if end > MAX_CONTACTS:
            raise SimulationError(f"expected at most {MAX_CONTACTS} points of contact, found more")
        self._normals[begin:end] = candidates.normals[points, :3]
        self._live.append((pair, begin, end))
        feedback = self._feedback_address + begin * self._feedback_size
        for index in points:
            joint = ode.JointCreateContact(self._world, self._group, candidates.address(index))
            ode.JointAttach(joint, *pair.bodies)
            ode.JointSetFeedback(joint, feedback)
            feedback += self._feedback_size

    def _summed(self) -> dict[tuple[int, str], ContactForce]:
        forces: dict[tuple[int, str], ContactForce] = {}
        number = self.count
        on_first = self._feedbacks[:number, :3].astype(float)
        along = (on_first * self._normals[:number]).sum(axis=1)
        across = np.linalg.norm(on_first - along[:, None] * self._normals[:number], axis=1)
        along = np.abs(along)
        for pair, begin, end in self._live:
            x, y, z = on_first[begin:end].sum(axis=0).tolist()
            normal, friction = float(along[begin:end].sum()), float(across[begin:end].sum())
            both = ((pair.first, pair.second, 1.0), (pair.second, pair.first, -1.0))
            for solid, other, sign in both:
                for name in {"", other.node.name}:
                    force = forces.setdefault((id(solid), name), ContactForce())
                    a, b, c = force.vector
                    force.vector = (a + sign * x, b + sign * y, c + sign * z)
                    force.normal += normal
                    force.friction += friction
        return forces
