"""What hinges and sliders have in common: springs, stops and motors as Webots sets them up in ODE.

Rules after Webots' ``WbHingeJoint``, ``WbSliderJoint`` and ``WbOdeUtilities`` (2020-2023). In ODE
the child comes first, so that angles, rates and torques have Webots' own sign.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from softgrasp.errors import SimulationError
from softgrasp.formats.wbt.access import number, vector
from softgrasp.formats.wbt.node import Node
from softgrasp.simulation.ode import structs
from softgrasp.simulation.ode.binding import Ode
from softgrasp.simulation.ode.motors import Motor
from softgrasp.simulation.ode.poses import Array
from softgrasp.simulation.ode.solids import JointMounting

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
        self._set(structs.LO_STOP, self._within(low - self.start))
        self._set(structs.HI_STOP, self._within(high - self.start))
        if self._parameters is None or self._parameters.type != "HingeJointParameters":
            return
        for key, parameter in (("stopERP", structs.STOP_ERP), ("stopCFM", structs.STOP_CFM)):
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
            self._set(structs.LARGEST_FORCE, max_force)
            self._set(structs.VELOCITY, velocity)

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
