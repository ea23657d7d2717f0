"""Points on the surfaces of the geoms of a compiled model, and inside them."""

from __future__ import annotations

import mujoco
import numpy as np

from softgrasp.description.geometry import Cuboid
from softgrasp.formats.hull_points import inside, on_faces
from softgrasp.formats.link_surfaces import corners
from softgrasp.formats.mesh_solid import Hull, hull_of
from softgrasp.formats.mjcf.attach import BOTH_GROUP, TOUCHED_GROUP
from softgrasp.formats.mjcf.primitives import primitive_of
from softgrasp.mechanics.transforms import Array

GEOM = mujoco.mjtGeom


def touching_geoms(model: mujoco.MjModel) -> list[int]:
    """Geoms of a hand that can touch."""
    touches = np.isin(model.geom_group, (BOTH_GROUP, TOUCHED_GROUP))
    return np.flatnonzero(touches & (model.geom_bodyid > 0)).tolist()


def skins(model: mujoco.MjModel) -> dict[int, Array]:
    """Points on each body that can touch, in its frame (n, 3) [m], by its number."""
    points_of_body: dict[int, list[Array]] = {}
    for geom in touching_geoms(model):
        points = _in_body(model, geom, on_faces(_hull(model, geom)))
        points_of_body.setdefault(int(model.geom_bodyid[geom]), []).append(points)
    return {body: np.vstack(parts) for body, parts in points_of_body.items()}


def inner_points(model: mujoco.MjModel, body: int) -> Array:
    """Points inside what of a body can touch, in its frame, (n, 3) [m]."""
    geoms = [geom for geom in touching_geoms(model) if int(model.geom_bodyid[geom]) == body]
    clouds = [_in_body(model, geom, inside(_hull(model, geom))) for geom in geoms]
    return np.vstack([np.zeros((0, 3)), *clouds])


def _in_body(model: mujoco.MjModel, geom: int, points: Array) -> Array:
    rotation = np.zeros(9)
    mujoco.mju_quat2Mat(rotation, model.geom_quat[geom])
    return np.asarray(points @ rotation.reshape(3, 3).T + model.geom_pos[geom])


def _hull(model: mujoco.MjModel, geom: int) -> Hull:
    """The convex hull of a geom in its own frame."""
    if int(model.geom_type[geom]) == GEOM.mjGEOM_MESH:
        return hull_of(_mesh_vertices(model, geom))
    shape = primitive_of(model, geom)
    if shape is not None:
        return hull_of(corners(shape))
    box = model.geom_aabb[geom]
    x, y, z = (2.0 * box[3:]).tolist()
    return hull_of(corners(Cuboid(size=(x, y, z))) + box[:3])


def _mesh_vertices(model: mujoco.MjModel, geom: int) -> Array:
    mesh = int(model.geom_dataid[geom])
    first, count = int(model.mesh_vertadr[mesh]), int(model.mesh_vertnum[mesh])
    return np.asarray(model.mesh_vert[first : first + count], dtype=float)
