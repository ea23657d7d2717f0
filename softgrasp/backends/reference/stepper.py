"""The closed loop of a grasp on the reference dynamics, and its contacts for results and events."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterator
from functools import cached_property

import mujoco
import numpy as np

from softgrasp.backends.reference.dynamics import ContactDynamics
from softgrasp.description.base import Vec3
from softgrasp.mechanics.transforms import Array
from softgrasp.model import names
from softgrasp.sim.contacts import ContactPoint, ContactReader, OtherPoint
from softgrasp.sim.control_state import ClosureLayout, ClosureState, Recording
from softgrasp.sim.stepper import MujocoStepper, TargetBacktracking


class TouchReader(ContactReader):
    """Reads the contacts of the reference dynamics at the end of the last control period."""

    def __init__(self, dynamics: ContactDynamics) -> None:
        """Look up constants.

        Args:
            dynamics: The dynamics to read.
        """
        super().__init__(dynamics.model)
        self._dynamics = dynamics

    def read(
        self,
        data: mujoco.MjData,  # noqa: ARG002 - the dynamics have the contacts
        bodies: Container[str] | None = None,
    ) -> list[ContactPoint]:
        """Read the contacts with objects; see ``ContactReader.read``.

        Args:
            data: Not used.
            bodies: Bodies of the hand to read; all by default.
        """
        return [
            ContactPoint(
                body=self._bodies[first],
                pair=pair,
                point=point,
                normal=normal,
                separation=separation,
                normal_force=pressing,
                friction_force=float(np.linalg.norm(friction)),
                slip_speed=float(np.linalg.norm(slip)),
                object_name=self._bodies[second],
            )
            for first, second, pair, point, normal, separation, pressing, friction, slip in (
                self._rows()
            )
            if self._is_object[second] and (bodies is None or self._bodies[first] in bodies)
        ]

    def others(self, data: mujoco.MjData) -> list[OtherPoint]:  # noqa: ARG002 - as above
        """Read contacts with surroundings and between objects; see ``ContactReader.others``."""
        found = []
        for row in self._rows():
            first, second, _, point, normal, separation, pressing, friction, _ = row
            if self._is_around[first]:
                first, second = second, first
                normal, friction = _negative(normal), -friction
            of_objects = self._is_object[first] and self._is_object[second]
            if not of_objects and not self._is_around[second]:
                continue
            force = friction + pressing * np.array(normal)
            found.append(
                OtherPoint(
                    first=self._bodies[first],
                    second=self._bodies[second],
                    point=point,
                    separation=separation,
                    force=_vector(force),
                    normal=normal,
                    normal_force=pressing,
                    friction_force=float(np.linalg.norm(friction)),
                )
            )
        return found

    def _rows(
        self,
    ) -> Iterator[tuple[int, int, str, Vec3, Vec3, float, float, Array, Array]]:
        """Yield the contacts with the later one of two bodies as the second one."""
        touch, pairs = self._dynamics.touch, self._dynamics.pairs
        points, forces = touch.points, touch.forces
        for index, pair in enumerate(points.pair.tolist()):
            (one, two), (first, second) = pairs.geoms[pair].tolist(), pairs.bodies[pair].tolist()
            normal, friction, slip = (
                points.normal[index],
                forces.friction[index],
                forces.slip[index],
            )
            if self._rank[first] > self._rank[second]:
                one, two, first, second = two, one, second, first
                normal, friction, slip = -normal, -friction, -slip
            name = f"{self._geoms[one]}|{self._geoms[two]}"
            place = _vector(points.point[index]), _vector(normal), -float(points.depth[index])
            yield (first, second, name, *place, float(forces.normal[index]), friction, slip)


class ReferenceStepper(MujocoStepper):
    """Runs the samples of a plan on the reference dynamics."""

    def __init__(
        self,
        dynamics: ContactDynamics,
        layout: ClosureLayout,
        state: ClosureState,
        recording: Recording,
        reader: TouchReader,
    ) -> None:
        """Start from the state of the dynamics.

        Args:
            dynamics: Equations of motion and state.
            layout: Constants of the loop.
            state: Targets and flags; updated.
            recording: Grows by one row per sample.
            reader: Reads the contacts of the dynamics.
        """
        super().__init__(dynamics.model, dynamics.data, layout, state, recording)
        self._dynamics, self._reader = dynamics, reader
        dynamics.start()

    def run_chunk(self, plan: Array) -> int:
        """Run the samples of a plan until contact changes; see ``Stepper.run_chunk``."""
        data, first, loads = self._data, self.recording.rows, self.loads[: len(plan)]
        for index, targets in enumerate(plan):
            row = first + index
            if len(loads):
                self._gravity[:] = loads[index]
            if row:
                self._advance()
            self._sensors[:] = self._body_forces()
            if self._detect(row):
                return index
            data.ctrl[:] = targets
            self.recording.qpos[row] = data.qpos
        return len(plan)

    def _advance(self) -> None:
        """Integrate one control period towards the present targets."""
        layout, targets = self._layout, self._data.ctrl.copy()
        speed = None
        if layout.prescribed:
            speed = (targets - self._previous) / layout.control_period
        self._dynamics.advance(layout.control_period, speed)
        self._previous = targets

    def step_sample(self, targets: Array) -> Array:
        """Integrate one sample towards targets that come from outside; see ``MujocoStepper``."""
        self._data.ctrl[:] = targets
        self._advance()
        self._sensors[:] = self._body_forces()
        sensors: Array = self._sensors
        return sensors

    def _body_forces(self) -> Array:
        """Return the contact forces in the order of the model's contact sensors, (nf,) [N]."""
        slots = self._layout.object_slots
        forces = np.zeros((len(self._layout.bodies), sum(slots), 3))
        found: defaultdict[tuple[str, str], list[tuple[float, float]]] = defaultdict(list)
        for point in self._reader.read(self._data):
            if point.normal_force > 0.0:
                found[point.body, point.object_name].append(
                    (point.normal_force, point.friction_force)
                )
        begin = 0
        for index, count in enumerate(slots):
            for row, body in enumerate(self._layout.bodies):
                largest = sorted(found[body, names.object_body(index)], reverse=True)[:count]
                for slot, components in enumerate(largest, begin):
                    forces[row, slot, :2] = components
            begin += count
        return forces.ravel()

    @cached_property
    def _backtracking(self) -> TargetBacktracking:
        return TargetBacktracking(self._model, self._layout, self._reader)


def _vector(values: Array) -> Vec3:
    x, y, z = values.tolist()
    return (x, y, z)


def _negative(vector: Vec3) -> Vec3:
    return (-vector[0], -vector[1], -vector[2])
