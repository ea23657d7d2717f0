"""Moving an object that would start inside the hand out of its way."""

from __future__ import annotations

import copy

import mujoco
import numpy as np

from softgrasp.build.names import OBJECT
from softgrasp.build.pairs import Pair, penetration
from softgrasp.description.scene import GraspScene
from softgrasp.mechanics.transforms import Array, transform

CLEARANCE = 1e-3
"""Gap between hand and object after such a move [m]."""
LONGEST_WAY, STEP = 0.08, 1e-3
"""How far an object is moved at most, and in which steps [m]."""


def clearing_way(
    model: mujoco.MjModel, data: mujoco.MjData, pairs: list[Pair], scene: GraspScene
) -> Array | None:
    """The shortest way away from the palm that takes the object clear of the hand.

    Args:
        model: The compiled scene.
        data: Its start state; not changed.
        pairs: Geoms of the hand and of the object.
        scene: The scene.

    Returns:
        A displacement in the world [m], shape (3,); None where no way is short enough.
    """
    away = _away_from_palm(scene)
    model, data = copy.copy(model), copy.copy(data)
    place = _place(model, data)
    start = place.copy()
    for step in range(1, round(LONGEST_WAY / STEP) + 1):
        way = step * STEP * away
        place[:] = start + way
        mujoco.mj_kinematics(model, data)
        if all(penetration(model, data, pair) <= 1e-9 - CLEARANCE for pair in pairs):
            return way
    return None


def _away_from_palm(scene: GraspScene) -> Array:
    """Unit vector in the world from the middle of the finger bases to the grasp's centre."""
    bases = np.mean([finger.base.position for finger in scene.hand.fingers], axis=0)
    way = np.array(scene.preset.center) - bases
    length = float(np.linalg.norm(way))
    toward = way / length if length > 0.0 else np.array([0.0, 0.0, -1.0])
    rotation = transform(quaternion=scene.hand_pose.quaternion)[:3, :3]
    return np.asarray(rotation @ toward)


def _place(model: mujoco.MjModel, data: mujoco.MjData) -> Array:
    """The numbers that say where the object is, to be changed in place, (3,)."""
    body = model.body(OBJECT)
    joint = int(body.jntadr[0])
    if joint >= 0 and model.jnt_type[joint] == mujoco.mjtJoint.mjJNT_FREE:
        first = int(model.jnt_qposadr[joint])
        return np.asarray(data.qpos[first : first + 3])
    return np.asarray(model.body_pos[body.id])
