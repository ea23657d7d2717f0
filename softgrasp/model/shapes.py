"""Shapes as geoms, exact mass properties of solids, and closed surfaces of primitive shapes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import mujoco
import numpy as np
from numpy.typing import NDArray

from softgrasp.description.geometry import (
    Capsule,
    Compound,
    Cuboid,
    Cylinder,
    Ellipsoid,
    Mesh,
    ObjectShape,
    Part,
    Pose,
    Primitive,
    Shape,
    Sphere,
    Superellipsoid,
)
from softgrasp.io.mesh import MeshBody, load_mesh
from softgrasp.io.mesh_files import shape_triangles
from softgrasp.io.mesh_repair import hull_of
from softgrasp.mechanics import geometry
from softgrasp.mechanics.transforms import Array, position_of, quaternion_of, transform, triple

GEOM = mujoco.mjtGeom
VISUAL_GROUP = 2
"""Group of visual geoms. Geoms for all purposes are in group 0."""
COLLISION_GROUP, SKINNED_GROUP = 3, 4
"""Groups of collision geoms, and of those that throw shadows while a skin is drawn instead."""
TOUCHING_GROUPS = (0, COLLISION_GROUP, SKINNED_GROUP)
"""Groups of geoms that can touch."""
EDGE = 13
"""Points along an edge of the cube from which all surfaces are made."""
Faces = NDArray[np.int64]


class MassProperties(NamedTuple):
    """Mass properties of a solid at unit density about its centre of mass."""

    volume: float
    """Volume [m³]."""
    inertia: Array
    """Inertia at unit density, (3, 3) [m⁵]."""


# Geoms


def add_shape(
    spec: mujoco.MjSpec,
    body: mujoco.MjsBody,
    name: str,
    shape: ObjectShape,
    pose: Pose,
    *,
    rgba: Sequence[float],
) -> list[str]:
    """Add a shape to a body and return the names of its geoms that can touch.

    The geoms have no mass and touch nothing until a pair contains them.
    """
    if isinstance(shape, Compound):
        return _add_compound(spec, body, name, shape.at_scale(), pose, rgba)
    return _add_solid(spec, body, name, shape, pose, rgba)


def _add_solid(
    spec: mujoco.MjSpec,
    body: mujoco.MjsBody,
    name: str,
    shape: Shape,
    pose: Pose,
    rgba: Sequence[float],
    *,
    drawn: bool = True,
) -> list[str]:
    """Add a shape that is not a compound; one that is not drawn is in the collision group."""
    group = 0 if drawn else COLLISION_GROUP
    if isinstance(shape, Superellipsoid):
        surface = geometry.triangles(shape.radii, shape.exponents)
        _add_mesh(spec, body, name, surface, pose, rgba, group)
        return [name]
    if not isinstance(shape, Mesh):
        body.add_geom(name=name, rgba=rgba, **geom_of(shape), **_untouched(pose, group))
        return [name]
    mesh = load_mesh(shape)
    if drawn:
        _add_surface(spec, body, f"{name}_seen", mesh, pose, rgba)
    names = [f"{name}_{index}" if index else name for index in range(len(mesh.parts))]
    for part, surface in zip(names, mesh.parts, strict=True):
        _add_mesh(spec, body, part, surface, pose, rgba, COLLISION_GROUP)
    return names


def _untouched(pose: Pose, group: int) -> dict[str, Any]:
    """Return the fields of a geom without mass that touches nothing, at a pose."""
    return {
        "pos": list(pose.position),
        "quat": list(pose.quaternion),
        "group": group,
        "mass": 0.0,
        "contype": 0,
        "conaffinity": 0,
    }


def _add_compound(
    spec: mujoco.MjSpec,
    body: mujoco.MjsBody,
    name: str,
    shape: Compound,
    pose: Pose,
    rgba: Sequence[float],
) -> list[str]:
    """Add the parts of a compound; where it has visuals, only these are drawn."""
    names: list[str] = []
    for index, part in enumerate(_center(shape, shape.parts, pose)):
        part_of = part_name(name, index)
        names += _add_solid(
            spec, body, part_of, part.shape, part.pose, rgba, drawn=not shape.visuals
        )
    for index, part in enumerate(_center(shape, shape.visuals, pose), start=1):
        seen = f"{name}_seen{index}"
        if isinstance(part.shape, Mesh):
            _add_surface(spec, body, seen, load_mesh(part.shape), part.pose, rgba)
        else:
            _add_solid(spec, body, seen, part.shape, part.pose, rgba)
            spec.geom(seen).group = VISUAL_GROUP
    return names


def _center(shape: Compound, parts: Sequence[Part], pose: Pose) -> list[Part]:
    """Return parts with the poses of their centres where the centre of mass has a pose."""
    frame = transform(pose.position, pose.quaternion)
    frame[:3, 3] -= frame[:3, :3] @ compound_center(shape)
    moved = []
    for part in parts:
        centre = part_pose(part.shape, part.pose)
        whole = frame @ transform(centre.position, centre.quaternion)
        moved.append(
            part.replace(pose=Pose(position=position_of(whole), quaternion=quaternion_of(whole)))
        )
    return moved


def center_in_file(shape: ObjectShape) -> Array:
    """Return the centre of mass of an object in the frame of its file or description, (3,) [m].

    In a model the object's frame has the axes of that frame and its origin at this point.
    """
    match shape:
        case Mesh():
            return np.array(load_mesh(shape).center_of_mass)
        case Compound():
            return compound_center(shape)
        case _:
            return np.zeros(3)


def compound_center(shape: Compound) -> Array:
    """Return the centre of mass of a compound in its frame, (3,) [m]."""
    shape = shape.at_scale()
    if shape.center_of_mass is not None:
        return np.array(shape.center_of_mass)
    return np.array(_join_parts(shape)[2])


def _join_parts(shape: Compound) -> tuple[float, Array, tuple[float, float, float]]:
    """Return volume [m³], inertia at unit density [m⁵] and centre [m] of the parts."""
    placed = [(part.shape, part_pose(part.shape, part.pose)) for part in shape.parts]
    return join_inertia(placed, mass=None, density=1.0)


def _add_surface(
    spec: mujoco.MjSpec,
    body: mujoco.MjsBody,
    name: str,
    mesh: MeshBody,
    pose: Pose,
    rgba: Sequence[float],
) -> None:
    """Add the surface of a mesh, which is drawn only."""
    _add_mesh(spec, body, name, (mesh.vertices, mesh.faces), pose, rgba, VISUAL_GROUP)


def _add_mesh(
    spec: mujoco.MjSpec,
    body: mujoco.MjsBody,
    name: str,
    surface: tuple[Array, Any],
    pose: Pose,
    rgba: Sequence[float],
    group: int,
) -> None:
    """Add vertices and faces as an asset and a geom of the same name."""
    vertices, faces = surface
    spec.add_mesh(name=name, uservert=vertices.ravel(), userface=np.asarray(faces).ravel())
    kind = GEOM.mjGEOM_MESH
    body.add_geom(name=name, type=kind, meshname=name, rgba=rgba, **_untouched(pose, group))


def geom_of(shape: Primitive) -> dict[str, Any]:
    """Return the MuJoCo geom type and size of a primitive."""
    match shape:
        case Sphere():
            return {"type": GEOM.mjGEOM_SPHERE, "size": [shape.radius, 0, 0]}
        case Cylinder():
            return {"type": GEOM.mjGEOM_CYLINDER, "size": [shape.radius, shape.height / 2, 0]}
        case Cuboid():
            return {"type": GEOM.mjGEOM_BOX, "size": [edge / 2 for edge in shape.size]}
        case Capsule():
            return {"type": GEOM.mjGEOM_CAPSULE, "size": [shape.radius, shape.length / 2, 0]}
        case Ellipsoid():
            return {"type": GEOM.mjGEOM_ELLIPSOID, "size": list(shape.radii)}


def part_pose(shape: Shape, pose: Pose) -> Pose:
    """Return the pose of the centre of a part; for a mesh ``pose`` is that of the file frame.

    A mesh of a phalanx or palm has its vertices in the link frame, as in URDF.
    """
    if not isinstance(shape, Mesh):
        return pose
    frame = transform(pose.position, pose.quaternion)
    centre = frame[:3, :3] @ load_mesh(shape).center_of_mass + frame[:3, 3]
    return pose.replace(position=tuple(centre.tolist()))


def part_name(body: str, index: int) -> str:
    """Return the name of one of several shapes of a body; the first has the body's name."""
    return body if index == 0 else f"{body}_part{index + 1}"


def extent(shape: ObjectShape) -> tuple[float, float, float]:
    """Return the size of a shape along x, y and z of its frame [m]."""
    match shape:
        case Sphere(radius=r):
            return (2 * r, 2 * r, 2 * r)
        case Cylinder(radius=r, height=h):
            return (2 * r, 2 * r, h)
        case Capsule(radius=r, length=h):
            return (2 * r, 2 * r, h + 2 * r)
        case Cuboid(size=size):
            return size
        case Ellipsoid(radii=(a, b, c)) | Superellipsoid(radii=(a, b, c)):
            return (2 * a, 2 * b, 2 * c)
        case Mesh():
            return triple(np.ptp(load_mesh(shape).vertices, axis=0))
        case Compound():
            return triple(np.subtract(*reversed(bounds(shape))))


def width(shape: ObjectShape) -> float:
    """Return the smallest distance of parallel planes with the shape between them [m].

    Of other shapes than solids the planes are parallel to a face of the convex hull.
    """
    if not isinstance(shape, Mesh | Compound | Superellipsoid):
        return min(extent(shape))
    hull = hull_of(np.concatenate([vertices for vertices, _ in convex_parts(shape)]))
    first, second, third = np.moveaxis(hull.vertices[hull.faces], 1, 0)
    normals = np.cross(second - first, third - first)
    lengths = np.linalg.norm(normals, axis=1)
    normals = normals[lengths > 0.0] / lengths[lengths > 0.0, None]
    return float(np.ptp(hull.vertices @ normals.T, axis=0).min())


def bounds(shape: ObjectShape) -> tuple[Array, Array]:
    """Return the lower and upper corner of the bounding box of a shape in its frame, (3,) [m]."""
    if not isinstance(shape, Compound):
        half = _reach(shape, np.eye(3)), _reach(shape, -np.eye(3))
        return -half[1], half[0]
    shape = shape.at_scale()
    low, high = np.full(3, np.inf), np.full(3, -np.inf)
    for part in _center(shape, shape.parts, Pose()):
        frame = transform(part.pose.position, part.pose.quaternion)
        rotation, centre = frame[:3, :3], frame[:3, 3]
        low = np.minimum(low, centre - _reach(part.shape, -rotation))
        high = np.maximum(high, centre + _reach(part.shape, rotation))
    return low, high


def convex_parts(shape: ObjectShape) -> list[tuple[Array, Faces]]:
    """Return vertices (n, 3) [m] and faces (m, 3) of convex parts about the centre of mass."""
    if isinstance(shape, Mesh):
        return list(load_mesh(shape).parts)
    if not isinstance(shape, Compound):
        if isinstance(shape, Superellipsoid):
            return [geometry.triangles(shape.radii, shape.exponents)]
        return [shape_triangles(shape)]
    shape, parts = shape.at_scale(), []
    for part in _center(shape, shape.parts, Pose()):
        frame = transform(part.pose.position, part.pose.quaternion)
        for vertices, faces in convex_parts(part.shape):
            parts.append((vertices @ frame[:3, :3].T + frame[:3, 3], faces))
    return parts


def _reach(shape: Shape, directions: Array) -> Array:
    """Return how far a shape reaches from its frame along directions, (n, 3) of length 1, [m]."""
    match shape:
        case Sphere(radius=r):
            return np.full(len(directions), r)
        case Ellipsoid(radii=radii):
            return np.asarray(np.linalg.norm(directions * radii, axis=1))
        case Cuboid(size=size):
            return np.asarray(np.abs(directions) @ np.array(size) / 2)
        case Cylinder(radius=r, height=h):
            across = np.linalg.norm(directions[:, :2], axis=1)
            return np.asarray(r * across + h / 2 * np.abs(directions[:, 2]))
        case Capsule(radius=r, length=h):
            return np.asarray(r + h / 2 * np.abs(directions[:, 2]))
        case Superellipsoid():
            points = geometry.triangles(shape.radii, shape.exponents)[0]
        case Mesh():
            points = load_mesh(shape).vertices
    return np.asarray((directions @ points.T).max(axis=1))


# Mass properties


def mass_properties(shape: ObjectShape) -> MassProperties:
    """Compute volume and inertia at unit density about the centre of mass, in the shape frame."""
    if isinstance(shape, Compound):
        shape = shape.at_scale()
        volume, inertia, _ = _join_parts(shape)
        if shape.inertia_per_mass is not None:
            inertia = volume * inertia_tensor(shape.inertia_per_mass)
        return MassProperties(volume, inertia)
    if isinstance(shape, Mesh):
        body = load_mesh(shape)
        return MassProperties(body.volume, body.inertia_per_density)
    if isinstance(shape, Superellipsoid):
        form = (shape.radii, shape.exponents)
        return MassProperties(geometry.volume(*form), np.diag(geometry.moments(*form)))
    volume, moments = _primitive_moments(shape)
    return MassProperties(volume, np.diag(moments))


def _primitive_moments(shape: Primitive) -> tuple[float, list[float]]:
    """Compute volume [m³] and principal moments at unit density [m⁵]."""
    match shape:
        case Sphere(radius=r):
            volume = 4 / 3 * math.pi * r**3
            return volume, [0.4 * volume * r * r] * 3
        case Ellipsoid(radii=(a, b, c)):
            volume = 4 / 3 * math.pi * a * b * c
            squares = (b * b + c * c, a * a + c * c, a * a + b * b)
            return volume, [volume / 5 * square for square in squares]
        case Cuboid(size=(a, b, c)):
            volume = a * b * c
            squares = (b * b + c * c, a * a + c * c, a * a + b * b)
            return volume, [volume / 12 * square for square in squares]
        case Cylinder(radius=r, height=h):
            volume = math.pi * r * r * h
            across = volume * (3 * r * r + h * h) / 12
            return volume, [across, across, volume * r * r / 2]
        case Capsule(radius=r, length=h):
            tube, ball = math.pi * r * r * h, 4 / 3 * math.pi * r**3
            axial = tube * r * r / 2 + 0.4 * ball * r * r
            # half balls: parallel axes from their centroid at 3/8 r above the end of the tube
            across = tube * (3 * r * r + h * h) / 12
            across += ball * (0.4 * r * r + h * h / 4 + 3 / 8 * h * r)
            return tube + ball, [across, across, axial]


def join_inertia(
    shapes: Sequence[tuple[Shape, Pose]], *, mass: float | None, density: float
) -> tuple[float, Array, tuple[float, float, float]]:
    """Compute mass [kg], inertia about the centre of mass [kg·m²] and that centre [m] of shapes.

    Args:
        shapes: Shapes with the poses of their centres.
        mass: Total mass [kg]; None to compute it from the density.
        density: Density [kg/m³].
    """
    frames = [transform(pose.position, pose.quaternion) for _, pose in shapes]
    solids = [mass_properties(shape) for shape, _ in shapes]
    volumes = np.array([solid.volume for solid in solids])
    whole = float(volumes.sum())
    centers = np.array([frame[:3, 3] for frame in frames])
    # a single shape keeps its centre without rounding
    centre = centers[0] if len(centers) == 1 else volumes @ centers / whole
    inertia = np.zeros((3, 3))
    for solid, frame in zip(solids, frames, strict=True):
        rotation, away = frame[:3, :3], frame[:3, 3] - centre
        inertia += rotation @ solid.inertia @ rotation.T
        inertia += solid.volume * (away @ away * np.eye(3) - np.outer(away, away))
    total = mass if mass is not None else whole * density
    return total, inertia * (total / whole), triple(centre)


def set_inertia(
    body: mujoco.MjsBody, mass: float, inertia: Array, centre: Sequence[float] = (0.0, 0.0, 0.0)
) -> None:
    """Set mass [kg], inertia (3, 3) [kg·m²] about the centre of mass, and that centre [m].

    MuJoCo's inertia from geoms is not used, as it is not exact for meshes.
    """
    body.mass, body.ipos = mass, list(centre)
    body.fullinertia = list(inertia_components(inertia))
    body.explicitinertial = True


def inertia_tensor(components: Sequence[float]) -> Array:
    """Return the inertia tensor (3, 3) of (ixx, iyy, izz, ixy, ixz, iyz) [kg·m²]."""
    xx, yy, zz, xy, xz, yz = components
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def inertia_components(inertia: Array) -> tuple[float, float, float, float, float, float]:
    """Return (ixx, iyy, izz, ixy, ixz, iyz) of an inertia tensor (3, 3) [kg·m²]."""
    xx, yy, zz, xy, xz, yz = inertia[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]].tolist()
    return (xx, yy, zz, xy, xz, yz)


# Surfaces as triangles, for the skin of deformable objects


def surface_of(shape: ObjectShape) -> tuple[Array, Faces]:
    """Compute vertices (n, 3) [m] and triangles (m, 3), counterclockwise from outside.

    Args:
        shape: A cuboid, cylinder, ellipsoid or sphere.

    Raises:
        TypeError: Another shape.
    """
    cube, faces = _cube()
    match shape:
        case Sphere(radius=radius):
            return _weld(radius * _ball(cube), faces)
        case Ellipsoid(radii=radii):
            return _weld(_ball(cube) * radii, faces)
        case Cylinder(radius=radius, height=height):
            return _weld(_drum(cube) * [radius, radius, 0.5 * height], faces, caps=True)
        case Cuboid(size=size):
            return 0.5 * cube * size, faces
    raise TypeError(f"expected a shape that can be deformable, found {shape.type}")


def _cube() -> tuple[Array, Faces]:
    """Compute a cube from −1 to 1: six faces of EDGE × EDGE points, with the edges on both."""
    line = np.linspace(-1.0, 1.0, EDGE)
    across, along = (grid.ravel() for grid in np.meshgrid(line, line, indexing="ij"))
    number = np.arange(EDGE * EDGE).reshape(EDGE, EDGE)
    a, b, c, d = number[:-1, :-1], number[1:, :-1], number[:-1, 1:], number[1:, 1:]
    square = np.stack([np.stack([a, b, d], -1), np.stack([a, d, c], -1)], 2).reshape(-1, 3)
    points: list[Array] = []
    faces: list[Faces] = []
    for axis in range(3):
        for side in (-1.0, 1.0):
            sheet = np.empty((EDGE * EDGE, 3))
            sheet[:, axis] = side
            sheet[:, (axis + 1) % 3], sheet[:, (axis + 2) % 3] = across, along
            faces.append((square if side > 0 else square[:, ::-1]) + len(points) * EDGE * EDGE)
            points.append(sheet)
    return np.concatenate(points), np.concatenate(faces)


def _weld(points: Array, faces: Faces, *, caps: bool = False) -> tuple[Array, Faces]:
    """Merge coincident points, so that shading has no seams; caps keep sharp edges."""
    sheet = np.arange(len(points)) // (EDGE * EDGE)
    apart = np.where(caps & (sheet >= 4), 1.0, 0.0)
    keys = np.column_stack([points.round(9), apart])
    _, first, where = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    corners = where.ravel()[faces]
    flat = (corners == np.roll(corners, 1, axis=1)).any(axis=1)
    return points[first], corners[~flat]


def _ball(cube: Array) -> Array:
    """Map the points of the cube to the unit sphere, evenly by angle."""
    bent = np.tan(0.25 * np.pi * cube)
    return np.asarray(bent / np.linalg.norm(bent, axis=1, keepdims=True))


def _drum(cube: Array) -> Array:
    """Map the points of the cube to a cylinder of radius 1 from −1 to 1."""
    flat = np.abs(cube[:, :2]).max(axis=1, keepdims=True)
    length = np.maximum(np.linalg.norm(np.tan(0.25 * np.pi * cube[:, :2]), axis=1), 1e-12)
    round_ = np.tan(0.25 * np.pi * cube[:, :2]) / length[:, None] * flat
    return np.column_stack([round_, cube[:, 2]])
