"""What stands around a grasp: tables, walls and blocks as boxes that do not move."""

from __future__ import annotations

import mujoco
import numpy as np

from softgrasp.build import names
from softgrasp.build.shapes import COLLISION_GROUP
from softgrasp.build.table import THICKNESS, add_table
from softgrasp.build.visual import AROUND_RGBA
from softgrasp.description.geometry import Pose
from softgrasp.description.object import Block, Table, Wall
from softgrasp.description.scene import GraspScene
from softgrasp.mechanics.transforms import Array, quaternion_of, rotation_from_euler

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
