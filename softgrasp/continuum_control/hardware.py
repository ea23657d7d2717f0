"""Hardware of continuum robots: converts commanded bending into forces of a MuJoCo model.

Rigid joints have servos or are set to their commands. Segments are bent by tendons, chambers or
moments, allocated to the actuators of each, or ideally. The class is chosen by ``<plugin>`` of the
U(C)RDF file.

``Correction`` removes what the stiffness of the segments does not account for (gravity, loads): an
error e of the bending angles adds the moments K (∫e dt · rate + ė · time), where K is the stiffness
that the actuators feel, gravity and neighbours included, so that all segments respond alike. Rate
and time follow from the slowest pole of the robot, p = ω (−ζ ± i√(1 − ζ²)): the derivative damps it
to a ratio of 0.7, and the integral takes 0.3 ω.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, Protocol

import mujoco
import numpy as np

from softgrasp.continuum_control.interfaces import (
    MOMENTS,
    ResourceManager,
    curvature_of,
    vector_of,
)
from softgrasp.description.bendable import Bendable, Chamber, Tendon
from softgrasp.description.robot import ControlledJoint, ControlSystem, RigidJoint
from softgrasp.errors import DescriptionError, SimulationError, SoftgraspWarning, did_you_mean
from softgrasp.mechanics.actuation import Allocation
from softgrasp.mechanics.transforms import Array
from softgrasp.model.robot import bend_joints, segment_actuator_names, slide_joints

DAMPING_RATIO = 0.7
"""Target damping ratio of the slowest mode, where it is lower without correction."""
INTEGRAL_FACTOR, FILTER_FACTOR = 0.3, 0.1
"""Rate of the integral over ω, and time constant of the derivative's filter times ω."""
NUDGE = 1e-6
"""Change of a state for central differences [rad or m, per s]."""
GROWTH = 1e-7
"""Tolerance on the growth of a free vibration in a step, for rounding [–]."""
WEAKENINGS = (1.0, 0.5, 0.25, 0.1, 0.0)
"""Shares of the correction that are tried until the linear robot is stable with it."""
Kind = Literal["by actuation", "tendons", "chambers", "moments", "ideal"]
PLUGINS: dict[str, Kind] = {
    "SoftRobotInterface": "by actuation",
    "TendonHardware": "tendons",
    "ChamberHardware": "chambers",
    "MomentHardware": "moments",
    "IdealHardware": "ideal",
}
"""The first is the paper's name; it uses the file's ``<actuation>``."""


class JointHardware:
    """One rigid joint of a model."""

    def __init__(
        self,
        model: mujoco.MjModel,
        data: mujoco.MjData,
        joint: RigidJoint,
        controlled: ControlledJoint,
    ) -> None:
        """Look up the joint in the model.

        Raises:
            DescriptionError: It is fixed, follows another joint, or something else than its
                position is commanded.
        """
        name = joint.name
        if joint.type == "fixed" or joint.mimic is not None:
            mobility = "fixed" if joint.mimic is None else f"following '{joint.mimic.joint}'"
            raise DescriptionError(
                f"expected a joint that moves by itself, found it {mobility}",
                field=f"joint '{name}'",
            )
        for interface in controlled.commands:
            if interface.name != "position":
                raise DescriptionError(
                    f"expected position as the command interface of a rigid joint, found "
                    f"'{interface.name}'",
                    field=f"joint '{name}'",
                )
        self._name, self._data, self._commanded = name, data, bool(controlled.commands)
        self._qpos_address = int(model.joint(name).qposadr[0])
        self._speed = int(model.joint(name).dofadr[0])
        self._servo = model.actuator(name).id

    def read(self, resources: ResourceManager) -> None:
        """Write position, velocity and effort into the state interfaces."""
        data = self._data
        measured = {
            "position": data.qpos[self._qpos_address],
            "velocity": data.qvel[self._speed],
            "effort": data.qfrc_actuator[self._speed],
        }
        for what, value in measured.items():
            if f"{self._name}/{what}" in resources.states:
                resources.states[f"{self._name}/{what}"] = float(value)

    def write(self, resources: ResourceManager) -> None:
        """Command the servo to the commanded position."""
        if self._commanded:
            self._data.ctrl[self._servo] = resources.commanded(f"{self._name}/position")

    def follow(self, resources: ResourceManager) -> None:
        """Set the joint to the commanded position."""
        if self._commanded:
            self._data.qpos[self._qpos_address] = resources.commanded(f"{self._name}/position")

    def release(self) -> None:
        """Do nothing: an unpowered servo holds its position."""


class Hardware(Protocol):
    """Interface of hardware: reads states before the controllers, applies commands after them."""

    def read(self, resources: ResourceManager) -> None:
        """Write measured values into the state interfaces."""
        ...

    def write(self, resources: ResourceManager) -> None:
        """Apply the commands for one period.

        Raises:
            SimulationError: A command cannot be obeyed.
        """
        ...

    def follow(self, resources: ResourceManager) -> None:
        """Follow the commands exactly, without physics."""
        ...

    def release(self) -> None:
        """Set all actuator forces to zero."""
        ...


class SegmentsHardware:
    """All segments of a robot, with one common feedback on their bending angles."""

    def __init__(self, segments: Sequence[SegmentHardware], correction: Correction | None) -> None:
        """Combine segments of one robot.

        Args:
            segments: The segments.
            correction: Of the angles about their ``axes``, one after the other; None where the
                model is only a mirror of the commands.
        """
        self._segments, self._correction = list(segments), correction
        counts = [len(segment.axes) for segment in segments]
        ends = np.cumsum([0, *counts]).tolist()
        slices = [slice(*pair) for pair in pairwise(ends)]
        self._rows = list(zip(self._segments, slices, strict=True))

    def read(self, resources: ResourceManager) -> None:
        """Write measured values into the state interfaces."""
        for segment in self._segments:
            segment.read(resources)

    def write(self, resources: ResourceManager) -> None:
        """Set all actuators for one period.

        Raises:
            SimulationError: A command asks for controls beyond their range.
        """
        assert self._correction is not None  # a mirror follows
        errors = np.zeros(len(self._correction.rates))
        pushed, held = np.zeros(len(errors), dtype=bool), np.zeros(len(errors), dtype=bool)
        targets = []
        for segment, rows in self._rows:
            measured, length = segment.take_measured()
            bend, commanded_length = segment.targets(resources, length)
            is_pushed = segment.is_pushed(resources)
            pushed[rows] = is_pushed
            errors[rows] = segment.axes @ (bend - measured)
            targets.append((segment, rows, bend, commanded_length, is_pushed))
        more = self._correction.moments(errors)
        for segment, rows, bend, commanded_length, is_pushed in targets:
            if is_pushed:
                segment.push(resources)
            else:
                segment.actuate(bend, commanded_length, more[rows] @ segment.axes)
            held[rows] = segment.saturated
        if held.any():
            self._correction.hold(errors, held)
        if pushed.any():
            self._correction.forget(pushed)

    def follow(self, resources: ResourceManager) -> None:
        """Bend the model as commanded, without physics."""
        for segment in self._segments:
            segment.put(*segment.targets(resources, segment.length))

    def release(self) -> None:
        """Set all actuator forces to zero."""
        for segment in self._segments:
            segment.release()
        if self._correction is not None:
            self._correction.forget(np.ones(len(self._correction.rates), dtype=bool))


def correction_of(
    segments: Sequence[SegmentHardware], model: mujoco.MjModel, pose: Array, period: float
) -> Correction:
    """Tune the integral and derivative feedback on the bending angles of a robot's segments.

    Args:
        segments: Its segments.
        model: The robot with its time step and gravity.
        pose: Around which it is tuned, (nq,).
        period: Between two corrections [s].
    """
    unit_controls, measured = _unit_moments(segments, model)
    rates = [segment.integral_gain for segment in segments for _ in segment.axes]
    return tuned(model, pose, measured, unit_controls, period, np.array(rates))


class Correction:
    """Integral and derivative feedback: moments for errors of all bending angles, once a period."""

    def __init__(
        self, stiffness: Array, rates: Array, times: Array, smoothing: float, period: float
    ) -> None:
        """Start with zero integrals.

        Args:
            stiffness: K, moments that change the angles by a unit at rest [N·m/rad], (n, n).
            rates: Of the integral, for each angle [1/s], (n,).
            times: Of the derivative, for each angle [s], (n,).
            smoothing: Part of the derivative that is kept from one period to the next [–].
            period: [s]
        """
        self.stiffness, self.rates, self.times = stiffness, rates, times
        self.smoothing, self.period = smoothing, period
        self._sum, self._slope = np.zeros(len(rates)), np.zeros(len(rates))
        self._before: Array | None = None

    def moments(self, errors: Array) -> Array:
        """Return corrective moments for bending-angle errors [rad], (n,) [N·m]."""
        before = errors if self._before is None else self._before
        self._before = errors
        kept = self.smoothing
        self._slope = kept * self._slope + (1.0 - kept) * (errors - before) / self.period
        self._sum = self._sum + self.rates * self.period * errors
        return np.asarray(self.stiffness @ (self._sum + self.times * self._slope))

    def hold(self, errors: Array, held: Array) -> None:
        """Undo the last integral step for some angles (anti-windup), (n,) of bool.

        The drives could not act on it, so it would only have to be undone later.
        """
        self._sum = self._sum - np.where(held, self.rates * self.period * errors, 0.0)

    def forget(self, angles: Array) -> None:
        """Reset the feedback of some angles, (n,) of bool."""
        self._sum[angles], self._slope[angles] = 0.0, 0.0


def tuned(
    model: mujoco.MjModel,
    start: Array,
    measured: Array,
    unit_controls: Array,
    period: float,
    rates: Array,
) -> Correction:
    """Tune the feedback on bending angles for a robot linearised at a pose.

    Args:
        model: The robot with its time step and gravity.
        start: The pose, (nq,).
        measured: Bending angles from velocities of the joints, (n, nv).
        unit_controls: Controls that make a unit moment on each angle, (nu, n).
        period: Between two corrections [s].
        rates: Of the integrals [1/s], (n,); NaN where they are to be chosen.
    """
    step, inputs = _linearised(model, start)
    if np.abs(np.linalg.eigvals(step)).max() > 1.0 + GROWTH:
        warnings.warn(
            "the robot cannot stand by itself in its start pose: its weight outdoes the stiffness "
            "of its segments, so commanded curvatures may not be reached",
            SoftgraspWarning,
            stacklevel=2,
        )
        # take the springs alone
        gravity = model.opt.gravity.copy()
        model.opt.gravity[:] = 0.0
        step, inputs = _linearised(model, start)
        model.opt.gravity[:] = gravity
    pushes = inputs @ unit_controls
    angles = np.hstack([measured, np.zeros_like(measured)])
    rest = angles @ np.linalg.lstsq(np.eye(len(step)) - step, pushes, rcond=None)[0]
    stiffness = np.linalg.inv(rest)
    poles = np.log(np.linalg.eigvals(step).astype(complex)) / model.opt.timestep
    slowest = complex(poles[np.abs(poles).argmin()])
    omega = abs(slowest)
    time = 2.0 * max(DAMPING_RATIO + slowest.real / omega, 0.0) / omega
    smoothing = float(np.exp(-period / max(FILTER_FACTOR / omega, period)))
    chosen = np.where(np.isnan(rates), INTEGRAL_FACTOR * omega, rates)
    times = np.where(chosen > 0.0, time, 0.0)
    ticks = _over_a_period(step, pushes, round(period / model.opt.timestep))
    for factor in WEAKENINGS:
        correction = Correction(stiffness, factor * chosen, factor * times, smoothing, period)
        if _is_stable(correction, *ticks, angles):
            break
    if factor == 0.0 and chosen.any():
        warnings.warn(
            "expected a robot whose bending can be corrected at this period, found it unstable "
            "with any correction; only the stiffness of its segments is relied on",
            SoftgraspWarning,
            stacklevel=2,
        )
    return correction


def linear_period(
    segments: Sequence[SegmentHardware], model: mujoco.MjModel, pose: Array, period: float
) -> tuple[Array, Array, Array]:
    """Linearise a period of a robot at rest.

    Returns:
        Φ (n, n), Γ (n, k) for moments on the bending angles, and C (k, n) for the angles.
    """
    unit_controls, measured = _unit_moments(segments, model)
    step, inputs = _linearised(model, pose)
    robot, pushes = _over_a_period(step, inputs @ unit_controls, round(period / model.opt.timestep))
    return robot, pushes, np.hstack([measured, np.zeros_like(measured)])


def _unit_moments(
    segments: Sequence[SegmentHardware], model: mujoco.MjModel
) -> tuple[Array, Array]:
    """Return controls of unit moments, (nu, k), and the Jacobian of the angles, (k, nv)."""
    blocks = [np.zeros((model.nu, len(segment.axes))) for segment in segments]
    for block, segment in zip(blocks, segments, strict=True):
        block[segment.actuators] = segment.per_moment()
    measured = np.vstack([segment.bend_rows(model) for segment in segments])
    return np.hstack(blocks), measured


def _linearised(model: mujoco.MjModel, pose: Array) -> tuple[Array, Array]:
    """Linearise one time step at rest, (2 nv, 2 nv) and (2 nv, nu)."""
    data = mujoco.MjData(model)
    data.qpos[:] = pose
    size = 2 * model.nv
    step, inputs = np.zeros((size, size)), np.zeros((size, model.nu))
    mujoco.mjd_transitionFD(model, data, NUDGE, True, step, inputs, None, None)
    return step, inputs


def _over_a_period(step: Array, pushes: Array, count: int) -> tuple[Array, Array]:
    """Compose the linearised time step over some steps with constant controls."""
    whole, added = step, pushes
    for _ in range(count - 1):
        whole, added = step @ whole, step @ added + pushes
    return whole, added


def _is_stable(correction: Correction, step: Array, pushes: Array, angles: Array) -> bool:
    """Return whether the linearised robot is stable with a feedback.

    The state is that of the robot, the errors before, the slopes and the sums.
    """
    size, count = len(step), len(angles)
    kept, period = correction.smoothing, correction.period
    rate, one = (1.0 - kept) / period, np.eye(count)
    # errors are −angles
    slope = np.hstack([-rate * angles, -rate * one, kept * one, 0.0 * one])
    total = np.hstack([-period * correction.rates[:, None] * angles, 0.0 * one, 0.0 * one, one])
    moments = correction.stiffness @ (total + correction.times[:, None] * slope)
    robot = np.hstack([step, np.zeros((size, 3 * count))]) + pushes @ moments
    before = np.hstack([-angles, np.zeros((count, 3 * count))])
    loop = np.vstack([robot, before, slope, total])
    if not correction.rates.any():
        return True
    return bool(np.abs(np.linalg.eigvals(loop)).max() < 1.0)


class SegmentHardware:
    """One segment of a model: measures its bending and commands its actuators."""

    def __init__(
        self,
        model: mujoco.MjModel,
        data: mujoco.MjData,
        part: Bendable,
        kind: Kind,
        options: HardwareOptions,
        *,
        stretches: bool = False,
    ) -> None:
        """Look up the segment in the model.

        Args:
            model: The model.
            data: Its state.
            part: The segment.
            kind: What the file asks for.
            options: Parameters of the file.
            stretches: Whether its length is commanded, too.

        Raises:
            DescriptionError: The hardware does not fit its actuation, or it cannot be lengthened.
        """
        self.part, self.axes, self._data, self._options = part, bend_axes(part), data, options
        self._stretches = stretches
        self._allocation = _allocation_of(part, kind, options, stretches)
        joints = bend_joints(part)
        self._qpos, self._ctrl = data.qpos, data.ctrl  # views, as making them takes a microsecond
        self._bends = np.array([model.joint(name).qposadr[0] for name, _ in joints])
        self._towards = np.array([direction for _, direction in joints])
        self._slides = [int(model.joint(name).qposadr[0]) for name in slide_joints(part)]
        self.actuators = np.array(
            [model.actuator(name).id for name in segment_actuator_names(part)]
        )
        self._phi = part.limits.phi_min or 0.0
        self.kappa_max = part.kappa_max
        self._planar, self._rest = part.planar, part.backbone.length
        self._names = {what: f"{part.name}/{what}" for what in ("kappa", "phi", "l")}
        ends = [""] if part.planar else ["_u", "_v"]
        self.moments = [f"{part.name}/{MOMENTS}{end}" for end in ends]
        """Interfaces that command bending moments instead of a curvature."""
        self._measured: tuple[Array, float] | None = None
        self.saturated = False
        """True where actuators are at a limit and produce less than commanded."""

    @property
    def integral_gain(self) -> float:
        """Return the rate at which the error is corrected [1/s]; NaN to choose it."""
        gain = self._options.integral_gain
        return math.nan if gain is None else gain

    @property
    def length(self) -> float:
        """Measured length [m]."""
        return self._rest + float(self._qpos[self._slides].sum()) if self._slides else self._rest

    @property
    def bend(self) -> Array:
        """Measured bending angle towards x and y [rad], (2,)."""
        return np.asarray(self._qpos[self._bends] @ self._towards)

    @property
    def measured(self) -> Array:
        """Mean curvature towards x and y [1/m], (2,)."""
        return np.asarray(self.bend / self.length)

    def bend_rows(self, model: mujoco.MjModel) -> Array:
        """Return the Jacobian of the bending angles about ``axes``, (k, nv)."""
        rows = np.zeros((2, model.nv))
        for name, direction in bend_joints(self.part):
            rows[:, model.joint(name).dofadr[0]] = direction
        return np.asarray(self.axes @ rows)

    def per_moment(self) -> Array:
        """Return controls of its actuators per unit moment about each of ``axes``, (n, k)."""
        return np.eye(len(self.axes)) if self._allocation is None else self._allocation.per_moment()

    def read(self, resources: ResourceManager) -> None:
        """Write measured values into the state interfaces."""
        bend, length = self._measured = self.bend, self.length
        vector, states = bend / length, resources.states
        if self._planar:
            kappa = float((self.axes @ vector)[0])
        else:
            kappa, self._phi = curvature_of(vector, self._phi)
        for what, value in (("kappa", kappa), ("phi", self._phi), ("l", length)):
            if self._names[what] in states:
                states[self._names[what]] = value

    def last_curvature(self) -> float:
        """Return the curvature as of ``read`` in this period, else measure it [1/m]."""
        bend, length = self._measured or (self.bend, self.length)
        u, v = bend.tolist()
        return math.hypot(u, v) / length

    def take_measured(self) -> tuple[Array, float]:
        """Return bending angles and length as of ``read`` in this period, else measure them."""
        measured, self._measured = self._measured, None
        return (self.bend, self.length) if measured is None else measured

    def targets(
        self, resources: ResourceManager, measured_length: float
    ) -> tuple[Array, float | None]:
        """Return commanded bending angles [rad], (2,), and length where it is commanded."""
        kappa = resources.commanded(self._names["kappa"])
        phi = resources.commanded(self._names["phi"])
        length = resources.commanded(self._names["l"]) if self._stretches else None
        return vector_of(kappa, phi) * (measured_length if length is None else length), length

    def actuate(self, bend: Array, length: float | None, more: Array) -> None:
        """Set the actuators for a bending angle, by the stiffness of the segment.

        Args:
            bend: Towards x and y [rad], (2,).
            length: [m]; None where it is not commanded.
            more: Moment towards x and y that is added [N·m], (2,).

        Raises:
            SimulationError: The angle or the length asks for controls beyond their range. What is
                added is clipped instead, and ``saturated`` is set.
        """
        backbone = self.part.backbone
        moment = (backbone.bending_stiffness or 0.0) / backbone.length * bend
        force = None
        if length is not None:
            force = (backbone.axial_stiffness or 0.0) * (length / backbone.length - 1.0)
        self._put_controls(moment, force, more)

    def is_pushed(self, resources: ResourceManager) -> bool:
        """Return whether a controller commands moments instead of a curvature."""
        return any(resources.commands[name].owner for name in self.moments)

    def push(self, resources: ResourceManager) -> None:
        """Set the actuators for the commanded moment, or the nearest possible one.

        The commanded curvature follows the measured one, so that who commands it next starts there.
        """
        moment = np.array([resources.commanded(name) for name in self.moments])
        force = 0.0 if self._stretches else None
        self._put_controls(np.zeros(2), force, moment @ self.axes)
        kappa, phi = curvature_of(self.measured, self._phi)
        if self.part.planar:
            kappa, phi = float((self.axes @ self.measured)[0]), self._phi
        for what, value in {"kappa": kappa, "phi": phi}.items():
            interface = resources.commands.get(f"{self.part.name}/{what}")
            if interface is not None:
                interface.value = min(max(value, interface.low), interface.high)

    def _put_controls(self, moment: Array, force: float | None, more: Array) -> None:
        if self._allocation is None:
            self._ctrl[self.actuators] = self.axes @ (moment + more)
            return
        whole = moment + more
        try:
            controls = self._allocation.controls(whole, force)
        except SimulationError:
            self._allocation.controls(moment, force)
            controls = self._allocation.nearest(whole, force)
        self.saturated = not self._allocation.makes(controls, whole, force)
        self._ctrl[self.actuators] = controls

    def put(self, bend: Array, length: float | None = None) -> None:
        """Set the bending angles of the model towards x and y [rad], (2,), without actuators."""
        self._data.qpos[self._bends] = self._towards @ bend / self.part.backbone.links
        if length is not None:
            elongation = length - self.part.backbone.length
            self._data.qpos[self._slides] = elongation / self.part.backbone.links

    def release(self) -> None:
        """Set all actuator forces to zero."""
        self._data.ctrl[self.actuators] = 0.0


def _allocation_of(
    part: Bendable, kind: Kind, options: HardwareOptions, stretches: bool
) -> ActuatorAllocation | None:
    types = {actuator.type for actuator in part.actuation}
    expected = {"tendons": {"tendon"}, "chambers": {"chamber"}, "moments": set[str]()}.get(kind)
    where = f"bendable '{part.name}'"
    if expected is not None and types != expected:
        text = f"{next(iter(types))}s" if types else "no actuation"
        raise DescriptionError(f"expected {kind} for this hardware, found {text}", field=where)
    if stretches and not part.backbone.axial_stiffness:
        raise DescriptionError(
            "expected an axial_stiffness of a segment whose length is commanded, found none",
            field=where,
        )
    if kind == "ideal" or not part.actuation:
        if stretches and kind != "ideal":
            raise DescriptionError(
                "expected tendons or chambers for a length that is commanded, found none",
                field=where,
            )
        return None
    return ActuatorAllocation(part, options.pretension, clamp=options.clamp, stretches=stretches)


@dataclass(frozen=True)
class HardwareOptions:
    """Parameters of a ``<ros2_control>`` element from its ``<param>`` elements.

    Args:
        pretension: Least tension of a tendon [N]; chosen from the segment where not given.
        integral_gain: How fast the error of a curvature is corrected [1/s]; 0 trusts the stiffness
            of the description, and where it is not given it follows from the model.
        clamp: Whether pressures and tensions beyond their range are cut instead of refused.
        model: Curvature model; it has to be that of the segments.
    """

    pretension: float | None = None
    integral_gain: float | None = None
    clamp: bool = False
    model: str | None = None


def kind_of(system: ControlSystem) -> Kind:
    """Return the kind of hardware that the plugin of a ``<ros2_control>`` element stands for.

    Raises:
        DescriptionError: There is no such plugin.
    """
    if system.plugin not in PLUGINS:
        raise DescriptionError(
            f"no hardware plugin '{system.plugin}'; {did_you_mean(system.plugin, PLUGINS)}",
            field=f"ros2_control '{system.name}'",
        )
    return PLUGINS[system.plugin]


def check_system(system: ControlSystem) -> None:
    """Refuse a ``<ros2_control>`` element whose hardware softgrasp does not support.

    Raises:
        DescriptionError: Its plugin or one of its parameters is unknown or wrong.
    """
    kind_of(system)
    options_of(system)


def options_of(system: ControlSystem) -> HardwareOptions:
    """Return the parameters of a ``<ros2_control>`` element.

    Raises:
        DescriptionError: One is not known, or is no number where one is needed.
    """
    known: Mapping[str, type] = {
        "pretension": float, "integral_gain": float, "clamp": bool, "model": str
    }  # fmt: skip
    options: dict[str, object] = {}
    for name, text in system.params:
        where = f"ros2_control '{system.name}': param '{name}'"
        if name not in known:
            raise DescriptionError(f"no such parameter; {did_you_mean(name, known)}", field=where)
        options[name] = _value(text, known[name], where)
    return HardwareOptions(**options)  # type: ignore[arg-type]


def _value(text: str, kind: type, where: str) -> object:
    if kind is str:
        return text
    if kind is bool:
        if text.lower() not in ("true", "false"):
            raise DescriptionError(f"expected true or false, found '{text}'", field=where)
        return text.lower() == "true"
    try:
        number = float(text)
    except ValueError:
        raise DescriptionError(f"expected a number, found '{text}'", field=where) from None
    if not 0.0 <= number < float("inf"):
        raise DescriptionError(f"expected a number of at least 0, found {text}", field=where)
    return number


class ActuatorAllocation:
    """Controls of a segment's actuators for a bending moment and an axial force.

    Tendons pull with at least their pretension, chambers push within their range of pressure; of
    all controls that do it the smallest are taken.
    """

    def __init__(
        self, part: Bendable, lowest: float | None, *, clamp: bool, stretches: bool = False
    ) -> None:
        """Collect the actuators of a segment.

        Args:
            part: The segment; its drives are tendons or chambers.
            lowest: Least tension of tendons [N]; where not given a twentieth of what bends the
                segment to its limit, or 0 where such tensions bend it.
            clamp: Whether controls beyond their range are cut instead of refused.
            stretches: Whether the actuators also produce a force along the segment.

        Raises:
            DescriptionError: Its drives cannot do that.
        """
        self._name, self._clamp = part.name, clamp
        self.axes = bend_axes(part)
        matrix = _effects(part, self.axes)
        whole = matrix if stretches else matrix[:-1]
        self._allocation = _allocation(part, whole, lowest)
        if self._allocation.rank < len(whole):
            what = "bend and lengthen" if stretches else "bend"
            raise DescriptionError(
                f"expected drives that {what} it, found {len(part.actuation)} that cannot",
                field=f"bendable '{part.name}'",
            )
        chambers = isinstance(part.actuation[0], Chamber)
        self._kind, self._unit = ("pressure", "Pa") if chambers else ("tension", "N")

    def controls(self, moment: Array, force: float | None = None) -> Array:
        """Tensions [N] or pressures [Pa], (n,).

        Args:
            moment: Towards x and y [N·m], (2,); of a planar segment its part in the plane counts.
            force: Along the segment [N]; only of drives that stretch it.

        Raises:
            SimulationError: A drive would have to go beyond its range, and is not clamped.
        """
        effect = self._effect(moment, force)
        controls = self._allocation.smallest(effect)
        if controls is not None:
            return controls
        if self._clamp:
            return self._allocation.nearest(effect)
        raise SimulationError(self._refusal(effect))

    def nearest(self, moment: Array, force: float | None = None) -> Array:
        """Return the nearest controls within their ranges, (n,); arguments as for ``controls``."""
        effect = self._effect(moment, force)
        controls = self._allocation.smallest(effect)
        return self._allocation.nearest(effect) if controls is None else controls

    def makes(self, controls: Array, moment: Array, force: float | None = None) -> bool:
        """Return whether controls can produce a moment and a force."""
        return self._allocation.makes(controls, self._effect(moment, force))

    def per_moment(self) -> Array:
        """Return controls per unit moment about each axis, without limits, (n, k)."""
        return np.asarray(np.linalg.pinv(self._allocation.matrix[: len(self.axes)]))

    def _effect(self, moment: Array, force: float | None) -> Array:
        bending = self.axes @ moment
        return np.asarray(bending if force is None else np.append(bending, force))

    def _refusal(self, effect: Array) -> str:
        """Return the actuator that would exceed its range most without limits."""
        low, high = self._allocation.low, self._allocation.high
        free = Allocation(self._allocation.matrix, low, np.full(len(low), np.inf)).smallest(effect)
        if free is None:
            free = np.linalg.pinv(self._allocation.matrix) @ effect
        worst = int(np.argmax(np.maximum(low - free, free - high)))
        return (
            f"bendable '{self._name}': expected a {self._kind} between {low[worst]:g} and "
            f"{high[worst]:g} {self._unit} of drive {worst + 1}, found {free[worst]:g} "
            f"{self._unit}; the hardware parameter clamp cuts it"
        )


def _effects(part: Bendable, axes: Array) -> Array:
    """Return bending moments [N·m], then axial force [N], per unit of each control, (k + 1, n)."""
    actuators: Sequence[Tendon | Chamber] = part.actuation
    push = np.array(
        [actuator.area if isinstance(actuator, Chamber) else -1.0 for actuator in actuators]
    )
    arms = np.stack([vector_of(actuator.radius, actuator.angle) for actuator in actuators])
    return np.vstack([-push * (axes @ arms.T), push])


def _allocation(part: Bendable, matrix: Array, lowest: float | None) -> Allocation:
    chambers = [actuator for actuator in part.actuation if isinstance(actuator, Chamber)]
    if chambers:
        high = [np.inf if c.pressure_max is None else c.pressure_max for c in chambers]
        return Allocation(matrix, [c.pressure_min for c in chambers], high)
    count = len(part.actuation)
    top = np.full(count, np.inf)
    if lowest is not None:
        return Allocation(matrix, np.full(count, lowest), top)
    moment = (part.backbone.bending_stiffness or 0.0) * part.kappa_max
    tension = 0.05 * moment / max(actuator.radius for actuator in part.actuation)
    tight = Allocation(matrix, np.full(count, tension), top)
    idle = tight.smallest(np.zeros(len(matrix)))
    return tight if idle is not None else Allocation(matrix, np.zeros(count), top)


def bend_axes(part: Bendable) -> Array:
    """Return the bending axes of a segment: x and y, or that of its fixed plane, (k, 2)."""
    return vector_of(1.0, part.limits.phi_min or 0.0)[None] if part.planar else np.eye(2)
