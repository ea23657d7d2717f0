"""Clearance at the start: move the object out of the hand, reject all other overlaps."""

from __future__ import annotations

import copy
import math
import warnings

import mujoco
import numpy as np

from softgrasp.description.scene import GraspScene
from softgrasp.errors import BuildError, SoftgraspWarning
from softgrasp.mechanics.transforms import (
    Array,
    euler_from_quaternions,
    quaternion_of,
    rotation_from_euler,
    transform,
)
from softgrasp.model import names
from softgrasp.model.arm import toward_grasp
from softgrasp.model.contact_pairs import (
    Pair,
    hand_pairs_around,
    object_pairs,
    penetration,
    with_objects,
    with_surroundings,
)

START_TOLERANCE = 1e-6
"""Overlap at the start up to which bodies touch without penetration [m]."""
CLEARANCE = 1e-3
"""Gap between hand and object after the displacement [m]."""
UPWARD = 0.5
"""Cosine to the vertical of the direction from palm to grasp above which a hand points up [–]."""
MAX_DISPLACEMENT, STEP = 0.08, 1e-3
"""Largest displacement of an object, and step of the search [m]."""


def clearing_displacement(
    model: mujoco.MjModel, data: mujoco.MjData, scene: GraspScene
) -> Array | None:
    """Compute the displacement with which the object starts clear of the hand.

    A table without a specified height, which is directly under the object, moves with it.

    Args:
        model: The compiled scene.
        data: Its start state; not changed.
        scene: The scene as described.

    Returns:
        Displacement in the world, (3,) [m]; None where the object is clear already.

    Raises:
        BuildError: The position of the object is specified, or no short displacement clears it.
    """
    hand_and_table = [] if scene.table is None else hand_pairs_around(model, names.TABLE)
    pairs = [*object_pairs(model), *hand_and_table]
    deepest = max(pairs, key=lambda pair: penetration(model, data, pair))
    depth = penetration(model, data, deepest)
    if depth <= START_TOLERANCE:
        return None
    item, obstacle = f"'{scene.object.name}'", deepest.first
    if deepest in hand_and_table:
        item, obstacle = deepest.first, "the table"
    is_positioned = scene.object_position is not None
    is_positioned |= scene.table is not None and scene.table.height is not None
    displacement = None if is_positioned else _shortest_displacement(model, data, pairs, scene)
    if displacement is None:
        raise BuildError(
            f"object_position: expected an object that starts clear of the hand, found "
            f"{item} {depth * 1e3:.2f} mm inside {obstacle}"
            + (_flip_hint(scene) if deepest in hand_and_table else "")
        )
    warnings.warn(
        f"the object starts {np.linalg.norm(displacement) * 1e3:.0f} mm farther from the palm than "
        f"the grasp's centre, where {item} would be {depth * 1e3:.2f} mm inside {obstacle}; "
        "object_position (--position) selects another position",
        SoftgraspWarning,
        stacklevel=3,
    )
    return displacement


def _shortest_displacement(
    model: mujoco.MjModel, data: mujoco.MjData, pairs: list[Pair], scene: GraspScene
) -> Array | None:
    """Search for the shortest displacement away from the palm; None above the maximum."""
    away = _away_from_palm(scene)
    model, data = copy.copy(model), copy.copy(data)
    positions = _object_positions(model, data)
    starts = [position.copy() for position in positions]
    for step in range(1, round(MAX_DISPLACEMENT / STEP) + 1):
        displacement = step * STEP * away
        for position, start in zip(positions, starts, strict=True):
            position[:] = start + displacement
        mujoco.mj_kinematics(model, data)
        if all(penetration(model, data, pair) <= 1e-9 - CLEARANCE for pair in pairs):
            return np.asarray(displacement)
    return None


def _object_positions(model: mujoco.MjModel, data: mujoco.MjData) -> list[Array]:
    """Return views of the positions of the object and its table, to be changed in place."""
    tables = [i for i in range(model.nbody) if model.body(i).name == names.TABLE]
    positions = [np.asarray(model.body_pos[index]) for index in tables]
    body = model.body(names.OBJECT)
    joint = int(body.jntadr[0])
    if joint >= 0 and model.jnt_type[joint] == mujoco.mjtJoint.mjJNT_FREE:
        first = int(model.jnt_qposadr[joint])
        return [*positions, np.asarray(data.qpos[first : first + 3])]
    return [*positions, np.asarray(model.body_pos[body.id])]


def _away_from_palm(scene: GraspScene) -> Array:
    """Compute the unit vector from the middle of the finger bases to the grasp centre, world."""
    rotation = transform(quaternion=scene.hand_pose.quaternion)[:3, :3]
    return np.asarray(rotation @ toward_grasp(scene.hand, scene.preset.center))


def _flip_hint(scene: GraspScene) -> str:
    """Suggest to flip a hand whose fingers point up above a table; empty for others."""
    pose = transform(scene.hand_pose.position, scene.hand_pose.quaternion)
    reach = pose[:3, :3] @ toward_grasp(scene.hand, scene.preset.center)
    if reach[2] < UPWARD:
        return ""
    flipped = rotation_from_euler((math.pi, 0.0, 0.0)) @ pose[:3, :3]
    quaternion = ", ".join(f"{part:.4g}" for part in np.round(quaternion_of(flipped), 6) + 0.0)
    angles_deg = np.degrees(euler_from_quaternions(np.array(quaternion_of(flipped))))
    angles = " ".join(f"{angle:.4g}" for angle in np.round(angles_deg, 4) + 0.0)
    return (
        "; the hand's fingers point up, and objects on a table are grasped from above: flip the "
        f"hand with hand_pose.quaternion [{quaternion}] (--hand-euler-deg {angles})"
    )


def refuse_overlaps(model: mujoco.MjModel, data: mujoco.MjData, scene: GraspScene) -> None:
    """Reject a start in which objects, surroundings or hand overlap.

    Args:
        model: The compiled scene.
        data: Its start state; not changed.
        scene: The scene.

    Raises:
        BuildError: Two of them overlap; names the pair with the deepest penetration.
    """
    if not scene.objects and not scene.surroundings:
        return
    groups = [*with_objects(scene, model), *with_surroundings(scene, model)]
    pairs = [pair for group in groups for pair in group.pairs if not _both_fixed(model, pair)]
    deepest = max(pairs, key=lambda pair: penetration(model, data, pair))
    depth = penetration(model, data, deepest)
    if depth > START_TOLERANCE:
        first, second = (_geom_label(model, geom, scene) for geom in deepest)
        raise BuildError(
            f"expected a start without overlaps, found {first} "
            f"{depth * 1e3:.2f} mm inside {second}; move one of them"
        )


def _both_fixed(model: mujoco.MjModel, pair: Pair) -> bool:
    """Whether neither geom of a pair can move; such geoms may overlap, as a wall and a table."""
    bodies = [int(model.geom(geom).bodyid[0]) for geom in pair]
    movers = [body for body in bodies if model.body_weldid[body] != 0]
    return not movers


def _geom_label(model: mujoco.MjModel, geom: str, scene: GraspScene) -> str:
    """Describe the owner of a geom for messages."""
    body = str(model.body(int(model.geom(geom).bodyid[0])).name)
    name = names.display_names(scene).get(body)
    if name is None:
        return f"{body} of the hand"
    if not names.is_around(body):
        return f"object '{name}'"
    kind = body.rstrip("0123456789")
    return f"the {kind}" if name == kind else f"{kind} '{name}'"
