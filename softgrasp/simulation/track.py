"""The ways of objects through the world."""

from __future__ import annotations

from typing import NamedTuple

import mujoco
import numpy as np

from softgrasp.mechanics.transforms import (
    Array,
    euler_from_quaternions,
    quaternion_of,
    relative_quaternions,
    rotate_about,
    transform,
)
from softgrasp.model import names
from softgrasp.model.deformable import node_track, rigid_track
from softgrasp.model.scene import PlacedItem, placed_items
from softgrasp.simulation.finished_run import FinishedRun
from softgrasp.simulation.told_motion import ObjectMotion


class Track(NamedTuple):
    """An object's way through the world."""

    position: Array
    """Of its centre of mass [m], (T, 3)."""
    quaternion: Array
    """(T, 4)"""


def object_tracks(run: FinishedRun, qpos: Array) -> list[Track]:
    """The ways of all objects through the world, the one to be grasped first."""
    return [_track(run.model, placed, qpos) for placed in placed_items(run.scene)]


def _track(model: mujoco.MjModel, placed: PlacedItem, qpos: Array) -> Track:
    if placed.object.elasticity is not None:
        return Track(*rigid_track(model, node_track(model, qpos)))
    if placed.mount == "free":
        first = model.joint(placed.body).qposadr[0]
        return Track(qpos[:, first : first + 3].copy(), qpos[:, first + 3 : first + 7].copy())
    position = np.tile(placed.pose.position, (len(qpos), 1))
    quaternion = np.tile(placed.pose.quaternion, (len(qpos), 1))
    if placed.mount == "planar":
        joints = names.object_joints(placed.body)
        x, z, angles = (qpos[:, model.joint(name).qposadr[0]] for name in joints)
        position[:, 0] += x
        position[:, 2] += z
        upright = transform(quaternion=placed.pose.quaternion)
        quaternion = np.array([quaternion_of(rotate_about("y", a) @ upright) for a in angles])
    return Track(position, quaternion)


def object_motion(name: str, position: Array, quaternion: Array) -> ObjectMotion:
    """From where to where an object went on a track of positions and quaternions."""
    rotation = relative_quaternions(quaternion[-1], quaternion[0])
    return ObjectMotion(
        name=name,
        initial_position_m=tuple(position[0].tolist()),
        final_position_m=tuple(position[-1].tolist()),
        initial_quat_wxyz=tuple(quaternion[0].tolist()),
        final_quat_wxyz=tuple(quaternion[-1].tolist()),
        displacement_m=tuple((position[-1] - position[0]).tolist()),
        rotation_rad=tuple(euler_from_quaternions(rotation).tolist()),
    )
