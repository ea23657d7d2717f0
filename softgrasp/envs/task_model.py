"""Models of learning tasks: the scene of a task with its sensors, and what episodes change in it.

One model is compiled for each task. An episode writes shape, size, density, contact and friction
of the object and the positions of movable supports into a copy of it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatch
from functools import cache

import mujoco
import numpy as np
from numpy.typing import NDArray

from softgrasp.description.geometry import Capsule, Cuboid, Cylinder, Ellipsoid, Pose, Sphere
from softgrasp.description.object import GraspObject
from softgrasp.description.scene import GraspScene
from softgrasp.envs.core import finger_members, finger_of_body
from softgrasp.errors import DescriptionError
from softgrasp.mechanics.transforms import Array
from softgrasp.model import names
from softgrasp.model.compile import compiled
from softgrasp.model.contact_sensors import COMPONENTS, contact_layout
from softgrasp.model.object import add_object
from softgrasp.pipeline import compile_scene
from softgrasp.sim.hold_test import palm_body

SENSOR = mujoco.mjtSensor
BODY = mujoco.mjtObj.mjOBJ_XBODY
FREE = int(mujoco.mjtJoint.mjJNT_FREE)
WRIST_LIMITS = (-0.5, 0.5)
"""Limits of the targets of a wrist, whose actuators have none [m or rad]."""
Shape = Sphere | Cuboid | Cylinder | Capsule | Ellipsoid
SHAPES: dict[str, Callable[[float], Shape]] = {
    "ball": lambda size: Sphere(radius=size),
    "cube": lambda size: Cuboid(size=(2.0 * size,) * 3),
    "can": lambda size: Cylinder(radius=size, height=2.6 * size),
    "peg": lambda size: Cuboid(size=(2.0 * size, 2.0 * size, 7.0 * size)),
    "slab": lambda size: Cuboid(size=(2.6 * size, 1.6 * size, 2.4 * size)),
    "egg": lambda size: Ellipsoid(radii=(size, 0.85 * size, 1.25 * size)),
    "pill": lambda size: Capsule(radius=size, length=1.2 * size),
    "bar": lambda size: Cuboid(size=(12.0 * size, 2.0 * size, 2.0 * size)),
}
"""Shapes of half-width ``size`` [m]; the others are similar to that of size 1."""


@dataclass(frozen=True, eq=False)
class Source:
    """Spec of a task before its sensors are added, with the names of its parts."""

    spec: mujoco.MjSpec
    palm: str
    """Body in whose frame the object is observed."""
    bodies: tuple[str, ...] = ()
    """Bodies of the hand that can touch the object."""
    fingers: Mapping[str, str] = field(default_factory=dict)
    """Finger of each body."""
    start: Mapping[str, float] = field(default_factory=dict)
    """Joint positions at the start [rad or m]; zero for others."""
    rates: Mapping[str, float] = field(default_factory=dict)
    """Closing rate of each actuator [rad/s, m/s or Pa/s]."""
    limits: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """Limits of the targets of each actuator."""
    hidden: tuple[str, ...] = ()
    """Joints that are not observed."""
    center: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """Centre of the grasp in the palm frame where it depends on the hand [m]."""
    table: float | None = None
    """World z of the surface under the object where it depends on the hand [m]."""


def scene_source(scene: GraspScene) -> Source:
    """Return the spec of a scene whose hand is on a wrist or fixed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        built = compile_scene(scene)
    spec, model = built.spec.copy(), built.model
    for key in list(spec.keys):
        spec.delete(key)
    joints = [model.joint(i) for i in range(model.njnt) if model.jnt_type[i] != FREE]
    actuators = [actuator.name for actuator in scene.actuators]
    return Source(
        spec,
        model.body(palm_body(model, scene.hand)).name,
        tuple(built.bodies),
        finger_of_body(built),
        {joint.name: float(model.key_qpos[0, joint.qposadr[0]]) for joint in joints},
        dict(zip(actuators, scene.rates, strict=True)),
        dict(zip(actuators, scene.limits, strict=True)),
    )


def object_of(shape: str, size: float, density: float) -> GraspObject:
    """Return a primitive whose height is its half-width ``size`` [m] times a constant.

    Args:
        shape: A key of ``SHAPES``.
        size: Half of its width [m].
        density: Density [kg/m³].
    """
    return GraspObject(name="object", shape=SHAPES[shape](size), density=density)


@dataclass(eq=False)
class TaskModel:
    """Compiled model of a task with the addresses of its quantities."""

    model: mujoco.MjModel
    source: Source
    qpos: Array
    """Start state, (nq,)."""
    lower: Array
    upper: Array
    """Limits of the targets, (nu,)."""
    driven: NDArray[np.int64]
    """Address in ``qpos`` of the joint of each actuator, −1 where it has none, (nu,)."""
    joints: NDArray[np.int64]
    """Addresses of the observed joints in ``qpos``, (nj,)."""
    addresses: dict[str, int]
    """Address of each joint in ``qpos``."""
    sensors: dict[str, slice]
    """Positions of the added sensors in ``sensordata``."""
    contact: slice
    """Positions of the contact forces in ``sensordata``."""
    normal: Array
    """Sums the normal forces of each body on the object from the contact forces, (nc, nb)."""
    fingers: Array
    """Which bodies belong to which finger, (nb, nf) of 0 and 1."""
    object_pairs: NDArray[np.int64]
    """Contact pairs of the object."""
    meshes: Mapping[str, mujoco.MjModel] = field(default_factory=dict)
    """Objects with meshes alone, at density 1; the model has the meshes by their names."""

    def unit(self, shape: str) -> mujoco.MjModel:
        """Return an object alone: a primitive of size 1 m, or an object with a mesh."""
        return self.meshes[shape] if shape in self.meshes else _unit(shape)

    def half_height(self, shape: str, size: float) -> float:
        """Return the height of an upright object above its lowest point [m]; as ``put_object``."""
        unit = self.unit(shape)
        if shape not in self.meshes:
            return size * float(-unit.geom_aabb[0, 2] + unit.geom_aabb[0, 5])
        rotation = np.zeros(9)
        mujoco.mju_quat2Mat(rotation, unit.geom_quat[0])
        heights = unit.mesh_vert @ rotation.reshape(3, 3)[2] + unit.geom_pos[0, 2]
        return float(-heights.min())

    def targets(self, qpos: Array) -> Array:
        """Return the targets that hold positions: those of the joints, else zero, (nu,)."""
        held = np.where(self.driven >= 0, qpos[self.driven], 0.0)
        return np.clip(held, self.lower, self.upper)


def task_model(
    source: Source, extra: Sequence[str] = (), objects: Mapping[str, GraspObject] | None = None
) -> TaskModel:
    """Add sensors and meshes to a spec and compile it.

    Args:
        source: The spec.
        extra: Further quantities: names of joints, or ``body`` and ``body|frame`` for the position
            of a body in the world or in the frame of another.
        objects: Further objects by their names, whose convex hulls may be put into the model.
    """
    spec = source.spec
    spec.option.disableflags |= mujoco.mjtDisableBit.mjDSBL_AUTORESET
    spec.body(names.OBJECT).simple = 0  # axes of inertia may rotate
    added = {
        "object": (SENSOR.mjSENS_FRAMEPOS, names.OBJECT, ""),
        "palm": (SENSOR.mjSENS_FRAMEPOS, source.palm, ""),
        "relative": (SENSOR.mjSENS_FRAMEPOS, names.OBJECT, source.palm),
        "rotation": (SENSOR.mjSENS_FRAMEQUAT, names.OBJECT, source.palm),
        "velocity": (SENSOR.mjSENS_FRAMELINVEL, names.OBJECT, source.palm),
    }
    joints = {joint.name for joint in spec.joints}
    for name in extra:
        body, _, frame = name.partition("|")
        kind = SENSOR.mjSENS_JOINTPOS if name in joints else SENSOR.mjSENS_FRAMEPOS
        added[name] = (kind, body, frame)
    for name, (kind, body, frame) in added.items():
        is_joint = kind == SENSOR.mjSENS_JOINTPOS
        sensor = spec.add_sensor(
            name=f"task_{name}",
            type=kind,
            objtype=mujoco.mjtObj.mjOBJ_JOINT if is_joint else BODY,
            objname=body,
        )
        if frame:
            sensor.reftype, sensor.refname = BODY, frame
    meshes = {name: _hull(name, described) for name, described in (objects or {}).items()}
    for name, alone in meshes.items():
        spec.add_mesh(name=name, uservert=_original(alone))
    model = compiled(spec, "task")
    known = [model.joint(index) for index in range(model.njnt)]
    addresses = {joint.name: int(joint.qposadr[0]) for joint in known}
    seen = [j.qposadr[0] for j in known if j.type[0] != FREE and j.name not in source.hidden]
    qpos = model.qpos0.copy()
    qpos[[addresses[name] for name in source.start]] = list(source.start.values())
    views = [model.sensor(f"task_{name}") for name in added]
    geoms = np.flatnonzero(model.geom_bodyid == model.body(names.OBJECT).id)
    pairs = np.isin(model.pair_geom1, geoms) | np.isin(model.pair_geom2, geoms)
    moves_joint = model.actuator_trntype == int(mujoco.mjtTrn.mjTRN_JOINT)
    driven = model.jnt_qposadr[np.where(moves_joint, model.actuator_trnid[:, 0], 0)]
    lower, upper = _limits(model, source).T
    return TaskModel(
        model,
        source,
        qpos,
        lower,
        upper,
        np.where(moves_joint, driven, -1),
        np.array(seen, dtype=np.int64),
        addresses,
        {n: slice(v.adr[0], v.adr[0] + v.dim[0]) for n, v in zip(added, views, strict=True)},
        *_contact_sums(model, source.bodies),
        finger_members(source.bodies, source.fingers),
        np.flatnonzero(pairs),
        meshes,
    )


def _limits(model: mujoco.MjModel, source: Source) -> Array:
    """Return the limits of the targets of all actuators, (nu, 2)."""
    actuators = [model.actuator(index) for index in range(model.nu)]
    of_model = [
        actuator.ctrlrange if actuator.ctrllimited[0] else WRIST_LIMITS for actuator in actuators
    ]
    pairs = zip(actuators, of_model, strict=True)
    return np.array([source.limits.get(item.name, limits) for item, limits in pairs])


def _contact_sums(model: mujoco.MjModel, bodies: Sequence[str]) -> tuple[slice, Array]:
    """Return the positions of all contact forces, and sums of those with the first object."""
    if not bodies:
        return slice(0, 0), np.zeros((0, 0))
    objects = sum(names.is_object(model.body(index).name) for index in range(model.nbody))
    first, slots, sums = contact_layout(model, list(bodies), objects)
    of_bodies = sums.reshape(len(bodies), len(bodies), sum(slots), COMPONENTS).copy()
    of_bodies[:, :, slots[0] :] = 0.0
    normal = np.ascontiguousarray(of_bodies.reshape(len(bodies), -1).T)
    return slice(first, first + len(normal)), normal


# What an episode changes


def put_object(
    built: TaskModel, model: mujoco.MjModel, data: mujoco.MjData,
    shape: str, size: float, density: float,
) -> None:  # fmt: skip
    """Write an object with its mass and contact into a model of a task.

    Primitives of one kind are similar, so that lengths, masses and moments of inertia are those of
    the one of size 1 and density 1 times powers of both. The reference acceleration of a contact
    is proportional to the inverse masses of its bodies for a given stiffness and damping; that
    effective masses of a hand in contact change likewise is an approximation.

    Args:
        built: The task.
        model: A copy of its model; changed.
        data: A state of it; changed.
        shape: As for ``object_of``, or a mesh of the task, whose size is its own.
        size: Half of its width [m].
        density: Density [kg/m³].
    """
    unit, body, geom = built.unit(shape), model.body(names.OBJECT).id, model.geom(names.OBJECT).id
    is_mesh = shape in built.meshes
    size = 1.0 if is_mesh else size
    model.geom_type[geom], model.geom_quat[geom] = unit.geom_type[0], unit.geom_quat[0]
    model.geom_dataid[geom] = model.mesh(shape).id if is_mesh else -1
    for name in ("size", "aabb", "rbound", "pos"):
        getattr(model, f"geom_{name}")[geom] = size * getattr(unit, f"geom_{name}")[0]
    model.body_mass[body] = density * size**3 * unit.body_mass[1]
    model.body_inertia[body] = density * size**5 * unit.body_inertia[1]
    model.body_ipos[body], model.body_iquat[body] = size * unit.body_ipos[1], unit.body_iquat[1]
    mujoco.mj_setConst(model, data)
    pairs = built.object_pairs
    ratios = _inverse_masses(model, pairs) / _inverse_masses(built.model, pairs)
    model.pair_solref[pairs] = ratios[:, None] * built.model.pair_solref[pairs]


@cache
def _unit(shape: str) -> mujoco.MjModel:
    """Return a primitive of size 1 m and density 1 kg/m³ alone."""
    spec = mujoco.MjSpec()
    add_object(spec, object_of(shape, 1.0, 1.0), Pose(), "free")
    return compiled(spec, shape)


def _hull(name: str, described: GraspObject) -> mujoco.MjModel:
    """Return the convex hull of an object alone, with the mass of the object at density 1."""
    whole = mujoco.MjSpec()
    add_object(whole, described.replace(density=1.0, mass=None), Pose(), "free")
    parts, corners = compiled(whole, name), []
    for geom in range(parts.ngeom):
        mesh, rotation = parts.geom_dataid[geom], np.zeros(9)
        mujoco.mju_quat2Mat(rotation, parts.geom_quat[geom])
        if mesh < 0:
            raise DescriptionError(f"expected an object of meshes, found '{name}'", field="objects")
        first, count = parts.mesh_vertadr[mesh], parts.mesh_vertnum[mesh]
        local = parts.mesh_vert[first : first + count]
        corners.append(local @ rotation.reshape(3, 3).T + parts.geom_pos[geom])
    spec = mujoco.MjSpec()
    spec.add_mesh(name=name, uservert=np.concatenate(corners).ravel())
    body = spec.worldbody.add_body(name=names.OBJECT)
    body.add_freejoint()
    body.add_geom(type=mujoco.mjtGeom.mjGEOM_MESH, meshname=name, mass=0.0)
    body.explicitinertial, body.mass = True, float(parts.body_mass[1])
    body.inertia, body.ipos, body.iquat = (
        parts.body_inertia[1], parts.body_ipos[1], parts.body_iquat[1],
    )  # fmt: skip
    return compiled(spec, name)


def _original(alone: mujoco.MjModel) -> Array:
    """Return the vertices of a mesh in the frame of its body, flat."""
    rotation = np.zeros(9)
    mujoco.mju_quat2Mat(rotation, alone.geom_quat[0])
    return np.asarray(alone.mesh_vert @ rotation.reshape(3, 3).T + alone.geom_pos[0]).ravel()


def _inverse_masses(model: mujoco.MjModel, pairs: NDArray[np.int64]) -> Array:
    """Return the inverse masses of pairs of geoms, (n,) [1/kg]."""
    geoms = np.stack([model.pair_geom1[pairs], model.pair_geom2[pairs]])
    return np.asarray(model.body_invweight0[model.geom_bodyid[geoms], 0].sum(axis=0))


def channel_matrix(task_model: TaskModel, channels: Sequence[str]) -> Array:
    """Return the speed of each actuator at each action 1, (na, nu).

    Args:
        task_model: The model.
        channels: Patterns of actuator names, separated by ``|``: all that match move at their
            closing rates, or at the speed behind ``@`` [rad/s, m/s, N/s or Pa/s]; a minus sign in
            front of a pattern reverses them.

    Raises:
        DescriptionError: A pattern matches no actuator.
    """
    model = task_model.model
    known = [model.actuator(index).name for index in range(model.nu)]
    matrix = np.zeros((len(channels), model.nu))
    for row, channel in enumerate(channels):
        patterns, _, speed = channel.partition("@")
        for pattern in patterns.split("|"):
            sign, bare = (-1.0, pattern[1:]) if pattern.startswith("-") else (1.0, pattern)
            matched = [i for i, name in enumerate(known) if fnmatch(name, bare)]
            if not matched:
                raise DescriptionError(f"expected an actuator, found '{bare}'", field="channels")
            for index in matched:
                rate = float(speed) if speed else task_model.source.rates.get(known[index], 0.0)
                matrix[row, index] = sign * rate
    return matrix
