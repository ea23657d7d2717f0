"""A water-hydraulic arm in MuJoCo: where it comes to rest, and how it moves."""

from __future__ import annotations

import math
from dataclasses import dataclass

import mujoco
import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import root

from softgrasp.build.bendable_names import bend_joints, slide_joints
from softgrasp.build.hydraulic_arm import arm_model, arm_robot, end_link
from softgrasp.description.bendable import DEFAULT_LINKS
from softgrasp.description.hydraulic_arm import HydraulicArm
from softgrasp.errors import DescriptionError, DivergedError, SimulationError
from softgrasp.mechanics.hydraulic.lumped_model import checked_pressures
from softgrasp.mechanics.hydraulic.motion import SAMPLE, Inputs
from softgrasp.mechanics.hydraulic.recording import TipRecording
from softgrasp.mechanics.transforms import Array
from softgrasp.simulation.engine_warnings import has_diverged
from softgrasp.simulation.stability import spring_limit

LOAD_STEPS, BALANCED = 6, 1e-9
"""Steps in which all loads grow from nothing; largest force left over its stiffness [rad or m]."""
SAFE_SHARE, LONGEST_STEP = 0.9, 1e-3
"""A step is this share of the largest stable one, and at most this long [s]."""


@dataclass(frozen=True)
class ChainRest:
    """A chain of cells at rest.

    Args:
        bends: Bending angles of the sections, those of their cells added [rad], (sections,).
        lengths: Of the axes of the sections [m], (sections,).
        ends: Ends of the sections in the base frame [m], (sections, 3).
    """

    bends: Array
    lengths: Array
    ends: Array


class ArmChain:
    """The arm as a chain of rigid cells in MuJoCo; the base frame is that of the world.

    Args:
        arm: The arm.
        links: Cells a section.

    Raises:
        DescriptionError: The number of links is none.
        BuildError: MuJoCo refuses the arm.
    """

    def __init__(self, arm: HydraulicArm, links: int = DEFAULT_LINKS) -> None:
        self.arm, self.links = arm, links
        self.model = arm_model(arm, links)
        self.data = mujoco.MjData(self.model)
        self._parts = arm_robot(arm, links).bendables
        self._ends = [self.model.body(end_link(section)).id for section in arm.sections]
        self._drag = np.zeros((self.model.nbody, 2))
        for section in arm.sections:
            loss = np.array([section.damping.drag, section.damping.rotational_drag])
            for k in range(links + 1):
                body = self.model.body(f"{section.name}_{k}").id
                self._drag[body] = loss * self.model.body_mass[body] / section.mass

    def ends(self) -> Array:
        """Ends of the sections as they are [m], (sections, 3)."""
        return self.data.xpos[self._ends].copy()

    def rest(self, pressures: ArrayLike) -> ChainRest:
        """Where it comes to rest at constant pressures [Pa], (k,); it is left there.

        Raises:
            DescriptionError: Not one pressure a chamber, or one beyond its limits.
            SimulationError: No rest was found.
        """
        given, scale = checked_pressures(self.arm, pressures), self.model.jnt_stiffness
        gravity, found = self.model.opt.gravity.copy(), np.zeros(self.model.nv)
        try:
            for share in np.linspace(0.0, 1.0, LOAD_STEPS + 1)[1:]:
                self.model.opt.gravity[:] = share * gravity
                solved = root(
                    lambda at, s=share: self._forces(at, s * given, s) / scale, found, tol=1e-13
                )
                found = solved.x
                worst = float(np.abs(solved.fun).max())
                if not worst <= BALANCED:
                    raise SimulationError(
                        f"{self.arm.name}: expected a rest at {share:.0%} of its loads, found "
                        f"none; the joints are {worst:.2g} rad or m off"
                    )
        finally:
            self.model.opt.gravity[:] = gravity
        self._forces(found, given, 1.0)
        return ChainRest(*self._shape(), self.ends())

    def move(
        self,
        pressures: Inputs,
        duration: float,
        *,
        timestep: float | None = None,
        sample: float = SAMPLE,
    ) -> TipRecording:
        """Its motion from the straight state at rest.

        Args:
            pressures: Of all chambers in time [Pa], such as a PressureRecording.
            duration: [s]
            timestep: [s]; a safe one where not given.
            sample: Time between two rows of the recording [s].

        Raises:
            DescriptionError: A time is not positive.
            DivergedError: The motion diverges.
        """
        for field, value in {"duration": duration, "timestep": timestep, "sample": sample}.items():
            if value is not None and not 0.0 < value < math.inf:
                raise DescriptionError(
                    f"expected a time above 0 s, found {value:g} s", field=field
                )
        longest = min(SAFE_SHARE * spring_limit(self.model), LONGEST_STEP, sample)
        substeps = math.ceil(sample / (timestep or longest) * (1.0 - 1e-9))
        self.model.opt.timestep = sample / substeps
        mujoco.mj_resetData(self.model, self.data)
        mujoco.mj_forward(self.model, self.data)
        rows = [self.ends()]
        for _ in range(round(duration / sample)):
            for _ in range(substeps):
                self.data.ctrl[:] = pressures(float(self.data.time))
                self._push(1.0)
                mujoco.mj_step(self.model, self.data)
            if has_diverged(self.data):
                raise DivergedError(
                    f"{self.arm.name}: its motion has diverged at {self.data.time:.3g} s; a "
                    f"timestep below {self.model.opt.timestep:g} s may help"
                )
            rows.append(self.ends())
        return TipRecording(np.arange(len(rows), dtype=np.float64) * sample, np.stack(rows))

    def _forces(self, joints: Array, pressures: Array, share: float) -> Array:
        """All that acts on the joints at rest, (nv,), with a share of the tip load."""
        self.data.qpos[:], self.data.qvel[:] = joints, 0.0
        self.data.ctrl[:] = pressures
        mujoco.mj_kinematics(self.model, self.data)
        self._push(share)
        mujoco.mj_forward(self.model, self.data)
        return self.data.qfrc_smooth.copy()

    def _push(self, share: float) -> None:
        """Drag on the cells, and a share of the load at the tip, at the velocities of before."""
        data, load, tip = self.data, self.arm.tip_load, self._ends[-1]
        spin, offset = data.cvel[:, :3], data.xipos - data.subtree_com[self.model.body_rootid]
        velocity = data.cvel[:, 3:] + np.cross(spin, offset)
        data.xfrc_applied[:, :3] = -self._drag[:, :1] * velocity
        data.xfrc_applied[:, 3:] = -self._drag[:, 1:] * spin
        turn = data.xmat[tip].reshape(3, 3) if load.frame == "tip" else np.eye(3)
        data.xfrc_applied[tip, :3] += share * turn @ load.force
        data.xfrc_applied[tip, 3:] += share * turn @ load.moment

    def _shape(self) -> tuple[Array, Array]:
        """Bends [rad] and lengths [m] of the sections as they are."""
        bends, lengths = [], []
        for section, part in zip(self.arm.sections, self._parts, strict=True):
            angles = np.array([self.data.joint(name).qpos[0] for name, _ in bend_joints(part)])
            bends.append(np.hypot(angles[0::2], angles[1::2]).sum())
            slid = sum(self.data.joint(name).qpos[0] for name in slide_joints(part))
            lengths.append(section.length + slid)
        return np.array(bends), np.array(lengths)
