"""Interface of the renderers, and drawing over their images: contacts, forces and a time stamp.

A contact point lies between two bodies and would be hidden by them; marks are therefore painted
over the finished image, in the same way for both renderers.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import mujoco
import numpy as np
import numpy.typing as npt
from PIL import Image as Pillow
from PIL import ImageDraw, ImageFont

from softgrasp.rendering.camera import Camera

Image = npt.NDArray[np.uint8]

INK, PAPER = (32, 40, 50), (255, 255, 255, 190)
TEXT_FRACTION, GAP_FRACTION = 0.036, 0.028
"""Font size and distance from the edges over the image height."""

_LETTERS = ImageDraw.Draw(Pillow.new("1", (1, 1)))

Point = tuple[float, float, float]
Rgba = tuple[float, float, float, float]
"""Red, green, blue and opacity, 0 to 1."""

Floats = npt.NDArray[np.float64]

MIN_PIXELS = 1.2
"""Minimum radius of a mark [px]."""
RIM_PIXELS = 1.2
"""Width of the dark rim that separates a mark from a body of the same colour [px]."""
RIM_SHADE = 0.25
HEAD_RADII, HEAD_LENGTH_RADII, HEAD_FRACTION = 2.6, 6.5, 0.6
"""Radius and length of an arrow head in shaft radii; its maximum fraction of the arrow."""

_ANGLES = 2.0 * np.pi * np.arange(48) / 48
_NORMALS = np.stack([np.cos(_ANGLES), np.sin(_ANGLES)])


@dataclass(frozen=True)
class Arrow:
    """Arrow in the world, drawn over all bodies.

    Args:
        start: World position of the tail [m].
        vector_end: World position of the tip [m].
        radius: Radius of the shaft [m].
        rgba: Colour components from 0 to 1.
    """

    start: Point
    vector_end: Point
    radius: float
    rgba: Rgba


@dataclass(frozen=True)
class Ball:
    """Sphere in the world, drawn over all bodies.

    Args:
        center: World position [m].
        radius: Radius [m].
        rgba: Colour components from 0 to 1.
    """

    center: Point
    radius: float
    rgba: Rgba


@dataclass(frozen=True)
class _Patch:
    """Convex image region: the hull of points (n, 2), extended by a radius [px]."""

    points: Floats
    radius: float
    rounding: float  # half width of the shading gradient [px]
    axis: Floats | None  # unit vector (2,) along an arrow, None for a ball
    rgba: Rgba


Mark = Arrow | Ball
"""Mark in an image at a position of the world."""


def draw_marks(image: Image, camera: Camera, marks: Sequence[Mark]) -> None:
    """Draw arrows and spheres over an image (height, width, 3), the farthest first.

    Marks that extend behind the camera of the image are omitted.
    """
    height, width = image.shape[:2]
    layers: list[tuple[float, list[_Patch]]] = []
    for mark in marks:
        ends = [mark.center] if isinstance(mark, Ball) else [mark.start, mark.vector_end]
        pixels = camera.project(ends, width, height)
        if not np.isfinite(pixels).all():
            continue
        depth = float(pixels[:, 2].mean())
        thick = max(mark.radius * camera.pixels_per_metre(depth, height), MIN_PIXELS)
        if isinstance(mark, Ball):
            layers.append((depth, [_Patch(pixels[:, :2], thick, thick, None, mark.rgba)]))
        else:
            layers.append((depth, _arrow_patches(mark, camera, pixels, thick)))
    for _, patches in sorted(layers, key=lambda layer: -layer[0]):
        for patch in patches:
            _paint(image, patch)


def _arrow_patches(mark: Arrow, camera: Camera, pixels: Floats, thick: float) -> list[_Patch]:
    vector = np.subtract(mark.vector_end, mark.start)
    length = float(np.linalg.norm(vector))
    if length == 0.0:
        return []
    axis, rim = _project_circle(vector / length, camera)
    start, tip = pixels[0, :2], pixels[1, :2]
    neck = tip + min(HEAD_LENGTH_RADII * mark.radius / length, HEAD_FRACTION) * (start - tip)
    wide = HEAD_RADII * thick
    shaft = _Patch(np.array([start, neck]), thick, thick, axis, mark.rgba)
    head = _Patch(np.vstack([neck + wide * rim, tip]), 0.0, wide, axis, mark.rgba)
    return [shaft, head] if pixels[1, 2] <= pixels[0, 2] else [head, shaft]


def _project_circle(direction: Floats, camera: Camera) -> tuple[Floats, Floats]:
    """Project an axis (2,) and the unit circle perpendicular to it (n, 2) into the image."""
    right, up, forward = camera.axes()
    flat = np.array([direction @ right, -(direction @ up)])
    norm = float(np.linalg.norm(flat))
    axis = flat / norm if norm > 1e-9 else np.array([1.0, 0.0])
    across = np.array([-axis[1], axis[0]])
    foreshortening = abs(float(direction @ forward))
    return axis, np.outer(_NORMALS[0], across) + foreshortening * np.outer(_NORMALS[1], axis)


def _paint(image: Image, patch: _Patch) -> None:
    reach = patch.radius + RIM_PIXELS + 1.0
    low = np.floor((patch.points - reach).min(axis=0)).clip(0, image.shape[1::-1]).astype(int)
    high = np.ceil((patch.points + reach).max(axis=0)).clip(0, image.shape[1::-1]).astype(int)
    if (low >= high).any():
        return
    x, y = np.meshgrid(np.arange(low[0], high[0]) + 0.5, np.arange(low[1], high[1]) + 0.5)
    support = (patch.points @ _NORMALS).max(axis=0) + patch.radius
    # distance outside the hull by the farthest supporting line, exact except at sharp corners
    outside = (x[..., None] * _NORMALS[0] + y[..., None] * _NORMALS[1] - support).max(axis=-1)
    body = np.clip(0.5 - outside, 0.0, 1.0)[..., None]
    alpha = patch.rgba[3] * np.clip(0.5 + RIM_PIXELS - outside, 0.0, 1.0)[..., None]
    color = 255.0 * np.array(patch.rgba[:3])
    ink = RIM_SHADE * color * (1.0 - body) + _lit(x, y, patch, color).clip(0.0, 255.0) * body
    under = image[low[1] : high[1], low[0] : high[0]]
    under[:] = np.rint((1.0 - alpha) * under + alpha * ink).astype(np.uint8)


def _lit(x: Floats, y: Floats, patch: _Patch, color: Floats) -> Floats:
    """Shade a region from the upper left, as a sphere or as a cylinder around its axis."""
    x, y = (x - patch.points[0, 0]) / patch.rounding, (y - patch.points[0, 1]) / patch.rounding
    if patch.axis is not None:
        across = np.array([-patch.axis[1], patch.axis[0]])
        shift = (patch.points.mean(axis=0) - patch.points[0]) @ across / patch.rounding
        side = np.clip(x * across[0] + y * across[1] - shift, -1.0, 1.0)
        x, y = side * across[0], side * across[1]
    facing = np.sqrt(np.clip(1.0 - x**2 - y**2, 0.0, 1.0))
    toward = -0.42 * x - 0.55 * y + 0.72 * facing
    gloss = np.clip(toward, 0.0, 1.0) ** 20
    return np.asarray((0.60 + 0.45 * toward[..., None]) * color + 90.0 * gloss[..., None])


def stamp(image: Image, text: str) -> None:
    """Write a line of text on a light background into the upper left corner.

    Args:
        image: The image, shape (height, width, 3); changed in place.
        text: The text.
    """
    height = image.shape[0]
    gap = round(GAP_FRACTION * height)
    width = image.shape[1] - 2 * gap
    labels = (_label(text, size) for size in range(max(round(TEXT_FRACTION * height), 9), 0, -1))
    label = next(item for item in labels if item.shape[1] <= width)
    rows, columns = label.shape[:2]
    region = image[gap : gap + rows, gap : gap + columns]
    alpha = label[..., 3:] / 255.0
    region[:] = np.rint(alpha * label[..., :3] + (1.0 - alpha) * region).astype(np.uint8)


def _label(text: str, size: int) -> Image:
    """Render text on its background with an alpha channel, shape (rows, columns, 4)."""
    font = ImageFont.load_default(size)
    _, top, right, bottom = _LETTERS.textbbox((0, 0), text, font=font)
    pad = size // 2
    band = Pillow.new("RGBA", (round(right) + 2 * pad, size + 2 * pad))
    draw = ImageDraw.Draw(band)
    draw.rounded_rectangle((0, 0, band.width - 1, band.height - 1), radius=pad, fill=PAPER)
    middle = 0.5 * (band.height - top - bottom)
    draw.text((pad, middle), text, font=font, fill=INK)
    return np.asarray(band)


class Renderer(ABC):
    """Renderer of one model; a context manager.

    Colours and shapes of the model are read when the renderer is opened, and by ``load``. Up to
    ``threads`` images may be drawn in parallel; if 1, only in the thread that opened the renderer.
    """

    name: str
    description: str
    threads: int

    @abstractmethod
    def load(self, model: mujoco.MjModel) -> None:
        """Take over shapes, colours and lights of a model of the same sizes."""

    @abstractmethod
    def draw(
        self,
        data: mujoco.MjData,
        camera: Camera,
        marks: Sequence[Mark] = (),
        colors: Mapping[int, Rgba] | None = None,
    ) -> Image:
        """Draw a state of the model.

        Args:
            data: The state, with ``mj_forward`` or ``mj_kinematics`` and ``mj_camlight`` done.
            camera: The camera.
            marks: Marks over all bodies.
            colors: Colours of geoms by id, for this image only.

        Returns:
            The image, shape (height, width, 3), row 0 at the top.
        """

    @abstractmethod
    def close(self) -> None:
        """Free all resources; may be called twice."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
