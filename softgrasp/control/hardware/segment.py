"""Hardware that bends one segment of a MuJoCo model as commanded."""

from __future__ import annotations

import math

import mujoco
import numpy as np

from softgrasp.build.bendable_names import bend_joints, segment_actuator_names, slide_joints
from softgrasp.control.bends import curvature_of, vector_of
from softgrasp.control.hardware.plugins import HardwareOptions, Kind
from softgrasp.control.hardware.share import ActuatorAllocation, bend_axes
from softgrasp.control.resources import ResourceManager
from softgrasp.description.bendable import Bendable
from softgrasp.errors import DescriptionError, SimulationError
from softgrasp.mechanics.transforms import Array


class SegmentHardware:
    """One segment of a model: its bending is measured, and its drives are set."""

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
        """Find the segment in its model.

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
        self._bends = np.array([model.joint(name).qposadr[0] for name, _ in joints])
        self._towards = np.array([direction for _, direction in joints])
        self._slides = [int(model.joint(name).qposadr[0]) for name in slide_joints(part)]
        self.actuators = np.array(
            [model.actuator(name).id for name in segment_actuator_names(part)]
        )
        self._phi = part.limits.phi_min or 0.0
        self.saturated = False
        """Whether the drives are at an end of their range and make less than they should."""

    @property
    def integral_gain(self) -> float:
        """How fast its error is corrected [1/s]; NaN where that is to be chosen."""
        gain = self._options.integral_gain
        return math.nan if gain is None else gain

    @property
    def moments(self) -> list[str]:
        """Interfaces that command bending moments in the place of a curvature."""
        ends = [""] if self.part.planar else ["_u", "_v"]
        return [f"{self.part.name}/moment{end}" for end in ends]

    @property
    def length(self) -> float:
        """Measured length [m]."""
        return self.part.backbone.length + float(self._data.qpos[self._slides].sum())

    @property
    def bend(self) -> Array:
        """Measured bending angle towards x and y [rad], (2,)."""
        return np.asarray(self._data.qpos[self._bends] @ self._towards)

    @property
    def measured(self) -> Array:
        """Mean curvature towards x and y [1/m], (2,)."""
        return np.asarray(self.bend / self.length)

    def bend_rows(self, model: mujoco.MjModel) -> Array:
        """The bending angles about ``axes`` from the velocities of all joints, (k, nv)."""
        rows = np.zeros((2, model.nv))
        for name, direction in bend_joints(self.part):
            rows[:, model.joint(name).dofadr[0]] = direction
        return np.asarray(self.axes @ rows)

    def per_moment(self) -> Array:
        """Controls of its drives that make a unit moment about each of ``axes``, (n, k)."""
        return np.eye(len(self.axes)) if self._allocation is None else self._allocation.per_moment()

    def read(self, resources: ResourceManager) -> None:
        """Put what is measured into the state interfaces."""
        name, vector = self.part.name, self.measured
        if self.part.planar:
            kappa = float((self.axes @ vector)[0])
        else:
            kappa, self._phi = curvature_of(vector, self._phi)
        for what, value in {"kappa": kappa, "phi": self._phi, "l": self.length}.items():
            if f"{name}/{what}" in resources.states:
                resources.states[f"{name}/{what}"] = value

    def targets(self, resources: ResourceManager) -> tuple[Array, float | None]:
        """Commanded bending angle towards x and y [rad], (2,), and length where it is commanded."""
        name = self.part.name
        kappa, phi = (resources.commanded(f"{name}/{what}") for what in ("kappa", "phi"))
        length = resources.commanded(f"{name}/l") if self._stretches else None
        return vector_of(kappa, phi) * (self.length if length is None else length), length

    def actuate(self, bend: Array, length: float | None, more: Array) -> None:
        """Set the drives for a bending angle, by the stiffness of the segment.

        Args:
            bend: Towards x and y [rad], (2,).
            length: [m]; None where it is not commanded.
            more: Moment towards x and y that is added [N·m], (2,).

        Raises:
            SimulationError: The angle or the length asks for controls beyond their range. What is
                added is cut instead, and ``saturated`` says so.
        """
        backbone = self.part.backbone
        moment = (backbone.bending_stiffness or 0.0) / backbone.length * bend
        force = None
        if length is not None:
            force = (backbone.axial_stiffness or 0.0) * (length / backbone.length - 1.0)
        self._put_controls(moment, force, more)

    def is_pushed(self, resources: ResourceManager) -> bool:
        """Whether a controller commands moments instead of a curvature."""
        return any(resources.commands[name].owner for name in self.moments)

    def push(self, resources: ResourceManager) -> None:
        """Set the drives for the commanded moment, as near as they can.

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
            self._data.ctrl[self.actuators] = self.axes @ (moment + more)
            return
        try:
            controls = self._allocation.controls(moment + more, force)
        except SimulationError:
            self._allocation.controls(moment, force)
            controls = self._allocation.nearest(moment + more, force)
        self.saturated = not self._allocation.makes(controls, moment + more, force)
        self._data.ctrl[self.actuators] = controls

    def put(self, bend: Array, length: float | None = None) -> None:
        """Bend the model itself by an angle towards x and y [rad], (2,), without drives."""
        self._data.qpos[self._bends] = self._towards @ bend / self.part.backbone.links
        if length is not None:
            elongation = length - self.part.backbone.length
            self._data.qpos[self._slides] = elongation / self.part.backbone.links

    def release(self) -> None:
        """Let go of all drives."""
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
