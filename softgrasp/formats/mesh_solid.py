"""From a surface of triangles to a solid: closed, outward, with volume and inertia.

A surface that is not closed or not consistently wound is mended where that can be done honestly,
and every mending is reported as a sentence with its numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
import trimesh
from numpy.typing import NDArray
from scipy.spatial import ConvexHull, QhullError

from softgrasp.errors import DescriptionError
from softgrasp.formats.mesh_repair import (
    LARGEST_CAP,
    caps_of,
    distinct,
    outward,
    percent,
    signed_volume,
    wound_alike,
)

Array: TypeAlias = NDArray[np.float64]
Faces: TypeAlias = NDArray[np.int64]

FLAT = 1e-6
"""A hull with less than this part of the cube of its extent is flat [–]."""


class Mending(NamedTuple):
    """One thing that was mended or assumed on the way from a surface to a solid."""

    kind: str
    """``folds``, ``winding``, ``watertight``, ``direction``, or ``hull`` where that stands in."""
    note: str
    numbers: Mapping[str, float]


@dataclass(frozen=True)
class Solid:
    """A solid body of uniform density in the frame of its vertices."""

    vertices: Array
    """(n, 3)"""
    faces: Faces
    """(m, 3), outward by the right-hand rule."""
    volume: float
    center_of_mass: Array
    """(3,)"""
    inertia: Array
    """(3, 3) about the centre of mass, for density 1."""
    hull_volume: float
    closed: bool
    """The faces bound the volume; else volume and inertia are those of the convex hull."""
    mended: tuple[Mending, ...] = ()
    """What was mended or assumed."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What was mended or assumed, in words."""
        return tuple(one.note for one in self.mended)


class Hull(NamedTuple):
    """A convex hull: its own vertices only, faces outward."""

    vertices: Array
    faces: Faces
    volume: float


def make_solid(vertices: Array, faces: Faces) -> Solid:
    """A solid from a surface; mends winding, direction and holes, and says so in its notes.

    Holes are closed by a fan from the middle of their rim. Where the holes are large, or what
    comes out has no volume or more than its convex hull, mass properties are the hull's.

    Args:
        vertices: (n, 3).
        faces: (m, 3), indices of vertices.

    Raises:
        DescriptionError: The surface is flat.
    """
    origin = (vertices.min(axis=0) + vertices.max(axis=0)) / 2
    vertices = vertices - origin
    hull = hull_of(vertices)
    face_count = len(faces)
    faces, twice_note = distinct(faces)
    before = faces
    faces, winding_note = wound_alike(faces)
    caps = caps_of(vertices, faces)
    points, closed = np.vstack([vertices, caps.middles]), np.vstack([faces, caps.fans])
    wound = closed
    closed, direction_note = outward(points, closed)
    volume = signed_volume(points, closed)
    whole = caps.fraction <= LARGEST_CAP and 0 < volume <= hull.volume * (1 + 1e-6)
    fallback = "" if whole else _fallback_note(volume, hull.volume, caps.fraction)
    repairs = (
        Mending("folds", twice_note, {"faces_fewer": face_count - len(faces)}),
        Mending("winding", winding_note, {"faces_turned": _differing(before, faces)}),
        Mending(
            "watertight",
            caps.note,
            {"open_edges": len(caps.fans), "holes": len(caps.middles), "fraction": caps.fraction},
        ),
        Mending("direction", direction_note, {"faces_turned": _differing(wound, closed)}),
        Mending("hull", fallback, {"cap_share": caps.fraction, "to_hull": volume / hull.volume}),
    )
    body = points[closed] if whole else hull.vertices[hull.faces]
    properties = trimesh.triangles.mass_properties(body)
    return Solid(
        vertices=(points if whole else vertices) + origin,
        faces=closed if whole else faces,
        volume=float(properties.volume),
        center_of_mass=np.asarray(properties.center_mass) + origin,
        inertia=np.asarray(properties.inertia),
        hull_volume=hull.volume,
        closed=whole,
        mended=tuple(one for one in repairs if one.note),
    )


def _differing(before: Faces, after: Faces) -> int:
    """How many faces have been turned."""
    return int((before != after).any(axis=1).sum())


def hull_of(vertices: Array) -> Hull:
    """The convex hull of points (n, 3).

    Raises:
        DescriptionError: The points lie in a plane.
    """
    size = np.ptp(vertices, axis=0)
    try:
        hull = ConvexHull(vertices)
    except QhullError:
        hull = None
    if hull is None or hull.volume < FLAT * size.max() ** 3:
        sizes = " x ".join(f"{extent * 1e3:.3g}" for extent in size)
        raise DescriptionError(f"expected a solid, found a flat mesh of {sizes} mm")
    corners = np.asarray(hull.vertices)
    number = np.zeros(len(vertices), dtype=np.int64)
    number[corners] = np.arange(len(corners))
    faces = number[hull.simplices]
    points = vertices[corners]
    a, b, c = points[faces].transpose(1, 0, 2)
    inward = np.einsum("ij,ij->i", np.cross(b - a, c - a), hull.equations[:, :3]) < 0
    faces[inward] = faces[inward][:, ::-1]
    return Hull(points, faces, float(hull.volume))


def as_solid(hull: Hull) -> Solid:
    """A convex hull as a solid."""
    properties = trimesh.triangles.mass_properties(hull.vertices[hull.faces])
    return Solid(
        vertices=hull.vertices,
        faces=hull.faces,
        volume=float(properties.volume),
        center_of_mass=np.asarray(properties.center_mass),
        inertia=np.asarray(properties.inertia),
        hull_volume=hull.volume,
        closed=True,
    )


def _fallback_note(volume: float, hull_volume: float, cap_fraction: float) -> str:
    if cap_fraction > LARGEST_CAP:
        reason = f"holes above {percent(LARGEST_CAP)} of the surface are too large to guess"
    elif volume <= 0:
        reason = "the closed surface has no volume"
    else:
        reason = (
            f"the surface counts space twice ({volume / hull_volume:.2f} x the volume of its hull)"
        )
    return f"{reason}: mass properties and collision are those of the convex hull"
