"""A water-hydraulic arm in MuJoCo: where it comes to rest, and how it moves."""

from __future__ import annotations

import math
from dataclasses import dataclass

import mujoco
import numpy as np
from numpy.typing import ArrayLike

from softgrasp.build.bendable_names import bend_joints, slide_joints
from softgrasp.build.carrier_rest import balanced
from softgrasp.build.hydraulic_arm import arm_model, arm_robot, end_link
from softgrasp.description.bendable import DEFAULT_LINKS
from softgrasp.description.hydraulic_arm import HydraulicArm
from softgrasp.errors import DescriptionError, DivergedError
from softgrasp.mechanics.hydraulic.lumped_model import checked_pressures
from softgrasp.mechanics.hydraulic.motion import SAMPLE, Inputs, inputs_of
from softgrasp.mechanics.hydraulic.recording import TipRecording
from softgrasp.mechanics.transforms import Array
from softgrasp.simulation.engine_warnings import has_diverged
from softgrasp.build.spring_limit import spring_limit

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


@dataclass(frozen=True)
class ChainRecording(TipRecording):
    """A chain of cells in time.

    Args:
        times: [s], (t,).
        ends: Ends of the sections in the base frame [m], (t, sections, 3).
        joints: Of all cells [m or rad], (t, nq).
    """

    joints: Array


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
        return np.array(self.data.xpos[self._ends])

    def rest(self, pressures: ArrayLike) -> ChainRest:
        """Where it comes to rest at constant pressures [Pa], (k,); it is left there.

        Raises:
            DescriptionError: Not one pressure a chamber, or one beyond its limits.
            SimulationError: No rest was found.
        """
        given = checked_pressures(self.arm, pressures)
        mujoco.mj_resetData(self.model, self.data)
        mujoco.mj_forward(self.model, self.data)
        gravity = self.model.opt.gravity.copy()

        def off(joints: Array, share: float) -> Array:
            self.model.opt.gravity[:] = share * gravity
            return self._off(joints, share * given, share)

        try:
            found = balanced(off, self.model.nv, self.arm.name)
        finally:
            self.model.opt.gravity[:] = gravity
        self._off(found, given, 1.0)
        return ChainRest(*self._shape(), self.ends())

    def move(
        self,
        pressures: Inputs | ArrayLike,
        duration: float,
        *,
        timestep: float | None = None,
        sample: float = SAMPLE,
    ) -> ChainRecording:
        """Its motion from the straight state at rest.

        Args:
            pressures: Of all chambers [Pa]: (k,), or a function of time such as a
                PressureRecording.
            duration: [s]
            timestep: [s]; a safe one where not given.
            sample: Time between two rows of the recording [s].

        Raises:
            DescriptionError: A time is not positive, or a pressure beyond the limits of its
                chamber when a row is recorded.
            DivergedError: The motion diverges.
        """
        for field, value in {"duration": duration, "timestep": timestep, "sample": sample}.items():
            if value is not None and not 0.0 < value < math.inf:
                raise DescriptionError(f"expected a time above 0 s, found {value:g} s", field=field)
        longest = min(SAFE_SHARE * spring_limit(self.model), LONGEST_STEP, sample)
        substeps = math.ceil(sample / (timestep or longest) * (1.0 - 1e-9))
        self.model.opt.timestep = sample / substeps
        mujoco.mj_resetData(self.model, self.data)
        mujoco.mj_forward(self.model, self.data)
        rows, joints, given = [self.ends()], [self.data.qpos.copy()], inputs_of(pressures)
        for _ in range(round(duration / sample)):
            checked_pressures(self.arm, given(float(self.data.time)))
            for _ in range(substeps):
                self.data.ctrl[:] = given(float(self.data.time))
                self._push(1.0)
                mujoco.mj_step(self.model, self.data)
            if has_diverged(self.data):
                raise DivergedError(
                    f"{self.arm.name}: its motion has diverged at {self.data.time:.3g} s; a "
                    f"timestep below {self.model.opt.timestep:g} s may help"
                )
            rows.append(self.ends())
            joints.append(self.data.qpos.copy())
        times = np.arange(len(rows), dtype=np.float64) * sample
        return ChainRecording(times, np.stack(rows), np.stack(joints))

    def _off(self, joints: Array, pressures: Array, share: float) -> Array:
        """Forces on the joints at rest over their stiffness, (nv,)."""
        self.data.qpos[:], self.data.qvel[:] = joints, 0.0
        self.data.ctrl[:] = pressures
        mujoco.mj_kinematics(self.model, self.data)
        self._push(share)
        mujoco.mj_forward(self.model, self.data)
        return np.asarray(self.data.qfrc_smooth / self.model.jnt_stiffness)

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
