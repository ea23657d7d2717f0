"""Devices of a robot, motors first of all, with the methods of Webots' ``controller`` module."""

from __future__ import annotations

import sys

from softgrasp.formats.wbt.access import text
from softgrasp.formats.wbt.node import Node
from softgrasp.simulation.ode.joint import Joint
from softgrasp.simulation.ode.motors import Motor as MotorLaw
from softgrasp.simulation.ode.world import OdeWorld


class Device:
    """Anything that ``Robot.getDevice`` finds."""

    def __init__(self, world: OdeWorld, node: Node) -> None:
        self._world = world
        self._node = node

    def getName(self) -> str:
        """Its name in the world."""
        return text(self._node, "name")


class Motor(Device):
    """A RotationalMotor or LinearMotor; commands act from the next step on."""

    def __init__(self, world: OdeWorld, node: Node, joint: Joint, law: MotorLaw) -> None:
        super().__init__(world, node)
        self._joint, self._law = joint, law

    def setPosition(self, position: float) -> None:
        """Move to a position [rad or m] and hold it; infinity gives way to the velocity."""
        self._law.set_position(float(position))
        self._wake()

    def setVelocity(self, velocity: float) -> None:
        """Velocity, or how fast to move at most [rad/s or m/s]."""
        self._law.set_velocity(float(velocity))
        self._wake()

    def setTorque(self, torque: float) -> None:
        """Turn with a torque [N·m], at most with the available one."""
        self._law.set_force(float(torque))
        if self._law.force != torque:
            kind = "force" if self._node.type == "LinearMotor" else "torque"
            sys.stderr.write(
                f"motor {self.getName()}: the requested {kind} {torque:g} exceeds the available "
                f"{self._law.available:g}\n"
            )
        self._wake()

    setForce = setTorque

    def setAvailableTorque(self, torque: float) -> None:
        """How hard to push for a velocity or position [N·m or N]."""
        self._law.set_available(float(torque))
        self._wake()

    setAvailableForce = setAvailableTorque

    def setControlPID(self, p: float, i: float, d: float) -> None:
        """Gains from the error of the position to the velocity."""
        self._law.gains = (float(p), float(i), float(d))

    def setAcceleration(self, acceleration: float) -> None:
        """Largest change of the velocity it asks for [rad/s² or m/s²]; -1 for any."""
        self._law.acceleration = float(acceleration)

    def getTargetPosition(self) -> float:
        """The position that was commanded [rad or m]."""
        return self._law.target

    def getVelocity(self) -> float:
        """The velocity that was commanded [rad/s or m/s]."""
        return self._law.velocity

    def getMaxVelocity(self) -> float:
        """Its largest velocity [rad/s or m/s]."""
        return self._law.largest_velocity

    def getMaxTorque(self) -> float:
        """Its largest torque [N·m] or force [N]."""
        return self._law.limit

    getMaxForce = getMaxTorque

    def getAvailableTorque(self) -> float:
        """The torque [N·m] or force [N] that it may use."""
        return self._law.available

    getAvailableForce = getAvailableTorque

    def _wake(self) -> None:
        self._world.wake(self._joint.child)
