"""Surface of an object for grasp synthesis: samples, signed distance and antipodal pairs.

The object is the union of convex parts. Its signed distance is computed once on a grid and
interpolated trilinearly: outside it is the distance to the nearest triangle, inside the depth below
the faces of the part that contains the point. Vectors are in the object's frame [m].
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import ConvexHull, KDTree

from softgrasp.mechanics.transforms import Array

CELLS = 32
"""Number of grid cells along the longest side of the object."""
MARGIN = 0.02
"""Distance by which the grid extends beyond the object [m]."""
DENSE = 8_000
"""Number of surface points that select the nearest triangles."""
NEAREST = 3
"""Number of nearest surface points whose triangles are evaluated exactly."""
HOLLOW = 0.4
"""Volume over that of the convex hull, below which an object is hollow [–]."""
CORNERS = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)])


class ConvexPart(NamedTuple):
    """A convex hull with outward faces."""

    vertices: Array
    """(n, 3) [m]."""
    faces: NDArray[np.int64]
    """Indices of the corners of the triangles, (m, 3)."""
    normals: Array
    """Outward unit normals, (m, 3)."""
    offsets: Array
    """The part is where normals · x ≤ offsets, (m,) [m]."""


def convex_part(points: Array) -> ConvexPart:
    """Compute the convex hull of points (n, 3) [m].

    Raises:
        scipy.spatial.QhullError: They lie in a plane.
    """
    hull = ConvexHull(points)
    faces, normals = hull.simplices.astype(np.int64), hull.equations[:, :3]
    a, b, c = points[faces].transpose(1, 0, 2)
    inward = np.einsum("mi,mi->m", np.cross(b - a, c - a), normals) < 0.0
    faces[inward] = faces[inward][:, ::-1]
    return ConvexPart(points, faces, normals, -hull.equations[:, 3])


class SurfaceSamples(NamedTuple):
    """Points on the surface of an object with outward unit normals, (n, 3) each."""

    points: Array
    normals: Array


class AntipodalPairs(NamedTuple):
    """Pairs of opposite surface points, (n, 3) each."""

    first: SurfaceSamples
    second: SurfaceSamples

    @property
    def widths(self) -> Array:
        """Distances of the two points, (n,) [m]."""
        return np.asarray(np.linalg.norm(self.second.points - self.first.points, axis=1))


@dataclass(frozen=True, eq=False)
class ObjectSurface:
    """Surface of a rigid object and the signed distance to it."""

    parts: tuple[ConvexPart, ...]
    center_of_mass: Array
    """(3,) [m]."""
    low: Array
    """Corner of the grid with the smallest coordinates, (3,) [m]."""
    cell: float
    """Edge of a grid cell [m]."""
    distance_grid: Array
    """Signed distances at the grid points, negative inside, (i, j, k) [m]."""
    normal_grid: Array
    """Gradients of the distance at the grid points, (i, j, k, 3)."""

    @property
    def radius(self) -> float:
        """Largest distance of the surface from the centre of mass [m]."""
        vertices = np.concatenate([part.vertices for part in self.parts])
        return float(np.linalg.norm(vertices - self.center_of_mass, axis=1).max())

    def sample(self, random: np.random.Generator, count: int) -> SurfaceSamples:
        """Draw points uniformly on the surface; those inside another part are left out."""
        points, normals, _ = sample(self.parts, random, 2 * count)
        outside = np.ones(len(points), dtype=bool)
        if len(self.parts) > 1:
            outside = depth_in(self.parts, points) < 1e-6
        chosen = np.flatnonzero(outside)[:count]
        return SurfaceSamples(points[chosen], normals[chosen])

    def distance(self, points: Array) -> tuple[Array, Array]:
        """Interpolate the signed distance [m] and its gradient at points (…, 3).

        Beyond the grid the distance grows by that to the grid.
        """
        relative = (points.reshape(-1, 3).T - self.low[:, None]) / self.cell
        shape = self.distance_grid.shape
        clipped = np.clip(relative, 0.0, np.array(shape)[:, None] - 1.0)
        cell = np.minimum(clipped.astype(np.int64), np.array(shape)[:, None] - 2)
        x, y, z = clipped - cell
        grid = self.distance_grid.ravel()
        at = (cell[0] * shape[1] + cell[1]) * shape[2] + cell[2]
        right, up = shape[1] * shape[2], shape[2]
        # along z, then y, then x: the interpolated value and its slopes
        low_low, low_high = grid[at], grid[at + up]
        high_low, high_high = grid[at + right], grid[at + right + up]
        slopes = [grid[at + 1] - low_low, grid[at + up + 1] - low_high]
        slopes += [grid[at + right + 1] - high_low, grid[at + right + up + 1] - high_high]
        low_low, low_high = low_low + z * slopes[0], low_high + z * slopes[1]
        high_low, high_high = high_low + z * slopes[2], high_high + z * slopes[3]
        low, high = low_low + y * (low_high - low_low), high_low + y * (high_high - high_low)
        gradient = np.empty((len(at), 3))
        gradient[:, 0] = high - low
        gradient[:, 1] = (1.0 - x) * (low_high - low_low) + x * (high_high - high_low)
        gradient[:, 2] = (1.0 - x) * (slopes[0] + y * (slopes[1] - slopes[0]))
        gradient[:, 2] += x * (slopes[2] + y * (slopes[3] - slopes[2]))
        gradient /= self.cell
        distance = low + x * (high - low)
        outside = (relative - clipped).T * self.cell
        out = np.flatnonzero(outside.any(axis=1))
        if len(out):
            away = np.linalg.norm(outside[out], axis=1)
            gradient[out] = np.where(outside[out] != 0.0, 0.0, gradient[out])
            gradient[out] += outside[out] / away[:, None]
            distance[out] += away
        return distance.reshape(points.shape[:-1]), gradient.reshape(points.shape)

    def normals(self, points: Array) -> tuple[Array, Array]:
        """Interpolate the outward normals and their derivatives at points (…, 3).

        Returns:
            Normals, (…, 3), about of unit length, and their derivatives, (…, 3, 3) [1/m], the
            last index that of the coordinate.
        """
        cell, fraction, outside = self._located(points)
        values = self.normal_grid[tuple((cell[..., None, :] + CORNERS).transpose(3, 0, 1, 2))]
        weights = np.where(CORNERS == 1, fraction[..., None, :], 1.0 - fraction[..., None, :])
        normals = (values * weights.prod(axis=-1)[..., None]).sum(axis=-2)
        slopes = np.einsum("anci,ancj->anij", values, _slopes(weights)) / self.cell
        slopes = np.where(outside[..., None, :] != 0.0, 0.0, slopes)
        return normals.reshape(points.shape), slopes.reshape(*points.shape, 3)

    def _located(self, points: Array) -> tuple[Array, Array, Array]:
        """Return cells, positions in them and displacements from the grid, (1, n, 3) each."""
        relative = (points.reshape(1, -1, 3) - self.low) / self.cell
        limits = np.array(self.distance_grid.shape) - 1.0
        clipped = np.clip(relative, 0.0, limits)
        cell = np.minimum(clipped.astype(np.int64), (limits - 1).astype(np.int64))
        return cell, clipped - cell, (relative - clipped) * self.cell


def _slopes(weights: Array) -> Array:
    """Return the derivatives of the corner weights, (…, 8, 3) [1/cell]."""
    sign = 2.0 * CORNERS - 1.0
    x, y, z = weights[..., 0], weights[..., 1], weights[..., 2]
    return np.stack([sign[:, 0] * y * z, sign[:, 1] * x * z, sign[:, 2] * x * y], axis=-1)


# Signed distance


def fill(surface: ObjectSurface) -> ObjectSurface:
    """Return the convex hull of a hollow object, and any other object unchanged.

    Points on the surface of a link do not detect a wall that is thinner than the link; the hull
    keeps links outside until they are near the object.
    """
    hull = ConvexHull(np.concatenate([part.vertices for part in surface.parts]))
    volume = sum(ConvexHull(part.vertices).volume for part in surface.parts)
    if volume >= HOLLOW * hull.volume:
        return surface
    return object_surface([convex_part(hull.points[hull.vertices])], surface.center_of_mass)


def object_surface(parts: Sequence[ConvexPart], center_of_mass: Array) -> ObjectSurface:
    """Compute the signed distance of the union of convex parts on a grid.

    Args:
        parts: The parts.
        center_of_mass: Centre of mass, (3,) [m].
    """
    vertices = np.concatenate([part.vertices[np.unique(part.faces)] for part in parts])
    low, high = vertices.min(axis=0) - MARGIN, vertices.max(axis=0) + MARGIN
    cell = float((high - low - 2.0 * MARGIN).max()) / CELLS
    axes = [np.arange(a, b + cell, cell) for a, b in zip(low, high, strict=True)]
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
    distance = signed_distance(parts, points.reshape(-1, 3), 3.0 * cell).reshape(points.shape[:3])
    normals = np.stack(np.gradient(distance, cell), axis=-1)
    normals /= np.maximum(np.linalg.norm(normals, axis=-1, keepdims=True), 0.2)
    return ObjectSurface(tuple(parts), center_of_mass, low, cell, distance, normals)


def signed_distance(parts: Sequence[ConvexPart], points: Array, exact: float) -> Array:
    """Compute the signed distance of the union of convex parts at points (n, 3), (n,) [m].

    Args:
        parts: The parts.
        points: The points.
        exact: Distance up to which the nearest triangles are evaluated; beyond it the distance is
            that to the nearest of ``DENSE`` surface points [m].
    """
    random = np.random.default_rng(0)
    samples, _, triangle = sample(parts, random, DENSE)
    corners = np.concatenate([part.vertices[part.faces] for part in parts])
    samples = np.concatenate([samples, corners.reshape(-1, 3)])
    triangle = np.concatenate([triangle, np.repeat(np.arange(len(corners)), 3)])
    tree = KDTree(samples)
    distance = np.array(tree.query(points)[0], dtype=float)
    near = np.flatnonzero(distance <= exact)
    nearest = np.array(tree.query(points[near], k=NEAREST)[1], dtype=np.int64)
    distance[near] = np.min(
        [triangle_distance(points[near], corners[triangle[column]]) for column in nearest.T], axis=0
    )
    depth = depth_in(parts, points)
    return np.where(depth > 0.0, -depth, distance)


def depth_in(parts: Sequence[ConvexPart], points: Array) -> Array:
    """Compute the depth of points (n, 3) in the part that they are deepest in, (n,) [m].

    Not positive outside all parts.
    """
    depth = np.zeros(len(points))
    for part in parts:
        low, high = part.vertices.min(axis=0), part.vertices.max(axis=0)
        boxed = np.flatnonzero(((points >= low) & (points <= high)).all(axis=1))
        inside = np.full(len(boxed), np.inf)
        for start in range(0, len(part.normals), 32):
            block = slice(start, start + 32)
            gaps = part.offsets[block] - points[boxed] @ part.normals[block].T
            inside = np.minimum(inside, gaps.min(axis=1))
            boxed, inside = boxed[inside > 0.0], inside[inside > 0.0]
        depth[boxed] = np.maximum(depth[boxed], inside)
    return depth


def sample(
    parts: Sequence[ConvexPart], random: np.random.Generator, count: int
) -> tuple[Array, Array, NDArray[np.int64]]:
    """Draw points uniformly on the faces of all parts.

    Returns:
        Points, (count, 3) [m], their outward normals, (count, 3), and indices of their triangles.
    """
    corners = np.concatenate([part.vertices[part.faces] for part in parts])
    normals = np.concatenate([part.normals for part in parts])
    areas = np.linalg.norm(
        np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1
    )
    chosen = random.choice(len(corners), size=count, p=areas / areas.sum())
    root, other = np.sqrt(random.random(count)), random.random(count)
    weights = np.stack([1.0 - root, root * (1.0 - other), root * other], axis=1)
    points = np.einsum("nc,nci->ni", weights, corners[chosen])
    return points, normals[chosen], chosen


def triangle_distance(points: Array, corners: Array) -> Array:
    """Compute the distances of points (n, 3) to one triangle each, corners (n, 3, 3), (n,) [m]."""
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normal /= np.maximum(np.linalg.norm(normal, axis=1), 1e-18)[:, None]
    best, inside = np.full(len(points), np.inf), np.ones(len(points), dtype=bool)
    for index in range(3):
        start, end = corners[:, index], corners[:, (index + 1) % 3]
        edge, away = end - start, points - start
        length = np.maximum(np.einsum("ni,ni->n", edge, edge), 1e-18)
        along = np.clip(np.einsum("ni,ni->n", away, edge) / length, 0.0, 1.0)
        best = np.minimum(best, np.linalg.norm(away - along[:, None] * edge, axis=1))
        inside &= np.einsum("ni,ni->n", np.cross(edge, away), normal) >= 0.0
    height = np.abs(np.einsum("ni,ni->n", points - corners[:, 0], normal))
    return np.where(inside, height, best)


# Antipodal pairs


def antipodal_pairs(
    surface: ObjectSurface, random: np.random.Generator, count: int, friction: float
) -> AntipodalPairs:
    """Find pairs of surface points whose connecting line lies in both friction cones.

    From each sample a line enters the object along the inward normal; the pair ends where the line
    leaves the object. Two frictional point contacts hold an object exactly in such pairs (Nguyen
    1988).

    Args:
        surface: The object.
        random: Source of the samples.
        count: Number of samples, the largest number of pairs.
        friction: Coefficient of friction [–].
    """
    start = surface.sample(random, count)
    angles = random.random(len(start.points)) * 2.0 * np.pi
    tilt = 0.5 * np.arctan(friction) * np.sqrt(random.random(len(start.points)))
    first, second = _across(start.normals)
    tangent = np.cos(angles)[:, None] * first + np.sin(angles)[:, None] * second
    direction = -np.cos(tilt)[:, None] * start.normals + np.sin(tilt)[:, None] * tangent
    leaving, normals = _leaving(surface.parts, start.points, direction)
    ends = start.points + leaving[:, None] * direction
    width_ok = leaving > 1e-3
    kept = width_ok & in_cones(start.normals, normals, direction, friction)
    return AntipodalPairs(
        SurfaceSamples(start.points[kept], start.normals[kept]),
        SurfaceSamples(ends[kept], normals[kept]),
    )


def in_cones(first: Array, second: Array, direction: Array, friction: float) -> NDArray[np.bool_]:
    """Test whether lines between two contacts lie in both friction cones, (n,) of bool.

    Args:
        first: Outward normals at the first contacts, (n, 3).
        second: Outward normals at the second contacts, (n, 3).
        direction: Unit vectors from the first to the second contacts, (n, 3).
        friction: Coefficient of friction [–].
    """
    limit = np.cos(np.arctan(friction)) - 1e-12
    leaving = np.einsum("ni,ni->n", -first, direction)
    entering = np.einsum("ni,ni->n", second, direction)
    return np.asarray((leaving >= limit) & (entering >= limit))


def _leaving(parts: Sequence[ConvexPart], points: Array, direction: Array) -> tuple[Array, Array]:
    """Compute where lines leave the object for the last time: distances (n,), normals (n, 3)."""
    farthest, normals = np.zeros(len(points)), np.zeros((len(points), 3))
    for part in parts:
        speed = direction @ part.normals.T
        gap = part.offsets - points @ part.normals.T
        with np.errstate(divide="ignore", invalid="ignore"):
            times = gap / speed
        exits = np.where(speed > 1e-12, times, np.inf)
        entries = np.where(speed < -1e-12, times, -np.inf).max(axis=1)
        missed = ((np.abs(speed) <= 1e-12) & (gap < 0.0)).any(axis=1)
        face = exits.argmin(axis=1)
        time = exits[np.arange(len(points)), face]
        later = (time > farthest) & (entries <= time) & ~missed
        farthest[later], normals[later] = time[later], part.normals[face[later]]
    return farthest, normals


def _across(vectors: Array) -> tuple[Array, Array]:
    """Compute two unit vectors perpendicular to unit vectors (n, 3) and to each other."""
    reference = np.where(np.abs(vectors[:, :1]) < 0.7, [[1.0, 0.0, 0.0]], [[0.0, 1.0, 0.0]])
    first = np.cross(vectors, reference)
    first /= np.linalg.norm(first, axis=1)[:, None]
    return first, np.cross(vectors, first)
