"""Mesh shapes as rigid bodies in SI units at their centre of mass, with convex collision parts.

A file is read, repaired (mesh_repair), decomposed into convex parts (convex_decomposition) and
cached until it changes.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from softgrasp import assets
from softgrasp.assets import MESH_SUFFIXES
from softgrasp.description.geometry import Mesh
from softgrasp.errors import BackendUnavailable, DescriptionError, SoftgraspWarning
from softgrasp.io.convex_decomposition import collision_parts
from softgrasp.io.files import report_progress, sha256_of
from softgrasp.io.input_limits import MAX_MESH, check_size, note_inputs
from softgrasp.io.mesh_files import Triangles, read_triangles, scaled
from softgrasp.io.mesh_repair import Solid, as_solid, hull_of, make_solid, without_strays
from softgrasp.mechanics.transforms import Array
from softgrasp.units import LENGTH_UNITS, LengthUnit

__all__ = ["MESH_SUFFIXES", "MeshBody", "load_mesh"]
Number = TypeVar("Number", np.float64, np.int64)
LARGEST, SMALLEST = 2.0, 2e-3
"""Extents outside which the unit of a file is doubted [m]."""
UNIT_DOUBT = "is the file in"
"""Begin of the question in which that doubt ends where another unit fits."""
USUAL = (5e-3, 0.5)
"""Extents of objects for a hand, by which a unit is suggested [m]."""


@dataclass(frozen=True, eq=False)
class MeshBody:
    """A mesh as a rigid body; arrays are read-only, lengths in metres.

    The frame has the axes of the file and its origin at the centre of mass.
    """

    vertices: Array
    """(n, 3) [m]"""
    faces: NDArray[np.int64]
    """(m, 3), outward by the right-hand rule."""
    volume: float
    """Volume [m³]."""
    inertia_per_density: Array
    """(3, 3) about the centre of mass, for 1 kg/m³ [m⁵]."""
    center_of_mass: Array
    """(3,) in the frame of the file [m]"""
    parts: tuple[Triangles, ...]
    """Convex collision parts: vertices (k, 3) [m] and faces of each."""
    sha256: str
    """Hash of the file, and of the file with the parts where there is one."""
    warnings: tuple[str, ...] = ()
    """Repairs, assumptions and implausible values."""


def load_mesh(shape: Mesh, *, relative_to: Path | None = None) -> MeshBody:
    """Read a mesh, recentre it at its centre of mass and make its convex collision parts.

    Results are cached until a file changes.

    Args:
        shape: Files, unit, scale and kind of collision shape.
        relative_to: Directory of relative files that are not shipped.

    Raises:
        DescriptionError: A file is missing, empty, not a mesh, flat, not finite, or does not match
            ``sha256``; a part is not convex.
        BackendUnavailable: The mesh has to be decomposed and CoACD is not installed.

    Warns:
        SoftgraspWarning: Something was repaired or looks wrong; also in ``MeshBody.warnings``.
    """
    file = resolve_file(shape.file, relative_to)
    parts_file = None if shape.parts is None else resolve_file(shape.parts, relative_to)
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
    """Replace a mesh by its convex hull if it should not be decomposed; also return why.

    For display only: a simulation with the hull would not be of the described object.

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


def mesh_solid(shape: Mesh) -> Solid:
    """Read a mesh as a solid in the frame of its file [m], without collision parts.

    Raises:
        DescriptionError: The file is missing, empty, not a mesh, flat or not finite.
    """
    file = resolve_file(shape.file, None)
    return _solid(shape.units, shape.scale, file, _state(file))


def stamp(shape: Mesh) -> Mesh:
    """Add the hash of its mesh files to a shape, so that a later run refuses changed files.

    Missing files are reported by ``load_mesh``.

    Raises:
        DescriptionError: A file is too large.
    """
    files = [resolve_file(name, None) for name in (shape.file, shape.parts) if name is not None]
    if not all(file.is_file() for file in files):
        return shape
    for file in files:
        check_size(file, MAX_MESH)
    return shape.replace(sha256=sha256_of(files))


def refuse_forgotten_unit(shape: Mesh, file: Path) -> None:
    """Refuse a mesh whose size in metres is implausible, and usual in another unit.

    Raises:
        DescriptionError: It is so, or its file cannot be read.
    """
    doubt = size_doubt(float(np.ptp(read_triangles(file)[0], axis=0).max()), shape)
    if UNIT_DOUBT in doubt:
        message = f"{doubt}; `units: {shape.units}` keeps the size"
        raise DescriptionError(message, field="units").located(file=file)


def size_doubt(extent: float, shape: Mesh) -> str:
    """Return a warning about the unit of a mesh of an extent [m], with a suggestion; "" without."""
    if SMALLEST <= extent <= LARGEST:
        return ""
    limit = f"more than {LARGEST:g} m" if extent > LARGEST else f"less than {SMALLEST * 1e3:g} mm"
    text = f"the largest extent is {_length(extent)}, {limit}"
    for unit, factor in sorted(LENGTH_UNITS.items(), key=lambda item: item[1] not in (1e-3, 1.0)):
        would_be = extent * factor / LENGTH_UNITS[shape.units]
        if unit != shape.units and USUAL[0] <= would_be <= USUAL[1]:
            cure = f"`units: {unit}` (--units {unit})"
            return f"{text}; {UNIT_DOUBT} {unit}? With {cure} it is {_length(would_be)}"
    if USUAL[0] <= extent * 1e3 <= USUAL[1]:
        return (
            f"{text}; was it converted from millimetres twice? With `scale: 1000` it is "
            f"{_length(extent * 1e3)}"
        )
    return f"{text}; check `units` and `scale`"


@lru_cache(maxsize=64)
def _body(
    shape: Mesh,
    file: Path,
    parts_file: Path | None,
    _file_state: tuple[int, int] | None,
    _parts_state: tuple[int, int] | None,
) -> MeshBody:
    factor = LENGTH_UNITS[shape.units] * np.asarray(shape.scale)
    if shape.collision == "link" and parts_file is None:
        try:
            triangles, stray = without_strays(*scaled(read_triangles(file), factor))
            hull = hull_of(triangles[0])
        except DescriptionError as error:
            raise error.located(file=file) from error
        doubt = size_doubt(float(np.ptp(triangles[0], axis=0).max()), shape)
        parts = [(hull.vertices, hull.faces)]
        return _make(as_solid(hull), triangles, parts, [file], [doubt, stray])
    solid = _solid(shape.units, shape.scale, file, _file_state)
    report_progress(f"making the collision parts of {file.name}")
    try:
        parts, notes = collision_parts(
            shape, solid, parts_file, factor, lambda s: _solid(shape.units, s, file, _file_state)
        )
    except DescriptionError as error:
        raise error.located(file=file) from error
    doubt = size_doubt(float(np.ptp(solid.vertices, axis=0).max()), shape)
    repairs, fraction = list(solid.notes), 100 * solid.volume / solid.hull_volume
    if repairs:
        volume = f"volume {solid.volume * 1e6:.4g} cm³"
        repairs[-1] += f"; {volume}, {fraction:.3g} % of the convex hull"
    files = [file] if parts_file is None else [file, parts_file]
    return _make(solid, (solid.vertices, solid.faces), parts, files,
                 [doubt, *repairs, *notes])  # fmt: skip


def _make(
    solid: Solid,
    surface: Triangles,
    parts: Sequence[Triangles],
    files: Sequence[Path],
    notes: Sequence[str],
) -> MeshBody:
    """Make the body of a solid with a surface and parts in the frame of its file."""
    centre = solid.center_of_mass
    return MeshBody(
        vertices=_lock(surface[0] - centre),
        faces=_lock(surface[1]),
        volume=solid.volume,
        inertia_per_density=_lock(solid.inertia),
        center_of_mass=_lock(centre),
        parts=tuple((_lock(vertices - centre), _lock(faces)) for vertices, faces in parts),
        sha256=sha256_of(files),
        warnings=tuple(f"{files[0].name}: {note}" for note in notes if note),
    )


@lru_cache(maxsize=64)
def _solid(
    units: LengthUnit,
    scale: float | tuple[float, float, float],
    file: Path,
    _file_state: tuple[int, int] | None,
) -> Solid:
    report_progress(f"reading {file.name}")
    triangles = read_triangles(file)
    try:
        return make_solid(*scaled(triangles, LENGTH_UNITS[units] * np.asarray(scale)))
    except DescriptionError as error:
        raise error.located(file=file) from error


def resolve_file(name: str, relative_to: Path | None = None) -> Path:
    """Return the path of a mesh file: a shipped one, or one beside a directory, or as named."""
    shipped = assets.find_shipped_file(name)
    if shipped is not None:
        return shipped
    path = Path(name).expanduser()
    beside = path if relative_to is None else relative_to / path
    return (beside if beside.exists() else path).absolute()


def _state(file: Path | None) -> tuple[int, int] | None:
    """Return modification time [ns] and size [bytes] of a file, and note it as an input."""
    if file is None or not file.exists():
        return None
    note_inputs(file)
    status = file.stat()
    return status.st_mtime_ns, status.st_size


def _length(metres: float) -> str:
    return f"{metres:.3g} m" if metres >= 1 else f"{metres * 1e3:.3g} mm"


def _lock(array: NDArray[Number]) -> NDArray[Number]:
    array = np.ascontiguousarray(array)
    array.setflags(write=False)
    return array
