"""What hinges and sliders have in common: springs, stops and motors as Webots sets them up in ODE.

Rules after Webots' ``WbHingeJoint``, ``WbSliderJoint`` and ``WbOdeUtilities`` (2020-2023). In ODE
the child comes first, so that angles, rates and torques have Webots' own sign.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from softgrasp.backends.ode import bindings
from softgrasp.backends.ode.bindings import Ode
from softgrasp.backends.ode.solids import Array, JointMounting
from softgrasp.backends.wbt.schema import Node, number, text, vector
from softgrasp.errors import SimulationError

MOTORS = ("RotationalMotor", "LinearMotor")


@dataclass(frozen=True, slots=True)
class Spring:
    """A spring and damper as a soft constraint of ODE, which takes both at the end of the step.

    ODE asks for rate + cfm·force = −erp·x/h. With cfm = 1/(h·k + c) and erp = h·k/(h·k + c) the
    force is −k·(x + h·rate) − c·rate, with the rate at the end of the step: an implicit spring.
    """

    cfm: float
    erp: float


def spring_of(stiffness: float, damping: float, time_step: float) -> Spring | None:
    """The constraint of a spring and damper; None where there is neither.

    Args:
        stiffness: k [N·m/rad or N/m].
        damping: c [N·m·s/rad or N·s/m].
        time_step: h [s].
    """
    whole = time_step * stiffness + damping
    return None if whole == 0.0 else Spring(1.0 / whole, min(time_step * stiffness / whole, 1.0))


class Joint(ABC):
    """A joint in ODE; positions are angles [rad] or lengths [m], 0 where its spring rests.

    Args:
        ode: The functions.
        world: ODE's world.
        place: Between which Solids it stands.
        time_step: Of the world [s].
    """

    def __init__(self, ode: Ode, world: int, mounting: JointMounting, time_step: float) -> None:
        if mounting.child is None or mounting.child.body is None:
            raise SimulationError(f"line {mounting.node.line}: expected an endPoint with Physics")
        self.node = mounting.node
        self.parent, self.child = mounting.parent, mounting.child
        self.time_step = time_step
        self._ode = ode
        parameters = mounting.node.node("jointParameters")
        self._parameters = parameters
        self.start = number(parameters or mounting.node, "position")
        """Position at which the world is written, where ODE's own position is 0."""
        self.position = self.start
        self.velocity = 0.0
        motor = next((n for n in mounting.node.nodes("device") if n.type in MOTORS), None)
        self.motor = None if motor is None else Motor(motor, self.position)
        self._friction = self._parameter("staticFriction")
        self._powered = (0.0, 0.0)
        self._child = mounting.child.body.handle
        self._parent = mounting.parent.body.handle if mounting.parent.body else None
        axis = np.array(vector(parameters, "axis") if parameters else self.default_axis)
        self.axis: Array = mounting.frame.rotation @ (axis / np.linalg.norm(axis))
        anchor = mounting.frame.apply(anchor_of(mounting.node))
        self.handle = self._create(world, anchor)
        self._set_stops(self._parameter("minStop"), self._parameter("maxStop"))
        stiffness, damping = self._parameter("springConstant"), self._parameter("dampingConstant")
        law = spring_of(stiffness, damping, time_step)
        self._spring = None if law is None else self._create_spring(world, law)

    default_axis: tuple[float, float, float]
    """Where there are no jointParameters."""

    def _parameter(self, key: str) -> float:
        return number(self._parameters, key) if self._parameters is not None else 0.0

    def _set_stops(self, low: float, high: float) -> None:
        """Stops where they differ; equal ones mean none."""
        if low == high:
            return
        self._set(bindings.LO_STOP, self._within(low - self.start))
        self._set(bindings.HI_STOP, self._within(high - self.start))
        if self._parameters is None or self._parameters.type != "HingeJointParameters":
            return
        for key, parameter in (("stopERP", bindings.STOP_ERP), ("stopCFM", bindings.STOP_CFM)):
            if self._parameter(key) != -1.0:
                self._set(parameter, self._parameter(key))

    def before_step(self) -> None:
        """Set what motor and spring do in the step that comes."""
        motor = self.motor
        if motor is not None and motor.force is not None:
            # Webots turns its motor off for good with the first force, static friction with it
            self._power(0.0, 0.0)
            if motor.force != 0.0:
                self._push(motor.force)
        elif motor is not None:
            velocity = motor.target_velocity(self.position, self.time_step)
            self._power(max(self._friction, motor.available), velocity)
        elif self._friction != 0.0:
            self._power(self._friction, 0.0)
        if self._spring is not None:
            self._strain(self._spring)

    def _power(self, max_force: float, velocity: float) -> None:
        if self._powered != (max_force, velocity):
            self._powered = (max_force, velocity)
            self._set(bindings.LARGEST_FORCE, max_force)
            self._set(bindings.VELOCITY, velocity)

    @abstractmethod
    def after_step(self) -> None:
        """Read position and velocity as Webots reports them."""

    @abstractmethod
    def _create(self, world: int, anchor: Array) -> int: ...

    @abstractmethod
    def _create_spring(self, world: int, law: Spring) -> int: ...

    @abstractmethod
    def _set(self, parameter: int, value: float) -> None: ...

    @abstractmethod
    def _within(self, stop: float) -> float: ...

    @abstractmethod
    def _push(self, force: float) -> None: ...

    @abstractmethod
    def _strain(self, spring: int) -> None:
        """Tell the spring where the joint is."""


def anchor_of(node: Node) -> tuple[float, ...]:
    """Anchor of a hinge in the frame around the joint [m]; the origin for what has none."""
    parameters = node.node("jointParameters")
    if parameters is None or parameters.type != "HingeJointParameters":
        return (0.0, 0.0, 0.0)
    return vector(parameters, "anchor")


# Motors of Webots as laws: what a motor asks of its joint, whatever engine moves it.


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


# HingeJoints of Webots in ODE.


class Hinge(Joint):
    """A HingeJoint; its spring is an angular motor whose two stops are one."""

    default_axis = (1.0, 0.0, 0.0)

    def _create(self, world: int, anchor: Array) -> int:
        ode = self._ode
        handle: int = ode.JointCreateHinge(world, None)
        ode.JointAttach(handle, self._child, self._parent)
        ode.JointSetHingeAnchor(handle, *anchor)
        ode.JointSetHingeAxis(handle, *self.axis)
        # looked up once: every step of every joint asks for them
        self._angle, self._rate = ode.JointGetHingeAngle, ode.JointGetHingeAngleRate
        self._set_motor_angle = ode.JointSetAMotorAngle
        return handle

    def _create_spring(self, world: int, law: Spring) -> int:
        ode = self._ode
        spring: int = ode.JointCreateAMotor(world, None)
        ode.JointAttach(spring, self._child, self._parent)
        ode.JointSetAMotorNumAxes(spring, 1)
        ode.JointSetAMotorMode(spring, bindings.AMOTOR_USER)
        ode.JointSetAMotorAxis(spring, 0, 1, *self.axis)
        rest = math.remainder(-self.start, math.tau)
        ode.JointSetAMotorParam(spring, bindings.LO_STOP, rest)
        ode.JointSetAMotorParam(spring, bindings.HI_STOP, rest)
        ode.JointSetAMotorParam(spring, bindings.STOP_CFM, law.cfm)
        ode.JointSetAMotorParam(spring, bindings.STOP_ERP, law.erp)
        return spring

    def _strain(self, spring: int) -> None:
        self._set_motor_angle(spring, 0, self._angle(self.handle))

    def after_step(self) -> None:
        """The angle is the integral of its rate, as Webots has it, which also counts turns."""
        self.velocity = self._rate(self.handle)
        if self.motor is not None and self.motor.holds_position:
            angle = self._angle(self.handle) + self.start
            self.position += math.remainder(angle - self.position, math.tau)
        else:
            self.position += self.velocity * self.time_step

    def _set(self, parameter: int, value: float) -> None:
        self._ode.JointSetHingeParam(self.handle, parameter, value)

    def _within(self, stop: float) -> float:
        return min(max(stop, -math.pi), math.pi)

    def _push(self, force: float) -> None:
        self._ode.JointAddHingeTorque(self.handle, force)


# SliderJoints of Webots in ODE.


class Slider(Joint):
    """A SliderJoint; its spring is a linear motor without a largest force.

    The stops of Webots' own linear motor, which ODE does not have, and the target velocity
    −erp·x/h used here are the same constraint. As in Webots, the spring acts along an axis that
    stays fixed in the world, between the two centres of mass.
    """

    default_axis = (0.0, 0.0, 1.0)

    def _create(self, world: int, anchor: Array) -> int:  # noqa: ARG002
        ode = self._ode
        handle: int = ode.JointCreateSlider(world, None)
        ode.JointAttach(handle, self._child, self._parent)
        ode.JointSetSliderAxis(handle, *self.axis)
        return handle

    def _create_spring(self, world: int, law: Spring) -> int:
        ode = self._ode
        spring: int = ode.JointCreateLMotor(world, None)
        ode.JointAttach(spring, self._child, self._parent)
        ode.JointSetLMotorNumAxes(spring, 1)
        ode.JointSetLMotorAxis(spring, 0, 0, *self.axis)
        ode.JointSetLMotorParam(spring, bindings.LARGEST_FORCE, bindings.INFINITY)
        ode.JointSetLMotorParam(spring, bindings.NORMAL_CFM, law.cfm)
        self._return = law.erp / self.time_step
        return spring

    def _strain(self, spring: int) -> None:
        velocity = -self._return * self.position
        self._ode.JointSetLMotorParam(spring, bindings.VELOCITY, velocity)

    def after_step(self) -> None:
        """The position is ODE's own, as in Webots."""
        self.velocity = self._ode.JointGetSliderPositionRate(self.handle)
        self.position = self._ode.JointGetSliderPosition(self.handle) + self.start

    def _set(self, parameter: int, value: float) -> None:
        self._ode.JointSetSliderParam(self.handle, parameter, value)

    def _within(self, stop: float) -> float:
        return stop

    def _push(self, force: float) -> None:
        self._ode.JointAddSliderForce(self.handle, force)
