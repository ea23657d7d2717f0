"""Triangle meshes: files read as arrays, simplification, primitives as triangles, STL output.

Reading, simplification and STL output are trimesh's; added here are one-line error messages for
unreadable files, merged vertices, the unit of COLLADA files, and simplification that keeps the
volume.

COLLADA (.dae) is read as RViz reads it, for which the meshes of robots are made: the poses of nodes
and ``<unit meter>`` apply, ``<up_axis>`` does not. MoveIt and Gazebo ignore the axis, too.

Quadric edge collapse (Garland and Heckbert, Surface simplification using quadric error metrics,
SIGGRAPH 1997) shrinks round bodies, as flat triangles between points of a round surface lie inside
it. The simplified mesh is scaled about its centre of mass to the original volume. YCB strawberry
and pear with 200 faces: volume -2.5 and -2.7 % before, moments of inertia within 0.7 % after. Thin
walls need more faces: mug with 200 faces 10 % off, with 1600 faces 0.8 %.
"""

from __future__ import annotations

import importlib.util
import struct
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from softgrasp.assets import CAD_SUFFIXES, MESH_SUFFIXES
from softgrasp.description.geometry import Capsule, Cuboid, Cylinder, Ellipsoid, Shape, Sphere
from softgrasp.errors import BackendUnavailable, DescriptionError, missing_library
from softgrasp.io.input_limits import MAX_COORDINATE, MAX_MESH, check_size
from softgrasp.mechanics.transforms import Array

if TYPE_CHECKING:
    import trimesh

Triangles: TypeAlias = tuple[Array, NDArray[np.int64]]
"""Vertices (n, 3) and faces (m, 3) of a surface, counter-clockwise as seen from outside."""
# Exceptions of trimesh readers on a file whose content does not match its suffix.
_UNREADABLE: tuple[type[BaseException], ...] = (
    *(ValueError, LookupError, TypeError, AttributeError, ArithmeticError, AssertionError),
    *(EOFError, MemoryError, NotImplementedError, struct.error),
)
EXTENT = 10.0
"""Size to which a mesh is scaled for simplification, whose thresholds are absolute (YCB screwdriver
with 200 faces: moments of inertia 36 % off in metres, 11 % off at this size)."""
MAX_GROWTH = 0.05
"""Relative change of lengths above which a simplified mesh is not rescaled [–]."""
COLLADA_SUFFIX = ".dae"
BINARY_SUFFIX = ".msh"
"""Binary meshes of MuJoCo, which only MJCF files name."""
ROUND = 32
"""Vertices around a circle."""


def read_triangles(file: Path) -> Triangles:
    """Read the whole surface in a file, in the unit and frame of the file.

    Args:
        file: STL, OBJ, PLY, GLB, OFF or DAE.

    Returns:
        Vertices (n, 3) and faces (m, 3); equal vertices are merged.

    Raises:
        DescriptionError: The file is missing, empty, of another format or cannot be read, has
            no triangles, or has vertices that are not finite.
        BackendUnavailable: It is a COLLADA file, and pycollada is not installed.
    """
    return _merge(list(read_groups(file, split=False).values()))


def read_groups(file: Path, *, split: bool = True) -> dict[str, Triangles]:
    """Read the surfaces in a file by name: objects of an OBJ file, nodes of a GLB file.

    Args:
        file: STL, OBJ, PLY, GLB, OFF or DAE; a file without groups gives one surface.
        split: Keep the objects of an OBJ file separate.

    Raises:
        DescriptionError, BackendUnavailable: As ``read_triangles``.
    """
    import trimesh

    _check_file(file)
    if file.suffix.lower() == BINARY_SUFFIX:
        return _check({file.stem: _merge([_binary_mesh(file)])}, file)
    kind = file.suffix[1:].lower()
    unreadable = _UNREADABLE + (_collada_errors() if kind == "dae" else ())
    options: dict[str, Any] = {"split_objects": split, "group_material": False}
    options = options if kind == "obj" else {}
    try:
        with file.open("rb") as content:
            scene = trimesh.load_scene(content, kind, process=False, skip_materials=True, **options)
        named = [
            (str(name), scene.geometry[geometry], transform)
            for name in sorted(scene.graph.nodes_geometry)
            for transform, geometry in [scene.graph[name]]
        ]
        groups = {
            name: _merge([_arrange(mesh, transform * (_unit(mesh) if kind == "dae" else 1.0))])
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
    except unreadable as error:
        text = f"{type(error).__name__}: {' '.join(str(error).split())[:80]}".removesuffix(": ")
        message = f"expected a mesh in {kind.upper()} format, found something else ({text})"
        raise DescriptionError(message, file=file) from error
    return _check(groups, file)


def scaled(triangles: Triangles, factor: Array) -> Triangles:
    """Scale a surface; where that mirrors it, reverse its faces, so that they stay outward.

    Args:
        triangles: Vertices and faces.
        factor: One number, or one per axis.
    """
    vertices, faces = triangles
    mirrors = np.prod(np.sign(np.broadcast_to(factor, 3))) < 0.0
    return vertices * factor, faces[:, ::-1] if mirrors else faces


def coarser(vertices: Array, faces: NDArray[np.int64], max_faces: int) -> Triangles:
    """Simplify a mesh by quadric edge collapse, keeping its volume.

    Args:
        vertices: (n, 3) [m]
        faces: (m, 3)
        max_faces: Largest number of faces of the result.

    Raises:
        BackendUnavailable: fast-simplification is not installed.
    """
    import trimesh

    if len(faces) <= max_faces:
        return vertices, faces
    middle = (vertices.min(axis=0) + vertices.max(axis=0)) / 2
    scale = EXTENT / float(np.ptp(vertices, axis=0).max())
    try:
        mesh = trimesh.Trimesh((vertices - middle) * scale, faces, process=True)
        reduced = mesh.simplify_quadric_decimation(face_count=max_faces)
    except (ImportError, ModuleNotFoundError) as error:
        raise BackendUnavailable(
            "mesh simplification needs fast-simplification: pip install 'softgrasp[mesh]'"
        ) from error
    grown = _with_volume(reduced, float(mesh.volume))
    return grown / scale + middle, np.asarray(reduced.faces, dtype=np.int64)


def shape_triangles(shape: Shape) -> Triangles:
    """Triangulate the surface of a sphere, capsule, cylinder, cuboid or ellipsoid in its frame [m].

    Raises:
        TypeError: It is another shape.
    """
    from trimesh.creation import box, capsule, cylinder, icosphere

    match shape:
        case Sphere():
            mesh = icosphere(subdivisions=3, radius=shape.radius)
        case Ellipsoid():
            mesh = icosphere(subdivisions=3).apply_scale(shape.radii)
        case Capsule():
            mesh = capsule(shape.length, shape.radius, count=[ROUND, ROUND])
        case Cylinder():
            mesh = cylinder(shape.radius, shape.height, sections=ROUND)
        case Cuboid():
            mesh = box(shape.size)
        case _:
            raise TypeError(f"expected a primitive, found {type(shape).__name__}")
    return np.asarray(mesh.vertices, dtype=float), np.asarray(mesh.faces, dtype=np.int64)


def stl_of(vertices: ArrayLike, faces: ArrayLike) -> bytes:
    """Format vertices (n, 3) [m] and outward faces (m, 3) as binary STL (single precision)."""
    import trimesh

    mesh = trimesh.Trimesh(np.asarray(vertices), np.asarray(faces), process=False)
    return bytes(trimesh.exchange.stl.export_stl(mesh))


def hull_stl(points: ArrayLike) -> bytes:
    """Format the convex hull of points (n, 3) [m] as binary STL."""
    import trimesh

    hull = trimesh.convex.convex_hull(np.asarray(points))
    return stl_of(hull.vertices, hull.faces)


def lacks_reader(file: str | Path) -> bool:
    """Whether a file is a COLLADA file, and pycollada is not installed."""
    return Path(file).suffix.lower() == COLLADA_SUFFIX and not importlib.util.find_spec("collada")


def _collada_errors() -> tuple[type[BaseException], ...]:
    """Return the exceptions of pycollada, if it is installed, on a file that is no COLLADA."""
    try:
        import collada
    except ModuleNotFoundError as error:
        raise missing_library(error) from error
    return (collada.DaeError,)


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
    if suffix not in (*MESH_SUFFIXES, BINARY_SUFFIX):
        received = f"'{file.suffix}'" if file.suffix else "a file without a suffix"
        raise DescriptionError(f"expected a mesh file ({accepted}), found {received}", file=file)
    if not file.is_file():
        received = "a directory" if file.is_dir() else "no such file"
        raise DescriptionError(f"expected a mesh file, found {received}", file=file)
    if file.stat().st_size == 0:
        raise DescriptionError("expected a mesh, found an empty file (0 bytes)", file=file)
    check_size(file, MAX_MESH)


def _check(groups: dict[str, Triangles], file: Path) -> dict[str, Triangles]:
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
        if (largest := float(np.abs(vertices).max(initial=0.0))) > MAX_COORDINATE:
            raise DescriptionError(
                f"expected coordinates of at most {MAX_COORDINATE:g}, found {largest:g}", file=file
            )
        if faces.min() < 0 or faces.max() >= len(vertices):
            raise DescriptionError(
                f"expected faces between vertices 1 … {len(vertices)}, found one that names "
                f"vertex {faces.max() + 1 if faces.min() >= 0 else faces.min() + 1}",
                file=file,
            )
    return groups


def mass_properties(triangles: Array) -> Any:
    """Compute volume, centre of mass and inertia of a closed surface at a density of 1.

    Args:
        triangles: Corners of the triangles, counter-clockwise as seen from outside, (m, 3, 3).
    """
    import trimesh

    return trimesh.triangles.mass_properties(triangles)


def _binary_mesh(file: Path) -> Triangles:
    """Read a binary mesh of MuJoCo: four counts, then vertices, normals, texture, faces."""
    content = file.read_bytes()
    counts = np.frombuffer(content[:16], dtype="<i4").astype(np.int64)
    sizes = counts * (3, 3, 2, 3) if len(counts) == 4 else np.full(4, -1)
    if (sizes < 0).any() or len(content) != 16 + 4 * sizes.sum():
        raise DescriptionError("expected a mesh in MSH format, found something else", file=file)
    start = 16 + 4 * int(sizes[:3].sum())
    vertices = np.frombuffer(content[16:], dtype="<f4", count=int(sizes[0]))
    faces = np.frombuffer(content[start:], dtype="<i4")
    return vertices.reshape(-1, 3).astype(float), faces.reshape(-1, 3).astype(np.int64)


def _arrange(mesh: trimesh.Trimesh, transform: Array) -> Triangles:
    vertices = np.asarray(mesh.vertices, dtype=np.float64)
    with np.errstate(all="ignore"):
        placed: Array = vertices @ transform[:3, :3].T + transform[:3, 3]
    faces = np.asarray(mesh.faces, dtype=np.int64)
    return placed, faces[:, ::-1] if np.linalg.det(transform[:3, :3]) < 0.0 else faces


def _unit(mesh: trimesh.Trimesh) -> float:
    """Return the unit of a mesh of a COLLADA file [m]."""
    import trimesh

    return float(trimesh.units.unit_conversion(mesh.units or "meters", "meters"))


def _merge(surfaces: list[Triangles]) -> Triangles:
    """Merge surfaces into one, with equal vertices shared and unused ones dropped.

    Vertices are equal if they agree to 1e-7 of the size, the single precision of STL files.
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


def _with_volume(mesh: object, volume: float) -> Array:
    """Scale a mesh about its centre of mass to a volume, unless it would change too much."""
    import trimesh

    assert isinstance(mesh, trimesh.Trimesh)
    vertices = np.asarray(mesh.vertices, dtype=float)
    mesh_volume = float(mesh.volume)
    if mesh_volume <= 0.0 or volume <= 0.0:
        return vertices
    growth = (volume / mesh_volume) ** (1.0 / 3.0)
    if abs(growth - 1.0) > MAX_GROWTH:
        return vertices
    centre = np.asarray(mesh.center_mass, dtype=float)
    return np.asarray((vertices - centre) * growth + centre)
