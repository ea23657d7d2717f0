"""Rules of geometries: sizes, mesh files, faces."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath, PureWindowsPath

from softgrasp.description.problems import either
from softgrasp.formats.wbt.access import integers, texts, vectors
from softgrasp.formats.wbt.rules.complaint import Complaint, of_type
from softgrasp.formats.wbt.schema import value
from softgrasp.formats.wbt.world import World

MESH_SUFFIXES = (".dae", ".obj", ".stl")
MAX_POINTS = 100_000
"""Of a mesh; Webots warns of larger ones."""
SIZES = {
    "Box": ("size",),
    "Sphere": ("radius",),
    "Cylinder": ("height", "radius"),
    "Capsule": ("height", "radius"),
    "Cone": ("height", "bottomRadius"),
    "Plane": ("size",),
}


def sizes_are_positive(world: World) -> Iterator[Complaint]:
    """All sizes of a geometry are above 0."""
    for node in of_type(world, *SIZES):
        for key in SIZES[node.type]:
            size = value(node, key)
            parts = size if isinstance(size, tuple) else (size,)
            if any(isinstance(part, float) and part <= 0 for part in parts):
                text = " ".join(f"{part:g}" for part in parts)
                words = "numbers" if isinstance(size, tuple) else "a number"
                yield node, f"{node.type}.{key}: expected {words} above 0, found {text}"


def mesh_files_travel(world: World) -> Iterator[Complaint]:
    """A mesh names one file of a kind that Webots reads, by its way from the world's file."""
    for node in of_type(world, "Mesh"):
        names = texts(node, "url")
        if len(names) != 1:
            yield node, f"Mesh.url: expected one file, found {len(names)}"
        for name in names:
            if PurePosixPath(name).suffix.lower() not in MESH_SUFFIXES:
                yield node, f"Mesh.url: expected a {either(MESH_SUFFIXES)} file, found '{name}'"
            if PurePosixPath(name).is_absolute() or PureWindowsPath(name).is_absolute():
                yield node, f"Mesh.url: expected a path relative to the world, found '{name}'"


def faces_have_points(world: World) -> Iterator[Complaint]:
    """Faces name points that exist, at least three each, and end with -1."""
    for node in of_type(world, "IndexedFaceSet"):
        coordinate = node.node("coord")
        if coordinate is None:
            yield node, "IndexedFaceSet.coord: expected a Coordinate, found none"
            continue
        sentence = _wrong_faces(integers(node, "coordIndex"), len(vectors(coordinate, "point")))
        if sentence:
            yield node, f"IndexedFaceSet.coordIndex: {sentence}"


def meshes_are_small(world: World) -> Iterator[Complaint]:
    """A mesh has no more points than Webots takes without a warning."""
    for node in of_type(world, "Coordinate"):
        count = len(vectors(node, "point"))
        if count > MAX_POINTS:
            yield node, f"Coordinate.point: expected at most {MAX_POINTS} points, found {count}"


def _wrong_faces(indices: list[int], count: int) -> str:
    """What is wrong with the faces; empty where nothing is."""
    if not indices:
        return "expected faces, found none"
    if indices[-1] != -1:
        return f"expected -1 at the end of the last face, found {indices[-1]}"
    corners = 0
    for index in indices:
        if index == -1:
            if corners < 3:
                return f"expected faces of at least 3 points, found one of {corners}"
            corners = 0
            continue
        if not 0 <= index < count:
            return f"expected 0 to {count - 1} or -1, found {index}"
        corners += 1
    return ""
