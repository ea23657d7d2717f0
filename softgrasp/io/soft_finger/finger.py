"""Soft fingers, and hands of equal ones, from CAD meshes: rigid links between valleys of bellows.

The mesh is laid along +x (axes), its valleys are detected in the profile of its height (valleys),
and it is cut there into links (mesh_sections). A joint lies at the centroid of the cross-section
at its valley: there the neutral line of bending passes through a homogeneous beam; where little
material is left below a valley, it is close to the inextensible layer. Hadi et al. (2025, section
II) cut a finger by hand in the same manner. A finger without valleys is divided into equal cells
with joints in their middles.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from softgrasp.continuum.rld import joint_compliances
from softgrasp.description.actuation import Rates
from softgrasp.description.contact import Contact
from softgrasp.description.geometry import Cylinder, Pose
from softgrasp.description.hand import GraspPreset, Grasps, Hand, Palm
from softgrasp.description.soft_finger import (
    FingerMesh,
    MountedSoftFinger,
    SoftFinger,
    SoftJoint,
    SoftLink,
)
from softgrasp.errors import DescriptionError, SoftgraspWarning, did_you_mean
from softgrasp.io.load import current_hashes, input_hashes
from softgrasp.io.mesh import LARGEST, SMALLEST, USUAL, resolve_file
from softgrasp.io.mesh_files import read_triangles
from softgrasp.io.mesh_repair import Solid, make_solid
from softgrasp.io.mesh_sections import (
    Faces,
    Piece,
    Sections,
    extents,
    part_counts,
    sections,
    slices,
)
from softgrasp.io.soft_finger.axes import Base, find_valleys, finger_axes, point_text
from softgrasp.mechanics.hand_kinematics import pose_of
from softgrasp.mechanics.transforms import Array, rotate_about, translate, triple
from softgrasp.units import LENGTH_UNITS, LengthUnit

Profile: TypeAlias = Callable[[Array], ArrayLike]
"""Bending stiffness [N·m²] as a function of the distance from the base [m]."""
SECTIONS = 500
"""Number of cross-sections along a finger."""
BASE_FACE = 0.05
"""Fraction of the length that contains the base face [–]."""
TIP = 0.02
"""Fraction of the length between the end and the section that defines the tip height [–]."""
CELLS = 8
"""Number of cells of a finger without valleys, as of ``rld.discretise``."""
SMALLEST_PART = 0.02
"""Area over that of the section above which a separate part counts [–]."""
LATTICE = 0.25
"""Fraction of sections in separate parts above which a finger is a lattice [–]."""
MAX_FINGERS = 12
"""Largest number of fingers of a hand."""
SILICONE_MODULUS, SILICONE_DENSITY = 0.7e6, 1100.0
"""Young's modulus [Pa] and density [kg/m³] of silicone of Shore A 30."""
SILICONE_LOSS = 2.5e-3
"""Damping over stiffness of its joints [s], as of the finger of Hadi et al. (2025)."""
SILICONE_CONTACT = Contact(stiffness=5e3, damping=20.0, static_friction=0.9)
OPENING = 1.25
"""Opening between straight fingers over the width of the object [–]."""
CENTER_FRACTION = 0.8
"""Distance of the object from the palm over the finger length [–]."""
CLOSING_TIME = 2.5
"""Time in which the pressure reaches its limit [s]."""
PALM_HEIGHT = 0.01
"""Height of the palm [m]."""


@dataclass(frozen=True, eq=False)
class SlicedFinger:
    """A finger cut into pieces, with base face at x = 0, first joint at z = 0, bellows up."""

    transform: Array
    """(4, 4), this frame in the frame of the file [m]."""
    joints: Array
    """Centroids of the cross-sections at the n valleys, y = 0 [m], (n, 3)."""
    tip: Array
    """(3,) [m]"""
    pieces: tuple[Piece, ...]
    """The n + 1 pieces from the base outwards."""
    positions: Array
    """x of m cross-sections from 0 to the tip [m], (m,)."""
    heights: Array
    """Areas over the width of the finger, chambers counted as material [m], (m,)."""
    centers: Array
    """z of the centroids of the material [m], (m,)."""
    chamber_areas: Array
    """Areas of the chambers [m²], (m,)."""
    chamber_sides: Array
    """Lowest and highest z of the chambers [m], (m, 2); infinite where there is none."""
    second_moments: Array
    """Second moments of area about the centroid, for bending about y [m⁴], (m,)."""
    chamber_moments: Array
    """Areas of the chambers times the heights of their centroids above that of the material [m³],
    (m,): bending moment of the whole section over pressure."""
    divided: bool = False
    """Whether the joints are in the middles of equal cells, not at valleys."""
    notes: tuple[str, ...] = ()
    """What had to be assumed or repaired."""


def finger_from_mesh(
    path: str | Path,
    *,
    bending_stiffness: float | Profile | None = None,
    youngs_modulus: float | None = None,
    density: float | None = None,
    mass: float | None = None,
    damping: float | Sequence[float] = 0.0,
    pressure_gain: float | Sequence[float] | Literal["chambers"] = 0.0,
    poisson_ratio: float | None = None,
    valleys: int | Sequence[float] | None = None,
    units: str = "m",
    axis: Sequence[float] | None = None,
    up: Sequence[float] | None = None,
    base: Base = "auto",
    cells: int | None = None,
    name: str | None = None,
) -> SoftFinger:
    """Make a soft finger from its mesh: joints at the valleys, rigid links between them.

    The compliance of a joint is 1/k = ∫ ds/EI over its cell, half way to its neighbours or to the
    ends. Masses, centres of mass and boxes are those of the pieces. The finger's frame has its
    origin in the base face at the height of the first joint, +x towards the tip and +z to the
    bellows, so that a positive angle bends away from them.

    Args:
        path: STL, OBJ, PLY, GLB or OFF.
        bending_stiffness: EI, constant or a function of the distance from the base [N·m²].
        youngs_modulus: Instead: EI of every cross-section from its second moment of area; end
            pieces, which may be rounded, are at least as stiff as the softest valley [Pa].
        density: [kg/m³]
        mass: Instead: mass of the whole finger [kg].
        damping: Damping of the joints, one number or one per joint [N·m·s/rad].
        pressure_gain: Bending moment over pressure, one number or one per joint [N·m/Pa];
            ``chambers``: from the areas of the chambers in the mesh and their distances from the
            centroid of the material.
        poisson_ratio: Of ``chambers`` in a homogeneous elastic finger, whose walls widen: the gains
            are multiplied by 1 − 2ν (Betti's theorem). By default walls do not widen, as with
            fibres around them.
        valleys: Their positions from the base [m], or their number; detected by default.
        units: Unit of the file: m, dm, cm, mm or in.
        axis: Direction of the finger in the file's frame; detected by default.
        up: Direction to the bellows, away from which the finger bends, in the file's frame; by
            default that of the bellows or of the chamber.
        base: Which end is clamped: ``auto`` (the thicker, or else the flatter one), ``start`` or
            ``end`` (the lower or higher coordinate along the axis), or a point near it in the
            file's frame [m].
        cells: Divide the finger evenly, with a joint in the middle of each of so many cells,
            whatever valleys it has; by default only without valleys, into 8.
        name: Name of the finger; by default that of the file.

    Raises:
        DescriptionError: The file is not a closed mesh, is a lattice, has another number of
            valleys, or a number is missing or out of range.

    Warns:
        SoftgraspWarning: The mesh was repaired, its size is unusual, it has no valleys, or its base
            or its upper side is an assumption.
    """
    _check_one_of(bending_stiffness=bending_stiffness, youngs_modulus=youngs_modulus)
    _check_one_of(density=density, mass=mass)
    if poisson_ratio is not None and pressure_gain != "chambers":
        raise DescriptionError(
            'expected pressure_gain="chambers", found gains that hold for the walls as they are',
            field="poisson_ratio",
        )
    reading: dict[str, Any] = {
        "units": units, "axis": axis, "up": up, "base": base, "valleys": valleys, "cells": cells
    }  # fmt: skip
    sliced = slice_finger(path, **reading)
    stiffness = _stiffness_profile(sliced, bending_stiffness, youngs_modulus)
    compliances = joint_compliances(sliced.joints[:, 0], sliced.positions, stiffness)
    count = len(compliances)
    gains: Any = pressure_gain
    if isinstance(pressure_gain, str):
        chambers = _chamber_gains(sliced, stiffness, compliances, file=Path(path))
        gains = (_widening(poisson_ratio) * chambers).tolist()
    joints = tuple(
        SoftJoint(
            position=triple(position), stiffness=1.0 / compliance, damping=loss, pressure_gain=gain
        )
        for position, compliance, loss, gain in zip(
            sliced.joints,
            compliances.tolist(),
            _each("damping", damping, count),
            _each("pressure_gain", gains, count),
            strict=True,
        )
    )
    file, plural = Path(path), "s" * (count != 1)
    how = f"divided into {count} cell" if sliced.divided else f"sliced at {count} valley"
    return SoftFinger(
        name=name or file.stem,
        joints=joints,
        links=_links(sliced, density, mass),
        tip=triple(sliced.tip),
        source=f"{file.name}, {how}{plural}",
        mesh=_mesh(file, sliced, reading),
    )


def slice_finger(
    path: str | Path,
    *,
    units: str = "m",
    axis: Sequence[float] | None = None,
    up: Sequence[float] | None = None,
    base: Base = "auto",
    valleys: int | Sequence[float] | None = None,
    cells: int | None = None,
) -> SlicedFinger:
    """Align a mesh with +x, detect its valleys and cut it there; arguments of ``finger_from_mesh``.

    Raises:
        DescriptionError: The file is not a closed mesh, is a lattice, has another number of
            valleys, or an argument is out of range.

    Warns:
        SoftgraspWarning: The mesh was repaired, its size is unusual, it has no valleys, or its base
            or its upper side is an assumption.
    """
    file = Path(path)
    solid = _solid(file, units)
    axes, notes = finger_axes(solid, axis, up, base)
    vertices = solid.vertices @ axes.T
    try:
        sliced, how = _slice(vertices, solid.faces, axes, valleys, cells)
    except DescriptionError as error:
        raise error.located(file=file) from error
    size_warning = _size_warning(float(np.ptp(vertices[:, 0])), units)
    notes = tuple(note for note in (size_warning, *solid.notes, *notes, how) if note)
    for note in notes:
        warnings.warn(f"{file.name}: {note}", SoftgraspWarning, stacklevel=2)
    return replace(sliced, notes=notes)


def slice_again(mesh: FingerMesh) -> SlicedFinger | None:
    """Cut a finger's mesh as it was cut before; None where its file is missing or has changed."""
    if current_hashes([mesh.file])[mesh.file] != mesh.sha256:
        return None
    reading = mesh.model_dump(exclude={"file", "sha256", "notes"})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SoftgraspWarning)  # in its notes
        return slice_finger(resolve_file(mesh.file), **reading)


def _mesh(file: Path, sliced: SlicedFinger, reading: Mapping[str, Any]) -> FingerMesh:
    """Describe a mesh, and how it was read."""
    ((name, digest),) = input_hashes([file]).items()
    values: dict[str, Any] = {
        field: value if value is None or isinstance(value, str) else np.asarray(value).tolist()
        for field, value in reading.items()
    }
    return FingerMesh(file=name, sha256=digest, notes=sliced.notes, **values)


# Material
def _check_one_of(**numbers: object) -> None:
    """Require exactly one of two values, above zero."""
    present = [field for field, value in numbers.items() if value is not None]
    first, second = numbers
    if len(present) != 1:
        present_text = "both" if present else "neither"
        raise DescriptionError(f"expected {first} or {second}, found {present_text}", field=first)
    value = numbers[present[0]]
    if isinstance(value, int | float) and not 0.0 < value < np.inf:
        raise DescriptionError(f"expected a number above 0, found {value!r}", field=present[0])


def _stiffness_profile(
    sliced: SlicedFinger, bending_stiffness: float | Profile | None, youngs_modulus: float | None
) -> Array:
    """Compute the bending stiffness EI of the cross-sections [N·m²], (m,)."""
    if callable(bending_stiffness):
        values = np.asarray(bending_stiffness(sliced.positions), dtype=float)
        if values.shape not in ((), sliced.positions.shape):
            raise DescriptionError(
                f"expected one number or {len(sliced.positions)}, one per position, found shape "
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


def _chamber_gains(sliced: SlicedFinger, stiffness: Array, compliances: Array, file: Path) -> Array:
    """Compute gains that bend each joint as the pressure bends its cell, Σ = k·∫ gain/EI ds."""
    moments = sliced.chamber_moments
    highest = float(np.abs(moments).max())
    if not highest > 0.0 or float((moments / stiffness).sum()) <= 0.0:
        raise DescriptionError(
            "expected closed chambers on the side of the bellows, which bend the finger, found "
            f"{'others' if moments.any() else 'none'}: model them as inner surfaces of the mesh, "
            "give up (--up) where the bellows are on another side, or pressure_gain in N·m/Pa",
            file=file,
            field="pressure_gain",
        )

    def bending(part: Array) -> Array:
        """Bending of each cell over pressure, by moments of one sign."""
        return joint_compliances(
            sliced.joints[:, 0], sliced.positions, stiffness / np.maximum(part, 1e-9 * highest)
        )

    bends = bending(np.maximum(moments, 0.0))
    if (moments < -1e-9 * highest).any():
        bends = bends - bending(np.maximum(-moments, 0.0))
    return np.asarray(bends / compliances)


def _widening(poisson_ratio: float | None) -> float:
    """Factor of the gains of chambers whose walls widen under pressure."""
    if poisson_ratio is None:
        return 1.0
    if not 0.0 <= poisson_ratio < 0.5:
        raise DescriptionError(
            f"expected 0 to 0.5, exclusive, found {poisson_ratio:g}; rubber has about 0.49",
            field="poisson_ratio",
        )
    return 1.0 - 2.0 * poisson_ratio


def _each(field: str, value: float | Sequence[float], count: int) -> list[float]:
    numbers = np.asarray(value, dtype=float)
    if numbers.shape not in ((), (count,)):
        raise DescriptionError(
            f"expected one number or {count}, one per joint, found {numbers.size}", field=field
        )
    return [float(number) for number in np.broadcast_to(numbers, count)]


def _links(sliced: SlicedFinger, density: float | None, mass: float | None) -> tuple[SoftLink, ...]:
    whole = sum(piece.volume for piece in sliced.pieces)
    density = density if mass is None else mass / whole
    assert density is not None  # one of the two is given
    return tuple(
        SoftLink(center=triple(piece.center), mass=density * piece.volume, size=piece.size)
        for piece in sliced.pieces
    )


# Geometry
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
            "expected a closed surface to slice, found a mesh that cannot be repaired: "
            f"{'; '.join(solid.notes)}",
            file=file,
        )
    return solid


def _slice(
    vertices: Array,
    faces: Faces,
    axes: Array,
    valleys: int | Sequence[float] | None,
    cells: int | None,
) -> tuple[SlicedFinger, str]:
    """Cut a mesh whose coordinates are along the axes of the finger; also return an assumption."""
    begin, end = float(vertices[:, 0].min()), float(vertices[:, 0].max())
    stations = begin + (np.arange(SECTIONS) + 0.5) / SECTIONS * (end - begin)
    outer = _fill_sections(vertices, faces, stations)
    _require_no_lattice(part_counts(vertices, faces, stations, SMALLEST_PART), axes[0])
    filled = outer.areas
    low, high = extents(vertices, faces, stations)
    heights = filled / np.median(high[:, 0] - low[:, 0])
    base = _base_face(begin, stations, filled)
    at, how = _positions(stations - base, heights, end - base, valleys, cells)
    tip = end - min(TIP * (end - base), 0.5 * (end - base - at[-1]))
    levels = sections(vertices, faces, np.append(at + base, tip)).centers[:, 1]
    origin = np.array([base, 0.5 * (low[:, 0] + high[:, 0]).mean(), levels[0]])
    material = sections(vertices, faces, stations)
    chambers = outer.areas * (outer.centers[:, 1] - material.centers[:, 1])
    moments = material.second_moments
    inner = (stations > base) & (stations < end)
    cavities = (
        side[inner, 1] - origin[2] for side in extents(vertices, faces, stations, holes=True)
    )
    frame = np.eye(4)
    frame[:3, :3], frame[:3, 3] = axes.T, axes.T @ origin
    sliced = SlicedFinger(
        transform=frame,
        joints=np.stack([at, np.zeros_like(at), levels[:-1] - levels[0]], -1),
        tip=np.array([end - base, 0.0, levels[-1] - levels[0]]),
        pieces=tuple(slices(vertices - origin, faces, at)),
        positions=np.concatenate([[0.0], stations[inner] - base, [end - base]]),
        heights=np.pad(heights[inner], 1, mode="edge"),
        centers=np.pad(material.centers[inner, 1] - origin[2], 1, mode="edge"),
        chamber_areas=np.pad((filled - material.areas)[inner], 1),
        chamber_sides=np.pad(np.stack([*cavities], -1), ((1, 1), (0, 0)), constant_values=np.inf),
        second_moments=np.pad(moments[inner], 1, mode="edge"),
        chamber_moments=np.pad(chambers[inner], 1),
        divided=cells is not None or bool(how),
    )
    return sliced, how


def _fill_sections(vertices: Array, faces: Faces, stations: Array) -> Sections:
    """Compute cross-sections with filled chambers; refuse a gap in the finger."""
    outer = sections(vertices, faces, stations, filled=True)
    gaps = stations[np.flatnonzero(outer.areas[1:-1] <= 0.0) + 1]
    if len(gaps):
        raise DescriptionError(
            "expected one body from base to tip, found a gap "
            f"{1e3 * (gaps[0] - vertices[:, 0].min()):.3g} mm from an end"
        )
    return outer


def _base_face(begin: float, stations: Array, areas: Array) -> float:
    """Find the base: where sections first have half of the area behind, robust against noise."""
    near = stations < stations[0] + BASE_FACE * (stations[-1] - stations[0])
    half = 0.5 * areas[near].max()
    first = int(np.argmax(areas >= half))
    if first == 0:
        return begin
    fraction = (half - areas[first - 1]) / (areas[first] - areas[first - 1])
    return float(stations[first - 1] + fraction * (stations[first] - stations[first - 1]))


def _require_no_lattice(parts: NDArray[np.intp], axis: Array) -> None:
    """Refuse a finger whose sections fall into parts, such as a fin-ray."""
    fraction = float(np.mean(parts > 1))
    if fraction > LATTICE:
        raise DescriptionError(
            "expected one body with closed chambers, found a fin-ray or another lattice: "
            f"{100.0 * fraction:.0f} % of its sections across {point_text(axis)} "
            "fall into separate parts. Contact bends it, not pressure: describe it as rigid ribs "
            "with springs in their joints (URDF or MJCF with joint stiffness), fill its openings "
            "and give cells (--cells) for a beam, or give axis (--axis) where it is another"
        )


def _positions(
    stations: Array,
    heights: Array,
    length: float,
    positions: int | Sequence[float] | None,
    cells: int | None,
) -> tuple[Array, str]:
    """Return the positions of the joints from the base, and an assumption about them."""
    if cells is not None:
        problem = "" if positions is None else "cells or valleys, found both"
        if not problem and (not float(cells).is_integer() or cells < 1):
            problem = f"a whole number from 1 on, found {cells}"
        if problem:
            raise DescriptionError(f"expected {problem}", field="cells")
        return _middles(int(cells), length), ""
    if positions is None or isinstance(positions, int | np.integer):
        expected = None if positions is None else int(positions)
        valleys = find_valleys(stations, heights, expected).positions
        if len(valleys):
            return valleys, ""
        return _middles(CELLS, length), (
            f"no valleys between bellows; the finger is divided evenly into {CELLS} cells, give "
            "cells=N, --cells N, for another number, or valleys=(…), --valleys …"
        )
    return _check(positions, length), ""


def _middles(cells: int, length: float) -> Array:
    return np.asarray((np.arange(cells) + 0.5) / cells * length)


def _check(positions: Sequence[float], length: float) -> Array:
    """Check positions of valleys from the base [m]."""
    at = np.asarray(positions, dtype=float)
    bounds = np.concatenate([[0.0], at.ravel(), [length]])
    if at.ndim != 1 or not len(at) or not (np.diff(bounds) > 0.0).all():
        raise DescriptionError(
            f"expected ascending positions between 0 and {length:.4g} m from the base, found "
            f"{positions}",
            field="valleys",
        )
    return at


def _size_warning(length: float, units: str) -> str:
    """Warn about an implausible unit, with a suggestion."""
    if SMALLEST <= length <= LARGEST:
        return ""
    metres = length / LENGTH_UNITS[units]
    fitting = [item for item, f in LENGTH_UNITS.items() if USUAL[0] <= metres * f <= USUAL[1]]
    guess = min(fitting, key=lambda unit: unit not in ("mm", "m"), default="")
    cure = f"is the file in {guess}? Give units='{guess}'" if guess else "check its units"
    return f"the finger is {length:.3g} m long; {cure}"


# Hands
def soft_hand_from_mesh(
    path: str | Path,
    *,
    fingers: int,
    opening: float,
    pressure: float | None = None,
    youngs_modulus: float = SILICONE_MODULUS,
    poisson_ratio: float | None = None,
    units: str | None = None,
    valleys: int | Sequence[float] | None = None,
    cells: int | None = None,
    axis: Sequence[float] | None = None,
    up: Sequence[float] | None = None,
    base: Base = "auto",
) -> Hand:
    """Make a hand of equal soft fingers around a circle, pointing down, from the mesh of one.

    The finger is of silicone, and its chambers are those of the mesh.

    Args:
        path: Mesh of the finger with its chambers.
        fingers: Number of fingers.
        opening: Diameter of the circle between the flat sides of the straight fingers [m].
        pressure: Working pressure of the grasps, the limit of the fingers [Pa]; by default it is
            searched for each object, up to what bends a free finger by half a turn.
        youngs_modulus: [Pa]
        poisson_ratio: As of ``finger_from_mesh``: of walls that widen; by default they do not.
        units: Unit of the file; by default m, or mm where the finger would be longer than 1 m.
        valleys: As of ``finger_from_mesh``.
        cells: As of ``finger_from_mesh``.
        axis: As of ``finger_from_mesh``.
        up: As of ``finger_from_mesh``.
        base: As of ``finger_from_mesh``.

    Raises:
        DescriptionError: The number of fingers, the opening or the pressure is out of range, or as
            ``finger_from_mesh``.

    Warns:
        SoftgraspWarning: The file is taken to be in mm, or as ``finger_from_mesh``.
    """
    if not 2 <= fingers <= MAX_FINGERS:
        raise DescriptionError(f"expected 2 to {MAX_FINGERS}, found {fingers}", field="fingers")
    for field, value in {"opening": opening, "pressure": pressure}.items():
        if value is not None and not 0.0 < value < np.inf:
            raise DescriptionError(f"expected a number above 0, found {value:g}", field=field)
    file = Path(path)
    finger = finger_from_mesh(
        file,
        youngs_modulus=youngs_modulus,
        density=SILICONE_DENSITY,
        pressure_gain="chambers",
        poisson_ratio=poisson_ratio,
        units=unit_of_mesh(file) if units is None else units,
        valleys=valleys,
        cells=cells,
        axis=axis,
        up=up,
        base=base,
    )
    joints = (joint.replace(damping=SILICONE_LOSS * joint.stiffness) for joint in finger.joints)
    finger = finger.replace(joints=tuple(joints))
    limit = float(f"{np.pi / finger.bending:.2g}") if pressure is None else pressure
    low = min(link.center[2] - 0.5 * link.size[2] for link in finger.links)
    high = max(link.center[2] + 0.5 * link.size[2] for link in finger.links)
    radius = 0.5 * opening - low
    hanging = rotate_about("y", 0.5 * np.pi)  # from the palm, bending to the middle
    grasp = GraspPreset(
        center=(0.0, 0.0, -CENTER_FRACTION * finger.tip[0]),
        rates=Rates([limit / CLOSING_TIME]),
        pressure=limit,
        from_above=True,
        per_object=pressure is None,
    )
    palm = Cylinder(radius=radius + high, height=PALM_HEIGHT)
    return Hand(
        name=f"{finger.name}_{fingers}",
        soft_fingers=tuple(
            MountedSoftFinger(
                name=f"F{index + 1}",
                base=pose_of(rotate_about("z", angle) @ translate(x=radius) @ hanging),
                finger=finger,
                limits=(0.0, limit),
            )
            for index, angle in enumerate(2.0 * np.pi * k / fingers for k in range(fingers))
        ),
        palm=Palm(kind="shape", shape=palm, pose=Pose(position=(0.0, 0.0, 0.5 * PALM_HEIGHT))),
        contact=SILICONE_CONTACT,
        grasps=Grasps(power=grasp, precision=grasp),
        source=f"{fingers} fingers, {finger.source}",
        notes=() if finger.mesh is None else finger.mesh.notes,
    )


def unit_of_mesh(file: Path) -> LengthUnit:
    """Return m, or mm for the mesh of a finger that would be longer than 1 m.

    Warns:
        SoftgraspWarning: It is taken to be in mm.
    """
    vertices, _ = read_triangles(file)
    if float(np.ptp(vertices, axis=0).max()) <= 1.0:
        return "m"
    warnings.warn(
        f"{file.name}: the finger would be longer than 1 m; the file is taken to be in mm",
        SoftgraspWarning,
        stacklevel=3,
    )
    return "mm"
