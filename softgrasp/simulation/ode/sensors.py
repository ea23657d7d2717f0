"""Sensors of a robot with the methods of Webots' ``controller`` module."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np

from softgrasp.errors import SimulationError
from softgrasp.formats.wbt.access import number, text, vectors
from softgrasp.formats.wbt.node import Node
from softgrasp.simulation.ode.contacts import ContactForce
from softgrasp.simulation.ode.devices import Device
from softgrasp.simulation.ode.joint import Joint
from softgrasp.simulation.ode.solids import Solid
from softgrasp.simulation.ode.world import OdeWorld


class Sensor(Device, ABC):
    """A device that measures once in a sampling period; before the first sample it reads nan."""

    def __init__(self, world: OdeWorld, node: Node) -> None:
        super().__init__(world, node)
        self._period = 0
        self._every = self._next = 0

    def enable(self, period: float) -> None:
        """Measure every so many milliseconds, for the first time after one period."""
        self._period = int(period)
        self._every = max(math.ceil(period / 1000.0 / self._world.time_step - 1e-9), 1)
        self._next = self._world.steps + self._every

    def disable(self) -> None:
        """Measure no more."""
        self._every = self._period = 0

    def getSamplingPeriod(self) -> int:
        """The sampling period [ms]; 0 while it is disabled."""
        return self._period

    def update(self) -> None:
        """Measure where it is time to, after a basic time step."""
        if self._every and self._world.steps >= self._next:
            self._next += self._every
            self._measure()

    @abstractmethod
    def _measure(self) -> None: ...


class PositionSensor(Sensor):
    """The position of a joint."""

    def __init__(self, world: OdeWorld, node: Node, joint: Joint) -> None:
        super().__init__(world, node)
        _refuse(node, "noise", 0.0)
        _refuse(node, "resolution", -1.0)
        self._joint = joint
        self._value = math.nan

    def getValue(self) -> float:
        """Position of the joint at the last sample [rad or m]."""
        return self._value

    def _measure(self) -> None:
        self._value = self._joint.position


class TouchSensor(Sensor):
    """What presses on the bounding object of a TouchSensor.

    In Webots the force is that in the fixed joint that carries the sensor, so it holds the
    sensor's own weight and inertia besides; here it is that of the contacts alone.
    """

    def __init__(self, world: OdeWorld, node: Node, solid: Solid) -> None:
        super().__init__(world, node)
        _refuse(node, "resolution", -1.0)
        self._solid = solid
        self._kind = text(node, "type")
        self._table = vectors(node, "lookupTable")
        self._sampled = False
        self._late: list[float] | None = [math.nan] * 3
        """The values of the last sample; None as long as nobody has asked for them."""

    def getValue(self) -> float:
        """Of a bumper 1 where it touches, else 0; of a force sensor the push against its +x [N]."""
        return self._values()[0]

    def getValues(self) -> list[float]:
        """Of a force-3d sensor the force on it, along its own axes [N]."""
        return list(self._values())

    def getNormalForce(self, other: str = "") -> float:
        """Sum of the normal forces of its contact points [N]; only here, not in Webots.

        Args:
            other: DEF of the Solid whose contacts count alone; all do where it is not given.
        """
        return self._pressed_by(other).normal

    def getFrictionForce(self, other: str = "") -> float:
        """Sum of the friction forces of its contact points [N]; as ``getNormalForce``."""
        return self._pressed_by(other).friction

    def _pressed_by(self, other: str) -> ContactForce:
        """The force of the last step; not a number before the first sample."""
        if not self._sampled:
            return ContactForce(normal=math.nan, friction=math.nan)
        return self._world.contacts.force_on(self._solid, other)

    def _measure(self) -> None:
        self._sampled, self._late = True, None
        if self._every > 1:
            self._values()  # the next steps change the forces

    def _values(self) -> list[float]:
        if self._late is None:
            self._late = self._measured()
        return self._late

    def _measured(self) -> list[float]:
        contacts = self._world.contacts
        if self._kind == "bumper":
            return [float(contacts.touches(self._solid)), math.nan, math.nan]
        force = np.array(contacts.force_on(self._solid).vector)
        local_force = self._world.pose(self._solid).rotation.T @ force
        if self._kind == "force":
            return [interpolated(self._table, max(-float(local_force[0]), 0.0)), math.nan, math.nan]
        return [interpolated(self._table, value) for value in local_force.tolist()]


def interpolated(table: Sequence[Sequence[float]], value: float) -> float:
    """A measured value as a sensor's lookup table gives it, between its rows and flat outside.

    Args:
        table: Rows of value and reading (and noise, which has to be 0); none changes nothing.
        value: What was measured.
    """
    if not table:
        return value
    if any(row[2] != 0.0 for row in table):
        raise SimulationError("lookupTable: noise is not supported in ODE")
    return float(np.interp(value, [row[0] for row in table], [row[1] for row in table]))


def _refuse(node: Node, key: str, usual: float) -> None:
    if number(node, key) != usual:
        raise SimulationError(f"{node.type} {text(node, 'name')}: {key} is not supported in ODE")
