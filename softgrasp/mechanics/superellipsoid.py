"""Superellipsoids: balls, boxes, cylinders, octahedra and all between, as one family of solids.

|x/a|^(2/ε₂) + |y/b|^(2/ε₂) to the power ε₂/ε₁, plus |z/c|^(2/ε₁), is 1 on the surface; convex for
exponents up to 2. Volume and moments after Jaklič, Leonardis and Solina, Segmentation and Recovery
of Superquadrics (2000), chapter 2.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import ConvexHull
from scipy.special import beta

from softgrasp.mechanics.transforms import Array

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
