"""The motion of a soft finger alone: released, loaded or put under pressure."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import mujoco
import numpy as np
from mujoco import rollout
from numpy.typing import ArrayLike

from softgrasp.continuum.statics import joint_positions
from softgrasp.description.scene import STANDARD_GRAVITY
from softgrasp.description.soft_finger import SoftFinger
from softgrasp.errors import DescriptionError, DivergedError, did_you_mean
from softgrasp.mechanics.actuation import actuation_forces
from softgrasp.mechanics.transforms import Array
from softgrasp.model.compile import compiled
from softgrasp.model.names import finger_joint_names
from softgrasp.model.shapes import set_inertia
from softgrasp.model.soft_finger import TIP, finger_spec
from softgrasp.simulation.engine_warnings import caught_warnings
from softgrasp.simulation.native import native_pays
from softgrasp.simulation.stability import INTEGRATORS, stable_step_of

SAFE_FRACTION, LONGEST_STEP = 0.7, 1e-3
"""A step that is not given is this share of the largest stable one, and at most this long [s]."""
FULL_ROTATION = 2.0 * np.pi
"""A joint that has turned by more has diverged [rad]."""
_STATE = mujoco.mjtState.mjSTATE_FULLPHYSICS


@dataclass(frozen=True)
class FingerMotion:
    """A finger on its way, in its base frame; T instants.

    Args:
        finger: The finger.
        time: [s], shape (T,).
        joint_angles: Positive towards −z [rad], (T, n); of a spatial finger, or one that twists or
            stretches [m], a column for each of ``finger.freedoms``.
        timestep: Of the physics [s].
        integrator: Its name.
    """

    finger: SoftFinger
    time: Array
    joint_angles: Array
    timestep: float
    integrator: str

    @cached_property
    def tip_position(self) -> Array:
        """[m], (T, 3)."""
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
    """Let a finger move from rest in some shape.

    Args:
        finger: The finger.
        duration: [s]
        start_angles: Joint angles from which it is released [rad]; one for all, or one each.
        pressure: [Pa]; one number, or one a time step.
        tension: Of the tendon along the finger [N]; one number, or one a time step.
        joint_moments: Of motors in the joints [N·m]; one for all, (n,), or (steps, n).
        tip_mass: A small body at the tip [kg].
        gravity: Whether it weighs.
        timestep: Of the physics [s]; seven tenths of the largest stable one where not given, and
            at most a millisecond.
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
    step = timestep or min(SAFE_FRACTION * stable_step_of(model, integrator), LONGEST_STEP)
    model.opt.timestep, model.opt.integrator = step, INTEGRATORS[integrator]
    model.opt.gravity[:] = STANDARD_GRAVITY if gravity else (0.0, 0.0, 0.0)
    steps = max(round(duration / step), 1)
    forces = actuation_forces(
        finger, pressure=pressure, tension=tension, joint_moments=joint_moments, steps=steps
    )
    angles = _recorded(model, start_angles, forces)
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


def _recorded(model: mujoco.MjModel, start: ArrayLike, controls: Array) -> Array:
    """Positions from the start on, (steps + 1, nq)."""
    data = mujoco.MjData(model)
    try:
        data.qpos[:] = start
    except ValueError:
        raise DescriptionError(
            f"expected one angle or {model.nq}, found shape {np.shape(start)}",
            field="start_angles",
        ) from None
    log = np.empty((len(controls) + 1, model.nq))
    log[0] = data.qpos
    with caught_warnings():
        if native_pays(len(controls)):
            from softgrasp.simulation.native_loop import record_free

            record_free((model._address, data._address), data.qpos, data.ctrl, controls, log[1:])
        else:
            _record_rolled(model, data, controls, log[1:])
    return log


def _record_rolled(model: mujoco.MjModel, data: mujoco.MjData, controls: Array, log: Array) -> None:
    first = np.zeros(mujoco.mj_stateSize(model, _STATE))
    mujoco.mj_getState(model, data, first, _STATE)
    states, _ = rollout.rollout(model, data, first[None], controls[None])
    log[:] = states[0, :, 1 : 1 + model.nq]  # the time comes first


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
        advice = "the step is short enough for the free finger, so its drive or load is too large"
    raise DivergedError(
        f"finger '{finger.name}': expected a motion that stays finite, found joint '{joint}' "
        f"diverging at {row * step:.4g} s with a timestep of {step:g} s ({integrator}); {advice}"
    )
