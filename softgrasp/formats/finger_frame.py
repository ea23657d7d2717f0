"""Where a finger lies in its mesh: its axis, its base, and the side with the bellows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from softgrasp.errors import DescriptionError, did_you_mean
from softgrasp.formats.mesh_sections import extents, sections
from softgrasp.formats.mesh_solid import Solid
from softgrasp.mechanics.transforms import Array

Faces: TypeAlias = NDArray[np.int64]

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
