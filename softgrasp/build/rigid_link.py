"""Rigid links of a robot: shapes that are seen or touched, mass and inertia."""

from __future__ import annotations

import warnings

import mujoco
import numpy as np

from softgrasp.build.shapes import (
    COLLISION_GROUP,
    VISUAL_GROUP,
    add_shape,
    part_pose,
    set_inertia,
)
from softgrasp.build.visual import PHALANX_RGBA
from softgrasp.description.bendable import Inertial
from softgrasp.description.geometry import Mesh, Pose
from softgrasp.description.robot import Link, LinkShape
from softgrasp.errors import SoftgraspWarning
from softgrasp.mechanics.robot_kinematics import origin_frame
from softgrasp.mechanics.transforms import Array, position_of, quaternion_of

MIN_MASS, MIN_INERTIA = 1e-6, 1e-9
"""What a moving link without an inertial gets [kg, kg·m²]: MuJoCo needs some."""
WATER = 1000.0
"""Density of the ball whose inertia a link has that gives its mass only [kg/m³]."""


def add_link(spec: mujoco.MjSpec, body: mujoco.MjsBody, link: Link, *, moves: bool) -> None:
    """Give a body the shapes and the inertia of a link.

    Args:
        spec: The model.
        body: The body.
        link: The link.
        moves: Whether a joint of its own moves it, so that MuJoCo wants a mass.

    Warns:
        SoftgraspWarning: It has no inertia, or moves and has no mass.
    """
    for kind, group, shapes in (
        ("visual", VISUAL_GROUP, link.visuals),
        ("collision", COLLISION_GROUP, link.collisions),
    ):
        for index, part in enumerate(shapes):
            _add_part(spec, body, f"{link.name}_{kind}{index}", part, group)
    if link.inertial is not None:
        frame = origin_frame(link.inertial.origin)
        inertia = _tensor(link.name, link.inertial)
        rotated = frame[:3, :3] @ inertia @ frame[:3, :3].T
        set_inertia(body, link.inertial.mass, rotated, position_of(frame))
    elif moves:
        warnings.warn(
            f"link '{link.name}': expected an inertial of what moves, found none; it gets "
            f"{MIN_MASS:g} kg",
            SoftgraspWarning,
            stacklevel=2,
        )
        set_inertia(body, MIN_MASS, np.eye(3) * MIN_INERTIA)


def _add_part(
    spec: mujoco.MjSpec, body: mujoco.MjsBody, name: str, part: LinkShape, group: int
) -> None:
    frame = origin_frame(part.origin)
    pose = Pose(position=position_of(frame), quaternion=quaternion_of(frame))
    before = len(body.geoms)
    touching = add_shape(
        spec, body, name, part.shape, part_pose(part.shape, pose), rgba=part.rgba or PHALANX_RGBA[0]
    )
    for geom in body.geoms[before:]:
        # a mesh comes with the convex parts that stand for it where it is touched
        if isinstance(part.shape, Mesh) and (geom.name in touching) == (group == VISUAL_GROUP):
            spec.delete(geom)
        else:
            geom.group = group


def _tensor(link: str, inertial: Inertial) -> Array:
    """Inertia (3, 3) [kg·m²] of a link about its centre of mass, in the axes of its inertial."""
    if inertial.inertia is None:
        moment = 0.4 * inertial.mass * (3.0 * inertial.mass / (4.0 * np.pi * WATER)) ** (2.0 / 3.0)
        warnings.warn(
            f"link '{link}': expected an inertia, found a mass only; it gets that of a ball of "
            f"water, {moment:.3g} kg·m²",
            SoftgraspWarning,
            stacklevel=2,
        )
        return np.diag([moment] * 3)
    xx, yy, zz, xy, xz, yz = inertial.inertia
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
