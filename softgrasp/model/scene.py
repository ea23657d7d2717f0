"""Compilation of a grasp scene to a MuJoCo model with its start state and converted contacts.

``build`` assembles hand and carrier, objects, surroundings and sensors, compiles them once to
measure overlaps and effective masses, then adds contact pairs, key frame and visual elements.
"""

from __future__ import annotations

import math
import warnings
from functools import lru_cache
from typing import Any, NamedTuple

import mujoco
import numpy as np

from softgrasp.description.arm import HandCarrier
from softgrasp.description.contact import Contact
from softgrasp.description.geometry import Pose
from softgrasp.description.hand import Hand
from softgrasp.description.scene import GraspScene
from softgrasp.errors import SoftgraspWarning
from softgrasp.mechanics.hand_kinematics import lowest_point
from softgrasp.mechanics.transforms import Array, transform
from softgrasp.model import names
from softgrasp.model.arm import carried_hand, carrier_start, hand_posture, with_carried_pose
from softgrasp.model.clearance import START_TOLERANCE, clearing_displacement, refuse_overlaps
from softgrasp.model.compile import compiled
from softgrasp.model.contact_pairs import (
    ContactGroup,
    Pair,
    add_pairs,
    model_pairs,
    penetration,
    self_pairs,
    with_objects,
    with_surroundings,
)
from softgrasp.model.contact_sensors import add_contact_sensors, add_force_sensors, contact_slots
from softgrasp.model.deformable import add_deformable, full_size
from softgrasp.model.effective_mass import closing_postures
from softgrasp.model.hand import settle, silence
from softgrasp.model.hand_carrier import carrier_model
from softgrasp.model.object import add_object, density_guess, is_usual, mean_density
from softgrasp.model.placement import (
    PlacedItem,
    add_surroundings,
    lowest_surrounding,
    on_its_table,
    placed_items,
    shows_floor_as_table,
)
from softgrasp.model.soft_finger import damp_as_described, warn_of_damping
from softgrasp.model.timestep import resolved_contact, resolved_timestep
from softgrasp.model.visual import FLOOR_GAP, add_visuals

INTEGRATORS = {
    "discrete": mujoco.mjtIntegrator.mjINT_DISCRETE,
    "implicitfast": mujoco.mjtIntegrator.mjINT_IMPLICITFAST,
    "euler": mujoco.mjtIntegrator.mjINT_EULER,
}


class BuiltScene(NamedTuple):
    """Spec and compiled model of a scene, with further data for its simulation."""

    scene: GraspScene
    """The scene with the object clear of the hand."""
    spec: mujoco.MjSpec
    model: mujoco.MjModel
    bodies: list[str]
    """Bodies of the hand that can touch, the palm first where there is one."""
    contact: Contact
    """Contact of object and hand in the model: as described, or softer where allowed."""
    stiffness: dict[str, float]
    """Stiffness of every pair with a converted contact, by its name in the model [N/m]."""
    switching: dict[str, Contact]
    """Contacts of the pairs whose friction switches with slip, by their names in the model."""
    pair_solref: Array
    """``pair_solref`` of the model as built, which runs correct (``sim.stiffness_feedback``)."""


def compile_model(scene: GraspScene) -> mujoco.MjModel:
    """Compile a scene to an ``mjModel`` with converted contacts; keyframe 0 is the start state.

    Raises:
        BuildError: The object starts inside the hand, or the time step is too large for the
            contact.
    """
    return build(scene).model


def build_spec(scene: GraspScene) -> mujoco.MjSpec:
    """Build the ``MjSpec`` of a scene, to be changed or attached; errors as ``compile_model``."""
    return build(scene).spec


def to_mjcf(scene: GraspScene) -> str:
    """Return a scene as MJCF text; errors as ``compile_model``."""
    return str(build(scene).spec.to_xml())


def build(scene: GraspScene) -> BuiltScene:
    """Assemble, check and compile a scene; errors as ``compile_model``.

    An object without a specified position that would start inside the hand at the grasp centre is
    moved away from the palm, with a warning. Other overlaps are rejected.
    """
    requested = with_carried_pose(scene)
    if scene.preset.per_object:
        from softgrasp.model.object_grasp import fitted  # loads grasp synthesis and meshes

        requested = fitted(requested)
    deformable = scene.object.elasticity is not None
    scene = _at_rigid_start(requested) if deformable else on_its_table(requested)
    timestep = resolved_timestep(scene)
    spec, bodies = _without_contacts(scene, timestep)
    bare = compiled(spec, _label(scene))
    start = _position(bare, scene, start_targets(scene))
    home = _position(bare, scene, home_targets(scene))
    data = _state_at(bare, start)
    if not deformable:
        displacement = clearing_displacement(bare, data, requested)
        if displacement is None and requested.object_position is None and (start != home).any():
            # a default position has to be clear at the home pose of the hand too
            displacement = clearing_displacement(bare, _state_at(bare, home), requested)
        if displacement is not None:
            position = np.array(placed_items(scene)[0].pose.position) + displacement
            return build(requested.replace(object_position=tuple(position.tolist())))
    refuse_overlaps(bare, data, scene)
    _warn_of_units(scene)
    if scene.integrator == "discrete":
        warn_of_damping(scene.hand, timestep)
    spec.add_key(name=names.START, qpos=start.tolist(), ctrl=start_targets(scene))
    stiffness, switching = _add_contacts(spec, bare, data, scene, home)
    if scene.hand.model is not None:
        silence(spec, bodies)
    add_visuals(spec, _floor_height(scene, bare))
    contact = resolved_contact(scene.requested_contact, timestep)
    model = compiled(spec, _label(scene))
    solref = model.pair_solref.copy()
    return BuiltScene(scene, spec, model, bodies, contact, stiffness, switching, solref)


# Parts of a scene


def _without_contacts(scene: GraspScene, timestep: float) -> tuple[mujoco.MjSpec, list[str]]:
    """Assemble hand, objects, surroundings and sensors; also return the touching hand bodies."""
    hand, touching = carried_hand(*_carrier_key(scene))
    spec, bodies = hand.copy(), list(touching)
    _set_options(spec, scene, timestep)
    if scene.integrator == "discrete":
        damp_as_described(spec, scene.hand, timestep)
    placed_objects = placed_items(scene)
    pose = placed_objects[0].pose
    slots = [contact_slots(spec, bodies, _add_rigid(spec, placed)) for placed in placed_objects]
    add_surroundings(spec, scene, pose)
    if scene.object.elasticity is not None:  # after everything that it can touch
        add_deformable(spec, scene.object, pose, scene.requested_contact, scene.solver)
    add_contact_sensors(spec, bodies, slots)
    add_force_sensors(spec, scene)
    return spec, bodies


def _label(scene: GraspScene) -> str:
    """Return hand and object names for messages of the compiler."""
    placed = (scene.object, *(placed.object for placed in scene.objects))
    objects = " and ".join(described.name for described in placed)
    return f"{scene.hand.name} with {objects}"


def _carrier_key(scene: GraspScene) -> tuple[Any, ...]:
    """Return the arguments of ``carried_hand``, which determine the hand and its carrier."""
    hand = (scene.mechanism, scene.hand_pose, scene.actuation)
    base = None
    if isinstance(scene.arm, HandCarrier):
        base = carrier_model(scene.arm).rest(scene).base
    return (*hand, scene.arm, scene.lift, scene.on_wrist, base)


def _add_rigid(spec: mujoco.MjSpec, placed: PlacedItem) -> list[str]:
    """Add an object and return its geoms that can touch; none for a deformable one."""
    if placed.object.elasticity is not None:
        return []
    return add_object(spec, placed.object, placed.pose, placed.mount, placed.body)


def _at_rigid_start(scene: GraspScene) -> GraspScene:
    """Return the scene with a deformable object at the clear position of a rigid one."""
    rigid = build(scene.replace(object=scene.object.replace(elasticity=None))).scene
    return scene.replace(object_position=rigid.object_position, surroundings=rigid.surroundings)


def _add_contacts(
    spec: mujoco.MjSpec,
    bare: mujoco.MjModel,
    data: mujoco.MjData,
    scene: GraspScene,
    home: Array,
) -> tuple[dict[str, float], dict[str, Contact]]:
    """Add all contact pairs; return stiffness and switching contacts by pair."""
    timestep = float(bare.opt.timestep)
    self_pairs = _clear_self_pairs(bare, data, scene) if scene.self_contact else []
    # the order of pairs: hand with object, hand with itself, others
    first, *others = with_objects(scene, bare)
    itself = ContactGroup(self_pairs, scene.requested_contact)
    cache_key = (*_carrier_key(scene), timestep, scene.integrator, scene.hand, scene.closing_motion)
    postures = closing_postures(bare, scene, home)
    stiffness: dict[str, float] = {}
    switching: dict[str, Contact] = {}
    for group in (first, itself, *others, *with_surroundings(scene, bare)):
        contact = resolved_contact(group.requested, timestep)
        sampled_postures = postures if group.by_hand else postures[:1]
        key = cache_key if group is itself else None
        add_pairs(
            spec,
            bare,
            group.pairs,
            sampled_postures,
            contact,
            scene,
            cache_key=key,
        )
        if contact.converted:
            stiffness |= dict.fromkeys((pair.name for pair in group.pairs), contact.stiffness)
        if group.switches and contact.switches_friction:
            switching |= dict.fromkeys((pair.name for pair in group.pairs), contact)
    return stiffness, switching


def _clear_self_pairs(model: mujoco.MjModel, data: mujoco.MjData, scene: GraspScene) -> list[Pair]:
    """Return the self-contact pairs of the hand that do not overlap at the start."""
    if scene.hand.model is not None:
        pairs = model_pairs(model)
    else:
        soft = {digit.name for digit in scene.hand.soft_fingers}
        chains = {b: finger for b, (finger, _) in names.parts(scene.hand).items() if finger in soft}
        pairs = self_pairs(model, chains)
    depths = {pair: penetration(model, data, pair) for pair in pairs}
    overlapping = [pair for pair, depth in depths.items() if depth > START_TOLERANCE]
    if overlapping:
        deepest = max(overlapping, key=lambda pair: depths[pair])
        warnings.warn(
            f"hand '{scene.hand.name}': {len(overlapping)} pairs of its bodies overlap in the "
            f"start posture, the deepest {deepest.first} and {deepest.second} by "
            f"{depths[deepest] * 1e3:.2f} mm; they will not touch each other",
            SoftgraspWarning,
            stacklevel=2,
        )
    return [pair for pair in depths if pair not in overlapping]


def _warn_of_units(scene: GraspScene) -> None:
    """Warn about angles and densities that are probably not in SI units."""
    max_angle = max((abs(angle) for angle in scene.object_euler or ()), default=0.0)
    if max_angle > 2.0 * math.pi:
        warnings.warn(
            f"object_euler: {max_angle:g} rad is more than 2π; is it in degrees? They are "
            f"{math.radians(max_angle):.4g} rad (--euler-deg takes degrees)",
            SoftgraspWarning,
            stacklevel=3,
        )
    for described in (scene.object, *(placed.object for placed in scene.objects)):
        density = mean_density(described)
        if not is_usual(density):
            warnings.warn(
                f"object '{described.name}': a density of {density:.4g} kg/m³ is that of no "
                f"material; {density_guess(described)}",
                SoftgraspWarning,
                stacklevel=3,
            )


def _set_options(spec: mujoco.MjSpec, scene: GraspScene, timestep: float) -> None:
    """Set name, integrator and solver options."""
    spec.modelname = scene.name or f"{scene.hand.name} {scene.object.name}"
    option = spec.option
    option.timestep = timestep
    option.gravity = list(scene.gravity)
    option.integrator = INTEGRATORS[scene.integrator]
    elliptic = scene.solver.cone == "elliptic"
    option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC if elliptic else mujoco.mjtCone.mjCONE_PYRAMIDAL
    option.impratio = scene.solver.impratio
    option.iterations = scene.solver.iterations
    if scene.object.elasticity is None:
        option.jacobian = mujoco.mjtJacobian.mjJAC_DENSE
    # a diverged state must be reported, not replaced by the start state
    option.disableflags |= mujoco.mjtDisableBit.mjDSBL_AUTORESET


# States


def start_targets(scene: GraspScene) -> list[float]:
    """Return the targets of all actuators at the start, in the order of ``scene_actuators``.

    Raises:
        BuildError: The arm cannot reach the start pose.
    """
    return [*scene.start, *carrier_start(scene)]


def home_targets(scene: GraspScene) -> list[float]:
    """Return the targets of all actuators at the home pose, where an approach ends."""
    if isinstance(scene.arm, HandCarrier):
        return [*scene.closing_start, *scene.arm.start]
    if scene.arm is not None:
        return [*scene.closing_start, *(row.start for row in scene.arm.chain.phalanges)]
    return [*scene.closing_start, *(0.0 for _ in names.carrier_joints(scene))]


def _position(bare: mujoco.MjModel, scene: GraspScene, targets: list[float]) -> Array:
    """Compute ``qpos`` with the joints at their targets and objects at the start."""
    position = np.array(bare.qpos0)
    if isinstance(scene.arm, HandCarrier):
        carried = dict(carrier_model(scene.arm).rest(scene).joints)
    else:
        led = targets[len(scene.actuators) :]
        carried = dict(zip(names.carrier_joints(scene), led, strict=True))
    for name, value in (hand_posture(scene, targets) | carried).items():
        position[bare.joint(name).qposadr[0]] = value
    return settle(bare, scene.hand, position)


def _state_at(model: mujoco.MjModel, position: Array) -> mujoco.MjData:
    """Evaluate a model at ``qpos``."""
    data = mujoco.MjData(model)
    data.qpos[:] = position
    mujoco.mj_forward(model, data)
    return data


# Floor


def _floor_height(scene: GraspScene, model: mujoco.MjModel) -> float:
    """Compute the height of the floor: that of a single table, else below everything [m]."""
    if shows_floor_as_table(scene) and scene.table is not None and scene.table.height is not None:
        return scene.table.height
    movers = [not names.is_around(model.body(body).name) for body in model.geom_bodyid]
    reach = float(model.geom_rbound[movers].max(initial=0.0))
    if scene.object.elasticity is not None:  # a deformable object has no geom of its size
        reach = max(reach, 0.5 * float(np.linalg.norm(full_size(scene.object.shape))))
    below = min(placed.pose.position[2] for placed in placed_items(scene)) - reach
    fingers = _lowest_finger(
        scene.hand, scene.hand_pose, scene.closing_motion.start, scene.closing_motion.rates
    )
    height = min(below, fingers, lowest_surrounding(scene))
    return math.floor((height - FLOOR_GAP) * 100) / 100.0


@lru_cache(maxsize=32)
def _lowest_finger(
    described: Hand, pose: Pose, start: tuple[float, ...], all_rates: tuple[float, ...]
) -> float:
    """Compute the lowest point of the fingers between start and limits [m].

    Cached, as the grasps of a sweep have the same hand.
    """
    hand = transform(pose.position, pose.quaternion)
    height, begin = math.inf, np.array(start)
    end = [
        actuator.limits[0 if rate < 0 else 1]
        for actuator, rate in zip(described.actuators, all_rates, strict=True)
    ]
    for fraction in np.linspace(0.0, 1.0, 7) if described.fingers else ():
        posture = described.posture((begin + fraction * (end - begin)).tolist())
        height = min(height, lowest_point(described, posture, hand))
    for digit in described.soft_fingers:
        base = hand @ transform(digit.base.position)
        height = min(height, float(base[2, 3]) - digit.length)
    return height
