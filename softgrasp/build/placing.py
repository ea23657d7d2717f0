"""Where objects start: at the hand's grasp centre, on their table, or where they are put."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from softgrasp.build import names
from softgrasp.build.table import lowest_of_object
from softgrasp.description.geometry import Pose
from softgrasp.description.object import GraspObject, Mount
from softgrasp.description.scene import GraspScene
from softgrasp.mechanics.transforms import (
    position_of,
    quaternion_of,
    rotation_from_euler,
    transform,
)


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
