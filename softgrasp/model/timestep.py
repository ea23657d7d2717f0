"""The time step that a contact needs, and what a given one can honour."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence

import mujoco
import numpy as np
from scipy.linalg import eigh

from softgrasp.description.arm import HandCarrier
from softgrasp.description.contact import Contact
from softgrasp.description.scene import GraspScene
from softgrasp.errors import BuildError, SoftgraspWarning
from softgrasp.mechanics.transforms import Array
from softgrasp.model.hand_carrier import carrier_model

STEPS = (1e-3, 5e-4, 2e-4, 1e-4, 5e-5, 2e-5, 1e-5, 5e-6, 2e-6, 1e-6)
"""Time steps to choose from [s]."""
ROUNDING = 1e-9
SOFT_STEP = 5e-4
"""Longest step that is chosen for soft fingers [s]: with 1 ms some grasps of paper 000's finger,
which alone would be stable up to 1.4 ms, diverge at a contact."""


def resolved_timestep(scene: GraspScene) -> float:
    """The scene's time step [s]: given, or the largest that the contact and the controller allow.

    Raises:
        BuildError: It is too large for the contact, or the control period is no multiple of it.
    """
    limit = _limit(_strictest(scene.requested_contacts))
    if scene.timestep is None:
        return _chosen(scene, limit)
    _check_carrier(scene)
    # a native contact is changed by MuJoCo itself, with a warning of ours
    converted = [contact for contact in scene.requested_contacts if contact.converted]
    if converted and not scene.allow_softer_contact:
        strictest = _strictest(converted)
        if scene.timestep > _limit(strictest):
            raise BuildError(_too_large(strictest, scene.timestep))
    if not _divides(scene.timestep, scene.control_period):
        fitting = [step for step in STEPS if step <= limit and _divides(step, scene.control_period)]
        cure = f"use {fitting[0]:g} s, or another" if fitting else "use another"
        raise BuildError(
            f"timestep: expected a whole number of time steps in the control period of "
            f"{scene.control_period:g} s, found {scene.timestep:g} s; {cure} control_period"
        )
    return scene.timestep


def resolved_contact(contact: Contact, timestep: float) -> Contact:
    """The contact that a time step can honour: as asked, or with K lowered to D/(2·dt)."""
    if timestep <= _limit(contact):
        return contact
    if not contact.converted:
        warnings.warn(
            f"contact.native.timeconst: {contact.native.timeconst:g} s is shorter than two time "
            f"steps of {timestep:g} s; MuJoCo lifts it to {2 * timestep:g} s",
            SoftgraspWarning,
            stacklevel=2,
        )
        return contact
    softer = contact.damping / (2 * timestep)
    warnings.warn(
        f"timestep: {timestep:g} s cannot honour a contact of {contact.stiffness:g} N/m with "
        f"{contact.damping:g} N·s/m; the stiffness is lowered to {softer:g} N/m",
        SoftgraspWarning,
        stacklevel=2,
    )
    return contact.replace(stiffness=softer)


def _chosen(scene: GraspScene, limit: float) -> float:
    if scene.hand.soft_fingers:
        limit = min(limit, SOFT_STEP)
    if isinstance(scene.arm, HandCarrier):
        limit = min(limit, carrier_model(scene.arm).max_timestep())
    for step in STEPS:
        if step <= limit and _divides(step, scene.control_period):
            return step
    contact = _strictest(scene.requested_contacts)
    if not contact.converted:
        raise BuildError(
            f"contact.native.timeconst: no time step from {STEPS[-1]:g} to {STEPS[0]:g} s is at "
            f"most half of {contact.native.timeconst:g} s and divides the control period of "
            f"{scene.control_period:g} s; expected a longer one, or a timestep"
        )
    raise BuildError(
        f"contact: no time step from {STEPS[-1]:g} to {STEPS[0]:g} s honours {contact.stiffness:g} "
        f"N/m with {contact.damping:g} N·s/m and divides the control period of "
        f"{scene.control_period:g} s; expected damping of at least "
        f"{2 * STEPS[-1] * contact.stiffness:g} N·s/m, or a timestep with allow_softer_contact"
    )


def _check_carrier(scene: GraspScene) -> None:
    """Refuse a time step at which the springs of a compliant carrier are unstable."""
    if not isinstance(scene.arm, HandCarrier) or scene.timestep is None:
        return
    model = carrier_model(scene.arm)
    longest = model.max_timestep()
    if scene.timestep > longest:
        raise BuildError(
            f"timestep: expected at most {longest:.3g} s for {model.timestep_reason()}, "
            f"found {scene.timestep:g} s"
        )


def _too_large(contact: Contact, timestep: float) -> str:
    fitting = [s for s in STEPS if s <= _limit(contact)]
    cure = f"use {fitting[0]:g} s" if fitting else "give the contact more damping"
    return (
        f"timestep: expected at most D/(2K) = {contact.largest_timestep:g} s for a contact of "
        f"{contact.stiffness:g} N/m with {contact.damping:g} N·s/m, found {timestep:g} s; {cure}, "
        f"or allow a softer contact (allow_softer_contact, --allow-softer-contact)"
    )


def _strictest(contacts: Sequence[Contact]) -> Contact:
    """The contact that needs the smallest time step."""
    return min(contacts, key=lambda contact: contact.largest_timestep)


def _limit(contact: Contact) -> float:
    """Largest time step of a contact [s], with room for rounding."""
    return contact.largest_timestep * (1 + ROUNDING)


def _divides(step: float, period: float) -> bool:
    ratio = period / step
    return ratio > 1 - ROUNDING and abs(ratio - round(ratio)) < 1e-6


# --------------------
# The largest time step that the springs of a model bear.


LONGEST, PRECISE = 1.0, 1e-3
"""Longest step that is looked at [s], and the relative precision of a limit with damping."""


def spring_limit(model: mujoco.MjModel) -> float:
    """2/ω of the fastest mode of a model's joint springs in its straight state [s].

    Semi-implicit steps (``euler``, ``implicitfast``) are stable below it without damping, and with
    damping that they take implicitly further; found at once where ``stable_timestep`` takes long.
    Infinite without springs.
    """
    inertia, stiffness = _joint_springs(model)
    fastest = float(eigh(np.diag(stiffness), inertia, eigvals_only=True)[-1])
    return 2.0 / math.sqrt(fastest) if fastest > 0.0 else math.inf


def damped_spring_limit(model: mujoco.MjModel, explicit: Array | None = None) -> float:
    """The largest stable step of a model's joint springs and dampers in its straight state [s].

    Of semi-implicit steps that take damping D implicitly (``implicitfast``): a step h is stable
    where 4 M + 2 h (D − C) − h² K is positive definite. 1 s at most.

    Args:
        model: The model.
        explicit: C, damping that is applied as a force [N·m·s/rad], (nv, nv).
    """
    inertia, stiffness = _joint_springs(model)
    damping = np.diag(model.dof_damping)
    damping = damping if explicit is None else damping - explicit

    def stable(step: float) -> bool:
        rest = 4.0 * inertia + 2.0 * step * damping - step**2 * np.diag(stiffness)
        return bool(np.linalg.eigvalsh(rest)[0] > 0.0)

    low, high = _surely_stable(inertia, stiffness, explicit), LONGEST
    if stable(high):
        return high
    while high > low * (1.0 + PRECISE):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if stable(middle) else (low, middle)
    return low


def _surely_stable(inertia: Array, stiffness: Array, explicit: Array | None) -> float:
    """A step at which no mode is unstable, whatever damping is taken implicitly [s].

    A mode ω with the rate λ of explicit damping is stable where ω² h² + 2 λ h < 4, taken here with
    the largest of both.
    """
    fastest = math.sqrt(max(float(eigh(np.diag(stiffness), inertia, eigvals_only=True)[-1]), 0.0))
    drag = np.zeros_like(inertia) if explicit is None else explicit
    rate = max(float(eigh(drag, inertia, eigvals_only=True)[-1]), 0.0)
    slowest = rate + math.hypot(rate, 2.0 * fastest)
    return min(4.0 / slowest, LONGEST) if slowest > 0.0 else LONGEST


def _joint_springs(model: mujoco.MjModel) -> tuple[Array, Array]:
    """Mass matrix in the straight state (nv, nv) and stiffness of the joints (nv,)."""
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    inertia, stiffness = np.zeros((model.nv, model.nv)), np.zeros(model.nv)
    mujoco.mj_fullM(model, data, inertia)
    stiffness[model.jnt_dofadr] = model.jnt_stiffness
    return inertia, stiffness
