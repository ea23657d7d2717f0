"""Mesh shapes → bodies in SI units at their centre of mass, with the convex parts that touch.

Light to import: trimesh and scipy come with the first mesh that is read.
"""

from __future__ import annotations

import hashlib
import warnings
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from softgrasp import assets
from softgrasp.description.geometry import LengthUnit, Mesh
from softgrasp.errors import BackendUnavailable, DescriptionError, SoftgraspWarning
from softgrasp.io.files import report_progress
from softgrasp.io.mesh_files import MESH_SUFFIXES, read_triangles
from softgrasp.io.mesh_repair import Hull
from softgrasp.mechanics.transforms import Array
from softgrasp.units import LENGTH_UNITS

if TYPE_CHECKING:
    from softgrasp.io.mesh_repair import Solid


__all__ = ["MESH_SUFFIXES", "MeshBody", "load_mesh"]

Part: TypeAlias = tuple[NDArray[np.float64], NDArray[np.int64]]

Number = TypeVar("Number", np.float64, np.int64)

LARGEST, SMALLEST = 2.0, 2e-3
"""Extents beyond which the unit of a file is doubted [m]."""
USUAL = (5e-3, 0.5)
"""Extents of an object for a hand, by which a unit is guessed [m]."""


@dataclass(frozen=True, eq=False)
class MeshBody:
    """A mesh as a rigid body; all arrays are write-locked, lengths in metres.

    The frame has the file's axes and stands at the centre of mass.
    """

    vertices: NDArray[np.float64]
    """(n, 3) [m]"""
    faces: NDArray[np.int64]
    """(m, 3), outward by the right-hand rule."""
    volume: float
    """[m³]"""
    inertia_per_density: NDArray[np.float64]
    """(3, 3) about the centre of mass, for 1 kg/m³ [m⁵]."""
    center_of_mass: NDArray[np.float64]
    """(3,) in the frame of the file [m]."""
    parts: tuple[Part, ...]
    """Convex parts that touch: vertices (k, 3) [m] and faces of each."""
    sha256: str
    """Hash of the file, and of the file with the parts where there is one."""
    warnings: tuple[str, ...] = ()
    """What was mended, assumed or looks wrong."""


def load_mesh(shape: Mesh, *, relative_to: Path | None = None) -> MeshBody:
    """Read a mesh, recentre it at its centre of mass and make the convex parts that touch.

    Results are kept until a file changes.

    Args:
        shape: Files, unit, scale and kind of collision shape.
        relative_to: Folder of files that are neither shipped nor absolute.

    Raises:
        DescriptionError: A file is missing, empty, not a mesh, flat, not finite, or not the one
            that ``sha256`` names; a part is not convex.
        BackendUnavailable: The mesh has to be decomposed and CoACD is not installed.

    Warns:
        SoftgraspWarning: Something was mended or looks wrong; also in ``MeshBody.warnings``.
    """
    file = _resolved(shape.file, relative_to)
    parts_file = None if shape.parts is None else _resolved(shape.parts, relative_to)
    recipe = shape.replace(sha256=None)
    body = _body(recipe, file, parts_file, _state(file), _state(parts_file))
    if shape.sha256 not in (None, body.sha256):
        raise DescriptionError(
            f"expected the file with SHA-256 {shape.sha256}, found {body.sha256}: it has changed",
            file=file,
        )
    for sentence in body.warnings:
        warnings.warn(sentence, SoftgraspWarning, stacklevel=2)
    return body


def cut_or_hull(shape: Mesh) -> tuple[Mesh, str]:
    """A mesh as it is, or with its hull where it cannot be cut or hardly ought to be, and why.

    For those who look at a mesh: a simulation would not be of the object that was meant.

    Raises:
        DescriptionError: As ``load_mesh``.
    """
    size = float(np.ptp(mesh_solid(shape).vertices, axis=0).max())
    if shape.collision in ("auto", "decompose") and shape.parts is None and size_doubt(size, shape):
        return shape.replace(collision="hull"), "its size is in doubt, so it was not cut"
    try:
        load_mesh(shape)
    except BackendUnavailable as error:
        return shape.replace(collision="hull"), str(error)
    return shape, ""


def mesh_solid(shape: Mesh, *, relative_to: Path | None = None) -> Solid:
    """A mesh as a solid in the frame of its file [m], without the parts that touch.

    Args:
        shape: File, unit and scale.
        relative_to: Folder of files that are neither shipped nor absolute.

    Raises:
        DescriptionError: The file is missing, empty, not a mesh, flat or not finite.
    """
    file = _resolved(shape.file, relative_to)
    return _solid(shape.units, shape.scale, file, _state(file))


@lru_cache(maxsize=64)
def _solid(
    units: LengthUnit,
    scale: float | tuple[float, float, float],
    file: Path,
    _file_state: tuple[int, int] | None,
) -> Solid:
    from softgrasp.io.mesh_repair import make_solid

    report_progress(f"reading {file.name}")
    vertices, faces = read_triangles(file)
    try:
        return make_solid(vertices * (LENGTH_UNITS[units] * np.asarray(scale)), faces)
    except DescriptionError as error:
        raise error.located(file=file) from error


def stamped(shape: Mesh) -> Mesh:
    """The shape with the hash of its files, so that a later run refuses files that have changed.

    A file that cannot be read is left to ``load_mesh`` to tell.
    """
    files = [_resolved(name, None) for name in (shape.file, shape.parts) if name is not None]
    if not all(file.is_file() for file in files):
        return shape
    return shape.replace(sha256=_sha256(*files))


def _resolved(name: str, relative_to: Path | None) -> Path:
    shipped = assets.shipped_file(name)
    if shipped is not None:
        return shipped
    path = Path(name).expanduser()
    beside = path if relative_to is None else relative_to / path
    return (beside if beside.exists() else path).absolute()


def _state(file: Path | None) -> tuple[int, int] | None:
    """What changes when a file is written again."""
    if file is None or not file.exists():
        return None
    status = file.stat()
    return status.st_mtime_ns, status.st_size


@lru_cache(maxsize=64)
def _body(
    shape: Mesh,
    file: Path,
    parts_file: Path | None,
    _file_state: tuple[int, int] | None,
    _parts_state: tuple[int, int] | None,
) -> MeshBody:
    from softgrasp.io.convex_decomposition import collision_parts

    factor = LENGTH_UNITS[shape.units] * np.asarray(shape.scale)
    if shape.collision == "link" and parts_file is None:
        return _link_body(shape, file, factor)
    solid = _solid(shape.units, shape.scale, file, _file_state)
    report_progress(f"making the parts of {file.name} that touch")
    try:
        parts, notes = collision_parts(shape, solid, parts_file, factor)
    except DescriptionError as error:
        raise error.located(file=file) from error
    doubt = size_doubt(float(np.ptp(solid.vertices, axis=0).max()), shape)
    return MeshBody(
        vertices=_locked(solid.vertices - solid.center_of_mass),
        faces=_locked(solid.faces),
        volume=solid.volume,
        inertia_per_density=_locked(solid.inertia),
        center_of_mass=_locked(solid.center_of_mass),
        parts=tuple((_locked(v - solid.center_of_mass), _locked(f)) for v, f in parts),
        sha256=_sha256(file, parts_file),
        warnings=tuple(f"{file.name}: {note}" for note in (doubt, *_notes(solid), *notes) if note),
    )


def _link_body(shape: Mesh, file: Path, factor: NDArray[np.float64]) -> MeshBody:
    """The hull as the body, the surface as it is drawn: nothing has to be mended."""
    from softgrasp.io.mesh_repair import as_solid, hull_of

    try:
        triangles, faces = read_triangles(file)
        vertices = triangles * factor
        hull = hull_of(vertices)
    except DescriptionError as error:
        raise error.located(file=file) from error
    solid = as_solid(hull)
    note = size_doubt(float(np.ptp(vertices, axis=0).max()), shape)
    return MeshBody(
        vertices=_locked(vertices - solid.center_of_mass),
        faces=_locked(faces),
        volume=solid.volume,
        inertia_per_density=_locked(solid.inertia),
        center_of_mass=_locked(solid.center_of_mass),
        parts=((_locked(hull.vertices - solid.center_of_mass), _locked(hull.faces)),),
        sha256=_sha256(file),
        warnings=(f"{file.name}: {note}",) if note else (),
    )


def _notes(solid: Solid) -> list[str]:
    """What was mended, with the volume that came out of it."""
    if not solid.notes:
        return []
    volumes = (
        f"volume {solid.volume * 1e6:.4g} cm³, {100 * solid.volume / solid.hull_volume:.3g} % of "
        "the convex hull"
    )
    return [*solid.notes[:-1], f"{solid.notes[-1]}; {volumes}"]


def size_doubt(extent: float, shape: Mesh) -> str:
    """A doubt about the unit of a mesh, with a guess; "" where there is none.

    Args:
        extent: The largest extent [m].
        shape: The mesh, with the unit in which it was read.
    """
    if SMALLEST <= extent <= LARGEST:
        return ""
    limit = f"more than {LARGEST:g} m" if extent > LARGEST else f"less than {SMALLEST * 1e3:g} mm"
    text = f"the largest extent is {_length(extent)}, {limit}"
    for unit, factor in sorted(LENGTH_UNITS.items(), key=lambda item: item[1] not in (1e-3, 1.0)):
        would_be = extent * factor / LENGTH_UNITS[shape.units]
        if unit != shape.units and USUAL[0] <= would_be <= USUAL[1]:
            cure = f"`units: {unit}` (--units {unit})"
            return f"{text}; is the file in {unit}? With {cure} it is {_length(would_be)}"
    if USUAL[0] <= extent * 1e3 <= USUAL[1]:
        return (
            f"{text}; was it converted from millimetres twice? With `scale: 1000` it is "
            f"{_length(extent * 1e3)}"
        )
    return f"{text}; look at `units` and `scale`"


def _length(metres: float) -> str:
    return f"{metres:.3g} m" if metres >= 1 else f"{metres * 1e3:.3g} mm"


def _locked(array: NDArray[Number]) -> NDArray[Number]:
    array = np.ascontiguousarray(array)
    array.setflags(write=False)
    return array


def _sha256(*files: Path | None) -> str:
    digest = hashlib.sha256()
    for file in files:
        if file is not None:
            digest.update(file.read_bytes())
    return digest.hexdigest()


# --------------------
# Points on the faces of convex hulls and inside them.


SPACING = 3e-3
"""Distance of points on a surface [m]."""
INNER_SPACING = 8e-3
"""Distance of points inside [m]."""
MAX_CELLS = 100_000
"""Of the grid around one hull; a larger one gets them farther apart."""
MAX_POINTS = 1500
"""Of one hull; a large one gets them farther apart."""


def inside(hull: Hull) -> Array:
    """A grid inside a hull, (n, 3) [m]."""
    low, high = hull.vertices.min(axis=0), hull.vertices.max(axis=0)
    step = max(INNER_SPACING, float(np.prod(high - low) / MAX_CELLS) ** (1.0 / 3.0))
    axes = [np.arange(a + step / 2, b, step) for a, b in zip(low, high, strict=True)]
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    a, b, c = hull.vertices[hull.faces].transpose(1, 0, 2)
    normals = np.cross(b - a, c - a)
    within = (grid @ normals.T <= np.einsum("ij,ij->i", normals, a)).all(axis=1)
    return np.asarray(grid[within])


def on_faces(hull: Hull) -> Array:
    """Corners of a hull and points spread over its faces, (n, 3)."""
    triangles = hull.vertices[hull.faces]
    edges = np.linalg.norm(triangles - np.roll(triangles, 1, axis=1), axis=2).max(axis=1)
    areas = np.linalg.norm(
        np.cross(*(triangles[:, 1:] - triangles[:, :1]).transpose(1, 0, 2)), axis=1
    )
    spacing = max(SPACING, float(np.sqrt(areas.sum() / 2.0 / MAX_POINTS)))
    points = [hull.vertices]
    steps = np.ceil(edges / spacing).astype(int)
    for count in np.unique(steps[steps > 1]):
        first, second = np.meshgrid(np.arange(count + 1), np.arange(count + 1), indexing="ij")
        kept = first + second <= count
        weights = np.stack([first[kept], second[kept], (count - first - second)[kept]], -1) / count
        points.append((weights @ triangles[steps == count]).reshape(-1, 3))
    return _apart(np.vstack(points), spacing / 2.0)


def _apart(points: Array, spacing: float) -> Array:
    """One point of each cell of a grid."""
    cells = np.round((points - points.min(axis=0)) / spacing).astype(np.int64)
    sides = cells.max(axis=0) + 1
    key = (cells[:, 0] * sides[1] + cells[:, 1]) * sides[2] + cells[:, 2]
    _, first = np.unique(key, return_index=True)
    return points[np.sort(first)]
