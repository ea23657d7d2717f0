"""Shading of the software renderer: light, shadows, background, smooth normals, skins.

- Bodies: hemispheric ambient light, one key light, a headlight and a Blinn-Phong highlight.
- Shadows: one ray to a distant point light.
- Background: sky and planes, computed exactly without rays once per camera.
- Meshes: normals interpolated over the triangle, as in OpenGL. MuJoCo's rays return the flat
  normal but not the triangle, which is found again by its plane.
- Skins: linear-blend skinning, then ray-triangle intersection with a grid in the image plane;
  MuJoCo's rays pass through skins.

Arrays of vectors and colours have the component first, because numpy is slow on short last axes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import mujoco
import numpy as np
import numpy.typing as npt

from softgrasp.rendering.camera import (
    AMBIENT,
    CAMERA,
    HORIZON_DISTANCES,
    KEY,
    Camera,
    geom_colors,
    plane_geoms,
)
from softgrasp.rendering.rays import Bools, Floats, cover

Colors = npt.NDArray[np.float32]
Indices = npt.NDArray[np.intp]

_FROM_ABOVE = AMBIENT * np.array([[1.16], [1.18], [1.22]], dtype=np.float32)
_FROM_BELOW = AMBIENT * np.array([[0.80], [0.78], [0.76]], dtype=np.float32)
_KEY = np.array(KEY, dtype=np.float32)[:, None]
_GLOSS, _GLOSS_EXPONENT = 0.16, 40

LIGHT_DISTANCE = 100.0
"""Distance of the light, in radii of the bounding sphere of the bodies."""
SLACK_REACHES = 0.004
"""Blockers closer to a point than this are ignored, in radii of the bounding sphere."""

FADE_FROM, FADE_TO = 0.25, 0.75
"""Start and end of the fading of planes, as fractions of the horizon distance."""

_DEFAULT_ELEVATION = (-0.5 * np.pi, 0.0, 0.5 * np.pi)
_DEFAULT_COLOR = ((1.00, 1.00, 1.00), (0.90, 0.93, 0.96), (0.74, 0.82, 0.90))
_UP, _DOWN, _FRONT = 2, 3, 4  # faces of a skybox texture, from top to bottom in MuJoCo

MAX_IN_PLANE = 8
"""More coplanar triangles than this are a flat side, which keeps its flat normal."""
_GENERIC = np.array([0.7390851, 0.5671433, 0.3141593])
"""Generic direction: distinct planes differ in normal @ _GENERIC + offset despite symmetry."""
_SAME = 1e-5
"""Tolerance of plane keys; vertices are stored in single precision."""

CELLS = 128
"""Cells per side of the grid that sorts the triangles."""
CHUNK = 600
"""Number of vertices per bounding box."""


@dataclass(frozen=True)
class PointLight:
    """Distant point light.

    Args:
        toward: Unit vector towards the light, shape (3,).
        center: Centre of the bounding sphere of the bodies [m], shape (3,).
        reach: Radius of the sphere [m].
    """

    toward: Floats
    center: Floats
    reach: float

    @property
    def position(self) -> Floats:
        """Position of the light [m], shape (3,)."""
        return np.asarray(self.center + LIGHT_DISTANCE * self.reach * self.toward)


@dataclass(frozen=True)
class Ground:
    """Background of one camera: sky and planes in full key light.

    Args:
        color: Colours from 0 to 1, shape (3, h, w).
        shade: Fraction of the colour in full shadow, shape (h, w).
        geom: Plane ids, -1 for sky, shape (h, w).
        depth: Depths of planes [m], infinite for sky, shape (h, w).
        planes: Ids of the planes.
    """

    color: Colors
    shade: Colors
    geom: npt.NDArray[np.int32]
    depth: Floats
    planes: tuple[int, ...]


@dataclass(frozen=True)
class Sky:
    """Sky colours over elevation, independent of azimuth.

    Args:
        elevation: Increasing elevations [rad], shape (n,).
        color: Colours from 0 to 1, shape (n, 3).
    """

    elevation: npt.NDArray[np.float64]
    color: Colors

    @property
    def horizon(self) -> Colors:
        """Colour at elevation 0, shape (3,)."""
        return np.asarray(self.at(np.zeros(1))[0])

    def along(self, rays: npt.NDArray[np.floating]) -> Colors:
        """Colours in the directions of world vectors of shape (..., 3)."""
        return self.at(np.arctan2(rays[..., 2], np.hypot(rays[..., 0], rays[..., 1])))

    def at(self, elevation: npt.NDArray[np.floating]) -> Colors:
        """Colours at elevations [rad] of shape (...), shape (..., 3)."""
        channels = [np.interp(elevation, self.elevation, self.color[:, k]) for k in range(3)]
        return np.stack(channels, axis=-1).astype(np.float32)


@dataclass(frozen=True)
class SmoothMesh:
    """Lookup table of mesh triangles by their planes, for smooth normals.

    Args:
        keys: Sorted plane keys, shape (n,).
        corners: Corners in that order [m], shape (n, 3, 3).
        normals: Normals at those corners, shape (n, 3, 3).
    """

    keys: Floats
    corners: Floats
    normals: Floats

    def at(self, points: Floats, flat: Floats) -> Floats:
        """Unit normals at points (n, 3) on triangles with these flat normals (n, 3)."""
        key = _plane_key(flat, points)
        first = np.searchsorted(self.keys, key - _SAME)
        best, largest = flat.copy(), np.full(len(points), -np.inf)
        for step in range(MAX_IN_PLANE):
            face = np.minimum(first + step, len(self.keys) - 1)
            todo = np.flatnonzero(np.abs(self.keys[face] - key) <= _SAME)
            if not len(todo):
                break
            weights = _weights(points[todo], self.corners[face[todo]], flat[todo])
            inside = weights.min(axis=0)
            better = inside > largest[todo]
            chosen = todo[better]
            largest[chosen] = inside[better]
            normals = self.normals[face[chosen]]
            best[chosen] = np.einsum("kn,nkx->nx", weights[:, better].clip(0.0), normals)
        length = np.linalg.norm(best, axis=1, keepdims=True)
        return np.where(length > 0.0, best / np.maximum(length, 1e-30), flat)


@dataclass(frozen=True)
class Skin:
    """Skin of a model.

    Args:
        vertices: Vertices in the bind frame [m], (nv, 3).
        faces: Triangles, (nf, 3).
        bodies: Body ids of the bones, (nb,).
        bound: Positions of the bones in the bind pose [m], (nb, 3).
        weights: Weight of each bone at each vertex, (nv, nb).
    """

    vertices: Floats
    faces: Indices
    bodies: Indices
    bound: Floats
    weights: Floats

    def bent(self, data: mujoco.MjData) -> Floats:
        """Compute the deformed vertices, world frame [m], (nv, 3)."""
        rotations = data.xmat[self.bodies].reshape(-1, 3, 3)
        offsets = data.xpos[self.bodies] - np.einsum("bij,bj->bi", rotations, self.bound)
        blended = np.tensordot(self.weights, rotations, axes=1)
        return np.asarray(np.einsum("vij,vj->vi", blended, self.vertices) + self.weights @ offsets)

    def normals(self, vertices: Floats) -> Floats:
        """Area-weighted unit normals at the vertices, (nv, 3)."""
        a, b, c = (vertices[self.faces[:, k]] for k in range(3))
        flat = np.cross(b - a, c - a)
        summed = np.zeros_like(vertices)
        for corner in self.faces.T:
            for axis in range(3):
                summed[:, axis] += np.bincount(corner, flat[:, axis], minlength=len(vertices))
        lengths = np.linalg.norm(summed, axis=1, keepdims=True)
        return np.asarray(summed / np.maximum(lengths, 1e-30))


class SkinHits(NamedTuple):
    """First intersections of rays with skins.

    Args:
        ray: Indices of the rays, (n,).
        skin: Index of the first skin on each ray, (n,).
        depth: Distance in lengths of the ray vector, (n,).
        normal: Outward unit normals, interpolated over the triangle, (n, 3).
    """

    ray: Indices
    skin: Indices
    depth: Floats
    normal: Floats


def shaded(
    albedo: Colors, normals: Colors, toward_eye: Colors, toward_key: Colors, visibility: Colors
) -> Colors:
    """Shade points on bodies; the colours (3, n) may exceed 1.

    Colours of the bodies, outward normals and directions to the camera have the shape (3, n), that
    to the key light (3,), and its visibility, the fraction that is not blocked, (n,).
    """
    halfway = toward_eye + toward_key[:, None]
    facing_halfway = _dots(normals, halfway) / np.sqrt(_dots(halfway, halfway))
    light = _FROM_BELOW + (0.5 + 0.5 * normals[2]) * (_FROM_ABOVE - _FROM_BELOW)
    light += (visibility * np.maximum(toward_key @ normals, 0.0)) * _KEY
    light += np.float32(CAMERA) * np.maximum(_dots(normals, toward_eye), 0.0)
    light *= albedo
    light += np.float32(_GLOSS) * visibility * np.maximum(facing_halfway, 0.0) ** _GLOSS_EXPONENT
    return np.asarray(light, dtype=np.float32)


def _dots(a: Colors, b: Colors) -> Colors:
    return np.asarray(a[0] * b[0] + a[1] * b[1] + a[2] * b[2])


def shadow_cover(
    light_source: PointLight,
    camera: Camera,
    boxes: Floats,
    plane: tuple[Floats, Floats],
    size: tuple[int, int],
    step: int,
) -> Bools:
    """Find pixels [::step, ::step] that the shadows of boxes on a plane may reach (conservative).

    The boxes have corners (n, 8, 3) [m]; the plane is a point [m] and a unit normal; the size is
    width and height of the image.
    """
    width, height = size
    point, normal = plane
    shape = -(-height // step), -(-width // step)
    if not len(boxes) or normal @ light_source.toward <= 0.0:
        return np.zeros(shape, dtype=bool)
    paths = boxes - light_source.position
    # a corner below the plane casts no shadow and is not moved
    rest = np.maximum((point - boxes) @ normal / (paths @ normal), 0.0)
    projected = boxes + rest[..., None] * paths
    pixels = camera.project(projected.reshape(-1, 3), width, height)[:, :2]
    cells = (pixels - 0.5) / step + 0.5
    return cover(cells.reshape(len(boxes), -1, 2), shape)


def draw_ground(
    model: mujoco.MjModel,
    data: mujoco.MjData,
    camera: Camera,
    sky: Sky,
    toward_key: Floats,
    size: tuple[int, int],
) -> Ground:
    """Draw sky and planes of a state; ``toward_key`` (3,) points to the key light."""
    width, height = size
    columns, rows = np.meshgrid(np.arange(width) + 0.5, np.arange(height) + 0.5)
    rays = camera.rays(columns, rows, width, height)
    color, shade = sky.along(rays), np.ones((height, width), dtype=np.float32)
    geom, nearest = np.full((height, width), -1, dtype=np.int32), np.full((height, width), np.inf)
    planes = tuple(int(plane) for plane in plane_geoms(model))
    for plane in planes:
        local, depth = _intersect_plane(model, data, plane, camera.position, rays)
        seen = depth < nearest
        nearest[seen], geom[seen] = depth[seen], plane
        facing = data.geom_xmat[plane].reshape(3, 3)[:, 2] @ toward_key
        key = np.array(KEY, dtype=np.float32) * max(0.0, float(facing))
        rest = AMBIENT + 0.3 * CAMERA
        lit = (key + rest) * _plane_colors(model, plane, local)[seen]
        away = np.linalg.norm(rays, axis=-1)[seen] * depth[seen]
        fade = _fade(away / (HORIZON_DISTANCES * camera.distance))[:, None]
        color[seen] = (1.0 - fade) * lit + fade * sky.horizon
        shade[seen] = 1.0 - (1.0 - fade[:, 0]) * (key / (key + rest)).mean()
    channels = np.ascontiguousarray(np.moveaxis(color, -1, 0))
    return Ground(channels, shade, geom, nearest, planes)


def _intersect_plane(
    model: mujoco.MjModel, data: mujoco.MjData, plane: int, origin: Floats, rays: Floats
) -> tuple[Floats, Floats]:
    """Intersect rays with the upper side of a plane: coordinates (h, w, 2), depth (inf if none)."""
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


def _plane_colors(model: mujoco.MjModel, plane: int, local: Floats) -> Colors:
    """Colours of a plane at coordinates (h, w, 2): its checker, or its mean colour."""
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
    halves = [np.split(half, [width // 2], axis=1) for half in np.split(image, [height // 2])]
    quarters = [*halves[0], *halves[1]]
    colors = [np.asarray(quarter.reshape(-1, 3).mean(axis=0)) for quarter in quarters]
    if np.allclose(colors[:2], colors[:1:-1], atol=0.02):
        return colors[0], colors[1]
    mean = np.asarray(np.mean(colors, axis=0), dtype=np.float32)
    return mean, mean


def _checker(squares: Floats) -> Colors:
    """Box-filtered checkerboard of unit squares, shape (h, w), from 0 to 1.

    The mean of a square wave over a window is the difference of two triangle waves divided by the
    width of the window, which is the change of the coordinate to the adjacent pixels.
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


def _textures(model: mujoco.MjModel, plane: int, material: int, local: Floats) -> Floats:
    """Texture coordinates of plane coordinates (h, w, 2), as in MuJoCo."""
    repeat = model.mat_texrepeat[material].astype(float)
    size = model.geom_size[plane, :2]
    if model.mat_texuniform[material] or not size.all():
        return np.asarray(0.5 * repeat * local)
    return np.asarray(0.5 * repeat * (local / size + 1.0))


def _fade(part: Floats) -> Colors:
    fade = np.clip((part - FADE_FROM) / (FADE_TO - FADE_FROM), 0.0, 1.0)
    return np.asarray(fade * fade * (3.0 - 2.0 * fade), dtype=np.float32)


def sky_of(model: mujoco.MjModel) -> Sky:
    """Sky of a model: one meridian of its skybox texture, or a pale default."""
    if not has_skybox(model):
        return Sky(np.array(_DEFAULT_ELEVATION), np.array(_DEFAULT_COLOR, dtype=np.float32))
    texture = int(np.argmax(model.tex_type == int(mujoco.mjtTexture.mjTEXTURE_SKYBOX)))
    width, depth = int(model.tex_width[texture]), int(model.tex_nchannel[texture])
    first = int(model.tex_adr[texture])
    faces = model.tex_data[first : first + 6 * width * width * depth]
    column = faces.reshape(6, width, width, depth)[:, :, width // 2, :3].astype(np.float32) / 255
    half = width // 2
    across = 2.0 * (np.arange(width) + 0.5) / width - 1.0
    rise = np.arctan(across)
    # down face from its centre outwards, front face upwards, up face inwards to its centre
    elevation = [rise[half:] - 0.5 * np.pi - rise[half], rise, 0.5 * np.pi + rise[:half]]
    color = [column[_DOWN, half:], column[_FRONT, ::-1], column[_UP, :half]]
    return Sky(np.concatenate(elevation), np.concatenate(color))


def has_skybox(model: mujoco.MjModel) -> bool:
    """Whether the model has a skybox texture."""
    return bool((model.tex_type == int(mujoco.mjtTexture.mjTEXTURE_SKYBOX)).any())


def smooth_mesh(model: mujoco.MjModel, mesh: int) -> SmoothMesh:
    """Build the triangle lookup of a mesh."""
    first, count = int(model.mesh_faceadr[mesh]), int(model.mesh_facenum[mesh])
    faces = slice(first, first + count)
    corners = model.mesh_vert[model.mesh_vertadr[mesh] + model.mesh_face[faces]].astype(float)
    normals = model.mesh_normal[model.mesh_normaladr[mesh] + model.mesh_facenormal[faces]]
    flat = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    flat /= np.maximum(np.linalg.norm(flat, axis=1, keepdims=True), 1e-30)
    keys = _plane_key(flat, corners[:, 0])
    order = np.argsort(keys)
    keys, corners, normals, flat = keys[order], corners[order], normals[order], flat[order]
    in_plane = np.searchsorted(keys, keys + _SAME, "right") - np.searchsorted(keys, keys - _SAME)
    normals = np.where((in_plane > MAX_IN_PLANE)[:, None, None], flat[:, None], normals)
    return SmoothMesh(keys, corners, normals)


def _plane_key(normals: Floats, points: Floats) -> Floats:
    offset = np.einsum("nx,nx->n", normals, points)
    return np.asarray(normals @ _GENERIC + offset)


def skins_of(model: mujoco.MjModel) -> list[Skin]:
    """Read all skins of a model."""
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


class SkinCaster:
    """Intersect camera rays with deformed skins.

    Triangles are sorted into the cells of a grid in the image plane, so that a ray is tested
    against few triangles. All rays start at the eye (3,) [m]; the axes (3, 3) are right, up,
    forward.
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
        # a ray is inside a triangle if it is on one side of three planes through the eye
        self._sides = np.stack([np.cross(b, c), np.cross(c, a), np.cross(a, b)])
        self._flat = np.cross(b - a, c - a)
        self._offset = np.einsum("nx,nx->n", self._flat, a)
        self._sort(np.stack([a, b, c], axis=1) @ axes.T)

    def _sort(self, local: Floats) -> None:
        """Sort the triangles that face the camera into the image cells that they overlap."""
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
        """First intersections of rays from the eye with the skins.

        Rays are world vectors (n, 3) with unit depth; ``nearer_than`` is the depth (n,) [m] of the
        first other intersection of each.
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
    """Corners of bounding boxes of chunks of a skin [m], (n, 8, 3)."""
    starts = np.arange(0, len(vertices), CHUNK // 2)
    boxes = []
    for start in starts.tolist():
        part = vertices[start : start + CHUNK]
        ends = np.stack([part.min(axis=0), part.max(axis=0)])
        pick = np.array([[i & 1, i >> 1 & 1, i >> 2 & 1] for i in range(8)])
        boxes.append(ends[pick, np.arange(3)])
    return np.array(boxes)


def _weights(points: Floats, corners: Floats, flat: Floats) -> Floats:
    """Unnormalized barycentric weights (3, n), negative outside the triangle."""
    a, b, c = corners.transpose(1, 0, 2) - points
    sides = np.stack([np.cross(b, c), np.cross(c, a), np.cross(a, b)])
    return np.asarray(np.einsum("knx,nx->kn", sides, flat))
