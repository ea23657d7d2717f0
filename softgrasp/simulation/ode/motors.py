"""Motors of Webots as laws: what a motor asks of its joint, whatever engine moves it."""

from __future__ import annotations

import math

from softgrasp.errors import SimulationError
from softgrasp.formats.wbt.access import number, text, vector
from softgrasp.formats.wbt.node import Node


class Motor:
    """A RotationalMotor or LinearMotor; velocities and forces are those of the joint.

    Until a controller commands something it holds the position in which the world starts, with all
    of its force. The laws are those of Webots' ``WbMotor`` (R2023b).

    Args:
        node: The motor.
        position: Of the joint at the start [rad or m].
    """

    def __init__(self, node: Node, position: float) -> None:
        self.name = text(node, "name")
        self.limit = number(node, "maxForce" if node.type == "LinearMotor" else "maxTorque")
        self.largest_velocity = number(node, "maxVelocity")
        self.acceleration = number(node, "acceleration")
        self.gains = vector(node, "controlPID")
        self.range = (number(node, "minPosition"), number(node, "maxPosition"))
        if number(node, "multiplier") != 1.0 or "::" in self.name:
            raise SimulationError(f"motor {self.name}: coupled motors are not supported in ODE")
        self.target = position
        self.velocity = self.largest_velocity
        self.available = self.limit
        self.force: float | None = None
        """A force or torque that was commanded; None where velocity or position is."""
        self.current = self._integral = self._error = 0.0

    def set_position(self, position: float) -> None:
        """Hold a position [rad or m] within the motor's range, or none at all (infinity)."""
        low, high = self.range
        within = low == high or math.isinf(position)
        self.target = position if within else min(max(position, low), high)
        self.force = None

    def set_velocity(self, velocity: float) -> None:
        """Move at a velocity, or towards a position at most that fast [rad/s or m/s]."""
        limit = self.largest_velocity
        self.velocity = min(max(velocity, -limit), limit)

    def set_force(self, force: float) -> None:
        """Push with a force [N] or torque [N·m], at most with what is available."""
        self.force = min(max(force, -self.available), self.available)

    def set_available(self, force: float) -> None:
        """How hard to push for a velocity or position: at most the motor's own limit."""
        self.available = min(force, self.limit)

    @property
    def holds_position(self) -> bool:
        """Whether it moves towards a position."""
        return self.force is None and not math.isinf(self.target)

    def target_velocity(self, position: float, time_step: float) -> float:
        """What it asks of the joint in the next step [rad/s or m/s]; call it once a step.

        Args:
            position: Of the joint [rad or m].
            time_step: [s]
        """
        if self.available == 0.0:
            self.current = 0.0
            return 0.0
        target_velocity = self.velocity
        if not math.isinf(self.target):
            target_velocity = self._towards(self.target - position, time_step)
        if self.acceleration == -1.0:
            self.current = target_velocity
        else:
            limit = self.acceleration * time_step
            self.current += min(max(target_velocity - self.current, -limit), limit)
        return self.current

    def _towards(self, error: float, time_step: float) -> float:
        proportional, integral, derivative = self.gains
        self._integral += error * time_step
        change = (error - self._error) / time_step
        self._error = error
        command = proportional * error + integral * self._integral + derivative * change
        limit = abs(self.velocity)
        return min(max(command, -limit), limit)
