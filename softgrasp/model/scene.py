"""A grasp scene → a MuJoCo model that is ready to run."""

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
from softgrasp.description.object import Block, GraspObject, Mount, Table, Wall
from softgrasp.description.scene import GraspScene
from softgrasp.errors import SoftgraspWarning
from softgrasp.mechanics.hand_kinematics import lowest_point
from softgrasp.mechanics.transforms import (
    Array,
    position_of,
    quaternion_of,
    rotation_from_euler,
    transform,
)
from softgrasp.model import names
from softgrasp.model.arm import carried_hand, carrier_start, hand_posture, with_carried_pose
from softgrasp.model.clearance import START_TOLERANCE, clearing_displacement, refuse_overlaps
from softgrasp.model.compile import compiled
from softgrasp.model.contact_pairs import (
    Pair,
    Touching,
    add_pairs,
    closing_postures,
    model_pairs,
    penetration,
    self_pairs,
    with_objects,
    with_surroundings,
)
from softgrasp.model.deformable import add_deformable, full_size
from softgrasp.model.hand import settle, silence
from softgrasp.model.hand_carrier import carrier_model
from softgrasp.model.names import OBJECT, TABLE
from softgrasp.model.object import add_object, density_guess, is_usual, mean_density
from softgrasp.model.sensors import add_contact_sensors, add_force_sensors, contact_slots
from softgrasp.model.shapes import COLLISION_GROUP
from softgrasp.model.timestep import resolved_contact, resolved_timestep
from softgrasp.model.visual import AROUND_RGBA, FLOOR_GAP, add_visuals

INTEGRATORS = {
    "discrete": mujoco.mjtIntegrator.mjINT_DISCRETE,
    "implicitfast": mujoco.mjtIntegrator.mjINT_IMPLICITFAST,
    "euler": mujoco.mjtIntegrator.mjINT_EULER,
}


class BuiltScene(NamedTuple):
    """A scene's spec, compiled model and what a run needs to know of them."""

    scene: GraspScene
    """The scene with the object where it starts clear of the hand."""
    spec: mujoco.MjSpec
    model: mujoco.MjModel
    bodies: list[str]
    """Bodies of the hand that can touch, the palm first where there is one."""
    contact: Contact
    """Of object and hand, as the model honours it: the asked one, or a softer one where allowed."""
    stiffness: dict[str, float]
    """Of every pair that can touch, by its name in the model [N/m]; not of native contacts, which
    promise none."""
    switching: dict[str, Contact]
    """Pairs whose friction follows slip, by their names in the model, and their contact."""


def compile_model(scene: GraspScene) -> mujoco.MjModel:
    """The scene as an ``mjModel``; keyframe 0 is the start state, contacts are converted.

    Raises:
        BuildError: The object starts inside the hand, or the time step cannot honour the contact.
    """
    return build(scene).model


def build_spec(scene: GraspScene) -> mujoco.MjSpec:
    """The scene as an ``MjSpec``, to be changed or attached elsewhere; raises as compile_model."""
    return build(scene).spec


def to_mjcf(scene: GraspScene) -> str:
    """The scene as MJCF text; raises as compile_model."""
    return str(build(scene).spec.to_xml())


def build(scene: GraspScene) -> BuiltScene:
    """Assemble, check and compile a scene; raises as compile_model.

    An object without a position of its own that would start inside the hand at the grasp's centre
    is moved away from the palm, with a warning. Other overlaps are refused.
    """
    requested = with_carried_pose(scene)
    scene = on_its_table(requested)
    deformable = scene.object.elasticity is not None
    if deformable:
        scene = _where_a_rigid_one_starts(requested)
    timestep = resolved_timestep(scene)
    hand, touching = carried_hand(*_carried(scene))
    spec, bodies = hand.copy(), list(touching)
    _set_options(spec, scene, timestep)
    placed_objects = placed_items(scene)
    slots = [contact_slots(spec, bodies, _add_rigid(spec, placed)) for placed in placed_objects]
    add_surroundings(spec, scene, placed_objects[0].pose)
    if deformable:  # all that it can touch is there
        add_deformable(
            spec, scene.object, placed_objects[0].pose, scene.requested_contact, scene.solver
        )
    add_contact_sensors(spec, bodies, slots)
    add_force_sensors(spec, scene)
    what = f"{scene.hand.name} with {' and '.join(placed.object.name for placed in placed_objects)}"
    bare = compiled(spec, what)
    start = _position(bare, scene, start_targets(scene))
    home = _position(bare, scene, home_targets(scene))
    spec.add_key(name=names.START, qpos=start.tolist(), ctrl=start_targets(scene))
    data = _state_at(bare, start)
    displacement = None if deformable else clearing_displacement(bare, data, requested)
    if (
        displacement is None
        and requested.object_position is None
        and not deformable
        and (start != home).any()
    ):
        # a place that the object got on its own has to be clear where the hand arrives, too
        displacement = clearing_displacement(bare, _state_at(bare, home), requested)
    if displacement is not None:
        position = np.array(placed_objects[0].pose.position) + displacement
        return build(requested.replace(object_position=tuple(position.tolist())))
    refuse_overlaps(bare, data, scene)
    _doubt_units(scene)
    stiffness, switching = _add_contacts(spec, bare, data, scene, home)
    if scene.hand.model is not None:
        silence(spec, bodies)
    add_visuals(spec, _floor_height(scene, bare))
    contact = resolved_contact(scene.requested_contact, timestep)
    return BuiltScene(scene, spec, compiled(spec, what), bodies, contact, stiffness, switching)


def _doubt_units(scene: GraspScene) -> None:
    """Warn of numbers that are hardly meant in SI."""
    max_angle = max((abs(angle) for angle in scene.object_euler or ()), default=0.0)
    if max_angle > 2.0 * math.pi:
        warnings.warn(
            f"object_euler: {max_angle:g} rad is more than a turn; is it in degrees? They are "
            f"{math.radians(max_angle):.4g} rad (--euler-deg takes degrees)",
            SoftgraspWarning,
            stacklevel=3,
        )
    for described in (scene.object, *(placed.object for placed in scene.objects)):
        density = mean_density(described)
        if not is_usual(density):
            warnings.warn(
                f"object '{described.name}': a density of {density:.4g} kg/m³ is none that a "
                f"material has; {density_guess(described)}",
                SoftgraspWarning,
                stacklevel=3,
            )


def _where_a_rigid_one_starts(scene: GraspScene) -> GraspScene:
    """The scene with its deformable object where a rigid one of its shape starts clear."""
    rigid = build(scene.replace(object=scene.object.replace(elasticity=None))).scene
    return scene.replace(object_position=rigid.object_position, surroundings=rigid.surroundings)


def _add_rigid(spec: mujoco.MjSpec, placed: PlacedItem) -> list[str]:
    """Add an object, and return its geoms that can touch; nothing of a deformable one."""
    if placed.object.elasticity is not None:
        return []
    return add_object(spec, placed.object, placed.pose, placed.mount, placed.body)


def _carried(scene: GraspScene) -> tuple[Any, ...]:
    """What decides the hand and what carries it."""
    hand = (scene.mechanism, scene.hand_pose, scene.actuation)
    base = None
    if isinstance(scene.arm, HandCarrier):
        base = carrier_model(scene.arm).rest(scene).base
    return (*hand, scene.arm, scene.lift, scene.on_wrist, base)


def _add_contacts(
    spec: mujoco.MjSpec,
    bare: mujoco.MjModel,
    data: mujoco.MjData,
    scene: GraspScene,
    home: Array,
) -> tuple[dict[str, float], dict[str, Contact]]:
    """Add all pairs that can touch; returns stiffness and switching contacts by pair."""
    timestep = float(bare.opt.timestep)
    held = scene.actuation == "prescribed"
    self_pairs = _clear_self_pairs(bare, data, scene) if scene.self_contact else []
    # the hand with the object comes first, then the hand with itself
    first, *others = with_objects(scene, bare)
    itself = Touching(self_pairs, scene.requested_contact, held)
    known = (*_carried(scene), timestep, scene.integrator, scene.hand, scene.closing_motion)
    postures = closing_postures(bare, scene, home)
    stiffness: dict[str, float] = {}
    switching: dict[str, Contact] = {}
    for group in (first, itself, *others, *with_surroundings(scene, bare)):
        contact = resolved_contact(group.requested, timestep)
        sampled_postures = postures if group.by_hand else postures[:1]
        key = known if group is itself else None
        add_pairs(
            spec,
            bare,
            group.pairs,
            sampled_postures,
            contact,
            scene.solver,
            held=group.held,
            known=key,
        )
        if contact.converted:
            stiffness |= dict.fromkeys((pair.name for pair in group.pairs), contact.stiffness)
        if group.switches and contact.switches_friction:
            switching |= dict.fromkeys((pair.name for pair in group.pairs), contact)
    return stiffness, switching


def start_targets(scene: GraspScene) -> list[float]:
    """Targets of all actuators at the start, as ``names.scene_drives`` orders them.

    Raises:
        BuildError: The arm does not reach.
    """
    return [*scene.start, *carrier_start(scene)]


def home_targets(scene: GraspScene) -> list[float]:
    """The same where the hand is at its place in the scene, to which an approach leads."""
    if isinstance(scene.arm, HandCarrier):
        return [*scene.closing_start, *scene.arm.start]
    if scene.arm is not None:
        return [*scene.closing_start, *(row.start for row in scene.arm.chain.phalanges)]
    return [*scene.closing_start, *(0.0 for _ in names.carrier_joints(scene))]


def _set_options(spec: mujoco.MjSpec, scene: GraspScene, timestep: float) -> None:
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
    # a diverged state must be seen, not replaced by the start state
    option.disableflags |= mujoco.mjtDisableBit.mjDSBL_AUTORESET


def _position(bare: mujoco.MjModel, scene: GraspScene, targets: list[float]) -> Array:
    """Joints at their targets, all else where it was put."""
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
    data = mujoco.MjData(model)
    data.qpos[:] = position
    mujoco.mj_forward(model, data)
    return data


def _clear_self_pairs(model: mujoco.MjModel, data: mujoco.MjData, scene: GraspScene) -> list[Pair]:
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
            f"start posture, most {deepest.first} and {deepest.second} by "
            f"{depths[deepest] * 1e3:.2f} mm; they will not touch each other",
            SoftgraspWarning,
            stacklevel=2,
        )
    return [pair for pair in depths if pair not in overlapping]


def _floor_height(scene: GraspScene, model: mujoco.MjModel) -> float:
    """At the only table; else below all objects, surroundings and fingers on their way [m]."""
    if shows_floor_as_table(scene) and scene.table is not None and scene.table.height is not None:
        return scene.table.height
    movers = [not names.is_around(model.body(body).name) for body in model.geom_bodyid]
    reach = float(model.geom_rbound[movers].max(initial=0.0))
    if scene.object.elasticity is not None:  # which has no geom of its size
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
    """The lowest place of fingers on their way from start to limit [m].

    A sweep asks the same of every grasp.
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


# --------------------
# Where objects start: at the hand's grasp centre, on their table, or where they are put.


class PlacedItem(NamedTuple):
    """An object of a scene as it is built."""

    name: str
    """What the scene calls it."""
    body: str
    """Its body in the model."""
    object: GraspObject
    pose: Pose
    """Of its centre of mass frame in the world, at the start."""
    mount: Mount


def placed_items(scene: GraspScene) -> list[PlacedItem]:
    """All objects of a scene, the one to be grasped first."""
    described = [(scene.object, object_pose(scene), scene.object_mount)]
    for placed in scene.objects:
        frame = np.eye(4)
        frame[:3, :3] = rotation_from_euler(placed.euler)
        pose = Pose(position=placed.position, quaternion=quaternion_of(frame))
        described.append((placed.object, pose, placed.mount))
    called = zip(scene.object_names, names.object_bodies(scene), described, strict=True)
    return [PlacedItem(name, body, *rest) for name, body, rest in called]


def object_pose(scene: GraspScene) -> Pose:
    """Where the object to be grasped starts in the world, defaults from the hand's grasp filled in.

    Raises nothing: an object with a table stands on it only after ``on_its_table``.
    """
    hand = transform(scene.hand_pose.position, scene.hand_pose.quaternion)
    target = np.eye(4)
    target[:3, 3] = scene.preset.center
    target[:3, :3] = rotation_from_euler(scene.preset.object_euler)
    world = hand @ target
    if scene.object_euler is not None:
        world[:3, :3] = rotation_from_euler(scene.object_euler)
    elif scene.table is not None:
        world[:3, :3] = rotation_from_euler(scene.object.standing)
    elif scene.object.upright and scene.preset.upright_euler is not None:
        world[:3, :3] = hand[:3, :3] @ rotation_from_euler(scene.preset.upright_euler)
    elif scene.object.upright:
        world[:3, :3] = np.eye(3)
    position = scene.object_position or position_of(world)
    return Pose(position=position, quaternion=quaternion_of(world))


def on_its_table(scene: GraspScene) -> GraspScene:
    """The scene with the height of its table, and of the object on it, filled in."""
    table = scene.table
    if table is None:
        return scene
    pose = object_pose(scene)
    lowest = lowest_of_object(scene.object, pose)
    if table.height is None:
        around = [
            part.replace(height=lowest) if part is table else part for part in scene.surroundings
        ]
        return scene.replace(surroundings=tuple(around))
    if scene.object_position is not None:
        return scene
    x, y, z = pose.position
    return scene.replace(object_position=(x, y, z + table.height - lowest))


# --------------------
# What stands around a grasp: tables, walls and blocks as boxes that do not move.


LEVEL = 1e-9
"""Part of a face's normal across z below which it counts as level."""


def add_surroundings(spec: mujoco.MjSpec, scene: GraspScene, under: Pose) -> None:
    """Add everything that stands around.

    A table that is alone is not drawn: pictures show the floor at its height instead.

    Args:
        spec: The model to extend.
        scene: The scene; its tables have their heights.
        under: Pose of the object, below which tables without a middle of their own lie.
    """
    alone = shows_floor_as_table(scene)
    for part, name in zip(scene.surroundings, names.surrounding_bodies(scene), strict=True):
        if isinstance(part, Table):
            add_table(spec, part, under, name)
        else:
            _add_box(spec, name, *(_slab(part) if isinstance(part, Wall) else _block(part)))
        geom = spec.geom(name)
        geom.rgba, geom.group = AROUND_RGBA[part.type], COLLISION_GROUP if alone else 0
        if not isinstance(part, Table):
            geom.group = 0


def shows_floor_as_table(scene: GraspScene) -> bool:
    """Whether pictures show the floor in the place of the scene's only table.

    One with a place of its own is drawn, as its edges matter.
    """
    tables = [part for part in scene.surroundings if isinstance(part, Table)]
    return len(tables) == 1 and tables[0].center is None


def lowest_surrounding(scene: GraspScene) -> float:
    """World z of the lowest place of what stands around [m]; infinite for nothing."""
    lowest = np.inf
    for part in scene.surroundings:
        if isinstance(part, Table):
            lowest = min(lowest, (part.height or 0.0) - THICKNESS)
        else:
            frame, half = _slab(part) if isinstance(part, Wall) else _block(part)
            lowest = min(lowest, float(frame[2, 3] - np.abs(frame[2, :3]) @ half))
    return float(lowest)


def wall_frame(wall: Wall) -> Array:
    """Frame of a wall's face in the world, (4, 4): z out of it, y rising most, x level."""
    out = np.array(wall.normal) / np.linalg.norm(wall.normal)
    level = np.cross([0.0, 0.0, 1.0], out)
    length = float(np.linalg.norm(level))
    if length < LEVEL:
        level, length = np.array([np.sign(out[2]), 0.0, 0.0]), 1.0
    frame = np.eye(4)
    frame[:3, 0], frame[:3, 2], frame[:3, 3] = level / length, out, wall.point
    frame[:3, 1] = np.cross(out, frame[:3, 0])
    return frame


def _slab(wall: Wall) -> tuple[Array, Array]:
    """Middle frame (4, 4) and half edges (3,) of a wall."""
    frame = wall_frame(wall)
    frame[:3, 3] -= 0.5 * wall.thickness * frame[:3, 2]
    return frame, 0.5 * np.array([*wall.size, wall.thickness])


def _block(block: Block) -> tuple[Array, Array]:
    """Middle frame (4, 4) and half edges (3,) of a block."""
    frame = np.eye(4)
    frame[:3, :3], frame[:3, 3] = rotation_from_euler(block.euler), block.position
    return frame, 0.5 * np.array(block.size)


def _add_box(spec: mujoco.MjSpec, name: str, frame: Array, half: Array) -> None:
    position = frame[:3, 3].tolist()
    body = spec.worldbody.add_body(name=name, pos=position, quat=list(quaternion_of(frame)))
    body.add_geom(
        name=name,
        type=mujoco.mjtGeom.mjGEOM_BOX,
        size=half.tolist(),
        contype=0,
        conaffinity=0,
    )


# --------------------
# A table under the object: where its top is, where the object stands on it, and its geom.


THICKNESS = 0.05
"""[m]"""


def add_table(spec: mujoco.MjSpec, table: Table, under: Pose, name: str = TABLE) -> None:
    """Add a table that does not move, hidden: pictures show the floor at its height instead.

    Args:
        spec: The model to extend.
        table: The table, with a height.
        under: Pose of the object, below which its middle lies where it has none of its own.
        name: Of its body and geom.
    """
    assert table.height is not None  # filled in by build.placing.on_its_table
    x, y = table.center or under.position[:2]
    body = spec.worldbody.add_body(name=name, pos=[x, y, table.height - 0.5 * THICKNESS])
    body.add_geom(
        name=name,
        type=mujoco.mjtGeom.mjGEOM_BOX,
        size=[0.5 * table.size[0], 0.5 * table.size[1], 0.5 * THICKNESS],
        contype=0,
        conaffinity=0,
        group=COLLISION_GROUP,
    )


def lowest_of_object(described: GraspObject, pose: Pose) -> float:
    """World z of the lowest point of an object [m].

    It is measured as a distance to a far table, which the engine knows exactly for every shape.
    """
    spec = mujoco.MjSpec()
    spec.compiler.degree = False
    geoms = add_object(spec, described, pose, "fixed")
    reach = _reach(compiled(spec, described.name))
    below = pose.position[2] - 2.0 * reach
    add_table(spec, Table(height=below, size=(8.0 * reach, 8.0 * reach)), pose)
    model = compiled(spec, described.name)
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    table = model.geom(TABLE).id
    gaps = [
        mujoco.mj_geomDistance(model, data, model.geom(name).id, table, 4.0 * reach, None)
        for name in geoms
    ]
    return below + float(min(gaps))


def _reach(model: mujoco.MjModel) -> float:
    """Radius of a ball around the object's frame that holds all its geoms [m]."""
    mine = np.flatnonzero(model.geom_bodyid == model.body(OBJECT).id)
    away = np.linalg.norm(model.geom_pos[mine], axis=1) + model.geom_rbound[mine]
    return float(away.max())
