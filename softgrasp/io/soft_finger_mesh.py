"""A soft finger as rigid links from its CAD mesh and a few numbers of its material."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
import trimesh
from numpy.typing import ArrayLike, NDArray
from scipy.ndimage import gaussian_filter1d
from scipy.signal import find_peaks, peak_widths
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from softgrasp.continuum.rld import joint_compliances
from softgrasp.description.soft_finger import SoftFinger, SoftJoint, SoftLink
from softgrasp.errors import DescriptionError, SoftgraspWarning, did_you_mean
from softgrasp.io.mesh import LARGEST, SMALLEST, USUAL
from softgrasp.io.mesh_files import read_triangles
from softgrasp.io.mesh_repair import Solid, caps_of, make_solid
from softgrasp.mechanics.transforms import Array
from softgrasp.units import LENGTH_UNITS

Faces: TypeAlias = NDArray[np.int64]


Profile: TypeAlias = Callable[[Array], ArrayLike]
"""Bending stiffness [N·m²] at places from the base [m]."""


def finger_from_mesh(
    path: str | Path,
    *,
    bending_stiffness: float | Profile | None = None,
    youngs_modulus: float | None = None,
    density: float | None = None,
    mass: float | None = None,
    damping: float | Sequence[float] = 0.0,
    pressure_gain: float | Sequence[float] = 0.0,
    valleys: int | Sequence[float] | None = None,
    units: str = "m",
    axis: Sequence[float] | None = None,
    up: Sequence[float] | None = None,
    base: Base = "auto",
    name: str | None = None,
) -> SoftFinger:
    """Rigid links between the valleys of a finger's mesh, joints at the valleys.

    A joint bends for its cell, half way to its neighbours and to the ends: 1/k = ∫ ds/EI over it.
    Masses, centres of mass and boxes are those of the slices. The finger's frame has its origin in
    the base face on the level of the first joint, +x towards the tip and +z to the bellows, so that
    a positive angle bends away from them.

    Args:
        path: STL, OBJ, PLY, GLB or OFF.
        bending_stiffness: EI, the same along the finger, or a function of places from the base
            [N·m²].
        youngs_modulus: In its place: EI of every cross-section by its second moment of area; end
            pieces, which may be rounded, bend no easier than the section at the softest valley
            [Pa].
        density: [kg/m³]
        mass: In its place: of the whole finger [kg].
        damping: Of the joints, one number for all, or one a joint [N·m·s/rad].
        pressure_gain: Bending moment over pressure, one number for all, or one a joint [N·m/Pa].
        valleys: Their places from the base [m], or how many there are; found where not given.
        units: Of the file: m, dm, cm, mm or in.
        axis: Direction of the finger in the file's frame; found where not given.
        up: Direction to the side with the bellows in the file's frame; found where not given.
        base: Which end is clamped: ``auto`` (the thicker, or else the flatter one), ``start`` or
            ``end`` (the lower or higher coordinate along the axis), or a point near it in the
            file's frame [m].
        name: Of the finger; the file's where not given.

    Raises:
        DescriptionError: The file is no mesh, is not closed, has no valleys or not as many as
            said, or a number is missing or out of range.

    Warns:
        SoftgraspWarning: The mesh was mended, its size is unusual, or its base or its upper side
            had to be guessed.
    """
    _check_one_of(bending_stiffness=bending_stiffness, youngs_modulus=youngs_modulus)
    _check_one_of(density=density, mass=mass)
    sliced = slice_finger(path, units=units, axis=axis, up=up, base=base, valleys=valleys)
    stiffness = _stiffness_profile(sliced, bending_stiffness, youngs_modulus)
    compliances = joint_compliances(sliced.joints[:, 0], sliced.positions, stiffness)
    count = len(compliances)
    joints = tuple(
        SoftJoint(
            position=_vector(position), stiffness=1.0 / compliance, damping=loss, pressure_gain=gain
        )
        for position, compliance, loss, gain in zip(
            sliced.joints,
            compliances.tolist(),
            _each("damping", damping, count),
            _each("pressure_gain", pressure_gain, count),
            strict=True,
        )
    )
    file = Path(path)
    return SoftFinger(
        name=name or file.stem,
        joints=joints,
        links=_links(sliced, density, mass),
        tip=_vector(sliced.tip),
        source=f"{file.name}, sliced at {count} valley{'s' * (count != 1)}",
    )


def _check_one_of(**numbers: object) -> None:
    """Refuse two numbers for one thing, none, and one that is not above zero."""
    present = [field for field, value in numbers.items() if value is not None]
    one, other = numbers
    if len(present) != 1:
        present_text = "both" if present else "neither"
        raise DescriptionError(f"expected {one} or {other}, found {present_text}", field=one)
    value = numbers[present[0]]
    if isinstance(value, int | float) and not 0.0 < value < np.inf:
        raise DescriptionError(f"expected a number above 0, found {value!r}", field=present[0])


def _stiffness_profile(
    sliced: SlicedFinger, bending_stiffness: float | Profile | None, youngs_modulus: float | None
) -> Array:
    """EI at the cross-sections [N·m²], (m,), or one for all."""
    if callable(bending_stiffness):
        values = np.asarray(bending_stiffness(sliced.positions), dtype=float)
        if values.shape not in ((), sliced.positions.shape):
            raise DescriptionError(
                f"expected one number or {len(sliced.positions)}, one a place, found shape "
                f"{values.shape}",
                field="bending_stiffness",
            )
        return values
    if bending_stiffness is not None:
        return np.full(sliced.positions.shape, bending_stiffness)
    first, last = sliced.joints[[0, -1], 0]
    ends = (sliced.positions < first) | (sliced.positions > last)
    min_moment = np.interp(sliced.joints[:, 0], sliced.positions, sliced.second_moments).min()
    moments = np.where(ends, np.maximum(sliced.second_moments, min_moment), sliced.second_moments)
    return np.asarray(youngs_modulus * moments)


def _each(field: str, value: float | Sequence[float], count: int) -> list[float]:
    numbers = np.asarray(value, dtype=float)
    if numbers.shape not in ((), (count,)):
        raise DescriptionError(
            f"expected one number or {count}, one a joint, found {numbers.size}", field=field
        )
    return [float(number) for number in np.broadcast_to(numbers, count)]


def _links(sliced: SlicedFinger, density: float | None, mass: float | None) -> tuple[SoftLink, ...]:
    whole = sum(piece.volume for piece in sliced.pieces)
    density = density if mass is None else mass / whole
    assert density is not None  # one of the two is given
    return tuple(
        SoftLink(center=_vector(piece.center), mass=density * piece.volume, size=piece.size)
        for piece in sliced.pieces
    )


def _vector(point: Array) -> tuple[float, float, float]:
    x, y, z = point.tolist()
    return x, y, z


# --------------------
# Where a finger lies in its mesh: its axis, its base, and the side with the bellows.


Base: TypeAlias = Literal["auto", "start", "end"] | Sequence[float]

SAMPLES = 200
"""Sections by which the sides are known."""
ONE_SIDED = 0.5
"""Correlation of the sections' areas and centroids of a finger with its bellows on one side [–]."""
FLATTER = 0.5
"""The lower side is flat where it leaves its line by less than this part of what the upper does."""
HEAVY = 0.005
"""Centre of mass from the middle, in lengths, from which one end counts as thicker [–]."""
ENDS = 0.05
"""Part of the length that belongs to an end face, which the axis may still be tilted to [–]."""
ACROSS = 0.2
"""Sine of the angle to the axis from which a direction leads across the finger [–]."""
LARGER = 1.5
"""Flat area of one end over that of the other, from which it is the base [–]."""
FACING = 0.9
"""Cosine from which a face looks along the finger [–]."""


def finger_axes(
    solid: Solid,
    axis: Sequence[float] | None = None,
    up: Sequence[float] | None = None,
    base: Base = "auto",
) -> tuple[Array, tuple[str, ...]]:
    """Find the directions of a finger in its mesh.

    +x is the principal axis of the solid, turned in the bending plane until it is parallel to the
    lower side where that is flat. +z is the side with the bellows: to where the centroid of a
    section goes as its area grows along the finger, chambers counted as material. The base is the
    thicker end, else the one with the larger flat face.

    Args:
        solid: The mesh.
        axis: Direction of the finger in the file's frame; found where not given.
        up: Direction to the side with the bellows; found where not given.
        base: ``start`` or ``end``: the end at the lower or higher coordinate along ``axis``, or,
            where that is not given, along the file's axis that is nearest to it; a point near it;
            ``auto``.

    Returns:
        Unit vectors x, y, z of the finger in the file's frame, (3, 3) by rows, and sentences about
        what had to be guessed.

    Raises:
        DescriptionError: A direction is zero, ``up`` is along the finger, or there is no such base.
    """
    x = _principal(solid) if axis is None else _unit(axis, "axis")
    z, note = _detected_up(solid, x) if up is None else (_square_to(x, up), "")
    if axis is None:
        slope = _lower_slope(solid.vertices @ _axes(x, z).T, solid.faces)
        x = (x + slope * z) / np.hypot(1.0, slope)
        z = _square_to(x, z)
    is_reversed, base_note = _is_reversed(solid, x, base)
    axes = _axes(-x if is_reversed else x, z)
    return axes, tuple(text for text in (note, base_note) if text)


def _text(point: Array) -> str:
    """A direction or a point for a sentence."""
    return "(" + ", ".join(f"{value:.3g}" for value in (point.round(6) + 0.0).tolist()) + ")"


def _axes(x: Array, z: Array) -> Array:
    return np.stack([x, np.cross(z, x), z])


def _unit(direction: Sequence[float] | Array, field: str) -> Array:
    vector = np.asarray(direction, dtype=float)
    if vector.shape != (3,) or not 0.0 < np.linalg.norm(vector) < np.inf:
        raise DescriptionError(
            f"expected a direction of three numbers, not all zero, found {direction!r}", field=field
        )
    return np.asarray(vector / np.linalg.norm(vector))


def _square_to(x: Array, up: Sequence[float] | Array) -> Array:
    direction = _unit(up, "up")
    z = direction - (direction @ x) * x
    if np.linalg.norm(z) < ACROSS:
        raise DescriptionError(
            f"expected a direction across the finger, found {_text(direction)} along it",
            field="up",
        )
    return np.asarray(z / np.linalg.norm(z))


def _principal(solid: Solid) -> Array:
    """The axis of least inertia, with its largest coordinate positive."""
    x = np.linalg.eigh(solid.inertia)[1][:, 0]
    return np.asarray(x * np.sign(x[np.argmax(np.abs(x))]))


def _detected_up(solid: Solid, x: Array) -> tuple[Array, str]:
    """To where the centroids of sections go as these grow; across the thinner side if nowhere."""
    basis = _axes(x, _square_to(x, np.eye(3)[np.argmin(np.abs(x))]))
    vertices = solid.vertices @ basis.T
    stations = _stations(vertices)
    cross_sections = sections(vertices, solid.faces, stations, filled=True)
    growth = _from_line(stations, cross_sections.areas[:, None])
    moves = _from_line(stations, cross_sections.centers)
    net, gross = growth[:, 0] @ moves, np.linalg.norm(growth) * np.linalg.norm(moves)
    if np.linalg.norm(net) > ONE_SIDED * gross:
        return np.asarray(net @ basis[1:] / np.linalg.norm(net)), ""
    z = _square_to(x, np.linalg.eigh(solid.inertia)[1][:, 2])
    z = z * np.sign(z[np.argmax(np.abs(z))])
    return z, (
        "no side has the bellows alone; the finger is taken to bend away from "
        f"{_text(z)}, give up=(x, y, z) for another side"
    )


def _lower_slope(vertices: Array, faces: Faces) -> float:
    """Rise of the lower side along x where it is flat, else 0; x along, z up.

    The rise is the median over pairs of places half the finger apart, which no rounded end moves.
    """
    stations = _stations(vertices)
    sides = np.stack([side[:, 1] for side in extents(vertices, faces, stations)], -1)
    lower, upper = np.std(_from_line(stations, sides), axis=0)
    if not lower <= FLATTER * upper:
        return 0.0
    half = SAMPLES // 2
    rises = (sides[half:, 0] - sides[:half, 0]) / (stations[half] - stations[0])
    return float(np.median(rises))


def _stations(vertices: Array) -> Array:
    """Where the finger is cut for a first look, short of its end faces."""
    begin, end = vertices[:, 0].min(), vertices[:, 0].max()
    margin = ENDS * (end - begin)
    return np.linspace(begin + margin, end - margin, SAMPLES)


def _from_line(stations: Array, values: Array) -> Array:
    """What is left of columns (n, d) when each has lost its straight line over the places (n,)."""
    basis = np.stack([np.ones_like(stations), stations - stations.mean()], -1)
    return np.asarray(values - basis @ np.linalg.lstsq(basis, values)[0])


def _is_reversed(solid: Solid, x: Array, base: Base) -> tuple[bool, str]:
    """Whether the base is at the far end along x, and what is said where that is a guess."""
    along = solid.vertices @ x
    begin, end = float(along.min()), float(along.max())
    if not isinstance(base, str):
        point = np.asarray(base, dtype=float)
        if point.shape != (3,) or not np.isfinite(point).all():
            raise DescriptionError(f"expected a point (x, y, z), found {base!r}", field="base")
        return bool(point @ x > 0.5 * (begin + end)), ""
    if base in ("start", "end"):
        return base == "end", ""
    if base != "auto":
        hint = did_you_mean(base, ("auto", "start", "end"))
        raise DescriptionError(
            f"expected 'auto', 'start', 'end' or a point, found '{base}'; {hint}", field="base"
        )
    lead = float(solid.center_of_mass @ x - 0.5 * (begin + end)) / (end - begin)
    if abs(lead) > HEAVY:
        return lead > 0.0, ""
    flat = _end_areas(solid, x, begin, end)
    if max(flat) > LARGER * min(flat):
        return flat[1] > flat[0], ""
    lowest_point = solid.vertices[np.argmin(along)]
    return False, (
        f"both ends look alike; the base is taken to be the one near {_text(lowest_point)} m, "
        "give base='end' for the other"
    )


def _end_areas(solid: Solid, x: Array, begin: float, end: float) -> tuple[float, float]:
    """Area that looks along the finger at its two ends [m²]."""
    a, b, c = solid.vertices[solid.faces].transpose(1, 0, 2)
    vectors = 0.5 * np.cross(b - a, c - a)
    forward, middles = vectors @ x, (a + b + c) @ x / 3.0
    facing = np.abs(forward) > FACING * np.linalg.norm(vectors, axis=1)
    margin = ENDS * (end - begin)
    at_begin = facing & (forward < 0.0) & (middles < begin + margin)
    at_end = facing & (forward > 0.0) & (middles > end - margin)
    return float(-forward[at_begin].sum()), float(forward[at_end].sum())


# --------------------
# Cross-sections of a solid by planes square to x: area, centroid, second moment, outline.


class Sections(NamedTuple):
    """What n planes cut out of a solid."""

    areas: Array
    """[m²], (n,); zero where a plane meets nothing."""
    centers: Array
    """Centroids (y, z) [m], (n, 2); NaN where a plane meets nothing."""
    second_moments: Array
    """∫ (z − z of the centroid)² dA [m⁴], (n,): what bending in the x–z plane meets."""


class _Outlines(NamedTuple):
    """Pieces of the outlines of n sections; material is on the left, seen from +x."""

    plane: NDArray[np.intp]
    """Number of the plane, (s,)."""
    starts: Array
    """(y, z) [m], (s, 2)."""
    ends: Array
    """(y, z) [m], (s, 2)."""
    edges: NDArray[np.int64]
    """The two edges of the mesh between which a piece runs, as pairs of vertices, (s, 2, 2)."""


def sections(vertices: Array, faces: Faces, stations: Array, *, filled: bool = False) -> Sections:
    """Cut a solid by planes square to x.

    The integrals are exact, by Green's theorem along the outlines.

    Args:
        vertices: (m, 3) [m].
        faces: (k, 3) of a closed surface, outward by the right-hand rule.
        stations: x of the planes in ascending order [m], (n,).
        filled: Whether holes, such as the chambers of a hollow finger, count as material.
    """
    outlines = _outlines(vertices, faces, stations)
    if filled:
        outlines = _outer(outlines, len(vertices))
    plane, starts, ends, _ = outlines

    def summed(values: Array) -> Array:
        return np.asarray(
            np.bincount(plane, weights=values, minlength=len(stations)), dtype=np.float64
        )

    cross = _cross(outlines)
    areas = 0.5 * summed(cross)
    firsts = [summed(cross * (starts + ends)[:, axis]) / 6.0 for axis in (0, 1)]
    low, high = starts[:, 1], ends[:, 1]
    seconds = summed(cross * (low**2 + low * high + high**2)) / 12.0
    with np.errstate(divide="ignore", invalid="ignore"):
        centers = np.stack(firsts, -1) / areas[:, None]
    return Sections(areas, centers, seconds - areas * centers[:, 1] ** 2)


def extents(vertices: Array, faces: Faces, stations: Array) -> tuple[Array, Array]:
    """Lowest and highest (y, z) of sections [m], both (n, 2).

    Args:
        vertices: (m, 3) [m].
        faces: (k, 3) of a closed surface.
        stations: x of the planes in ascending order [m], (n,).
    """
    outlines = _outlines(vertices, faces, stations)
    low, high = np.full((len(stations), 2), np.inf), np.full((len(stations), 2), -np.inf)
    np.minimum.at(low, outlines.plane, outlines.starts)
    np.maximum.at(high, outlines.plane, outlines.starts)
    return low, high


def _outlines(vertices: Array, faces: Faces, stations: Array) -> _Outlines:
    """Where faces pass the planes.

    A vertex in a plane counts as below it, so that outlines are closed whatever the planes meet.
    """
    along = vertices[:, 0][faces]
    first = np.searchsorted(stations, along.min(axis=1), side="left")
    crossed = np.searchsorted(stations, along.max(axis=1), side="left") - first
    face = np.repeat(np.arange(len(faces)), crossed)
    plane = first[face] + np.arange(len(face)) - np.repeat(np.cumsum(crossed) - crossed, crossed)
    corners, one_above = lone_corner_first(faces[face], along[face] > stations[plane, None])
    edges = edges_across(corners)
    # a piece runs against its face where that has its lone corner above
    edges = np.where(one_above[:, None, None], edges, edges[:, ::-1])
    starts, ends = (_crossing(vertices[edges[:, side]], stations[plane]) for side in (0, 1))
    return _Outlines(plane, starts, ends, edges)


def lone_corner_first(faces: Faces, above: NDArray[np.bool_]) -> tuple[Faces, NDArray[np.bool_]]:
    """Turn faces that a plane cuts so that the corner which is alone on its side comes first.

    Args:
        faces: (k, 3).
        above: Which corners are above the plane, one or two a face, (k, 3).

    Returns:
        The faces (k, 3), wound as before, and whether that corner is above (k,).
    """
    one_above = above.sum(axis=1) == 1
    alone = np.where(one_above, np.argmax(above, axis=1), np.argmin(above, axis=1))
    order = (alone[:, None] + np.arange(3)) % 3
    return np.take_along_axis(faces, order, axis=1), one_above


def edges_across(corners: Faces) -> Faces:
    """The two edges (k, 2, 2) that lead from the first corner of faces to the second and third.

    Their vertices are in ascending order, so that neighbours find the same point on an edge.
    """
    return np.sort(np.stack([corners[:, [0, 1]], corners[:, [0, 2]]], axis=1), axis=2)


def _crossing(edges: Array, station: Array) -> Array:
    """(y, z) at which edges (s, 2, 3) pass x = place (s,)."""
    begin, end = edges[:, 0], edges[:, 1]
    fraction = (station - begin[:, 0]) / (end[:, 0] - begin[:, 0])
    return np.asarray(begin[:, 1:] + fraction[:, None] * (end - begin)[:, 1:])


def _cross(pieces: _Outlines) -> Array:
    """Twice the area between each piece and the axis, (s,)."""
    starts, ends = pieces.starts, pieces.ends
    return np.asarray(starts[:, 0] * ends[:, 1] - ends[:, 0] * starts[:, 1])


def _outer(pieces: _Outlines, vertices: int) -> _Outlines:
    """The outlines without those that run around holes, which have a negative area."""
    edge = pieces.edges[..., 0] * vertices + pieces.edges[..., 1]
    names, edge = np.unique(edge, return_inverse=True)
    node = pieces.plane[:, None] * len(names) + edge.reshape(-1, 2)
    nodes, node = np.unique(node, return_inverse=True)
    start, end = node.reshape(-1, 2).T
    links = coo_array((np.ones(len(start)), (start, end)), shape=(len(nodes), len(nodes)))
    loop = connected_components(links, directed=False)[1][start]
    kept = np.bincount(loop, weights=_cross(pieces))[loop] > 0.0
    plane, starts, ends, edges = pieces
    return _Outlines(plane[kept], starts[kept], ends[kept], edges[kept])


# --------------------
# A solid cut into pieces by planes square to x, each piece closed again.


@dataclass(frozen=True, eq=False)
class Piece:
    """What lies between two planes, in the frame of the whole."""

    vertices: Array
    """(m, 3) [m]"""
    faces: Faces
    """(k, 3) of a closed surface, outward by the right-hand rule."""
    volume: float
    """[m³]"""
    center: Array
    """Centroid (3,) [m]."""

    @property
    def size(self) -> tuple[float, float, float]:
        """Edges of the box around it [m]."""
        x, y, z = np.ptp(self.vertices, axis=0).tolist()
        return x, y, z


def slices(vertices: Array, faces: Faces, stations: Iterable[float]) -> list[Piece]:
    """Cut a solid; n places give n + 1 pieces, whose volumes sum to the whole.

    Args:
        vertices: (m, 3) [m].
        faces: (k, 3) of a closed surface, outward by the right-hand rule.
        stations: x of the planes in ascending order [m], (n,).
    """
    pieces = []
    for station in stations:
        vertices, below, faces = _cut(vertices, faces, station)
        pieces.append(_closed(vertices, below))
    return [*pieces, _closed(vertices, faces)]


def _cut(vertices: Array, faces: Faces, station: float) -> tuple[Array, Faces, Faces]:
    """Vertices with those in the plane behind them, faces below the plane, faces above it.

    A vertex in the plane counts as below it. Faces that share an edge share the point at which the
    plane passes it, so both parts are as closed as the whole, but for the cut.
    """
    above = vertices[:, 0][faces] > station
    whole = above.sum(axis=1)
    crossing = (whole == 1) | (whole == 2)
    corners, one_above = lone_corner_first(faces[crossing], above[crossing])
    edges = edges_across(corners)
    edge, number = np.unique(edges.reshape(-1, 2), axis=0, return_inverse=True)
    begin, end = vertices[edge].transpose(1, 0, 2)
    fraction = (station - begin[:, 0]) / (end[:, 0] - begin[:, 0])
    points = begin + fraction[:, None] * (end - begin)
    points[:, 0] = station
    one, two = (number.reshape(-1, 2) + len(vertices)).T
    apex, left, right = corners.T
    lone = np.stack([apex, one, two], -1)
    pair = np.stack([one, left, right, one, right, two], -1).reshape(-1, 2, 3)
    return (
        np.vstack([vertices, points]),
        np.vstack([faces[whole == 0], lone[~one_above], pair[one_above].reshape(-1, 3)]),
        np.vstack([faces[whole == 3], lone[one_above], pair[~one_above].reshape(-1, 3)]),
    )


def _closed(vertices: Array, faces: Faces) -> Piece:
    """A piece of its own vertices only, its cuts closed by fans."""
    used, faces = np.unique(faces, return_inverse=True)
    vertices, faces = vertices[used], faces.reshape(-1, 3)
    caps = caps_of(vertices, faces)
    points, closed = np.vstack([vertices, caps.middles]), np.vstack([faces, caps.fans])
    properties = trimesh.triangles.mass_properties(points[closed])
    return Piece(points, closed, float(properties.volume), np.asarray(properties.center_mass))


# --------------------
# The mesh of a finger laid along +x and cut into pieces at the valleys between its bellows.
#
# Paper 000 (section II-A) does this by hand. Joints stand at the centroids of the cross-sections
# at
# the valleys: there the neutral line of bending passes a homogeneous beam, and where little is
# left
# under a valley, that is close to the layer that does not stretch.


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


# --------------------
# The valleys between the bellows of a finger, found in its height along the axis.
#
# A valley is a minimum of the smoothed height whose prominence (how far one climbs out of it to
# the
# lower side, until the profile falls deeper) is at least ``LEAST_DEPTH`` of the median height and
# ``LEAST_SHARE`` of the most prominent one. Noise of the surface stays below the first bound,
# ripples
# on the bellows below the second.


SMOOTHING = 0.002
"""Standard deviation of the smoothing, in lengths of the profile [–]."""
MIN_DEPTH = 0.03
"""Prominence of a valley over the median height, at least [–]."""
MIN_DEPTH_RATIO = 0.15
"""Prominence of a valley over that of the deepest, at least [–]."""
STANDS_OUT = 2.0
"""Prominence of the least valley that is expected over that of the first that is not [–]."""
BOTTOM = 0.05
"""Part of a valley's prominence that counts as its ground [–]."""


class Valleys(NamedTuple):
    """Valleys of a profile, in order."""

    positions: Array
    """Along the axis, in the middle of their ground [m], (n,)."""
    depths: Array
    """Prominences [m], (n,)."""


def find_valleys(positions: ArrayLike, heights: ArrayLike, expected: int | None = None) -> Valleys:
    """Find the valleys of a profile, to a fraction of the distance of its samples.

    Args:
        positions: Evenly spaced and ascending [m], (m,).
        heights: Of the finger there [m], (m,).
        expected: How many there are, where that is known; then those are taken that are deepest,
            if they stand out from the others.

    Raises:
        DescriptionError: There is no valley, or not as many as expected; tells what was found and
            how to give them by hand.
    """
    along, profile = np.asarray(positions, dtype=float), np.asarray(heights, dtype=float)
    smooth = gaussian_filter1d(profile, SMOOTHING * len(profile))
    min_depth = MIN_DEPTH * float(np.median(smooth))
    minima, properties = find_peaks(-smooth, prominence=min_depth)
    left, right = peak_widths(-smooth, minima, rel_height=BOTTOM)[2:]
    middles = np.interp(0.5 * (left + right), np.arange(len(along)), along)
    valleys = Valleys(middles, properties["prominences"])
    if expected is not None:
        return _deepest(valleys, expected, min_depth)
    if not len(minima):
        raise _refused("valleys between bellows", valleys, min_depth)
    return _taken(valleys, valleys.depths >= MIN_DEPTH_RATIO * valleys.depths.max())


def _deepest(valleys: Valleys, count: int, min_depth: float) -> Valleys:
    order = np.argsort(valleys.depths)[::-1]
    if count < 1:
        raise DescriptionError(f"expected at least 1 valley, found {count} asked for")
    if len(order) < count:
        raise _refused(f"{count} valley{'s' * (count != 1)} between bellows", valleys, min_depth)
    taken, left = order[:count], order[count:]
    if len(left) and valleys.depths[taken[-1]] < STANDS_OUT * valleys.depths[left[0]]:
        raise _refused(f"{count} valley{'s' * (count != 1)} deeper than others", valleys, min_depth)
    return _taken(valleys, np.isin(np.arange(len(order)), taken))


def _taken(valleys: Valleys, which: NDArray[np.bool_]) -> Valleys:
    return Valleys(valleys.positions[which], valleys.depths[which])


def _refused(expected: str, valleys: Valleys, min_depth: float) -> DescriptionError:
    count = len(valleys.positions)
    detected = f"none that is {min_depth * 1e3:.2g} mm deep"
    if count:
        detected = (
            f"{count}, at {_millimetres(valleys.positions)} mm and {_millimetres(valleys.depths)} mm "
            "deep"
        )
    return DescriptionError(
        f"expected {expected}, found {detected}; give their places along the finger by hand, from the "
        "base in metres, such as valleys=(0.008, 0.016)"
    )


def _millimetres(lengths: Array) -> str:
    return ", ".join(f"{length:.3g}" for length in (1e3 * lengths).tolist())
