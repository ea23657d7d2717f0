"""Choice of the closure for servos that press too little where they stop at contact.

With position increments a target stops where contact is detected, so a servo presses with its
stiffness times the lead of its target. Where that does not bear the object, the closure has to
continue through contact until a force is reached.
"""

from __future__ import annotations

import math
import warnings

from softgrasp.description.closure import AnyClosure, DefaultClosure, ForceLimitedClosure
from softgrasp.description.resolved import Origin
from softgrasp.description.scene import STANDARD_GRAVITY, GraspScene
from softgrasp.errors import SoftgraspWarning
from softgrasp.model.object import object_mass

SAFETY = 2.0
"""Friction that is required over the weight of the object [–]."""
MIN_FORCE = 1.0
"""Smallest force of the chosen closure [N]."""
CHOSEN_FIELDS = ("closure.type", "closure.force", "closure.contact_rate_fraction")
"""Values that the choice of a force-limited closure computes."""
PRESSING_TIME = 1.0
"""Time in which the chosen closure reaches its force after contact [s]."""


def force_at_contact(scene: GraspScene) -> float | None:
    """Estimate the sum of the forces of all actuators that stop at contact [N].

    Args:
        scene: Scene with a hand that has its own MuJoCo model.

    Returns:
        The sum; None where the stiffness of a closing servo is not known.
    """
    model, closure = scene.hand.model, scene.closure
    if model is None:
        return None
    rates = scene.preset.rates.for_fingers(scene.hand.actuator_counts)
    delay = closure.samples * scene.control_period
    forces = []
    for actuator, rate in zip(model.actuators, rates, strict=True):
        if not rate:
            continue
        if actuator.press is None:
            return None
        per_lead, per_rate = actuator.press
        # an actuator of several joints presses with each of them
        forces.append(len(actuator.moves) * abs(rate) * (per_lead * delay + per_rate))
    return math.fsum(forces)


def with_sufficient_closure(scene: GraspScene, origins: dict[str, Origin]) -> GraspScene:
    """Choose the closure of a scene that states no type of it by the payload of its servos.

    Args:
        scene: The scene; unchanged if it states its closure.
        origins: Where the origins of computed values are added.

    Warns:
        SoftgraspWarning: The closure is force-limited.
    """
    if scene.specifies_closure:
        return scene
    closure, message = closure_for_payload(scene)
    if message:
        warnings.warn(message, SoftgraspWarning, stacklevel=2)
        origin = Origin("computed", "the servos press too little where they stop at contact")
        origins |= dict.fromkeys(CHOSEN_FIELDS, origin)
    return scene.choose(closure=closure.concrete)


def closure_for_payload(scene: GraspScene) -> tuple[AnyClosure, str]:
    """Choose the force-limited closure where position increments would not bear the object.

    Args:
        scene: Scene that closes by position increments, with defaults.

    Returns:
        The closure, and a message about it; that of the scene and "" where it is kept.
    """
    available, closure = force_at_contact(scene), scene.closure
    if not isinstance(closure, DefaultClosure):
        return closure, ""
    specified = closure.specified
    if available is None or "grip_force" in specified:  # only position increments have one
        return closure, ""
    friction = min(scene.grip_friction, scene.requested_contact.kinetic_friction)
    weight = -STANDARD_GRAVITY[2] * object_mass(scene.object)
    required = SAFETY * weight / friction if friction > 0.0 else math.inf
    if available >= required or math.isinf(required):
        return closure, ""
    # two fingers at least share it
    force = max(MIN_FORCE, required / 2.0, 2.0 * closure.threshold)
    fraction = _contact_rate_fraction(scene, force)
    return ForceLimitedClosure(force=force, contact_rate_fraction=fraction, **specified), (
        f"the servos of '{scene.hand.name}' press with about {available:.2g} N in all where they "
        f"stop at contact, and the object of {weight:.2g} N needs {required:.2g} N at friction "
        f"{friction:g}: the closure is force-limited ({force:.3g} N); a specified closure "
        "(--closure position-increment) is kept"
    )


def _contact_rate_fraction(scene: GraspScene, force: float) -> float:
    """Return the fraction of the rates at which all servos reach a force [N] in time after contact.

    The force of a servo grows with the lead of its target, so that weak servos need a faster one.
    """
    default = float(ForceLimitedClosure.model_fields["contact_rate_fraction"].default)
    assert scene.hand.model is not None
    rates = scene.preset.rates.for_fingers(scene.hand.actuator_counts)
    growths = [
        abs(rate) * actuator.press[0]
        for actuator, rate in zip(scene.hand.model.actuators, rates, strict=True)
        if rate and actuator.press is not None
    ]
    slowest = min((growth for growth in growths if growth > 0.0), default=math.inf)
    return min(1.0, max(default, force / (PRESSING_TIME * slowest)))
