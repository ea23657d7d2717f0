"""Mesh files as arrays of triangles: what can be read, and one sentence for what cannot."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from softgrasp.errors import DescriptionError

if TYPE_CHECKING:
    import trimesh

MESH_SUFFIXES = (".stl", ".obj", ".ply", ".glb", ".off")
CAD_SUFFIXES = (".step", ".stp", ".iges", ".igs", ".brep")

Triangles: TypeAlias = tuple[NDArray[np.float64], NDArray[np.int64]]
"""Vertices (n, 3) and faces (m, 3) of a surface."""

# What trimesh's readers let through on a file that is not what its suffix says.
_UNREADABLE = (
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    ArithmeticError,
    AssertionError,
    EOFError,
    MemoryError,
    NotImplementedError,
    struct.error,
)


def read_triangles(file: Path) -> Triangles:
    """The whole surface in a file, in the file's own unit and frame.

    Args:
        file: STL, OBJ, PLY, GLB or OFF.

    Returns:
        Vertices (n, 3) and faces (m, 3); equal vertices are merged.

    Raises:
        DescriptionError: The file is missing, empty, of another format or cannot be read, has
            no triangles, or has vertices that are not finite.
    """
    return _merged(list(read_groups(file, split=False).values()))


def read_groups(file: Path, *, split: bool = True) -> dict[str, Triangles]:
    """The surfaces in a file by name: the objects of an OBJ file, the nodes of a GLB file.

    Args:
        file: STL, OBJ, PLY, GLB or OFF; those without groups give one.
        split: Keep the objects of an OBJ file apart.

    Raises:
        DescriptionError: As ``read_triangles``.
    """
    import trimesh

    _check_file(file)
    kind = file.suffix[1:].lower()
    options: dict[str, Any] = (
        {"split_objects": split, "group_material": False} if kind == "obj" else {}
    )
    try:
        with file.open("rb") as content:
            scene = trimesh.load_scene(content, kind, process=False, skip_materials=True, **options)
        named = [
            (str(name), scene.geometry[geometry], transform)
            for name in sorted(scene.graph.nodes_geometry)
            for transform, geometry in [scene.graph[name]]
        ]
        groups = {
            name: _merged([_placed(mesh, transform)])
            for name, mesh, transform in named
            if isinstance(mesh, trimesh.Trimesh) and len(mesh.faces)
        }
    except OSError as error:
        raise DescriptionError(f"cannot be read: {error.strerror or error}", file=file) from error
    except ModuleNotFoundError as error:
        if error.name != "charset_normalizer":
            raise
        # trimesh looks for that library only where the text is not UTF-8
        raise DescriptionError(
            f"expected a mesh in {kind.upper()} format, found text that is not UTF-8", file=file
        ) from error
    except _UNREADABLE as error:
        raise DescriptionError(
            f"expected a mesh in {kind.upper()} format, found something else ({_reason(error)})",
            file=file,
        ) from error
    return _checked(groups, file)


def _check_file(file: Path) -> None:
    suffix = file.suffix.lower()
    accepted = ", ".join(name[1:].upper() for name in MESH_SUFFIXES)
    if suffix in CAD_SUFFIXES:
        raise DescriptionError(
            f"expected a triangle mesh ({accepted}), found a CAD file; convert it first: export "
            f"STL from FreeCAD, or run `gmsh {file.name} -2 -o {file.stem}.stl`, and give "
            "`units: mm` if the drawing is in millimetres",
            file=file,
        )
    if suffix not in MESH_SUFFIXES:
        received = f"'{file.suffix}'" if file.suffix else "a file without a suffix"
        raise DescriptionError(f"expected a mesh file ({accepted}), found {received}", file=file)
    if not file.is_file():
        received = "a folder" if file.is_dir() else "no such file"
        raise DescriptionError(f"expected a mesh file, found {received}", file=file)
    if file.stat().st_size == 0:
        raise DescriptionError("expected a mesh, found an empty file (0 bytes)", file=file)


def _checked(groups: dict[str, Triangles], file: Path) -> dict[str, Triangles]:
    if not groups:
        raise DescriptionError("expected triangles, found none in the file", file=file)
    for vertices, faces in groups.values():
        bad = ~np.isfinite(vertices).all(axis=1)
        if bad.any():
            raise DescriptionError(
                f"expected finite coordinates, found NaN or inf in {bad.sum()} of "
                f"{len(vertices)} vertices",
                file=file,
            )
        if faces.min() < 0 or faces.max() >= len(vertices):
            raise DescriptionError(
                f"expected faces between vertices 1 … {len(vertices)}, found one that names "
                f"vertex {faces.max() + 1 if faces.min() >= 0 else faces.min() + 1}",
                file=file,
            )
    return groups


def _placed(mesh: trimesh.Trimesh, transform: NDArray[np.float64]) -> Triangles:
    vertices = np.asarray(mesh.vertices, dtype=np.float64)
    with np.errstate(all="ignore"):
        placed: NDArray[np.float64] = vertices @ transform[:3, :3].T + transform[:3, 3]
    return placed, np.asarray(mesh.faces, dtype=np.int64)


def _merged(surfaces: list[Triangles]) -> Triangles:
    """One surface with every vertex that a face uses once, so that neighbours share theirs.

    Vertices are one when they agree to 1e-7 of the size: single precision, which STL files have.
    """
    offsets = np.cumsum([0] + [len(vertices) for vertices, _ in surfaces[:-1]])
    vertices = np.vstack([vertices for vertices, _ in surfaces])
    faces = np.vstack([faces + start for (_, faces), start in zip(surfaces, offsets, strict=True)])
    if not np.isfinite(vertices).all() or faces.min() < 0 or faces.max() >= len(vertices):
        return vertices, faces
    size = float(np.ptp(vertices, axis=0).max()) or 1.0
    steps = np.round((vertices - vertices.min(axis=0)) / (1e-7 * size))
    _, first, index = np.unique(steps, axis=0, return_index=True, return_inverse=True)
    used, faces = np.unique(index.reshape(-1)[faces], return_inverse=True)
    return vertices[first[used]], faces.reshape(-1, 3)


def _reason(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[:80]}" if text else type(error).__name__
