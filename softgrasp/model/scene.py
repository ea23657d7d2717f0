"""Compilation of a grasp scene to a MuJoCo model with its start state and converted contacts.

``build`` assembles hand and carrier, objects, surroundings and sensors, compiles them once to
measure overlaps and effective masses, then adds contact pairs, key frame and visual elements.
"""

from __future__ import annotations

import math
import threading
import warnings
from collections.abc import Callable, Hashable, Iterator, Mapping
from copy import copy
from functools import cache, lru_cache, partial
from typing import Any, NamedTuple

import mujoco
import numpy as np

from softgrasp.description.arm import HandCarrier
from softgrasp.description.contact import Contact
from softgrasp.description.geometry import Capsule, Cuboid, Cylinder, Ellipsoid, Pose, Sphere
from softgrasp.description.hand import Hand
from softgrasp.description.scene import GraspScene
from softgrasp.errors import SoftgraspWarning
from softgrasp.mechanics.hand_kinematics import lowest_point
from softgrasp.mechanics.transforms import Array, transform
from softgrasp.model import names
from softgrasp.model.arm import (
    carried_hand,
    carrier_start,
    hand_posture,
    with_carried_pose,
    wrist_center,
)
from softgrasp.model.clearance import START_TOLERANCE, clearing_displacement, refuse_overlaps
from softgrasp.model.compile import compiled, put_object, set_statistics, statistics_are_known
from softgrasp.model.contact_pairs import (
    ContactGroup,
    Pair,
    PairParameters,
    add_pairs,
    model_pairs,
    pair_parameters,
    penetration,
    self_pairs,
    set_pairs,
    with_objects,
    with_surroundings,
)
from softgrasp.model.contact_sensors import add_contact_sensors, add_force_sensors, contact_slots
from softgrasp.model.deformable import add_deformable, full_size
from softgrasp.model.effective_mass import closing_postures
from softgrasp.model.hand import settle, silence
from softgrasp.model.hand_carrier import carrier_model
from softgrasp.model.object import add_body, add_object, density_guess, is_usual, mean_density
from softgrasp.model.placement import (
    PlacedItem,
    add_surroundings,
    lowest_surrounding,
    on_its_table,
    placed_items,
    shows_floor_as_table,
)
from softgrasp.model.soft_finger import damp_as_described, warn_of_damping
from softgrasp.model.timestep import fine_timesteps, resolved_contact, resolved_timestep
from softgrasp.model.visual import FLOOR_GAP, FLOOR_NAME, add_visuals
from softgrasp.model.weak_servos import with_sufficient_closure

INTEGRATORS = {
    "discrete": mujoco.mjtIntegrator.mjINT_DISCRETE,
    "implicitfast": mujoco.mjtIntegrator.mjINT_IMPLICITFAST,
    "euler": mujoco.mjtIntegrator.mjINT_EULER,
}


class FineStep(NamedTuple):
    """A further time step of a model and the contact parameters that belong to it."""

    timestep: float
    """[s]"""
    pair_solref: Array
    """(np, 2)"""
    pair_solreffriction: Array
    """(np, 2)"""


class BuiltScene(NamedTuple):
    """Spec and compiled model of a scene, with further data for its simulation."""

    scene: GraspScene
    """The scene with the object clear of the hand."""
    make_spec: Callable[[], mujoco.MjSpec]
    """Returns the spec, always the same one."""
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
    actuator_bias: Array
    """``actuator_biasprm`` of the model as built, which runs change (``sim.step_refinement``)."""
    fine: tuple[FineStep, ...] = ()
    """Time steps after a contact has begun or ended, the shortest first."""

    @property
    def spec(self) -> mujoco.MjSpec:
        """The scene as a spec; made when it is first read where the model is a changed one."""
        return self.make_spec()


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
    moved away from the palm, with a warning. Other overlaps are rejected. A scene that differs from
    one of the last ones in the numbers of object and contact only is made from its compiled model.
    """
    return _build(scene, _TEMPLATES.kept)


def _build(scene: GraspScene, templates: dict[Hashable, _Template] | None) -> BuiltScene:
    """Build a scene, from a template where there is one; without templates from its spec."""
    requested = with_sufficient_closure(with_carried_pose(scene))
    if scene.preset.per_object or scene.adapt_grasp:
        from softgrasp.model.object_grasp import fitted  # loads meshes

        requested = fitted(requested)
    deformable = scene.object.elasticity is not None
    scene = _at_rigid_start(requested) if deformable else on_its_table(requested)
    timestep = resolved_timestep(scene)
    key = _template_key(scene, timestep) if templates is not None else None
    template = None if templates is None else templates.get(key)
    alone = None if template is None else _ObjectAlone.of(scene, template.limits)
    if template is None or alone is None or not alone.fits(template.model):
        template = None
        spec, bodies = _without_contacts(scene, timestep)
        bare = compiled(spec, _label(scene))
    else:
        spec, bodies, bare = None, list(template.bodies), template.bare
        alone.put_into(bare, template.data)
    start = _position(bare, scene, start_targets(scene))
    home = _position(bare, scene, home_targets(scene))
    data = _state_at(bare, start, None if template is None else template.data)
    if not deformable:
        displacement = clearing_displacement(bare, data, requested)
        if displacement is None and requested.object_position is None and (start != home).any():
            # a default position has to be clear at the home pose of the hand too
            displacement = clearing_displacement(bare, _state_at(bare, home), requested)
        if displacement is not None:
            position = np.array(placed_items(scene)[0].pose.position) + displacement
            moved = requested.replace(object_position=tuple(position.tolist()))
            return _build(moved, templates)
    refuse_overlaps(bare, data, scene)
    _warn_of_units(scene)
    if scene.integrator == "discrete":
        warn_of_damping(scene.hand, timestep)
    itself = _self_pairs(bare, data, scene) if template is None else template.self_pairs
    itself.warn()
    fine_steps = fine_timesteps(scene, timestep, _mobility(bare, bodies))
    contacts = _contacts(bare, itself.pairs, scene, home, fine_steps)
    floor_height = _floor_height(scene, bare)
    contact = resolved_contact(scene.requested_contact, timestep)
    if template is None or alone is None or not template.has(contacts.parameters):
        if spec is None:
            return _build(requested, None)
        spec.add_key(name=names.START, qpos=start.tolist(), ctrl=start_targets(scene))
        add_pairs(spec, contacts.parameters)
        if scene.hand.model is not None:
            silence(spec, bodies)
        add_visuals(spec, floor_height)
        model = compiled(spec, _label(scene))
        make_spec: Callable[[], mujoco.MjSpec] = partial(_same, spec)
        if templates is not None and key is not None and statistics_are_known(model):
            while len(templates) >= MAX_TEMPLATES:
                del templates[next(iter(templates))]
            limits = {name: getattr(spec.compiler, name) for name in COMPILER_LIMITS}
            pairs = {one.pair: model.pair(one.pair.name).id for one in contacts.parameters}
            states = mujoco.MjData(bare), mujoco.MjData(model)
            templates[key] = _Template(
                bare, states[0], copy(model), bodies, itself, limits, pairs, states[1]
            )
    else:
        model = template.model_of(alone, contacts.parameters, start, floor_height)
        make_spec = cache(partial(_fresh_spec, scene))
    return BuiltScene(
        scene,
        make_spec,
        model,
        bodies,
        contact,
        contacts.stiffness,
        contacts.switching,
        model.pair_solref.copy(),
        model.actuator_biasprm.copy(),
        tuple(_fine_steps(model, contacts.parameters, fine_steps)),
    )


def _mobility(bare: mujoco.MjModel, bodies: list[str]) -> float:
    """Return the largest inverse mass of a body of the hand and the object [1/kg]."""
    weights = [float(bare.body(body).invweight0[0]) for body in bodies]
    return max(weights, default=0.0) + float(bare.body(names.OBJECT).invweight0[0])


def _fine_steps(
    model: mujoco.MjModel, parameters: list[PairParameters], timesteps: tuple[float, ...]
) -> Iterator[FineStep]:
    """Yield the contact parameters of fine time steps in the order of the model's pairs."""
    pairs = [model.pair(one.pair.name).id for one in parameters] if timesteps else []
    for index, timestep in enumerate(timesteps):
        fine = np.zeros((model.npair, 4))
        fine[pairs] = [one.fine[index] for one in parameters]
        yield FineStep(timestep, fine[:, :2].copy(), fine[:, 2:].copy())


def _same(spec: mujoco.MjSpec) -> mujoco.MjSpec:
    return spec


def _fresh_spec(scene: GraspScene) -> mujoco.MjSpec:
    """Return the spec of a scene that was built already, whose warnings are known."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _build(scene, None).spec


# Templates


MAX_TEMPLATES = 4
"""Number of compiled models that are kept to be changed."""
PATCHED = ("object", "contact", "object_position", "object_euler", "seed", "source")
"""Fields of a scene whose values are written into a compiled model, or are not in it."""
PATCHED_OF_OBJECT = ("shape", "mass", "density", "material", "source")
"""The same of its object."""
COMPILER_LIMITS = ("boundmass", "boundinertia", "balanceinertia")
"""Settings of the compiler that change masses."""
INERTIAL = {
    int(mujoco.mjtSameFrame.mjSAMEFRAME_INERTIA),
    int(mujoco.mjtSameFrame.mjSAMEFRAME_INERTIAROT),
}
"""Marks of geoms in the frame of their body's inertia."""
PRIMITIVES = (Sphere, Cuboid, Cylinder, Capsule, Ellipsoid)


class _Templates(threading.local):
    """Compiled models of a thread, by what they have in common with the scenes they serve."""

    def __init__(self) -> None:
        self.kept: dict[Hashable, _Template] = {}


_TEMPLATES = _Templates()


def _template_key(scene: GraspScene, timestep: float) -> Hashable:
    """Return all that a model depends on besides the patched numbers; None for a fresh build.

    Fresh are scenes with surroundings or further objects, whose contacts and heights depend on the
    object, and objects that do not move freely.
    """
    described = scene.object
    if scene.objects or scene.surroundings or described.elasticity is not None:
        return None
    if scene.object_mount != "free":
        return None
    kind: Hashable = described.shape
    if isinstance(described.shape, PRIMITIVES):
        kind = type(described.shape)
    other = [n for n in type(described).model_fields if n not in PATCHED_OF_OBJECT]
    fields = [n for n in type(scene).model_fields if n not in PATCHED]
    values = (*(getattr(described, n) for n in other), *(getattr(scene, n) for n in fields))
    return (timestep, kind, *values, scene.requested_contact.converted)


class _ObjectAlone(NamedTuple):
    """The object of a scene compiled alone, to be written into compiled models."""

    model: mujoco.MjModel
    geoms: list[str]
    """Names of its geoms; none where they are those of the template."""

    @classmethod
    def of(cls, scene: GraspScene, limits: Mapping[str, Any]) -> _ObjectAlone:
        """Compile the object of a scene with limits of the compiler."""
        spec, placed = mujoco.MjSpec(), placed_items(scene)[0]
        for name, value in limits.items():
            setattr(spec.compiler, name, value)
        if isinstance(placed.object.shape, PRIMITIVES):
            geoms = add_object(spec, placed.object, placed.pose, placed.mount, placed.body)
            return cls(compiled(spec, _label(scene)), geoms)
        add_body(spec, placed.object, placed.pose, placed.body)
        return cls(compiled(spec, _label(scene)), [])

    def fits(self, model: mujoco.MjModel) -> bool:
        """Return whether a model with it has the same structure, which depends on its frames."""
        body, its = (m.body(names.OBJECT).id for m in (model, self.model))
        if model.body_bvhnum[body] or model.body_simple[body] != self.model.body_simple[its]:
            return False
        if model.body_sameframe[body] != self.model.body_sameframe[its]:
            return False
        if not self.geoms:  # none of its geoms is in the frame of the inertia, which may rotate
            frames = model.geom_sameframe[model.geom_bodyid == body].tolist()
            return not INERTIAL & {*frames}
        frames = [m.geom(g).sameframe[0] for g in self.geoms for m in (model, self.model)]
        return bool(frames[::2] == frames[1::2])

    def put_into(self, model: mujoco.MjModel, data: mujoco.MjData) -> None:
        """Write the object into a model, with a state of it."""
        put_object(model, data, self.model, names.OBJECT, self.geoms)


class _SelfPairs(NamedTuple):
    """Pairs of the hand with itself, and the warning about those that overlap."""

    pairs: list[Pair]
    warning: str

    def warn(self) -> None:
        """Repeat the warning."""
        if self.warning:
            warnings.warn(self.warning, SoftgraspWarning, stacklevel=3)


class _Template(NamedTuple):
    """Compiled models of a scene, changed to those of scenes that differ in numbers only."""

    bare: mujoco.MjModel
    """Without contact pairs; changed by every use."""
    data: mujoco.MjData
    """State of it."""
    model: mujoco.MjModel
    """The whole scene, not changed."""
    bodies: list[str]
    self_pairs: _SelfPairs
    limits: dict[str, Any]
    """``COMPILER_LIMITS`` of its spec, which may be those of an imported hand."""
    pairs: dict[Pair, int]
    """Indices of the contact pairs in the whole scene."""
    state: mujoco.MjData
    """State of the whole scene."""

    def has(self, parameters: list[PairParameters]) -> bool:
        """Whether the model has the same pairs."""
        return self.pairs.keys() == {one.pair for one in parameters}

    def model_of(
        self,
        alone: _ObjectAlone,
        parameters: list[PairParameters],
        start: Array,
        floor_height: float,
    ) -> mujoco.MjModel:
        """Return the model of a scene, equal bit for bit to one compiled from its spec.

        Args:
            alone: Its object.
            parameters: All pairs.
            start: ``qpos`` at the start, (nq,).
            floor_height: World z of the floor [m].
        """
        model = copy(self.model)
        set_pairs(model, parameters, [self.pairs[one.pair] for one in parameters])
        model.geom_pos[model.geom(FLOOR_NAME).id, 2] = floor_height
        alone.put_into(model, self.state)
        set_statistics(model, self.state)
        model.key_qpos[0] = start
        return model


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
    return (*hand, scene.arm, scene.lift, wrist_center(scene), base)


def _add_rigid(spec: mujoco.MjSpec, placed: PlacedItem) -> list[str]:
    """Add an object and return its geoms that can touch; none for a deformable one."""
    if placed.object.elasticity is not None:
        return []
    return add_object(spec, placed.object, placed.pose, placed.mount, placed.body)


def _at_rigid_start(scene: GraspScene) -> GraspScene:
    """Return the scene with a deformable object at the clear position of a rigid one."""
    rigid = build(scene.replace(object=scene.object.replace(elasticity=None))).scene
    return scene.replace(object_position=rigid.object_position, surroundings=rigid.surroundings)


class _Contacts(NamedTuple):
    """Contact pairs of a scene."""

    parameters: list[PairParameters]
    stiffness: dict[str, float]
    """Of the converted ones, by their names [N/m]."""
    switching: dict[str, Contact]
    """Of those whose friction switches, by their names."""


def _contacts(
    bare: mujoco.MjModel,
    self_pairs: list[Pair],
    scene: GraspScene,
    home: Array,
    fine_steps: tuple[float, ...],
) -> _Contacts:
    """Convert the contacts of all pairs."""
    timestep = float(bare.opt.timestep)
    # the order of pairs: hand with object, hand with itself, others
    first, *others = with_objects(scene, bare)
    itself = ContactGroup(self_pairs, scene.requested_contact)
    cache_key = (*_carrier_key(scene), timestep, scene.integrator, scene.hand, scene.closing_motion)
    postures = closing_postures(bare, scene, home)
    contacts = _Contacts([], {}, {})
    for group in (first, itself, *others, *with_surroundings(scene, bare)):
        contact = resolved_contact(group.requested, timestep)
        sampled = postures if group.by_hand else postures[:1]
        key = cache_key if group is itself else None
        contacts.parameters.extend(
            pair_parameters(
                bare, group.pairs, sampled, contact, scene, fine_steps=fine_steps, cache_key=key
            )
        )
        named = [pair.name for pair in group.pairs]
        if contact.converted:
            contacts.stiffness.update(dict.fromkeys(named, contact.stiffness))
        if group.switches and contact.switches_friction:
            contacts.switching.update(dict.fromkeys(named, contact))
    return contacts


def _self_pairs(model: mujoco.MjModel, data: mujoco.MjData, scene: GraspScene) -> _SelfPairs:
    """Return the self-contact pairs of the hand that do not overlap at the start."""
    if not scene.self_contact:
        return _SelfPairs([], "")
    if scene.hand.model is not None:
        pairs = model_pairs(model)
    else:
        soft = {digit.name for digit in scene.hand.soft_fingers}
        chains = {b: finger for b, (finger, _) in names.parts(scene.hand).items() if finger in soft}
        pairs = self_pairs(model, chains)
    depths = {pair: penetration(model, data, pair) for pair in pairs}
    overlapping = [pair for pair, depth in depths.items() if depth > START_TOLERANCE]
    if not overlapping:
        return _SelfPairs(pairs, "")
    deepest = max(overlapping, key=lambda pair: depths[pair])
    message = (
        f"hand '{scene.hand.name}': {len(overlapping)} pairs of its bodies overlap in the "
        f"start posture, the deepest {deepest.first} and {deepest.second} by "
        f"{depths[deepest] * 1e3:.2f} mm; they will not touch each other"
    )
    return _SelfPairs([pair for pair in depths if pair not in overlapping], message)


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


def _state_at(
    model: mujoco.MjModel, position: Array, data: mujoco.MjData | None = None
) -> mujoco.MjData:
    """Evaluate a model at ``qpos``, in a new state by default."""
    if data is None:
        data = mujoco.MjData(model)
    else:
        mujoco.mj_resetData(model, data)
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
