"""Points on the shapes of a hand's links, and inside its palm: where fingers meet things."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from softgrasp.description.finger import Phalanx
from softgrasp.description.hand import Hand
from softgrasp.description.pose import Pose
from softgrasp.description.shapes import (
    Capsule,
    Cuboid,
    Cylinder,
    Ellipsoid,
    Mesh,
    Shape,
    Sphere,
    Superellipsoid,
)
from softgrasp.formats.mesh_solid import Hull, hull_of
from softgrasp.formats.meshes import load_mesh
from softgrasp.mechanics import superellipsoid
from softgrasp.mechanics.dh import Link, chain_links
from softgrasp.mechanics.solids import ball_points
from softgrasp.mechanics.transforms import Array, transform

SPACING = 3e-3
"""Distance of points on a surface [m]."""
INNER_SPACING = 8e-3
"""Distance of points inside the palm [m]."""
MOST_POINTS = 1500
"""Of one shape; a large one gets them farther apart."""

Placed = tuple[Shape, Pose]


def link_surfaces(hand: Hand) -> dict[str, Array]:
    """Points (n, 3) [m] on what touches of a hand's rigid fingers, in the frames of the links.

    ``palm`` holds those of the palm's shape, its inside too, in the hand's frame.
    """
    found = {}
    for finger in hand.fingers:
        links = chain_links(finger)
        for row, link, body in zip(finger.phalanges, links, finger.has_body, strict=True):
            if body:
                found[finger.body_of(row)] = surface_points(row_shapes(row, link))
    if hand.palm.shape is not None:
        first = [(hand.palm.shape, hand.palm.pose)]
        shapes = first + [(part.shape, part.pose) for part in hand.palm.parts]
        found["palm"] = np.vstack([surface_points(shapes), *map(_inner_points, shapes)])
    return found


def row_shapes(row: Phalanx, link: Link) -> list[Placed]:
    """The shapes of a row, or the capsule along it."""
    own = [] if row.shape is None else [(row.shape, row.shape_pose)]
    own += [(part.shape, part.pose) for part in row.parts]
    if own:
        return own
    x, y, z = (link.end / 2).tolist()
    length = float(np.linalg.norm(link.end))
    # whichever way the capsule lies, a quaternion from z to the link
    w = np.array([length + link.end[2], -link.end[1], link.end[0], 0.0])
    turn = tuple((w if np.linalg.norm(w) > 0.0 else np.array([0.0, 1.0, 0.0, 0.0])).tolist())
    return [(Capsule(radius=row.radius, length=length), Pose(position=(x, y, z), quaternion=turn))]


def surface_points(shapes: Sequence[Placed]) -> Array:
    """Points on the convex hulls of shapes, (n, 3) [m]; a mesh's pose is that of its file."""
    return np.vstack([_moved(_on_faces(hull), pose) for s, pose in shapes for hull in _hulls(s)])


def _inner_points(placed: Placed) -> Array:
    """A grid inside the convex hulls of a shape, (n, 3) [m]."""
    shape, pose = placed
    found = [np.empty((0, 3))]
    for hull in _hulls(shape):
        low, high = hull.vertices.min(axis=0), hull.vertices.max(axis=0)
        axes = [
            np.arange(a + INNER_SPACING / 2, b, INNER_SPACING)
            for a, b in zip(low, high, strict=True)
        ]
        grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
        a, b, c = hull.vertices[hull.faces].transpose(1, 0, 2)
        normals = np.cross(b - a, c - a)
        inside = (grid @ normals.T <= np.einsum("ij,ij->i", normals, a)).all(axis=1)
        found.append(_moved(grid[inside], pose))
    return np.vstack(found)


def _moved(points: Array, pose: Pose) -> Array:
    frame = transform(pose.position, pose.quaternion)
    return np.asarray(points @ frame[:3, :3].T + frame[:3, 3])


def _hulls(shape: Shape) -> list[Hull]:
    """The convex parts of a shape in its own frame; of a mesh, in its file's."""
    if isinstance(shape, Mesh):
        body = load_mesh(shape)
        return [Hull(v + body.center_of_mass, f, 0.0) for v, f in body.parts]
    return [hull_of(_corners(shape))]


def _corners(shape: Shape) -> Array:
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
            return np.asarray(superellipsoid.triangles(radii, exponents)[0])
    raise AssertionError(shape)


def _on_faces(hull: Hull) -> Array:
    """Corners of a hull and points spread over its faces, (n, 3)."""
    triangles = hull.vertices[hull.faces]
    edges = np.linalg.norm(triangles - np.roll(triangles, 1, axis=1), axis=2).max(axis=1)
    areas = np.linalg.norm(
        np.cross(*(triangles[:, 1:] - triangles[:, :1]).transpose(1, 0, 2)), axis=1
    )
    spacing = max(SPACING, float(np.sqrt(areas.sum() / 2.0 / MOST_POINTS)))
    found = [hull.vertices]
    steps = np.ceil(edges / spacing).astype(int)
    for count in np.unique(steps[steps > 1]):
        first, second = np.meshgrid(np.arange(count + 1), np.arange(count + 1), indexing="ij")
        kept = first + second <= count
        weights = np.stack([first[kept], second[kept], (count - first - second)[kept]], -1) / count
        found.append((weights @ triangles[steps == count]).reshape(-1, 3))
    return _apart(np.vstack(found), spacing / 2.0)


def _apart(points: Array, spacing: float) -> Array:
    """One point of each cell of a grid."""
    cells = np.round((points - points.min(axis=0)) / spacing).astype(np.int64)
    sides = cells.max(axis=0) + 1
    key = (cells[:, 0] * sides[1] + cells[:, 1]) * sides[2] + cells[:, 2]
    _, first = np.unique(key, return_index=True)
    return points[np.sort(first)]
