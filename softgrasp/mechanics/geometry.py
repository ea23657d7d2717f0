"""Points on solids: convex outlines, superellipsoids, farthest-point sampling, taxel grids.

A superellipsoid has the surface (|x/a|^(2/ε₂) + |y/b|^(2/ε₂))^(ε₂/ε₁) + |z/c|^(2/ε₁) = 1, convex
for exponents up to 2; volume and moments after Jaklič, Leonardis and Solina, Segmentation and
Recovery of Superquadrics (2000), chapter 2.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial import ConvexHull
from scipy.special import beta

from softgrasp.mechanics.transforms import Array

Triple = tuple[float, float, float]
Pair = tuple[float, float]


# Convex outlines.


def swollen_points(points: ArrayLike, radius: float) -> Array:
    """Return points whose convex hull is that of ``points``, grown by about ``radius`` [m].

    The poles of the spheres lie along the normal of the points' plane, so a flat palm stays flat.
    """
    points = np.asarray(points, dtype=float)
    normal = plane_normal(points)
    side = _normal_to(normal) if abs(normal[2]) < 0.999 else np.array([1.0, 0.0, 0.0])
    side = side - (side @ normal) * normal
    side /= np.linalg.norm(side)
    frame = np.stack([side, np.cross(normal, side), normal], -1)
    ball = ball_points(radius) @ frame.T
    return (points[:, None, :] + ball[None, :, :]).reshape(-1, 3)


def ball_points(radius: float, meridians: int = 12, parallels: int = 5) -> Array:
    """Return points on a sphere about the origin with poles on ±z, (n, 3) [m]."""
    latitude = np.linspace(-np.pi / 2, np.pi / 2, parallels + 2)[1:-1]
    longitude = np.linspace(0.0, 2 * np.pi, meridians, endpoint=False)
    lat, lon = (grid.ravel() for grid in np.meshgrid(latitude, longitude))
    ring = np.stack([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)], -1)
    return radius * np.vstack([ring, [[0.0, 0.0, 1.0], [0.0, 0.0, -1.0]]])


def plane_normal(points: ArrayLike) -> Array:
    """Fit a plane to points (n, 3) and return its unit normal (3,); z where they span no plane."""
    points = np.asarray(points, dtype=float)
    centred = points - points.mean(axis=0)
    _, spread, axes = np.linalg.svd(np.vstack([centred, np.zeros((3, 3))]))
    if spread[1] < 1e-9 * max(spread[0], 1e-12):
        return _normal_to(axes[0])
    normal = np.asarray(axes[2])
    return -normal if normal[np.argmax(np.abs(normal))] < 0 else normal


def _normal_to(direction: Array) -> Array:
    """Return the unit vector perpendicular to ``direction`` that is closest to z."""
    z = np.array([0.0, 0.0, 1.0])
    square = z - (z @ direction) * direction
    norm = np.linalg.norm(square)
    return np.array([1.0, 0.0, 0.0]) if norm < 1e-6 else square / norm


# Superellipsoids.


def volume(radii: Triple, exponents: Pair) -> float:
    """Compute the volume of a superellipsoid [m³].

    Args:
        radii: Half axes along x, y and z [m].
        exponents: ε₁ along z, ε₂ around it.
    """
    first, second = exponents
    a, b, c = radii
    return float(
        2 * a * b * c * first * second * beta(first / 2 + 1, first) * beta(second / 2, second / 2)
    )


def moments(radii: Triple, exponents: Pair) -> Triple:
    """Compute the moments of inertia about x, y and z at unit density [m⁵].

    Args:
        radii: Half axes along x, y and z [m].
        exponents: ε₁ along z, ε₂ around it.
    """
    first, second = exponents
    a, b, c = radii
    half = a * b * c * first * second / 2
    across = half * beta(1.5 * second, second / 2) * beta(first / 2, 2 * first + 1)
    along = 4 * half * beta(second / 2, second / 2 + 1) * beta(1.5 * first, first + 1)
    x, y, z = across * a * a, across * b * b, along * c * c
    return (float(y + z), float(x + z), float(x + y))


def triangles(
    radii: Triple, exponents: Pair, meridians: int = 32
) -> tuple[Array, NDArray[np.int64]]:
    """Return vertices (n, 3) [m] and outward faces (m, 3) of a hull of surface points.

    The hull is scaled to the volume of the solid.

    Args:
        radii: Half axes along x, y and z [m].
        exponents: ε₁ along z, ε₂ around it, up to 2.
        meridians: Points around z; half as many along it.
    """
    first, second = exponents
    latitude = np.linspace(-np.pi / 2, np.pi / 2, meridians // 2 + 1)[1:-1]
    longitude = np.linspace(-np.pi, np.pi, meridians, endpoint=False)
    lat, lon = (grid.ravel() for grid in np.meshgrid(latitude, longitude))
    ring = _power(np.cos(lat), first)
    around = np.stack([_power(np.cos(lon), second), _power(np.sin(lon), second)], axis=-1)
    shell = np.column_stack([ring[:, None] * around, _power(np.sin(lat), first)])
    poles = [[0.0, 0.0, 1.0], [0.0, 0.0, -1.0]]
    points = np.unique(np.vstack([shell, poles]).round(12), axis=0) * radii
    hull = ConvexHull(points)
    corners, faces = np.unique(hull.simplices, return_inverse=True)
    faces = faces.reshape(-1, 3)
    vertices = points[corners]
    sides = vertices[faces]
    normals = np.cross(sides[:, 1] - sides[:, 0], sides[:, 2] - sides[:, 0])
    inward = (normals * sides[:, 0]).sum(axis=1) < 0
    faces[inward] = faces[inward][:, ::-1]
    grown = (volume(radii, exponents) / hull.volume) ** (1 / 3)
    return grown * vertices, faces


def _power(values: Array, exponent: float) -> Array:
    clean = np.where(np.abs(values) < 1e-12, 0.0, values)
    return np.asarray(np.sign(clean) * np.abs(clean) ** exponent)


# Sampling.


def farthest_first(points: Array, count: int) -> NDArray[np.int64]:
    """Choose points by farthest-point sampling; return their indices.

    The first one is the farthest from the mean, each next one the farthest from those before it, so
    any first part is spread over all points. Of points that are equally far the first one counts.

    Args:
        points: (n, d).
        count: Largest number of points.
    """
    if len(points) == 0:
        return np.zeros(0, dtype=np.int64)
    squares = ((points - points.mean(axis=0)) ** 2).sum(axis=1)
    # above rounding errors, so that equal distances are equal
    resolution = 1e-9 * float(squares.max()) or 1.0
    chosen = [int(np.rint(squares / resolution).argmax())]
    apart = np.full(len(points), np.inf)
    for _ in range(min(count, len(points)) - 1):
        away = points - points[chosen[-1]]
        np.minimum(apart, np.einsum("ij,ij->i", away, away), out=apart)
        chosen.append(int(np.rint(apart / resolution).argmax()))
    return np.array(chosen, dtype=np.int64)


# Taxel grids.


class TaxelGrid(NamedTuple):
    """A grid of taxels around a body, in the body's frame."""

    center: Array
    """Centre of the body's box [m], (3,)."""
    axes: Array
    """Unit vectors (3, 3): along the rows, towards the middle column, and towards the next
    columns."""
    length: float
    """Length of the body along the rows [m]."""
    rows: int
    columns: int


def taxel_grid(corners: Array, rows: int, columns: int) -> TaxelGrid:
    """Make the grid around a body.

    Args:
        corners: Points of the body in its frame whose bounding box is the body's [m], (n, 3).
        rows: Number of rows along the longest edge of the box.
        columns: Number of columns around it, counterclockwise. The middle one faces along the next
            axis of the frame, where a finger link touches, so that the seam is on the opposite
            side.
    """
    low, high = corners.min(axis=0), corners.max(axis=0)
    longest = int(np.argmax(np.round(high - low, 9)))
    axes = np.roll(np.eye(3), -longest, axis=0)
    return TaxelGrid(0.5 * (low + high), axes, float((high - low)[longest]), rows, columns)


def distribute(grid: TaxelGrid, points: Array, forces: Array) -> Array:
    """Distribute contact forces to the taxels, (rows, columns) [N].

    Each force is shared by the four nearest taxels with bilinear weights whose sum is one; beyond
    the outer rows it belongs to those entirely. The sum over the taxels is the sum of the forces.

    Args:
        grid: The taxels.
        points: Contact points in the body's frame [m], (n, 3).
        forces: Normal forces [N], (n,).
    """
    along, first, second = ((points - grid.center) @ grid.axes.T).T
    row = np.clip((along / grid.length + 0.5) * grid.rows - 0.5, 0.0, grid.rows - 1.0)
    angle_fraction = np.arctan2(second, first) / (2.0 * np.pi) + 0.5
    column = (angle_fraction * grid.columns - 0.5) % grid.columns
    felt = np.zeros((grid.rows, grid.columns))
    upper, left = np.floor(row).astype(int), np.floor(column).astype(int)
    down, right = row - upper, column - left
    for r, of_row in ((upper, 1.0 - down), (np.minimum(upper + 1, grid.rows - 1), down)):
        for c, of_column in ((left, 1.0 - right), (left + 1, right)):
            np.add.at(felt, (r, c % grid.columns), of_row * of_column * forces)
    return felt
