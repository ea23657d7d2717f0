"""Time step of a scene: largest step for contact, control period, soft fingers and springs.

A contact of stiffness K and damping D needs dt ≤ D/(2K); semi-implicit joint springs need dt ≤ 2/ω
of their fastest mode.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Sequence

import mujoco
import numpy as np
from scipy.linalg import eigh

from softgrasp.description.arm import HandCarrier
from softgrasp.description.contact import Contact
from softgrasp.description.resolved import ResolvedScene
from softgrasp.description.scene import GraspScene
from softgrasp.errors import BuildError, SoftgraspWarning
from softgrasp.mechanics.transforms import Array
from softgrasp.model.hand_carrier import carrier_model
from softgrasp.model.object import object_mass

STEPS = (1e-3, 5e-4, 2e-4, 1e-4, 5e-5, 2e-5, 1e-5, 5e-6, 2e-6, 1e-6)
"""Time steps that are chosen from, in descending order [s]."""
ROUNDING = 1e-9
"""Relative tolerance of a limit."""
SOFT_STEP = 5e-4
"""Largest step that is chosen for soft fingers [s]: with 1 ms some grasps of the finger
``paper000``, which without contact is stable up to 1.4 ms, diverge."""
FINEST_STEP, FINE_STEP = 1e-5, 1e-4
"""Shortest and longest time step while contacts begin and end, where none is specified [s]."""
RESOLVED = 0.15
"""Time step over 1/(A·D), with A the inverse mass of a pair, up to which the depth and the force of
an impact are within 15 % of those at a shorter step (decision 0004) [–]."""
RESTING = 0.6
"""Largest h·√(K/m) of an object of mass m on surroundings [–]: with a longer step it rocks on its
edges and slides below the friction limit (boxes of 5 g to 1 kg at 99 % of it; docs/contact.md)."""
LONGEST, PRECISE = 1.0, 1e-3
"""Largest step of the search [s], and relative precision of a limit with damping."""

# Contact and control period


def resolve_timestep(scene: GraspScene) -> float:
    """Return the time step of a scene [s]: specified, or the largest admissible one.

    Raises:
        BuildError: It is too large for the contact, or the control period is not a multiple of it.
    """
    limit = _limit(_strictest(scene.requested_contacts))
    if scene.timestep is None:
        return _choose(scene, limit)
    _check_carrier(scene)
    # MuJoCo changes a native contact by itself; ``resolve_contact`` warns
    converted = [contact for contact in scene.requested_contacts if contact.converted]
    if converted and not scene.allow_softer_contact:
        strictest = _strictest(converted)
        if scene.timestep > _limit(strictest):
            raise BuildError(_too_large(strictest, scene.timestep))
    if not _divides(scene.timestep, scene.control_period):
        fitting = [step for step in STEPS if step <= limit and _divides(step, scene.control_period)]
        remedy = f"use {fitting[0]:g} s, or another" if fitting else "use another"
        raise BuildError(
            f"timestep: expected a whole number of time steps in the control period of "
            f"{scene.control_period:g} s, found {scene.timestep:g} s; {remedy} control_period"
        )
    return scene.timestep


def as_resolved(scene: GraspScene) -> ResolvedScene:
    """Return a scene whose values are concrete already, such as that of a result, as resolved."""
    return ResolvedScene(scene, scene, resolve_timestep(scene))


def fine_timesteps(scene: GraspScene, timestep: float, mobility: float) -> tuple[float, ...]:
    """Return the time steps after a contact has begun or ended, in ascending order [s].

    By default the first resolves impacts on the object, within limits, and the second is
    ``FINE_STEP``. There are none where the scene specifies a time step and no refinement, with soft
    fingers, deformable objects and compliant carriers, whose own springs determine the step, and
    with native contacts.

    Args:
        scene: The scene.
        timestep: Its time step [s].
        mobility: Largest inverse mass of a pair of hand and object [1/kg].
    """
    resolving = resolving_step(mobility, scene.requested_contact.damping)
    return fine_steps_of(scene, timestep, resolving)


def resolving_step(mobility: float, damping: float) -> float:
    """Return the time step that resolves an impact, within limits [s].

    Args:
        mobility: Inverse mass of the pair [1/kg].
        damping: D [N·s/m].
    """
    return min(max(RESOLVED / (mobility * damping), FINEST_STEP), FINE_STEP)


def fine_steps_of(scene: GraspScene, timestep: float, resolving: float) -> tuple[float, ...]:
    """Return ``fine_timesteps`` from the step that resolves impacts [s]."""
    special = scene.object.elasticity is not None or isinstance(scene.arm, HandCarrier)
    special |= any(not contact.converted for contact in scene.requested_contacts)
    count = scene.solver.refinement
    if special or scene.hand.soft_fingers or (count is None and scene.timestep is not None):
        return ()
    if count is not None:
        return (timestep / count,) if count > 1 else ()
    chosen = (
        next((s for s in STEPS if s <= limit * (1 + ROUNDING) and _divides(s, timestep)), timestep)
        for limit in (resolving, FINE_STEP)
    )
    return tuple(sorted({step for step in chosen if step < timestep}))


def fitting_steps(scene: GraspScene, limits: Array) -> Array:
    """Return the largest of ``STEPS`` that a scene allows below limits of its contact, (n,) [s].

    It is NaN where there is none.
    """
    longest = math.inf
    if scene.hand.soft_fingers:
        longest = SOFT_STEP
    if isinstance(scene.arm, HandCarrier):
        longest = min(longest, carrier_model(scene.arm).max_timestep())
    longest = min(longest, *_resting_limits(scene))
    steps = np.array([s for s in STEPS[::-1] if _divides(s, scene.control_period)])
    index = np.searchsorted(steps, np.minimum(limits, longest), side="right")
    return np.asarray(np.concatenate([[np.nan], steps])[index])


def _choose(scene: GraspScene, limit: float) -> float:
    """Choose the largest of ``STEPS`` that the scene allows."""
    step = float(fitting_steps(scene, np.array([limit]))[0])
    if not math.isnan(step):
        return step
    contact = _strictest(scene.requested_contacts)
    if not contact.converted:
        raise BuildError(
            f"contact.native.timeconst: no time step from {STEPS[-1]:g} to {STEPS[0]:g} s is at "
            f"most half of {contact.native.timeconst:g} s and divides the control period of "
            f"{scene.control_period:g} s; expected a longer one, or a timestep"
        )
    raise BuildError(
        f"contact: no time step from {STEPS[-1]:g} to {STEPS[0]:g} s is small enough for "
        f"{contact.stiffness:g} N/m with {contact.damping:g} N·s/m and divides the control "
        f"period of {scene.control_period:g} s; expected damping of at least "
        f"{2 * STEPS[-1] * contact.stiffness:g} N·s/m, or a timestep with allow_softer_contact"
    )


def _resting_limits(scene: GraspScene) -> Iterator[float]:
    """Yield the largest steps with which objects rest on surroundings [s]."""
    yield math.inf
    if scene.object.elasticity is not None or not scene.surroundings:
        return
    objects = (scene.object, *(placed.object for placed in scene.objects))
    for index, described in enumerate(objects):
        for part in (scene.contact_of(index, around) for around in (None, *scene.surroundings)):
            if part.converted:
                yield RESTING * math.sqrt(object_mass(described) / part.stiffness)


def _check_carrier(scene: GraspScene) -> None:
    """Reject a time step at which the springs of a compliant carrier are unstable."""
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
    """Format the message about a time step that is too large for a contact."""
    fitting = [s for s in STEPS if s <= _limit(contact)]
    remedy = f"use {fitting[0]:g} s" if fitting else "use a contact with more damping"
    return (
        f"timestep: expected at most D/(2K) = {contact.largest_timestep:g} s for a contact of "
        f"{contact.stiffness:g} N/m with {contact.damping:g} N·s/m, found {timestep:g} s; "
        f"{remedy}, or allow a softer contact (allow_softer_contact, --allow-softer-contact)"
    )


def resolve_contact(contact: Contact, timestep: float) -> Contact:
    """Return the contact that a time step allows: as described, or with K lowered to D/(2·dt)."""
    if timestep <= _limit(contact):
        return contact
    if not contact.converted:
        warnings.warn(
            f"contact.native.timeconst: {contact.native.timeconst:g} s is shorter than two time "
            f"steps of {timestep:g} s; MuJoCo raises it to {2 * timestep:g} s",
            SoftgraspWarning,
            stacklevel=2,
        )
        return contact
    softer = contact.damping / (2 * timestep)
    warnings.warn(
        f"timestep: {timestep:g} s is too large for a contact of {contact.stiffness:g} N/m with "
        f"{contact.damping:g} N·s/m; the stiffness is lowered to {softer:g} N/m",
        SoftgraspWarning,
        stacklevel=2,
    )
    return contact.replace(stiffness=softer)


def _strictest(contacts: Sequence[Contact]) -> Contact:
    """Return the contact that requires the smallest time step."""
    return min(contacts, key=lambda contact: contact.largest_timestep)


def _limit(contact: Contact) -> float:
    """Return the largest time step of a contact [s], with a tolerance for rounding."""
    return contact.largest_timestep * (1 + ROUNDING)


def _divides(step: float, period: float) -> bool:
    """Return whether a period is a whole number of steps."""
    ratio = period / step
    return ratio > 1 - ROUNDING and abs(ratio - round(ratio)) < 1e-6


# Joint springs


def spring_limit(model: mujoco.MjModel) -> float:
    """Compute 2/ω of the fastest mode of the joint springs at the reference configuration [s].

    Semi-implicit integrators (``euler``, ``implicitfast``) are stable below it without damping, and
    above it with implicit damping. Much faster than ``stable_timestep``. Infinite without springs.
    """
    inertia, stiffness = _joint_springs(model)
    fastest = float(eigh(np.diag(stiffness), inertia, eigvals_only=True)[-1])
    return 2.0 / math.sqrt(fastest) if fastest > 0.0 else math.inf


def damped_spring_limit(model: mujoco.MjModel, explicit: Array | None = None) -> float:
    """Compute the largest stable step of joint springs and dampers at the reference state [s].

    A step h of an integrator with implicit damping D (``implicitfast``) is stable where
    4 M + 2 h (D − C) − h² K is positive definite. At most 1 s.

    Args:
        model: The model.
        explicit: C, damping that is applied as a force, (nv, nv) [N·m·s/rad].
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
    """Compute a step at which all modes are stable, whatever damping is implicit [s].

    A mode ω with the rate λ of explicit damping is stable where ω² h² + 2 λ h < 4, which is solved
    for the largest ω and λ.
    """
    fastest = math.sqrt(max(float(eigh(np.diag(stiffness), inertia, eigvals_only=True)[-1]), 0.0))
    drag = np.zeros_like(inertia) if explicit is None else explicit
    rate = max(float(eigh(drag, inertia, eigvals_only=True)[-1]), 0.0)
    slowest = rate + math.hypot(rate, 2.0 * fastest)
    return min(4.0 / slowest, LONGEST) if slowest > 0.0 else LONGEST


def _joint_springs(model: mujoco.MjModel) -> tuple[Array, Array]:
    """Compute the mass matrix (nv, nv) and the stiffness of the joints (nv,) at the reference."""
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    inertia, stiffness = np.zeros((model.nv, model.nv)), np.zeros(model.nv)
    mujoco.mj_fullM(model, data, inertia)
    stiffness[model.jnt_dofadr] = model.jnt_stiffness
    return inertia, stiffness
