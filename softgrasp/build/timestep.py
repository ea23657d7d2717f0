"""The time step that a contact needs, and what a given one can honour."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

from softgrasp.build.carrier_model import carrier_model
from softgrasp.description.arm import HandCarrier
from softgrasp.description.contact import Contact
from softgrasp.description.scene import GraspScene
from softgrasp.errors import BuildError, SoftgraspWarning

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
