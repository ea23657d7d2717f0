"""Points that bound a solid: what a palm is built from, and how far a shape reaches."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

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
