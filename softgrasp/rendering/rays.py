"""Ray casting with MuJoCo, conservative masks for rays, and upsampling of coarse images.

``Caster`` wraps ``mj_multiRay``. ``cover`` marks the pixels that a set of convex hulls may touch,
so that no ray is cast elsewhere. The upsampling functions expand an image of every second pixel.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import mujoco
import numpy as np
import numpy.typing as npt
from scipy.ndimage import binary_dilation

from softgrasp.model.shapes import SKINNED_GROUP
from softgrasp.rendering.camera import SHOWN_GROUPS

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
Colors = npt.NDArray[np.float32]
Kind = TypeVar("Kind", bound=np.generic)

FAR = 1e9
_ANGLES = np.radians([30.0, 60.0, 120.0, 150.0])  # 0 and 90 are the sides of the bounding box
_NORMALS = np.stack([np.cos(_ANGLES), np.sin(_ANGLES)])
STEP = 2


@dataclass(frozen=True)
class Hits:
    """First intersections of rays.

    Args:
        geom: Geom ids, shape (n,); -1 without intersection.
        distance: Distance in lengths of the ray vector, shape (n,).
        normal: Outward unit normals, world frame, shape (n, 3).
    """

    geom: npt.NDArray[np.int32]
    distance: Floats
    normal: Floats


class Caster:
    """Cast rays at the visible geoms of a model, including planes.

    Geoms under skins count where requested; of the state only geom poses are used.
    """

    def __init__(
        self, model: mujoco.MjModel, data: mujoco.MjData, *, under_skins: bool = False
    ) -> None:
        self._model, self._data = model, data
        groups = np.arange(mujoco.mjNGROUP)
        shown, skinned = groups < SHOWN_GROUPS, groups == SKINNED_GROUP
        self._shading = (shown | skinned).astype(np.uint8)
        self._shown = self._shading if under_skins else shown.astype(np.uint8)

    def hits(self, origin: Floats, vectors: Floats) -> Hits:
        """First intersections of rays from an origin (3,) along vectors (n, 3)."""
        normal = np.empty((len(vectors), 3))
        geom, distance = self._cast(origin, vectors, normal, self._shown)
        return Hits(geom, distance, normal)

    def blocked(
        self, origin: Floats, targets: Floats, slack: float, on_skin: Bools | None = None
    ) -> Bools:
        """Whether a geom lies between an origin (3,) and targets (n, 3) [m], by rays.

        A fraction ``slack`` of the distance before the target is ignored. Targets ``on_skin`` (n,)
        are not blocked by geoms under skins.
        """
        blocked_rays = np.zeros(len(targets), dtype=bool)
        if on_skin is None:
            on_skin = blocked_rays.copy()
        for chosen, groups in ((~on_skin, self._shading), (on_skin, self._shown)):
            vectors = targets[chosen] - origin
            geom, distance = self._cast(origin, vectors, None, groups)
            blocked_rays[chosen] = (geom >= 0) & (distance < 1.0 - slack)
        return blocked_rays

    def _cast(
        self, origin: Floats, vectors: Floats, normal: Floats | None, groups: npt.NDArray[np.uint8]
    ) -> tuple[npt.NDArray[np.int32], Floats]:
        count = len(vectors)
        geom, distance = np.full(count, -1, dtype=np.int32), np.full(count, -1.0)
        flat = np.ascontiguousarray(vectors).reshape(-1)
        if count:
            normals = None if normal is None else normal.reshape(-1)
            inputs, outputs = (origin, flat, groups, 1, -1), (geom, distance, normals)
            mujoco.mj_multiRay(self._model, self._data, *inputs, *outputs, count, FAR)
        return geom, distance


def cover(corners: Floats, shape: tuple[int, int]) -> Bools:
    """Find the cells of a grid of a shape that the hulls of point sets may touch (conservative).

    The corners of n hulls are in cells (column, row), (n, k, 2); one that is not finite covers all.
    """
    mask = np.zeros(shape, dtype=bool)
    if not np.isfinite(corners).all():
        mask[:] = True
        return mask
    along = corners @ _NORMALS
    middle = 0.5 * (along.max(axis=1) + along.min(axis=1))
    # the farthest point of a cell is half its diagonal from its centre
    half = 0.5 * np.ptp(along, axis=1) + 0.75
    low = np.floor(corners.min(axis=1) - 1).clip(0, shape[::-1]).astype(int)
    high = np.ceil(corners.max(axis=1) + 1).clip(0, shape[::-1]).astype(int)
    for hull in range(len(corners)):
        (left, top), (right, bottom) = low[hull], high[hull]
        x = np.outer(_NORMALS[0], np.arange(left, right) + 0.5) - middle[hull][:, None]
        y = np.outer(_NORMALS[1], np.arange(top, bottom) + 0.5)
        inside = np.ones((bottom - top, right - left), dtype=bool)
        for side, reach in enumerate(half[hull]):
            inside &= np.abs(y[side][:, None] + x[side]) <= reach
        mask[top:bottom, left:right] |= inside
    return mask


def window(mask: Bools, margin: int) -> tuple[slice, slice]:
    """Row and column slices that contain a mask and a margin; empty for an empty mask."""
    lines = [np.flatnonzero(mask.any(axis=axis)) for axis in (1, 0)]
    rows, columns = (
        slice(max(line[0] - margin, 0), min(line[-1] + margin + 1, count))
        if len(line)
        else slice(0, 0)
        for line, count in zip(lines, mask.shape, strict=True)
    )
    return rows, columns


def corners(coarse: npt.NDArray[Kind], combine: np.ufunc) -> npt.NDArray[Kind]:
    """Combine the four corners of every cell right of and below a coarse pixel by a ufunc."""
    rows, every = coarse.copy(), coarse.copy()
    combine(coarse[..., :-1, :], coarse[..., 1:, :], out=rows[..., :-1, :])
    every[...] = rows
    combine(rows[..., :-1], rows[..., 1:], out=every[..., :-1])
    return every


def between(coarse: Colors, shape: tuple[int, ...]) -> Colors:
    """Upsample a coarse image linearly; every STEP-th pixel is a coarse one."""
    rows, columns = coarse.shape[-2:]
    every = np.empty((*coarse.shape[:-2], STEP * rows, STEP * columns), dtype=np.float32)
    across = every[..., ::STEP, :]
    across[..., ::STEP] = coarse
    across[..., 1:-1:STEP] = 0.5 * (coarse[..., :-1] + coarse[..., 1:])
    across[..., -1] = coarse[..., -1]
    upper, lower = every[..., :-STEP:STEP, :], every[..., STEP::STEP, :]
    np.multiply(upper + lower, 0.5, out=every[..., 1:-1:STEP, :])
    every[..., -1, :] = every[..., -STEP, :]
    return every[..., : shape[0], : shape[1]]


def repeat(cells: Bools, shape: tuple[int, ...]) -> Bools:
    """Repeat the value of every cell for all of its pixels."""
    return cells.repeat(STEP, axis=0).repeat(STEP, axis=1)[: shape[0], : shape[1]]


def grow(mask: Bools) -> Bools:
    """Dilate a mask by one pixel."""
    return np.asarray(binary_dilation(mask))
