"""Which geoms are shown, and how far each of them reaches."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from functools import cache
from itertools import product

import mujoco
import numpy as np
import numpy.typing as npt

from softgrasp.build.shapes import SKINNED_GROUP

Array = npt.NDArray[np.float64]
Type = mujoco.mjtGeom

SHOWN_GROUPS = 3
"""Geoms of groups 0, 1, 2 are shown; 3 and above hold collision shapes (MuJoCo's habit)."""
PARTING = 0.01
"""Part of their size by which every second generation of bodies is drawn thinner."""
_ROUND = [int(Type.mjGEOM_SPHERE), int(Type.mjGEOM_CAPSULE), int(Type.mjGEOM_CYLINDER)]
_PLANE = int(Type.mjGEOM_PLANE)  # an array compares with an enum member a hundred times slower
_HULL_INRADIUS = 0.92260
"""Distance of the 60 faces from the centre when all 32 corners lie on the unit sphere."""
_CUBE = np.array(list(product((-1.0, 1.0), repeat=3)))


def drawing_copy(model: mujoco.MjModel) -> mujoco.MjModel:
    """A copy to draw from, where a body is a hair thinner or thicker than its parent.

    Neighbouring phalanges end in spheres of one size around one point; which of the two is in
    front would be left to rounding, and the picture would be speckled.
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

    A geom's own colour wins over its material's unless it is the default grey.
    """
    colors = model.geom_rgba.copy()
    default = (colors == np.array([0.5, 0.5, 0.5, 1.0], dtype=np.float32)).all(axis=1)
    by_material = default & (model.geom_matid >= 0)
    colors[by_material] = model.mat_rgba[model.geom_matid[by_material]]
    return np.asarray(colors)


def skin_colors(
    model: mujoco.MjModel, colors: Mapping[int, tuple[float, float, float, float]]
) -> npt.NDArray[np.float32]:
    """Colour of every skin, shape (nskin, 4).

    Args:
        model: The model.
        colors: Colours of geoms by id; that of a geom under a skin is the whole skin's.
    """
    skin_rgba = model.skin_rgba.copy()
    for geom, rgba in colors.items():
        if model.geom_group[geom] == SKINNED_GROUP:
            bones = np.flatnonzero(model.skin_bonebodyid == model.geom_bodyid[geom])
            skin_rgba[np.searchsorted(model.skin_boneadr, bones, side="right") - 1] = rgba
    return np.asarray(skin_rgba)


def solid_geoms(model: mujoco.MjModel) -> npt.NDArray[np.intp]:
    """Ids of the geoms that a renderer shows, all but planes."""
    shown = (model.geom_group < SHOWN_GROUPS) & (geom_colors(model)[:, 3] > 0)
    return np.flatnonzero(shown & (model.geom_type != _PLANE))


def covered_geoms(model: mujoco.MjModel) -> npt.NDArray[np.intp]:
    """Ids of the geoms that are seen, as they are or under a skin, all but planes."""
    under_skin = np.flatnonzero(model.geom_group == SKINNED_GROUP)
    return np.union1d(solid_geoms(model), under_skin)


def plane_geoms(model: mujoco.MjModel) -> npt.NDArray[np.intp]:
    """Ids of the planes that a renderer shows."""
    shown = (model.geom_group < SHOWN_GROUPS) & (geom_colors(model)[:, 3] > 0)
    return np.flatnonzero(shown & (model.geom_type == _PLANE))


def local_points(model: mujoco.MjModel, geom: int) -> Array:
    """Points in the geom's frame [m] whose convex hull holds the geom, shape (n, 3)."""
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


def box_corners(model: mujoco.MjModel, data: mujoco.MjData, geoms: npt.NDArray[np.intp]) -> Array:
    """World corners of the geoms' bounding boxes [m], shape (n, 8, 3)."""
    box = model.geom_aabb[geoms]
    local = box[:, None, :3] + _CUBE * box[:, None, 3:]
    rotation = data.geom_xmat[geoms].reshape(-1, 1, 3, 3)
    world: Array = (rotation @ local[..., None])[..., 0] + data.geom_xpos[geoms][:, None]
    return world


def bounding_ball(model: mujoco.MjModel, data: mujoco.MjData) -> tuple[Array, float]:
    """Centre (3,) and radius [m] of a ball around all that is seen; a unit ball for nothing."""
    geoms = covered_geoms(model)
    if not len(geoms):
        return np.zeros(3), 1.0
    middles, radii = data.geom_xpos[geoms], model.geom_rbound[geoms, None]
    center = 0.5 * ((middles - radii).min(axis=0) + (middles + radii).max(axis=0))
    reach = np.linalg.norm(middles - center, axis=1) + radii[:, 0]
    return np.asarray(center), float(reach.max())


@cache
def ball_hull() -> Array:
    """32 points whose hull holds the unit ball: an icosahedron and its dual, scaled up."""
    golden = 0.5 * (1.0 + 5.0**0.5)
    signs = np.array(list(product((-1.0, 1.0), repeat=2)))
    icosahedron = np.column_stack([np.zeros(4), signs[:, 0], golden * signs[:, 1]])
    dodecahedron = np.column_stack([np.zeros(4), golden * signs[:, 0], signs[:, 1] / golden])
    blocks = (icosahedron, dodecahedron)
    corners = np.concatenate([*(np.roll(b, k, axis=1) for b in blocks for k in range(3)), _CUBE])
    corners /= np.linalg.norm(corners, axis=1, keepdims=True)
    return np.asarray(corners / _HULL_INRADIUS)


@cache
def _cylinder_hull(sides: int = 24) -> Array:
    angle = 2.0 * np.pi * np.arange(sides) / sides
    reach = 1.0 / np.cos(np.pi / sides)
    ring = reach * np.column_stack([np.cos(angle), np.sin(angle)])
    ends = [np.column_stack([ring, np.full(sides, z)]) for z in (-1.0, 1.0)]
    return np.concatenate(ends)
