"""Soft shadows from few rays: one for every second coarse pixel, to changing points of a lamp."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from softgrasp.render.camera import Camera
from softgrasp.render.rays import Bools, Caster, Floats, cover, window

Ids = npt.NDArray[np.int32]
Indices = npt.NDArray[np.intp]
Light = npt.NDArray[np.float32]

TILE = 4
"""The black squares of a 4 x 4 chessboard on the lamp are dealt out to those in the picture."""
LAMP_REACHES = 100.0
"""Distance of the lamp, in radii of the ball around the bodies."""
LAMP_TANGENT = 0.03
"""Half width over distance of the lamp: sets how soft shadows are (the sun's is 0.0047)."""
SLACK_REACHES = 0.004
"""A blocker closer to a point than this, in radii of the ball, does not count."""


@dataclass(frozen=True)
class Lamp:
    """A square lamp far away from a ball of bodies.

    Args:
        toward: Unit vector towards the lamp, shape (3,).
        center: Middle of the ball [m], shape (3,).
        reach: Radius of the ball [m].
    """

    toward: Floats
    center: Floats
    reach: float

    def points(self) -> Floats:
        """Points spread evenly over the lamp [m], shape (TILE, TILE, 3)."""
        steps = (2.0 * np.arange(TILE) + 1.0) / TILE - 1.0
        return self._at(steps)

    def corners(self) -> Floats:
        """The lamp's corners [m], shape (4, 3)."""
        return self._at(np.array([-1.0, 1.0])).reshape(-1, 3)

    def _at(self, steps: Floats) -> Floats:
        far = LAMP_REACHES * self.reach
        other = np.eye(3)[np.argmin(np.abs(self.toward))]
        first = np.cross(self.toward, other)
        first *= LAMP_TANGENT * far / np.linalg.norm(first)
        second = np.cross(self.toward, first)
        middle = self.center + far * self.toward
        return np.asarray(middle + steps[:, None, None] * first + steps[:, None] * second)


def shadow_cover(
    lamp: Lamp,
    camera: Camera,
    boxes: Floats,
    plane: tuple[Floats, Floats],
    size: tuple[int, int],
    step: int,
) -> Bools:
    """Pixels where boxes may throw their shadow on a plane, never too few.

    Args:
        lamp: The light.
        camera: The camera.
        boxes: Corners of boxes [m], shape (n, 8, 3).
        plane: A point of the plane [m] and its unit normal.
        size: Width and height of the picture.
        step: Every how many pixels, down and across, an answer is wanted.

    Returns:
        Boolean mask for the pixels [::step, ::step].
    """
    width, height = size
    point, normal = plane
    shape = -(-height // step), -(-width // step)
    if not len(boxes) or normal @ lamp.toward <= 0.0:
        return np.zeros(shape, dtype=bool)
    paths = boxes[:, :, None] - lamp.corners()
    rest = (point - boxes) @ normal / (paths @ normal).min(axis=-1)
    # The corner of a body below the plane throws no shadow: it stays where it is.
    thrown = boxes[:, :, None] + np.maximum(rest, 0.0)[..., None, None] * paths
    pixels = camera.project(thrown.reshape(-1, 3), width, height)[:, :2]
    cells = (pixels - 0.5) / step + 0.5
    return cover(cells.reshape(len(boxes), -1, 2), shape)


def visibility(
    caster: Caster, lamp: Lamp, surface: Ids, pixel: Indices, points: Floats, on_skin: Bools
) -> Light:
    """Share of the lamp that is seen from the points of a coarse picture.

    Args:
        caster: Casts the rays.
        lamp: The light.
        surface: Number of the surface that each pixel shows, shape (rows, columns).
        pixel: Flat pixels where something may be in the way, shape (n,); others see all.
        points: World points that these pixels show [m], shape (n, 3).
        on_skin: Which of them lie on a skin, shape (n,).

    Returns:
        Shares from 0 to 1, shape (rows, columns), smoothed over TILE x TILE neighbours that
        lie on the same surface.
    """
    seen = np.ones(surface.shape, dtype=np.float32)
    weight = np.ones(surface.shape, dtype=np.float32)
    row, column = np.divmod(pixel, surface.shape[1])
    skipped = (row + column) % 2 == 1
    # Next to nothing, so that a surface of skipped pixels only counts as lit.
    weight.reshape(-1)[pixel[skipped]] = 1e-6
    dealt = np.where(skipped, -1, (row % TILE) * TILE + column % TILE)
    for index, origin in enumerate(lamp.points().reshape(-1, 3)):
        chosen = np.flatnonzero(dealt == index)
        slack = SLACK_REACHES / LAMP_REACHES
        blocked = caster.blocked(origin, points[chosen], slack, on_skin[chosen])
        seen.reshape(-1)[pixel[chosen]] = ~blocked
    dim = window(seen < 1.0, margin=2 * TILE)
    seen[dim] = _smoothed(seen[dim], weight[dim], surface[dim])
    return seen


def _smoothed(values: Light, weight: Light, surface: Ids) -> Light:
    """Weighted mean over windows of TILE x TILE neighbours of one surface, taken twice."""
    steps = [
        (_overlap(axis, shift), _overlap(axis, -shift))
        for axis in (0, 1)
        for shift in range(-(TILE // 2), TILE - TILE // 2)
        if shift
    ]
    same = [(surface[here] == surface[there]).astype(np.float32) for here, there in steps]
    total = values * weight
    for axis in (0, 1, 0, 1):
        part = slice(axis * len(steps) // 2, (axis + 1) * len(steps) // 2)
        summed = total.copy(), weight.copy()
        for (here, there), alike in zip(steps[part], same[part], strict=True):
            summed[0][here] += total[there] * alike
            summed[1][here] += weight[there] * alike
        total, weight = summed
    return total / weight


def _overlap(axis: int, shift: int) -> tuple[slice, ...]:
    part = slice(max(0, -shift), min(0, -shift) or None)
    return (part,) if axis == 0 else (slice(None), part)
