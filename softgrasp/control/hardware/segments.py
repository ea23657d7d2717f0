"""Hardware that bends the segments of a MuJoCo model as commanded."""

from __future__ import annotations

import mujoco
import numpy as np

from softgrasp.build.bendable import bend_joints, drive_names
from softgrasp.control.bends import curvature_of, vector_of
from softgrasp.control.hardware.plugins import HardwareOptions, Kind
from softgrasp.control.hardware.share import DriveShare
from softgrasp.control.resources import ResourceManager
from softgrasp.description.bendable import Bendable
from softgrasp.errors import DescriptionError
from softgrasp.mechanics.transforms import Array


class SegmentHardware:
    """One segment of a model: its curvature is read, and its drives are set.

    The drives bend with EI times the commanded curvature, and with what the measured error has
    summed up to.
    """

    def __init__(
        self,
        model: mujoco.MjModel,
        data: mujoco.MjData,
        part: Bendable,
        kind: Kind,
        options: HardwareOptions,
    ) -> None:
        """Find the segment in its model.

        Raises:
            DescriptionError: The hardware does not fit its actuation.
        """
        self._part, self._data, self._options, self._kind = part, data, options, kind
        self._share = _share_of(part, kind, options)
        joints = bend_joints(part)
        self._angles = np.array([model.joint(name).qposadr[0] for name, _ in joints])
        self._towards = np.array([way for _, way in joints])
        self._drives = np.array([model.actuator(name).id for name in drive_names(part)])
        self._correction, self._phi = np.zeros(2), 0.0

    @property
    def measured(self) -> Array:
        """Mean curvature towards x and y [1/m], (2,)."""
        return np.asarray(
            self._data.qpos[self._angles] @ self._towards / self._part.backbone.length
        )

    def read(self, resources: ResourceManager) -> None:
        """Put the measured curvature into the state interfaces."""
        name = self._part.name
        vector = self.measured
        if self._part.planar:
            self._phi = self._part.limits.phi_min or 0.0
            kappa = float(vector @ vector_of(1.0, self._phi))
        else:
            kappa, self._phi = curvature_of(vector, self._phi)
        found = {"kappa": kappa, "phi": self._phi, "l": self._part.backbone.length}
        for what, value in found.items():
            if f"{name}/{what}" in resources.states:
                resources.states[f"{name}/{what}"] = value

    def write(self, resources: ResourceManager, period: float) -> None:
        """Set the drives for the commanded curvature.

        Raises:
            SimulationError: A drive would have to go beyond its range.
        """
        name = self._part.name
        kappa, phi = (resources.commanded(f"{name}/{what}") for what in ("kappa", "phi"))
        wanted = vector_of(kappa, phi)
        gain = self._options.integral_gain
        self._correction = self._correction + gain * period * (wanted - self.measured)
        stiffness = self._part.backbone.bending_stiffness or 0.0
        moment = stiffness * (wanted + self._correction)
        self._data.ctrl[self._drives] = self._controls(moment)

    def put(self, vector: Array) -> None:
        """Bend the model itself to a curvature towards x and y [1/m], without drives."""
        per_joint = self._part.backbone.length / self._part.backbone.links
        self._data.qpos[self._angles] = per_joint * (self._towards @ vector)

    def release(self) -> None:
        """Let go of all drives."""
        self._data.ctrl[self._drives] = 0.0
        self._correction = np.zeros(2)

    def _controls(self, moment: Array) -> Array:
        if self._share is not None:
            return self._share.controls(moment)
        if self._part.planar:
            return np.array([moment @ vector_of(1.0, self._part.limits.phi_min or 0.0)])
        return moment


def _share_of(part: Bendable, kind: Kind, options: HardwareOptions) -> DriveShare | None:
    found = {drive.type for drive in part.actuation}
    wanted = {"tendons": {"tendon"}, "chambers": {"chamber"}, "moments": set[str]()}.get(kind)
    if wanted is not None and found != wanted:
        told = f"{next(iter(found))}s" if found else "no actuation"
        raise DescriptionError(
            f"expected {kind} for this hardware, found {told}", field=f"bendable '{part.name}'"
        )
    if not part.actuation:
        return None
    return DriveShare(part, options.pretension, clamp=options.clamp)
