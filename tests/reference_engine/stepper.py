"""The closed loop of a grasp on the reference dynamics, and its contacts for results and events."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterator
from functools import cached_property
from typing import NamedTuple

import mujoco
import numpy as np

from softgrasp.mechanics import Array
from softgrasp.model import names
from softgrasp.plugin_api import (
    ClosureLayout,
    ClosureState,
    MujocoStepper,
    StepRefinement,
    TargetBacktracking,
    Vec3,
)
from softgrasp.sim import ContactPoint, ContactReader, OtherPoint, Recording
from tests.reference_engine.dynamics import ContactDynamics

PLAN_SAMPLES = 16
"""Control samples between two checks for Ctrl-C: about a third of a second of computing."""


class _Row(NamedTuple):
    """A contact point of two bodies; the body with the higher index is the second one."""

    first: int
    second: int
    """Body."""
    pair: str
    point: Vec3
    normal: Array
    """Into the second body."""
    separation: float
    pressing: float
    """Normal force [N]."""
    friction: Array
    """On the second body [N]."""
    slip_speed: float


class TouchReader(ContactReader):
    """Reads the contacts of the reference engine at the end of the last control period."""

    def __init__(self, dynamics: ContactDynamics) -> None:
        """Look up constants.

        Args:
            dynamics: The dynamics to read.
        """
        super().__init__(dynamics.model)
        self._dynamics = dynamics

    def read(self, data: mujoco.MjData, bodies: Container[str] | None = None) -> list[ContactPoint]:
        """Read the contacts with objects; see ``ContactReader.read``.

        Args:
            data: Not used.
            bodies: Bodies of the hand to read; all by default.
        """
        return [
            ContactPoint(
                body=self._bodies[row.first],
                pair=row.pair,
                point=row.point,
                normal=_vector(row.normal),
                separation=row.separation,
                normal_force=row.pressing,
                friction_force=float(np.linalg.norm(row.friction)),
                slip_speed=row.slip_speed,
                object_name=self._bodies[row.second],
            )
            for row in self._rows()
            if self._is_object[row.second] and (bodies is None or self._bodies[row.first] in bodies)
        ]

    def others(self, data: mujoco.MjData) -> list[OtherPoint]:
        """Read contacts with surroundings and between objects; see ``ContactReader.others``."""
        points = []
        for row in self._rows():
            sign, first, second = 1.0, row.first, row.second
            if self._is_around[first]:
                sign, first, second = -1.0, second, first
            of_objects = self._is_object[first] and self._is_object[second]
            if not of_objects and not self._is_around[second]:
                continue
            points.append(
                OtherPoint(
                    first=self._bodies[first],
                    second=self._bodies[second],
                    point=row.point,
                    separation=row.separation,
                    force=_vector(sign * (row.friction + row.pressing * row.normal)),
                    normal=_vector(sign * row.normal),
                    normal_force=row.pressing,
                    friction_force=float(np.linalg.norm(row.friction)),
                )
            )
        return points

    def forces_on(self, data: mujoco.MjData, body: str) -> dict[str, Array]:
        """Sum the contact forces of other bodies on one; see ``ContactReader.forces_on``."""
        sums: dict[str, Array] = {}
        for row in self._rows():
            first, second = self._bodies[row.first], self._bodies[row.second]
            if body in (first, second):
                sign, other = (1.0, first) if second == body else (-1.0, second)
                force = sign * (row.friction + row.pressing * row.normal)
                sums[other] = sums.get(other, 0.0) + force
        return sums

    def _rows(self) -> Iterator[_Row]:
        """Yield the contacts, each with the higher-indexed one of two bodies as the second one."""
        touch, pairs = self._dynamics.touch, self._dynamics.pairs
        points, forces = touch.points, touch.forces
        for index, pair in enumerate(points.pair.tolist()):
            (item, two), (first, second) = pairs.geoms[pair].tolist(), pairs.bodies[pair].tolist()
            sign = 1.0
            if self._rank[first] > self._rank[second]:
                item, two, first, second = two, item, second, first
                sign = -1.0
            yield _Row(
                first,
                second,
                pair=f"{self._geoms[item]}|{self._geoms[two]}",
                point=_vector(points.point[index]),
                normal=sign * points.normal[index],
                separation=-float(points.depth[index]),
                pressing=float(forces.normal[index]),
                friction=sign * forces.friction[index],
                slip_speed=float(np.linalg.norm(forces.slip[index])),
            )


class ReferenceStepper(MujocoStepper):
    """Runs the samples of a plan on the reference dynamics."""

    def __init__(
        self,
        dynamics: ContactDynamics,
        layout: ClosureLayout,
        state: ClosureState,
        recording: Recording,
        refinement: StepRefinement,
        reader: TouchReader,
    ) -> None:
        """Start from the present state of the dynamics.

        Args:
            dynamics: Equations of motion and state.
            layout: Constants of the loop.
            state: Targets and flags; updated.
            recording: Grows by one row per sample.
            refinement: One without a fine step, as the integrator adapts its own.
            reader: Reads the contacts of the dynamics.
        """
        super().__init__(dynamics.model, dynamics.data, layout, state, recording, refinement)
        self._dynamics, self._reader = dynamics, reader
        self.max_samples = PLAN_SAMPLES
        self._replan()
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
            self._sensors[:] = self._sensor_forces()
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
        """Integrate one control sample towards externally set targets; see ``MujocoStepper``."""
        self._data.ctrl[:] = targets
        self._advance()
        self._sensors[:] = self._sensor_forces()
        sensors: Array = self._sensors
        return sensors

    def _sensor_forces(self) -> Array:
        """Return the contact forces in the order of the model's contact sensors, (nf,) [N]."""
        slots = self._layout.object_slots
        forces = np.zeros((len(self._layout.bodies), sum(slots), 3))
        components: defaultdict[tuple[str, str], list[tuple[float, float]]] = defaultdict(list)
        for point in self._reader.read(self._data):
            if point.normal_force > 0.0:
                components[point.body, point.object_name].append(
                    (point.normal_force, point.friction_force)
                )
        begin = 0
        for index, count in enumerate(slots):
            for row, body in enumerate(self._layout.bodies):
                largest = sorted(components[body, names.object_body(index)], reverse=True)[:count]
                for slot, pair in enumerate(largest, begin):
                    forces[row, slot, :2] = pair
            begin += count
        return forces.ravel()

    @cached_property
    def _backtracking(self) -> TargetBacktracking:
        return TargetBacktracking(self._model, self._layout, self._reader)


def _vector(values: Array) -> Vec3:
    x, y, z = values.tolist()
    return (x, y, z)
