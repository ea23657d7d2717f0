"""Grasp presets of imported hands: input and output of grasp synthesis.

``link_surfaces`` samples points on the collision shapes of links and inside the palm;
``grasp_synthesis`` closes the fingers on balls with them; ``preset_of`` makes the synthesized
grasp a preset of the hand. All points come from convex hulls.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.spatial import KDTree
from scipy.spatial.transform import Rotation

from softgrasp.description.actuation import Rates
from softgrasp.description.base import error_at, error_inside
from softgrasp.description.finger import Finger, Phalanx
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
from softgrasp.description.hand import GraspPreset, Grasps, Hand
from softgrasp.errors import DescriptionError, did_you_mean
from softgrasp.io.convex_decomposition import in_part
from softgrasp.io.mesh import load_mesh
from softgrasp.io.mesh_repair import Hull, hull_of
from softgrasp.io.yaml_files import Tree, mapping, rates_to_si
from softgrasp.mechanics import geometry
from softgrasp.mechanics.geometry import ball_points
from softgrasp.mechanics.hand_kinematics import Link, chain_links
from softgrasp.mechanics.transforms import Array, euler_from_rotation, transform, triple

if TYPE_CHECKING:
    from softgrasp.grasp_synthesis import SynthesizedGrasp

GRASPS = ("power", "precision")
Placed = tuple[Shape, Pose]
ALONG_Z = 0.5
"""Mean part of the finger forces along z above which upright objects are laid across [–]."""
SPACING = 3e-3
"""Spacing of points on a surface [m]."""
INNER_SPACING = 8e-3
"""Spacing of points inside [m]."""
MAX_CELLS = 100_000
"""Cells of the grid around one hull; the spacing grows for larger hulls."""
MAX_POINTS = 1500
"""Points on one hull; the spacing grows for larger hulls."""
JAW_END, JAW_CLOSED, JAW_OPEN = 0.85, 0.25, 0.3
"""Distance from its joint beyond which points are the end of a jaw, and its gaps to the link that
it closes on: less than the first one closed, more than the second one open; over its length [–]."""
FAR_END = 0.97
"""Fraction of the largest distance from the joint beyond which points form the link end [–]."""
POSITIONS, MAX_SWING = 13, 4.0
"""Positions of a jaw over its range at which gaps are measured, and largest range of its hinge
[rad]: the flange of an arm has more."""
PARALLEL, ON_FACE = 1e-4, 1e-6
"""Cosine to a face below which a line is parallel to it [–], and its largest distance from that
face outside it [m]."""


# Surface points
def link_surfaces(hand: Hand) -> dict[str, Array]:
    """Sample points (n, 3) [m] on the collision shapes of rigid fingers, in link frames.

    ``palm`` has points on and inside the palm, in the hand's frame.
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
        inner = (_move(inside(hull), pose) for shape, pose in shapes for hull in _hulls(shape))
        points["palm"] = np.vstack([surface_points(shapes), *inner])
    return points


def row_shapes(row: Phalanx, link: Link) -> list[Placed]:
    """Return the shapes of a phalanx, or its default capsule where it has none."""
    shapes = [] if row.shape is None else [(row.shape, row.shape_pose)]
    shapes += [(part.shape, part.pose) for part in row.parts]
    if shapes:
        return shapes
    length = float(np.linalg.norm(link.end))
    # quaternion of a rotation from z to the link
    w = np.array([length + link.end[2], -link.end[1], link.end[0], 0.0])
    quaternion = tuple((w if np.linalg.norm(w) > 0.0 else np.array([0.0, 1.0, 0.0, 0.0])).tolist())
    pose = Pose(position=triple(link.end / 2), quaternion=quaternion)
    return [(Capsule(radius=row.radius, length=length), pose)]


def jaw_positions(limits: tuple[float, float], *, is_hinge: bool) -> list[float]:
    """Return positions [rad or m] of a joint at which to check a jaw; none for that of an arm."""
    low, high = limits
    return [] if is_hinge and high - low > MAX_SWING else np.linspace(low, high, POSITIONS).tolist()


def closes_on(link: Array, other: Array, frames: Sequence[Array], base: Array) -> bool:
    """Return whether a link closes on the one that carries it, as a jaw on a fixed jaw.

    A fixed jaw extends beyond the joint; the phalanx before a joint ends there.

    Args:
        link: Points of the link in the frame of its joint, (n, 3) [m].
        other: Points of the link that carries it, (m, 3) [m].
        frames: Frames of the joint over its range in the frame of ``other``, (4, 4) each.
        base: The joint before, (3,) [m].
    """
    if not frames:
        return False
    reach = np.linalg.norm(frames[0][:3, 3] - base)
    beyond = other[np.linalg.norm(other - base, axis=1) > reach]
    if not (len(link) and len(beyond)):
        return False
    away = np.linalg.norm(link, axis=1)
    end, length = link[away >= JAW_END * away.max()], float(away.max())
    tree = KDTree(beyond)
    moved = (end @ frame[:3, :3].T + frame[:3, 3] for frame in frames)
    gaps = [float(np.min(tree.query(points)[0])) / length for points in moved]
    return bool(min(gaps) < JAW_CLOSED and max(gaps) > JAW_OPEN)


def surface_points(shapes: Sequence[Placed]) -> Array:
    """Sample the convex hulls of shapes, (n, 3) [m]; a mesh has the pose of its file's frame."""
    return np.vstack([_move(on_faces(hull), pose) for s, pose in shapes for hull in _hulls(s)])


def on_faces(hull: Hull) -> Array:
    """Sample a convex hull by lines along the axes of its frame, its corners included, (n, 3) [m].

    The points do not depend on the triangulation, and those of a mirror image are mirrored.
    """
    triangles = hull.vertices[hull.faces]
    normals = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
    areas = np.linalg.norm(normals, axis=1)
    kept = areas > 0.0
    normals = normals[kept] / areas[kept, None]
    offsets = np.einsum("ij,ij->i", normals, triangles[kept, 0])
    low, high = hull.vertices.min(axis=0), hull.vertices.max(axis=0)
    spacing = max(SPACING, float(np.sqrt(0.75 * areas.sum() / MAX_POINTS)))
    points = [hull.vertices]
    for axis in range(3):
        others = [index for index in range(3) if index != axis]
        counts = {i: int(np.ceil((high[i] - low[i]) / spacing - 1e-6)) for i in others}
        sides = [np.linspace(low[i], high[i], count + 1) for i, count in counts.items()]
        grid = np.stack(np.meshgrid(*sides, indexing="ij"), axis=-1).reshape(-1, 2)
        rest = offsets - grid @ normals[:, others].T
        along = normals[:, axis]
        parallel = np.abs(along) < PARALLEL
        ends = rest[:, ~parallel] / along[~parallel]
        ahead = along[~parallel] > 0.0
        if ahead.all() or not ahead.any():  # so thin that its other side has no area
            continue
        last, first = ends[:, ahead].min(axis=1), ends[:, ~ahead].max(axis=1)
        meets = (first <= last) & (rest[:, parallel] >= -ON_FACE).all(axis=1)
        for end in (first, last):
            met = np.zeros((int(meets.sum()), 3))
            met[:, others] = grid[meets]
            met[:, axis] = np.clip(end[meets], low[axis], high[axis])
            points.append(met)
    return np.vstack(points)


def inside(hull: Hull) -> Array:
    """Sample grid points inside a convex hull, (n, 3) [m]."""
    low, high = hull.vertices.min(axis=0), hull.vertices.max(axis=0)
    step = max(INNER_SPACING, float(np.prod(high - low) / MAX_CELLS) ** (1.0 / 3.0))
    counts = np.floor((high - low) / step + 0.5).astype(int)
    middle = (low + high) / 2.0  # mirror images of a hull have mirrored points
    axes = [m + step * (np.arange(n) - (n - 1) / 2.0) for m, n in zip(middle, counts, strict=True)]
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    return np.asarray(grid[in_part(grid, (hull.vertices, hull.faces))])


def corners(shape: Shape) -> Array:
    """Points whose convex hull is a primitive; round shapes are faceted, (n, 3) [m]."""
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


def _move(points: Array, pose: Pose) -> Array:
    frame = transform(pose.position, pose.quaternion)
    return np.asarray(points @ frame[:3, :3].T + frame[:3, 3])


def _hulls(shape: Shape) -> list[Hull]:
    """Return the convex parts of a shape in its frame, of a mesh in the frame of its file."""
    if isinstance(shape, Mesh):
        body = load_mesh(shape)
        return [Hull(v + body.center_of_mass, f, 0.0) for v, f in body.parts]
    return [hull_of(corners(shape))]


# Presets
def preset_of(grasp: SynthesizedGrasp) -> GraspPreset:
    """Make a preset from a grasp in the hand's frame, z up; long objects lie across the hand."""
    along = np.array([grasp.object_axis.axis])
    rotation, _ = Rotation.align_vectors(along, np.array([[0.0, 0.0, 1.0]]))
    across = triple(np.round(euler_from_rotation(rotation), 6))
    upwards = grasp.normals and float(np.abs(np.array(grasp.normals)[:, 2]).mean()) > ALONG_Z
    return GraspPreset(
        center=grasp.center,
        rates=Rates(grasp.rates),
        object_euler=across,
        upright_euler=across if upwards else None,
        start=grasp.start,
        per_object=True,
    )


def in_frame(grasp: SynthesizedGrasp, frame: Array) -> SynthesizedGrasp:
    """Transform a grasp from a frame into the hand's frame; ``frame`` is a 4 × 4 transform."""
    axis = frame[:3, :3] @ np.array(grasp.object_axis.axis)
    along = (axis if axis[2] >= 0.0 else -axis).round(9) + 0.0
    normals = (np.array(grasp.normals).reshape(-1, 3) @ frame[:3, :3].T).tolist()
    return replace(
        grasp,
        center=triple((frame @ [*grasp.center, 1.0])[:3].round(6)),
        normals=tuple((a, b, c) for a, b, c in normals),
        object_axis=grasp.object_axis._replace(axis=triple(along)),
    )


# Changes by a YAML file beside the model
def rename_fingers(hand: Hand, names: Tree) -> tuple[Finger, ...]:
    """Return the fingers of a hand with the new names of the file.

    Raises:
        DescriptionError: There is no such finger; knows its location.
    """
    known = [finger.name for finger in hand.fingers]
    new = mapping(names, "fingers")
    for name in new:
        if name not in known:
            raise error_at(f"no finger '{name}'; {did_you_mean(name, known)}", "fingers", name)
    return tuple(finger.replace(name=new.get(finger.name, finger.name)) for finger in hand.fingers)


def change_grasps(
    hand: Hand, fields: Tree, units: Sequence[float], shared: Mapping[str, Tree] | None = None
) -> Grasps:
    """Return the grasps of a hand with fields of a file, in SI but ``rates`` and ``start``.

    Raises:
        DescriptionError: A grasp or a field is unknown or does not fit; knows its location.
    """
    by_grasp = mapping(fields, "grasps")
    for kind in by_grasp:
        if kind not in GRASPS:
            raise error_at(f"no grasp '{kind}'; known: {', '.join(GRASPS)}", "grasps", kind)
    presets = {}
    for kind, preset in hand.grasps:
        changes = {**(shared or {}), **mapping(by_grasp.get(kind, {}), "grasps", kind)}
        for key in ("rates", "start"):
            if key in changes:
                changes[key] = rates_to_si(changes[key], list(units))
        try:
            presets[kind] = preset.replace(**({"per_object": False} | changes if changes else {}))
        except DescriptionError as error:
            raise error_inside(error, "grasps", kind) from None
    return Grasps(**presets)
