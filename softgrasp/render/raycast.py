"""Draws without OpenGL: rays cast by MuJoCo, shaded with numpy."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping, Sequence
from types import TracebackType

import mujoco
import numpy as np
import numpy.typing as npt

from softgrasp.render import extents, lighting
from softgrasp.render.camera import Camera
from softgrasp.render.frame import Frame
from softgrasp.render.ground import Ground, draw_ground
from softgrasp.render.marks import Mark, Rgba
from softgrasp.render.normals import smooth_mesh
from softgrasp.render.overlay import draw_marks
from softgrasp.render.skins import skins_of
from softgrasp.render.sky import sky_of
from softgrasp.render.stage import Stage

Image = npt.NDArray[np.uint8]

MAX_THREADS = 4
"""MuJoCo casts rays without holding Python's lock, numpy shades with it: more bring nothing."""


class RayRenderer:
    """Draws one model by casting rays; needs MuJoCo and numpy only.

    Sky, planes with checkers, soft shadows of one key light and smooth edges. Textures other
    than checkers on planes are replaced by one colour, and translucent geoms are drawn solid.

    Args:
        model: The model; it is not changed.
        width: Picture width in pixels.
        height: Picture height in pixels.
        note: One line for the user about how the pictures were drawn.
    """

    name = "ray caster"

    def __init__(self, model: mujoco.MjModel, width: int, height: int, note: str) -> None:
        self.note = note
        self.threads = min(os.cpu_count() or 1, MAX_THREADS)
        self._sharing = threading.Lock()
        self._model, self._size = extents.drawing_copy(model), (width, height)
        self._sky = sky_of(model)
        self._planes = extents.plane_geoms(model)
        self._meshes = {mesh: smooth_mesh(model, mesh) for mesh in range(model.nmesh)}
        self._skins = skins_of(model)
        self._ground: tuple[bytes, Camera, Ground] | None = None

    def __enter__(self) -> RayRenderer:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Forget what was kept from one picture for the next."""
        self._ground = None

    def draw(
        self,
        data: mujoco.MjData,
        camera: Camera,
        marks: Sequence[Mark] = (),
        colors: Mapping[int, Rgba] | None = None,
    ) -> Image:
        """A picture of this state, shape (height, width, 3); see ``Renderer.draw``."""
        palette = extents.geom_colors(self._model)[:, :3]
        for geom, rgba in (colors or {}).items():
            palette[geom] = rgba[:3]
        palette = np.concatenate([palette, extents.skin_colors(self._model, colors or {})[:, :3]])
        stage = Stage(self._model, data, camera, palette, self._meshes, self._skins)
        with self._sharing:
            ground = self._ground_of(data, camera)
        image = Frame(stage, ground).draw()
        draw_marks(image, camera, marks)
        return image

    def _ground_of(self, data: mujoco.MjData, camera: Camera) -> Ground:
        toward = -lighting.key_direction(self._model, data, camera)
        parts = (data.geom_xpos[self._planes], data.geom_xmat[self._planes], toward)
        key = b"".join(part.tobytes() for part in parts)
        if self._ground is None or self._ground[:2] != (key, camera):
            ground = draw_ground(self._model, data, camera, self._sky, toward, self._size)
            self._ground = key, camera, ground
        return self._ground[2]
