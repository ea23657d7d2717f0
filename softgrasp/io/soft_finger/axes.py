"""A soft finger in its CAD mesh: axis, clamped end, side with the bellows, valleys between them.

The side is that of the bellows, or else that to which the chamber is displaced from the centroid of
the material: pressure bends the finger away from it. The clamped end is the one into which the
chamber opens, the thicker one, or the one with the larger flat face.

A valley is a minimum of the smoothed height. Its prominence (height that has to be climbed to leave
it towards the lower side) is at least ``MIN_DEPTH`` of the median height, which surface noise does
not reach, and at least ``MIN_DEPTH_RATIO`` of the most prominent one, which ripples on the bellows
do not reach. Minima between which the height does not rise by ``MIN_DEPTH`` are one valley: a flat
bottom has several.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.ndimage import gaussian_filter1d
from scipy.signal import find_peaks, peak_widths

from softgrasp.errors import DescriptionError, did_you_mean
from softgrasp.io.mesh_repair import Solid, piece_labels
from softgrasp.io.mesh_sections import Sections, extents, sections
from softgrasp.mechanics.transforms import Array

Base: TypeAlias = Literal["auto", "start", "end"] | Sequence[float]
SAMPLES = 200
"""Number of cross-sections from which the sides are determined."""
ONE_SIDED = 0.5
"""Correlation of areas and centroids of sections, above which the bellows are on one side [–]."""
FLATTER = 0.5
"""Deviation of a side from a line over that of the other side, if it is flat [–]."""
FLAT = 0.002
"""Deviation of a side from a line over the height, below which it is flat [–]."""
STUBBY = 2.0
"""Ratio of the two smaller moments of inertia, below which the principal axis is doubtful [–]."""
HEAVY = 0.005
"""Offset of the centre of mass over the length, above which one end is thicker [–]."""
ENDS = 0.05
"""Fraction of the length that belongs to an end face, which may be tilted to the axis [–]."""
ACROSS = 0.2
"""Sine of the angle to the axis, above which a direction is across the finger [–]."""
LARGER = 1.5
"""Ratio of the flat areas of the ends, above which the larger one is the base [–]."""
BULGES = 0.01
"""Deviation of the areas of sections from a line over their mean, above which there are bellows."""
HOLLOW = 0.02
"""Fraction of the sections that is hollow, above which there is a chamber [–]."""
DISPLACED = 0.02
"""Distance of the chamber from the material over the size of a section, weighted [–]."""
OPENING = (0.01, 0.02, 0.03)
"""Fractions of the length between an end and the sections that show whether the chamber opens."""
FACING = 0.9
"""Cosine of the angle to the axis, above which a face is normal to the finger [–]."""
SMOOTHING = 0.002
"""Standard deviation of the smoothing over the length of the profile [–]."""
MIN_DEPTH = 0.03
"""Smallest prominence of a valley over the median height [–]."""
MIN_DEPTH_RATIO = 0.15
"""Smallest prominence of a valley over that of the deepest [–]."""
STANDS_OUT = 2.0
"""Smallest ratio of prominences of the last expected valley and the first unexpected one [–]."""
BOTTOM = 0.05
"""Fraction of the prominence of a valley that belongs to its bottom [–]."""


def finger_axes(
    solid: Solid,
    axis: Sequence[float] | None = None,
    up: Sequence[float] | None = None,
    base: Base = "auto",
) -> tuple[Array, tuple[str, ...]]:
    """Determine the axes of a finger in its mesh.

    +x is the principal axis of the solid, rotated in the bending plane until it is parallel to the
    lower or upper side, if one is flat. +z points to the side with the bellows: the centroid of a
    section moves there as its area grows along the finger, chambers counted as material. Without
    bellows on one side, it points to the side of the chamber. The base is the end into which the
    chamber opens, or else the thicker one, or else the one with the larger flat face.

    Args:
        solid: The mesh.
        axis: Direction of the finger in the file's frame; detected by default.
        up: Direction to the side with the bellows; detected by default.
        base: ``start`` or ``end``: the end with the lower or higher coordinate along ``axis`` (by
            default along the nearest axis of the file); a point near the base; or ``auto``.

    Returns:
        Unit vectors x, y, z of the finger in the file's frame, (3, 3) by rows, and warnings about
        assumptions.

    Raises:
        DescriptionError: A direction is zero, ``up`` is along the finger, or there is no such base.
    """
    if axis is None:
        x = np.linalg.eigh(solid.inertia)[1][:, 0]  # of smallest inertia
        x = np.asarray(x * np.sign(x[np.argmax(np.abs(x))]))
    else:
        x = _unit(axis, "axis")
    z, warning = _upper(solid, x, up)
    doubt = ""
    if axis is None:
        x, is_flat = _along_flat_side(solid, x, z)
        z, warning = _upper(solid, x, up)
        doubt = _axis_doubt(solid, _axes(x, z), is_flat=is_flat)
    is_reversed, base_warning = _is_reversed(solid, x, base)
    axes = _axes(-x if is_reversed else x, z)
    return axes, tuple(text for text in (doubt, warning, base_warning) if text)


def _upper(solid: Solid, x: Array, up: Sequence[float] | None) -> tuple[Array, str]:
    return _detect_up(solid, x) if up is None else (_square_to(x, up), "")


def _detect_up(solid: Solid, x: Array) -> tuple[Array, str]:
    """Return the direction to the bellows, or else to the chamber, or else the thin axis."""
    basis = _axes(x, _square_to(x, np.eye(3)[np.argmin(np.abs(x))]))
    vertices = solid.vertices @ basis.T
    stations = _stations(vertices)
    outer = sections(vertices, solid.faces, stations, filled=True)
    growth = _from_line(stations, outer.areas[:, None])
    moves = _from_line(stations, outer.centers)
    net, gross = growth[:, 0] @ moves, np.linalg.norm(growth) * np.linalg.norm(moves)
    bulges = float(np.std(growth)) > BULGES * float(np.mean(outer.areas))
    chamber = _to_chamber(outer, sections(vertices, solid.faces, stations))
    if bulges and np.linalg.norm(net) > ONE_SIDED * gross:
        z = np.asarray(net @ basis[1:] / np.linalg.norm(net))
        if chamber is None or _bending(solid, _axes(x, z)) >= 0.0:
            return z, ""
        return -z, (
            "its chambers lie so low that pressure bends it towards its bellows; the finger is "
            f"taken to bend away from {point_text(-z)}, give up=(x, y, z), --up X Y Z, for another "
            "side"
        )
    if chamber is not None:
        return np.asarray(chamber @ basis[1:]), ""
    z = _square_to(x, np.linalg.eigh(solid.inertia)[1][:, 2])
    z = z * np.sign(z[np.argmax(np.abs(z))])
    return z, (
        "no side has the bellows or the chamber alone; the finger is taken to bend away from "
        f"{point_text(z)}, give up=(x, y, z), --up X Y Z, for another side"
    )


def _bending(solid: Solid, axes: Array) -> float:
    """Return the bending over pressure and compliance away from +z, ∫ A·e/I dx."""
    vertices = solid.vertices @ axes.T
    stations = _stations(vertices)
    outer = sections(vertices, solid.faces, stations, filled=True)
    material = sections(vertices, solid.faces, stations)
    moments = outer.areas * (outer.centers[:, 1] - material.centers[:, 1])
    return float(np.sum(moments / material.second_moments))


def _to_chamber(outer: Sections, material: Sections) -> Array | None:
    """Return the direction (y, z) from the material to the chamber, which pressure bends away from.

    Thin sections bend most; their weight falls with the square of their area. None without a
    chamber, or with one in the middle.
    """
    hollow = outer.areas - material.areas
    if not hollow.sum() > HOLLOW * outer.areas.sum() or not np.isfinite(outer.centers).all():
        return None
    weights = np.maximum(material.areas, 0.1 * material.areas.max()) ** -2.0
    moments = weights[:, None] * outer.areas[:, None] * (outer.centers - material.centers)
    moment = moments.sum(axis=0)
    size = float(np.linalg.norm(moment))
    if size <= DISPLACED * float((weights * hollow * np.sqrt(outer.areas)).sum()):
        return None
    return np.asarray(moment / size)


def _along_flat_side(solid: Solid, x: Array, z: Array) -> tuple[Array, bool]:
    """Return x parallel to the side at −z, or else at +z, that is flat; and whether one is."""
    (lower_x, lower), (upper_x, upper) = (_along_side(solid, x, up) for up in (z, -z))
    flat = FLAT * float(np.ptp(solid.vertices @ z))
    if lower <= max(FLATTER * upper, flat):
        return lower_x, True
    return (upper_x, True) if upper <= max(FLATTER * lower, flat) else (x, False)


def _along_side(solid: Solid, x: Array, up: Array) -> tuple[Array, float]:
    """Return x parallel to the lower side, and the deviation of that side from a line along it [m].

    The slope is the median over pairs of stations half the finger apart, which rounded ends, and
    sections through end faces that are not square to x, do not affect.
    """

    def lower_side(x: Array, up: Array) -> tuple[Array, Array]:
        vertices = solid.vertices @ _axes(x, up).T
        stations = _stations(vertices)
        return stations, extents(vertices, solid.faces, stations)[0][:, 1]

    stations, heights = lower_side(x, up)
    half = SAMPLES // 2
    slope = np.median(heights[half:] - heights[:half]) / (stations[half] - stations[0])
    x = np.asarray((x + slope * up) / np.hypot(1.0, slope))
    return x, float(np.std(_from_line(*lower_side(x, _square_to(x, up)))))


def _axis_doubt(solid: Solid, axes: Array, *, is_flat: bool) -> str:
    """Warn of a finger that is hardly longer than wide, unless a flat side and valleys show it."""
    small, large = np.linalg.eigvalsh(solid.inertia)[:2].tolist()
    if large > STUBBY * small:
        return ""
    vertices = solid.vertices @ axes.T
    stations = _stations(vertices)
    outer = sections(vertices, solid.faces, stations, filled=True)
    if is_flat and len(find_valleys(stations, outer.areas).positions):
        return ""
    return (
        "the finger is hardly longer than wide; its axis is taken to be "
        f"{point_text(axes[0])}, give axis=(x, y, z), --axis X Y Z, for another"
    )


def _stations(vertices: Array) -> Array:
    """Stations of cross-sections along x, without the end faces."""
    begin, end = vertices[:, 0].min(), vertices[:, 0].max()
    margin = ENDS * (end - begin)
    return np.linspace(begin + margin, end - margin, SAMPLES)


def _from_line(stations: Array, values: Array) -> Array:
    """Return residuals of values (n,) or columns (n, d) after a linear fit over positions (n,)."""
    basis = np.stack([np.ones_like(stations), stations - stations.mean()], -1)
    return np.asarray(values - basis @ np.linalg.lstsq(basis, values)[0])


def _is_reversed(solid: Solid, x: Array, base: Base) -> tuple[bool, str]:
    """Return whether the base is at the far end along x, with a warning if that is assumed."""
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
    opens = [_opens(solid, outward, stop) for outward, stop in ((-x, -begin), (x, end))]
    if opens[0] != opens[1]:
        return opens[1], ""
    lead = float(solid.center_of_mass @ x - 0.5 * (begin + end)) / (end - begin)
    if abs(lead) > HEAVY:
        return lead > 0.0, ""
    flat = _end_areas(solid, x, begin, end)
    if max(flat) > LARGER * min(flat):
        return flat[1] > flat[0], ""
    lowest_point = solid.vertices[np.argmin(along)]
    return False, (
        f"both ends look alike; the base is taken to be the one near {point_text(lowest_point)} m, "
        "give base='end', --base end, for the other"
    )


def _opens(solid: Solid, outward: Array, end: float) -> bool:
    """Return whether a chamber is open at the end in a direction; ``end`` is along it [m].

    A closed chamber is a surface of its own, an open one belongs to the outside.
    """
    labels = piece_labels(solid.vertices, solid.faces)
    a, b, c = solid.vertices[solid.faces].transpose(1, 0, 2)
    areas = np.bincount(labels, weights=np.linalg.norm(np.cross(b - a, c - a), axis=1))
    skin = solid.faces[labels == np.argmax(areas)]
    basis = _axes(outward, _square_to(outward, np.eye(3)[np.argmin(np.abs(outward))]))
    vertices = solid.vertices @ basis.T
    length = float(np.ptp(vertices[:, 0]))
    stations = end - length * np.array(OPENING[::-1])
    outer = sections(vertices, skin, stations, filled=True).areas
    hollow = outer - sections(vertices, skin, stations).areas
    return bool((hollow > HOLLOW * outer).all())


def _end_areas(solid: Solid, x: Array, begin: float, end: float) -> tuple[float, float]:
    """Area of the faces normal to the axis at both ends [m²]."""
    a, b, c = solid.vertices[solid.faces].transpose(1, 0, 2)
    vectors = 0.5 * np.cross(b - a, c - a)
    forward, middles = vectors @ x, (a + b + c) @ x / 3.0
    facing = np.abs(forward) > FACING * np.linalg.norm(vectors, axis=1)
    margin = ENDS * (end - begin)
    at_begin = facing & (forward < 0.0) & (middles < begin + margin)
    at_end = facing & (forward > 0.0) & (middles > end - margin)
    return float(-forward[at_begin].sum()), float(forward[at_end].sum())


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
            f"expected a direction across the finger, found {point_text(direction)} along it",
            field="up",
        )
    return np.asarray(z / np.linalg.norm(z))


def point_text(point: Array) -> str:
    """Format a direction or a point (3,) for a message."""
    return "(" + ", ".join(f"{value:.3g}" for value in (point.round(6) + 0.0).tolist()) + ")"


# Valleys
class Valleys(NamedTuple):
    """Valleys between the bellows of a finger's profile, in order."""

    positions: Array
    """Along the axis, in the middle of the bottom [m], (n,)."""
    depths: Array
    """Prominences [m], (n,)."""


def find_valleys(positions: ArrayLike, heights: ArrayLike, expected: int | None = None) -> Valleys:
    """Detect the valleys of a profile, with sub-sample resolution; there may be none.

    Args:
        positions: Evenly spaced and ascending [m], (m,).
        heights: Height of the finger [m], (m,).
        expected: Number of valleys, if known; the deepest ones are taken if they are clearly
            deeper than the others.

    Raises:
        DescriptionError: There is not the expected number; the message has those detected.
    """
    along, profile = np.asarray(positions, dtype=float), np.asarray(heights, dtype=float)
    smooth = gaussian_filter1d(profile, SMOOTHING * len(profile))
    min_depth = MIN_DEPTH * float(np.median(smooth))
    minima, properties = find_peaks(-smooth, prominence=min_depth)
    separate = _separate(smooth, minima, min_depth)
    minima = minima[separate]
    left, right = peak_widths(-smooth, minima, rel_height=BOTTOM)[2:]
    middles = np.interp(0.5 * (left + right), np.arange(len(along)), along)
    valleys = Valleys(middles, properties["prominences"][separate])
    if expected is not None:
        return _deepest(valleys, expected, min_depth)
    deep = valleys.depths >= MIN_DEPTH_RATIO * valleys.depths.max(initial=0.0)
    return Valleys(*(values[deep] for values in valleys))


def _separate(smooth: Array, minima: NDArray[np.intp], min_depth: float) -> NDArray[np.intp]:
    """Return indices of minima from which the profile rises by ``min_depth`` before the next.

    Prominences do not distinguish equally deep minima of one flat bottom.
    """
    kept: list[int] = []
    for index, here in enumerate(minima):
        if kept:
            before = minima[kept[-1]]
            higher = max(smooth[before], smooth[here])
            if smooth[before : here + 1].max() - higher < min_depth:
                if smooth[here] < smooth[before]:
                    kept[-1] = index
                continue
        kept.append(index)
    return np.array(kept, dtype=np.intp)


def _deepest(valleys: Valleys, count: int, min_depth: float) -> Valleys:
    order = np.argsort(valleys.depths)[::-1]
    if count < 1:
        raise DescriptionError(f"expected at least 1 valley, found {count}")
    if len(order) < count:
        raise _refused(f"{count} valley{'s' * (count != 1)} between bellows", valleys, min_depth)
    taken, left = order[:count], order[count:]
    if len(left) and valleys.depths[taken[-1]] < STANDS_OUT * valleys.depths[left[0]]:
        raise _refused(f"{count} valley{'s' * (count != 1)} deeper than others", valleys, min_depth)
    return Valleys(*(values[np.sort(taken)] for values in valleys))


def _refused(expected: str, valleys: Valleys, min_depth: float) -> DescriptionError:
    positions, depths = (
        ", ".join(f"{x:.3g}" for x in (1e3 * valley).tolist()) for valley in valleys
    )
    detected = f"none that is {min_depth * 1e3:.2g} mm deep"
    if positions:
        detected = f"{len(valleys.depths)}, at {positions} mm and {depths} mm deep"
    return DescriptionError(
        f"expected {expected}, found {detected}; give their positions along the finger, from the "
        "base in metres, such as valleys=(0.008, 0.016), --valleys 8mm,16mm"
    )
