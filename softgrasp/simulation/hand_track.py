"""Where the hand of a result is at a sample."""

from __future__ import annotations

import numpy as np

from softgrasp.description.arm import HandCarrier
from softgrasp.mechanics.hand_kinematics import forward_kinematics
from softgrasp.mechanics.transforms import Array, rotation_from_euler, transform
from softgrasp.model import names
from softgrasp.model.arm import arm_base, home_pose
from softgrasp.simulation.posed_result import PosedResult
from softgrasp.simulation.result import GraspResult, column


def hand_pose_at(result: GraspResult, row: int) -> Array:
    """Pose of the hand's frame in the world, (4, 4).

    Args:
        result: A run with a sequence, or any other before it lifts.
        row: Index of the sample.
    """
    scene = result.scene
    if not scene.on_wrist:
        return home_pose(scene)
    if isinstance(scene.arm, HandCarrier):
        data = PosedResult(result).pose(float(result.time[row]))
        palm = data.body(names.hand_body(scene.hand))
        return transform(palm.xpos, palm.xquat)
    joints = [column(result.joint_names, name) for name in names.carrier_joints(scene)]
    values = result.joint_position[row, joints]
    if scene.arm is not None:
        tool = transform(scene.arm.tool.position, scene.arm.tool.quaternion)
        flange = forward_kinematics(scene.arm.chain, values.tolist())[-1]
        return np.asarray(arm_base(scene.arm, scene.hand_pose) @ flange @ tool)
    pose = home_pose(scene)
    pose[:3, 3] += values[:3]
    about_z, about_y, about_x = values[3:]
    pose[:3, :3] = rotation_from_euler((about_x, about_y, about_z)) @ pose[:3, :3]
    return pose
