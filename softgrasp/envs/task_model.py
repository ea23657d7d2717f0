"""Models of learning tasks: the scene of a task with its sensors, and what episodes change in it.

One model is compiled for each task. An episode writes shape, size, density and friction of the
object and the positions of movable supports into a copy of it.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatch

import mujoco
import numpy as np
from numpy.typing import NDArray

from softgrasp.description.geometry import Capsule, Cuboid, Cylinder, Pose, Sphere
from softgrasp.description.object import GraspObject
from softgrasp.description.scene import GraspScene
from softgrasp.errors import DescriptionError
from softgrasp.mechanics.transforms import Array
from softgrasp.model import names
from softgrasp.model.compile import compiled, put_object
from softgrasp.model.contact_sensors import COMPONENTS
from softgrasp.model.object import add_object
from softgrasp.pipeline import compile_scene
from softgrasp.sim.hold_test import palm_body

SENSOR = mujoco.mjtSensor
BODY = mujoco.mjtObj.mjOBJ_XBODY
WRIST_LIMITS = (-0.5, 0.5)
"""Limits of the targets of a wrist [m or rad]."""
Shape = Sphere | Cuboid | Cylinder | Capsule


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


def scene_source(scene: GraspScene) -> Source:
    """Return the spec of a scene whose hand is on a wrist or fixed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        built = compile_scene(scene)
    spec, model = built.spec.copy(), built.model
    for key in list(spec.keys):
        spec.delete(key)
    parts = names.parts(scene.hand)
    start = {
        model.joint(index).name: float(model.key_qpos[0, model.jnt_qposadr[index]])
        for index in range(model.njnt)
        if model.jnt_type[index] != mujoco.mjtJoint.mjJNT_FREE
    }
    commands = zip(scene.actuators, scene.rates, scene.limits, strict=True)
    return Source(
        spec,
        model.body(palm_body(model, scene.hand)).name,
        tuple(built.bodies),
        {body: parts[body][0] for body in built.bodies if body in parts},
        start,
        {actuator.name: rate for actuator, rate, _ in commands},
        dict(zip((a.name for a in scene.actuators), scene.limits, strict=True)),
    )


def object_of(shape: str, size: float, density: float) -> GraspObject:
    """Return a primitive whose height is its half-width ``size`` [m] times a constant.

    Args:
        shape: ``ball``, ``cube``, ``can`` (cylinder) or ``peg`` (slender cuboid).
        size: Half of its width [m].
        density: Density [kg/m³].
    """
    shapes: dict[str, Shape] = {
        "ball": Sphere(radius=size),
        "cube": Cuboid(size=(2.0 * size,) * 3),
        "can": Cylinder(radius=size, height=2.6 * size),
        "peg": Cuboid(size=(2.0 * size, 2.0 * size, 7.0 * size)),
        "bar": Cuboid(size=(12.0 * size, 2.0 * size, 2.0 * size)),
    }
    return GraspObject(name="object", shape=shapes[shape], density=density)


def half_height(shape: str, size: float) -> float:
    """Return half the height of an upright object [m]; arguments as for ``object_of``."""
    return size * {"can": 1.3, "peg": 3.5}.get(shape, 1.0)


@dataclass(eq=False)
class TaskModel:
    """Compiled model of a task with the addresses of its quantities."""

    model: mujoco.MjModel
    source: Source
    qpos: Array
    """Start state, (nq,)."""
    targets: Array
    """Targets at the start, (nu,)."""
    lower: Array
    upper: Array
    """Limits of the targets, (nu,)."""
    joints: NDArray[np.int64]
    """Addresses of the observed joints in ``qpos``, (nj,)."""
    sensors: dict[str, slice]
    """Positions of the added sensors in ``sensordata``."""
    normal: Array
    """Sums the normal forces of each body from ``sensordata`` of the contact sensors, (nc, nb)."""
    contact: slice
    """Positions of the contact forces in ``sensordata``."""
    finger: NDArray[np.int64]
    """Index of the finger of each body, −1 for the palm, (nb,)."""
    object_pairs: NDArray[np.int64]
    """Contact pairs of the object."""


def task_model(source: Source, extra: Sequence[str] = ()) -> TaskModel:
    """Add sensors to a spec and compile it.

    Args:
        source: The spec.
        extra: Further quantities: names of joints, or ``body`` and ``body|frame`` for the position
            of a body in the world or in the frame of another.
    """
    spec = source.spec
    spec.option.disableflags |= mujoco.mjtDisableBit.mjDSBL_AUTORESET
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
    model = compiled(spec, "task")
    sensors = {name: _slice(model, f"task_{name}") for name in added}
    return _with_addresses(model, source, sensors)


def _with_addresses(model: mujoco.MjModel, source: Source, sensors: dict[str, slice]) -> TaskModel:
    qpos = model.qpos0.copy()
    for joint, value in source.start.items():
        qpos[model.joint(joint).qposadr[0]] = value
    limits = np.array(
        [
            source.limits.get(model.actuator(i).name, model.actuator(i).ctrlrange)
            for i in range(model.nu)
        ]
    ).reshape(-1, 2)
    free = ~model.actuator_ctrllimited.astype(bool)
    for index in range(model.nu):
        if model.actuator(index).name not in source.limits and free[index]:
            limits[index] = (-0.5, 0.5)
    hinged = model.jnt_type != mujoco.mjtJoint.mjJNT_FREE
    seen = [
        int(model.jnt_qposadr[i])
        for i in np.flatnonzero(hinged)
        if model.joint(i).name not in source.hidden
    ]
    fingers = list(dict.fromkeys(source.fingers.values()))
    finger = [
        fingers.index(source.fingers[body]) if body in source.fingers else -1
        for body in source.bodies
    ]
    contact, normal = _contact_sums(model, source.bodies)
    geoms = np.flatnonzero(model.geom_bodyid == model.body(names.OBJECT).id)
    pairs = np.isin(model.pair_geom1, geoms) | np.isin(model.pair_geom2, geoms)
    start = [_start_of(model, i, qpos) for i in range(model.nu)]
    targets = np.clip(start, limits[:, 0], limits[:, 1])
    return TaskModel(
        model, source, qpos, targets, limits[:, 0], limits[:, 1], np.array(seen, dtype=np.int64),
        sensors, normal, contact, np.array(finger, dtype=np.int64), np.flatnonzero(pairs),
    )  # fmt: skip


def _start_of(model: mujoco.MjModel, actuator: int, qpos: Array) -> float:
    """Return the target of an actuator at the start: its joint's position, else zero."""
    if model.actuator_trntype[actuator] != mujoco.mjtTrn.mjTRN_JOINT:
        return 0.0
    return float(qpos[model.jnt_qposadr[model.actuator_trnid[actuator, 0]]])


def _slice(model: mujoco.MjModel, sensor: str) -> slice:
    view = model.sensor(sensor)
    return slice(int(view.adr[0]), int(view.adr[0] + view.dim[0]))


def _contact_sums(model: mujoco.MjModel, bodies: Sequence[str]) -> tuple[slice, Array]:
    """Return the positions of all contact forces with the first object, and their sums."""
    slices = [_slice(model, names.contact_sensor(body)) for body in bodies]
    if not slices:
        return slice(0, 0), np.zeros((0, 0))
    first, last = min(s.start for s in slices), max(s.stop for s in slices)
    sums = np.zeros((last - first, len(bodies)))
    for column, part in enumerate(slices):
        sums[part.start - first : part.stop - first : COMPONENTS, column] = 1.0
    return slice(first, last), sums


# What an episode changes


def with_object(model: mujoco.MjModel, data: mujoco.MjData, described: GraspObject) -> None:
    """Write a primitive with its mass into a model whose object is a free one of one geom.

    Args:
        model: The model; changed.
        data: A state of it; changed.
        described: The object.
    """
    spec = mujoco.MjSpec()
    (geom,) = add_object(spec, described, Pose(), "free")
    alone = compiled(spec, described.name)
    model.geom(geom).type[0] = alone.geom(geom).type[0]
    put_object(model, data, alone, names.OBJECT, [geom])


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
