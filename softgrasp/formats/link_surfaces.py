"""Points on the shapes of a hand's links, and inside its palm: where fingers meet things."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from softgrasp.description.finger import Phalanx
from softgrasp.description.geometry import (
    Capsule,
    Cuboid,
    Cylinder,
    Ellipsoid,
    Mesh,
    Pose,
    Shape,
    Sphere,
    Superellipsoid,
)
from softgrasp.description.hand import Hand
from softgrasp.formats.hull_points import inside, on_faces
from softgrasp.formats.mesh_solid import Hull, hull_of
from softgrasp.formats.meshes import load_mesh
from softgrasp.mechanics import geometry
from softgrasp.mechanics.geometry import ball_points
from softgrasp.mechanics.hand_kinematics import Link, chain_links
from softgrasp.mechanics.transforms import Array, transform

Placed = tuple[Shape, Pose]


def link_surfaces(hand: Hand) -> dict[str, Array]:
    """Points (n, 3) [m] on what touches of a hand's rigid fingers, in the frames of the links.

    ``palm`` holds those of the palm's shape, its inside too, in the hand's frame.
    """
    points = {}
    for finger in hand.fingers:
        links = chain_links(finger)
        for row, link, body in zip(finger.phalanges, links, finger.has_body, strict=True):
            if body:
                points[finger.body_of(row)] = surface_points(row_shapes(row, link))
    if hand.palm.shape is not None:
        first = [(hand.palm.shape, hand.palm.pose)]
        shapes = first + [(part.shape, part.pose) for part in hand.palm.parts]
        points["palm"] = np.vstack([surface_points(shapes), *map(_inner_points, shapes)])
    return points


def row_shapes(row: Phalanx, link: Link) -> list[Placed]:
    """The shapes of a row, or the capsule along it."""
    shapes = [] if row.shape is None else [(row.shape, row.shape_pose)]
    shapes += [(part.shape, part.pose) for part in row.parts]
    if shapes:
        return shapes
    x, y, z = (link.end / 2).tolist()
    length = float(np.linalg.norm(link.end))
    # whichever way the capsule lies, a quaternion from z to the link
    w = np.array([length + link.end[2], -link.end[1], link.end[0], 0.0])
    quaternion = tuple((w if np.linalg.norm(w) > 0.0 else np.array([0.0, 1.0, 0.0, 0.0])).tolist())
    return [
        (Capsule(radius=row.radius, length=length), Pose(position=(x, y, z), quaternion=quaternion))
    ]


def surface_points(shapes: Sequence[Placed]) -> Array:
    """Points on the convex hulls of shapes, (n, 3) [m]; a mesh's pose is that of its file."""
    return np.vstack([_moved(on_faces(hull), pose) for s, pose in shapes for hull in _hulls(s)])


def _inner_points(placed: Placed) -> Array:
    """A grid inside the convex hulls of a shape, (n, 3) [m]."""
    shape, pose = placed
    return np.vstack([np.empty((0, 3)), *(_moved(inside(hull), pose) for hull in _hulls(shape))])


def _moved(points: Array, pose: Pose) -> Array:
    frame = transform(pose.position, pose.quaternion)
    return np.asarray(points @ frame[:3, :3].T + frame[:3, 3])


def _hulls(shape: Shape) -> list[Hull]:
    """The convex parts of a shape in its own frame; of a mesh, in its file's."""
    if isinstance(shape, Mesh):
        body = load_mesh(shape)
        return [Hull(v + body.center_of_mass, f, 0.0) for v, f in body.parts]
    return [hull_of(corners(shape))]


def corners(shape: Shape) -> Array:
    """Points whose convex hull is a shape, round ones in facets, (n, 3) [m]."""
    signs = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], dtype=float)
    angles = np.linspace(0.0, 2.0 * np.pi, 24, endpoint=False)
    match shape:
        case Cuboid(size=size):
            return np.asarray(signs * np.array(size) / 2.0)
        case Cylinder(radius=radius, height=height):
            ring = np.stack([radius * np.cos(angles), radius * np.sin(angles), 0 * angles], -1)
            up = np.array([0.0, 0.0, height / 2])
            return np.vstack([ring + up, ring - up])
        case Capsule(radius=radius, length=length):
            ball = ball_points(radius, 16, 7)
            up = np.array([0.0, 0.0, length / 2])
            return np.vstack([ball + up, ball - up])
        case Sphere(radius=radius):
            return ball_points(radius, 16, 7)
        case Ellipsoid(radii=radii):
            return np.asarray(ball_points(1.0, 16, 7) * np.array(radii))
        case Superellipsoid(radii=radii, exponents=exponents):
            return np.asarray(geometry.triangles(radii, exponents)[0])
    raise AssertionError(shape)
