"""Resolve a scene: carried pose, closure, grasp, time step and start, in this order.

Each step returns the scene with its values and their origins; a value that the scene states is kept
by all of them. Only the grasp needs simulations (``object_grasp``), whose results are kept on disk.

With position increments a target stops where contact is detected, so a servo presses with its
stiffness times the lead of its target. Where that does not bear the object, the closure has to
continue through contact until a force is reached.
"""

from __future__ import annotations

import math
import warnings
from os import PathLike

from softgrasp.description.closure import AnyClosure, DefaultClosure, ForceLimitedClosure
from softgrasp.description.resolved import Origin, ResolvedScene
from softgrasp.description.scene import STANDARD_GRAVITY, GraspScene
from softgrasp.errors import SoftgraspWarning
from softgrasp.io.scene import as_scene
from softgrasp.model.arm import with_carried_pose
from softgrasp.model.object import object_mass, with_default_grasp
from softgrasp.model.timestep import resolve_timestep
from softgrasp.resolution.start import with_clear_start

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


Origins = dict[str, Origin]


def resolve(scene: GraspScene | ResolvedScene | str | PathLike[str]) -> ResolvedScene:
    """Make every value of a scene concrete; a resolved scene is returned as it is.

    Equal scenes have equal values in every verb, environment and process.

    Args:
        scene: The scene, with what was stated only, its library name or its file.

    Raises:
        BuildError: The scene cannot start: bodies overlap, or no time step fits the contact.
        DescriptionError: The arm cannot reach the start, or a file cannot be read.

    Warns:
        SoftgraspWarning: A computed value that the user should know of.
    """
    scene = as_scene(scene)
    if isinstance(scene, ResolvedScene):
        return scene
    caught: list[warnings.WarningMessage] = []
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            resolved = _resolve(scene)
    finally:
        for warning in caught:
            warnings.warn(warning.message, stacklevel=2)
    messages = dict.fromkeys(str(warning.message) for warning in caught)
    return ResolvedScene(
        scene, resolved.scene, resolved.timestep, resolved.origins, tuple(messages)
    )


def _resolve(described: GraspScene) -> ResolvedScene:
    origins: Origins = {}
    kind = with_default_grasp(described)
    if kind.grasp == "precision" and "grasp" not in described.model_fields_set:
        reason = "the object is within the payload of the precision grasp"
        origins["grasp"] = Origin("computed", reason)
    scene = with_carried_pose(kind)
    if scene is not kind:
        origins["hand_pose"] = Origin("computed", f"at rest on the {scene.arm.kind} carrier")  # type: ignore[union-attr]
    scene = with_sufficient_closure(scene, origins)
    if scene.preset.per_object and scene.hand.soft_fingers and not scene.hand.fingers:
        from softgrasp.resolution.soft_grasp import with_soft_grasp

        scene = with_soft_grasp(scene, origins)
    elif scene.preset.per_object or scene.adapts_grasp:
        from softgrasp.resolution.object_grasp import with_object_grasp  # loads meshes

        scene = with_object_grasp(scene, origins)
    timestep = resolve_timestep(scene)
    if scene.timestep is None:
        origins["timestep"] = Origin("computed", "the longest that contacts and springs allow")
    scene = with_clear_start(scene, timestep, origins)
    return ResolvedScene(described, scene, timestep, origins)
