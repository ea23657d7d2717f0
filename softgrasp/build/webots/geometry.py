"""Geoms of a compiled model → shapes of Webots, to be touched and to be seen."""

from __future__ import annotations

from typing import NamedTuple

import mujoco
import numpy as np
from numpy.typing import NDArray
from scipy.spatial import ConvexHull

from softgrasp.build.webots.frames import geom_frame, set_pose, vector
from softgrasp.errors import BuildError
from softgrasp.formats.mesh_coarser import coarser
from softgrasp.formats.wbt.node import Node
from softgrasp.mechanics.transforms import Array

GEOM = mujoco.mjtGeom
MAX_VERTICES = 100_000
"""Webots warns above it."""
ELLIPSOID_RINGS = 32
"""Rings of the mesh that stands for an ellipsoid, which Webots does not know."""


class Surface(NamedTuple):
    """A closed triangle mesh."""

    vertices: Array
    """(n, 3) [m]"""
    faces: NDArray[np.int64]
    """(m, 3)"""


def touched(
    model: mujoco.MjModel, data: mujoco.MjData, geoms: list[int], max_faces: int | None
) -> Node | None:
    """The bounding object of some geoms of one body; None without any."""
    shapes = [
        _placed(model, data, geom, _shape(model, geom, max_faces, hull=True)) for geom in geoms
    ]
    if len(shapes) < 2:
        return next(iter(shapes), None)
    return Node("Group", {"children": list(shapes)})


def seen(
    model: mujoco.MjModel, data: mujoco.MjData, geoms: list[int], max_faces: int | None
) -> list[Node]:
    """The visible shapes of some geoms of one body."""
    nodes = []
    for geom in geoms:
        shape = Node(
            "Shape",
            {
                "appearance": _appearance(model, geom),
                "geometry": _shape(model, geom, max_faces, hull=False),
            },
        )
        nodes.append(_placed(model, data, geom, shape))
    return nodes


def _placed(model: mujoco.MjModel, data: mujoco.MjData, geom: int, shape: Node) -> Node:
    pose = Node("Pose")
    set_pose(pose, geom_frame(model, data, geom))
    if not pose.fields:
        return shape
    pose.fields["children"] = [shape]
    return pose


def _appearance(model: mujoco.MjModel, geom: int) -> Node:
    red, green, blue, opacity = (float(value) for value in model.geom_rgba[geom])
    fields: dict[str, object] = {"baseColor": (red, green, blue), "roughness": 0.6, "metalness": 0}
    if opacity < 1.0:
        fields["transparency"] = 1.0 - opacity
    return Node("PBRAppearance", fields)  # type: ignore[arg-type]


def _shape(model: mujoco.MjModel, geom: int, max_faces: int | None, *, hull: bool) -> Node:
    size = [float(value) for value in model.geom_size[geom]]
    match GEOM(int(model.geom_type[geom])):
        case GEOM.mjGEOM_SPHERE:
            return Node("Sphere", {"radius": size[0], "subdivision": 3})
        case GEOM.mjGEOM_CAPSULE:
            # Webots counts the height without the caps, MuJoCo half of it
            return Node("Capsule", {"height": 2.0 * size[1], "radius": size[0]})
        case GEOM.mjGEOM_CYLINDER:
            return Node("Cylinder", {"height": 2.0 * size[1], "radius": size[0]})
        case GEOM.mjGEOM_BOX:
            return Node("Box", {"size": (2.0 * size[0], 2.0 * size[1], 2.0 * size[2])})
        case GEOM.mjGEOM_ELLIPSOID:
            return _faces(_ellipsoid(size), model.geom(geom).name, max_faces)
        case GEOM.mjGEOM_MESH:
            return _faces(_mesh(model, geom, hull=hull), model.geom(geom).name, max_faces)
        case other:
            raise BuildError(
                f"geom '{model.geom(geom).name}': Webots worlds are written with spheres, "
                f"capsules, cylinders, boxes, ellipsoids and meshes, found {other.name}"
            )


def _faces(surface: Surface, name: str, max_faces: int | None) -> Node:
    if max_faces is not None:
        surface = Surface(*coarser(surface.vertices, np.asarray(surface.faces), max_faces))
    if len(surface.vertices) > MAX_VERTICES:
        raise BuildError(
            f"mesh of '{name}': expected at most {MAX_VERTICES} vertices, which Webots takes, "
            f"found {len(surface.vertices)}; ask for fewer faces (--most-faces N) to have it "
            "made coarser"
        )
    points = Node("Coordinate", {"point": [vector(row) for row in surface.vertices]})
    rows = np.column_stack([surface.faces, np.full(len(surface.faces), -1)])
    return Node("IndexedFaceSet", {"coord": points, "coordIndex": rows.ravel().tolist()})


def _mesh(model: mujoco.MjModel, geom: int, *, hull: bool) -> Surface:
    """A mesh geom's surface, or the convex hull with which MuJoCo touches."""
    mesh = model.mesh(int(model.geom_dataid[geom]))
    first, count = int(mesh.vertadr[0]), int(mesh.vertnum[0])
    vertices = model.mesh_vert[first : first + count].astype(float)
    if hull:
        return _hull(vertices)
    begin, faces = int(mesh.faceadr[0]), int(mesh.facenum[0])
    return Surface(vertices, model.mesh_face[begin : begin + faces])


def _hull(points: Array) -> Surface:
    """The convex hull, its triangles turned outwards."""
    hull = ConvexHull(points)
    kept = np.zeros(len(points), dtype=int)
    kept[hull.vertices] = np.arange(len(hull.vertices))
    corners = points[hull.simplices]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    inward = np.einsum("ij,ij->i", normals, hull.equations[:, :3]) < 0.0
    faces = hull.simplices.copy()
    faces[inward] = faces[inward][:, ::-1]
    return Surface(points[hull.vertices], kept[faces])


def _ellipsoid(radii: list[float]) -> Surface:
    around = 2.0 * np.pi * np.arange(2 * ELLIPSOID_RINGS) / (2 * ELLIPSOID_RINGS)
    down = np.pi * np.arange(1, ELLIPSOID_RINGS) / ELLIPSOID_RINGS
    ring = np.stack([np.cos(around), np.sin(around)], axis=1)
    rings = [np.column_stack([np.sin(a) * ring, np.full(len(ring), np.cos(a))]) for a in down]
    points = np.concatenate([[[0.0, 0.0, 1.0]], *rings, [[0.0, 0.0, -1.0]]])
    return _hull(points * np.array(radii))
