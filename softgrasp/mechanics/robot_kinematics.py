"""Frames and inertias of U(C)RDF robots: joint poses, fixed joints merged, bodies combined."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.spatial.transform import Rotation

from softgrasp.description.bendable import Inertial, Origin
from softgrasp.description.robot import Link, LinkShape, RigidJoint, Robot
from softgrasp.mechanics.transforms import Array, position_of, rotation_from_euler, translate

# Frames.

NOISE = 1e-15
"""Components of a pose below this are rounding errors [m, rad]; MuJoCo refuses denormal numbers."""


def origin_frame(origin: Origin) -> Array:
    """Return the frame (4, 4) of an ``<origin>``."""
    frame = np.eye(4)
    frame[:3, :3] = rotation_from_euler(origin.rpy)
    frame[:3, 3] = origin.xyz
    return frame


def origin_of(frame: Array) -> Origin:
    """Return the ``<origin>`` of a frame (4, 4); exact also where the pitch is ±90°."""
    r = frame[:3, :3]
    yaw = np.arctan2(r[1, 0], r[0, 0])
    pitch = np.arctan2(-r[2, 0], np.hypot(r[0, 0], r[1, 0]))
    # with the yaw removed, the roll is well defined for any yaw
    sine, cosine = np.sin(yaw), np.cos(yaw)
    roll = np.arctan2(sine * r[0, 2] - cosine * r[1, 2], cosine * r[1, 1] - sine * r[0, 1])
    x, y, z = (_tidy(part) for part in position_of(frame))
    return Origin(xyz=(x, y, z), rpy=(_tidy(float(roll)), _tidy(float(pitch)), _tidy(float(yaw))))


def _tidy(part: float) -> float:
    return 0.0 if abs(part) < NOISE else part


def joint_frame(joint: RigidJoint, position: float = 0.0) -> Array:
    """Return the child link's frame (4, 4) in the parent link at a joint variable [rad or m]."""
    origin = origin_frame(joint.origin)
    if joint.type == "fixed":
        return origin
    axis = np.asarray(joint.axis, dtype=float)
    along = position * axis / np.linalg.norm(axis)
    move = np.eye(4)
    if joint.type == "prismatic":
        move[:3, 3] = along
    else:
        move[:3, :3] = Rotation.from_rotvec(along).as_matrix()
    return origin @ move


# Inertias.

Moments = tuple[float, float, float, float, float, float]
"""ixx, iyy, izz, ixy, ixz, iyz [kg·m²]."""


def inertia_matrix(moments: Moments | None) -> Array:
    """Return the inertia matrix (3, 3) of moments and products of inertia; zeros for None."""
    ixx, iyy, izz, ixy, ixz, iyz = moments or (0.0,) * 6
    return np.array([[ixx, ixy, ixz], [ixy, iyy, iyz], [ixz, iyz, izz]])


def inertia_moments(matrix: Array) -> Moments:
    """Return the moments and products of inertia of a symmetric (3, 3) matrix."""
    ixx, iyy, izz, ixy, ixz, iyz = matrix[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]].tolist()
    return (ixx, iyy, izz, ixy, ixz, iyz)


def in_frame(inertial: Inertial, frame: Array) -> Inertial:
    """Express inertial properties in another frame.

    Args:
        inertial: Of the body in its own frame.
        frame: The body's frame in the new one, (4, 4).
    """
    whole = frame @ origin_frame(inertial.origin)
    return inertial.replace(origin=origin_of(whole))


def principal_moments(inertial: Inertial) -> Array:
    """Return the principal moments of inertia in ascending order [kg·m²], (3,)."""
    rotation = rotation_from_euler(inertial.origin.rpy)
    return np.asarray(
        np.linalg.eigvalsh(rotation @ inertia_matrix(inertial.inertia) @ rotation.T), dtype=float
    )


def join_inertials(parts: list[tuple[Array, Inertial]]) -> Inertial | None:
    """Combine inertial properties of bodies by the parallel axis theorem; None of no bodies.

    A mass without an inertia counts as a point mass; a single body stays unchanged.

    Args:
        parts: Frame (4, 4) and inertial of each body.
    """
    if len(parts) == 0:
        return None
    if len(parts) == 1 and np.array_equal(parts[0][0], np.eye(4)):
        return parts[0][1]
    frames = [frame @ origin_frame(inertial.origin) for frame, inertial in parts]
    masses = np.array([inertial.mass for _, inertial in parts])
    centre = masses @ np.array([frame[:3, 3] for frame in frames]) / masses.sum()
    about = np.zeros((3, 3))
    for frame, (_, inertial) in zip(frames, parts, strict=True):
        rotation, away = frame[:3, :3], frame[:3, 3] - centre
        about += rotation @ inertia_matrix(inertial.inertia) @ rotation.T
        about += inertial.mass * (away @ away * np.eye(3) - np.outer(away, away))
    known = any(inertial.inertia is not None for _, inertial in parts)
    moments = inertia_moments(about) if known else None
    return Inertial(mass=float(masses.sum()), origin=origin_of(translate(*centre)), inertia=moments)


# Fixed joints.


class LinkPose(NamedTuple):
    """Pose of an original link in the link that it was merged into."""

    link: str
    """The link that contains it."""
    frame: Array
    """Its frame in that of the link, (4, 4)."""


class Fused(NamedTuple):
    """A robot whose links on fixed joints are merged into their parents."""

    robot: Robot
    link_poses: dict[str, LinkPose]
    """Pose of every link of the original robot, by its name."""


def fuse(robot: Robot) -> Fused:
    """Merge each link on a fixed joint into the link that carries it.

    Moving joints keep their names and are attached to the merged links; the motion is unchanged.
    """
    fixed = {joint.child: joint for joint in robot.joints if joint.type == "fixed"}
    link_poses: dict[str, LinkPose] = {}

    def pose_of(name: str) -> LinkPose:
        if name not in link_poses:
            link_poses[name] = LinkPose(name, np.eye(4))
            if name in fixed:
                carrier = pose_of(fixed[name].parent)
                link_poses[name] = LinkPose(carrier.link, carrier.frame @ joint_frame(fixed[name]))
        return link_poses[name]

    for link in robot.links:
        pose_of(link.name)
    links = tuple(_join(robot, link, link_poses) for link in robot.links if link.name not in fixed)
    joints = tuple(
        joint.replace(
            parent=link_poses[joint.parent].link,
            origin=origin_of(link_poses[joint.parent].frame @ origin_frame(joint.origin)),
        )
        if joint.parent in fixed
        else joint
        for joint in robot.joints
        if joint.type != "fixed"
    )
    return Fused(robot.replace(links=links, joints=joints, control=()), link_poses)


def _join(robot: Robot, link: Link, link_poses: dict[str, LinkPose]) -> Link:
    """Return a link merged with all links on fixed joints below it."""
    parts = [
        (link_poses[item.name].frame, item)
        for item in robot.links
        if link_poses[item.name].link == link.name
    ]
    if len(parts) == 1:
        return link
    parts.sort(key=lambda part: part[1] is not link)
    return link.replace(
        inertial=join_inertials(
            [(frame, element.inertial) for frame, element in parts if element.inertial is not None]
        ),
        visuals=_move([(frame, element.visuals) for frame, element in parts]),
        collisions=_move([(frame, element.collisions) for frame, element in parts]),
    )


def _move(parts: list[tuple[Array, tuple[LinkShape, ...]]]) -> tuple[LinkShape, ...]:
    return tuple(
        shape.replace(origin=origin_of(frame @ origin_frame(shape.origin)))
        for frame, shapes in parts
        for shape in shapes
    )
