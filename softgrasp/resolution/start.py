"""Start of a grasp: the place of the object, clear of the hand, and the height of its table.

An object without a stated position is at the grasp's centre, or on its table. Where it would be
inside the hand it is moved away from the palm.
"""

from __future__ import annotations

import copy
import warnings

import mujoco
import numpy as np

from softgrasp.description.base import Vec3
from softgrasp.description.contact import Source
from softgrasp.description.resolved import Origin
from softgrasp.description.scene import GraspScene
from softgrasp.errors import SoftgraspWarning
from softgrasp.mechanics.transforms import Array, transform, triple
from softgrasp.model import names
from softgrasp.model.arm import toward_grasp
from softgrasp.model.clearance import Overlap, clearing_pairs, refuse_hand_overlap
from softgrasp.model.contact_pairs import penetration
from softgrasp.model.object import object_pose, on_its_table
from softgrasp.model.scene import Assembled, assemble
from softgrasp.model.timestep import resolve_timestep

CLEARANCE = 1e-3
"""Gap between hand and object after the displacement [m]."""
MAX_DISPLACEMENT, STEP = 0.08, 1e-3
"""Largest displacement of an object, and step of the search [m]."""


def with_clear_start(scene: GraspScene, timestep: float, origins: dict[str, Origin]) -> GraspScene:
    """Return the scene with the position of its object and the heights of its tables.

    A table without a stated height, which is directly under the object, moves with it.

    Args:
        scene: The scene.
        timestep: Its time step [s].
        origins: Where the origins of computed values are added.

    Raises:
        BuildError: The object starts inside the hand, and its position is stated, or no short
            displacement clears it.

    Warns:
        SoftgraspWarning: The object was moved away from the palm.
    """
    if scene.object.elasticity is not None:
        return _at_rigid_start(scene, origins)
    placed = on_its_table(scene)
    if placed is not scene:
        origins |= _origins_on_table(scene)
    if scene.object_position is not None:
        return placed
    if placed.object_position is None:
        origins["object_position"] = _grasp_center(scene)
        placed = placed.choose(object_position=object_pose(placed).position)
    assembled = assemble(placed, timestep)
    overlap = assembled.overlap or assembled.home_overlap
    if overlap is None:
        return placed
    position = _clear_position(assembled, scene, overlap)
    origins["object_position"] = Origin("computed", "moved away from the palm, clear of the hand")
    return on_its_table(scene.choose(object_position=position))


def _grasp_center(scene: GraspScene) -> Origin:
    """Return the origin of a position at the centre of the grasp."""
    reason = f"centre of the {scene.grasp} grasp"
    source: Source = "hand file" if scene.hand_pose == type(scene.hand_pose)() else "computed"
    return Origin(source, reason if source == "hand file" else f"{reason} at hand_pose")


def _origins_on_table(scene: GraspScene) -> dict[str, Origin]:
    """Return the origins of heights on the first table of a scene."""
    assert scene.table is not None
    if scene.table.height is not None:
        return {"object_position": Origin("computed", "it stands on the table")}
    index = next(k for k, part in enumerate(scene.surroundings) if part is scene.table)
    name = scene.surrounding_names[index]
    return {f"{name}.height": Origin("computed", "directly below the object")}


def _at_rigid_start(scene: GraspScene, origins: dict[str, Origin]) -> GraspScene:
    """Return the scene with a deformable object at the clear position of a rigid one."""
    rigid = scene.choose(object=scene.object.choose(elasticity=None))
    clear = with_clear_start(rigid, resolve_timestep(rigid), origins)
    return scene.choose(object_position=clear.object_position, surroundings=clear.surroundings)


def _clear_position(assembled: Assembled, scene: GraspScene, overlap: Overlap) -> Vec3:
    """Return the nearest position at which an object without a stated place is clear [m]."""
    on_table = scene.table is not None and scene.table.height is not None
    displacement = None if on_table else _shortest_displacement(assembled)
    if displacement is None:
        refuse_hand_overlap(scene, overlap)
    assert displacement is not None
    warnings.warn(
        f"the object starts {np.linalg.norm(displacement) * 1e3:.0f} mm farther from the palm than "
        f"the grasp's centre, where {overlap.item} would be {overlap.depth * 1e3:.2f} mm inside "
        f"{overlap.obstacle}; object_position (--position) selects another position",
        SoftgraspWarning,
        stacklevel=3,
    )
    return triple(np.array(object_pose(assembled.scene).position) + displacement)


def _shortest_displacement(assembled: Assembled) -> Array | None:
    """Search for the shortest displacement away from the palm; None above the maximum."""
    scene = assembled.scene
    rotation = transform(quaternion=scene.hand_pose.quaternion)[:3, :3]
    away = rotation @ toward_grasp(scene.hand, scene.preset.center)
    model, data = copy.copy(assembled.model), copy.copy(assembled.data)
    if assembled.overlap is None:
        data.qpos[:] = assembled.home
    pairs, positions = clearing_pairs(model, scene), _object_positions(model, data)
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
