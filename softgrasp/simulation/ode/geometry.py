"""Bounding objects of Webots: which shapes stand where, and what they weigh."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from softgrasp.errors import DescriptionError, SimulationError
from softgrasp.formats.mesh_files import Triangles, read_triangles
from softgrasp.formats.wbt.access import integers, number, texts, vector, vectors
from softgrasp.formats.wbt.node import Node
from softgrasp.simulation.ode import mass
from softgrasp.simulation.ode.mass import Mass
from softgrasp.simulation.ode.poses import IDENTITY, Pose, pose_of

FRAMES = ("Pose", "Transform")


@dataclass(frozen=True, eq=False, slots=True)
class Shape:
    """A shape of a bounding object in the frame of its Solid."""

    kind: str
    """Type of Webots' node."""
    sizes: tuple[float, ...]
    """Edges of a box; radius; radius and height; nothing for planes and surfaces [m]."""
    pose: Pose
    triangles: Triangles | None = None
    """Vertices (n, 3) [m] and faces (m, 3) of a surface."""

    def weight(self) -> Mass | None:
        """At density 1 in the Solid's frame; None for a plane, which has no inside."""
        if self.triangles is not None:
            return mass.mesh(*self.triangles).placed(self.pose)
        if self.kind == "Box":
            return mass.box(self.sizes).placed(self.pose)
        if self.kind == "Sphere":
            return mass.sphere(*self.sizes).placed(self.pose)
        if self.kind == "Capsule":
            return mass.capsule(*self.sizes).placed(self.pose)
        return mass.cylinder(*self.sizes).placed(self.pose) if self.kind == "Cylinder" else None


def frame_of(node: Node) -> Pose:
    """Frame of a Pose, Transform or Solid in the one around it.

    Raises:
        SimulationError: It scales.
    """
    if node.type == "Transform" and tuple(vector(node, "scale")) != (1.0, 1.0, 1.0):
        raise SimulationError(f"line {node.line}: a Transform that scales is not supported in ODE")
    return pose_of(vector(node, "translation"), vector(node, "rotation"))


def bounding_shapes(node: Node | None, directory: Path, pose: Pose = IDENTITY) -> Iterator[Shape]:
    """The shapes of a bounding object, in the frame of its Solid.

    Args:
        node: The bounding object; none has no shapes.
        directory: Where the paths of meshes start.
        pose: Of the node in the Solid.

    Raises:
        SimulationError: A node cannot stand there, or a mesh cannot be read.
    """
    if node is None:
        return
    if node.type in FRAMES or node.type == "Group":
        inner = pose @ frame_of(node) if node.type in FRAMES else pose
        for child in node.nodes("children"):
            yield from bounding_shapes(child, directory, inner)
    elif node.type == "Shape":
        yield from bounding_shapes(node.node("geometry"), directory, pose)
    else:
        yield _shape(node, directory, pose)


def _shape(node: Node, directory: Path, pose: Pose) -> Shape:
    if node.type == "Box":
        return Shape("Box", tuple(vector(node, "size")), pose)
    if node.type == "Sphere":
        return Shape("Sphere", (number(node, "radius"),), pose)
    if node.type in ("Capsule", "Cylinder"):
        return Shape(node.type, (number(node, "radius"), number(node, "height")), pose)
    if node.type == "Plane":
        return Shape("Plane", (), pose)
    if node.type == "IndexedFaceSet":
        return Shape(node.type, (), pose, _face_set(node))
    if node.type == "Mesh":
        return Shape(node.type, (), pose, _file(node, directory))
    raise SimulationError(f"line {node.line}: a {node.type} as bounding object is not supported")


def _face_set(node: Node) -> Triangles:
    """Vertices and triangles; faces of more corners become fans, as they are convex."""
    coordinates = node.node("coord")
    points = np.array(vectors(coordinates, "point") if coordinates else [], dtype=float)
    faces: list[list[int]] = []
    corners: list[int] = []
    for index in [*integers(node, "coordIndex"), -1]:
        if index >= 0:
            corners.append(index)
            continue
        faces += [[corners[0], *corners[at : at + 2]] for at in range(1, len(corners) - 1)]
        corners = []
    if not faces or np.max(faces) >= len(points):
        raise SimulationError(
            f"line {node.line}: expected faces between {len(points)} points, found "
            f"{'none' if not faces else f'point {np.max(faces)}'}"
        )
    return points.reshape(-1, 3), np.array(faces)


def _file(node: Node, directory: Path) -> Triangles:
    urls = texts(node, "url")
    if not urls:
        raise SimulationError(f"line {node.line}: expected a Mesh with a url, found none")
    try:
        return read_triangles(directory / urls[0])
    except DescriptionError as error:
        raise SimulationError(f"line {node.line}: {error}") from error
