"""Orientation of a soft finger in its CAD mesh: axis, clamped end, and side with the bellows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

import numpy as np

from softgrasp.errors import DescriptionError, did_you_mean
from softgrasp.io.mesh_repair import Solid
from softgrasp.io.mesh_sections import Faces, extents, sections
from softgrasp.mechanics.transforms import Array

Base: TypeAlias = Literal["auto", "start", "end"] | Sequence[float]
SAMPLES = 200
"""Number of cross-sections from which the sides are determined."""
ONE_SIDED = 0.5
"""Correlation of areas and centroids of sections, above which the bellows are on one side [–]."""
FLATTER = 0.5
"""Deviation of the lower side from a line over that of the upper side, if it is flat [–]."""
HEAVY = 0.005
"""Offset of the centre of mass over the length, above which one end is thicker [–]."""
ENDS = 0.05
"""Fraction of the length that belongs to an end face, which may be tilted to the axis [–]."""
ACROSS = 0.2
"""Sine of the angle to the axis, above which a direction is across the finger [–]."""
LARGER = 1.5
"""Ratio of the flat areas of the ends, above which the larger one is the base [–]."""
FACING = 0.9
"""Cosine of the angle to the axis, above which a face is normal to the finger [–]."""


def finger_axes(
    solid: Solid,
    axis: Sequence[float] | None = None,
    up: Sequence[float] | None = None,
    base: Base = "auto",
) -> tuple[Array, tuple[str, ...]]:
    """Determine the axes of a finger in its mesh.

    +x is the principal axis of the solid, rotated in the bending plane until it is parallel to the
    lower side, if that is flat. +z points to the side with the bellows: the centroid of a section
    moves there as its area grows along the finger, chambers counted as material. The base is the
    thicker end, or else the one with the larger flat face.

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
    x = _principal(solid) if axis is None else _unit(axis, "axis")
    z, warning = _detected_up(solid, x) if up is None else (_square_to(x, up), "")
    if axis is None:
        slope = _lower_slope(solid.vertices @ _axes(x, z).T, solid.faces)
        x = (x + slope * z) / np.hypot(1.0, slope)
        z = _square_to(x, z)
    is_reversed, base_warning = _is_reversed(solid, x, base)
    axes = _axes(-x if is_reversed else x, z)
    return axes, tuple(text for text in (warning, base_warning) if text)


def _principal(solid: Solid) -> Array:
    """Axis of smallest inertia, with its largest coordinate positive."""
    x = np.linalg.eigh(solid.inertia)[1][:, 0]
    return np.asarray(x * np.sign(x[np.argmax(np.abs(x))]))


def _detected_up(solid: Solid, x: Array) -> tuple[Array, str]:
    """Return the direction in which section centroids move as sections grow, or the thin axis."""
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
    """Return the slope of the lower side along x if it is flat, else 0; x along, z up.

    It is the median over pairs of stations half the finger apart, which rounded ends do not affect.
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
    """Stations of cross-sections along x, without the end faces."""
    begin, end = vertices[:, 0].min(), vertices[:, 0].max()
    margin = ENDS * (end - begin)
    return np.linspace(begin + margin, end - margin, SAMPLES)


def _from_line(stations: Array, values: Array) -> Array:
    """Return residuals of columns (n, d) after a linear fit over positions (n,)."""
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
            f"expected a direction across the finger, found {_text(direction)} along it",
            field="up",
        )
    return np.asarray(z / np.linalg.norm(z))


def _text(point: Array) -> str:
    """Format a direction or a point for a message."""
    return "(" + ", ".join(f"{value:.3g}" for value in (point.round(6) + 0.0).tolist()) + ")"
