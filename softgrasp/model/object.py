"""Graspable objects in a model: mass, body, mount, density, placement, and surroundings.

An object starts at the grasp centre of the hand, on its table, or at a specified position.
Surroundings are boxes that do not move: tables, walls and blocks.
"""

from __future__ import annotations

from collections import deque
from typing import Literal, NamedTuple

import mujoco
import numpy as np

from softgrasp.description.geometry import Pose
from softgrasp.description.hand import Hand
from softgrasp.description.object import Block, GraspObject, Mount, Table, Wall
from softgrasp.description.scene import GraspScene
from softgrasp.description.task import ALL
from softgrasp.mechanics.transforms import (
    Array,
    position_of,
    quaternion_of,
    rotation_from_euler,
    transform,
)
from softgrasp.model import names
from softgrasp.model.compile import compiled
from softgrasp.model.names import OBJECT, TABLE, object_joints
from softgrasp.model.shapes import COLLISION_GROUP, add_shape, mass_properties, set_inertia
from softgrasp.model.visual import AROUND_RGBA

USUAL_DENSITY = (20.0, 22_600.0)
"""Densities from foam to osmium [kg/m³]."""
MASS_HINTS = {
    1e9: "is its size in millimetres? Then it has {:.4g} kg/m³ (units: mm)",
    1e-3: "is its mass in grams? Then it has {:.4g} kg/m³",
    1e-9: "is its size in metres, but read as millimetres? Then it has {:.4g} kg/m³",
}
"""Hints for objects with a mass, by the factor that corrects their density."""
DENSITY_HINTS = {1e3: "is its density in g/cm³? Then it has {:.4g} kg/m³"}
"""Hints for objects with a density, by the factor that corrects it."""
PLANAR_JOINTS = object_joints(OBJECT)
"""Joints of the object to be grasped where it is planar."""


def add_object(
    spec: mujoco.MjSpec, described: GraspObject, pose: Pose, mount: Mount, name: str = OBJECT
) -> list[str]:
    """Add an object and return the names of its geoms that can touch.

    Args:
        spec: The model to extend.
        described: The object.
        pose: Pose of its frame at the centre of mass in the world.
        mount: ``free``, ``fixed``, or ``planar`` (x–z plane of the world, rotation about y).
        name: Name of its body.
    """
    mover = spec.worldbody
    if mount == "planar":
        mover = _planar_carriage(spec, pose, name)
        pose = Pose(quaternion=pose.quaternion)
    body = mover.add_body(name=name, pos=list(pose.position), quat=list(pose.quaternion))
    if mount == "free":
        body.add_freejoint(name=name)
    geoms = add_shape(spec, body, name, described.shape, Pose(), rgba=described.rgba)
    _set_mass(body, described)
    return geoms


def add_body(spec: mujoco.MjSpec, described: GraspObject, pose: Pose, name: str = OBJECT) -> None:
    """Add the free body of an object with its mass, without its shape; as ``add_object``."""
    body = spec.worldbody.add_body(name=name, pos=list(pose.position), quat=list(pose.quaternion))
    body.add_freejoint(name=name)
    _set_mass(body, described)


def _set_mass(body: mujoco.MjsBody, described: GraspObject) -> None:
    volume, inertia = mass_properties(described.shape)
    mass = object_mass(described)
    set_inertia(body, mass, inertia * (mass / volume))


def _planar_carriage(spec: mujoco.MjSpec, pose: Pose, body_name: str) -> mujoco.MjsBody:
    """Add a massless body that carries the object in the x–z plane of the world."""
    carriage = spec.worldbody.add_body(name=f"{body_name}_carriage", pos=list(pose.position))
    kinds = (mujoco.mjtJoint.mjJNT_SLIDE, mujoco.mjtJoint.mjJNT_SLIDE, mujoco.mjtJoint.mjJNT_HINGE)
    axes = ([1, 0, 0], [0, 0, 1], [0, 1, 0])
    for name, kind, axis in zip(object_joints(body_name), kinds, axes, strict=True):
        carriage.add_joint(name=name, type=kind, axis=axis)
    return carriage


def object_mass(described: GraspObject) -> float:
    """Return the mass of an object, as described or from its density [kg]."""
    if described.mass is not None:
        return described.mass
    return mass_properties(described.shape).volume * (described.density or 0.0)


def default_grasp(hand: Hand, described: GraspObject) -> Literal["power", "precision"]:
    """Return ``precision`` where the object is within the payload of that grasp, else ``power``."""
    payload = hand.grasps.precision.payload
    return "precision" if payload is not None and object_mass(described) <= payload else "power"


def with_default_grasp(scene: GraspScene) -> GraspScene:
    """Return the scene with the kind of grasp for its object, where nobody states one."""
    if not scene.adapts_grasp or "grasp" in scene.model_fields_set:
        return scene
    kind = default_grasp(scene.hand, scene.object)
    return scene if kind == scene.grasp else scene.choose(grasp=kind)


def mean_density(described: GraspObject) -> float:
    """Compute the mass of an object over its volume [kg/m³]."""
    return object_mass(described) / mass_properties(described.shape).volume


def is_usual(density: float) -> bool:
    """Return whether a density is plausible for some material [kg/m³]."""
    low, high = USUAL_DENSITY
    return low <= density <= high


def density_guess(described: GraspObject) -> str:
    """Suggest the unit error that would make the density of an object plausible."""
    density = mean_density(described)
    for factor, hint in (MASS_HINTS if described.mass is not None else DENSITY_HINTS).items():
        if is_usual(density * factor):
            return hint.format(density * factor)
    return "mass is in kg, density in kg/m³"


LEVEL = 1e-9
"""Horizontal component of the normal of a horizontal face, at most [–]."""
REMOVED = 100.0
"""Distance by which surroundings are moved down where a test takes them away [m]."""
THICKNESS = 0.05
"""Thickness of a table [m]."""


class PlacedItem(NamedTuple):
    """An object of a scene with its pose at the start."""

    name: str
    """Name in the scene."""
    body: str
    """Name of its body in the model."""
    object: GraspObject
    pose: Pose
    """Pose of its frame at the centre of mass in the world, at the start."""
    mount: Mount


# Objects


def arrange_items(scene: GraspScene) -> list[PlacedItem]:
    """Return all objects of a scene, the object to be grasped first."""
    described = [(scene.object, object_pose(scene), scene.object_mount)]
    for placed in scene.objects:
        frame = np.eye(4)
        frame[:3, :3] = rotation_from_euler(placed.euler)
        pose = Pose(position=placed.position, quaternion=quaternion_of(frame))
        described.append((placed.object, pose, placed.mount))
    items = zip(scene.object_names, names.object_bodies(scene), described, strict=True)
    return [PlacedItem(name, body, *rest) for name, body, rest in items]


def object_pose(scene: GraspScene) -> Pose:
    """Return the start pose of the object to be grasped, with defaults from the grasp of the hand.

    The height on a table is set by ``on_its_table`` before.
    """
    for known, pose in _POSES:
        if known is scene:
            return pose
    _POSES.append((scene, pose := _object_pose(scene)))
    return pose


_POSES: deque[tuple[GraspScene, Pose]] = deque(maxlen=4)
"""The last poses, which a build reads several times."""


def _object_pose(scene: GraspScene) -> Pose:
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
    """Return the scene with the height of its table, or of the object on it, resolved."""
    table = scene.table
    if table is None:
        return scene
    pose = object_pose(scene)
    lowest = lowest_of_object(scene.object, pose)
    if table.height is None:
        around = [
            part.replace(height=lowest) if part is table else part for part in scene.surroundings
        ]
        return scene.choose(surroundings=tuple(around))
    if scene.object_position is not None:
        return scene
    x, y, z = pose.position
    return scene.choose(object_position=(x, y, z + table.height - lowest))


def lowest_of_object(described: GraspObject, pose: Pose) -> float:
    """Compute the world z of the lowest point of an object [m].

    It is the distance to a far table, which the engine computes exactly for every shape.
    """
    spec = mujoco.MjSpec()
    spec.compiler.degree = False
    geoms = add_object(spec, described, pose, "fixed")
    model = compiled(spec, described.name)
    parts = np.flatnonzero(model.geom_bodyid == model.body(OBJECT).id)
    away = np.linalg.norm(model.geom_pos[parts], axis=1) + model.geom_rbound[parts]
    reach = float(away.max())  # of all geoms from the object frame
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


# Surroundings


def add_surroundings(spec: mujoco.MjSpec, scene: GraspScene, under: Pose) -> None:
    """Add the tables, walls and blocks of a scene to a model.

    A single table is not drawn: images show the floor at its height instead.

    Args:
        spec: The model to extend.
        scene: The scene; its tables have their heights.
        under: Pose of the object, below which tables without a specified centre are.
    """
    is_single_table = shows_floor_as_table(scene)
    for part, name in zip(scene.surroundings, names.surrounding_bodies(scene), strict=True):
        if isinstance(part, Table):
            add_table(spec, part, under, name)
        else:
            _add_box(spec, name, *_box(part))
        geom = spec.geom(name)
        geom.rgba, geom.group = AROUND_RGBA[part.type], COLLISION_GROUP if is_single_table else 0
        if not isinstance(part, Table):
            geom.group = 0


def add_table(spec: mujoco.MjSpec, table: Table, under: Pose, name: str = TABLE) -> None:
    """Add a table that does not move and is not drawn.

    Args:
        spec: The model to extend.
        table: The table, with a height.
        under: Pose of the object, below which the table is if it has no specified centre.
        name: Name of its body and geom.
    """
    assert table.height is not None  # resolved by ``on_its_table``
    x, y = table.center or under.position[:2]
    frame = np.eye(4)
    frame[:3, 3] = x, y, table.height - 0.5 * THICKNESS
    _add_box(spec, name, frame, 0.5 * np.array([*table.size, THICKNESS]))
    spec.geom(name).group = COLLISION_GROUP


def find_removed_bodies(model: mujoco.MjModel, scene: GraspScene) -> list[int]:
    """Return the bodies of the surroundings that the hold test takes away."""
    removed = () if scene.success is None else scene.success.removes
    bodies = zip(scene.surrounding_names, names.surrounding_bodies(scene), strict=True)
    return [model.body(body).id for name, body in bodies if name in removed or ALL in removed]


def shows_floor_as_table(scene: GraspScene) -> bool:
    """Whether images show the floor instead of the only table of a scene.

    A table with a specified centre is drawn, as its edges matter.
    """
    tables = [part for part in scene.surroundings if isinstance(part, Table)]
    return len(tables) == 1 and tables[0].center is None


def lowest_surrounding(scene: GraspScene) -> float:
    """Compute the world z of the lowest point of the surroundings [m]; infinite without any."""
    lowest = np.inf
    for part in scene.surroundings:
        if isinstance(part, Table):
            lowest = min(lowest, (part.height or 0.0) - THICKNESS)
        else:
            frame, half = _box(part)
            lowest = min(lowest, float(frame[2, 3] - np.abs(frame[2, :3]) @ half))
    return float(lowest)


def wall_frame(wall: Wall) -> Array:
    """Compute the frame of the face of a wall, (4, 4), world: z outward, x horizontal, y upward."""
    out = np.array(wall.normal) / np.linalg.norm(wall.normal)
    level = np.cross([0.0, 0.0, 1.0], out)
    length = float(np.linalg.norm(level))
    if length < LEVEL:
        level, length = np.array([np.sign(out[2]), 0.0, 0.0]), 1.0
    frame = np.eye(4)
    frame[:3, 0], frame[:3, 2], frame[:3, 3] = level / length, out, wall.point
    frame[:3, 1] = np.cross(out, frame[:3, 0])
    return frame


def _box(part: Wall | Block) -> tuple[Array, Array]:
    """Return the centre frame (4, 4) and half edges (3,) of a wall or a block."""
    if isinstance(part, Wall):
        frame = wall_frame(part)
        frame[:3, 3] -= 0.5 * part.thickness * frame[:3, 2]
        return frame, 0.5 * np.array([*part.size, part.thickness])
    frame = np.eye(4)
    frame[:3, :3], frame[:3, 3] = rotation_from_euler(part.euler), part.position
    return frame, 0.5 * np.array(part.size)


def _add_box(spec: mujoco.MjSpec, name: str, frame: Array, half: Array) -> None:
    """Add a box that does not move and touches nothing without a pair."""
    position = frame[:3, 3].tolist()
    body = spec.worldbody.add_body(name=name, pos=position, quat=list(quaternion_of(frame)))
    body.add_geom(
        name=name, type=mujoco.mjtGeom.mjGEOM_BOX, size=half.tolist(), contype=0, conaffinity=0
    )
