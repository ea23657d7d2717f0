"""Replay a result: the state of its model, and the pose of its hand, at any time of the run.

``ReplayedResult`` rebuilds the model of a recorded run, for figures, videos, viewers and analysis.
"""

from __future__ import annotations

import warnings

import mujoco
import numpy as np

from softgrasp.description.arm import HandCarrier
from softgrasp.errors import SoftgraspWarning
from softgrasp.mechanics.hand_kinematics import forward_kinematics
from softgrasp.mechanics.transforms import Array, rotation_from_euler, transform
from softgrasp.model import names
from softgrasp.model.arm import arm_base, home_pose
from softgrasp.model.deformable import node_columns, node_positions
from softgrasp.model.placement import PlacedItem, placed_items
from softgrasp.model.scene import compile_model
from softgrasp.sim.result import GraspResult, column


class ReplayedResult:
    """A recorded run whose model can be set to its state at any time of the run.

    Args:
        result: Recorded run; its model is compiled anew.
    """

    def __init__(self, result: GraspResult) -> None:
        self.result = result
        with warnings.catch_warnings():
            # issued when the scene was built for the run, and recorded in the result
            warnings.simplefilter("ignore", SoftgraspWarning)
            self.model = compile_model(result.scene)
        self.data = mujoco.MjData(self.model)
        mujoco.mj_resetDataKeyframe(self.model, self.data, 0)
        self._joints = [self.model.joint(name).qposadr[0] for name in result.joint_names.tolist()]
        self._placed_objects = placed_items(result.scene)

    def pose(self, time: float) -> mujoco.MjData:
        """Return the state at a time [s] with kinematics and collisions, until the next call."""
        result = self.result
        row, fraction = self.row(time)
        near = slice(row, row + 2)
        joints = result.joint_position[near]
        self.data.qpos[self._joints] = joints[0] + fraction * (joints[-1] - joints[0])
        if result.object_nodes is not None:
            nodes = result.object_nodes[near]
            node_array = nodes[0] + fraction * (nodes[-1] - nodes[0])
            self.data.qpos[node_columns(self.model)] = node_positions(self.model, node_array)
        for placed, (positions, quaternions) in zip(
            self._placed_objects, result.tracks, strict=True
        ):
            track, nearest_quaternions = positions[near], quaternions[near]
            position = track[0] + fraction * (track[-1] - track[0])
            self._set_object(
                placed, position, _slerp(nearest_quaternions[0], nearest_quaternions[-1], fraction)
            )
        mujoco.mj_kinematics(self.model, self.data)
        mujoco.mj_comPos(self.model, self.data)
        mujoco.mj_camlight(self.model, self.data)
        if self.model.nflex:
            mujoco.mj_flex(self.model, self.data)
        mujoco.mj_collision(self.model, self.data)
        return self.data

    def row(self, time: float) -> tuple[int, float]:
        """Return the last row at or before a time, and the fraction to the next one (0 … 1)."""
        times = self.result.time
        row = int(np.clip(np.searchsorted(times, time, side="right") - 1, 0, len(times) - 1))
        if row == len(times) - 1:
            return row, 0.0
        fraction = (time - times[row]) / (times[row + 1] - times[row])
        return row, float(np.clip(fraction, 0.0, 1.0))

    def _set_object(self, placed: PlacedItem, position: Array, quaternion: Array) -> None:
        qpos = self.data.qpos
        if placed.object.elasticity is not None:  # its nodes are recorded
            return
        if placed.mount == "free":
            first = self.model.joint(placed.body).qposadr[0]
            qpos[first : first + 7] = [*position, *quaternion]
        elif placed.mount == "planar":
            inverse, relative = np.zeros(4), np.zeros(4)
            mujoco.mju_negQuat(inverse, np.array(placed.pose.quaternion))
            mujoco.mju_mulQuat(relative, quaternion, inverse)
            moved = position - placed.pose.position
            about_y = 2.0 * np.arctan2(relative[2], relative[0])
            values = (moved[0], moved[2], about_y)
            for name, value in zip(names.object_joints(placed.body), values, strict=True):
                qpos[self.model.joint(name).qposadr[0]] = value


def hand_pose_at(result: GraspResult, row: int) -> Array:
    """Compute the pose of the hand frame in the world, (4, 4).

    Args:
        result: A run with a sequence, or any other before its lift.
        row: Index of the sample.
    """
    scene = result.scene
    if not scene.on_wrist:
        return home_pose(scene)
    if isinstance(scene.arm, HandCarrier):
        data = ReplayedResult(result).pose(float(result.time[row]))
        palm = data.body(names.hand_body(scene.hand))
        return transform(palm.xpos, palm.xquat)
    joints = [column(result.joint_names, name) for name in names.carrier_joints(scene)]
    values = result.joint_position[row, joints]
    if scene.arm is not None:
        tool = transform(scene.arm.tool.position, scene.arm.tool.quaternion)
        flange = forward_kinematics(scene.arm.chain, values.tolist())[-1]
        return np.asarray(arm_base(scene.arm, scene.hand_pose) @ flange @ tool)
    pose = home_pose(scene)
    center = np.array(scene.preset.center)
    carried = pose[:3, :3] @ center + pose[:3, 3] + values[:3]
    about_z, about_y, about_x = values[3:]
    pose[:3, :3] = rotation_from_euler((about_x, about_y, about_z)) @ pose[:3, :3]
    pose[:3, 3] = carried - pose[:3, :3] @ center
    return pose


def _slerp(first: Array, second: Array, fraction: float) -> Array:
    """Interpolate between two unit quaternions on the shortest path."""
    rotation_vector, between = np.zeros(3), first.copy()
    mujoco.mju_subQuat(rotation_vector, second, first)
    mujoco.mju_quatIntegrate(between, rotation_vector, fraction)
    return between
