"""Software renderer: rays cast by MuJoCo, shaded with numpy. Needs no OpenGL.

An image is drawn in two passes. First, every second pixel in both directions is cast and shaded.
Pixels between them are interpolated, except where neighbours differ: there each pixel gets a ray of
its own, and edges get four.

Colour arrays have the channel first, because numpy is slow on short last axes.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import mujoco
import numpy as np
import numpy.typing as npt

from softgrasp.rendering.camera import (
    Camera,
    bounding_ball,
    box_corners,
    drawing_copy,
    geom_colors,
    key_direction,
    plane_geoms,
    skin_colors,
    solid_geoms,
)
from softgrasp.rendering.overlay import Image, Mark, Renderer, Rgba, draw_marks
from softgrasp.rendering.rays import (
    STEP,
    Bools,
    Caster,
    Floats,
    Hits,
    between,
    corners,
    cover,
    grow,
    repeat,
    window,
)
from softgrasp.rendering.shading import (
    LIGHT_DISTANCE,
    SLACK_REACHES,
    Colors,
    Ground,
    Indices,
    PointLight,
    Skin,
    SkinCaster,
    SmoothMesh,
    draw_ground,
    shaded,
    shadow_cover,
    skins_of,
    sky_of,
    smooth_mesh,
)

MAX_THREADS = 4
"""Maximum number of drawing threads: MuJoCo releases the GIL for rays, numpy shades with it."""

COLOR_TOLERANCE = 0.05
"""Colour difference (0 to 1) below which pixels are interpolated."""
MORE_RAYS = ((-0.35, 0.15), (0.15, 0.35), (0.25, -0.30))
"""Offsets of the additional rays of an edge pixel from its centre [px]."""


@dataclass(frozen=True)
class Samples(Hits):
    """Visible surface points of bodies; geoms are followed by skins in their numbers.

    Args:
        ray: World ray vectors with unit depth, shape (n, 3).
    """

    ray: Floats


class RayRenderer(Renderer):
    """Renderer of one model that casts rays; needs MuJoCo and numpy only.

    It draws sky, checkered planes, shadows of one key light, and antialiased edges. Textures
    other than checkers on planes are ignored, and translucent geoms are opaque. The model is not
    changed; width and height are in pixels.
    """

    name = "ray caster"

    def __init__(self, model: mujoco.MjModel, width: int, height: int, description: str) -> None:
        self.description = description
        self.threads = min(os.cpu_count() or 1, MAX_THREADS)
        self._ground_lock = threading.Lock()
        self._model, self._size = drawing_copy(model), (width, height)
        self._sky = sky_of(model)
        self._planes = plane_geoms(model)
        self._meshes = {mesh: smooth_mesh(model, mesh) for mesh in range(model.nmesh)}
        self._skins = skins_of(model)
        self._ground: tuple[bytes, Camera, Ground] | None = None

    def load(self, model: mujoco.MjModel) -> None:
        """Take over shapes, colours and lights; see ``Renderer.load``."""
        self._model, self._ground = drawing_copy(model), None

    def close(self) -> None:
        """Release the cached background."""
        self._ground = None

    def draw(
        self,
        data: mujoco.MjData,
        camera: Camera,
        marks: Sequence[Mark] = (),
        colors: Mapping[int, Rgba] | None = None,
    ) -> Image:
        """Draw a state; see ``Renderer.draw``."""
        palette = geom_colors(self._model)[:, :3]
        for geom, rgba in (colors or {}).items():
            palette[geom] = rgba[:3]
        palette = np.concatenate([palette, skin_colors(self._model, colors or {})[:, :3]])
        scene = RaycastScene(self._model, data, camera, palette, self._meshes, self._skins)
        with self._ground_lock:
            ground = self._ground_of(data, camera)
        image = Frame(scene, ground).draw()
        draw_marks(image, camera, marks)
        return image

    def _ground_of(self, data: mujoco.MjData, camera: Camera) -> Ground:
        toward = -key_direction(self._model, data, camera)
        parts = (data.geom_xpos[self._planes], data.geom_xmat[self._planes], toward)
        key = b"".join(part.tobytes() for part in parts)
        if self._ground is None or self._ground[:2] != (key, camera):
            ground = draw_ground(self._model, data, camera, self._sky, toward, self._size)
            self._ground = key, camera, ground
        return self._ground[2]


class Frame:
    """One image of bodies, camera and light before a background, drawn in two passes."""

    def __init__(self, scene: RaycastScene, ground: Ground) -> None:
        self._scene, self._ground = scene, ground
        self._height, self._width = ground.geom.shape
        rays = self._rays(*np.indices((self._height, self._width))[:, ::STEP, ::STEP])
        shape = rays.shape[:2]
        pixel, seen = self._coarse_bodies(rays)
        self._body = np.zeros(shape, dtype=bool)
        self._body.reshape(-1)[pixel] = True
        shadowed = self._shadow_cover(shape)
        self._shadowed = corners(shadowed, np.logical_or)
        shadowed &= ~self._body
        self._visibility = np.ones(shape, dtype=np.float32)
        depth = ground.depth[::STEP, ::STEP]
        self._visibility[shadowed] = scene.lit(depth[shadowed], rays[shadowed])
        self._color = np.zeros((3, *shape), dtype=np.float32)
        self._color.reshape(3, -1)[:, pixel] = scene.colors(seen)

    def draw(self) -> Image:
        """Draw the image, shape (height, width, 3)."""
        color, needs_rays = self._interpolate()
        flat = color.reshape(3, -1)
        fine = needs_rays.copy()
        fine[::STEP, ::STEP] = False
        pixel = np.flatnonzero(fine)
        flat[:, pixel] = self._cast_pixels(pixel, [(0.0, 0.0)])
        edge = self._edges(flat, needs_rays)
        flat[:, edge] += self._cast_pixels(edge, MORE_RAYS)
        flat[:, edge] /= 1 + len(MORE_RAYS)
        np.multiply(color, 255.0, out=color)
        color += 0.5
        image = np.empty((self._height, self._width, 3), dtype=np.uint8)
        for channel, values in enumerate(color):
            image[..., channel] = np.minimum(values, 255.0, out=values)
        return image

    def _rays(self, row: npt.NDArray[np.number], column: npt.NDArray[np.number]) -> Floats:
        """World rays with unit depth through the centres of pixels, or beside them."""
        return self._scene.camera.rays(column + 0.5, row + 0.5, self._width, self._height)

    def _coarse_bodies(self, rays: Floats) -> tuple[Indices, Samples]:
        """Flat coarse pixels that show a body, with their samples."""
        boxes = self._scene.boxes.reshape(-1, 3)
        pixels = self._scene.camera.project(boxes, self._width, self._height)[:, :2]
        cells = (pixels.reshape(-1, 8, 2) - 0.5) / STEP + 0.5
        pixel = np.flatnonzero(cover(cells, rays.shape[:2]))
        solid, seen = self._scene.cast(rays.reshape(-1, 3)[pixel])
        return pixel[solid], seen

    def _shadow_cover(self, shape: tuple[int, int]) -> Bools:
        """Coarse pixels whose plane shadows may reach (conservative)."""
        scene, ground = self._scene, self._ground
        shadowed = np.zeros(shape, dtype=bool)
        for plane in ground.planes:
            frame = scene.frames[0][plane], scene.frames[1][plane][:, 2]
            size = self._width, self._height
            shadow = shadow_cover(scene.light, scene.camera, scene.boxes, frame, size, STEP)
            shadowed |= shadow & (ground.geom[::STEP, ::STEP] == plane)
        return shadowed

    def _interpolate(self) -> tuple[Colors, Bools]:
        """Interpolate all pixels from the coarse ones; also return where that is not sufficient."""
        color, needs_rays = self._ground.color.copy(), np.zeros(self._ground.geom.shape, dtype=bool)
        rows, columns = window(self._body | (self._visibility < 1.0), margin=1)
        if rows.start == rows.stop:
            return color, needs_rays
        fine = tuple(slice(STEP * part.start, STEP * part.stop) for part in (rows, columns))
        shade, part = self._ground.shade[fine], color[:, *fine]
        visibility, body = self._visibility[rows, columns], self._body[rows, columns]
        bodies = self._color[:, rows, columns]
        part *= shade + (1.0 - shade) * between(visibility, shade.shape)
        whole, some = corners(body, np.logical_and), corners(body, np.logical_or)
        varied = corners(bodies, np.maximum) - corners(bodies, np.minimum) > COLOR_TOLERANCE
        is_edge = (some & ~whole) | (whole & varied.any(axis=0))
        is_edge |= corners(visibility, np.maximum) != corners(visibility, np.minimum)
        needs_rays[fine] = repeat(is_edge, shade.shape)
        inside = repeat(whole, shade.shape)
        inside[::STEP, ::STEP] |= body
        for channel, spread in zip(part, between(bodies, shade.shape), strict=True):
            np.copyto(channel, spread, where=inside)
        return color, needs_rays

    def _cast_pixels(self, pixel: Indices, offsets: Sequence[tuple[float, float]]) -> Colors:
        """Sum of the colours of rays at offsets in flat pixels (n,), shape (3, n)."""
        row, column = np.divmod(pixel, self._width)
        x, y = np.array(offsets).T[..., None]
        rays = self._rays(row + y, column + x).reshape(-1, 3)
        solid, seen = self._scene.cast(rays)
        color = self._ground_at(np.tile(pixel, len(offsets)), rays)
        color[:, solid] = self._scene.colors(seen)
        return np.asarray(color.reshape(3, len(offsets), -1).sum(axis=1))

    def _ground_at(self, pixel: Indices, rays: Floats) -> Colors:
        """Background colours (3, n) of flat pixels with rays (n, 3), with shadows on planes."""
        depth, shade = self._ground.depth.reshape(-1)[pixel], self._ground.shade.reshape(-1)[pixel]
        row, column = np.divmod(pixel, self._width)
        plane = np.flatnonzero(self._shadowed[row // STEP, column // STEP] & (shade < 1.0))
        visibility = np.ones(len(pixel), dtype=np.float32)
        visibility[plane] = self._scene.lit(depth[plane], rays[plane])
        color = self._ground.color.reshape(3, -1)[:, pixel]
        return np.asarray(color * (shade + (1.0 - shade) * visibility))

    def _edges(self, color: Colors, needs_rays: Bools) -> Indices:
        """Flat pixels in or next to a needs_rays cell whose colour differs from a neighbour's."""
        pixel = np.flatnonzero(grow(needs_rays))
        row, column = np.divmod(pixel, self._width)
        differs = np.zeros(len(pixel), dtype=bool)
        below, right = self._width * (row < self._height - 1), column < self._width - 1
        for shift in (-self._width * (row > 0), below, -1 * (column > 0), right):
            near = pixel + shift
            for channel in color:
                differs |= np.abs(channel.take(near) - channel.take(pixel)) > COLOR_TOLERANCE
        return pixel[differs]


class RaycastScene:
    """Bodies, camera and key light of one image.

    The palette holds the colour of every geom, then of every skin, (ngeom + skins, 3); smooth
    normals are by mesh id.
    """

    def __init__(
        self,
        model: mujoco.MjModel,
        data: mujoco.MjData,
        camera: Camera,
        palette: Colors,
        meshes: Mapping[int, SmoothMesh],
        skins: Sequence[Skin] = (),
    ) -> None:
        solid = solid_geoms(model)
        self.camera, self.eye = camera, camera.position
        self.caster = Caster(model, data)
        self._skins = SkinCaster(skins, data, self.eye, camera.axes())
        self.boxes = np.concatenate([box_corners(model, data, solid), self._skins.boxes])
        toward_key = -key_direction(model, data, camera)
        self.light = PointLight(toward_key, *bounding_ball(model, data))
        self.frames = data.geom_xpos, data.geom_xmat.reshape(-1, 3, 3)
        self._geoms = model.ngeom
        self._palette = palette
        self._is_solid = np.zeros(model.ngeom, dtype=bool)
        self._is_solid[solid] = True
        is_mesh = model.geom_type[solid] == int(mujoco.mjtGeom.mjGEOM_MESH)
        self._smooth = {int(k): meshes[int(model.geom_dataid[k])] for k in solid[is_mesh]}

    def cast(self, rays: Floats) -> tuple[Indices, Samples]:
        """Cast camera rays (n, 3); return the indices of rays that hit a body, and samples."""
        hits = self.caster.hits(self.eye, rays)
        met = hits.geom >= 0
        is_body = met & self._is_solid[hits.geom]
        if len(self._skins.boxes):
            on = self._skins.hits(rays, np.where(met, hits.distance, np.inf))
            is_body[on.ray] = True
            hits.geom[on.ray] = self._geoms + on.skin
            hits.distance[on.ray], hits.normal[on.ray] = on.depth, on.normal
        solid = np.flatnonzero(is_body)
        seen = Samples(
            hits.geom.take(solid),
            hits.distance.take(solid),
            hits.normal.take(solid, axis=0),
            rays.take(solid, axis=0),
        )
        for geom, mesh in self._smooth.items():
            chosen = seen.geom == geom
            if chosen.any():
                origin, frame = self.frames[0][geom], self.frames[1][geom]
                points = self.eye + seen.distance[chosen, None] * seen.ray[chosen]
                smooth = mesh.at((points - origin) @ frame, seen.normal[chosen] @ frame)
                seen.normal[chosen] = smooth @ frame.T
        return solid, seen

    def lit(self, depth: Floats, rays: Floats, on_skin: Bools | None = None) -> Bools:
        """Whether the key light reaches points at depths (n,) of rays (n, 3); see ``blocked``."""
        points, slack = self.eye + depth[:, None] * rays, SLACK_REACHES / LIGHT_DISTANCE
        return ~self.caster.blocked(self.light.position, points, slack, on_skin)

    def colors(self, seen: Samples) -> Colors:
        """Colours (3, n) of samples; those that face away from the light are not lit."""
        lit = seen.normal @ self.light.toward > 0.0
        on_skin = seen.geom[lit] >= self._geoms
        lit[lit] = self.lit(seen.distance[lit], seen.ray[lit], on_skin)
        visibility = lit.astype(np.float32)
        ray = np.ascontiguousarray(seen.ray.T, dtype=np.float32)
        toward_eye = ray / -np.sqrt(ray[0] ** 2 + ray[1] ** 2 + ray[2] ** 2)
        normal = np.ascontiguousarray(seen.normal.T, dtype=np.float32)
        albedo = self._palette.T[:, seen.geom]
        return shaded(albedo, normal, toward_eye, self.light.toward.astype(np.float32), visibility)
