"""One picture of the ray caster: coarse first, then fine where colours change.

Every second pixel down and across is cast and lit. Pixels between are mixed from those around
them, except where these differ: there each pixel has its own ray, and at edges four.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from softgrasp.render.ground import Ground
from softgrasp.render.rays import Bools, cover, window
from softgrasp.render.shadows import shadow_cover, visible_share
from softgrasp.render.stage import SIDES, Samples, Stage

Image = npt.NDArray[np.uint8]
Colors = npt.NDArray[np.float32]
Indices = npt.NDArray[np.intp]
Ids = npt.NDArray[np.int32]

STEP = 2
PLAIN = 0.035
"""Colours from 0 to 1 that differ less than this are mixed without casting more rays."""
MORE_RAYS = ((-0.35, 0.15), (0.15, 0.35), (0.25, -0.30))
"""Where else in a pixel at an edge rays go through, in pixels from its middle."""


class Frame:
    """A picture in the making.

    Args:
        stage: The bodies.
        ground: Sky and planes behind them.
    """

    def __init__(self, stage: Stage, ground: Ground) -> None:
        self._stage, self._ground = stage, ground
        self._height, self._width = ground.geom.shape
        pixel, seen = self._coarse_bodies()
        self._surface = ground.geom[::STEP, ::STEP] * SIDES
        self._surface.flat[pixel] = stage.surfaces(seen)
        self._body = np.zeros(self._surface.shape, dtype=bool)
        self._body.flat[pixel] = True
        self._share = self._coarse_shares(pixel, seen)
        self._color = np.zeros((*self._surface.shape, 3), dtype=np.float32)
        self._color.reshape(-1, 3)[pixel] = stage.colors(seen, self._share.flat[pixel])

    def draw(self) -> Image:
        """The finished picture, shape (height, width, 3)."""
        color, mixed = self._spread()
        flat = color.reshape(-1, 3)
        between = mixed.copy()
        between[::STEP, ::STEP] = False
        pixel = np.flatnonzero(between)
        flat[pixel] = self._cast_pixels(pixel, [(0.0, 0.0)])[0]
        edge = self._edges(color, mixed)
        flat[edge] += self._cast_pixels(edge, MORE_RAYS).sum(axis=0)
        flat[edge] /= 1 + len(MORE_RAYS)
        np.multiply(color, 255.0, out=color)
        color += 0.5
        return np.minimum(color, 255.0, out=color).astype(np.uint8)

    def _coarse_bodies(self) -> tuple[Indices, Samples]:
        """Flat coarse pixels that show a body, and what they show of it."""
        corners = self._stage.boxes.reshape(-1, 3)
        pixels = self._stage.camera.project(corners, self._width, self._height)[:, :2]
        rays = self._ground.rays[::STEP, ::STEP]
        cells = (pixels.reshape(-1, 8, 2) - 0.5) / STEP + 0.5
        pixel = np.flatnonzero(cover(cells, rays.shape[:2]))
        solid, seen = self._stage.cast(rays.reshape(-1, 3)[pixel])
        return pixel[solid], seen

    def _coarse_shares(self, pixel: Indices, seen: Samples) -> Colors:
        """Share of the key light that reaches the coarse pixels."""
        stage, ground = self._stage, self._ground
        asked, depth = np.zeros_like(self._body), ground.depth[::STEP, ::STEP].copy()
        asked.flat[pixel] = seen.normal @ stage.lamp.toward > 0.0
        depth.flat[pixel] = seen.depth
        size = self._width, self._height
        for geom in ground.planes:
            plane = stage.frames[0][geom], stage.frames[1][geom][:, 2]
            thrown = shadow_cover(stage.lamp, stage.camera, stage.boxes, plane, size, STEP)
            asked |= thrown & (self._surface == geom * SIDES)
        rays = ground.rays[::STEP, ::STEP]
        points = stage.eye + np.where(asked, depth, 0.0)[..., None] * rays
        return visible_share(stage.caster, stage.lamp, self._surface, points, asked)

    def _spread(self) -> tuple[Colors, Bools]:
        """Every pixel from the coarse ones around it, and where that is not good enough."""
        color, mixed = self._ground.color.copy(), np.zeros(self._ground.geom.shape, dtype=bool)
        if not self._body.any() and self._share.all():
            return color, mixed
        coarse = window(self._body | (self._share < 1.0), margin=1)
        fine = tuple(slice(STEP * part.start, STEP * part.stop) for part in coarse)
        shade, part = self._ground.shade[fine], color[fine]
        share, body, bodies = self._share[coarse], self._body[coarse], self._color[coarse]
        part *= (shade + (1.0 - shade) * _between(share, shade.shape))[..., None]
        whole = _corners(body, np.logical_and)
        varied = _corners(bodies, np.maximum) - _corners(bodies, np.minimum) > PLAIN
        beside = _corners(body, np.logical_or) & ~whole
        mixed[fine] = _repeated(beside | (whole & varied.any(axis=-1)), shade.shape)
        inside = _repeated(whole, shade.shape)
        inside[::STEP, ::STEP] |= body
        np.copyto(part, _between(bodies, shade.shape), where=inside[..., None])
        return color, mixed

    def _cast_pixels(self, pixel: Indices, offsets: Sequence[tuple[float, float]]) -> Colors:
        """Colours of rays at these offsets in flat pixels (n,), shape (offsets, n, 3)."""
        row, column = np.divmod(pixel, self._width)
        x, y = np.array(offsets).T[..., None] + 0.5
        rays = self._stage.camera.rays(column + x, row + y, self._width, self._height)
        solid, seen = self._stage.cast(rays.reshape(-1, 3))
        color = np.tile(self._ground_at(pixel), (len(offsets), 1))
        body = np.tile(pixel, len(offsets))[solid]
        color[solid] = self._stage.colors(seen, self._share_at(body, self._stage.surfaces(seen)))
        return color.reshape(len(offsets), len(pixel), 3)

    def _ground_at(self, pixel: Indices) -> Colors:
        """Colours (n, 3) of the ground in flat pixels, in front of which a body may be."""
        shade = self._ground.shade.reshape(-1)[pixel]
        share = self._share_at(pixel, self._ground.geom.reshape(-1)[pixel] * SIDES)
        lit = shade + (1.0 - shade) * share
        return np.asarray(self._ground.color.reshape(-1, 3)[pixel] * lit[:, None])

    def _share_at(self, pixel: Indices, surface: Ids) -> Colors:
        """Share of the key light at pixels, from the coarse pixels around on the same surface."""
        row, column = np.divmod(pixel, self._width)
        last_row, last_column = self._surface.shape[0] - 1, self._surface.shape[1] - 1
        total, weight = np.zeros((2, len(pixel)), dtype=np.float32)
        for down in (0, 1):
            near_row = np.minimum(row // STEP + down, last_row)
            row_weight = np.abs(1.0 - down - (row % STEP) / STEP)
            for right in (0, 1):
                near_column = np.minimum(column // STEP + right, last_column)
                near = row_weight * np.abs(1.0 - right - (column % STEP) / STEP)
                same = self._surface[near_row, near_column] == surface
                # Where no neighbour is on the same surface, all count.
                part = (near + 1e-3) * np.where(same, 1.0, 1e-4)
                total += part * self._share[near_row, near_column]
                weight += part
        return total / weight

    def _edges(self, color: Colors, mixed: Bools) -> Indices:
        """Flat pixels in or beside a mixed cell that differ from a pixel next to them."""
        pixel = np.flatnonzero(_grown(mixed))
        row, column = np.divmod(pixel, self._width)
        here, differs = color[row, column], np.zeros(len(pixel), dtype=bool)
        for down, right in ((1, 0), (-1, 0), (0, 1), (0, -1)):
            near_row = (row + down).clip(0, self._height - 1)
            near_column = (column + right).clip(0, self._width - 1)
            differs |= (np.abs(color[near_row, near_column] - here) > PLAIN).any(axis=1)
        return pixel[differs]


def _corners(coarse: Any, combine: np.ufunc) -> Any:
    """A ufunc over the four corners of every cell right of and below a coarse pixel."""
    padded = np.pad(coarse, [(0, 1), (0, 1), (0, 0)][: coarse.ndim], mode="edge")
    rows = combine(padded[:-1], padded[1:])
    return combine(rows[:, :-1], rows[:, 1:])


def _between(coarse: Colors, shape: tuple[int, int]) -> Colors:
    """Linear mixture of coarse pixels for all pixels; every STEP-th is the coarse one itself."""
    right = 0.5 * (coarse + np.concatenate([coarse[:, 1:], coarse[:, -1:]], axis=1))
    rows = np.stack([coarse, right], axis=2).reshape(len(coarse), -1, *coarse.shape[2:])
    below = 0.5 * (rows + np.concatenate([rows[1:], rows[-1:]]))
    every = np.stack([rows, below], axis=1).reshape(-1, *rows.shape[1:])
    return np.asarray(every[: shape[0], : shape[1]])


def _repeated(cells: Bools, shape: tuple[int, int]) -> Bools:
    """Every cell's answer for all of its pixels."""
    return cells.repeat(STEP, axis=0).repeat(STEP, axis=1)[: shape[0], : shape[1]]


def _grown(mask: Bools) -> Bools:
    """The mask and the pixels beside it."""
    grown = mask.copy()
    grown[1:] |= mask[:-1]
    grown[:-1] |= mask[1:]
    grown[:, 1:] |= mask[:, :-1]
    grown[:, :-1] |= mask[:, 1:]
    return grown
