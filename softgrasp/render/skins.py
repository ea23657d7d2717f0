"""Skins for the ray caster: bent by their bones, then met by rays.

OpenGL draws MuJoCo's skins by itself; its rays pass through them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import mujoco
import numpy as np
import numpy.typing as npt

from softgrasp.render.rays import Floats

Indices = npt.NDArray[np.intp]

CELLS = 128
"""Cells of the grid, down and across, in which triangles are looked for."""
CHUNK = 600
"""Vertices that share a bounding box."""


@dataclass(frozen=True)
class Skin:
    """A skin of a model.

    Args:
        vertices: In the frame in which it was bound [m], (nv, 3).
        faces: Triangles, (nf, 3).
        bodies: Body ids of its bones, (nb,).
        bound: Positions of its bones in that frame when it was bound, along its axes, (nb, 3).
        weights: How much each bone moves each vertex, (nv, nb).
    """

    vertices: Floats
    faces: Indices
    bodies: Indices
    bound: Floats
    weights: Floats

    def bent(self, data: mujoco.MjData) -> Floats:
        """Vertices in the world [m], (nv, 3)."""
        rotations = data.xmat[self.bodies].reshape(-1, 3, 3)
        offsets = data.xpos[self.bodies] - np.einsum("bij,bj->bi", rotations, self.bound)
        blended = np.tensordot(self.weights, rotations, axes=1)
        return np.asarray(np.einsum("vij,vj->vi", blended, self.vertices) + self.weights @ offsets)

    def normals(self, vertices: Floats) -> Floats:
        """Unit normals at the vertices, those of the triangles around weighed by area."""
        a, b, c = (vertices[self.faces[:, k]] for k in range(3))
        flat = np.cross(b - a, c - a)
        summed = np.zeros_like(vertices)
        for corner in range(3):
            for axis in range(3):
                summed[:, axis] += np.bincount(
                    self.faces[:, corner], flat[:, axis], minlength=len(vertices)
                )
        lengths = np.linalg.norm(summed, axis=1, keepdims=True)
        return np.asarray(summed / np.maximum(lengths, 1e-30))


def skins_of(model: mujoco.MjModel) -> list[Skin]:
    """All skins of a model."""
    return [_skin(model, index) for index in range(model.nskin)]


def _skin(model: mujoco.MjModel, index: int) -> Skin:
    first, count = int(model.skin_vertadr[index]), int(model.skin_vertnum[index])
    faces = slice(model.skin_faceadr[index], model.skin_faceadr[index] + model.skin_facenum[index])
    bones = slice(model.skin_boneadr[index], model.skin_boneadr[index] + model.skin_bonenum[index])
    weights = np.zeros((count, model.skin_bonenum[index]))
    for column, bone in enumerate(range(bones.start, bones.stop)):
        begin = model.skin_bonevertadr[bone]
        part = slice(begin, begin + model.skin_bonevertnum[bone])
        weights[model.skin_bonevertid[part], column] = model.skin_bonevertweight[part]
    return Skin(
        np.array(model.skin_vert[first : first + count], dtype=float),
        np.array(model.skin_face[faces], dtype=np.intp),
        np.array(model.skin_bonebodyid[bones], dtype=np.intp),
        np.array(model.skin_bonebindpos[bones], dtype=float),
        weights / weights.sum(axis=1, keepdims=True),
    )


class SkinHits(NamedTuple):
    """Rays that met a skin.

    Args:
        ray: Indices of the rays, (n,).
        skin: Index of the skin that each met first, (n,).
        depth: In lengths of the ray's vector, (n,).
        normal: Outward unit normals, interpolated over the triangle, (n, 3).
    """

    ray: Indices
    skin: Indices
    depth: Floats
    normal: Floats


class SkinCaster:
    """Bent skins as one camera sees them.

    Triangles and rays are sorted into the cells of a grid in the picture's plane, so that a ray is
    tried against few triangles.

    Args:
        skins: The skins.
        data: State of the model.
        eye: Where all rays start [m], (3,).
        axes: Unit vectors right, up and forward, (3, 3), one a row.
    """

    def __init__(
        self, skins: Sequence[Skin], data: mujoco.MjData, eye: Floats, axes: Floats
    ) -> None:
        bent = [skin.bent(data) for skin in skins]
        self.boxes = np.concatenate([np.empty((0, 8, 3)), *map(_boxes, bent)])
        self._axes = axes
        corners = [points[skin.faces] - eye for skin, points in zip(skins, bent, strict=True)]
        normals = [
            skin.normals(points)[skin.faces] for skin, points in zip(skins, bent, strict=True)
        ]
        owner = [np.full(len(part), index) for index, part in enumerate(corners)]
        self._normals = np.concatenate([np.empty((0, 3, 3)), *normals])
        self._owner = np.concatenate([np.empty(0, dtype=np.intp), *owner])
        a, b, c = np.concatenate([np.empty((0, 3, 3)), *corners]).transpose(1, 0, 2)
        # a ray d from the eye is inside where it is on one side of the three planes through the eye
        self._sides = np.stack([np.cross(b, c), np.cross(c, a), np.cross(a, b)])
        self._flat = np.cross(b - a, c - a)
        self._offset = np.einsum("nx,nx->n", self._flat, a)
        self._sort(np.stack([a, b, c], axis=1) @ axes.T)

    def _sort(self, local: Floats) -> None:
        """Put the triangles that face the eye into the cells that they touch."""
        facing = np.flatnonzero((self._offset < 0.0) & (local[..., 2] > 0.0).all(axis=1))
        flat = local[facing, :, :2] / local[facing, :, 2:]
        self._low = flat.min(axis=(0, 1), initial=0.0) if not len(facing) else flat.min(axis=(0, 1))
        span = np.ptp(flat.reshape(-1, 2), axis=0) if len(facing) else np.ones(2)
        self._scale = CELLS / np.maximum(span * (1.0 + 1e-9), 1e-12)
        begin = ((flat.min(axis=1) - self._low) * self._scale).astype(int).clip(0, CELLS - 1)
        end = ((flat.max(axis=1) - self._low) * self._scale).astype(int).clip(0, CELLS - 1)
        wide, high = (end - begin + 1).T
        which = np.repeat(np.arange(len(facing)), wide * high)
        inner = np.arange(len(which)) - np.repeat(np.cumsum(wide * high) - wide * high, wide * high)
        row, column = np.divmod(inner, wide[which]) if len(which) else (inner, inner)
        cell = (begin[which, 1] + row) * CELLS + begin[which, 0] + column
        order = np.argsort(cell, kind="stable")
        self._triangles = facing[which[order]]
        self._first = np.searchsorted(cell[order], np.arange(CELLS * CELLS + 1))

    def hits(self, rays: Floats, nearer_than: Floats) -> SkinHits:
        """First triangles that rays from the eye meet.

        Args:
            rays: World vectors with unit depth, (n, 3).
            nearer_than: Depth [m] beyond which a ray has met something else, (n,).
        """
        plane = rays @ self._axes[:2].T
        cell = np.floor((plane - self._low) * self._scale).astype(int)
        inside = np.flatnonzero(((cell >= 0) & (cell < CELLS)).all(axis=1))
        index = cell[inside, 1] * CELLS + cell[inside, 0]
        count = self._first[index + 1] - self._first[index]
        ray = np.repeat(inside, count)
        step = np.arange(len(ray)) - np.repeat(np.cumsum(count) - count, count)
        face = self._triangles[np.repeat(self._first[index], count) + step]
        weights = np.einsum("knx,nx->kn", self._sides[:, face], rays[ray])
        met = np.flatnonzero((weights <= 0.0).all(axis=0))
        ray, face, weights = ray[met], face[met], weights[:, met]
        depth = self._offset[face] / np.einsum("nx,nx->n", self._flat[face], rays[ray])
        near = depth < nearer_than[ray]
        ray, face, weights, depth = ray[near], face[near], weights[:, near], depth[near]
        order = np.lexsort((depth, ray))
        first = order[np.diff(ray[order], prepend=-1) > 0]
        ray, face, weights = ray[first], face[first], weights[:, first]
        normal = np.einsum("kn,nkx->nx", weights / weights.sum(axis=0), self._normals[face])
        normal /= np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), 1e-30)
        return SkinHits(ray, self._owner[face], depth[first], normal)


def _boxes(vertices: Floats) -> Floats:
    """Corners of boxes around stretches of a skin [m], (n, 8, 3)."""
    starts = np.arange(0, len(vertices), CHUNK // 2)
    boxes = []
    for start in starts.tolist():
        part = vertices[start : start + CHUNK]
        ends = np.stack([part.min(axis=0), part.max(axis=0)])
        pick = np.array([[i & 1, i >> 1 & 1, i >> 2 & 1] for i in range(8)])
        boxes.append(ends[pick, np.arange(3)])
    return np.array(boxes)
