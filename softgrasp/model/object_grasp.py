"""Grasp of a described object by a hand whose grasps are computed for each object.

``fitted`` replaces centre, orientation and rates of such a grasp by those for the object of the
scene. Grasps with specified centres, and scenes with a specified position, remain as they are.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache
from itertools import chain

import numpy as np

from softgrasp.description.actuation import Rates
from softgrasp.description.geometry import Compound, Mesh, ObjectShape
from softgrasp.description.hand import GraspPreset, Hand
from softgrasp.description.scene import GraspScene, Solver
from softgrasp.description.task import PreshapePhase, SuccessCriterion
from softgrasp.errors import DescriptionError
from softgrasp.extensions import GRASP_TRIAL, load
from softgrasp.grasp_synthesis.hand_model import ClosingHand, DescribedHand
from softgrasp.grasp_synthesis.object_field import ObjectField, Part
from softgrasp.grasp_synthesis.object_grasp import ObjectGrasp, ObjectSearch
from softgrasp.io.files import report_progress
from softgrasp.io.grasp_presets import corners, link_surfaces
from softgrasp.io.mesh import load_mesh
from softgrasp.io.mesh_repair import hull_of
from softgrasp.io.mjcf.hand import closing_model
from softgrasp.mechanics.transforms import (
    Array,
    euler_from_quaternions,
    quaternion_of,
    rotation_from_euler,
    transform,
)
from softgrasp.model.shapes import convex_parts, mass_properties

RAMP_TIME, HOLD_TIME = 0.1, 0.2
"""Duration of the gravity ramp and of the hold test of a trial [s]."""
CONTROL_PERIOD = 1e-3
"""Time between two samples of the controller in a trial [s]."""
HELD = 3e-4
"""Displacement of the object in a trial up to which a grasp is taken [m]."""


def fitted(scene: GraspScene) -> GraspScene:
    """Return the scene with the grasp of its hand computed for its object, where that applies.

    The best poses of a geometric search are tried in short runs; the first one that holds is taken,
    or else the one in which the object moves least, the grasp for a ball among them.

    Args:
        scene: The scene; unchanged if its grasp or the position of its object is specified, or if
            its object stands on a table or cannot move freely.
    """
    if not _is_open(scene):
        return scene
    preset = _chosen(_reduced(scene))
    grasps = scene.hand.grasps.replace(**{scene.grasp: preset})
    return scene.replace(hand=scene.hand.replace(grasps=grasps))


def _is_open(scene: GraspScene) -> bool:
    """Whether the grasp of a scene has to be computed for its object."""
    specified = scene.object_position is not None or scene.preshape is not None
    specified |= any(isinstance(phase, PreshapePhase) for phase in scene.sequence)
    free = scene.object_mount != "planar" and scene.table is None
    return scene.preset.per_object and free and not specified and not scene.hand.soft_fingers


def _reduced(scene: GraspScene) -> GraspScene:
    """Return the scene of a trial: closure and short hold test of hand and object alone.

    Contact and time step are the defaults, so that all scenes of a sweep over them have one grasp.
    """
    gravity = None if scene.success is None else scene.success.gravity
    test = SuccessCriterion(ramp_time=RAMP_TIME, hold_time=HOLD_TIME)
    return scene.replace(
        name="",
        object=scene.object.replace(elasticity=None),
        object_mount="free",
        objects=(),
        surroundings=(),
        arm=None,
        sequence=(),
        success=test if gravity is None else test.replace(gravity=gravity),
        lift=None,
        sensors=(),
        contact=None,
        allow_softer_contact=True,
        timestep=None,
        control_period=CONTROL_PERIOD,
        duration=None,
        solver=Solver(),
        source="",
        seed=0,
    )


@lru_cache(maxsize=256)
def _chosen(scene: GraspScene) -> GraspPreset:
    """Return the first grasp that holds in a trial, or the one in which the object moves least."""
    report_progress(f"searching a grasp of {scene.object.name} by {scene.hand.name}")
    ball = scene.preset.replace(per_object=False)
    best, smallest = None, math.inf
    for preset in chain(_presets(scene), [ball]):
        best = best or preset
        grasps = scene.hand.grasps.replace(**{scene.grasp: preset})
        try:
            trial = scene.replace(hand=scene.hand.replace(grasps=grasps))
        except DescriptionError:  # joints too slow for a trial, for example
            break
        displacement = load(GRASP_TRIAL)(trial)
        if displacement < smallest:
            best, smallest = preset, displacement
        if displacement <= HELD:
            break
    assert best is not None
    return best


def _presets(scene: GraspScene) -> Iterator[GraspPreset]:
    """Yield grasps for the object of a scene in the order of their scores."""
    preset, hand = scene.preset, scene.hand
    closing, frame = _closing_hand(hand)
    to_world = transform(quaternion=scene.hand_pose.quaternion)[:3, :3] @ frame[:3, :3]
    field = _field(scene.object.shape)
    search = ObjectSearch(closing, preset.start or closing.rest, scene.grasp, field)
    upright = rotation = None
    if scene.object_euler is not None:
        rotation = to_world.T @ rotation_from_euler(scene.object_euler)
    elif scene.object.upright and preset.upright_euler is None:
        upright = to_world[2]
    for grasp in search.best(upright, rotation):
        yield _preset(preset, search, grasp, frame)


def _closing_hand(hand: Hand) -> tuple[ClosingHand, Array]:
    """Return the hand for the search and the pose of its frame in the hand's frame, (4, 4)."""
    if hand.model is None:
        return DescribedHand(hand, link_surfaces(hand)), np.eye(4)
    pose = hand.model.pose
    return closing_model(hand.model), transform(pose.position, pose.quaternion)


@lru_cache(maxsize=16)
def _field(shape: ObjectShape) -> ObjectField:
    """Sample the distances from a shape."""
    return ObjectField(_parts(shape), mass_properties(shape).inertia)


def _parts(shape: ObjectShape) -> list[Part]:
    """Return the convex parts of a shape about its centre of mass."""
    if isinstance(shape, Compound):
        return convex_parts(shape)
    if isinstance(shape, Mesh):
        return list(load_mesh(shape).parts)
    hull = hull_of(corners(shape))
    return [(hull.vertices, hull.faces)]


def _preset(
    preset: GraspPreset, search: ObjectSearch, grasp: ObjectGrasp, frame: Array
) -> GraspPreset:
    """Make a preset of a pose of the object; it is not computed again."""
    x, y, z = (frame @ [*grasp.position, 1.0])[:3].round(6).tolist()
    about = euler_from_quaternions(_quaternion(frame[:3, :3] @ grasp.rotation))
    a, b, c = np.round(about, 6).tolist()
    return preset.replace(
        center=(x, y, z),
        object_euler=(a, b, c),
        upright_euler=(a, b, c),
        rates=Rates(_rates(preset, search, grasp.arrivals)),
        per_object=False,
    )


def _rates(preset: GraspPreset, search: ObjectSearch, arrivals: Array) -> list[float]:
    """Scale the closing rates so that all fingers reach the object together [unit/s]."""
    rates = np.array(preset.rates, dtype=float)
    closing = search.closing
    travel = np.abs(search.weights * (closing.end - closing.start))
    fastest = 0.0
    speeds = np.zeros(len(rates))
    for group, arrival in zip(closing.groups, arrivals.tolist(), strict=True):
        moving = [index for index in group if travel[index] > 0.0]
        speed = max((abs(rates[i]) / travel[i] for i in moving), default=0.0)
        fastest = max(fastest, speed)
        if speed > 0.0:
            speeds[moving] = arrival / speed
    scale = fastest / max((arrival for arrival in arrivals.tolist()), default=1.0)
    scaled = np.round(np.where(speeds > 0.0, rates * speeds * scale, rates), 6)
    return [float(rate) for rate in scaled]


def _quaternion(rotation: Array) -> Array:
    """Compute the quaternion of a rotation, (4,)."""
    frame = np.eye(4)
    frame[:3, :3] = rotation
    return np.array(quaternion_of(frame))
