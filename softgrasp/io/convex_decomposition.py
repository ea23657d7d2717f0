"""Convex collision parts of a mesh: its hull, parts from a file, or a decomposition by CoACD.

CoACD (Wei, Liu, Ling, Su: Approximate Convex Decomposition for 3D Meshes with Collision-Aware
Concavity and Tree Search, ACM TOG 41(4), 2022) cuts a solid until no part is more concave than a
threshold. Its preprocessing, which makes a new surface from voxels, is off: the surfaces here are
closed. Measured on the YCB pear with 2000 faces (threshold 0.03): 201.9 cm³ with and 192.5 cm³
without it, of 191.7 cm³; the largest part has 7750 or 606 vertices. Results are cached on disk by
content.

A surface is simplified to 2000 faces first, and the tree search is short: the scan of the YCB mug
(16384 faces, walls of 5 mm) took 142 CPU-s with CoACD's own settings, 37 CPU-s simplified, and
9.5 CPU-s with ``SEARCH``; its 160 or 181 parts fill 153.0 or 152.4 cm³ of 138.1 cm³.

Pieces that overlap are cut one by one, and so united: a union of convex parts needs no common
surface. CoACD does not terminate on them together (two tori, a torus and a box). Where one piece
intersects itself, CoACD may abort or not terminate, too; that piece is cut again with the
preprocessing, whose voxels unite it.

A scaled mesh gets the scaled parts of the unscaled one. CoACD scales a mesh to unit size first: its
threshold is relative to the longest extent, and a uniform scale does not change the decomposition
(measured: 1e-16 m). A scale per axis changes the proportions; see ``_within_threshold``.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import signal
import subprocess
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from softgrasp.description.geometry import Mesh
from softgrasp.errors import BackendUnavailable, BuildError, DescriptionError, ResultError
from softgrasp.io.files import atomic_path, report_progress
from softgrasp.io.mesh_files import Triangles, coarser, read_groups, scaled
from softgrasp.io.mesh_repair import Solid, hull_of, make_solid, piece_labels, signed_volume
from softgrasp.mechanics.transforms import Array

Faces: TypeAlias = NDArray[np.int64]
NEARLY_CONVEX = 0.95
"""Fraction of its hull above which ``auto`` takes a mesh as convex [–]."""
CONVEX_FILE = 0.01
"""Depth of a face inside the hull over the extent, up to which a group is convex [–]."""
VOLUME_TOLERANCE = 0.15
"""Relative difference in volume of parts and mesh that causes a warning [–]."""
POSITION_TOLERANCE = 0.1
"""Difference of the bounding boxes over the extent that causes a warning [–]."""
SAMPLES = 2**15
CACHE_VARIABLE = "SOFTGRASP_CACHE"
PROGRAM = Path(__file__).with_name("_coacd_worker.py")
SEED = 0
MAX_FACES, MANY_FACES = 2000, 2500
"""Faces to which a surface with more faces than the second number is simplified before it is
cut."""
SIMPLIFIED_VOLUME = 0.05
"""Relative change in volume above which the surface is cut as it is [–]."""
SEARCH = {"mcts_nodes": 10, "mcts_iterations": 20, "mcts_max_depth": 2, "resolution": 1000}
"""Settings of CoACD's tree search, and samples on a surface."""
CPU_LIMIT = 120
"""CPU time after which CoACD is stopped, as it does not terminate on some surfaces [s]."""
RECIPE = f"coacd, piece by piece, at most {MAX_FACES} faces, {SEARCH}"
"""Part of the cache key: to be changed whenever the decomposition changes."""
CONVEX = 0.999
"""Fraction of its hull above which a piece is not cut [–]."""
UNREADABLE = (OSError, ValueError, LookupError, TypeError, EOFError, zipfile.BadZipFile, zlib.error)
"""Exceptions of numpy on a file that is not an archive, or is damaged."""
ROUND = re.compile(r"iter (\d+) -+ waiting pool: (\d+)")
"""Log line of CoACD before each round of cuts."""
Scale: TypeAlias = float | tuple[float, float, float]
ROUNDING = 1e-9
"""Relative error of extents that is ignored [–]."""
OTHERWISE = "use `collision: hull` (hollows are filled), or name convex `parts`"


def collision_parts(
    shape: Mesh,
    solid: Solid,
    parts_file: Path | None,
    factor: Array,
    at_scale: Callable[[Scale], Solid],
) -> tuple[list[Triangles], list[str]]:
    """Make the convex parts of a mesh, in the frame of its vertices, and warnings about them.

    Args:
        shape: Mesh with the kind of collision shape; ``auto`` uses the file with parts if there is
            one.
        solid: Mesh, scaled [m].
        parts_file: File with convex groups.
        factor: Scale of ``parts_file``: one number, or one per axis.
        at_scale: Function that makes the solid at another scale than that of ``shape`` [m].

    Raises:
        DescriptionError: ``parts`` are requested without a file, or a group is not convex.
        BackendUnavailable: CoACD is needed and not installed.
    """
    kind = _kind(shape, solid, parts_file)
    if kind == "parts" and parts_file is not None:
        parts = parts_from(parts_file, factor)
    elif kind == "decompose":
        parts = _decompose(shape, at_scale)
    else:
        parts = [_hull(solid.vertices)]
    return parts, [*_volume_warning(kind, parts, solid), *_position_warning(parts, solid)]


def parts_from(file: Path, factor: Array) -> list[Triangles]:
    """Read the convex groups of a file, scaled.

    Raises:
        DescriptionError: A group is flat or not convex; names the group.
    """
    parts = []
    for name, (vertices, faces) in read_groups(file).items():
        vertices = vertices * factor
        try:
            part = _hull(vertices)
        except DescriptionError as error:
            raise DescriptionError(f"part '{name}': {error.message}", file=file) from error
        normals, offsets = planes(part)
        lengths = np.linalg.norm(normals, axis=1)
        real = lengths > 0
        distances = offsets[real] - vertices[faces].mean(axis=1) @ normals[real].T
        depth = float((distances / lengths[real]).min(axis=1).max())
        if depth > CONVEX_FILE * np.ptp(part[0], axis=0).max():
            raise DescriptionError(
                f"part '{name}': expected a convex surface, found faces "
                f"{depth * 1e3:.3g} mm inside its hull",
                file=file,
            )
        parts.append(part)
    return parts


def union_volume(parts: Sequence[Triangles]) -> float:
    """Volume of the union of convex parts [m³].

    Exact for one part; several are sampled by a fixed additive recurrence (Roberts 2018, plastic
    number), within 1 % if the parts fill a fifth of their common bounding box.
    """
    if len(parts) == 1:
        return hull_of(parts[0][0]).volume
    corners = np.vstack([vertices for vertices, _ in parts])
    low, extents = corners.min(axis=0), np.ptp(corners, axis=0)
    steps = 1.22074408460575947536 ** -np.arange(1.0, 4.0)
    points = low + extents * ((0.5 + np.outer(np.arange(SAMPLES), steps)) % 1.0)
    filled = np.zeros(len(points), dtype=bool)
    for part in parts:
        in_box = (points >= part[0].min(axis=0)) & (points <= part[0].max(axis=0))
        near = ~filled & in_box.all(axis=1)
        filled[near] = in_part(points[near], part)
    return float(filled.mean() * extents.prod())


def distance_of_boxes(first: Array, second: Array) -> float:
    """Largest difference between the bounding boxes of points (n, 3) and (k, 3) [m]."""
    low = np.abs(first.min(axis=0) - second.min(axis=0)).max()
    return float(max(low, np.abs(first.max(axis=0) - second.max(axis=0)).max()))


def decompose(vertices: Array, faces: Faces, threshold: float) -> tuple[Array, ...]:
    """Decompose a closed surface into convex parts, vertices (k, 3) [m].

    The same surface and threshold give the same parts; earlier results are read from the cache.
    Inner surfaces around closed cavities are ignored.

    Args:
        vertices: (n, 3) [m].
        faces: (m, 3), outward.
        threshold: Concavity below which a part is not cut [–].

    Raises:
        BackendUnavailable: CoACD is not installed.
        BuildError: CoACD failed on this surface.
    """
    file = cache_directory() / f"parts-{_key(vertices, faces, threshold)}.npz"
    parts = _read(file)
    if parts is None:
        labels = piece_labels(vertices, faces)
        pieces = (faces[labels == label] for label in np.unique(labels))
        parts = tuple(part for piece in pieces for part in _piece_parts(vertices, piece, threshold))
        sizes = np.array([len(points) for points in parts], dtype=np.int64)
        with (
            suppress(ResultError, OSError),  # without a cache, parts are only made again
            atomic_path(file) as temporary,
            temporary.open("wb") as target,
        ):
            np.savez_compressed(target, points=np.vstack(parts), sizes=sizes)
    return parts


def cache_directory() -> Path:
    """Directory of cached decompositions: ``$SOFTGRASP_CACHE``, or the user's cache directory."""
    chosen = os.environ.get(CACHE_VARIABLE)
    if chosen:
        return Path(chosen).expanduser()
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "softgrasp"
    base = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    return (Path(base) if base else Path.home() / ".cache") / "softgrasp"


# Parts
def _kind(shape: Mesh, solid: Solid, parts_file: Path | None) -> str:
    if parts_file is None and shape.collision == "parts":
        raise DescriptionError(
            "expected a file with convex parts, found none: give `parts`", field="parts"
        )
    if parts_file is not None and shape.collision not in ("auto", "parts"):
        raise DescriptionError(
            f"expected no `parts` beside `collision: {shape.collision}`, found {shape.parts!r}",
            field="parts",
        )
    if parts_file is not None:
        return "parts"
    if not solid.closed or shape.collision == "link":
        return "hull"
    if shape.collision != "auto":
        return shape.collision
    return "hull" if solid.volume >= NEARLY_CONVEX * solid.hull_volume else "decompose"


def _decompose(shape: Mesh, at_scale: Callable[[Scale], Solid]) -> list[Triangles]:
    """Decompose the unscaled mesh, and scale its parts.

    Where a scale per axis would make concavities exceed the threshold, the mesh is decomposed in
    its scaled proportions, and these parts are scaled to size.
    """
    scale = np.broadcast_to(np.asarray(shape.scale, dtype=float), 3)
    solid = at_scale(1.0)
    if not _within_threshold(solid, abs(scale)):
        ratios = abs(scale) / abs(scale).max()
        x, y, z = (float(f"{part:.12g}") for part in ratios)  # equal for equal ratios
        solid, scale = at_scale((x, y, z)), scale / (x, y, z)
    centred, threshold = solid.vertices - solid.center_of_mass, shape.decomposition_threshold
    hulls = decompose(centred, solid.faces, threshold)
    parts = [_hull(vertices + solid.center_of_mass) for vertices in hulls]
    return [scaled(part, scale) for part in parts]


def _within_threshold(solid: Solid, scale: Array) -> bool:
    """Whether scaled concavities relative to the extent stay at or below those of the solid.

    A scale enlarges a concavity by at most its largest factor, so the longest extent of each
    separate piece has to grow by that factor too.
    """
    labels = piece_labels(solid.vertices, solid.faces)
    pieces = [solid.vertices[solid.faces[labels == label]] for label in np.unique(labels)]
    extents = np.array([np.ptp(corners.reshape(-1, 3), axis=0) for corners in pieces])
    required = scale.max() * extents.max(axis=1)
    return bool((required <= (scale * extents).max(axis=1) * (1.0 + ROUNDING)).all())


def _hull(vertices: Array) -> Triangles:
    hull = hull_of(vertices)
    return hull.vertices, hull.faces


def in_part(points: Array, part: Triangles) -> NDArray[np.bool_]:
    """Return which points (n, 3) are inside a convex part, (n,)."""
    normals, offsets = planes(part)
    return np.asarray((points @ normals.T <= offsets).all(axis=1))


def planes(part: Triangles) -> tuple[Array, Array]:
    """Outward face normals (m, 3), of length twice the area, and offsets (m,)."""
    a, b, c = part[0][part[1]].transpose(1, 0, 2)
    normals = np.cross(b - a, c - a)
    return normals, np.einsum("ij,ij->i", normals, a)


def _volume_warning(kind: str, parts: Sequence[Triangles], solid: Solid) -> list[str]:
    """Warn if the volume of the parts differs much from that of the mesh."""
    filled = union_volume(parts)
    if abs(filled / solid.volume - 1) <= VOLUME_TOLERANCE:
        return []
    many = f"{len(parts)} convex parts fill" if len(parts) > 1 else "the convex part fills"
    what = "the convex hull fills" if kind == "hull" else many
    numbers = f"{what} {filled * 1e6:.3g} cm³ where the mesh fills {solid.volume * 1e6:.3g} cm³"
    if filled < solid.volume:
        pieces = len(np.unique(piece_labels(solid.vertices, solid.faces)))
        if kind == "decompose" and pieces > 1:
            return [
                f"{numbers}: its {pieces} separate pieces overlap and are united; what they share "
                "counts twice in the mass of a density and in the inertia, so give a mass"
            ]
        return [f"{numbers}: fingers penetrate the object"]
    cure = {
        "hull": "use `collision: decompose`, or name convex `parts`",
        "decompose": "lower `decomposition_threshold`, or name convex `parts`",
        "parts": "check the parts",
    }[kind]
    return [f"{numbers}: hollows are filled in the collision shape; {cure}"]


def _position_warning(parts: Sequence[Triangles], solid: Solid) -> list[str]:
    corners = np.vstack([vertices for vertices, _ in parts])
    gap = distance_of_boxes(corners, solid.vertices)
    near = gap <= POSITION_TOLERANCE * np.ptp(solid.vertices, axis=0).max()
    text = f"the convex parts end {gap * 1e3:.3g} mm from where the mesh ends"
    return [] if near else [f"{text}; are they in its frame?"]


# CoACD
def _key(vertices: Array, faces: Faces, threshold: float) -> str:
    digest = hashlib.sha256(f"{RECIPE}, {SEED}, {threshold!r}, {vertices.shape}".encode())
    digest.update(np.ascontiguousarray(vertices, dtype="<f8").tobytes())
    digest.update(np.ascontiguousarray(faces, dtype="<i8").tobytes())
    return digest.hexdigest()[:32]


def _piece_parts(vertices: Array, faces: Faces, threshold: float) -> tuple[Array, ...]:
    volume = signed_volume(vertices, faces)
    if volume <= 0:
        return ()
    used, inverse = np.unique(faces, return_inverse=True)
    hull = hull_of(vertices[used])
    if volume >= CONVEX * hull.volume:
        return (hull.vertices,)
    return _cut(*_simplify(vertices[used], inverse.reshape(-1, 3)), threshold)


def _simplify(vertices: Array, faces: Faces) -> tuple[Array, Faces]:
    """Simplify a closed surface to ``MAX_FACES`` where it stays closed and keeps its volume."""
    if len(faces) <= MANY_FACES:
        return vertices, faces
    report_progress(f"simplifying {len(faces)} faces to {MAX_FACES}")
    solid = make_solid(*coarser(vertices, faces, MAX_FACES))
    volume = signed_volume(vertices, faces)
    if not solid.closed or abs(solid.volume / volume - 1.0) > SIMPLIFIED_VOLUME:
        return vertices, faces
    return solid.vertices, solid.faces


def _cut(vertices: Array, faces: Faces, threshold: float) -> tuple[Array, ...]:
    """Decompose one connected surface by CoACD in a separate process."""
    if importlib.util.find_spec("coacd") is None:
        raise BackendUnavailable(
            "this mesh is not convex and CoACD, which cuts it into convex parts, is not "
            f"installed: pip install 'softgrasp[mesh]'; or {OTHERWISE}"
        )
    with tempfile.TemporaryDirectory(prefix="softgrasp-") as directory:
        source, target = Path(directory) / "surface.npz", Path(directory) / "parts.npz"
        for preprocess in (False, True):
            numbers = {"threshold": threshold, "seed": SEED, "preprocess": preprocess, **SEARCH}
            arrays = {name: np.asarray(number) for name, number in numbers.items()}
            np.savez(source, allow_pickle=False, vertices=vertices, faces=faces, **arrays)
            command = [sys.executable, str(PROGRAM), str(source), str(target), str(CPU_LIMIT)]
            code = _run_coacd(command, len(faces))
            if code == 0 and (parts := _read(target)) is not None:
                return parts
            if not preprocess:
                report_progress(f"CoACD failed ({_ending(code)}); uniting the surface by voxels")
    message = f"CoACD could not cut this mesh into convex parts ({_ending(code)})"
    raise BuildError(f"{message}; {OTHERWISE}")


def _ending(code: int) -> str:
    """Describe the end of CoACD's process."""
    if -code in (signal.SIGXCPU, signal.SIGKILL):
        return f"stopped after {CPU_LIMIT} CPU-s"
    return f"exit code {code}"


def _run_coacd(command: list[str], faces: int) -> int:
    """Run CoACD, report its progress, and return its exit code."""
    what = f"cutting {faces} faces into convex parts"
    report_progress(what)
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, errors="replace"
    ) as run:
        assert run.stdout is not None
        try:
            for line in run.stdout:
                if round_ := ROUND.search(line):
                    report_progress(f"{what}: round {int(round_[1]) + 1}, {round_[2]} left to cut")
        except BaseException:
            run.kill()  # on an interrupt, do not wait for it
            raise
    return run.returncode


def _read(file: Path) -> tuple[Array, ...] | None:
    """Read parts from a cache file; None if it is missing or incomplete."""
    try:
        with file.open("rb") as content, np.load(content, allow_pickle=False) as arrays:
            points, sizes = arrays["points"], arrays["sizes"]
    except UNREADABLE:
        return None
    whole = points.ndim == 2 and points.shape[1:] == (3,) and len(sizes) > 0
    if not whole or sizes.sum() != len(points) or not np.isfinite(points).all():
        return None
    return tuple(np.split(points, np.cumsum(sizes)[:-1]))
