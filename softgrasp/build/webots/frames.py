"""Poses as Webots writes them: a translation, and a turn about a unit axis."""

from __future__ import annotations

import math
from typing import NamedTuple

import mujoco
import numpy as np
from scipy.spatial.transform import Rotation

from softgrasp.formats.wbt.node import Node, Numbers, Value
from softgrasp.mechanics.transforms import Array


class Frame(NamedTuple):
    """A pose in the world, (3,) [m] and (3, 3)."""

    position: Array
    rotation: Array

    def inside(self, parent: Frame) -> Frame:
        """This pose as seen from another frame."""
        inverse_rotation = parent.rotation.T
        return Frame(
            inverse_rotation @ (self.position - parent.position), inverse_rotation @ self.rotation
        )


WORLD = Frame(np.zeros(3), np.eye(3))


def body_frame(data: mujoco.MjData, body: int) -> Frame:
    """Where a body's frame stands in the world."""
    return Frame(data.xpos[body].copy(), data.xmat[body].reshape(3, 3).copy())


def geom_frame(model: mujoco.MjModel, data: mujoco.MjData, geom: int) -> Frame:
    """Where a geom stands in the frame of its body."""
    frame = Frame(data.geom_xpos[geom].copy(), data.geom_xmat[geom].reshape(3, 3).copy())
    return frame.inside(body_frame(data, int(model.geom_bodyid[geom])))


def set_pose(node: Node, frame: Frame) -> None:
    """Write a pose as a node's first fields; what is the default stays away."""
    pose: dict[str, Value] = {}
    if frame.position.any():
        pose["translation"] = vector(frame.position)
    axis_and_angle = axis_angle(frame.rotation)
    if axis_and_angle[3] != 0.0:
        pose["rotation"] = axis_and_angle
    node.fields = pose | node.fields


def vector(values: Array) -> Numbers:
    """Numbers as a field holds them."""
    return tuple(float(value) for value in values)


def axis_angle(rotation: Array) -> Numbers:
    """A rotation matrix as unit axis and angle [rad]; about z by nothing where it turns nothing."""
    rotation_vector = Rotation.from_matrix(rotation).as_rotvec()
    angle = math.sqrt(float(rotation_vector @ rotation_vector))
    if angle < 1e-14:
        return (0.0, 0.0, 1.0, 0.0)
    return (*vector(rotation_vector / angle), angle)
