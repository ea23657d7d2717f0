"""The mesh of a finger laid along +x and cut into pieces at the valleys between its bellows.

Paper 000 (section II-A) does this by hand. Joints stand at the centroids of the cross-sections at
the valleys: there the neutral line of bending passes a homogeneous beam, and where little is left
under a valley, that is close to the layer that does not stretch.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from softgrasp.errors import DescriptionError, SoftgraspWarning, did_you_mean
from softgrasp.formats.finger_frame import Base, finger_axes
from softgrasp.formats.mesh_files import read_triangles
from softgrasp.formats.mesh_sections import extents, sections
from softgrasp.formats.mesh_slices import Piece, slices
from softgrasp.formats.mesh_solid import Solid, make_solid
from softgrasp.formats.meshes import LARGEST, SMALLEST, USUAL
from softgrasp.mechanics.transforms import Array
from softgrasp.mechanics.valleys import find_valleys
from softgrasp.units import LENGTH_UNITS

Faces: TypeAlias = NDArray[np.int64]

SECTIONS = 500
"""Cross-sections along a finger."""
BASE_FACE = 0.05
"""Part of the length in which the face of the base stands [–]."""
TIP = 0.02
"""Part of the length before the end where the section stands that gives the tip its height [–]."""


@dataclass(frozen=True, eq=False)
class SlicedFinger:
    """A finger in pieces; base face in the plane x = 0, first joint on z = 0, bellows up."""

    transform: Array
    """(4, 4), this frame in that of the file, which counts in metres here."""
    joints: Array
    """Centroids of the sections at the n valleys, y = 0 [m], (n, 3)."""
    tip: Array
    """(3,) [m]"""
    pieces: tuple[Piece, ...]
    """The n + 1 pieces from the base outwards."""
    positions: Array
    """x of m cross-sections from 0 to the tip [m], (m,)."""
    heights: Array
    """Their areas over the width of the finger, chambers counted as material [m], (m,)."""
    second_moments: Array
    """Of their material about the line through their centroid along y [m⁴], (m,)."""


def slice_finger(
    path: str | Path,
    *,
    units: str = "m",
    axis: Sequence[float] | None = None,
    up: Sequence[float] | None = None,
    base: Base = "auto",
    valleys: int | Sequence[float] | None = None,
) -> SlicedFinger:
    """Lay a mesh along +x, find its valleys and cut it there.

    Args:
        path: STL, OBJ, PLY, GLB or OFF.
        units: Of the file: m, dm, cm, mm or in.
        axis: Direction of the finger in the file's frame; found where not given.
        up: Direction to the side with the bellows in the file's frame; found where not given.
        base: Which end is clamped: ``auto``, ``start`` or ``end`` (the lower or higher coordinate
            along the axis), or a point near it in the file's frame [m].
        valleys: Their places from the base [m], or how many there are; found where not given.

    Raises:
        DescriptionError: The file is no mesh, is not closed, has no valleys or not as many as
            said, or an argument is out of range.

    Warns:
        SoftgraspWarning: The mesh was mended, its size is unusual, or its base or its upper side
            had to be guessed.
    """
    file = Path(path)
    solid = _solid(file, units)
    axes, notes = finger_axes(solid, axis, up, base)
    vertices = solid.vertices @ axes.T
    try:
        sliced = _sliced(vertices, solid.faces, axes, valleys)
    except DescriptionError as error:
        raise error.located(file=file) from error
    size_note = _size_note(float(np.ptp(vertices[:, 0])), units)
    for note in (size_note, *solid.notes, *notes):
        if note:
            warnings.warn(f"{file.name}: {note}", SoftgraspWarning, stacklevel=2)
    return sliced


def _solid(file: Path, units: str) -> Solid:
    if units not in LENGTH_UNITS:
        hint = did_you_mean(units, LENGTH_UNITS)
        raise DescriptionError(f"no unit of length '{units}'; {hint}", field="units")
    vertices, faces = read_triangles(file)
    try:
        solid = make_solid(vertices * LENGTH_UNITS[units], faces)
    except DescriptionError as error:
        raise error.located(file=file) from error
    if not solid.closed:
        raise DescriptionError(
            "expected a closed surface to slice, found a mesh that cannot be mended: "
            f"{'; '.join(solid.notes)}",
            file=file,
        )
    return solid


def _sliced(
    vertices: Array, faces: Faces, axes: Array, valleys: int | Sequence[float] | None
) -> SlicedFinger:
    """Cut a mesh whose coordinates count along the axes of the finger."""
    begin, end = float(vertices[:, 0].min()), float(vertices[:, 0].max())
    stations = begin + (np.arange(SECTIONS) + 0.5) / SECTIONS * (end - begin)
    filled = _filled_areas(vertices, faces, stations)
    low, high = extents(vertices, faces, stations)
    heights = filled / np.median(high[:, 0] - low[:, 0])
    base = _base_face(begin, stations, filled)
    at = _valleys(stations - base, heights, end - base, valleys)
    tip = end - min(TIP * (end - base), 0.5 * (end - base - at[-1]))
    levels = sections(vertices, faces, np.append(at + base, tip)).centers[:, 1]
    origin = np.array([base, 0.5 * (low[:, 0] + high[:, 0]).mean(), levels[0]])
    moments = sections(vertices, faces, stations).second_moments
    inner = (stations > base) & (stations < end)
    return SlicedFinger(
        transform=_transform(axes, origin),
        joints=np.stack([at, np.zeros_like(at), levels[:-1] - levels[0]], -1),
        tip=np.array([end - base, 0.0, levels[-1] - levels[0]]),
        pieces=tuple(slices(vertices - origin, faces, at)),
        positions=np.concatenate([[0.0], stations[inner] - base, [end - base]]),
        heights=np.pad(heights[inner], 1, mode="edge"),
        second_moments=np.pad(moments[inner], 1, mode="edge"),
    )


def _filled_areas(vertices: Array, faces: Faces, stations: Array) -> Array:
    """Areas of the sections (m,), chambers counted as material; refuses a finger with a gap."""
    areas = sections(vertices, faces, stations, filled=True).areas
    gaps = stations[np.flatnonzero(areas[1:-1] <= 0.0) + 1]
    if len(gaps):
        raise DescriptionError(
            "expected one body from base to tip, found nothing "
            f"{1e3 * (gaps[0] - vertices[:, 0].min()):.3g} mm from an end"
        )
    return areas


def _base_face(begin: float, stations: Array, areas: Array) -> float:
    """Where the sections first have half of their later area: noise does not move it outwards."""
    near = stations < stations[0] + BASE_FACE * (stations[-1] - stations[0])
    half = 0.5 * areas[near].max()
    first = int(np.argmax(areas >= half))
    if first == 0:
        return begin
    fraction = (half - areas[first - 1]) / (areas[first] - areas[first - 1])
    return float(stations[first - 1] + fraction * (stations[first] - stations[first - 1]))


def _valleys(
    stations: Array, heights: Array, length: float, positions: int | Sequence[float] | None
) -> Array:
    """Places of the valleys from the base, found or as they were given."""
    if positions is None or isinstance(positions, int | np.integer):
        expected = None if positions is None else int(positions)
        return find_valleys(stations, heights, expected).positions
    at = np.asarray(positions, dtype=float)
    bounds = np.concatenate([[0.0], at.ravel(), [length]])
    if at.ndim != 1 or not len(at) or not (np.diff(bounds) > 0.0).all():
        raise DescriptionError(
            f"expected ascending places between 0 and {length:.4g} m from the base, found {positions}",
            field="valleys",
        )
    return at


def _transform(axes: Array, origin: Array) -> Array:
    """The frame of the finger in that of the file; the origin is given along the finger's axes."""
    transform = np.eye(4)
    transform[:3, :3] = axes.T
    transform[:3, 3] = axes.T @ origin
    return transform


def _size_note(length: float, units: str) -> str:
    """A doubt about the unit, with a guess."""
    if SMALLEST <= length <= LARGEST:
        return ""
    metres = length / LENGTH_UNITS[units]
    fitting = [
        unit for unit, factor in LENGTH_UNITS.items() if USUAL[0] <= metres * factor <= USUAL[1]
    ]
    guess = min(fitting, key=lambda unit: unit not in ("mm", "m"), default="")
    cure = f"is the file in {guess}? Give units='{guess}'" if guess else "look at its units"
    return f"the finger is {length:.3g} m long; {cure}"
