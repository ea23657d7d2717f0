"""HingeJoints of Webots in ODE."""

from __future__ import annotations

import math

from softgrasp.simulation.ode import structs
from softgrasp.simulation.ode.joint import Joint, Spring
from softgrasp.simulation.ode.poses import Array


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
        ode.JointSetAMotorMode(spring, structs.AMOTOR_USER)
        ode.JointSetAMotorAxis(spring, 0, 1, *self.axis)
        rest = math.remainder(-self.start, math.tau)
        ode.JointSetAMotorParam(spring, structs.LO_STOP, rest)
        ode.JointSetAMotorParam(spring, structs.HI_STOP, rest)
        ode.JointSetAMotorParam(spring, structs.STOP_CFM, law.cfm)
        ode.JointSetAMotorParam(spring, structs.STOP_ERP, law.erp)
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
