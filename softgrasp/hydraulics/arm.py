"""Water-hydraulic arm as a chain of rigid cells in MuJoCo: rest, motion and stable time steps.

Every cell of a section has a slide, a twist and two bends in its middle, and a chamber is one fixed
tendon along all cells of its section, with the coefficients 1, −r cos α and −r sin α of l, u and v;
its control is the pressure (Chen et al. 2022).

With the drives of the chambers coupled to the arm, every step first takes from ``CoupledStepper``
the pressures, which fall with the volume that the arm opens. MuJoCo takes that fall as a damper of
the chamber's tendon with the velocities at the end of the step (``implicitfast``), so the step is
stable whatever its length relative to the water's time constants; then the drives receive the
volume that the arm has opened.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property

import mujoco
import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import eigh

from softgrasp.continuum import PathPoint, follow
from softgrasp.description import DEFAULT_LINKS, TipLoad
from softgrasp.errors import (
    DescriptionError,
    DivergedError,
    SimulationError,
    SoftgraspWarning,
    did_you_mean,
)
from softgrasp.hydraulics.description import HydraulicArm, arm_robot, end_link
from softgrasp.hydraulics.drive import check_pressures, drive_model, pressure_of_torque
from softgrasp.hydraulics.integrators import (
    SAMPLE,
    CoupledStepper,
    Inputs,
    PressureRecording,
    TipRecording,
    inputs_of,
    refuse_no_time,
)
from softgrasp.mechanics import Array
from softgrasp.model import (
    bend_joints,
    compiled,
    damped_spring_limit,
    robot_spec,
    segment_actuator_names,
    slide_joints,
    visual,
)
from softgrasp.sim import has_diverged
from softgrasp.soft import INTEGRATORS, is_stable, stable_step_of

SECTION_RGBA: tuple[visual.Rgba, ...] = ((0.42, 0.57, 0.73, 1.0), (0.93, 0.78, 0.55, 1.0))
"""Colours of the sections in images, alternating from the base outwards."""


def arm_spec(
    arm: HydraulicArm, links: int = DEFAULT_LINKS, *, lagged: bool = False
) -> mujoco.MjSpec:
    """Build the arm as an MjSpec with the arm's gravity.

    Drag and the load at the tip are forces of a run, and no part of it.

    Args:
        arm: The arm.
        links: Rigid cells a section.
        lagged: Whether its pressures follow their controls with one lag, τ = (R + d/A_c²) C_a at
            laminar flow (``filterexact``), so that the model has its drives in it: the control of
            a chamber is then the pressure at rest of its motor's torque
            (``drive.pressure_of_torque``).

    Raises:
        DescriptionError: The number of links is none.
        BuildError: MuJoCo refuses it.
    """
    robot = arm_robot(arm, links)
    spec = robot_spec(robot)
    spec.option.gravity = arm.gravity
    names = [name for part in robot.bendables for name in segment_actuator_names(part)]
    lags = zip(names, drive_model(arm).lags().tolist(), strict=True)
    for name, lag in lags if lagged else ():
        actuator = spec.actuator(name)
        actuator.dyntype = mujoco.mjtDyn.mjDYN_FILTEREXACT
        actuator.dynprm[0] = lag
    return spec


def arm_model(
    arm: HydraulicArm, links: int = DEFAULT_LINKS, *, lagged: bool = False
) -> mujoco.MjModel:
    """Compile the model of an arm; see ``arm_spec``.

    Raises:
        DescriptionError: The number of links is none.
        BuildError: MuJoCo refuses it.
    """
    return compiled(arm_spec(arm, links, lagged=lagged), arm.name)


CAVITATES = -9.9e4
"""Pressure over that of the air at which water at 20 °C boils [Pa]."""
FORCE, VELOCITY = 0, 2
"""Indices of the constant force and of the velocity factor in an actuator's ``biasprm``."""
AHEAD, BEHIND = [1, 2, 0], [2, 0, 1]
UNLOADED = TipLoad()
Integers = NDArray[np.int64]
SAFE_FRACTION, LONGEST_STEP = 0.9, 1e-3
"""Fraction of the largest stable step that is used, and the longest step [s]."""
STEPPED = tuple(name for name in INTEGRATORS if name != "rk4")
"""Integrators that take forces between the two halves of a step."""
SMALLEST = 1e-6
"""Shortest time step that is tried [s]."""


def move_driven_chain(
    chain: ArmChain, torques: Inputs, duration: float, *, timestep: float | None = None
) -> tuple[ChainRecording, PressureRecording]:
    """Simulate a chain of rigid cells under motor torques, from its straight state at rest.

    Args:
        chain: The arm.
        torques: Motor torques, one per chamber [N·m]; taken in the middle of each step.
        duration: [s]
        timestep: [s]; a safe one where not given.

    Raises:
        DescriptionError: A time is not positive, a torque more than its motor has, its pressure at
            rest beyond the limits of the chamber, or the chain has lags of its own.
        DivergedError: The motion diverges.

    Warns:
        SoftgraspWarning: The flow in the tubes is beyond the law that it follows, or water would
            boil.
    """
    if chain.model.na:
        raise DescriptionError(
            f"{chain.arm.name}: expected a chain without lags, whose drives are simulated, found "
            "one with lags",
            field="lagged",
        )
    coupling = _Coupling(chain, torques)
    with _free_chambers(chain.model):
        recording = chain.move(coupling, duration, timestep=timestep)
        coupling(float(chain.data.time))
    return recording, coupling.recording()


@contextmanager
def _free_chambers(model: mujoco.MjModel) -> Iterator[None]:
    """Return the chambers whose pressure may fall as their volume grows."""
    kinds, numbers = model.actuator_biastype.copy(), model.actuator_biasprm.copy()
    model.actuator_biastype[:] = mujoco.mjtBias.mjBIAS_AFFINE
    try:
        yield
    finally:
        model.actuator_biastype[:], model.actuator_biasprm[:] = kinds, numbers


class _Coupling:
    """Hydraulic drives coupled to a chain: their chambers are tendons of its MuJoCo model.

    It is called once or more with the time of every step, as pressures of ``ArmChain.move`` are.
    """

    def __init__(self, chain: ArmChain, torques: Inputs) -> None:
        self._chain, self._torques = chain, torques
        self._low, self._high = chain.pressure_limits
        self._areas = np.array([chamber.area for chamber in chain.arm.chambers])
        self._volumes = self._areas[:, None] * tendon_jacobian(chain.model)
        self._drives: CoupledStepper | None = None
        self._times: list[float] = []
        self._states: list[Array] = []
        self._controls = self._low
        self._warned = False

    def __call__(self, time: float) -> Array:
        """Advance the drives to a time and set the chamber forces of the step that begins there.

        Returns:
            Pressures of the chambers within their limits [Pa], (k,).
        """
        if self._times and time == self._times[-1]:
            return self._controls
        if self._drives is None:
            timestep = self._chain.model.opt.timestep
            self._drives = CoupledStepper(drive_model(self._chain.arm, "state"), timestep)
        else:
            self._drives.advance(self._volumes @ self._chain.data.qvel)
        self._times.append(time)
        self._states.append(self._drives.states)
        self._watch(self._drives.pressures, time)
        torques, arm = self._torques(time + 0.5 * self._drives.timestep), self._chain.arm
        pressures, falls = self._drives.press(torques)
        at_rest = pressure_of_torque(arm.drive, torques)
        if ((at_rest < self._low) | (at_rest > self._high)).any():
            check_pressures(arm, at_rest)
        self._controls = np.clip(pressures, self._low, self._high)
        bias = self._chain.model.actuator_biasprm
        bias[:, FORCE] = self._areas * (pressures - self._controls)
        bias[:, VELOCITY] = -falls * self._areas**2
        return self._controls

    def recording(self) -> PressureRecording:
        """The pressures of all steps."""
        states, drives = np.stack(self._states), self._drives
        largest = drives.largest_reynolds if drives else 0.0
        return PressureRecording(np.array(self._times), states[:, :, 1], states[:, :, 2], largest)

    def _watch(self, pressures: Array, time: float) -> None:
        lowest = int(np.argmin(pressures))
        if pressures[lowest] < CAVITATES and not self._warned:
            self._warned = True
            warnings.warn(
                f"{self._chain.arm.name}: chamber {lowest + 1}: expected pressures above "
                f"{CAVITATES:g} Pa, where water boils, found {pressures[lowest]:.0f} Pa at "
                f"{time:.3g} s; a real chamber would not be drawn along like that",
                SoftgraspWarning,
                stacklevel=5,
            )


def tendon_jacobian(model: mujoco.MjModel) -> Array:
    """Compute the Jacobian of the lengths of fixed tendons, which is constant, (ntendon, nv)."""
    jacobian = np.zeros((model.ntendon, model.nv))
    for tendon, (first, count) in enumerate(zip(model.tendon_adr, model.tendon_num, strict=True)):
        part = slice(int(first), int(first + count))
        jacobian[tendon, model.jnt_dofadr[model.wrap_objid[part]]] = model.wrap_prm[part]
    return jacobian


@dataclass(frozen=True)
class ChainRest:
    """Equilibrium of a chain of cells.

    Args:
        bends: Bending angles of the sections, those of their cells added [rad], (sections,).
        lengths: Lengths of the section axes [m], (sections,).
        ends: Ends of the sections in the base frame [m], (sections, 3).
        stable: Whether the chain returns to this shape from nearby ones.
        min_eigenvalue: Smallest eigenvalue of the stiffness over that of the joints [–]: 1 without
            loads, 0 at a critical load.
        buckling_factor: Fraction of the loads at which the straight arm's branch became unstable;
            NaN where it is stable up to the full loads.
    """

    bends: Array
    lengths: Array
    ends: Array
    stable: bool
    min_eigenvalue: float
    buckling_factor: float


@dataclass(frozen=True)
class ChainRecording(TipRecording):
    """Recorded motion of a chain of cells.

    Args:
        times: [s], (t,).
        ends: Ends of the sections in the base frame [m], (t, sections, 3).
        joints: Joint positions of all cells [m or rad], (t, nq).
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
        self.load = arm.tip_load
        """Load at the tip; may be changed between two calls."""
        self.model = arm_model(arm, links, lagged=lagged)
        self.data = mujoco.MjData(self.model)
        self._parts = arm_robot(arm, links).bendables
        self._ends = [self.model.body(end_link(section)).id for section in arm.sections]
        self._roots = np.array(self.model.body_rootid)
        highest = [part.pressure_max for part in arm.chambers]
        self.pressure_limits = (
            np.array([part.pressure_min for part in arm.chambers]),
            np.array([math.inf if limit is None else limit for limit in highest]),
        )
        """Lowest and highest pressures of the chambers [Pa], (k,) each."""
        self._drag = np.zeros((self.model.nbody, 2))
        for section in arm.sections:
            loss = np.array([section.damping.drag, section.damping.rotational_drag])
            for k in range(links + 1):
                body = self.model.body(f"{section.name}_{k}").id
                self._drag[body] = loss * self.model.body_mass[body] / section.mass

    @property
    def time(self) -> float:
        """Time since the straight state at rest [s]."""
        return float(self.data.time)

    def ends(self) -> Array:
        """Current end positions of the sections [m], (sections, 3)."""
        return np.array(self.data.xpos[self._ends])

    def bends(self) -> Array:
        """Current bending angles of the sections towards x and y [rad], (sections, 2)."""
        return np.asarray(self.bends_of(self.data.qpos[None])[0])

    def bends_of(self, joints: Array) -> Array:
        """Compute bending angles of the sections towards x and y [rad], (t, sections, 2).

        Args:
            joints: Joint positions of all cells, such as ``ChainRecording.joints``, (t, nq).
        """
        return np.stack([joints[:, at].sum(axis=1) for at in self._bend_columns], axis=1)

    def curvatures(self) -> Array:
        """Current curvatures of the sections towards x and y [1/m], (sections, 2)."""
        return np.asarray(self.bends() / self.lengths()[:, None])

    def lengths(self) -> Array:
        """Current lengths of the section axes [m], (sections,)."""
        slid = [
            sum(self.data.joint(name).qpos[0] for name in slide_joints(part))
            for part in self._parts
        ]
        lengths_at_rest = np.array([section.length for section in self.arm.sections])
        return np.asarray(lengths_at_rest + np.array(slid))

    @cached_property
    def _safe_step(self) -> float:
        return safe_step(self.model, self._drag)

    def rest(self, pressures: ArrayLike) -> ChainRest:
        """Compute the equilibrium at constant pressures [Pa], (k,), and set the arm to it.

        Raises:
            DescriptionError: Not one pressure a chamber, or one beyond its limits.
            SimulationError: No rest was found.

        Warns:
            SoftgraspWarning: A section folds into itself.
        """
        pressure_array = check_pressures(self.arm, pressures)
        self.reset()
        gravity = self.model.opt.gravity.copy()

        def off(joints: Array, load_factor: float) -> Array:
            self.model.opt.gravity[:] = load_factor * gravity
            return self._off(joints, load_factor * pressure_array, load_factor)

        try:
            point = balance(off, self.model.jnt_stiffness, self.arm.name)
        finally:
            self.model.opt.gravity[:] = gravity
        self._off(point.positions, pressure_array, 1.0)
        cells = [np.linalg.norm(self.data.qpos[at], axis=1) for at in self._bend_columns]
        bends, lengths = np.array([angles.sum() for angles in cells]), self.lengths()
        self._warn_folded(bends / lengths)
        return ChainRest(
            bends, lengths, self.ends(), point.stable, point.eigenvalue, point.critical_load
        )

    def _warn_folded(self, curvatures: Array) -> None:
        for section, curvature in zip(self.arm.sections, curvatures.tolist(), strict=True):
            if curvature * section.radius > 1.0:
                warnings.warn(
                    f"{self.arm.name}: section '{section.name}': expected a curvature below 1 over "
                    f"its radius, {1.0 / section.radius:.4g} 1/m, found {curvature:.4g} 1/m, at "
                    "which it folds into itself",
                    SoftgraspWarning,
                    stacklevel=3,
                )

    def move(
        self,
        pressures: Inputs | ArrayLike,
        duration: float,
        *,
        timestep: float | None = None,
        integrator: str = "implicitfast",
        sample: float = SAMPLE,
        start: ArrayLike | None = None,
    ) -> ChainRecording:
        """Simulate the motion from the straight state at rest.

        Args:
            pressures: Pressures of all chambers [Pa]: (k,), or a function of time such as a
                PressureRecording.
            duration: [s]
            timestep: [s]; a safe one where not given.
            integrator: ``implicitfast``, ``implicit``, ``euler``, or ``discrete``, which bears
                long steps.
            sample: Time between two rows of the recording [s]; the last row is at ``duration``.
            start: Pressures under which it rests at the beginning [Pa], (k,); straight and without
                load where not given.

        Raises:
            DescriptionError: A time is not positive, a pressure is beyond the limits of its
                chamber at a step, there is no such integrator, or the straight arm is not stable
                with it at the timestep.
            DivergedError: The motion diverges.
            SimulationError: There is no rest to begin with.
        """
        refuse_no_time(duration=duration, timestep=timestep, sample=sample)
        self.reset()
        if start is not None:
            self.rest(start)
        rows, joints, inputs = [self.ends()], [self.data.qpos.copy()], inputs_of(pressures)
        whole = math.floor(duration / sample + 1e-9)
        rest = duration - whole * sample
        times = [row * sample for row in range(whole + 1)]
        for length, count in ((sample, whole), (rest, int(rest > 1e-9 * sample))):
            substeps = self._set_step(length, timestep, integrator) if count else 0
            for _ in range(count):
                self._go(inputs, substeps)
                rows.append(self.ends())
                joints.append(self.data.qpos.copy())
        times = [*times, duration][: len(rows)]
        return ChainRecording(np.array(times), np.stack(rows), np.stack(joints))

    def reset(self) -> None:
        """Reset to the straight state at rest."""
        mujoco.mj_resetData(self.model, self.data)
        mujoco.mj_forward(self.model, self.data)

    def advance(self, pressures: ArrayLike, duration: float) -> None:
        """Continue from the current state, for feedback from one call to the next.

        Args:
            pressures: Constant pressures of all chambers [Pa], (k,).
            duration: [s]

        Raises:
            DescriptionError: The time is not positive, or a pressure beyond its limits.
            DivergedError: The motion diverges.
        """
        refuse_no_time(duration=duration)
        self._go(inputs_of(pressures), self._set_step(duration, None, "implicitfast"))

    def _set_step(self, duration: float, timestep: float | None, integrator: str) -> int:
        """Set the time step and the integrator; return how many steps make the duration."""
        if integrator not in STEPPED:
            message = f"no integrator '{integrator}'; {did_you_mean(integrator, STEPPED)}"
            raise DescriptionError(message, field="integrator")
        longest = min(SAFE_FRACTION * self._safe_step, LONGEST_STEP, duration)
        substeps = math.ceil(duration / (timestep or longest) * (1.0 - 1e-9))
        if timestep is not None:
            check_step(self.model, self._drag, integrator, duration / substeps)
        self.model.opt.timestep = duration / substeps
        self.model.opt.integrator = INTEGRATORS[integrator]
        return substeps

    def _go(self, inputs: Inputs, substeps: int) -> None:
        """Simulate the chain with pressures that are computed at each step."""
        low, high = self.pressure_limits
        for _ in range(substeps):
            values = np.asarray(inputs(float(self.data.time)), dtype=float)
            fits = values.shape == low.shape and ((low <= values) & (values <= high)).all()
            self._step(values if fits else check_pressures(self.arm, values))
        mujoco.mj_kinematics(self.model, self.data)  # bodies of a step stand where it began

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

    def _off(self, joints: Array, pressures: Array, load_factor: float) -> Array:
        """Return joint forces at rest over their stiffness, (nv,)."""
        self.data.qpos[:], self.data.qvel[:] = joints, 0.0
        self.data.ctrl[:] = pressures
        self.data.act[:] = pressures[: self.model.na]  # of lags, which have come to an end
        mujoco.mj_kinematics(self.model, self.data)
        self._push(load_factor)
        mujoco.mj_forward(self.model, self.data)
        return np.asarray(self.data.qfrc_smooth / self.model.jnt_stiffness)

    def _push(self, load_factor: float) -> None:
        """Apply drag at the centres of the cells and a fraction of the load at the tip."""
        data, load, tip = self.data, self.load, self._ends[-1]
        spin, offset = data.cvel[:, :3], data.xipos - data.subtree_com[self._roots]
        # the vector product, for which numpy's own takes longer than the physics
        cross_product = spin[:, AHEAD] * offset[:, BEHIND] - spin[:, BEHIND] * offset[:, AHEAD]
        data.xfrc_applied[:, :3] = -self._drag[:, :1] * (data.cvel[:, 3:] + cross_product)
        data.xfrc_applied[:, 3:] = -self._drag[:, 1:] * spin
        if load == UNLOADED:
            return
        rotation = data.xmat[tip].reshape(3, 3) if load.frame == "tip" else np.eye(3)
        force, moment = load_factor * rotation @ load.force, load_factor * rotation @ load.moment
        # applied forces act at the centre of mass of a body, the load at its origin, the tip
        lever = data.xpos[tip] - data.xipos[tip]
        data.xfrc_applied[tip, :3] += force
        data.xfrc_applied[tip, 3:] += moment + np.cross(lever, force)

    @cached_property
    def _bend_columns(self) -> list[Integers]:
        """Return indices in ``qpos`` of the bending joints of each section, (links, 2) each."""
        columns = []
        for part in self._parts:
            addresses = [int(self.model.joint(name).qposadr[0]) for name, _ in bend_joints(part)]
            columns.append(np.array(addresses, dtype=np.int64).reshape(-1, 2))
        return columns


def balance(off: Callable[[Array, float], Array], stiffness: Array, name: str) -> PathPoint:
    """Follow the equilibria while all loads are increased from 0 to their full values.

    Args:
        off: Function (joints, load fraction): forces on the joints over their stiffness, (n,).
        stiffness: Of the joints [N·m/rad or N/m], (n,).
        name: Name of the arm, for messages.

    Raises:
        SimulationError: No equilibrium was found.
    """
    point = follow(lambda joints, load_factor: off(joints, load_factor) * stiffness, stiffness)
    if not point.converged:
        raise SimulationError(
            f"{name}: expected a rest at all of its loads, found none beyond "
            f"{100 * point.load_factor:.0f} % of them"
        )
    return point


def discretisation_error(arm: HydraulicArm, links: int, pressures: ArrayLike) -> float:
    """Estimate how far finite cells put the end of an arm at rest from its limit [m].

    By Richardson's rule from the rest of a chain with half the cells (or two instead of one), as
    the error falls with the square of the cells.

    Args:
        arm: The arm.
        links: Cells a section.
        pressures: Of the chambers [Pa], (k,).

    Raises:
        SimulationError: One of the two has no rest.
    """
    other = links // 2 or 2
    ends = [ArmChain(arm, count).rest(pressures).ends[-1] for count in (links, other)]
    return float(np.linalg.norm(ends[1] - ends[0]) / abs((links / other) ** 2 - 1.0))


def drag_matrix(model: mujoco.MjModel, drag: Array) -> tuple[Array, Array]:
    """Compute the mass matrix and the drag matrix in the straight state, (nv, nv) each.

    Args:
        model: A compiled arm.
        drag: Force over velocity [N·s/m] and moment over angular velocity [N·m·s] of each body,
            (nbody, 2).
    """
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    inertia, damping = np.zeros((model.nv, model.nv)), np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, inertia)
    along, about = np.zeros((3, model.nv)), np.zeros((3, model.nv))
    for body in np.flatnonzero(drag.any(axis=1)):
        mujoco.mj_jacBodyCom(model, data, along, about, body)
        damping += drag[body, 0] * along.T @ along + drag[body, 1] * about.T @ about
    return inertia, damping


def drag_rate(model: mujoco.MjModel, drag: Array) -> float:
    """Compute the largest decay rate of a velocity by drag alone, in the straight state [1/s].

    Args as ``drag_matrix``.
    """
    inertia, damping = drag_matrix(model, drag)
    return max(float(eigh(damping, inertia, eigvals_only=True)[-1]), 0.0)


def safe_step(model: mujoco.MjModel, drag: Array) -> float:
    """Compute a step at which semi-implicit integration of springs and drag is stable [s].

    Damping of the material is taken implicitly and allows longer steps, drag is an explicit force
    and shorter ones. Args as ``drag_matrix``.
    """
    return damped_spring_limit(model, drag_matrix(model, drag)[1])


def check_step(model: mujoco.MjModel, drag: Array, integrator: str, timestep: float) -> None:
    """Refuse a time step at which the straight state is unstable.

    Args:
        model: A compiled arm.
        drag: Drag on its bodies, as in ``drag_rate``.
        integrator: One of ``STEPPED``.
        timestep: [s]

    Raises:
        DescriptionError: It is not; names the longest step of this integrator, and those that are
            stable at this step.
    """
    if timestep <= safe_step(model, drag):
        return
    longest = 2.0 / max(drag_rate(model, drag), SMALLEST)
    if timestep > longest:
        raise DescriptionError(
            f"expected a step of at most {longest:.3g} s, as drag is an explicit force with every "
            f"integrator, found {timestep:g} s; without a timestep a safe one is taken",
            field="timestep",
        )
    if is_stable(model, integrator, timestep):
        return
    longest = stable_step_of(model, integrator)
    expected = f"at most {longest:.3g} s" if longest else f"less than {SMALLEST:g} s"
    others = [name for name in STEPPED if is_stable(model, name, timestep)]
    stable = f"; stable at it: integrator {', '.join(map(repr, others))}" if others else ""
    raise DescriptionError(
        f"expected a step of {expected} with the integrator {integrator!r} and this arm, found "
        f"{timestep:g} s{stable}; without a timestep a safe one is taken",
        field="timestep",
    )
