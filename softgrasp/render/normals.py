"""Smooth normals of meshes, as OpenGL interpolates them over a triangle.

MuJoCo's rays return the normal of the triangle they hit, but not which triangle it was. Its
plane tells: a number made of normal and offset is looked up in a sorted list, and among
triangles in one plane the one that holds the point is taken.
"""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import numpy as np

from softgrasp.render.rays import Floats

MAX_IN_PLANE = 8
"""More triangles than this in one plane are a flat side, which keeps its flat normal."""
_GENERIC = np.array([0.7390851, 0.5671433, 0.3141593])
"""No symmetry of a mesh gives two of its planes one value of normal @ _GENERIC + offset."""
_SAME = 1e-5
"""Planes whose numbers differ less count as one: corners are stored in single precision."""


@dataclass(frozen=True)
class SmoothMesh:
    """A mesh that knows its triangles by their planes.

    Args:
        keys: Sorted plane numbers, shape (n,).
        corners: Corners in that order [m], shape (n, 3, 3).
        normals: Normals at those corners, shape (n, 3, 3).
    """

    keys: Floats
    corners: Floats
    normals: Floats

    def at(self, points: Floats, flat: Floats) -> Floats:
        """Unit normals at points (n, 3) on triangles with these flat normals (n, 3)."""
        key = _plane_key(flat, points)
        first = np.searchsorted(self.keys, key - _SAME)
        best, largest = flat.copy(), np.full(len(points), -np.inf)
        for step in range(MAX_IN_PLANE):
            face = np.minimum(first + step, len(self.keys) - 1)
            todo = np.flatnonzero(np.abs(self.keys[face] - key) <= _SAME)
            if not len(todo):
                break
            weights = _weights(points[todo], self.corners[face[todo]], flat[todo])
            inside = weights.min(axis=0)
            better = inside > largest[todo]
            chosen = todo[better]
            largest[chosen] = inside[better]
            normals = self.normals[face[chosen]]
            best[chosen] = np.einsum("kn,nkx->nx", weights[:, better].clip(0.0), normals)
        length = np.linalg.norm(best, axis=1, keepdims=True)
        return np.where(length > 0.0, best / np.maximum(length, 1e-30), flat)


def smooth_mesh(model: mujoco.MjModel, mesh: int) -> SmoothMesh:
    """The lookup for one mesh of a model."""
    first, count = int(model.mesh_faceadr[mesh]), int(model.mesh_facenum[mesh])
    faces = slice(first, first + count)
    corners = model.mesh_vert[model.mesh_vertadr[mesh] + model.mesh_face[faces]].astype(float)
    normals = model.mesh_normal[model.mesh_normaladr[mesh] + model.mesh_facenormal[faces]]
    flat = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    flat /= np.maximum(np.linalg.norm(flat, axis=1, keepdims=True), 1e-30)
    keys = _plane_key(flat, corners[:, 0])
    order = np.argsort(keys)
    keys, corners, normals, flat = keys[order], corners[order], normals[order], flat[order]
    in_plane = np.searchsorted(keys, keys + _SAME, "right") - np.searchsorted(keys, keys - _SAME)
    normals = np.where((in_plane > MAX_IN_PLANE)[:, None, None], flat[:, None], normals)
    return SmoothMesh(keys, corners, normals)


def _plane_key(normals: Floats, points: Floats) -> Floats:
    offset = np.einsum("nx,nx->n", normals, points)
    return np.asarray(normals @ _GENERIC + offset)


def _weights(points: Floats, corners: Floats, flat: Floats) -> Floats:
    """Barycentric weights (3, n), not scaled; negative for a corner the point is beyond."""
    a, b, c = corners.transpose(1, 0, 2) - points
    sides = np.stack([np.cross(b, c), np.cross(c, a), np.cross(a, b)])
    return np.asarray(np.einsum("knx,nx->kn", sides, flat))
