"""Grasps whose quality is known, and random ones."""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

Contacts = tuple[np.ndarray, np.ndarray]


def disc(*degrees: float) -> Contacts:
    """Contacts on the unit circle, in the plane."""
    angles = np.radians(degrees)
    points = np.column_stack([np.cos(angles), np.sin(angles)])
    return points, -points


def equator(*degrees: float, radius: float = 1.0) -> Contacts:
    """Contacts on the equator of a sphere."""
    points, normals = disc(*degrees)
    flat = np.zeros((len(points), 1))
    return radius * np.hstack([points, flat]), np.hstack([normals, flat])


def square(a: float) -> Contacts:
    """Contacts on the sides of a square of half-side 1, each ``a`` off its middle."""
    return np.array([(1, a), (-1, -a), (a, 1), (-a, -1)]), np.array(
        [(-1, 0), (1, 0), (0, -1), (0, 1)]
    )


def tetrahedron() -> Contacts:
    """Corners of a regular tetrahedron on the unit sphere."""
    points = np.array([(1, 1, 1), (1, -1, -1), (-1, 1, -1), (-1, -1, 1)]) / np.sqrt(3)
    return points, -points


def octahedron() -> Contacts:
    """Corners of a regular octahedron on the unit sphere."""
    points = np.vstack([np.eye(3), -np.eye(3)])
    return points, -points


def random_sphere(random: np.random.Generator, count: int) -> Contacts:
    """Contacts anywhere on the unit sphere, normals a little off the radii."""
    points = random.normal(size=(count, 3))
    points /= np.linalg.norm(points, axis=1)[:, None]
    normals = -points + 0.2 * random.normal(size=(count, 3))
    return points, normals / np.linalg.norm(normals, axis=1)[:, None]


def random_disc(random: np.random.Generator, count: int) -> Contacts:
    """Contacts anywhere on the unit circle, normals a little off the radii."""
    points, normals = disc(*random.uniform(0, 360, count))
    normals = normals + 0.2 * random.normal(size=normals.shape)
    return points, normals / np.linalg.norm(normals, axis=1)[:, None]


def rotated(contacts: Contacts, rotation: Rotation, shift: np.ndarray) -> Contacts:
    """Contacts in another frame of reference."""
    points, normals = contacts
    return rotation.apply(points) + shift, rotation.apply(normals)
