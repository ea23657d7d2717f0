"""Draws without OpenGL: rays cast by MuJoCo, shaded by numpy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType

import mujoco
import numpy as np
import numpy.typing as npt

from softgrasp.render import extents, lighting
from softgrasp.render.camera import Camera
from softgrasp.render.ground import Ground, draw_ground, plane_geoms
from softgrasp.render.marks import Mark, Rgba
from softgrasp.render.overlay import draw_marks
from softgrasp.render.rays import Bools, Caster, Floats, cover
from softgrasp.render.shadows import Lamp, shadow_cover, visible_share
from softgrasp.render.sky import sky_of

Image = npt.NDArray[np.uint8]
Colors = npt.NDArray[np.float32]
Indices = npt.NDArray[np.intp]

_FROM_ABOVE = np.array([1.10, 1.13, 1.18], dtype=np.float32)
_FROM_BELOW = np.array([0.80, 0.77, 0.74], dtype=np.float32)
_GLOSS, _GLOSS_EXPONENT = 0.16, 40
_CREASE = 0.9
"""Neighbours whose normals have a smaller cosine are drawn with more rays."""
_MORE_RAYS = ((-0.35, 0.15), (0.15, 0.35), (0.25, -0.30))


@dataclass
class _Samples:
    """Points of bodies seen in the picture: flat pixel, geom, world point and normal."""

    pixel: Indices
    geom: npt.NDArray[np.int32]
    point: Floats
    normal: Floats

    def where(self, chosen: Bools) -> _Samples:
        return _Samples(
            self.pixel[chosen], self.geom[chosen], self.point[chosen], self.normal[chosen]
        )


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
        self._model, self._size = model, (width, height)
        self._sky = sky_of(model)
        self._planes = plane_geoms(model)
        self._bodies = extents.solid_geoms(model)
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
        frame = _Frame(self._model, data, camera, self._ground_of(data, camera), self._bodies, palette)
        image = frame.draw()
        draw_marks(image, camera, marks)
        return image

    def _ground_of(self, data: mujoco.MjData, camera: Camera) -> Ground:
        toward = -lighting.key_direction(self._model, data)
        planes = [data.geom_xpos[self._planes], data.geom_xmat[self._planes], toward]
        key = b"".join(part.tobytes() for part in planes)
        if self._ground is None or self._ground[:2] != (key, camera):
            ground = draw_ground(self._model, data, camera, self._sky, toward, self._size)
            self._ground = key, camera, ground
        return self._ground[2]


class _Frame:
    """One picture in the making."""

    def __init__(
        self,
        model: mujoco.MjModel,
        data: mujoco.MjData,
        camera: Camera,
        ground: Ground,
        bodies: Indices,
        palette: Colors,
    ) -> None:
        self._camera, self._ground, self._palette = camera, ground, palette
        self._caster = Caster(model, data)
        self._eye = camera.position
        self._height, self._width = ground.geom.shape
        self._boxes = extents.box_corners(model, data, bodies)
        center, reach = extents.bounding_ball(model, data)
        self._lamp = Lamp(-lighting.key_direction(model, data), center, reach)
        self._planes = [(data.geom_xpos[k], data.geom_xmat[k].reshape(3, 3)[:, 2]) for k in plane_geoms(model)]

    def draw(self) -> Image:
        samples = self._bodies_seen()
        geom = self._ground.geom.copy()
        geom.flat[samples.pixel] = samples.geom
        light = self._light(samples, geom)
        ground = self._shaded_ground(light, geom)
        color = ground.copy()
        color[samples.pixel] = self._shaded(samples, light)
        self._smooth_edges(color, ground, samples, geom, light)
        bytes_ = np.rint(255.0 * color.clip(0.0, 1.0)).astype(np.uint8)
        return bytes_.reshape(self._height, self._width, 3)
