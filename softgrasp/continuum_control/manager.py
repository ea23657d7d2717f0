"""Controllers loaded and switched at run time, and the robot that they control.

``ControlledRobot`` builds model, hardware and controllers from one U(C)RDF description.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Sequence
from typing import Literal, Protocol

import mujoco
import numpy as np

from softgrasp.continuum_control.feedback import ActiveDamping
from softgrasp.continuum_control.hardware import (
    Hardware,
    JointHardware,
    SegmentHardware,
    SegmentsHardware,
    correction_of,
    kind_of,
    linear_period,
    options_of,
)
from softgrasp.continuum_control.interfaces import ResourceManager, curvature_of
from softgrasp.description import STANDARD_GRAVITY, Bendable, ControlledJoint, ControlSystem, Robot
from softgrasp.errors import DescriptionError, SimulationError, SoftgraspWarning, did_you_mean
from softgrasp.mechanics import Array
from softgrasp.model import bend_joints, compiled, robot_spec, spring_limit
from softgrasp.sim import caught_warnings, has_diverged

CONTROL_PERIOD = 0.01
"""Time between two ticks [s], as in the paper's stack."""
SAFE_FRACTION, LONGEST_STEP = 0.7, 1e-3
"""Fraction of the largest stable step that is used, and the longest step [s]."""
STOPS = 8
"""Directions in which stops limit the bending of a segment to both sides; their regular polygon of
16 sides lies within 2 % of a circle."""
STOP_IMPEDANCE = (0.99, 0.999, 1e-3, 0.5, 2.0)
"""``solimp`` of the stops, over 1 mrad."""
PERPENDICULAR = 1e-9
"""Component of a direction that counts as none [–]."""
FAR_BEYOND = 0.95
"""Fraction of ``kappa_max`` below which the command of a segment at its stop causes a warning."""
WILD = 1e3
"""Angle, length or speed [rad, m, per s] that no robot reaches."""
State = Literal["inactive", "active"]


class ControlledRobot:
    """A robot with its hardware, controllers and physics, advanced period by period.

    It starts at the ``initial_value`` of its interfaces. Stops hold the mean curvature of a segment
    within ``kappa_max``, as the limits of a rigid joint hold its position. In a tick the hardware
    is read, the controllers compute, the hardware acts, and the physics go on for a period.
    """

    def __init__(
        self,
        robot: Robot,
        *,
        gravity: Sequence[float] | bool = False,
        period: float = CONTROL_PERIOD,
        timestep: float | None = None,
        active_damping: bool = False,
    ) -> None:
        """Build the model and choose the hardware that the description names.

        Args:
            robot: The robot, with ``ros2_control`` elements.
            gravity: Three numbers [m/s²]; True is 9.81 down.
            period: Time between two ticks [s].
            timestep: Of the physics [s], a whole part of the period; a safe one where not given.
            active_damping: Whether the slow modes are damped by ``ActiveDamping``, for segments of
                little damping, instead of the integral and derivative feedback.

        Raises:
            DescriptionError: Its control does not fit it, or a number is out of range.
            BuildError: It makes no model.
        """
        self.robot, self.period = robot, period
        self._ideal, self._active_damping = _is_ideal(robot), active_damping
        self.resources = ResourceManager(robot)
        self.manager = ControllerManager(self.resources)
        self.model = _model_with_stops(_stiffen(robot) if self._ideal else robot)
        self.model.opt.gravity[:] = _gravity(gravity)
        self._substeps = self._chosen_substeps(timestep)
        self.model.opt.timestep = period / self._substeps
        self.model.tendon_solref_lim[:, 0] = 2.0 * self.model.opt.timestep
        self.resources.period = period
        self.data = mujoco.MjData(self.model)
        self._speeds, self._warned = self.data.qvel, self.data.warning.number  # views
        self._beyond: set[str] = set()
        joints, self.segments = self._parts()
        self._start([*joints, SegmentsHardware(list(self.segments.values()), None)])
        self._hardware: list[Hardware] = [*joints]
        if self.segments:
            self._hardware.append(self._together(list(self.segments.values())))

    @property
    def now(self) -> float:
        """Simulated time [s]."""
        return float(self.data.time)

    def curvature(self, segment: str) -> tuple[float, float]:
        """Measured κ [1/m] and φ [rad] of a segment.

        Raises:
            DescriptionError: No such segment is under control.
        """
        if segment not in self.segments:
            hint = did_you_mean(segment, self.segments)
            raise DescriptionError(f"no bendable '{segment}' under control; {hint}")
        return curvature_of(self.segments[segment].measured)

    def position_of(self, link: str) -> Array:
        """Origin of a link in the world [m], (3,).

        Raises:
            DescriptionError: There is no such link.
        """
        known = [part.name for part in self.robot.links]
        if link not in known:
            raise DescriptionError(f"no link '{link}'; {did_you_mean(link, known)}")
        return np.array(self.data.body(link).xpos)

    def step(self, duration: float) -> None:
        """Run for a while.

        Args:
            duration: [s]; a whole number of periods, at least one.

        Raises:
            DescriptionError: The duration is none.
            SimulationError: A drive would have to go beyond its range, or the motion diverges.
        """
        with caught_warnings():
            for _ in range(self._ticks(duration)):
                for part in self._hardware:
                    part.read(self.resources)
                self._warn_beyond_limits()
                self.manager.update(self.now, self.period)
                for part in self._hardware:
                    if self._ideal:
                        part.follow(self.resources)
                    else:
                        part.write(self.resources)
                self._advance()
        self._warn_beyond_limits()

    def release(self, duration: float) -> None:
        """Set all actuator forces to zero and simulate for a while; raises as ``step``."""
        for part in self._hardware:
            part.release()
        with caught_warnings():
            for _ in range(self._ticks(duration)):
                self._advance()
                self._warn_beyond_limits()

    def _ticks(self, duration: float) -> int:
        count = duration / self.period if math.isfinite(duration) else 0.0
        if count < 1.0 - 1e-9:
            raise DescriptionError(
                f"expected at least one period of {self.period:g} s, found {duration:g} s",
                field="duration",
            )
        return round(count)

    def _chosen_substeps(self, timestep: float | None) -> int:
        for field, value in {"period": self.period, "timestep": timestep}.items():
            if value is not None and not 0.0 < value < np.inf:
                raise DescriptionError(f"expected a number above 0, found {value}", field=field)
        if timestep is None:
            longest = min(SAFE_FRACTION * spring_limit(self.model), LONGEST_STEP)
            return int(np.ceil(self.period / longest * (1.0 - 1e-9)))
        count = self.period / timestep
        if count < 1.0 - 1e-9 or abs(count - round(count)) > 1e-6:
            raise DescriptionError(
                f"expected a whole part of the period of {self.period:g} s, found {timestep:g} s",
                field="timestep",
            )
        return round(count)

    def _parts(self) -> tuple[list[JointHardware], dict[str, SegmentHardware]]:
        """Make the hardware of rigid joints, and of segments by their names."""
        bendables = {part.name: part for part in self.robot.bendables}
        joints = {joint.name: joint for joint in self.robot.joints}
        rigid, soft = [], dict[str, SegmentHardware]()
        for system in self.robot.control:
            for controlled in system.joints:
                if controlled.name in joints:
                    rigid.append(
                        JointHardware(self.model, self.data, joints[controlled.name], controlled)
                    )
                elif controlled.name in soft:
                    raise DescriptionError(
                        "expected one ros2_control element that drives it, found two",
                        field=f"bendable '{controlled.name}'",
                    )
                else:
                    soft[controlled.name] = self._segment(
                        bendables[controlled.name], system, controlled
                    )
        return rigid, soft

    def _segment(
        self, part: Bendable, system: ControlSystem, controlled: ControlledJoint
    ) -> SegmentHardware:
        options = options_of(system)
        if part.model != "pcc" or options.model not in (None, "pcc"):
            raise DescriptionError(
                f"expected model pcc to control it, found {part.model} and the parameter model "
                f"{options.model}",
                field=f"bendable '{part.name}'",
            )
        stretches = any(interface.name == "l" for interface in controlled.commands)
        kind = kind_of(system)
        segment = SegmentHardware(self.model, self.data, part, kind, options, stretches=stretches)
        if not self._ideal:
            for name in segment.moments:
                self.resources.offer_moment(name)
        return segment

    def _together(self, segments: list[SegmentHardware]) -> SegmentsHardware:
        if self._ideal:
            return SegmentsHardware(segments, None)
        if self._active_damping:
            linear = linear_period(segments, self.model, self.data.qpos, self.period)
            damping = ActiveDamping(*linear, self.period)
            if damping.radius < 1.0:
                return SegmentsHardware(segments, damping)
            warnings.warn(
                "expected a robot that active damping leaves stable, found one whose faster modes "
                "it excites; it is not used",
                SoftgraspWarning,
                stacklevel=4,
            )
        correction = correction_of(segments, self.model, self.data.qpos, self.period)
        return SegmentsHardware(segments, correction)

    def _start(self, hardware: list[Hardware]) -> None:
        """Set all joints and segments to their initial values."""
        for part in hardware:
            part.follow(self.resources)
        qpos_addresses = {
            joint.name: int(self.model.joint(joint.name).qposadr[0])
            for joint in self.robot.joints
            if joint.type != "fixed"
        }
        for joint in self.robot.joints:
            if joint.mimic is not None and joint.name in qpos_addresses:
                other = self.data.qpos[qpos_addresses[joint.mimic.joint]]
                mimicked = joint.mimic.multiplier * other + joint.mimic.offset
                self.data.qpos[qpos_addresses[joint.name]] = mimicked
        mujoco.mj_forward(self.model, self.data)

    def _advance(self) -> None:
        if self._ideal:
            self.data.time += self.period
            mujoco.mj_forward(self.model, self.data)
            return
        mujoco.mj_step(self.model, self.data, self._substeps)
        # written so that a speed that is not a number counts as too fast
        slow = float(self._speeds @ self._speeds) < WILD**2
        if not slow or (any(self._warned.tolist()) and has_diverged(self.data)):
            raise SimulationError(self._divergence())

    def _warn_beyond_limits(self) -> None:
        """Warn, once each, where something else than its command bends a segment to its limit."""
        if self._ideal:
            return
        for name, segment in self.segments.items():
            limit, curvature = segment.kappa_max, segment.last_curvature()
            commanded = abs(self.resources.commanded(f"{name}/kappa"))
            if curvature > limit and commanded < FAR_BEYOND * limit and name not in self._beyond:
                self._beyond.add(name)
                warnings.warn(
                    f"bendable '{name}': expected a curvature below kappa_max, {limit:.4g} 1/m, "
                    f"found it at its stop at {self.now:.3f} s with {commanded:.4g} 1/m commanded; "
                    "a load, its weight or a swing bends it",
                    SoftgraspWarning,
                    stacklevel=2,
                )

    def _divergence(self) -> str:
        worst = int(np.nan_to_num(np.abs(self.data.qvel), nan=np.inf).argmax())
        joint = self.model.joint(int(self.model.dof_jntid[worst])).name
        step, longest = self.model.opt.timestep, SAFE_FRACTION * spring_limit(self.model)
        advice = f"use at most {longest:.2g} s"
        if step <= longest * (1.0 + 1e-9):
            advice = (
                "the step is short enough, so it is what drives the robot: its controllers' gains, "
                f"its loads, or the period of {self.period:g} s"
            )
        return (
            f"{self.robot.name}: expected a motion that stays finite, found joint '{joint}' "
            f"diverging at {self.now:.4g} s with a timestep of {step:g} s; {advice}"
        )


def _model_with_stops(robot: Robot) -> mujoco.MjModel:
    """Compile a robot whose segments have stops at ``kappa_max``, the limits of fixed tendons.

    Raises:
        BuildError: It makes no model.

    Warns:
        SoftgraspWarning: A segment folds into itself at ``kappa_max``.
    """
    spec = robot_spec(robot)
    for part in robot.bendables:
        if part.fold_ratio > 1.0:
            warnings.warn(
                f"bendable '{part.name}': expected kappa_max of at most 1 over its radius, "
                f"{1.0 / part.backbone.radius:.4g} 1/m, found {part.kappa_max:.4g} 1/m, at which "
                "it folds into itself",
                SoftgraspWarning,
                stacklevel=3,
            )
        first, count = (part.limits.phi_min or 0.0, 1) if part.planar else (0.0, STOPS)
        for index in range(count):
            angle = first + math.pi * index / count
            stop = spec.add_tendon(
                name=f"{part.name}_stop{index}",
                limited=True,
                range=[-part.theta_max, part.theta_max],
                solimp_limit=STOP_IMPEDANCE,
            )
            for joint, (x, y) in bend_joints(part):
                along = x * math.cos(angle) + y * math.sin(angle)
                if abs(along) > PERPENDICULAR:
                    stop.wrap_joint(joint, along)
    return compiled(spec, robot.name)


def _is_ideal(robot: Robot) -> bool:
    """Return whether the robot follows its commands exactly, without physics.

    Raises:
        DescriptionError: A part of it is, and another is not.
    """
    kinds = {kind_of(system) == "ideal" for system in robot.control}
    if len(kinds) > 1:
        raise DescriptionError(
            "expected IdealHardware for all ros2_control elements or for none, found it for some",
            field=robot.name,
        )
    return kinds == {True}


def _gravity(gravity: Sequence[float] | bool) -> Array:
    if isinstance(gravity, bool):
        return np.array(STANDARD_GRAVITY if gravity else (0.0, 0.0, 0.0))
    gravity_vector = np.asarray(gravity, dtype=float)
    if gravity_vector.shape != (3,) or not np.isfinite(gravity_vector).all():
        raise DescriptionError(
            f"expected three finite numbers, or true or false, found {gravity}", field="gravity"
        )
    return gravity_vector


def _stiffen(robot: Robot) -> Robot:
    """Give segments without stiffness an arbitrary one: exact followers of commands need none."""
    parts = tuple(
        part.replace(backbone=part.backbone.replace(
            bending_stiffness=part.backbone.bending_stiffness or 1.0))
        for part in robot.bendables
    )  # fmt: skip
    return robot.replace(bendables=parts)


class Controller(Protocol):
    """Interface of a controller: computes commands, or only reads states, once a period."""

    name: str

    def claims(self) -> Sequence[str]:
        """Return the command interfaces that it needs exclusively."""
        ...

    def start(self, resources: ResourceManager, now: float) -> None:
        """Start from the present commands."""
        ...

    def update(self, resources: ResourceManager, now: float, period: float) -> None:
        """Compute the commands of a period from ``now`` on [s]."""
        ...


class ControllerManager:
    """Loads, starts and stops the controllers of one robot."""

    def __init__(self, resources: ResourceManager) -> None:
        """Begin without controllers."""
        self.resources = resources
        self._known: dict[str, Controller] = {}
        self._active: list[str] = []

    def load(self, controller: Controller) -> None:
        """Register a controller, which is inactive at first.

        Raises:
            DescriptionError: There is one of that name.
        """
        if controller.name in self._known:
            raise DescriptionError(
                f"expected a new name, found controller '{controller.name}' twice"
            )
        self._known[controller.name] = controller

    def listed(self) -> list[tuple[str, State]]:
        """Controllers and whether they are active, in the order in which they were loaded."""
        return [(name, "active" if name in self._active else "inactive") for name in self._known]

    def switch(self, start: Iterable[str] = (), stop: Iterable[str] = (), now: float = 0.0) -> None:
        """Stop some controllers and start others, all of them or none.

        Raises:
            DescriptionError: A name is not known, or an interface is claimed twice; nothing has
                changed then.
        """
        starting, stopping = list(start), list(stop)
        for name in (*starting, *stopping):
            if name not in self._known:
                raise DescriptionError(f"no controller '{name}'; {did_you_mean(name, self._known)}")
        before = list(self._active)
        for name in stopping:
            self.resources.release(name)
        try:
            for name in starting:
                self.resources.claim(self._known[name].claims(), name)
        except DescriptionError:
            for name in starting:
                self.resources.release(name)
            for name in before:
                self.resources.claim(self._known[name].claims(), name)
            raise
        self._active = [name for name in before if name not in stopping]
        for name in starting:
            if name not in self._active:
                self._active.append(name)
                self._known[name].start(self.resources, now)

    def update(self, now: float, period: float) -> None:
        """Update the active controllers in the order in which they were started."""
        for name in self._active:
            self._known[name].update(self.resources, now, period)
