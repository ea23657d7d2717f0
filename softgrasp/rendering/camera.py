"""Camera, lights and visible geoms of a rendered MuJoCo model.

``Camera`` is a perspective camera with MuJoCo's azimuth/elevation convention; ``frame_points``
chooses the nearest one that shows a point cloud, and ``viewpoint`` the direction of view. Both
renderers use the lights and the selection of geoms defined here, so that their images agree.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from itertools import product
from math import cos, radians, sin, tan

import mujoco
import numpy as np
import numpy.typing as npt

from softgrasp.errors import DescriptionError
from softgrasp.model.shapes import SKINNED_GROUP

Array = npt.NDArray[np.float64]

KEY_DIRECTION = (0.0, 0.75, -1.0)
"""Direction of the key light of a model without lights, world frame."""
KEY = (0.55, 0.545, 0.53)
"""Colour of the key light."""
AMBIENT, CAMERA = 0.42, 0.20
"""Intensities of the ambient light and of the headlight."""
SHOULDER_DEG = 20.0
"""Azimuth of the key light to the left of the camera [deg]."""
HORIZON_DISTANCES = 12.0
"""Distance at which the floor has faded into the sky, in camera distances."""

DEFAULT_FOVY_DEG = 28.0
NEAREST = 0.01
"""Minimum depth of a framed point in front of the camera [m]."""

Type = mujoco.mjtGeom

SHOWN_GROUPS = 3
"""Geoms of groups 0 to 2 are visible; 3 and above are collision shapes (MuJoCo convention)."""
PARTING = 0.01
"""Relative reduction of the drawn size of round geoms at odd depths of the body tree."""
_ROUND = [int(Type.mjGEOM_SPHERE), int(Type.mjGEOM_CAPSULE), int(Type.mjGEOM_CYLINDER)]
_PLANE = int(Type.mjGEOM_PLANE)  # comparing an array with an enum member is a hundred times slower
_HULL_INRADIUS = 0.92260
"""Distance of the 60 faces from the centre if all 32 vertices lie on the unit sphere."""
_CUBE = np.array(list(product((-1.0, 1.0), repeat=3)))


@dataclass(frozen=True)
class Camera:
    """Perspective camera that looks at a point; world z is up.

    Args:
        lookat: World point at the image centre [m].
        distance: From the camera to that point [m].
        azimuth_deg: Heading of the optical axis about world z; 0 looks along +x [deg].
        elevation_deg: Elevation of the optical axis; negative looks down [deg].
        fovy_deg: Vertical field of view [deg].
    """

    lookat: tuple[float, float, float]
    distance: float
    azimuth_deg: float
    elevation_deg: float
    fovy_deg: float = DEFAULT_FOVY_DEG

    def axes(self) -> Array:
        """Unit vectors right, up and forward in the world as rows, (3, 3)."""
        return _axes(self.azimuth_deg, self.elevation_deg)

    @property
    def position(self) -> Array:
        """World position of the camera [m], (3,)."""
        return np.asarray(np.asarray(self.lookat) - self.distance * self.axes()[2])

    def project(self, points: npt.ArrayLike, width: int, height: int) -> Array:
        """Project world points to pixel coordinates and depth.

        Args:
            points: World points [m], shape (n, 3).
            width: Image width [px].
            height: Image height [px].

        Returns:
            Shape (n, 3): column and row in pixels, (0, 0) being the outer corner of the upper
            left pixel, and depth along the optical axis [m]. Points at or behind the camera
            have depth <= 0 and NaN coordinates.
        """
        local = (np.asarray(points, dtype=float).reshape(-1, 3) - self.position) @ self.axes().T
        depth = local[:, 2]
        scale = 0.5 * height / tan(0.5 * radians(self.fovy_deg))
        with np.errstate(divide="ignore", invalid="ignore"):
            flat = scale * local[:, :2] / np.where(depth > 0, depth, np.nan)[:, None]
        return np.column_stack([0.5 * width + flat[:, 0], 0.5 * height - flat[:, 1], depth])

    def rays(self, columns: npt.ArrayLike, rows: npt.ArrayLike, width: int, height: int) -> Array:
        """Ray directions with unit depth through image points.

        Args:
            columns: Columns in pixels as ``project`` gives them, shape (...).
            rows: Rows in pixels, shape (...).
            width: Image width [px].
            height: Image height [px].

        Returns:
            World vectors, shape (..., 3); their component along the optical axis is 1.
        """
        scale = 2.0 * tan(0.5 * radians(self.fovy_deg)) / height
        local = np.ones((*np.shape(columns), 3))
        local[..., 0] = scale * (np.asarray(columns) - 0.5 * width)
        local[..., 1] = scale * (0.5 * height - np.asarray(rows))
        return np.asarray(local @ self.axes())

    def pixels_per_metre(self, depth: float, height: int) -> float:
        """Image size of one metre perpendicular to the optical axis at a depth [px/m]."""
        return 0.5 * height / (tan(0.5 * radians(self.fovy_deg)) * depth)


def frame_points(
    points: npt.ArrayLike,
    *,
    azimuth_deg: float,
    elevation_deg: float,
    aspect: float,
    margin: float = 0.08,
    fovy_deg: float = DEFAULT_FOVY_DEG,
) -> Camera:
    """Choose the closest camera with a given heading whose image contains all points.

    Every point bounds the camera position by four planes, one per image edge. The camera is placed
    where the tighter pair of opposite edges touches its points, and centred between the others.

    Args:
        points: World points [m], shape (n, 3).
        azimuth_deg: Heading of the optical axis [deg].
        elevation_deg: Elevation of the optical axis; negative looks down [deg].
        aspect: Image width over height.
        margin: Fraction of width and height that stays free at each edge, 0 ≤ margin < 0.5.
        fovy_deg: Vertical field of view [deg].

    Returns:
        A camera that looks at the centre of the depth range of the points.

    Raises:
        DescriptionError: No points, a point that is not finite, or a margin out of range.
    """
    cloud = np.asarray(points, dtype=float).reshape(-1, 3)
    if not len(cloud) or not np.isfinite(cloud).all():
        raise DescriptionError("expected one or more finite points (n, 3)", field="points")
    if not 0.0 <= margin < 0.5:
        raise DescriptionError(f"expected 0 <= margin < 0.5, found {margin}", field="margin")
    axes = _axes(azimuth_deg, elevation_deg)
    local = cloud @ axes.T
    half = (1.0 - 2.0 * margin) * tan(0.5 * radians(fovy_deg)) * np.array([aspect, 1.0])
    low = (local[:, :2] - half * local[:, 2:]).max(axis=0)
    high = (local[:, :2] + half * local[:, 2:]).min(axis=0)
    depth = min(*((high - low) / (2.0 * half)), local[:, 2].min() - NEAREST)
    middle = 0.5 * (local[:, 2].min() + local[:, 2].max())
    lookat = np.array([*(0.5 * (low + high)), middle]) @ axes
    x, y, z = lookat.tolist()
    return Camera((x, y, z), float(middle - depth), azimuth_deg, elevation_deg, fovy_deg)


def _axes(azimuth_deg: float, elevation_deg: float) -> Array:
    # MuJoCo's free camera: forward = (ce ca, ce sa, se), up = d forward / d elevation
    ca, sa = cos(radians(azimuth_deg)), sin(radians(azimuth_deg))
    ce, se = cos(radians(elevation_deg)), sin(radians(elevation_deg))
    return np.array([[sa, -ca, 0.0], [-se * ca, -se * sa, ce], [ce * ca, ce * sa, se]])


def key_direction(model: mujoco.MjModel, data: mujoco.MjData, camera: Camera) -> Array:
    """Unit vector along the first shadow-casting directional light, or the default key light.

    It is rotated to the side of the camera; see ``toward_scene``.
    """
    kind = int(mujoco.mjtLightType.mjLIGHT_DIRECTIONAL)
    lights = np.flatnonzero(
        (model.light_type == kind) & model.light_castshadow.astype(bool) & (model.light_active > 0)
    )
    direction = data.light_xdir[lights[0]] if len(lights) else np.array(KEY_DIRECTION)
    return toward_scene(direction / np.linalg.norm(direction), camera)


def toward_scene(direction: Array, camera: Camera) -> Array:
    """Rotate a light direction about the vertical so that it comes from behind the camera.

    Only multiples of 90 degrees are used: MuJoCo's OpenGL shadow map produces speckles on the floor
    if the light is tilted along neither x nor y.
    """
    target = np.radians(camera.azimuth_deg - SHOULDER_DEG)
    x, y, z = direction
    candidates = np.array([[x, y, z], [-y, x, z], [-x, -y, z], [y, -x, z]])
    toward = candidates[:, :2] @ [np.cos(target), np.sin(target)]
    return np.asarray(candidates[np.argmax(toward)])


def complete_headlight(model: mujoco.MjModel) -> None:
    """Set the headlight of a model without lights; changes only ``vis``."""
    if model.nlight:
        return
    headlight = model.vis.headlight
    headlight.active = 1
    headlight.ambient, headlight.diffuse = [AMBIENT] * 3, [CAMERA] * 3
    headlight.specular = [0.0] * 3


def aim_lights(scene: mujoco.MjvScene, camera: Camera, center: Array, reach: float) -> None:
    """Aim the key light and all shadow maps of a scene; add a key light to a model without lights.

    MuJoCo's shadow map of a directional light is a square window around the position of the light;
    a tighter window gives sharper shadow edges. ``center`` and ``reach`` are those of the bounding
    sphere of the bodies [m].
    """
    if all(scene.lights[index].headlight for index in range(scene.nlight)):
        _add_key(scene)
    kind = int(mujoco.mjtLightType.mjLIGHT_DIRECTIONAL)
    lights = [scene.lights[index] for index in range(scene.nlight)]
    far = [light for light in lights if light.type == kind and not light.headlight]
    for light in [light for light in far if light.castshadow][:1]:
        light.dir = toward_scene(np.asarray(light.dir, dtype=float), camera)
    for light in far:
        light.pos = center - 2.0 * reach * np.asarray(light.dir, dtype=float)


def _add_key(scene: mujoco.MjvScene) -> None:
    light = scene.lights[scene.nlight]
    light.headlight, light.castshadow, light.texid = 0, 1, -1
    light.type = int(mujoco.mjtLightType.mjLIGHT_DIRECTIONAL)
    light.dir = np.array(KEY_DIRECTION) / np.linalg.norm(KEY_DIRECTION)
    light.attenuation = (1.0, 0.0, 0.0)
    light.ambient, light.diffuse, light.specular = [0.0] * 3, KEY, [0.25] * 3
    scene.nlight += 1


def drawing_copy(model: mujoco.MjModel) -> mujoco.MjModel:
    """Copy a model for drawing, with every second body level slightly thinner.

    Adjacent phalanges end in concentric spheres of equal radius; rounding would decide which one is
    visible, and the image would be speckled.
    """
    model_copy = copy.copy(model)
    depth = np.zeros(model.nbody, dtype=int)
    for body in range(1, model.nbody):
        depth[body] = depth[model.body_parentid[body]] + 1
    thinner = (depth[model.geom_bodyid] % 2 == 1) & np.isin(model.geom_type, _ROUND)
    model_copy.geom_size[thinner] *= 1.0 - PARTING
    return model_copy


def geom_colors(model: mujoco.MjModel) -> npt.NDArray[np.float32]:
    """Colour of every geom as MuJoCo draws it, shape (ngeom, 4).

    The colour of a geom overrides that of its material unless it is the default grey.
    """
    colors = model.geom_rgba.copy()
    default = (colors == np.array([0.5, 0.5, 0.5, 1.0], dtype=np.float32)).all(axis=1)
    by_material = default & (model.geom_matid >= 0)
    colors[by_material] = model.mat_rgba[model.geom_matid[by_material]]
    return np.asarray(colors)


def skin_colors(
    model: mujoco.MjModel, colors: Mapping[int, tuple[float, float, float, float]]
) -> npt.NDArray[np.float32]:
    """Colour of every skin, shape (nskin, 4), by colours of geoms under it."""
    skin_rgba = model.skin_rgba.copy()
    for geom, rgba in colors.items():
        if model.geom_group[geom] == SKINNED_GROUP:
            bones = np.flatnonzero(model.skin_bonebodyid == model.geom_bodyid[geom])
            skin_rgba[np.searchsorted(model.skin_boneadr, bones, side="right") - 1] = rgba
    return np.asarray(skin_rgba)


def solid_geoms(model: mujoco.MjModel) -> npt.NDArray[np.intp]:
    """Ids of the visible geoms without planes."""
    shown = (model.geom_group < SHOWN_GROUPS) & (geom_colors(model)[:, 3] > 0)
    return np.flatnonzero(shown & (model.geom_type != _PLANE))


def find_covered_geoms(model: mujoco.MjModel) -> npt.NDArray[np.intp]:
    """Ids of the visible geoms and of those under a skin, without planes."""
    under_skin = np.flatnonzero(model.geom_group == SKINNED_GROUP)
    return np.union1d(solid_geoms(model), under_skin)


def plane_geoms(model: mujoco.MjModel) -> npt.NDArray[np.intp]:
    """Ids of the visible planes."""
    shown = (model.geom_group < SHOWN_GROUPS) & (geom_colors(model)[:, 3] > 0)
    return np.flatnonzero(shown & (model.geom_type == _PLANE))


def geom_corner_points(
    model: mujoco.MjModel, data: mujoco.MjData, geoms: npt.ArrayLike | None = None
) -> Array:
    """World points whose convex hull tightly contains the geoms.

    Args:
        model: The model.
        data: Its state, with ``mj_forward`` or ``mj_kinematics`` done.
        geoms: Geom ids; None for all visible geoms and those under a skin. Planes are omitted.

    Returns:
        Points [m], shape (n, 3); empty without geoms.
    """
    chosen = find_covered_geoms(model) if geoms is None else np.atleast_1d(geoms)
    corners = [
        local_points(model, int(geom)) @ data.geom_xmat[geom].reshape(3, 3).T + data.geom_xpos[geom]
        for geom in chosen
    ]
    return np.concatenate([np.empty((0, 3)), *corners])


def local_points(model: mujoco.MjModel, geom: int) -> Array:
    """Points in the geom frame [m] whose convex hull contains the geom, shape (n, 3)."""
    kind, size = Type(model.geom_type[geom]), model.geom_size[geom]
    if kind == Type.mjGEOM_PLANE:
        return np.empty((0, 3))
    if kind in (Type.mjGEOM_SPHERE, Type.mjGEOM_CAPSULE):
        reach = size[1] if kind == Type.mjGEOM_CAPSULE else 0.0
        ends = np.array([[0.0, 0.0, -reach], [0.0, 0.0, reach]])
        return np.concatenate([end + size[0] * ball_hull() for end in ends])
    if kind == Type.mjGEOM_ELLIPSOID:
        return np.asarray(ball_hull() * size)
    if kind == Type.mjGEOM_CYLINDER:
        return np.asarray(_cylinder_hull() * [size[0], size[0], size[1]])
    if kind == Type.mjGEOM_MESH:
        mesh = model.geom_dataid[geom]
        first = model.mesh_vertadr[mesh]
        vertices = slice(first, first + model.mesh_vertnum[mesh])
        return np.asarray(model.mesh_vert[vertices], dtype=float)
    box: Array = model.geom_aabb[geom, :3] + _CUBE * model.geom_aabb[geom, 3:]
    return box


@cache
def _cylinder_hull() -> Array:
    sides = 24
    angle = 2.0 * np.pi * np.arange(sides) / sides
    reach = 1.0 / np.cos(np.pi / sides)
    ring = reach * np.column_stack([np.cos(angle), np.sin(angle)])
    ends = [np.column_stack([ring, np.full(sides, z)]) for z in (-1.0, 1.0)]
    return np.concatenate(ends)


def box_corners(model: mujoco.MjModel, data: mujoco.MjData, geoms: npt.NDArray[np.intp]) -> Array:
    """World corners of the bounding boxes of geoms [m], shape (n, 8, 3)."""
    box = model.geom_aabb[geoms]
    local = box[:, None, :3] + _CUBE * box[:, None, 3:]
    rotation = data.geom_xmat[geoms].reshape(-1, 1, 3, 3)
    world: Array = (rotation @ local[..., None])[..., 0] + data.geom_xpos[geoms][:, None]
    return world


def bounding_ball(model: mujoco.MjModel, data: mujoco.MjData) -> tuple[Array, float]:
    """Compute centre (3,) and radius [m] of a sphere around all visible geoms."""
    geoms = find_covered_geoms(model)
    if not len(geoms):
        return np.zeros(3), 1.0
    middles, radii = data.geom_xpos[geoms], model.geom_rbound[geoms, None]
    center = 0.5 * ((middles - radii).min(axis=0) + (middles + radii).max(axis=0))
    reach = np.linalg.norm(middles - center, axis=1) + radii[:, 0]
    return np.asarray(center), float(reach.max())


@cache
def ball_hull() -> Array:
    """Return 32 points whose hull contains the unit sphere: icosahedron and dual, scaled."""
    golden = 0.5 * (1.0 + 5.0**0.5)
    signs = np.array(list(product((-1.0, 1.0), repeat=2)))
    icosahedron = np.column_stack([np.zeros(4), signs[:, 0], golden * signs[:, 1]])
    dodecahedron = np.column_stack([np.zeros(4), golden * signs[:, 0], signs[:, 1] / golden])
    blocks = (icosahedron, dodecahedron)
    corners = np.concatenate([*(np.roll(b, k, axis=1) for b in blocks for k in range(3)), _CUBE])
    corners /= np.linalg.norm(corners, axis=1, keepdims=True)
    return np.asarray(corners / _HULL_INRADIUS)
