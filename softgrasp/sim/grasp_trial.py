"""Trial of a grasp: the closure and a short hold test, to choose among computed grasps."""

from __future__ import annotations

import math
import warnings

import mujoco
import numpy as np

from softgrasp.description.scene import GraspScene
from softgrasp.errors import BuildError
from softgrasp.mechanics.transforms import Array, transform
from softgrasp.model.scene import build
from softgrasp.sim.grasp_run import ClosureRun
from softgrasp.sim.result import GraspResult, GraspStatus
from softgrasp.sim.result_builder import result_of

ROTATION_ARM = 5e-3
"""Displacement that counts as much as a rotation of the object by 1 rad [m]."""
MIN_CONTACTS = 2
"""Smallest number of bodies of the hand in contact at the end."""
LOST = 0.015
"""Displacement in the palm above which an object counts as lost [m]."""


def displacement_in_trial(scene: GraspScene) -> float:
    """Simulate a grasp and its hold test; return how far the object moves in the palm [m].

    A rotation counts as a displacement on ``ROTATION_ARM``. Infinite where the object is not in the
    hand at the end, where the hand is still moving, or where the start is not clear.

    Args:
        scene: The scene with a hold test.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            run = ClosureRun(build(scene))
        except BuildError:
            return math.inf
        run.run()
        result = result_of(run, [], 0.0)
    contacts = sum(body.in_contact for body in result.contacts)
    if contacts < MIN_CONTACTS or run.hold_from is None:
        return math.inf
    if result.status in (GraspStatus.EJECTED, GraspStatus.NO_CONTACT, GraspStatus.DIVERGED):
        return math.inf
    displacement = _displacement(run.model, result, run.hold_from)
    if displacement > LOST:
        return math.inf
    return displacement


def _displacement(model: mujoco.MjModel, result: GraspResult, first: int) -> float:
    """Compute the motion of the object in the palm from a row to the last one [m]."""
    before, after = (_in_palm(model, result, row) for row in (first, -1))
    rotation = before[:3, :3].T @ after[:3, :3]
    angle = math.acos(min(max((float(np.trace(rotation)) - 1.0) / 2.0, -1.0), 1.0))
    moved = float(np.linalg.norm(after[:3, 3] - before[:3, 3]))
    return max(moved, ROTATION_ARM * angle)


def _in_palm(model: mujoco.MjModel, result: GraspResult, row: int) -> Array:
    """Compute the pose of the object in the frame of the palm at a row, (4, 4)."""
    x, y, z = result.object_position[row].tolist()
    pose = transform((x, y, z), tuple(result.object_quat_wxyz[row].tolist()))
    described = result.scene.hand.model
    if described is None:
        return pose
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    for name, value in zip(result.joint_names.tolist(), result.joint_position[row], strict=True):
        data.qpos[model.joint(name).qposadr[0]] = value
    mujoco.mj_kinematics(model, data)
    palm = np.eye(4)
    body = data.body(described.palm)
    palm[:3, :3], palm[:3, 3] = body.xmat.reshape(3, 3), body.xpos
    return np.asarray(np.linalg.inv(palm) @ pose)
