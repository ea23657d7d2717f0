"""Rigid links of a robot as bodies: what the file states, and what their shapes say."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from softgrasp.build.shapes import mass_properties
from softgrasp.description.bendable import Inertial
from softgrasp.description.robot import Link, LinkShape, Robot
from softgrasp.description.shapes import Capsule, Cuboid, Cylinder, Mesh, Sphere
from softgrasp.formats.meshes import mesh_solid
from softgrasp.inspection.bodies import Body, Geometry, box_corners, placed, together
from softgrasp.mechanics.robot_frames import origin_frame
from softgrasp.mechanics.transforms import Array


def link_bodies(robot: Robot) -> list[Body]:
    """The links that have a mass, in the order of the file.

    Raises:
        DescriptionError: A mesh cannot be read.
    """
    return [_body(link, link.inertial) for link in robot.links if link.inertial is not None]


def link_geometry(link: Link) -> Geometry | None:
    """The shapes that show, which are the finer ones; those that touch where none show.

    Raises:
        DescriptionError: A mesh cannot be read.
    """
    return geometry_of(link.visuals or link.collisions)


def geometry_of(shapes: Sequence[LinkShape]) -> Geometry | None:
    """The solids of some shapes together, in the frame of their link."""
    return together([_solid(part) for part in shapes])


def tensor(inertia: Sequence[float]) -> Array:
    """(ixx, iyy, izz, ixy, ixz, iyz) as a matrix (3, 3)."""
    xx, yy, zz, xy, xz, yz = inertia
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def six_numbers(inertia: Array) -> tuple[float, float, float, float, float, float]:
    """A matrix (3, 3) as (ixx, iyy, izz, ixy, ixz, iyz)."""
    xx, yy, zz = np.diag(inertia).tolist()
    return (xx, yy, zz, float(inertia[0, 1]), float(inertia[0, 2]), float(inertia[1, 2]))


def _body(link: Link, inertial: Inertial) -> Body:
    frame = origin_frame(inertial.origin)
    rotation = frame[:3, :3]
    stated = None if inertial.inertia is None else rotation @ tensor(inertial.inertia) @ rotation.T
    return Body(
        subject=f"link '{link.name}'",
        name=link.name,
        mass=inertial.mass,
        center=frame[:3, 3],
        inertia=stated,
        geometry=link_geometry(link),
    )


def _solid(part: LinkShape) -> Geometry:
    frame = origin_frame(part.origin)
    if isinstance(part.shape, Mesh):
        solid = mesh_solid(part.shape)
        inside = np.eye(4)
        inside[:3, 3] = solid.center_of_mass
        points = solid.vertices - solid.center_of_mass
        return placed(solid.volume, solid.inertia, points, frame @ inside)
    volume, inertia = mass_properties(part.shape)
    return placed(volume, inertia, box_corners(_half(part.shape)), frame)


def _half(shape: Sphere | Cylinder | Cuboid | Capsule) -> Array:
    """Half edges (3,) of the box around a primitive [m]."""
    match shape:
        case Sphere(radius=r):
            return np.array([r, r, r])
        case Cylinder(radius=r, height=h):
            return np.array([r, r, h / 2])
        case Capsule(radius=r, length=h):
            return np.array([r, r, h / 2 + r])
        case Cuboid(size=size):
            return np.array(size) / 2
