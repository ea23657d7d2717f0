"""The way of the object through the world."""

from __future__ import annotations

import numpy as np

from softgrasp.build import names
from softgrasp.build.deformable import node_track, rigid_track
from softgrasp.build.objects import PLANAR_JOINTS
from softgrasp.build.scene import object_pose
from softgrasp.description.scene import GraspScene
from softgrasp.mechanics.transforms import (
    Array,
    euler_from_quaternions,
    quaternion_of,
    relative_quaternions,
    rotate_about,
    transform,
)
from softgrasp.simulation.finished_run import FinishedRun
from softgrasp.simulation.result import ObjectMotion


def object_track(run: FinishedRun, qpos: Array) -> tuple[Array, Array]:
    """Position (T, 3) and quaternion (T, 4) of the object in the world at every row."""
    if run.model.nflex:
        return rigid_track(run.model, node_track(run.model, qpos))
    start = object_pose(run.scene)
    if run.scene.object_mount == "free":
        first = run.model.joint(names.OBJECT).qposadr[0]
        return qpos[:, first : first + 3].copy(), qpos[:, first + 3 : first + 7].copy()
    position = np.tile(start.position, (len(qpos), 1))
    quaternion = np.tile(start.quaternion, (len(qpos), 1))
    if run.scene.object_mount == "planar":
        x, z, turn = (qpos[:, run.model.joint(name).qposadr[0]] for name in PLANAR_JOINTS)
        position[:, 0] += x
        position[:, 2] += z
        upright = transform(quaternion=start.quaternion)
        quaternion = np.array([quaternion_of(rotate_about("y", a) @ upright) for a in turn])
    return position, quaternion


def object_motion(scene: GraspScene, position: Array, quaternion: Array) -> ObjectMotion:
    """From where to where the object went on a track of positions and quaternions."""
    turned = relative_quaternions(quaternion[-1], quaternion[0])
    return ObjectMotion(
        name=scene.object.name,
        initial_position_m=tuple(position[0].tolist()),
        final_position_m=tuple(position[-1].tolist()),
        initial_quat_wxyz=tuple(quaternion[0].tolist()),
        final_quat_wxyz=tuple(quaternion[-1].tolist()),
        displacement_m=tuple((position[-1] - position[0]).tolist()),
        rotation_rad=tuple(euler_from_quaternions(turned).tolist()),
    )
