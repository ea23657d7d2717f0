"""The part of a picture that bodies stand before: sky and planes, exact and without rays.

It depends on the camera and the planes only, so a film draws it once.
"""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import numpy as np
import numpy.typing as npt

from softgrasp.render import lighting
from softgrasp.render.camera import Camera
from softgrasp.render.coarse import STEP
from softgrasp.render.extents import geom_colors, plane_geoms
from softgrasp.render.rays import Floats
from softgrasp.render.sky import Sky

Colors = npt.NDArray[np.float32]

FADE_FROM, FADE_TO = 0.25, 0.75
"""Where planes begin and end to fade into the horizon, in parts of the horizon's distance."""


@dataclass(frozen=True)
class Ground:
    """Sky and planes as one camera sees them, in full key light.

    Args:
        coarse_rays: World vectors of unit depth through the middles of every STEP-th pixel
            down and across, shape (n, 3).
        color: From 0 to 1, shape (3, h, w).
        shade: Part of the colour that stays in full shadow, shape (h, w).
        geom: Plane ids, -1 for sky, shape (h, w).
        coarse_depth: Depths of planes at these [m], infinite for sky, shape (n,).
        planes: Ids of the planes.
    """

    coarse_rays: Floats
    color: Colors
    shade: Colors
    geom: npt.NDArray[np.int32]
    coarse_depth: Floats
    planes: tuple[int, ...]


def draw_ground(
    model: mujoco.MjModel,
    data: mujoco.MjData,
    camera: Camera,
    sky: Sky,
    toward_key: Floats,
    size: tuple[int, int],
) -> Ground:
    """Sky and planes of a model.

    Args:
        model: The model.
        data: Its state.
        camera: The camera.
        sky: What is behind everything.
        toward_key: Unit vector towards the key light, shape (3,).
        size: Width and height of the picture.
    """
    width, height = size
    columns, rows = np.meshgrid(np.arange(width) + 0.5, np.arange(height) + 0.5)
    rays = camera.rays(columns, rows, width, height)
    color, shade = sky.along(rays), np.ones((height, width), dtype=np.float32)
    geom, nearest = np.full((height, width), -1, dtype=np.int32), np.full((height, width), np.inf)
    planes = tuple(int(plane) for plane in plane_geoms(model))
    for plane in planes:
        local, depth = _meet(model, data, plane, camera.position, rays)
        seen = depth < nearest
        nearest[seen], geom[seen] = depth[seen], plane
        facing = data.geom_xmat[plane].reshape(3, 3)[:, 2] @ toward_key
        key = np.array(lighting.KEY, dtype=np.float32) * max(0.0, float(facing))
        rest = lighting.AMBIENT + 0.3 * lighting.CAMERA
        lit = (key + rest) * _paint(model, plane, local)[seen]
        away = np.linalg.norm(rays, axis=-1)[seen] * depth[seen]
        fade = _fade(away / (lighting.HORIZON_DISTANCES * camera.distance))[:, None]
        color[seen] = (1.0 - fade) * lit + fade * sky.horizon
        shade[seen] = 1.0 - (1.0 - fade[:, 0]) * (key / (key + rest)).mean()
    coarse_rays = rays[::STEP, ::STEP].reshape(-1, 3)
    coarse_depth = nearest[::STEP, ::STEP].reshape(-1)
    channels = np.ascontiguousarray(np.moveaxis(color, -1, 0))
    return Ground(coarse_rays, channels, shade, geom, coarse_depth, planes)


def _meet(
    model: mujoco.MjModel, data: mujoco.MjData, plane: int, origin: Floats, rays: Floats
) -> tuple[Floats, Floats]:
    """Where rays meet a plane from above: plane coordinates (h, w, 2) and depth, else inf."""
    frame = data.geom_xmat[plane].reshape(3, 3)
    start = (origin - data.geom_xpos[plane]) @ frame
    heading = rays @ frame
    with np.errstate(divide="ignore", invalid="ignore"):
        depth = np.where(heading[..., 2] < 0.0, -start[2] / heading[..., 2], np.inf)
        local = start[:2] + depth[..., None] * heading[..., :2]
    depth[~(depth > 0.0)] = np.inf
    size = model.geom_size[plane, :2]
    depth[((np.abs(local) > size) & (size > 0)).any(axis=-1)] = np.inf
    return local, depth


def _fade(part: Floats) -> Colors:
    fade = np.clip((part - FADE_FROM) / (FADE_TO - FADE_FROM), 0.0, 1.0)
    return np.asarray(fade * fade * (3.0 - 2.0 * fade), dtype=np.float32)


def _paint(model: mujoco.MjModel, plane: int, local: Floats) -> Colors:
    """A plane's own colours at plane coordinates (h, w, 2): its checker, or its mean colour."""
    plain = geom_colors(model)[plane, :3]
    material = int(model.geom_matid[plane])
    role = int(mujoco.mjtTextureRole.mjTEXROLE_RGB)
    texture = int(model.mat_texid[material, role]) if material >= 0 else -1
    if texture < 0 or model.tex_type[texture] != mujoco.mjtTexture.mjTEXTURE_2D:
        return np.broadcast_to(plain, (*local.shape[:2], 3))
    first, second = (plain * color for color in _quadrants(model, texture))
    mixed = _checker(2.0 * _textures(model, plane, material, local))[..., None]
    return np.asarray(first + mixed * (second - first), dtype=np.float32)


def _quadrants(model: mujoco.MjModel, texture: int) -> tuple[Colors, Colors]:
    """The two colours of a checker texture; twice the mean colour of any other."""
    height, width = int(model.tex_height[texture]), int(model.tex_width[texture])
    depth, first = int(model.tex_nchannel[texture]), int(model.tex_adr[texture])
    pixels = model.tex_data[first : first + height * width * depth]
    image = pixels.reshape(height, width, depth)[..., :3].astype(np.float32) / 255.0
    top, bottom = image[: height // 2], image[height // 2 :]
    quarters = [half[:, part] for half in (top, bottom) for part in _halves(width)]
    colors = [np.asarray(quarter.reshape(-1, 3).mean(axis=0)) for quarter in quarters]
    if np.allclose(colors[:2], colors[:1:-1], atol=0.02):
        return colors[0], colors[1]
    mean = np.asarray(np.mean(colors, axis=0), dtype=np.float32)
    return mean, mean


def _halves(width: int) -> tuple[slice, slice]:
    return slice(0, width // 2), slice(width // 2, width)


def _textures(model: mujoco.MjModel, plane: int, material: int, local: Floats) -> Floats:
    """Plane coordinates (h, w, 2) counted in textures, as MuJoCo lays them."""
    repeat = model.mat_texrepeat[material].astype(float)
    size = model.geom_size[plane, :2]
    if model.mat_texuniform[material] or not size.all():
        return np.asarray(0.5 * repeat * local)
    return np.asarray(0.5 * repeat * (local / size + 1.0))


def _checker(squares: Floats) -> Colors:
    """A checkerboard of unit squares averaged over each pixel, shape (h, w), from 0 to 1.

    The mean of a square wave over a window is the difference of two triangle waves, over the
    window; the window is the change of the coordinate to the neighbouring pixels.
    """
    product = np.ones(squares.shape[:2])
    for axis in range(2):
        value = np.where(np.isfinite(squares[..., axis]), squares[..., axis], 0.0)
        down, across = np.gradient(value)
        window = np.maximum(np.abs(down) + np.abs(across), 1e-3)
        product *= (_triangle(value + 0.5 * window) - _triangle(value - 0.5 * window)) / window
    return np.asarray(0.5 + 0.5 * product.clip(-1.0, 1.0), dtype=np.float32)


def _triangle(value: Floats) -> Floats:
    """Integral of the square wave that is +1 on [0, 1) and -1 on [1, 2)."""
    phase = np.mod(value, 2.0)
    return np.minimum(phase, 2.0 - phase)
