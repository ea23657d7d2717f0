"""Check before a run whether the hand can close on the object at all.

``closing_obstacle`` reports hands without a closing rate, objects out of reach of every moving
link, and hands of which everything near the object stays on one side of it. Such a run stops before
anything moves, with the outcome NOT_CLOSED. The checks are necessary conditions: where they do not
apply, as for hands whose links are not all driven, the run decides.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import NamedTuple

import mujoco
import numpy as np
from numpy.typing import NDArray

from softgrasp.description.arm import HandCarrier
from softgrasp.description.scene import GraspScene
from softgrasp.description.task import PreshapePhase
from softgrasp.mechanics.transforms import Array
from softgrasp.model import names
from softgrasp.model.arm import wrist_center
from softgrasp.model.compile import scratch_data
from softgrasp.model.contact_pairs import object_pairs
from softgrasp.model.scene import CompiledScene
from softgrasp.quality.contact_forces import can_balance

NEARBY = 2.0
"""Distance from the object up to which bodies of the hand may come into contact with it while it
is pushed, in radii of the object [–]."""
STEPS = 32
"""Steps of the closing motion at which the directions of bodies from the object are taken."""
TOUCHING = 1e-9
"""Distance up to which two boxes touch [m]."""
PROJECTIONS = 4
"""Alternating projections between two boxes, which find their nearest points."""
MAX_CACHED = 16
"""Number of hands whose motion is kept."""
ONE_SIDE_TOLERANCE = np.radians(25.0)
"""Angle by which friction cones are widened, because boxes stand for the bodies [rad]."""


def closing_obstacle(built: CompiledScene) -> str:
    """Return why the hand cannot close on the object; empty where it may.

    Args:
        built: The compiled scene at its start.
    """
    scene, model = built.scene, built.model
    if scene.duration is not None:  # a run of a requested time is simulated
        return ""
    shaped = any(isinstance(phase, PreshapePhase) for phase in scene.sequence)
    if shaped or isinstance(scene.arm, HandCarrier) or not built.bodies:
        return ""
    data = scratch_data(model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    mujoco.mj_fwdPosition(model, data)
    pairs = [] if model.nflex else object_pairs(model)
    geoms = _Geoms(_ids(model, [one for one, _ in pairs]), _ids(model, [two for _, two in pairs]))
    if not pairs or _in_contact(data, geoms):
        return ""
    if not any(scene.rates):
        return _no_rates(scene)
    falls = any(scene.gravity) and scene.object_mount != "fixed" and scene.table is None
    if scene.sequence or falls or scene.objects:
        return ""
    fingers = _fingers(scene, model, geoms)
    args = (scene, model, data, geoms, fingers)
    return _out_of_reach(*args) or _one_side(*args)


Indices = NDArray[np.int64]
Frames = tuple[Array, Array]
"""Origins (n, 3) [m] and rotations (n, 9) of geoms, world frame."""


class _Geoms(NamedTuple):
    """Geoms of the hand that can touch the object, and of the object."""

    hand: Indices
    object: Indices


class _Fingers(NamedTuple):
    """What depends on the hand alone, kept because the grasps of a sweep have the same hand."""

    reaches: list[tuple[Array, float]]
    """Of each moved geom the anchor of the first joint and a bound of the distance from it."""
    frames: dict[int, Frames]
    """Frames of the geoms at steps of the closing motion."""


_FINGERS: dict[Hashable, _Fingers] = {}


def _fingers(scene: GraspScene, model: mujoco.MjModel, geoms: _Geoms) -> _Fingers:
    """Return what is known of the hand's motion so far."""
    carrier = (scene.mechanism, scene.hand_pose, scene.actuation, scene.arm, wrist_center(scene))
    motion = (scene.hand, scene.lift, scene.closing_motion, scene.start, scene.gravity)
    numbers = (float(model.opt.timestep), scene.integrator, *geoms.hand.tolist())
    key = (carrier, motion, numbers)
    if key not in _FINGERS:
        while len(_FINGERS) >= MAX_CACHED:
            del _FINGERS[next(iter(_FINGERS))]
        _FINGERS[key] = _Fingers([], {})
    return _FINGERS[key]


def _ids(model: mujoco.MjModel, geoms: list[str]) -> Indices:
    return np.array([model.geom(name).id for name in dict.fromkeys(geoms)], dtype=np.int64)


def _in_contact(data: mujoco.MjData, geoms: _Geoms) -> bool:
    of_hand, of_object = (np.isin(data.contact.geom, side) for side in geoms)
    return bool((of_hand.any(axis=-1) & of_object.any(axis=-1)).any())


def _no_rates(scene: GraspScene) -> str:
    return (
        f"expected a closing rate other than zero in the {scene.grasp} grasp of "
        f"'{scene.hand.name}', found zero for all {len(scene.rates)} actuators; set "
        f"closure.rates (--set closure.rates=1) or grasps.{scene.grasp}.rates of the hand"
    )


def _out_of_reach(
    scene: GraspScene, model: mujoco.MjModel, data: mujoco.MjData, geoms: _Geoms, fingers: _Fingers
) -> str:
    """Return the distance that is missing where no moving link can reach the object."""
    centre, radius = _object_sphere(model, data, geoms.object)
    if not fingers.reaches:
        joints = {int(model.joint(name).id) for name in names.joint_names(scene.hand)}
        reaches = (_reach(model, data, geom, joints) for geom in geoms.hand.tolist())
        fingers.reaches.extend(reach for reach in reaches if reach is not None)
    gaps = [
        float(np.linalg.norm(centre - anchor)) - radius - length
        for anchor, length in fingers.reaches
    ]
    if not gaps:
        return f"no link of '{scene.hand.name}' that can touch the object moves with a joint"
    if min(gaps) <= 0.0:
        return ""
    return (
        f"the object is out of reach: {1e3 * min(gaps):.3g} mm farther than any link comes; "
        "another position (--position, in m; object_position of the scene) is needed"
    )


def _reach(
    model: mujoco.MjModel, data: mujoco.MjData, geom: int, joints: set[int]
) -> tuple[Array, float] | None:
    """Return the first joint's anchor and a bound of a geom's distance from it; None if fixed."""
    body, end = int(model.geom_bodyid[geom]), data.geom_xpos[geom]
    length, anchor = float(model.geom_rbound[geom]), None
    while body:
        first = int(model.body_jntadr[body])
        for joint in reversed(range(first, first + int(model.body_jntnum[body]))):
            if joint not in joints:
                continue
            anchor = data.xanchor[joint].copy()
            length += float(np.linalg.norm(end - anchor))
            if model.jnt_type[joint] == mujoco.mjtJoint.mjJNT_SLIDE:
                low, high = model.jnt_range[joint]
                length += float(high - low) if model.jnt_limited[joint] else np.inf
            end = anchor
        body = int(model.body_parentid[body])
    return None if anchor is None else (anchor, length)


def _object_sphere(
    model: mujoco.MjModel, data: mujoco.MjData, geoms: Indices
) -> tuple[Array, float]:
    """Return centre and radius of a sphere around the object [m], world frame."""
    centre = data.geom_xpos[geoms].mean(axis=0)
    distances = np.linalg.norm(data.geom_xpos[geoms] - centre, axis=1)
    return centre, float((distances + model.geom_rbound[geoms]).max())


def _one_side(
    scene: GraspScene, model: mujoco.MjModel, data: mujoco.MjData, geoms: _Geoms, fingers: _Fingers
) -> str:
    """Return a sentence where all bodies that come near the object stay on one side of it."""
    # surroundings can oppose, too
    if scene.surroundings or not _is_all_driven(scene):
        return ""
    friction = scene.grip_friction
    _, radius = _object_sphere(model, data, geoms.object)
    directions, touches = np.zeros((0, 3)), False
    # coarse steps first: most hands enclose the object at one of them
    for step in sorted(range(STEPS + 1), key=lambda index: index & -index, reverse=True):
        if step not in fingers.frames:
            _pose_fingers(scene, model, data, step / STEPS)
            posed = data.geom_xpos[geoms.hand].copy(), data.geom_xmat[geoms.hand].copy()
            fingers.frames[step] = posed
        new = _directions(model, data, geoms, fingers.frames[step], NEARBY * radius)
        if new is None:
            return ""
        inward, touching = new
        directions, touches = np.concatenate([directions, inward]), touches or touching
        if can_balance(directions, friction, float(ONE_SIDE_TOLERANCE)):
            return ""
    if not touches:  # the hand closes beside the object
        return ""
    mean = directions.mean(axis=0)
    axis = mean / max(float(np.linalg.norm(mean)), 1e-12)
    text = ", ".join(f"{part:.2f}" for part in axis)
    return (
        "everything of the hand that comes near the object presses on the same side of it, along "
        f"({text}) of the world; a thumb or finger that opposes, another --position or "
        "orientation (--euler-deg), or another --grasp is needed"
    )


def _is_all_driven(scene: GraspScene) -> bool:
    """Whether actuators and couplings determine all joints of the hand."""
    if scene.hand.soft_fingers or scene.mechanism.actuators:
        return False
    driven = {actuator.joint for actuator in scene.actuators}
    driven |= {coupling.joint for coupling in scene.hand.couplings}
    return set(names.joint_names(scene.hand)) <= driven


def _pose_fingers(
    scene: GraspScene, model: mujoco.MjModel, data: mujoco.MjData, fraction: float
) -> None:
    """Set the joints to a fraction of the closing motion without contact."""
    values: dict[str, float] = {}
    time = fraction * scene.longest_closure
    for actuator, rate, (low, high) in zip(scene.actuators, scene.rates, scene.limits, strict=True):
        if actuator.joint is not None:
            values[actuator.joint] = min(max(actuator.start + rate * time, low), high)
    for _ in scene.hand.couplings:  # a leader may follow another joint
        for coupling in scene.hand.couplings:
            if coupling.leader in values:
                values[coupling.joint] = coupling.ratio * values[coupling.leader] + coupling.offset
    for name, value in values.items():
        data.qpos[int(model.joint(name).qposadr[0])] = value
    mujoco.mj_kinematics(model, data)


def _directions(
    model: mujoco.MjModel, data: mujoco.MjData, geoms: _Geoms, hand: Frames, reach: float
) -> tuple[Array, bool] | None:
    """Return directions (n, 3) in which bodies up to a distance press, and whether one touches.

    Bodies and object are replaced by boxes around them; None where a body of the hand is at the
    centre of the object, so that it has no direction.
    """
    boxes = model.geom_aabb[geoms.hand]
    body = model.body(names.OBJECT).id
    rotation, origin = data.xmat[body].reshape(3, 3), data.xpos[body]
    low, high = _bounding_box(model, data, geoms.object, rotation, origin)
    at = np.tile(0.5 * (low + high), (len(geoms.hand), 1))
    point = at
    for _ in range(PROJECTIONS):
        point = _onto_boxes(hand, boxes, at @ rotation.T + origin)
        point = (point - origin) @ rotation
        at = np.clip(point, low, high)
    gap = at - point
    distance = np.linalg.norm(gap, axis=1)
    near = distance <= reach
    if (np.linalg.norm(point - 0.5 * (low + high), axis=1) < 1e-9).any():
        return None
    # inside the box: towards the nearest face
    faces = np.concatenate([point - low, high - point], axis=1).argmin(axis=1)
    normals = np.concatenate([np.eye(3), -np.eye(3)])[faces]
    away = gap / np.maximum(distance, 1e-12)[:, None]
    inward = np.where(distance[:, None] > TOUCHING, away, normals)
    return inward[near] @ rotation.T, bool((distance <= TOUCHING).any())


def _bounding_box(
    model: mujoco.MjModel, data: mujoco.MjData, geoms: Indices, rotation: Array, origin: Array
) -> tuple[Array, Array]:
    """Return the lowest and highest corner of a box around geoms in a frame [m]."""
    lows, highs = [], []
    for geom in geoms.tolist():
        relative = rotation.T @ data.geom_xmat[geom].reshape(3, 3)
        centre, half = model.geom_aabb[geom, :3], model.geom_aabb[geom, 3:]
        middle = relative @ centre + rotation.T @ (data.geom_xpos[geom] - origin)
        extent = np.abs(relative) @ half
        lows.append(middle - extent)
        highs.append(middle + extent)
    return np.min(lows, axis=0), np.max(highs, axis=0)


def _onto_boxes(frames: Frames, boxes: Array, points: Array) -> Array:
    """Return the points of boxes (centres and half sizes in frames) nearest to one point each."""
    origins, rotations = frames[0], frames[1].reshape(-1, 3, 3)
    inside = np.einsum("nji,nj->ni", rotations, points - origins)
    centre, half = boxes[:, :3], boxes[:, 3:]
    nearest = np.clip(inside, centre - half, centre + half)
    return np.asarray(np.einsum("nij,nj->ni", rotations, nearest) + origins)
