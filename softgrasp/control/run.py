"""A robot under control: its model, its hardware and its controllers from one description."""

from __future__ import annotations

import mujoco
import numpy as np

from softgrasp.build.robot import robot_model
from softgrasp.control.bends import curvature_of, vector_of
from softgrasp.control.hardware.plugins import kind_of, options_of
from softgrasp.control.hardware.segments import SegmentHardware
from softgrasp.control.manager import ControllerManager
from softgrasp.control.resources import ResourceManager
from softgrasp.description.base import Vec3
from softgrasp.description.robot import Robot
from softgrasp.errors import DescriptionError, SimulationError
from softgrasp.mechanics.transforms import Array
from softgrasp.simulation.engine_warnings import caught_warnings, has_diverged
from softgrasp.simulation.stability import spring_limit

CONTROL_PERIOD = 0.01
"""Time between two ticks [s], as in the paper's stack."""
SAFE_SHARE, LONGEST_STEP = 0.5, 1e-3
"""A step is this share of the largest stable one, and at most this long [s]."""
WILD = 1e3
"""Angle, length or speed [rad, m, per s] that no robot reaches."""


class ControlledRobot:
    """Ticks of hardware, controllers and physics; controllers are loaded into its ``manager``."""

    def __init__(
        self, robot: Robot, *, gravity: Vec3 = (0.0, 0.0, 0.0), period: float = CONTROL_PERIOD
    ) -> None:
        """Build the model and choose the hardware that the description names.

        Args:
            robot: The robot, with ``ros2_control`` elements.
            gravity: [m/s²]
            period: Time between two ticks [s].

        Raises:
            DescriptionError: Its control does not fit it.
            BuildError: It makes no model.
        """
        self.robot, self.period = robot, period
        self.resources = ResourceManager(robot)
        self.manager = ControllerManager(self.resources)
        self.model = robot_model(robot)
        self.model.opt.gravity[:] = gravity
        stable = spring_limit(self.model)
        substeps = int(np.ceil(period / min(SAFE_SHARE * stable, LONGEST_STEP)))
        self.model.opt.timestep = period / substeps
        self._substeps = substeps
        self.data = mujoco.MjData(self.model)
        self.segments = self._hardware()
        self._ideal = any(kind_of(system) == "ideal" for system in robot.control)

    def _hardware(self) -> dict[str, SegmentHardware]:
        parts = {part.name: part for part in self.robot.bendables}
        found = {}
        for system in self.robot.control:
            kind, options = kind_of(system), options_of(system)
            for joint in system.joints:
                if joint.name in parts:
                    part = parts[joint.name]
                    if part.model != "pcc":
                        raise DescriptionError(
                            f"expected model pcc to control it, found {part.model}",
                            field=f"bendable '{part.name}'",
                        )
                    found[joint.name] = SegmentHardware(self.model, self.data, part, kind, options)
        return found

    @property
    def now(self) -> float:
        """Simulated time [s]."""
        return float(self.data.time)

    def curvature(self, segment: str) -> tuple[float, float]:
        """Measured κ [1/m] and φ [rad] of a segment."""
        return curvature_of(self.segments[segment].measured)

    def step(self, duration: float) -> None:
        """Run for a while.

        Raises:
            SimulationError: A drive would have to go beyond its range, or the motion diverges.
        """
        for _ in range(round(duration / self.period)):
            for segment in self.segments.values():
                segment.read(self.resources)
            self.manager.update(self.now, self.period)
            for segment in self.segments.values():
                segment.write(self.resources, self.period)
            self._advance()

    def release(self, duration: float) -> None:
        """Let go of all drives and run for a while; raises as ``step``."""
        for segment in self.segments.values():
            segment.release()
        for _ in range(round(duration / self.period)):
            self._advance()

    def place_of(self, link: str) -> Array:
        """Origin of a link in the world [m], (3,)."""
        return np.array(self.data.body(link).xpos)

    def _advance(self) -> None:
        if self._ideal:
            self._follow()
            return
        with caught_warnings():
            mujoco.mj_step(self.model, self.data, self._substeps)
        wild = ~(np.abs(self.data.qvel) < WILD)
        if wild.any() or has_diverged(self.data):
            worst = int(np.nan_to_num(np.abs(self.data.qvel), nan=np.inf).argmax())
            joint = self.model.joint(int(self.model.dof_jntid[worst])).name
            step = float(self.model.opt.timestep)
            raise SimulationError(
                f"{self.robot.name}: expected a motion that stays finite, found joint '{joint}' "
                f"diverging at {self.now:.4g} s with a timestep of {step:g} s; use a shorter "
                f"period than {self.period:g} s (try {self.period / 5:g} s)"
            )

    def _follow(self) -> None:
        """Put the segments where they are commanded to be, without physics."""
        for name, segment in self.segments.items():
            kappa, phi = (self.resources.commanded(f"{name}/{k}") for k in ("kappa", "phi"))
            segment.put(vector_of(kappa, phi))
        self.data.time += self.period
        mujoco.mj_forward(self.model, self.data)
