"""Signed distances of points from an object, and its principal axes, for grasp synthesis.

The distances are sampled on a grid around the object and extrapolated outside it. Convex parts are
polyhedra; the distance of a point from one is that from its farthest face plane.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations, product

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import distance_transform_edt, gaussian_filter

from softgrasp.grasp_synthesis.scoring import directions
from softgrasp.mechanics.transforms import Array

CELLS = 32
"""Number of grid cells along the longest side of an object."""
MAX_PLANES = 256
"""Number of face planes of a part above which it is circumscribed by so many evenly spread ones."""
MARGIN_CELLS = 4
"""Number of grid cells around an object."""
EDGE_CELLS = 1.2
"""Standard deviation of the smoothing of normals, in cells."""
FAR_RATE = 0.7
"""Assumed increase of the distance per distance outside the grid [–]."""
SMALLEST_CELL = 5e-4
"""Smallest edge of a cell [m]."""
SAME_SURFACE = 0.04
"""Largest distance between the surfaces of an object in two orientations that count as one, over
its radius [–]."""
MAX_SAMPLES = 300
"""Number of surface points that orientations are compared by."""
Part = tuple[Array, NDArray[np.int64]]


class ObjectField:
    """Signed distances from the surface of an object, in its frame at the centre of mass."""

    def __init__(self, parts: Sequence[Part], inertia: Array) -> None:
        """Sample the distances on a grid.

        Args:
            parts: Vertices (n, 3) [m] and outward faces (m, 3) of its convex parts.
            inertia: Inertia about the centre of mass up to a factor, (3, 3).
        """
        corners = np.concatenate([vertices for vertices, _ in parts])
        low, high = corners.min(axis=0), corners.max(axis=0)
        self.radius = float(np.linalg.norm(corners, axis=1).max())
        """Radius of a ball about the centre of mass that contains the object [m]."""
        self.axes = principal_axes(inertia)
        """Principal axes as columns, (3, 3), the axis of the smallest inertia first."""
        along = corners @ self.axes
        self.half_sizes = np.ptp(along, axis=0) / 2.0
        """Half extents along the principal axes, (3,) [m]."""
        spread = np.linspace(0, len(corners) - 1, min(len(corners), MAX_SAMPLES)).astype(int)
        self.samples = corners[np.unique(spread)]
        """Some of its corners, (n, 3) [m]."""
        self._cell = max(float((high - low).max()) / CELLS, SMALLEST_CELL)
        # symmetric about the middle, so that mirror images of an object have mirrored distances
        beside = np.ceil((high - low) / 2.0 / self._cell).astype(int) + MARGIN_CELLS
        self._low = (low + high) / 2.0 - beside * self._cell
        self._shape = 2 * beside + 1
        distances = self._sampled(parts)
        gradients = self._gradients(distances)
        # normals that change steadily across edges, unlike those of faces
        smoothed = gaussian_filter(distances, EDGE_CELLS, mode="nearest")
        self._normals = -self._gradients(smoothed).reshape(-1, 3)
        self._rows = np.concatenate([distances[..., None], gradients], axis=-1).reshape(-1, 4)
        self._rows = self._rows.astype(np.float32)

    def _sampled(self, parts: Sequence[Part]) -> Array:
        """Compute the signed distances at the grid points [m]."""
        distances = np.full(self._shape, np.inf)
        for vertices, faces in parts:
            first = np.floor((vertices.min(axis=0) - self._low) / self._cell).astype(int) - 2
            last = np.ceil((vertices.max(axis=0) - self._low) / self._cell).astype(int) + 3
            first, last = np.maximum(first, 0), np.minimum(last, self._shape)
            axes = [self._low[i] + self._cell * np.arange(first[i], last[i]) for i in range(3)]
            grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
            normals, offsets = face_planes(vertices, faces)
            if len(normals) > MAX_PLANES:
                normals = _symmetric_directions()
                offsets = (normals @ vertices.T).max(axis=1)
            inside = np.full(grid.shape[:3], -np.inf)
            for normal, offset in zip(normals, offsets, strict=True):
                np.maximum(inside, grid @ normal - offset, out=inside)
            window = tuple(slice(a, b) for a, b in zip(first, last, strict=True))
            distances[window] = np.minimum(distances[window], inside)
        near = np.abs(distances) <= 2.0 * self._cell
        outside = distance_transform_edt(distances > 0.0) * self._cell - 0.5 * self._cell
        return np.where(near | (distances <= 0.0), distances, np.maximum(outside, 0.0))

    def distances(self, points: Array) -> Array:
        """Compute signed distances of points (…, 3) [m] in the object's frame, negative inside."""
        index, offset = self._nearest(points)
        rows = self._rows[index]
        x, y, z = offset
        ahead = rows[..., 1] * x + rows[..., 2] * y + rows[..., 3] * z
        squared = x * x + y * y + z * z
        # outside the grid the gradient is not that of the nearest surface point
        far = squared > self._cell * self._cell
        ahead[far] = FAR_RATE * np.sqrt(squared[far])
        return np.asarray(rows[..., 0] + ahead)

    def normals(self, points: Array) -> Array:
        """Compute unit vectors into the object at points (n, 3) [m] near its surface, (n, 3)."""
        inward = self._normals[self._nearest(points)[0]]
        length = np.linalg.norm(inward, axis=-1, keepdims=True)
        return np.asarray(inward / np.maximum(length, 1e-12))

    def _gradients(self, distances: Array) -> Array:
        """Compute the gradients at the grid points by central differences, (…, 3) [–]."""
        return np.stack([np.gradient(distances, self._cell, axis=i) for i in range(3)], axis=-1)

    def _nearest(self, points: Array) -> tuple[NDArray[np.int32], tuple[Array, Array, Array]]:
        """Return the indices of the nearest grid points, and the offsets from them [m]."""
        index: NDArray[np.int32] = np.zeros(points.shape[:-1], dtype=np.int32)
        offsets = []
        for axis in range(3):
            scaled = (points[..., axis] - self._low[axis]) / self._cell
            cells = np.rint(np.minimum(np.maximum(scaled, 0.0), self._shape[axis] - 1.0))
            offsets.append((scaled - cells) * self._cell)
            index = index * self._shape[axis] + cells.astype(np.int32)
        return index, (offsets[0], offsets[1], offsets[2])


def face_planes(vertices: Array, faces: NDArray[np.int64]) -> tuple[Array, Array]:
    """Compute unit normals (m, 3) and offsets (m,) [m] of the face planes of a polyhedron."""
    first, second, third = vertices[faces].transpose(1, 0, 2)
    normals = np.cross(second - first, third - first)
    length = np.linalg.norm(normals, axis=1)
    kept = length > 1e-14
    normals = normals[kept] / length[kept, None]
    planes = np.column_stack([normals, np.einsum("mi,mi->m", normals, first[kept])])
    # coplanar triangles are one face
    _, unique = np.unique(np.round(planes * [50, 50, 50, 1e4]), axis=0, return_index=True)
    return planes[unique, :3], planes[unique, 3]


def _symmetric_directions() -> Array:
    """Return about ``MAX_PLANES`` unit vectors that the coordinate planes mirror, (n, 3)."""
    spread = directions(MAX_PLANES)
    octant = spread[(spread > 0.0).all(axis=1)]
    return np.concatenate([octant * signs for signs in product((1.0, -1.0), repeat=3)])


def principal_axes(inertia: Array) -> Array:
    """Compute right-handed principal axes as columns, smallest inertia first, (3, 3).

    Axes of equal inertia are those nearest to the object's frame.
    """
    values, vectors = np.linalg.eigh(inertia)
    scale = float(values[-1])
    axes = np.zeros((3, 3))
    done = 0
    while done < 3:
        alike = [i for i in range(done, 3) if values[i] - values[done] <= 0.02 * scale]
        basis = vectors[:, alike]
        projected = basis @ basis.T
        for column in range(done, done + len(alike)):
            rest = projected - axes[:, done:column] @ axes[:, done:column].T
            longest = int(np.argmax(np.round(np.diag(rest), 6)))
            axes[:, column] = rest[:, longest] / np.linalg.norm(rest[:, longest])
        done += len(alike)
    axes[:, 2] *= np.sign(np.linalg.det(axes))
    return axes


def cube_rotations() -> Array:
    """Return the 24 rotations of a cube, (24, 3, 3), the identity first."""
    rotations = []
    for order, signs in product(permutations(range(3)), product((1.0, -1.0), repeat=3)):
        rotation = np.zeros((3, 3))
        rotation[list(order), range(3)] = signs
        if np.linalg.det(rotation) > 0.0:
            rotations.append(rotation)
    return np.array(rotations)


def distinct(field: ObjectField, rotations: Array) -> Array:
    """Leave out rotations (n, 3, 3) in which the object looks as in an earlier one."""
    kept: list[Array] = []
    for rotation in rotations:
        relative = [rotation.T @ other for other in kept]
        missed = (np.abs(field.distances(field.samples @ r.T)).max() for r in relative)
        if all(worst > SAME_SURFACE * field.radius for worst in missed):
            kept.append(rotation)
    return np.array(kept)
