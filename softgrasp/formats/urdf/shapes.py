"""The shapes of URDF links as parts of a hand, seen from a frame turned onto the joint's axis."""

from __future__ import annotations

import numpy as np

from softgrasp.description.geometry import Mesh, Part, Pose, Shape
from softgrasp.description.robot import Link, LinkShape
from softgrasp.formats.meshes import stamped
from softgrasp.mechanics.robot_kinematics import origin_frame
from softgrasp.mechanics.transforms import Array, position_of, quaternion_of

ALONG = 1e-12
"""Directions that differ by less are one."""


def pose_of(frame: Array) -> Pose:
    """A frame (4, 4) as a pose."""
    return Pose(position=position_of(frame), quaternion=quaternion_of(frame))


def frame_along(axis: tuple[float, float, float]) -> Array:
    """The shortest turn that takes z to a direction, (4, 4); about x where it is −z."""
    x, y, z = np.asarray(axis, dtype=float) / np.linalg.norm(axis)
    frame = np.eye(4)
    if z < -1.0 + ALONG:
        frame[:3, :3] = np.diag([1.0, -1.0, -1.0])
    elif z < 1.0 - ALONG:
        # Rodrigues: 1 + [v] + [v]²/(1 + z) with v = ez × axis = (−y, x, 0)
        skew = np.array([[0.0, 0.0, x], [0.0, 0.0, y], [-x, -y, 0.0]])
        frame[:3, :3] += skew + skew @ skew / (1.0 + z)
    return frame


def touching(link: Link) -> tuple[LinkShape, ...]:
    """What of a link touches: its collision shapes, or what is seen where it has none."""
    return link.collisions or link.visuals


def parts_of(link: Link, frame: Array) -> tuple[Part, ...]:
    """The touching shapes of a link.

    Args:
        link: The link.
        frame: The new frame in the link's own one, (4, 4).
    """
    back = np.linalg.inv(frame)
    return tuple(
        Part(shape=_shape(one), pose=pose_of(back @ origin_frame(one.origin)))
        for one in touching(link)
    )


def _shape(part: LinkShape) -> Shape:
    shape = part.shape
    if isinstance(shape, Mesh):
        return stamped(shape.replace(collision="link"))
    return shape
