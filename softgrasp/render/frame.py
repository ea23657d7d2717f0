"""One picture of the ray caster: coarse first, then fine where colours change.

Every second pixel down and across is cast and lit. Pixels between are mixed from those around
them, except where these differ: there each pixel has its own ray, and at edges four.
Colours run over red, green and blue first: numpy is slow on short last axes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from softgrasp.render.coarse import STEP, between, corners, grown, repeated
from softgrasp.render.ground import Ground
from softgrasp.render.rays import Bools, cover, window
from softgrasp.render.shadows import shadow_cover, visibility
from softgrasp.render.stage import SIDES, Samples, Stage

Image = npt.NDArray[np.uint8]
Colors = npt.NDArray[np.float32]
Indices = npt.NDArray[np.intp]
Ids = npt.NDArray[np.int32]

PLAIN = 0.05
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
        self._surface = ground.geom[::STEP, ::STEP] * SIDES
        pixel, seen = self._coarse_bodies()
        self._surface.reshape(-1)[pixel] = stage.surfaces(seen)
        self._body = np.zeros(self._surface.shape, dtype=bool)
        self._body.reshape(-1)[pixel] = True
        self._visibility = self._coarse_visibility(pixel, seen)
        self._color = np.zeros((3, *self._surface.shape), dtype=np.float32)
        self._color.reshape(3, -1)[:, pixel] = stage.colors(
            seen, self._visibility.reshape(-1)[pixel]
        )

    def draw(self) -> Image:
        """The finished picture, shape (height, width, 3)."""
        color, mixed = self._spread()
        flat = color.reshape(3, -1)
        fine = mixed.copy()
        fine[::STEP, ::STEP] = False
        pixel = np.flatnonzero(fine)
        flat[:, pixel] = self._cast_pixels(pixel, [(0.0, 0.0)])
        edge = self._edges(flat, mixed)
        flat[:, edge] += self._cast_pixels(edge, MORE_RAYS)
        flat[:, edge] /= 1 + len(MORE_RAYS)
        np.multiply(color, 255.0, out=color)
        color += 0.5
        image = np.empty((self._height, self._width, 3), dtype=np.uint8)
        for channel, values in enumerate(color):
            image[..., channel] = np.minimum(values, 255.0, out=values)
        return image

    def _coarse_bodies(self) -> tuple[Indices, Samples]:
        """Flat coarse pixels that show a body, and what they show of it."""
        boxes = self._stage.boxes.reshape(-1, 3)
        pixels = self._stage.camera.project(boxes, self._width, self._height)[:, :2]
        cells = (pixels.reshape(-1, 8, 2) - 0.5) / STEP + 0.5
        pixel = np.flatnonzero(cover(cells, self._surface.shape))
        solid, seen = self._stage.cast(self._ground.coarse_rays.take(pixel, axis=0))
        return pixel[solid], seen

    def _coarse_visibility(self, pixel: Indices, seen: Samples) -> Colors:
        """Share of the key light that reaches the coarse pixels."""
        stage, ground = self._stage, self._ground
        size = self._width, self._height
        thrown = np.zeros(self._surface.shape, dtype=bool)
        for geom in ground.planes:
            plane = stage.frames[0][geom], stage.frames[1][geom][:, 2]
            shadow = shadow_cover(stage.lamp, stage.camera, stage.boxes, plane, size, STEP)
            thrown |= shadow & (self._surface == geom * SIDES)
        facing = np.flatnonzero(seen.normal @ stage.lamp.toward > 0.0)
        below = np.flatnonzero(thrown & ~self._body)
        queried = np.concatenate([pixel[facing], below])
        depth = np.concatenate([seen.depth[facing], ground.coarse_depth[below]])
        points = stage.eye + depth[:, None] * ground.coarse_rays.take(queried, axis=0)
        on_skin = np.concatenate([stage.on_skin(seen)[facing], np.zeros(len(below), dtype=bool)])
        return visibility(stage.caster, stage.lamp, self._surface, queried, points, on_skin)

    def _spread(self) -> tuple[Colors, Bools]:
        """Every pixel from the coarse ones around it, and where that is not good enough."""
        color, mixed = self._ground.color.copy(), np.zeros(self._ground.geom.shape, dtype=bool)
        rows, columns = window(self._body | (self._visibility < 1.0), margin=1)
        if rows.start == rows.stop:
            return color, mixed
        fine = tuple(slice(STEP * part.start, STEP * part.stop) for part in (rows, columns))
        shade, part = self._ground.shade[fine], color[:, *fine]
        visibility, body = self._visibility[rows, columns], self._body[rows, columns]
        bodies = self._color[:, rows, columns]
        part *= shade + (1.0 - shade) * between(visibility, shade.shape)
        whole, some = corners(body, np.logical_and), corners(body, np.logical_or)
        varied = corners(bodies, np.maximum) - corners(bodies, np.minimum) > PLAIN
        mixed[fine] = repeated((some & ~whole) | (whole & varied.any(axis=0)), shade.shape)
        inside = repeated(whole, shade.shape)
        inside[::STEP, ::STEP] |= body
        for channel, spread in zip(part, between(bodies, shade.shape), strict=True):
            np.copyto(channel, spread, where=inside)
        return color, mixed

    def _cast_pixels(self, pixel: Indices, offsets: Sequence[tuple[float, float]]) -> Colors:
        """Sum of the colours of rays at these offsets in flat pixels (n,), shape (3, n)."""
        row, column = np.divmod(pixel, self._width)
        x, y = np.array(offsets).T[..., None] + 0.5
        rays = self._stage.camera.rays(column + x, row + y, self._width, self._height)
        solid, seen = self._stage.cast(rays.reshape(-1, 3))
        color = np.tile(self._ground_at(pixel), len(offsets))
        body = np.tile(pixel, len(offsets))[solid]
        color[:, solid] = self._stage.colors(
            seen, self._visibility_at(body, self._stage.surfaces(seen))
        )
        return np.asarray(color.reshape(3, len(offsets), -1).sum(axis=1))

    def _ground_at(self, pixel: Indices) -> Colors:
        """Colours (3, n) of the ground in flat pixels, in front of which a body may be."""
        shade = self._ground.shade.reshape(-1)[pixel]
        visibility = self._visibility_at(pixel, self._ground.geom.reshape(-1)[pixel] * SIDES)
        return np.asarray(
            self._ground.color.reshape(3, -1)[:, pixel] * (shade + (1.0 - shade) * visibility)
        )

    def _visibility_at(self, pixel: Indices, surface: Ids) -> Colors:
        """Share of the key light at pixels: the mean of coarse ones around on that surface."""
        row, column = np.divmod(pixel, self._width)
        rows, columns = self._surface.shape
        total = np.zeros(len(pixel), dtype=np.float32)
        weight = np.zeros(len(pixel), dtype=np.float32)
        for down in (0, STEP - 1):
            near_row = np.minimum((row + down) // STEP, rows - 1) * columns
            for right in (0, STEP - 1):
                near = near_row + np.minimum((column + right) // STEP, columns - 1)
                same = self._surface.reshape(-1)[near] == surface
                # Where no neighbour is on that surface, all count.
                part = same.astype(np.float32) + np.float32(1e-4)
                total += part * self._visibility.reshape(-1)[near]
                weight += part
        return total / weight

    def _edges(self, color: Colors, mixed: Bools) -> Indices:
        """Flat pixels in or beside a mixed cell that differ from a pixel next to them.

        Args:
            color: The picture so far, shape (3, height · width).
            mixed: Pixels of mixed cells, shape (height, width).
        """
        pixel = np.flatnonzero(grown(mixed))
        row, column = np.divmod(pixel, self._width)
        differs = np.zeros(len(pixel), dtype=bool)
        last_row, last_column = self._height - 1, self._width - 1
        for near in (
            pixel - self._width * (row > 0),
            pixel + self._width * (row < last_row),
            pixel - (column > 0),
            pixel + (column < last_column),
        ):
            for channel in color:
                differs |= np.abs(channel.take(near) - channel.take(pixel)) > PLAIN
        return pixel[differs]
