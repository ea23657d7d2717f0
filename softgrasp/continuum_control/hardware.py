"""Hardware of continuum robots: converts commanded bending into forces of a MuJoCo model.

Rigid joints have servos or are set to their commands. Segments are bent by tendons, chambers or
moments, allocated to the actuators of each, or ideally. The class is chosen by ``<plugin>`` of the
U(C)RDF file.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, Protocol

import mujoco
import numpy as np
from numpy.typing import NDArray

from softgrasp.continuum_control.feedback import Correction, linearize, over_a_period, tune
from softgrasp.continuum_control.interfaces import (
    ResourceManager,
    curvature_of,
    moment_interfaces,
    vector_of,
)
from softgrasp.description import Bendable, Chamber, ControlledJoint, ControlSystem, RigidJoint
from softgrasp.errors import DescriptionError, SimulationError, did_you_mean
from softgrasp.mechanics import Allocation, Array
from softgrasp.model import bend_joints, segment_actuator_names, slide_joints

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
        others = [command.name for command in controlled.commands if command.name != "position"]
        if others:
            raise DescriptionError(
                f"expected position as the command interface of a rigid joint, found '{others[0]}'",
                field=f"joint '{name}'",
            )
        self._name, self._data, self._commanded = name, data, bool(controlled.commands)
        self._qpos_address = int(model.joint(name).qposadr[0])
        dof = int(model.joint(name).dofadr[0])
        self._measured = {
            f"{name}/position": (data.qpos, self._qpos_address),
            f"{name}/velocity": (data.qvel, dof),
            f"{name}/effort": (data.qfrc_actuator, dof),
        }
        self._servo = model.actuator(name).id

    def read(self, resources: ResourceManager) -> None:
        """Write position, velocity and effort into the state interfaces."""
        for name, (values, index) in self._measured.items():
            if name in resources.states:
                resources.states[name] = float(values[index])

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

    def write(self, resources: ResourceManager) -> None:
        """Apply the commands for one period.

        Raises:
            SimulationError: A command cannot be obeyed.
        """

    def follow(self, resources: ResourceManager) -> None:
        """Follow the commands exactly, without physics."""

    def release(self) -> None:
        """Set all actuator forces to zero."""


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
        ends = np.cumsum([0, *(len(segment.axes) for segment in segments)]).tolist()
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
        aims = [segment.targets(resources, segment.last_length()) for segment in self._segments]
        errors = np.array([
            target - angle
            for segment, (targets, _) in zip(self._segments, aims, strict=True)
            for target, angle in zip(targets, segment.take_angles(), strict=True)
        ])  # fmt: skip
        more = self._correction.moments(errors).tolist()
        pushed, held = [], []
        for (segment, rows), (targets, length) in zip(self._rows, aims, strict=True):
            if segment.is_pushed(resources):
                segment.push(resources)
                pushed.append(rows)
            else:
                segment.actuate(targets, length, more[rows])
            if segment.saturated:
                held.append(rows)
        if held:
            self._correction.hold(errors, self._flags(held))
        if pushed:
            self._correction.forget(self._flags(pushed))

    def _flags(self, rows: Sequence[slice]) -> NDArray[np.bool_]:
        flags = np.zeros(self._rows[-1][1].stop, dtype=bool)
        for part in rows:
            flags[part] = True
        return flags

    def follow(self, resources: ResourceManager) -> None:
        """Bend the model as commanded, without physics."""
        for segment in self._segments:
            angles, length = segment.targets(resources, segment.length)
            segment.put(np.array(angles) @ segment.axes, length)

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
    return tune(model, pose, measured, unit_controls, period, np.array(rates))


def linear_period(
    segments: Sequence[SegmentHardware], model: mujoco.MjModel, pose: Array, period: float
) -> tuple[Array, Array, Array]:
    """Linearise a period of a robot at rest.

    Returns:
        Φ (n, n), Γ (n, k) for moments on the bending angles, and C (k, n) for the angles.
    """
    unit_controls, measured = _unit_moments(segments, model)
    step, inputs = linearize(model, pose)
    robot, pushes = over_a_period(step, inputs @ unit_controls, round(period / model.opt.timestep))
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
        self._bends = _slice([int(model.joint(name).qposadr[0]) for name, _ in joints])
        self._towards = np.array([direction for _, direction in joints])
        self._slides = [int(model.joint(name).qposadr[0]) for name in slide_joints(part)]
        self.actuators = np.array(
            [model.actuator(name).id for name in segment_actuator_names(part)]
        )
        self._phi = part.limits.phi_min or 0.0
        self.kappa_max = part.kappa_max
        self._planar, self._rest = part.planar, part.backbone.length
        self._state_names = [f"{part.name}/{what}" for what in ("kappa", "phi", "l")]
        self.moments = moment_interfaces(part)
        self._measured: tuple[list[float], float] | None = None
        self._directions: list[list[float]] = self.axes.tolist()
        self._bending_stiffness = (part.backbone.bending_stiffness or 0.0) / part.backbone.length
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
        bend, length = self._measured = self._measure()
        curvatures = [angle / length for angle in self._about_axes(*bend)]
        if self._planar:
            (kappa,) = curvatures
        else:
            kappa, self._phi = curvature_of(curvatures, self._phi)
        states = resources.states
        for name, value in zip(self._state_names, (kappa, self._phi, length), strict=True):
            if name in states:
                states[name] = value

    def _measure(self) -> tuple[list[float], float]:
        """Measure bending angles towards x and y [rad], (2,), and the length [m]."""
        return self.bend.tolist(), self.length

    def _about_axes(self, x: float, y: float) -> list[float]:
        """Return the components of a vector about each of ``axes``, (k,)."""
        return [a * x + b * y for a, b in self._directions]

    def last_curvature(self) -> float:
        """Return the curvature as of ``read`` in this period, else measure it [1/m]."""
        bend, length = self._measured or self._measure()
        return math.hypot(*bend) / length

    def last_length(self) -> float:
        """Return the length as of ``read`` in this period, else measure it [m]."""
        return self._measured[1] if self._measured else self.length

    def take_angles(self) -> list[float]:
        """Return the angles about ``axes`` as of ``read``, else measure them [rad], (k,)."""
        (bend, _), self._measured = self._measured or self._measure(), None
        return self._about_axes(*bend)

    def targets(
        self, resources: ResourceManager, measured_length: float
    ) -> tuple[list[float], float | None]:
        """Return commanded angles about ``axes`` [rad], (k,), and length where it is commanded."""
        kappa, phi = (resources.commanded(name) for name in self._state_names[:2])
        length = resources.commanded(self._state_names[2]) if self._stretches else None
        angle = kappa * (measured_length if length is None else length)
        return self._about_axes(angle * math.cos(phi), angle * math.sin(phi)), length

    def actuate(self, angles: Sequence[float], length: float | None, more: Sequence[float]) -> None:
        """Set the actuators for a bending angle, by the stiffness of the segment.

        Args:
            angles: About ``axes`` [rad], (k,).
            length: [m]; None where it is not commanded.
            more: Moments about ``axes`` that are added [N·m], (k,).

        Raises:
            SimulationError: The angle or the length asks for controls beyond their range. What is
                added is clipped instead, and ``saturated`` is set.
        """
        moments = [self._bending_stiffness * angle for angle in angles]
        force = None
        if length is not None:
            backbone = self.part.backbone
            force = (backbone.axial_stiffness or 0.0) * (length / backbone.length - 1.0)
        self._put_controls(moments, force, more)

    def is_pushed(self, resources: ResourceManager) -> bool:
        """Return whether a controller commands moments instead of a curvature."""
        return any(resources.commands[name].owner for name in self.moments)

    def push(self, resources: ResourceManager) -> None:
        """Set the actuators for the commanded moment, or the nearest possible one.

        The commanded curvature follows the measured one, so that who commands it next starts there.
        """
        moments = [resources.commanded(name) for name in self.moments]
        self._put_controls([0.0] * len(moments), 0.0 if self._stretches else None, moments)
        kappa, phi = curvature_of(self.measured, self._phi)
        if self.part.planar:
            kappa, phi = float((self.axes @ self.measured)[0]), self._phi
        for name, value in zip(self._state_names[:2], (kappa, phi), strict=True):
            interface = resources.commands.get(name)
            if interface is not None:
                interface.value = min(max(value, interface.low), interface.high)

    def _put_controls(
        self, moments: Sequence[float], force: float | None, more: Sequence[float]
    ) -> None:
        """Set the actuators for moments and what is added, both about ``axes``, (k,)."""
        whole = [moment + added for moment, added in zip(moments, more, strict=True)]
        if self._allocation is None:
            self._ctrl[self.actuators] = whole
            return
        controls = self._allocation.smallest(whole, force)
        self.saturated = controls is None
        if controls is None:
            self._allocation.controls(moments, force)  # raises where no feedback is the reason
            controls = self._allocation.nearest(whole, force)
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
    lacking = ""
    if stretches and not part.backbone.axial_stiffness:
        lacking = "an axial_stiffness of a segment whose length is commanded"
    elif stretches and kind != "ideal" and not part.actuation:
        lacking = "tendons or chambers for a length that is commanded"
    if lacking:
        raise DescriptionError(f"expected {lacking}, found none", field=where)
    if kind == "ideal" or not part.actuation:
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

    def controls(self, moments: Sequence[float], force: float | None = None) -> Array:
        """Tensions [N] or pressures [Pa], (n,).

        Args:
            moments: About each axis of bending [N·m], (k,).
            force: Along the segment [N]; only of drives that stretch it.

        Raises:
            SimulationError: A drive would have to go beyond its range, and is not clamped.
        """
        controls = self.smallest(moments, force)
        if controls is not None:
            return controls
        if self._clamp:
            return self.nearest(moments, force)
        raise SimulationError(self._refusal(_effect(moments, force)))

    def smallest(self, moments: Sequence[float], force: float | None) -> Array | None:
        """Return the smallest controls within their ranges, (n,); None where none exist."""
        return self._allocation.smallest(_effect(moments, force))

    def nearest(self, moments: Sequence[float], force: float | None) -> Array:
        """Return the controls within their ranges with the nearest effect, (n,)."""
        return self._allocation.nearest(_effect(moments, force))

    def per_moment(self) -> Array:
        """Return controls per unit moment about each axis, without limits, (n, k)."""
        return np.asarray(np.linalg.pinv(self._allocation.matrix[: len(self.axes)]))

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


def _slice(indices: list[int]) -> slice | list[int]:
    """Return evenly spaced indices as a slice, which takes a view instead of a copy."""
    step = indices[1] - indices[0] if len(indices) > 1 else 1
    even = slice(indices[0], indices[-1] + 1, step)
    return even if step > 0 and [*range(indices[-1] + 1)[even]] == indices else indices


def _effect(moments: Sequence[float], force: float | None) -> Array:
    """Return moments and force as one vector, (k,) or (k + 1,)."""
    return np.array([*moments] if force is None else [*moments, force])


def _effects(part: Bendable, axes: Array) -> Array:
    """Return bending moments [N·m], then axial force [N], per unit of each control, (k + 1, n)."""
    push = np.array(
        [actuator.area if isinstance(actuator, Chamber) else -1.0 for actuator in part.actuation]
    )
    arms = np.stack([vector_of(actuator.radius, actuator.angle) for actuator in part.actuation])
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
