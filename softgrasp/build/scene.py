"""A grasp scene → a MuJoCo model that is ready to run."""

from __future__ import annotations

import math
import warnings
from functools import lru_cache
from typing import NamedTuple

import mujoco
import numpy as np

from softgrasp.build import names
from softgrasp.build.attached_hand import settle, silence
from softgrasp.build.carried_hand import carried_hand
from softgrasp.build.clearance import START_TOLERANCE, way_to_clear
from softgrasp.build.compiling import compiled
from softgrasp.build.effective_mass import closing_postures
from softgrasp.build.objects import add_object
from softgrasp.build.pairs import (
    Pair,
    add_pairs,
    model_pairs,
    object_pairs,
    penetration,
    self_pairs,
    table_pairs,
)
from softgrasp.build.sensors import add_contact_sensors, contact_slots
from softgrasp.build.table import add_table, lowest_of_object
from softgrasp.build.timestep import resolved_contact, resolved_timestep
from softgrasp.build.visual import FLOOR_GAP, add_visuals
from softgrasp.description.contact import Contact
from softgrasp.description.hand import Hand
from softgrasp.description.pose import Pose
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
    """The contact that the model honours: the asked one, or a softer one where allowed."""


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
    is moved away from the palm, with a warning.
    """
    asked, scene = scene, on_its_table(scene)
    timestep = resolved_timestep(scene)
    hand, touching = carried_hand(
        scene.hand, scene.hand_pose, scene.actuation, scene.arm, scene.lift
    )
    spec, bodies = hand.copy(), list(touching)
    _set_options(spec, scene, timestep)
    held = scene.actuation == "prescribed"
    geoms = add_object(spec, scene.object, object_pose(scene), scene.object_mount)
    if scene.table is not None:
        add_table(spec, scene.table, object_pose(scene))
    add_contact_sensors(spec, bodies, contact_slots(spec, bodies, geoms))
    what = f"{scene.hand.name} with {scene.object.name}"
    bare = compiled(spec, what)
    start = _start_position(bare, scene)
    spec.add_key(name=names.START, qpos=start.tolist(), ctrl=start_targets(scene))
    data = _state_at(bare, start)
    pairs = object_pairs(bare)
    if (way := way_to_clear(bare, data, asked)) is not None:
        place = np.array(object_pose(scene).position) + way
        return build(asked.replace(object_position=tuple(place.tolist())))
    own = _clear_self_pairs(bare, data, scene) if scene.self_contact else []
    contact = resolved_contact(scene, timestep)
    fixed = scene.object_mount == "fixed"
    ways = closing_postures(bare, scene, start)
    add_pairs(spec, bare, pairs, ways, contact, scene.solver, held=held and fixed)
    hand_alone = (scene.hand, scene.hand_pose, scene.actuation, scene.arm, scene.lift, timestep)
    known = (*hand_alone, scene.integrator, scene.start, scene.rates, scene.limits)
    add_pairs(spec, bare, own, ways, contact, scene.solver, held=held, known=known)
    if scene.table is not None:
        top = scene.table.contact or contact
        add_pairs(spec, bare, table_pairs(bare), ways, top, scene.solver, held=held and fixed)
    if scene.hand.model is not None:
        silence(spec, bodies)
    add_visuals(spec, _floor_height(scene, bare))
    return BuiltScene(scene, spec, compiled(spec, what), bodies, contact)


def object_pose(scene: GraspScene) -> Pose:
    """Where the object starts in the world, defaults from the hand's grasp filled in."""
    hand = transform(scene.hand_pose.position, scene.hand_pose.quaternion)
    target = np.eye(4)
    target[:3, 3] = scene.preset.center
    target[:3, :3] = rotation_from_euler(scene.preset.object_euler)
    world = hand @ target
    if scene.object_euler is not None:
        world[:3, :3] = rotation_from_euler(scene.object_euler)
    elif scene.table is not None:
        world[:3, :3] = rotation_from_euler(scene.object.standing)
    elif scene.object.upright:
        world[:3, :3] = np.eye(3)
    position = scene.object_position or position_of(world)
    return Pose(position=position, quaternion=quaternion_of(world))


def on_its_table(scene: GraspScene) -> GraspScene:
    """The scene with the height of its table, and of the object on it, filled in."""
    if scene.table is None:
        return scene
    pose = object_pose(scene)
    lowest = lowest_of_object(scene.object, pose)
    if scene.table.height is None:
        return scene.replace(surroundings=(scene.table.replace(height=lowest),))
    if scene.object_position is not None:
        return scene
    x, y, z = pose.position
    return scene.replace(object_position=(x, y, z + scene.table.height - lowest))


def start_targets(scene: GraspScene) -> list[float]:
    """Targets of all actuators at the start, as ``names.scene_drives`` orders them."""
    if scene.arm is not None:
        return [*scene.start, *(row.start for row in scene.arm.chain.phalanges)]
    return [*scene.start, *(0.0 for _ in names.carrier_joints(scene))]


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
    option.jacobian = mujoco.mjtJacobian.mjJAC_DENSE
    # a diverged state must be seen, not replaced by the start state
    option.disableflags |= mujoco.mjtDisableBit.mjDSBL_AUTORESET


def _start_position(bare: mujoco.MjModel, scene: GraspScene) -> Array:
    position = np.array(bare.qpos0)
    targets = start_targets(scene)
    carried = dict(zip(names.carrier_joints(scene), targets[len(scene.drives) :], strict=True))
    for name, value in (scene.hand.posture(scene.start) | carried).items():
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
    """At the table; else below the object and the fingers on their way from start to limit [m]."""
    if scene.table is not None and scene.table.height is not None:
        return scene.table.height
    below = object_pose(scene).position[2] - float(model.geom_rbound.max(initial=0.0))
    height = min(below, _lowest_finger(scene.hand, scene.hand_pose, scene.start, scene.rates))
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
        drive.limits[0 if rate < 0 else 1]
        for drive, rate in zip(described.drives, all_rates, strict=True)
    ]
    for share in np.linspace(0.0, 1.0, 7) if described.fingers else ():
        posture = described.posture((begin + share * (end - begin)).tolist())
        height = min(height, lowest_point(described, posture, hand))
    for digit in described.soft_fingers:
        base = hand @ transform(digit.base.position)
        height = min(height, float(base[2, 3]) - digit.length)
    return height
