"""A water-hydraulic arm in MuJoCo: where it comes to rest, and how it moves."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import mujoco
import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import root

from softgrasp.build.bendable_names import bend_joints, slide_joints
from softgrasp.build.hydraulic_arm import arm_model, arm_robot, end_link
from softgrasp.description.bendable import DEFAULT_LINKS
from softgrasp.description.hydraulic_arm import HydraulicArm
from softgrasp.errors import DescriptionError, DivergedError, SimulationError, did_you_mean
from softgrasp.mechanics.hydraulic.lumped_model import checked_pressures
from softgrasp.mechanics.hydraulic.motion import SAMPLE, Inputs, inputs_of
from softgrasp.mechanics.hydraulic.recording import TipRecording
from softgrasp.mechanics.transforms import Array
from softgrasp.simulation.engine_warnings import has_diverged
from softgrasp.simulation.hydraulic_step import STEPPED, check_step, safe_step
from softgrasp.simulation.stability import INTEGRATORS

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
        lagged: Whether its pressures follow the controls with one lag; see ``arm_spec``.

    Raises:
        DescriptionError: The number of links is none.
        BuildError: MuJoCo refuses the arm.
    """

    def __init__(
        self, arm: HydraulicArm, links: int = DEFAULT_LINKS, *, lagged: bool = False
    ) -> None:
        self.arm, self.links = arm, links
        self.model = arm_model(arm, links, lagged=lagged)
        self.data = mujoco.MjData(self.model)
        self._parts = arm_robot(arm, links).bendables
        self._ends = [self.model.body(end_link(section)).id for section in arm.sections]
        highest = [part.pressure_max for part in arm.chambers]
        self._limits = (
            np.array([part.pressure_min for part in arm.chambers]),
            np.array([math.inf if most is None else most for most in highest]),
        )
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
        gravity, found = self.model.opt.gravity.copy(), np.zeros(self.model.nv)
        try:
            for share in np.linspace(0.0, 1.0, LOAD_STEPS + 1)[1:]:
                self.model.opt.gravity[:] = share * gravity
                off = partial(self._off, pressures=share * given, share=share)
                found, worst = _root(off, found)
                if not worst <= BALANCED:
                    raise SimulationError(
                        f"{self.arm.name}: expected a rest at {share:.0%} of its loads, found "
                        f"none; the joints are {worst:.2g} rad or m off"
                    )
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
        integrator: str = "implicitfast",
        sample: float = SAMPLE,
    ) -> ChainRecording:
        """Its motion from the straight state at rest.

        Args:
            pressures: Of all chambers [Pa]: (k,), or a function of time such as a
                PressureRecording.
            duration: [s]
            timestep: [s]; a safe one where not given.
            integrator: ``implicitfast``, ``implicit``, ``euler``, or ``discrete``, which bears
                long steps.
            sample: Time between two rows of the recording [s].

        Raises:
            DescriptionError: A time is not positive, a pressure is beyond the limits of its
                chamber at a step, there is no such integrator, or the straight arm is not stable
                with it at the timestep.
            DivergedError: The motion diverges.
        """
        for field, value in {"duration": duration, "timestep": timestep, "sample": sample}.items():
            if value is not None and not 0.0 < value < math.inf:
                raise DescriptionError(f"expected a time above 0 s, found {value:g} s", field=field)
        substeps = self._set_step(timestep, integrator, sample)
        mujoco.mj_resetData(self.model, self.data)
        mujoco.mj_forward(self.model, self.data)
        rows, joints, given = [self.ends()], [self.data.qpos.copy()], inputs_of(pressures)
        for _ in range(round(duration / sample)):
            for _ in range(substeps):
                self._step(self._checked(given(float(self.data.time))))
            mujoco.mj_kinematics(self.model, self.data)  # bodies of a step stand where it began
            rows.append(self.ends())
            joints.append(self.data.qpos.copy())
        times = np.arange(len(rows), dtype=np.float64) * sample
        return ChainRecording(times, np.stack(rows), np.stack(joints))

    def _set_step(self, timestep: float | None, integrator: str, sample: float) -> int:
        """Set the time step and the integrator; returns how many steps make a row."""
        if integrator not in STEPPED:
            told = f"no integrator '{integrator}'; {did_you_mean(integrator, STEPPED)}"
            raise DescriptionError(told, field="integrator")
        longest = min(SAFE_SHARE * safe_step(self.model, self._drag), LONGEST_STEP, sample)
        substeps = math.ceil(sample / (timestep or longest) * (1.0 - 1e-9))
        if timestep is not None:
            check_step(self.model, self._drag, integrator, sample / substeps)
        self.model.opt.timestep = sample / substeps
        self.model.opt.integrator = INTEGRATORS[integrator]
        return substeps

    def _checked(self, pressures: ArrayLike) -> Array:
        """As ``checked_pressures``, which takes its time: here it only tells what is wrong."""
        found, (low, high) = np.asarray(pressures, dtype=float), self._limits
        fits = found.shape == low.shape and ((low <= found) & (found <= high)).all()
        return found if fits else checked_pressures(self.arm, found)

    def _step(self, pressures: Array) -> None:
        mujoco.mj_step1(self.model, self.data)
        self.data.ctrl[:] = pressures
        self._push(1.0)  # between the halves, where velocities are those of now
        mujoco.mj_step2(self.model, self.data)
        if has_diverged(self.data):
            raise DivergedError(
                f"{self.arm.name}: its motion has diverged at {self.data.time:.3g} s; a timestep "
                f"below {self.model.opt.timestep:g} s, or integrator='discrete', may help"
            )

    def _off(self, joints: Array, pressures: Array, share: float) -> Array:
        """Forces on the joints at rest over their stiffness, (nv,)."""
        self.data.qpos[:], self.data.qvel[:] = joints, 0.0
        self.data.ctrl[:] = pressures
        self.data.act[:] = pressures[: self.model.na]  # of lags, which have come to an end
        mujoco.mj_kinematics(self.model, self.data)
        self._push(share)
        mujoco.mj_forward(self.model, self.data)
        return np.asarray(self.data.qfrc_smooth / self.model.jnt_stiffness)

    def _push(self, share: float) -> None:
        """Drag on the cells, and a share of the load at the tip."""
        data, load, tip = self.data, self.arm.tip_load, self._ends[-1]
        spin, offset = data.cvel[:, :3], data.xipos - data.subtree_com[self.model.body_rootid]
        velocity = data.cvel[:, 3:] + _crossed(spin, offset)
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


def _crossed(first: Array, second: Array) -> Array:
    """Cross products of rows, (m, 3); ``numpy.cross`` costs more than a step of MuJoCo."""
    x, y, z = first.T
    u, v, w = second.T
    return np.stack([y * w - z * v, z * u - x * w, x * v - y * u], axis=1)


def _root(off: Callable[[Array], Array], start: Array) -> tuple[Array, float]:
    """Where a function is nothing, and what is left of it there.

    Powell's method is quick and gets stuck now and then, out of the plane and near the limit; the
    one of Levenberg and Marquardt takes three times as long.
    """
    for method in ("hybr", "lm"):
        solved = root(off, start, method=method, tol=1e-13)
        worst = float(np.abs(solved.fun).max())
        if worst <= BALANCED:
            break
    return np.asarray(solved.x), worst
