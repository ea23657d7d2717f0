"""A finished run as states of its model, posed at any time of the run."""

from __future__ import annotations

import warnings

import mujoco
import numpy as np

from softgrasp.errors import SoftgraspWarning
from softgrasp.mechanics.transforms import Array
from softgrasp.model import names
from softgrasp.model.deformable import node_columns, node_positions
from softgrasp.model.scene import PlacedItem, compile_model, placed_items
from softgrasp.simulation.result import GraspResult


class PosedResult:
    """A finished run as states of its model, posed at any time of the run.

    Args:
        result: The run; its scene is built anew.
    """

    def __init__(self, result: GraspResult) -> None:
        self.result = result
        with warnings.catch_warnings():
            # said when the scene was built for the run, and kept in the result
            warnings.simplefilter("ignore", SoftgraspWarning)
            self.model = compile_model(result.scene)
        self.data = mujoco.MjData(self.model)
        mujoco.mj_resetDataKeyframe(self.model, self.data, 0)
        self._joints = [self.model.joint(name).qposadr[0] for name in result.joint_names.tolist()]
        self._placed_objects = placed_items(result.scene)

    def pose(self, time: float) -> mujoco.MjData:
        """The state at a time [s], with kinematics and collisions; kept until the next call."""
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
        """The last row at or before a time, and the way to the next one (0 … 1)."""
        times = self.result.time
        row = int(np.clip(np.searchsorted(times, time, side="right") - 1, 0, len(times) - 1))
        if row == len(times) - 1:
            return row, 0.0
        fraction = (time - times[row]) / (times[row + 1] - times[row])
        return row, float(np.clip(fraction, 0.0, 1.0))

    def _set_object(self, placed: PlacedItem, position: Array, quaternion: Array) -> None:
        qpos = self.data.qpos
        if placed.object.elasticity is not None:  # its nodes are where they were recorded
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


def _slerp(first: Array, second: Array, fraction: float) -> Array:
    """The rotation a part of the shortest way from one unit quaternion to another."""
    rotation_vector, between = np.zeros(3), first.copy()
    mujoco.mju_subQuat(rotation_vector, second, first)
    mujoco.mju_quatIntegrate(between, rotation_vector, fraction)
    return between
