"""Joints of a Webots world in ODE: hinges and sliders with springs, stops and motors.

Rules after Webots' ``WbHingeJoint``, ``WbSliderJoint`` and ``WbOdeUtilities`` (2020-2023). In ODE
the child comes first, so that angles, rates and torques have the sign of Webots.
"""

from __future__ import annotations

import math
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial

import numpy as np

from softgrasp.backends.ode import bindings
from softgrasp.backends.ode.bindings import Ode
from softgrasp.backends.ode.solids import JointMounting
from softgrasp.backends.wbt.schema import Node, number, text, vector
from softgrasp.errors import SimulationError
from softgrasp.mechanics import Array

MOTORS = ("RotationalMotor", "LinearMotor")


def spring_of(stiffness: float, damping: float, time_step: float) -> tuple[float, float] | None:
    """Return the cfm and erp of ODE for a spring and damper; None where there is neither.

    ODE solves rate + cfm·force = −erp·x/h. With cfm = 1/(h·k + c) and erp = h·k/(h·k + c) the
    force is −k·(x + h·rate) − c·rate, with the rate at the end of the step: an implicit spring.

    Args:
        stiffness: k [N·m/rad or N/m].
        damping: c [N·m·s/rad or N·s/m].
        time_step: h [s].
    """
    whole = time_step * stiffness + damping
    return None if whole == 0.0 else (1.0 / whole, min(time_step * stiffness / whole, 1.0))


class Joint(ABC):
    """A joint in ODE; positions are angles [rad] or lengths [m], 0 where its spring is relaxed.

    Args:
        ode: Functions of ODE.
        world: ODE's world.
        mounting: Node and the Solids that it connects.
        time_step: Time step of the world [s].
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
        """Position in the file, where the position of ODE is 0."""
        self.position = self.start
        self.velocity = 0.0
        motor = next((n for n in mounting.node.nodes("device") if n.type in MOTORS), None)
        self.motor = None if motor is None else Motor(motor)
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
        self._spring = None if law is None else self._create_spring(world, *law)

    default_axis: tuple[float, float, float]
    """Axis without jointParameters."""
    largest_stop: float
    """Largest stop that ODE can have [rad or m]."""
    _set: Callable[[int, float], None]
    """Set a parameter."""
    _push: Callable[[float], None]
    """Add a force [N] or torque [N·m]."""

    def _parameter(self, key: str) -> float:
        return number(self._parameters, key) if self._parameters is not None else 0.0

    def _set_stops(self, low: float, high: float) -> None:
        """Set the joint stops (limits) in ODE; equal limits disable them."""
        if low == high:
            return
        for parameter, stop in ((bindings.LO_STOP, low), (bindings.HI_STOP, high)):
            reach = self.largest_stop
            self._set(parameter, min(max(stop - self.start, -reach), reach))
        if self._parameters is None or self._parameters.type != "HingeJointParameters":
            return
        for key, parameter in (("stopERP", bindings.STOP_ERP), ("stopCFM", bindings.STOP_CFM)):
            if self._parameter(key) != -1.0:
                self._set(parameter, self._parameter(key))

    def before_step(self) -> None:
        """Set motor and spring for the next step."""
        motor = self.motor
        if motor is not None and motor.force is not None:
            # the first force switches the motor of Webots off for good
            self._power(0.0, 0.0)
            if motor.force != 0.0:
                self._push(motor.force)
        elif motor is not None:
            self._power(motor.limit, motor.velocity)
        if self._spring is not None:
            self._update_spring(self._spring)

    def _power(self, max_force: float, velocity: float) -> None:
        if self._powered != (max_force, velocity):
            self._powered = (max_force, velocity)
            self._set(bindings.LARGEST_FORCE, max_force)
            self._set(bindings.VELOCITY, velocity)

    @abstractmethod
    def after_step(self) -> None:
        """Read position and velocity as Webots reports them."""

    @abstractmethod
    def _create(self, world: int, anchor: Array) -> int:
        """Create the joint in ODE, and how its parameters and forces are set."""

    @abstractmethod
    def _create_spring(self, world: int, cfm: float, erp: float) -> int: ...

    @abstractmethod
    def _update_spring(self, spring: int) -> None:
        """Update the spring with the position of the joint."""


def anchor_of(node: Node) -> tuple[float, ...]:
    """Anchor of a hinge in the frame around the joint [m]; the origin of other joints."""
    parameters = node.node("jointParameters")
    if parameters is None or parameters.type != "HingeJointParameters":
        return (0.0, 0.0, 0.0)
    return vector(parameters, "anchor")


# Motors


class Motor:
    """A RotationalMotor or LinearMotor of Webots; commands act from the next step on.

    Without a command it holds the joint with its full force. There is no position control.
    """

    def __init__(self, node: Node) -> None:
        """Read the limits of a node."""
        self.name, self._type = text(node, "name"), node.type
        self.limit = number(node, "maxForce" if node.type == "LinearMotor" else "maxTorque")
        self.largest_velocity, self.velocity = number(node, "maxVelocity"), 0.0
        self.force: float | None = None
        """Commanded force [N] or torque [N·m]; None under velocity control."""

    def setPosition(self, position: float) -> None:
        """Select velocity control; the position is infinite.

        Raises:
            SimulationError: It is finite.
        """
        if math.isfinite(position):
            raise SimulationError(
                f"motor {self.name}: expected an infinite position, for velocity control, found "
                f"{position:g}; ODE has no position control here"
            )
        self.force = None

    def setVelocity(self, velocity: float) -> None:
        """Set the velocity, limited to the largest one of the motor [rad/s or m/s]."""
        limit = self.largest_velocity
        self.velocity = min(max(float(velocity), -limit), limit)

    def setTorque(self, torque: float) -> None:
        """Set the torque [N·m] or force [N], limited to the maximum of the motor."""
        self.force = min(max(float(torque), -self.limit), self.limit)
        if self.force != torque:
            kind = "force" if self._type == "LinearMotor" else "torque"
            sys.stderr.write(
                f"motor {self.name}: the requested {kind} {torque:g} exceeds the available "
                f"{self.limit:g}\n"
            )

    setForce = setTorque


# Hinges


class Hinge(Joint):
    """A HingeJoint in ODE; its spring is an angular motor with two equal stops."""

    default_axis, largest_stop = (1.0, 0.0, 0.0), math.pi

    def _create(self, world: int, anchor: Array) -> int:
        ode = self._ode
        handle: int = ode.JointCreateHinge(world, None)
        ode.JointAttach(handle, self._child, self._parent)
        ode.JointSetHingeAnchor(handle, *anchor)
        ode.JointSetHingeAxis(handle, *self.axis)
        self._set = partial(ode.JointSetHingeParam, handle)
        self._push = partial(ode.JointAddHingeTorque, handle)
        return handle

    def _create_spring(self, world: int, cfm: float, erp: float) -> int:
        ode = self._ode
        spring: int = ode.JointCreateAMotor(world, None)
        ode.JointAttach(spring, self._child, self._parent)
        ode.JointSetAMotorNumAxes(spring, 1)
        ode.JointSetAMotorMode(spring, bindings.AMOTOR_USER)
        ode.JointSetAMotorAxis(spring, 0, 1, *self.axis)
        rest = math.remainder(-self.start, math.tau)
        ode.JointSetAMotorParam(spring, bindings.LO_STOP, rest)
        ode.JointSetAMotorParam(spring, bindings.HI_STOP, rest)
        ode.JointSetAMotorParam(spring, bindings.STOP_CFM, cfm)
        ode.JointSetAMotorParam(spring, bindings.STOP_ERP, erp)
        return spring

    def _update_spring(self, spring: int) -> None:
        self._ode.JointSetAMotorAngle(spring, 0, self._ode.JointGetHingeAngle(self.handle))

    def after_step(self) -> None:
        """Integrate the hinge rate to an angle that counts revolutions, as Webots does."""
        self.velocity = self._ode.JointGetHingeAngleRate(self.handle)
        self.position += self.velocity * self.time_step


# Sliders


class Slider(Joint):
    """A SliderJoint in ODE; its spring is a linear motor without a force limit.

    The stops of Webots' linear motor, which ODE lacks, and the target velocity −erp·x/h used here
    are the same constraint. As in Webots, the spring acts along an axis fixed in the world, between
    the two centres of mass.
    """

    default_axis, largest_stop = (0.0, 0.0, 1.0), math.inf

    def _create(self, world: int, anchor: Array) -> int:  # noqa: ARG002
        ode = self._ode
        handle: int = ode.JointCreateSlider(world, None)
        ode.JointAttach(handle, self._child, self._parent)
        ode.JointSetSliderAxis(handle, *self.axis)
        self._set = partial(ode.JointSetSliderParam, handle)
        self._push = partial(ode.JointAddSliderForce, handle)
        return handle

    def _create_spring(self, world: int, cfm: float, erp: float) -> int:
        ode = self._ode
        spring: int = ode.JointCreateLMotor(world, None)
        ode.JointAttach(spring, self._child, self._parent)
        ode.JointSetLMotorNumAxes(spring, 1)
        ode.JointSetLMotorAxis(spring, 0, 0, *self.axis)
        ode.JointSetLMotorParam(spring, bindings.LARGEST_FORCE, bindings.INFINITY)
        ode.JointSetLMotorParam(spring, bindings.NORMAL_CFM, cfm)
        self._return = erp / self.time_step
        return spring

    def _update_spring(self, spring: int) -> None:
        velocity = -self._return * self.position
        self._ode.JointSetLMotorParam(spring, bindings.VELOCITY, velocity)

    def after_step(self) -> None:
        """Read the slider position that ODE computes, as Webots does."""
        self.velocity = self._ode.JointGetSliderPositionRate(self.handle)
        self.position = self._ode.JointGetSliderPosition(self.handle) + self.start
