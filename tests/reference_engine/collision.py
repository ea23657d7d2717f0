"""Contact points of planes, spheres, capsules, cylinders and boxes, vectorised over pairs.

Every function takes the geoms of many pairs and returns their contact points. A sphere is a capsule
of length zero. Number of points of a pair: two ends of a capsule on a plane, two ends of the
overlap of a capsule with a face of a box or a cap of a cylinder, the corners of the overlap of two
faces of boxes, two or three points of a cylinder on a plane or a face, else the closest point.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import mujoco
import numpy as np
from numpy.typing import NDArray

from softgrasp.mechanics import Array

Indices = NDArray[np.int64]
Flags = NDArray[np.bool_]
GEOM = mujoco.mjtGeom
PLANE, SPHERE, CAPSULE = int(GEOM.mjGEOM_PLANE), int(GEOM.mjGEOM_SPHERE), int(GEOM.mjGEOM_CAPSULE)
CYLINDER, BOX = int(GEOM.mjGEOM_CYLINDER), int(GEOM.mjGEOM_BOX)
TINY = 1e-12
"""Lengths [m] and squared sines [–] below which a direction is undefined."""
FLAT = 1e-9
"""Distance beyond an edge up to which a point counts as over the face [m]."""
SAME = 1e-4
"""Corners of two faces closer than this are one contact point [m]."""
OVERHANG = 2e-4
"""Depth by which an edge of a box must be nearer to the surface of a cylinder than its face is, to
carry the cylinder alone [m]."""
EDGE_PREFERENCE = 1e-6
"""Depth by which the overlap along two edges must be smaller than that along a face [m]."""
BISECTIONS = 30
"""Bisections of a segment for its point closest to the rim of a cylinder."""
SQUARE = np.array([[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]])
NEXT = np.array([1, 2, 3, 0])
SIGNS = np.stack(np.meshgrid(*([-1.0, 1.0],) * 3, indexing="ij"), -1).reshape(-1, 3)


class Geoms(NamedTuple):
    """Geoms of one type, the i-th one for the i-th of n pairs."""

    position: Array
    """Centres, (n, 3) [m]."""
    rotation: Array
    """Axes in columns, (n, 3, 3)."""
    size: Array
    """MuJoCo's sizes: radius and half length, half edges, (n, 3) [m]."""


class Points(NamedTuple):
    """Contact points of n pairs of geoms, with positive distances where these do not overlap."""

    pair: Indices
    """Index of the pair of each point, (m,)."""
    point: Array
    """Middle of the overlap, (m, 3) [m]."""
    normal: Array
    """Unit normal from the first geom to the second, (m, 3)."""
    depth: Array
    """Penetration, negative for a gap, (m,) [m]."""


Kernel = Callable[[Geoms, Geoms], Points]


def dot(first: Array, second: Array) -> Array:
    """Return the scalar products of corresponding rows, (n,)."""
    return np.asarray(np.einsum("...i,...i->...", first, second))


def crossed(first: Array, second: Array) -> Array:
    """Return the cross products of the last axes; faster than ``np.cross``."""
    a, b, c = first[..., 0], first[..., 1], first[..., 2]
    x, y, z = second[..., 0], second[..., 1], second[..., 2]
    return np.stack([b * z - c * y, c * x - a * z, a * y - b * x], axis=-1)


def _local(frame: Geoms, points: Array) -> Array:
    """Transform world points to the frames of geoms, (n, 3)."""
    return np.asarray(np.einsum("nji,nj->ni", frame.rotation, points - frame.position))


def _rotated(frame: Geoms, vectors: Array) -> Array:
    return np.asarray(np.einsum("nij,nj->ni", frame.rotation, vectors))


def _world(frame: Geoms, points: Array) -> Array:
    return _rotated(frame, points) + frame.position


def _half(segment: Geoms) -> Array:
    """Return the vectors from the centres of capsules to their ends, (n, 3)."""
    return segment.rotation[:, :, 2] * segment.size[:, 1:2]


def joined(*parts: Points) -> Points:
    """Concatenate contact points."""
    columns: Any = (np.concatenate(column) for column in zip(*parts, strict=True))
    return Points(*columns)


def _selected(points: Points, kept: Flags) -> Points:
    columns: Any = (column[kept] for column in points)
    return Points(*columns)


# Planes


def plane_segment(plane: Geoms, segment: Geoms) -> Points:
    """Return both ends of capsules, or the lowest points of spheres, on planes."""
    normal, half = plane.rotation[:, :, 2], _half(segment)
    single = not half.any()
    ends = [segment.position] if single else [segment.position - half, segment.position + half]
    return joined(*(_on_plane(plane, normal, end, segment.size[:, 0]) for end in ends))


def _on_plane(plane: Geoms, normal: Array, point: Array, radius: Array | float) -> Points:
    height = dot(point - plane.position, normal) - radius
    middle = point - normal * (np.asarray(radius) + 0.5 * height)[:, None]
    return Points(np.arange(len(point)), middle, normal, -height)


def plane_box(plane: Geoms, box: Geoms) -> Points:
    """Return all corners of boxes on planes."""
    normal = plane.rotation[:, :, 2]
    corners = [_world(box, sign * box.size) for sign in SIGNS]
    return joined(*(_on_plane(plane, normal, corner, 0.0) for corner in corners))


def plane_cylinder(plane: Geoms, cylinder: Geoms) -> Points:
    """Return the lowest points of both caps, and two more on the rim of the lower one."""
    normal = plane.rotation[:, :, 2]
    return joined(*(_on_plane(plane, normal, point, 0.0) for point in _rim(cylinder, normal)))


def _rim(cylinder: Geoms, normal: Array) -> list[Array]:
    """Return four points of cylinders towards planes, (n, 3) each.

    The lowest points of the lower and of the upper cap, and two points of the lower cap which make
    an equilateral triangle with its lowest one.
    """
    axis, radius, half = cylinder.rotation[:, :, 2], cylinder.size[:, 0:1], cylinder.size[:, 1:2]
    along = dot(axis, normal)[:, None]
    down = along * axis - normal
    length = np.linalg.norm(down, axis=1, keepdims=True)
    down = np.where(length > TINY, down / np.maximum(length, TINY), cylinder.rotation[:, :, 0])
    across = crossed(axis, down)
    lower = cylinder.position - np.where(along > 0.0, 1.0, -1.0) * half * axis
    upper = 2.0 * cylinder.position - lower
    side = 0.5 * np.sqrt(3.0) * across
    return [
        lower + radius * down,
        upper + radius * down,
        lower + radius * (side - 0.5 * down),
        lower - radius * (side + 0.5 * down),
    ]


# Spheres and capsules


def segment_segment(first: Geoms, second: Geoms) -> Points:
    """Return the closest points of two capsules or spheres; the middle one where many are."""
    d1, d2 = 2.0 * _half(first), 2.0 * _half(second)
    p1, p2 = first.position - 0.5 * d1, second.position - 0.5 * d2
    s, t = _closest_of_lines(p1, d1, p2, d2)
    item, two = p1 + s[:, None] * d1, p2 + t[:, None] * d2
    away = two - item
    distance = np.linalg.norm(away, axis=1)
    normal = np.where(
        (distance > TINY)[:, None], away / np.maximum(distance, TINY)[:, None], [0.0, 0.0, 1.0]
    )
    r1, r2 = first.size[:, 0], second.size[:, 0]
    middle = item + normal * (0.5 * (r1 + distance - r2))[:, None]
    return Points(np.arange(len(s)), middle, normal, r1 + r2 - distance)


def _closest_of_lines(p1: Array, d1: Array, p2: Array, d2: Array) -> tuple[Array, Array]:
    """Return the parameters 0 … 1 of the closest points of two segments, (n,) each."""
    r = p1 - p2
    a, e = dot(d1, d1) + TINY**2, dot(d2, d2) + TINY**2
    b, c, f = dot(d1, d2), dot(d1, r), dot(d2, r)
    denominator = a * e - b * b
    parallel = denominator <= TINY * a * e
    # the part of the first segment beside the second one
    ends = np.clip(np.stack([-c, b - c]) / a, 0.0, 1.0)
    s = np.where(parallel, ends.mean(axis=0), (b * f - c * e) / np.where(parallel, 1, denominator))
    s = np.clip(s, 0.0, 1.0)
    t = np.clip((b * s + f) / e, 0.0, 1.0)
    return np.clip((b * t - c) / a, 0.0, 1.0), t


# Capsules and spheres on boxes


def segment_box(segment: Geoms, box: Geoms) -> Points:
    """Return the closest points of capsules and boxes, and the far ends of overlaps with faces."""
    radius, size = segment.size[:, 0], box.size
    start, run = _segment_in(box, segment)
    t = _closest_to_box(start, run, size)
    x = start + t[:, None] * run
    outside = np.maximum(np.abs(x) - size, 0.0)
    # the face beyond which the point is farthest, or below which it is least deep
    face = np.argmax(np.abs(x) - size, axis=1)
    rows = np.arange(len(face))
    sign = np.where(x[rows, face] < 0.0, -1.0, 1.0)
    along_face = np.zeros_like(x)
    along_face[rows, face] = sign
    low, high = _inside_faces(start, run, size, face)
    heights = [sign * (start + t_[:, None] * run)[rows, face] for t_ in (low, high)]
    over_face = ((outside > FLAT).sum(axis=1) <= 1) & (low < high)
    t = np.where(over_face, np.where(heights[0] <= heights[1], low, high), t)
    x = start + t[:, None] * run
    outside = np.sign(x) * np.maximum(np.abs(x) - size, 0.0)
    distance = np.linalg.norm(outside, axis=1)
    in_core = distance < TINY
    normal = np.where(in_core[:, None], along_face, outside / np.maximum(distance, TINY)[:, None])
    height = np.where(in_core, sign * x[rows, face] - size[rows, face], distance)
    closest = _on_box(box, rows, x, normal, height, radius)
    if not run.any():
        return closest
    x_far = start + np.where(np.abs(low - t) > np.abs(high - t), low, high)[:, None] * run
    far = _on_box(box, rows, x_far, along_face, sign * x_far[rows, face] - size[rows, face], radius)
    return joined(closest, _selected(far, low < high))


def _segment_in(frame: Geoms, segment: Geoms) -> tuple[Array, Array]:
    """Return starts of the segments and vectors to their ends in frames, (n, 3) each."""
    half = np.einsum("nji,nj->ni", frame.rotation, _half(segment))
    return _local(frame, segment.position) - half, 2.0 * half


def _on_box(
    frame: Geoms, pair: Indices, x: Array, normal: Array, height: Array, radius: Array
) -> Points:
    """Return contacts of spheres around points x in a box frame; ``height`` is their centres'."""
    middle = x - normal * (0.5 * (radius + height))[:, None]
    return Points(pair, _world(frame, middle), -_rotated(frame, normal), radius - height)


def _closest_to_box(start: Array, run: Array, size: Array) -> Array:
    """Return the parameters of the points of segments closest to boxes, (n,).

    The squared distance is convex and piecewise quadratic; its derivative is piecewise linear.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        knots = np.concatenate([(-size - start) / run, (size - start) / run], axis=1)
    knots = np.clip(np.nan_to_num(knots, nan=0.0, posinf=1.0, neginf=0.0), 0.0, 1.0)
    knots = np.concatenate([np.zeros((len(start), 1)), np.sort(knots, axis=1)], axis=1)
    knots = np.concatenate([knots, np.ones((len(start), 1))], axis=1)
    x = start[:, None] + knots[:, :, None] * run[:, None]
    slope = np.einsum("nki,ni->nk", x - np.clip(x, -size[:, None], size[:, None]), run)
    positive = slope >= 0.0
    after = np.where(positive.any(axis=1), positive.argmax(axis=1), knots.shape[1] - 1)
    before = np.maximum(after - 1, 0)
    rows = np.arange(len(start))
    t0, t1, g0, g1 = (
        knots[rows, before],
        knots[rows, after],
        slope[rows, before],
        slope[rows, after],
    )
    rise = g1 - g0
    fraction = np.where(rise > 0.0, -g0 / np.where(rise > 0.0, rise, 1.0), 1.0)
    return np.asarray(t0 + np.clip(fraction, 0.0, 1.0) * (t1 - t0))


def _inside_faces(start: Array, run: Array, size: Array, face: Indices) -> tuple[Array, Array]:
    """Return the parameters between which segments are over faces of boxes, (n,) each."""
    with np.errstate(divide="ignore", invalid="ignore"):
        first, second = (-size - start) / run, (size - start) / run
    standing = run == 0.0
    within = np.abs(start) <= size
    low = np.where(standing, np.where(within, 0.0, 2.0), np.minimum(first, second))
    high = np.where(standing, np.where(within, 1.0, -1.0), np.maximum(first, second))
    rows = np.arange(len(face))
    low[rows, face], high[rows, face] = 0.0, 1.0
    return np.clip(low.max(axis=1), 0.0, 1.0), np.clip(high.min(axis=1), 0.0, 1.0)


# Cylinders


def segment_cylinder(segment: Geoms, cylinder: Geoms) -> Points:
    """Return the closest points of capsules and cylinders, and far ends of overlaps with caps."""
    ball, radius, half = segment.size[:, 0], cylinder.size[:, 0], cylinder.size[:, 1]
    start, run = _segment_in(cylinder, segment)
    t = _closest_to_cylinder(start, run, radius, half)
    x = start + t[:, None] * run
    normal, height, on_cap = _out_of_cylinder(x, radius, half)
    rows = np.arange(len(t))
    closest = _on_box(cylinder, rows, x, normal, height, ball)
    low, high = _inside_disc(start, run, radius)
    kept = on_cap & (low < high)
    if not kept.any():
        return closest
    sign = np.where(x[:, 2] < 0.0, -1.0, 1.0)
    t_far = np.where(np.abs(low - t) > np.abs(high - t), low, high)
    t_near = low + high - t_far
    upwards = np.zeros_like(x)
    upwards[:, 2] = sign
    ends = []
    for at in (t_near, t_far):
        end = start + at[:, None] * run
        ends.append(_on_box(cylinder, rows, end, upwards, sign * end[:, 2] - half, ball))
    return joined(_selected(closest, ~kept), *(_selected(end, kept) for end in ends))


def _out_of_cylinder(x: Array, radius: Array, half: Array) -> tuple[Array, Array, Flags]:
    """Return normals (n, 3), signed distances [m] of points, and whether they are over a cap."""
    across = np.hypot(x[:, 0], x[:, 1])
    radial = np.zeros_like(x)
    radial[:, :2] = x[:, :2] / np.maximum(across, TINY)[:, None]
    radial[across <= TINY, 0] = 1.0
    axial = np.zeros_like(x)
    axial[:, 2] = np.where(x[:, 2] < 0.0, -1.0, 1.0)
    side, top = across - radius, np.abs(x[:, 2]) - half
    out = np.hypot(np.maximum(side, 0.0), np.maximum(top, 0.0))
    at_rim = (side > FLAT) & (top > 0.0)
    on_cap = (top > side) & ~at_rim
    rim = (radial * side[:, None] + axial * top[:, None]) / np.maximum(out, TINY)[:, None]
    normal = np.where(at_rim[:, None], rim, np.where(on_cap[:, None], axial, radial))
    return normal, np.where(at_rim, out, np.maximum(side, top)), on_cap


def _closest_to_cylinder(start: Array, run: Array, radius: Array, half: Array) -> Array:
    """Return the parameters of the points of segments that are closest to cylinders, (n,)."""
    flat = run[:, :2]
    square = dot(flat, flat)
    parallel = square <= TINY * dot(run, run) + TINY**2
    t = -dot(start[:, :2], flat) / np.where(parallel, 1.0, square)
    with np.errstate(divide="ignore", invalid="ignore"):
        sides = np.stack([(-half - start[:, 2]) / run[:, 2], (half - start[:, 2]) / run[:, 2]])
    overlap = np.clip(np.nan_to_num(sides, nan=0.0), 0.0, 1.0).mean(axis=0)
    t = np.clip(np.where(parallel, overlap, t), 0.0, 1.0)
    beside = np.abs((start + t[:, None] * run)[:, 2]) <= half
    if beside.all():
        return t
    rest = ~beside
    t[rest] = _bisected(start[rest], run[rest], radius[rest], half[rest])
    return t


def _bisected(start: Array, run: Array, radius: Array, half: Array) -> Array:
    """Find the zero of the derivative of the squared distance by bisection, (n,)."""
    low, high = np.zeros(len(start)), np.ones(len(start))
    for _ in range(BISECTIONS):
        t = 0.5 * (low + high)
        x = start + t[:, None] * run
        across = np.hypot(x[:, 0], x[:, 1])
        side = np.maximum(across - radius, 0.0) / np.maximum(across, TINY)
        top = np.sign(x[:, 2]) * np.maximum(np.abs(x[:, 2]) - half, 0.0)
        slope = side * dot(x[:, :2], run[:, :2]) + top * run[:, 2]
        low, high = np.where(slope < 0.0, t, low), np.where(slope < 0.0, high, t)
    return 0.5 * (low + high)


def _inside_disc(start: Array, run: Array, radius: Array) -> tuple[Array, Array]:
    """Return the parameters between which segments are over caps of cylinders, (n,) each."""
    a = dot(run[:, :2], run[:, :2])
    b = dot(start[:, :2], run[:, :2])
    square = b * b - a * (dot(start[:, :2], start[:, :2]) - radius**2)
    root = np.sqrt(np.maximum(square, 0.0))
    divisor = np.where(a > TINY**2, a, 1.0)
    low = np.where(a > TINY**2, (-b - root) / divisor, 0.0)
    high = np.where(a > TINY**2, (-b + root) / divisor, 0.0)
    low, high = np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0)
    return np.where(square > 0.0, low, 1.0), np.where(square > 0.0, high, 0.0)


def cylinder_box(cylinder: Geoms, box: Geoms) -> Points:
    """Return the contact points of cylinders with faces of boxes, else with their edges."""
    parts = [_cylinder_on_box(index, cylinder, box) for index in range(len(cylinder.position))]
    return joined(*parts)


def _cylinder_on_box(index: int, cylinders: Geoms, boxes: Geoms) -> Points:
    cylinder, box = (Geoms(*(c[index : index + 1] for c in geoms)) for geoms in (cylinders, boxes))
    centre = _local(box, cylinder.position)[0]
    axis = box.rotation[0].T @ cylinder.rotation[0, :, 2]
    radius, half, *_ = cylinder.size[0]
    reach = half * np.abs(axis) + radius * np.sqrt(np.maximum(1.0 - axis**2, 0.0))
    gaps = np.abs(centre) - box.size[0] - reach
    face = int(gaps.argmax())
    sign = -1.0 if centre[face] < 0.0 else 1.0
    normal = sign * box.rotation[:, :, face]
    lower, upper, *sides = (_local(box, point)[0] for point in _rim(cylinder, normal))
    size = box.size
    low, high = _inside_faces(lower[None], (upper - lower)[None], size, np.array([face]))
    points = []
    if low[0] < high[0]:
        points += [lower + t * (upper - lower) for t in (low[0], high[0])]
    others = [axis for axis in range(3) if axis != face]
    points += [p for p in sides if (np.abs(p)[others] <= size[0, others]).all()]
    heights = np.array([sign * p[face] - size[0, face] for p in points])
    inside = (np.abs(centre) + reach)[others] <= size[0, others]
    if gaps[face] <= 0.0 and not inside.all():
        edge = _edges_in_cylinder(index, cylinder, box)
        on_edge = edge.depth[0] > 0.0 and -gaps[face] > edge.depth[0] + OVERHANG
        if on_edge or not (heights < 0.0).any():
            return edge
    along = np.zeros(3)
    along[face] = sign
    at = np.array(points).reshape(-1, 3) - 0.5 * heights.reshape(-1, 1) * along
    normals = np.tile(-(box.rotation[0] @ along), (len(points), 1))
    world = at @ box.rotation[0].T + box.position[0]
    return Points(np.full(len(points), index), world, normals, -heights)


def _edges_in_cylinder(index: int, cylinder: Geoms, box: Geoms) -> Points:
    """Return the deepest point of the edges of a box in a cylinder, by its side or its cap."""
    edges = _edges(box)
    count = len(edges.position)
    many = Geoms(*(np.repeat(column, 3 * count, axis=0) for column in cylinder))
    start, run = _segment_in(Geoms(*(column[:count] for column in many)), edges)
    radius, half = many.size[:count, 0], many.size[:count, 1]
    t = np.concatenate([np.zeros(count), np.ones(count), np.zeros(count)])
    t[2 * count :] = _closest_to_cylinder(start, run, radius, half)
    x = np.tile(start, (3, 1)) + t[:, None] * np.tile(run, (3, 1))
    normal, height, _ = _out_of_cylinder(x, many.size[:, 0], many.size[:, 1])
    points = _on_box(many, np.arange(3 * count), x, normal, height, np.zeros(3 * count))
    deepest = slice(first := int(points.depth.argmax()), first + 1)
    return Points(
        np.array([index]), points.point[deepest], -points.normal[deepest], points.depth[deepest]
    )


def _edges(box: Geoms) -> Geoms:
    """Return the 12 edges of one box as capsules of radius zero."""
    rotation, size = box.rotation[0], box.size[0]
    positions, rotations, lengths = [], [], []
    for axis in range(3):
        item, two = (axis + 1) % 3, (axis + 2) % 3
        for first in (-1.0, 1.0):
            for second in (-1.0, 1.0):
                middle = np.zeros(3)
                middle[item], middle[two] = first * size[item], second * size[two]
                positions.append(rotation @ middle + box.position[0])
                rotations.append(rotation[:, [item, two, axis]])
                lengths.append([0.0, size[axis], 0.0])
    return Geoms(np.array(positions), np.array(rotations), np.array(lengths))


# Boxes


def box_box(first: Geoms, second: Geoms) -> Points:
    """Return the corners of the overlaps of two faces, or the closest points of two edges."""
    return joined(*(_two_boxes(index, first, second) for index in range(len(first.position))))


def _two_boxes(index: int, firsts: Geoms, seconds: Geoms) -> Points:
    first, second = (Geoms(*(column[index] for column in geoms)) for geoms in (firsts, seconds))
    away = second.position - first.position
    relative = first.rotation.T @ second.rotation
    gaps_one = np.abs(first.rotation.T @ away) - first.size - np.abs(relative) @ second.size
    gaps_two = np.abs(second.rotation.T @ away) - second.size - np.abs(relative).T @ first.size
    axes = crossed(first.rotation.T[:, None], second.rotation.T[None]).reshape(9, 3)
    lengths = np.linalg.norm(axes, axis=1)
    axes = axes / np.maximum(lengths, TINY)[:, None]
    reach = (
        np.abs(axes @ first.rotation) @ first.size + np.abs(axes @ second.rotation) @ second.size
    )
    gaps_edges = np.where(lengths > 1e-3, np.abs(axes @ away) - reach, -np.inf)
    edge = int(gaps_edges.argmax())
    if gaps_edges[edge] > max(gaps_one.max(), gaps_two.max()) + EDGE_PREFERENCE:
        normal = axes[edge] * (1.0 if axes[edge] @ away >= 0.0 else -1.0)
        return _two_edges(index, first, second, divmod(edge, 3), normal)
    if gaps_one.max() >= gaps_two.max():
        return _two_faces(index, first, second, int(gaps_one.argmax()), away, 1.0)
    return _two_faces(index, second, first, int(gaps_two.argmax()), -away, -1.0)


def _two_edges(
    index: int, first: Geoms, second: Geoms, axes: tuple[int, int], normal: Array
) -> Points:
    ends = []
    for box, axis, direction in ((first, axes[0], normal), (second, axes[1], -normal)):
        middle = np.where(box.rotation.T @ direction >= 0.0, box.size, -box.size)
        middle[axis] = 0.0
        run = 2.0 * box.size[axis] * box.rotation[:, axis]
        ends.append((box.position + box.rotation @ middle - 0.5 * run, run))
    (p1, d1), (p2, d2) = ends
    s, t = _closest_of_lines(p1[None], d1[None], p2[None], d2[None])
    a, b = p1 + s[0] * d1, p2 + t[0] * d2
    depth = (a - b) @ normal
    middle = 0.5 * (a + b)
    return Points(np.array([index]), middle[None], normal[None], np.array([depth]))


def _two_faces(
    index: int, first: Geoms, two: Geoms, face: int, away: Array, order: float
) -> Points:
    """Return the corners of the overlap of a face of one box with the facing one of another.

    Args:
        index: Index of the pair.
        one: Box with the reference face.
        two: The other box.
        face: Axis of the reference face.
        away: From the centre of ``one`` to that of ``two``, (3,) [m].
        order: 1 where ``one`` is the first box of the pair, else −1.
    """
    normal = first.rotation[:, face] * (1.0 if first.rotation[:, face] @ away >= 0.0 else -1.0)
    sides = [axis for axis in range(3) if axis != face]
    facing = two.rotation.T @ normal
    second = int(np.abs(facing).argmax())
    wide = [axis for axis in range(3) if axis != second]
    middle = two.position - np.sign(facing[second]) * two.size[second] * two.rotation[:, second]
    frame = first.rotation[:, sides]
    # the facing face in the plane of the reference face: centre, and half edges in columns
    centre = (middle - first.position) @ frame
    edges = frame.T @ (two.rotation[:, wide] * two.size[wide])
    flat = _polygon(first.size[sides], centre, edges)
    top = normal @ first.position + first.size[face]
    weights = (flat - centre) @ _inverse(edges).T
    on_two = middle + weights @ (two.rotation[:, wide] * two.size[wide]).T
    depth = top - on_two @ normal
    points = on_two + 0.5 * depth[:, None] * normal
    normals = np.tile(order * normal, (len(points), 1))
    return Points(np.full(len(points), index), points, normals, depth)


def _inverse(matrix: Array) -> Array:
    """Return the inverse of a matrix (2, 2); faster than ``np.linalg.inv``."""
    (a, b), (c, d) = matrix.tolist()
    return np.asarray(np.array([[d, -b], [-c, a]]) / (a * d - b * c))


def _polygon(size: Array, centre: Array, edges: Array) -> Array:
    """Return the corners of the overlap of a rectangle and a parallelogram, (n, 2)."""
    second = centre + SQUARE @ edges.T
    first = SQUARE * size
    tolerance = 1.0 + 1e-9
    in_one = (np.abs(second) <= size * tolerance).all(axis=1)
    in_two = (np.abs((first - centre) @ _inverse(edges).T) <= tolerance).all(axis=1)
    corners = np.concatenate([second[in_one], first[in_two], _crossings(first, second)])
    close = np.abs(corners[:, None] - corners[None]).max(axis=2) <= SAME
    return np.asarray(corners[~np.tril(close, -1).any(axis=1)])


def _crossings(first: Array, second: Array) -> Array:
    """Return the points where the edges of two polygons cross, (n, 2)."""
    d1, d2 = first[NEXT] - first, second[NEXT] - second
    r = second[None] - first[:, None]
    area = d1[:, None, 0] * d2[None, :, 1] - d1[:, None, 1] * d2[None, :, 0]
    safe = np.where(np.abs(area) > TINY, area, np.inf)
    s = (r[..., 0] * d2[None, :, 1] - r[..., 1] * d2[None, :, 0]) / safe
    t = (r[..., 0] * d1[:, None, 1] - r[..., 1] * d1[:, None, 0]) / safe
    crossing = (s > 0.0) & (s < 1.0) & (t > 0.0) & (t < 1.0)
    return np.asarray((first[:, None] + s[..., None] * d1[:, None])[crossing])


KERNELS: dict[tuple[int, int], Kernel] = {
    (PLANE, SPHERE): plane_segment,
    (PLANE, CAPSULE): plane_segment,
    (PLANE, CYLINDER): plane_cylinder,
    (PLANE, BOX): plane_box,
    (SPHERE, SPHERE): segment_segment,
    (SPHERE, CAPSULE): segment_segment,
    (SPHERE, CYLINDER): segment_cylinder,
    (SPHERE, BOX): segment_box,
    (CAPSULE, CAPSULE): segment_segment,
    (CAPSULE, CYLINDER): segment_cylinder,
    (CAPSULE, BOX): segment_box,
    (CYLINDER, BOX): cylinder_box,
    (BOX, BOX): box_box,
}
"""Functions by the types of two geoms, the smaller type first."""
