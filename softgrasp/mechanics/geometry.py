"""Points that bound a solid: what a palm is built from, and how far a shape reaches."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial import ConvexHull
from scipy.special import beta

from softgrasp.mechanics.transforms import Array


def ball_points(radius: float, meridians: int = 12, parallels: int = 5) -> Array:
    """Points on a ball about the origin with poles on ±z, shape (n, 3) [m]."""
    latitude = np.linspace(-np.pi / 2, np.pi / 2, parallels + 2)[1:-1]
    longitude = np.linspace(0.0, 2 * np.pi, meridians, endpoint=False)
    lat, lon = (grid.ravel() for grid in np.meshgrid(latitude, longitude))
    ring = np.stack([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)], -1)
    return radius * np.vstack([ring, [[0.0, 0.0, 1.0], [0.0, 0.0, -1.0]]])


def plane_normal(points: ArrayLike) -> Array:
    """Unit normal (3,) of the plane nearest to points (n, 3); z where they do not span one."""
    points = np.asarray(points, dtype=float)
    centred = points - points.mean(axis=0)
    _, spread, axes = np.linalg.svd(np.vstack([centred, np.zeros((3, 3))]))
    if spread[1] < 1e-9 * max(spread[0], 1e-12):
        return _normal_to(axes[0])
    normal = np.asarray(axes[2])
    return -normal if normal[np.argmax(np.abs(normal))] < 0 else normal


def _normal_to(direction: Array) -> Array:
    """A unit vector square to ``direction`` and as near to z as that allows."""
    z = np.array([0.0, 0.0, 1.0])
    square = z - (z @ direction) * direction
    norm = np.linalg.norm(square)
    return np.array([1.0, 0.0, 0.0]) if norm < 1e-6 else square / norm


def swollen_points(points: ArrayLike, radius: float) -> Array:
    """Points whose convex hull is the hull of ``points`` grown by about ``radius`` [m].

    The poles of the balls lie along the normal of the points' plane, so a flat palm stays flat.
    """
    points = np.asarray(points, dtype=float)
    normal = plane_normal(points)
    side = _normal_to(normal) if abs(normal[2]) < 0.999 else np.array([1.0, 0.0, 0.0])
    side = side - (side @ normal) * normal
    side /= np.linalg.norm(side)
    frame = np.stack([side, np.cross(normal, side), normal], -1)
    ball = ball_points(radius) @ frame.T
    return (points[:, None, :] + ball[None, :, :]).reshape(-1, 3)


# --------------------
# Superellipsoids: balls, boxes, cylinders, octahedra and all between, as one family of solids.
#
# |x/a|^(2/ε₂) + |y/b|^(2/ε₂) to the power ε₂/ε₁, plus |z/c|^(2/ε₁), is 1 on the surface; convex
# for
# exponents up to 2. Volume and moments after Jaklič, Leonardis and Solina, Segmentation and
# Recovery
# of Superquadrics (2000), chapter 2.


Triple = tuple[float, float, float]
Pair = tuple[float, float]


def volume(radii: Triple, exponents: Pair) -> float:
    """Volume of a superellipsoid [m³].

    Args:
        radii: Half axes along x, y and z [m].
        exponents: ε₁ along z, ε₂ around it.
    """
    one, two = exponents
    a, b, c = radii
    return float(2 * a * b * c * one * two * beta(one / 2 + 1, one) * beta(two / 2, two / 2))


def moments(radii: Triple, exponents: Pair) -> Triple:
    """Moments of inertia about x, y and z at unit density [m⁵]; arguments as for ``volume``."""
    one, two = exponents
    a, b, c = radii
    half = a * b * c * one * two / 2
    across = half * beta(1.5 * two, two / 2) * beta(one / 2, 2 * one + 1)
    along = 4 * half * beta(two / 2, two / 2 + 1) * beta(1.5 * one, one + 1)
    x, y, z = across * a * a, across * b * b, along * c * c
    return (float(y + z), float(x + z), float(x + y))


def triangles(
    radii: Triple, exponents: Pair, meridians: int = 32
) -> tuple[Array, NDArray[np.int64]]:
    """Vertices (n, 3) [m] and outward faces (m, 3) of the convex hull of points on the surface.

    The hull is grown until it has the volume of the solid.

    Args:
        radii: Half axes along x, y and z [m].
        exponents: ε₁ along z, ε₂ around it, up to 2.
        meridians: Points around z; half as many along it.
    """
    one, two = exponents
    latitude = np.linspace(-np.pi / 2, np.pi / 2, meridians // 2 + 1)[1:-1]
    longitude = np.linspace(-np.pi, np.pi, meridians, endpoint=False)
    lat, lon = (grid.ravel() for grid in np.meshgrid(latitude, longitude))
    ring = _power(np.cos(lat), one)
    around = np.stack([_power(np.cos(lon), two), _power(np.sin(lon), two)], axis=-1)
    shell = np.column_stack([ring[:, None] * around, _power(np.sin(lat), one)])
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


# --------------------
# A few of many points, spread as far as they go.


def farthest_first(points: Array, count: int) -> NDArray[np.int64]:
    """Numbers of at most so many points, each the farthest from those before it.

    The first one is the farthest from their mean. Any first part is spread over all of them, too.

    Args:
        points: (n, d).
        count: How many.
    """
    if len(points) == 0:
        return np.zeros(0, dtype=np.int64)
    chosen = [int(((points - points.mean(axis=0)) ** 2).sum(axis=1).argmax())]
    apart = np.full(len(points), np.inf)
    for _ in range(min(count, len(points)) - 1):
        away = points - points[chosen[-1]]
        np.minimum(apart, np.einsum("ij,ij->i", away, away), out=apart)
        chosen.append(int(apart.argmax()))
    return np.array(chosen, dtype=np.int64)
