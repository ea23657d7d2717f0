"""SliderJoints of Webots in ODE."""

from __future__ import annotations

from softgrasp.simulation.ode import structs
from softgrasp.simulation.ode.joint import Joint, Spring
from softgrasp.simulation.ode.poses import Array


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
        ode.JointSetLMotorParam(spring, structs.LARGEST_FORCE, structs.INFINITY)
        ode.JointSetLMotorParam(spring, structs.NORMAL_CFM, law.cfm)
        self._return = law.erp / self.time_step
        return spring

    def _strain(self, spring: int) -> None:
        velocity = -self._return * self.position
        self._ode.JointSetLMotorParam(spring, structs.VELOCITY, velocity)

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
