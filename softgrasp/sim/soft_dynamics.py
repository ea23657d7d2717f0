"""Dynamics of a single soft finger: motion under loads, free swings, small motions, time steps.

``move_finger`` integrates a finger from rest under pressure, tendon tension and joint moments;
``release_motion`` and ``rest_shape`` run planar fingers in MuJoCo or another engine;
``ReleaseTestRig`` runs many releases in a batch for calibration; ``linear_mode`` is the slowest
mode, ``stable_timestep`` the largest stable step of each integrator. Motions are integrated by
``mujoco.rollout``, which is as fast as the engine.
"""

from __future__ import annotations

import copy
import math
import os
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import mujoco
import numpy as np
from mujoco import rollout
from mujoco.batch import Batch
from numpy.typing import ArrayLike
from scipy.linalg import eigh

from softgrasp.continuum.statics import PlanarChain, joint_positions, rest
from softgrasp.description.calibration import FingerRelease
from softgrasp.description.scene import STANDARD_GRAVITY
from softgrasp.description.soft_finger import SoftFinger
from softgrasp.errors import (
    BackendUnavailable,
    DescriptionError,
    DivergedError,
    SimulationError,
    did_you_mean,
)
from softgrasp.mechanics.actuation import actuation_forces
from softgrasp.mechanics.transforms import Array
from softgrasp.model.compile import compiled
from softgrasp.model.names import finger_joint_names
from softgrasp.model.shapes import set_inertia
from softgrasp.model.soft_finger import TIP, finger_model, finger_spec
from softgrasp.sim.control_state import caught_warnings
from softgrasp.sim.engines import ReleaseEngine, engine_named
from softgrasp.sim.run_record import EngineRecord
from softgrasp.sim.soft_statics import damp_finger, solve_loaded_shape

NUMBER = 1
"""Column of a batch's warnings that counts them."""
RECORDED = 5e-4
"""Time between two recorded instants, at most [s]."""
MUJOCO = "mujoco"
INTEGRATOR = "implicitfast"
"""Integrator of MuJoCo: springs at the start of a step, dampers at its end."""
DECAYS = 60.0
"""Time for a finger to come to rest, times its slowest rate [–]."""
SAFE_FRACTION, LONGEST_STEP = 0.7, 1e-3
"""Default time step: this fraction of the largest stable one, and at most this long [s]."""
FULL_ROTATION = 2.0 * np.pi
"""Rotation from which a joint has diverged [rad]."""
_STATE = mujoco.mjtState.mjSTATE_FULLPHYSICS
INTEGRATORS = {
    "discrete": mujoco.mjtIntegrator.mjINT_DISCRETE,
    "implicitfast": mujoco.mjtIntegrator.mjINT_IMPLICITFAST,
    "implicit": mujoco.mjtIntegrator.mjINT_IMPLICIT,
    "euler": mujoco.mjtIntegrator.mjINT_EULER,
    "rk4": mujoco.mjtIntegrator.mjINT_RK4,
}
"""Integrators of MuJoCo by their names."""
SMALLEST, LARGEST = 1e-6, 1e-2
"""Range of time steps that are tried [s]."""
LADDER, PRECISION = 2.0, 4e-5
"""Ratio between the steps that are tried first, and relative precision of the largest one [–]."""
NUDGE = 1e-6
"""Change of a position or velocity for central differences [rad or m, per s]."""
ROUNDING = 1e-5
"""Growth of a free vibration per step that rounding may cause [–]."""


class SmallMotion(NamedTuple):
    """Inertia and stiffness about rest under the finger's weight, M·q̈ + C·q̇ + K·q = 0."""

    inertia: Array
    """M [kg·m²], (n, n)."""
    slopes: Array
    """Stiffness K of springs and weight, (n, n) [N·m/rad]."""

    @property
    def rate(self) -> float:
        """Angular frequency of the slowest mode without dampers [rad/s]."""
        return math.sqrt(float(eigh(self.slopes, self.inertia, eigvals_only=True)[0]))


class LinearMode(NamedTuple):
    """The slowest mode with its damping."""

    frequency: float
    """Damped frequency ω·√(1 − ζ²)/2π [Hz]; 0 without oscillation."""
    ratio: float
    """Damping over critical damping, ζ [–]."""

    @property
    def decay(self) -> float:
        """Decay rate ζ·ω [1/s]."""
        swing = 2.0 * math.pi * self.frequency
        return self.ratio * swing / math.sqrt(1.0 - self.ratio**2) if self.ratio < 1.0 else math.nan


def small_motion(finger: SoftFinger, stiffness: Array | None = None) -> SmallMotion:
    """Compute the matrices of small motions from closed-form statics and MuJoCo's inertia.

    Args:
        finger: A planar finger.
        stiffness: Spring stiffness, (n,) [N·m/rad]; that of the finger by default.
    """
    described = [joint.stiffness for joint in finger.joints]
    springs = np.array(described) if stiffness is None else stiffness
    chain, model = PlanarChain.of(finger), finger_model(finger)
    shape = rest(springs, chain.weight, np.zeros(1))
    data = mujoco.MjData(model)
    data.qpos[:] = shape.angles
    mujoco.mj_forward(model, data)
    inertia = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, inertia)
    return SmallMotion(inertia, shape.slopes)


def linear_mode(finger: SoftFinger, timestep: float = 0.0) -> LinearMode:
    """Compute the slowest mode of a finger with all of its damping.

    With a time step, the mode of engines that evaluate springs at the start of a step and dampers
    at its end, (M + h·C)·v⁺ = M·v − h·K·q and q⁺ = q + h·v⁺: an eigenvalue μ of the step
    corresponds to the exponent ln(μ)/h.

    Args:
        finger: A planar finger.
        timestep: Time step h [s]; 0 for continuous time.
    """
    inertia, slopes = small_motion(finger)
    damping = np.diag([joint.damping for joint in finger.joints])
    count = len(damping)
    whole, none = np.eye(count), np.zeros((count, count))
    if timestep > 0.0:
        resisting = inertia + timestep * damping
        pull = -timestep * np.linalg.solve(resisting, slopes)
        keep = np.linalg.solve(resisting, inertia)
        step = np.block([[whole + timestep * pull, timestep * keep], [pull, keep]])
        exponents = np.log(np.linalg.eigvals(step).astype(complex)) / timestep
    else:
        pull, drag = (-np.linalg.solve(inertia, matrix) for matrix in (slopes, damping))
        exponents = np.linalg.eigvals(np.block([[none, whole], [pull, drag]])).astype(complex)
    slowest = exponents[int(np.abs(exponents).argmin())]
    ratio = float(-slowest.real / abs(slowest))
    return LinearMode(abs(float(slowest.imag)) / (2.0 * math.pi), ratio)


class FirstMode(NamedTuple):
    """First mode about equilibrium under the finger's weight."""

    frequency: float
    """Natural frequency [Hz]."""
    weights: Array
    """Weights of the joints' dampers: modal damping is Σ weights·c; their sum is one, (n,)."""
    inertia: float
    """Modal inertia, with weights whose sum is one [kg·m²]."""

    def ratio(self, damping: Array) -> float:
        """Return the damping ratio for dampers (n,) [–]."""
        rate = 2.0 * math.pi * self.frequency
        return float(self.weights @ damping) / (2.0 * rate * self.inertia)


def first_mode(finger: SoftFinger, stiffness: Array) -> FirstMode:
    """Compute the first mode of a planar finger with springs (n,) [N·m/rad].

    Solves K φ = ω² M φ, with the stiffness of springs and weight, and MuJoCo's inertia matrix.
    """
    inertia, slopes = small_motion(finger, stiffness)
    values, modes = eigh(slopes, inertia)
    squares = np.square(modes[:, 0])
    return FirstMode(
        frequency=math.sqrt(values[0]) / (2.0 * math.pi),
        weights=squares / squares.sum(),
        inertia=1.0 / float(squares.sum()),
    )


class Released(NamedTuple):
    """Motions of B fingers after a release, at T times."""

    time: Array
    """[s], (T,)."""
    height: Array
    """Height of the tip over the first joint, (B, T) [m]; NaN for a finger that has diverged."""


class ReleaseTestRig:
    """Virtual test rig that releases copies of a finger from rest shapes under a weight."""

    def __init__(self, finger: SoftFinger, *, timestep: float = 2.5e-4, threads: int = 0) -> None:
        """Compile the finger once.

        Args:
            finger: A planar finger that neither twists nor stretches.
            timestep: Time step of the physics [s].
            threads: Threads of the physics, 0 for one a core; the motions do not depend on them.
        """
        self._chain = PlanarChain.of(finger)
        self._model = finger_model(finger)
        self._model.opt.timestep = timestep
        self._model.opt.gravity[:] = STANDARD_GRAVITY
        self._threads = threads or os.cpu_count() or 1
        self._models: list[mujoco.MjModel] = []
        self._batch: Batch | None = None

    def release(self, stiffness: Array, damping: Array, start: Array, duration: float) -> Released:
        """Compute the motions from rest in given shapes after the weights are removed.

        Args:
            stiffness: Spring stiffness, (B, n) [N·m/rad].
            damping: Joint damping, (B, n) [N·m·s/rad].
            start: Joint angles, (B, n) [rad]; a row that is not finite gives a row of NaN.
            duration: Duration [s].
        """
        step = float(self._model.opt.timestep)
        every = max(int(RECORDED / step), 1)
        steps = max(round(duration / (every * step)), 1) * every
        usable = np.asarray(np.isfinite(start + stiffness).all(axis=1))
        batch = self._prepared(len(start))
        for model, k, c in zip(self._models, stiffness, damping, strict=True):
            model.jnt_stiffness[:], model.dof_damping[:] = k, c
        with caught_warnings():
            batch.set_models(self._models)
            batch.reset(stage=mujoco.mjtStage.mjSTAGE_NONE.value)
            batch.qpos[:] = np.where(usable[:, None], start, 0.0)
            angles = np.asarray(batch.rollout(steps, record=("qpos",))["qpos"])
            usable = usable & ~np.asarray(batch.warning)[:, :, NUMBER].any(axis=1)
        angles = np.concatenate([start[:, None], angles[:, every - 1 :: every]], axis=1)
        height = self._chain.tip(angles)[..., 1]
        height[~usable] = np.nan
        return Released(np.arange(height.shape[1], dtype=float) * every * step, height)

    def _prepared(self, count: int) -> Batch:
        if self._batch is None or len(self._models) != count:
            self._models = [copy.copy(self._model) for _ in range(count)]
            self._batch = Batch(self._model, count, self._threads)
        return self._batch


class FreeMotion(NamedTuple):
    """Motion of a finger in its base frame; T samples, n joints."""

    time: Array
    """[s], (T,)."""
    angles: Array
    """Joint angles, positive towards −z, (T, n) [rad]."""
    tip: Array
    """Tip relative to the first joint, along x and z, (T, 2) [m]."""
    engine: EngineRecord


def release_motion(
    release: FingerRelease, backend: str = MUJOCO, *, timestep: float | None = None
) -> FreeMotion:
    """Compute the motion of a finger after its weight was removed.

    Args:
        release: The finger and its weight.
        backend: Name of the engine.
        timestep: Time step of the physics [s]; that of the release by default.

    Raises:
        BackendUnavailable: The engine is unknown or not installed.
        BuildError: The engine cannot express the finger at this time step.
        DescriptionError: The weight is too large for the finger.
        SimulationError: The motion diverges.
    """
    finger = damp_finger(release)
    return free_motion(
        finger,
        solve_loaded_shape(release),
        backend,
        timestep=timestep or release.timestep,
        sample_period=release.sample_period,
        samples=release.samples,
    )


def free_motion(
    finger: SoftFinger,
    start: Array,
    backend: str,
    *,
    timestep: float,
    sample_period: float,
    samples: int,
) -> FreeMotion:
    """Compute the motion of a horizontal finger under its weight from rest in a given shape.

    Args:
        finger: A planar finger with all of its damping.
        start: Joint angles, (n,) [rad].
        backend: Name of the engine.
        timestep: Time step of the physics [s].
        sample_period: Time between two samples [s], a multiple of the time step.
        samples: Number of samples, the start included.

    Raises:
        BackendUnavailable: The engine is unknown or not installed.
        BuildError: The engine cannot express the finger at this time step.
        SimulationError: The motion diverges.
    """
    if backend == MUJOCO:
        every = round(sample_period / timestep)
        duration = (samples - 1) * every * timestep
        motion = move_finger(
            finger, duration, start_angles=start, timestep=timestep, integrator=INTEGRATOR
        )
        angles = motion.joint_angles[::every]
        engine = EngineRecord(MUJOCO, mujoco.__version__, INTEGRATOR, timestep)
    else:
        angles, engine = _simulate(finger, start, backend, timestep, sample_period, samples)
    time = np.arange(samples, dtype=float) * sample_period
    return FreeMotion(time, angles, PlanarChain.of(finger).tip(angles), engine)


def rest_shape(finger: SoftFinger, rate: float, backend: str, *, timestep: float) -> FreeMotion:
    """Compute the rest shape of a finger by a damped motion from its straight shape.

    Dampers in proportion to the springs, 2·k/ω, damp the slowest mode critically; every faster mode
    decays at half that rate at least. The rest shape depends neither on them nor on the time step.

    Args:
        finger: A planar finger; its dampers are replaced.
        rate: Angular frequency ω of its slowest mode [rad/s].
        backend: Name of the engine.
        timestep: Time step of the physics [s].

    Returns:
        The motion, one sample per time step; the last one is the rest shape.

    Raises:
        BackendUnavailable: The engine is unknown or not installed.
        SimulationError: The motion diverges.
    """
    damped = [joint.replace(damping=2.0 * joint.stiffness / rate) for joint in finger.joints]
    samples = max(round(DECAYS / (rate * timestep)), 2)
    return free_motion(
        finger.replace(joints=tuple(damped)),
        np.zeros(len(damped)),
        backend,
        timestep=timestep,
        sample_period=timestep,
        samples=samples,
    )


def _simulate(
    finger: SoftFinger,
    start: Array,
    backend: str,
    timestep: float,
    sample_period: float,
    samples: int,
) -> tuple[Array, EngineRecord]:
    engine = engine_named(backend)
    if not isinstance(engine, ReleaseEngine):
        raise BackendUnavailable(
            f"backend '{backend}' has no releases of fingers; expected mujoco, ode or webots"
        )
    angles = engine.release(finger, start, timestep, sample_period, samples)
    if angles.shape != (samples, len(finger.joints)):
        raise SimulationError(
            f"{backend}: expected {samples} samples of {len(finger.joints)} joints, found an array "
            f"of shape {angles.shape}"
        )
    return angles, EngineRecord(backend, engine.version(), "dWorldStep of ODE", timestep)


@dataclass(frozen=True)
class FingerMotion:
    """Motion of a finger in its base frame; T times.

    Args:
        finger: The finger.
        time: Times, (T,) [s].
        joint_angles: Positive towards −z, (T, n) [rad]; of a spatial finger, or one that twists or
            stretches [m], a column for each of ``finger.freedoms``.
        timestep: Time step of the physics [s].
        integrator: Name of the integrator.
    """

    finger: SoftFinger
    time: Array
    joint_angles: Array
    timestep: float
    integrator: str

    @cached_property
    def tip_position(self) -> Array:
        """Positions of the tip, (T, 3) [m]."""
        return joint_positions(self.finger, self.joint_angles)[:, -1]


def move_finger(
    finger: SoftFinger,
    duration: float,
    *,
    start_angles: ArrayLike = 0.0,
    pressure: ArrayLike = 0.0,
    tension: ArrayLike = 0.0,
    joint_moments: ArrayLike = 0.0,
    tip_mass: float = 0.0,
    gravity: bool = True,
    timestep: float | None = None,
    integrator: str = "implicitfast",
) -> FingerMotion:
    """Simulate a finger from rest in a given shape.

    Args:
        finger: The finger.
        duration: Duration [s].
        start_angles: Initial joint angles [rad]; one for all, or one each.
        pressure: Pressure [Pa]; one number, or one per time step.
        tension: Tension of the tendon along the finger [N]; one number, or one per time step.
        joint_moments: Motor moments in the joints [N·m]; one for all, (n,), or (steps, n).
        tip_mass: Mass of a small body at the tip [kg].
        gravity: Whether gravity acts.
        timestep: Time step of the physics [s]; 0.7 of the largest stable one by default, and at
            most a millisecond.
        integrator: ``implicitfast``, ``discrete``, ``implicit``, ``euler`` or ``rk4``.

    Raises:
        DescriptionError: A number is out of range, or there is no such integrator.
        SimulationError: The motion diverges; names the joint and the time step to use.
    """
    if integrator not in INTEGRATORS:
        hint = did_you_mean(integrator, INTEGRATORS)
        raise DescriptionError(f"no integrator '{integrator}'; {hint}", field="integrator")
    for field, value in {"duration": duration, "timestep": timestep}.items():
        if value is not None and not 0.0 < value < np.inf:
            raise DescriptionError(f"expected a number above 0, found {value}", field=field)
    if not 0.0 <= tip_mass < np.inf:
        raise DescriptionError(f"expected a number at least 0, found {tip_mass}", field="tip_mass")
    bends = np.asarray(start_angles, dtype=float)
    if not (np.abs(bends) < FULL_ROTATION).all():
        raise DescriptionError(
            f"expected angles of less than a full turn, found {bends}", field="start_angles"
        )
    model = _model(finger, tip_mass)
    step = timestep or _default_step(model, integrator, finger.name)
    model.opt.timestep, model.opt.integrator = step, INTEGRATORS[integrator]
    model.opt.gravity[:] = STANDARD_GRAVITY if gravity else (0.0, 0.0, 0.0)
    steps = max(round(duration / step), 1)
    forces = actuation_forces(
        finger, pressure=pressure, tension=tension, joint_moments=joint_moments, steps=steps
    )
    angles = _record(model, start_angles, forces)
    _refuse_diverged(finger, angles, step, integrator, model)
    time = np.arange(steps + 1, dtype=float) * step
    return FingerMotion(finger, time, angles, step, integrator)


def _model(finger: SoftFinger, tip_mass: float) -> mujoco.MjModel:
    spec = finger_spec(finger)
    if tip_mass > 0.0:
        last = spec.body(f"link{len(finger.joints)}")
        weight = last.add_body(name="weight", pos=spec.site(TIP).pos)
        set_inertia(weight, tip_mass, np.eye(3) * tip_mass * 1e-6, (0.0, 0.0, 0.0))
    for name in finger_joint_names(finger):
        motor = spec.add_actuator(name=name, target=name, trntype=mujoco.mjtTrn.mjTRN_JOINT)
        motor.set_to_motor()
    return compiled(spec, finger.name)


def _record(model: mujoco.MjModel, start: ArrayLike, controls: Array) -> Array:
    """Record joint positions from the start on, (steps + 1, nq)."""
    data = mujoco.MjData(model)
    try:
        data.qpos[:] = start
    except ValueError:
        raise DescriptionError(
            f"expected one angle or {model.nq}, found shape {np.shape(start)}", field="start_angles"
        ) from None
    log = np.empty((len(controls) + 1, model.nq))
    log[0] = data.qpos
    with caught_warnings():
        first = np.zeros(mujoco.mj_stateSize(model, _STATE))
        mujoco.mj_getState(model, data, first, _STATE)
        states, _ = rollout.rollout(model, data, first[None], controls[None])
        log[1:] = states[0, :, 1 : 1 + model.nq]  # the time comes first
    return log


def _refuse_diverged(
    finger: SoftFinger, angles: Array, step: float, integrator: str, model: mujoco.MjModel
) -> None:
    with np.errstate(invalid="ignore"):
        wild = ~(np.abs(angles) < FULL_ROTATION)
    if not wild.any():
        return
    row = int(wild.any(axis=1).argmax())
    joint = model.joint(int(wild[row].argmax())).name
    longest = SAFE_FRACTION * stable_step_of(model, integrator)
    advice = f"use at most {longest:.2g} s"
    if step <= longest * (1.0 + 1e-9):
        advice = (
            "the step is short enough for the free finger, so its actuation or load is too large"
        )
    raise DivergedError(
        f"finger '{finger.name}': expected a motion that stays finite, found joint '{joint}' "
        f"diverging at {row * step:.4g} s with a timestep of {step:g} s ({integrator}); {advice}"
    )


def _default_step(model: mujoco.MjModel, integrator: str, name: str) -> float:
    longest = stable_step_of(model, integrator)
    if longest == 0.0:
        raise DescriptionError(
            f"finger '{name}': expected springs and masses that the integrator '{integrator}' "
            f"bears at a step of {SMALLEST:g} s, found none stable: its joints are too stiff for "
            "its masses; use integrator='discrete', fewer joints or a longer finger",
            field="timestep",
        )
    return min(SAFE_FRACTION * longest, LONGEST_STEP)


def stable_timestep(model: mujoco.MjModel | SoftFinger) -> dict[str, float]:
    """Compute the largest stable time step of each integrator [s].

    MuJoCo's step is linearised around the first keyframe, or around the straight state, with
    contacts as they are there; it is stable where no eigenvalue lies outside the unit circle.
    Larger deflections can need smaller steps.

    Args:
        model: A compiled model, or a soft finger.

    Returns:
        Seconds by the name of the integrator: at most 0.01, the largest step that is tried; 0
        where even the smallest, a microsecond, is unstable.
    """
    finger_or_model = finger_model(model) if isinstance(model, SoftFinger) else model
    return {name: stable_step_of(finger_or_model, name) for name in INTEGRATORS}


def stable_step_of(model: mujoco.MjModel, integrator: str) -> float:
    """Compute the largest stable time step of one integrator [s]; see ``stable_timestep``."""
    step = _LinearStep(model, integrator)
    stable, failing = 0.0, SMALLEST
    while failing <= LARGEST and step.is_stable(failing):
        stable, failing = failing, failing * LADDER
    if failing > LARGEST:
        if step.is_stable(LARGEST):
            return LARGEST
        failing = LARGEST
    if stable == 0.0:
        return 0.0
    while failing > stable * (1.0 + PRECISION):
        middle = 0.5 * (stable + failing)
        stable, failing = (middle, failing) if step.is_stable(middle) else (stable, middle)
    return stable


def is_stable(model: mujoco.MjModel, integrator: str, timestep: float) -> bool:
    """Whether a time step [s] of an integrator is stable; see ``stable_timestep``."""
    return _LinearStep(model, integrator).is_stable(timestep)


class _LinearStep:
    """A step of an integrator, linearised at rest.

    Without contacts the explicit and implicit integrators follow from mass matrix and slopes of the
    accelerations, which are computed once; otherwise MuJoCo's step is differentiated.
    """

    def __init__(self, model: mujoco.MjModel, integrator: str) -> None:
        self._model, self._integrator = copy.copy(model), integrator
        self._model.opt.integrator = INTEGRATORS[integrator]
        self._data = mujoco.MjData(self._model)
        self._reset()
        mujoco.mj_forward(self._model, self._data)
        self._rates: Array | None = None
        if integrator != "discrete" and (self._data.nefc == 0 or integrator == "rk4"):
            self._inertia = np.zeros((model.nv, model.nv))
            mujoco.mj_fullM(self._model, self._data, self._inertia)
            self._rates = self._accelerations()

    def is_stable(self, timestep: float) -> bool:
        """Whether no eigenvalue of the step lies outside the unit circle."""
        self._model.opt.timestep = timestep
        with caught_warnings():  # a diverging step is a result here
            matrix = self._transition(timestep)
        if not np.isfinite(matrix).all():
            return False
        return float(np.abs(np.linalg.eigvals(matrix)).max()) <= 1.0 + ROUNDING

    def _transition(self, timestep: float) -> Array:
        """Differentiate one time step, (2 nv, 2 nv)."""
        count, identity = self._model.nv, np.eye(self._model.nv)
        if self._rates is None:
            self._reset()
            matrix = np.zeros((2 * count, 2 * count))
            mujoco.mjd_transitionFD(self._model, self._data, NUDGE, True, matrix, None, None, None)
            return matrix
        if self._integrator == "rk4":
            growth = timestep * np.block([[0.0 * identity, identity], [self._rates]])
            matrix = np.eye(2 * count) + growth / 4.0
            for factor in (3.0, 2.0, 1.0):  # the other stages, innermost first
                matrix = np.eye(2 * count) + growth @ matrix / factor
            return np.asarray(matrix)
        # damping at the end of the step: (M - h D) dv = h M a
        damping = -np.diag(self._model.dof_damping)
        if self._integrator != "euler":
            damping = self._inertia @ self._rates[:, count:]
        change = np.linalg.solve(
            self._inertia - timestep * damping, timestep * self._inertia @ self._rates
        )
        change[:, count:] += identity
        return np.vstack([np.hstack([identity, 0.0 * identity]) + timestep * change, change])

    def _reset(self) -> None:
        if self._model.nkey:
            mujoco.mj_resetDataKeyframe(self._model, self._data, 0)
        else:
            mujoco.mj_resetData(self._model, self._data)
        self._data.qvel[:] = 0.0

    def _accelerations(self) -> Array:
        """Differentiate accelerations by positions and velocities, central, (nv, 2 nv)."""
        model, data, count = self._model, self._data, self._model.nv
        base, columns = data.qpos.copy(), []
        for index in range(2 * count):
            ends = []
            for change in (NUDGE, -NUDGE):
                nudge = np.zeros(count)
                nudge[index % count] = change
                data.qpos[:], data.qvel[:] = base, 0.0
                if index < count:
                    mujoco.mj_integratePos(model, data.qpos, nudge, 1.0)
                else:
                    data.qvel[:] = nudge
                mujoco.mj_forward(model, data)
                ends.append(data.qacc.copy())
            columns.append((ends[0] - ends[1]) / (2.0 * NUDGE))
        return np.stack(columns, axis=1)
