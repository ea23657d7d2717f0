"""Points on the surfaces of the geoms of a compiled model."""

from __future__ import annotations

import mujoco
import numpy as np

from softgrasp.formats.mjcf.attach import BOTH_GROUP, TOUCHED_GROUP
from softgrasp.mechanics.transforms import Array

GEOM = mujoco.mjtGeom
SPACING = 8e-3
"""Between neighbouring points [m]; at most, and less on small geoms."""
MOST_ROUNDS = 6


def touching_geoms(model: mujoco.MjModel) -> list[int]:
    """Geoms of a hand that can touch."""
    touches = np.isin(model.geom_group, (BOTH_GROUP, TOUCHED_GROUP))
    return np.flatnonzero(touches & (model.geom_bodyid > 0)).tolist()


def skins(model: mujoco.MjModel) -> dict[int, Array]:
    """Points on each body that can touch, in its frame (n, 3) [m], by its number."""
    found: dict[int, list[Array]] = {}
    for geom in touching_geoms(model):
        found.setdefault(int(model.geom_bodyid[geom]), []).append(surface_points(model, geom))
    return {body: np.vstack(parts) for body, parts in found.items()}


def surface_points(model: mujoco.MjModel, geom: int) -> Array:
    """Points on a geom in the frame of its body, (n, 3) [m]; of a mesh, on its convex hull."""
    import trimesh

    found = _solid(model, geom)
    spacing = min(SPACING, float(np.ptp(found.vertices, axis=0).max()) / 4)
    vertices, _ = trimesh.remesh.subdivide_to_size(  # type: ignore[no-untyped-call]
        found.vertices, found.faces, spacing, max_iter=MOST_ROUNDS
    )
    turned = np.zeros(9)
    mujoco.mju_quat2Mat(turned, model.geom_quat[geom])
    return np.asarray(vertices @ turned.reshape(3, 3).T + model.geom_pos[geom])


def _solid(model: mujoco.MjModel, geom: int):  # type: ignore[no-untyped-def]  # a trimesh
    import trimesh

    radius, half, third = model.geom_size[geom].tolist()
    match int(model.geom_type[geom]):
        case GEOM.mjGEOM_SPHERE:
            return trimesh.creation.icosphere(2, radius)
        case GEOM.mjGEOM_CAPSULE:
            made = trimesh.creation.capsule(2 * half, radius, count=(8, 8))
            made.apply_translation(-made.bounds.mean(axis=0))
            return made
        case GEOM.mjGEOM_CYLINDER:
            return trimesh.creation.cylinder(radius, 2 * half, sections=12)
        case GEOM.mjGEOM_BOX:
            return trimesh.creation.box((2 * radius, 2 * half, 2 * third))
        case GEOM.mjGEOM_ELLIPSOID:
            ball = trimesh.creation.icosphere(2, 1.0)
            ball.apply_scale((radius, half, third))
            return ball
        case GEOM.mjGEOM_MESH:
            return trimesh.convex.convex_hull(_mesh_vertices(model, geom))
        case _:
            box = model.geom_aabb[geom]
            made = trimesh.creation.box(2 * box[3:])
            made.apply_translation(box[:3])
            return made


def _mesh_vertices(model: mujoco.MjModel, geom: int) -> Array:
    mesh = int(model.geom_dataid[geom])
    first, count = int(model.mesh_vertadr[mesh]), int(model.mesh_vertnum[mesh])
    return np.asarray(model.mesh_vert[first : first + count], dtype=float)
