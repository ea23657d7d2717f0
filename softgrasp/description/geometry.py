"""Rigid poses, and solid shapes: primitives and meshes, each centred on its own frame."""

from __future__ import annotations

import math
from typing import Annotated, Literal

from pydantic import Field, field_validator

from softgrasp.description.base import Description, Positive, Vec3, Vec4, divided_by_norm
from softgrasp.units import LengthUnit

Exponent = Annotated[float, Field(strict=True, ge=0.1, le=2.0)]


class Pose(Description):
    """Position and orientation of a child frame in its parent frame, ``T_parent_child``."""

    position: Vec3 = (0.0, 0.0, 0.0)
    """Origin of the child frame in the parent frame [m]."""
    quaternion: Vec4 = (1.0, 0.0, 0.0, 0.0)
    """Unit quaternion (w, x, y, z); normalised on input."""

    @field_validator("quaternion")
    @classmethod
    def _normalise(cls, value: Vec4) -> Vec4:
        norm = math.sqrt(sum(part * part for part in value))
        if norm < 1e-9:
            raise ValueError(f"expected a quaternion that is not zero, found {value}")
        return divided_by_norm(value, norm)


class Sphere(Description):
    """A solid sphere."""

    type: Literal["sphere"] = "sphere"
    radius: Positive
    """[m]"""


class Cylinder(Description):
    """A circular cylinder with its axis along z."""

    type: Literal["cylinder"] = "cylinder"
    radius: Positive
    """[m]"""
    height: Positive
    """Full height along z [m]."""


class Cuboid(Description):
    """A box with its faces normal to x, y and z."""

    type: Literal["cuboid"] = "cuboid"
    size: tuple[Positive, Positive, Positive]
    """Full edge lengths along x, y and z [m]."""


class Capsule(Description):
    """A cylinder along z with a hemisphere on both ends."""

    type: Literal["capsule"] = "capsule"
    radius: Positive
    """[m]"""
    length: Positive
    """Length of the cylindrical part along z, without the hemispheres [m]."""


class Ellipsoid(Description):
    """An ellipsoid with its axes along x, y and z."""

    type: Literal["ellipsoid"] = "ellipsoid"
    radii: tuple[Positive, Positive, Positive]
    """Half axes along x, y and z [m]."""


class Superellipsoid(Description):
    """Ellipsoid, box, cylinder, octahedron and intermediate shapes, axes along x, y and z.

    Exponents near 0 make edges, 1 is round, 2 makes flat slopes: ``[1, 1]`` is an ellipsoid,
    ``[0.1, 1]`` a cylinder, ``[0.1, 0.1]`` a box with narrow roundings.
    """

    type: Literal["superellipsoid"] = "superellipsoid"
    radii: tuple[Positive, Positive, Positive]
    """Half axes along x, y and z [m]."""
    exponents: tuple[Exponent, Exponent]
    """Exponents of the outline along z, and of the outline around it [–]."""


class Mesh(Description):
    """A triangle mesh from a file; the object's frame is placed at its centre of mass.

    ``collision`` selects the collision geometry: ``hull`` the convex hull, ``decompose`` convex
    parts made by CoACD, ``parts`` the convex parts in the file named by ``parts``, ``auto`` those
    parts where a file is named, else the hull of a mesh that fills at least 95 % of it, else
    ``decompose``. ``link`` uses the convex hull also for the mass properties, as robot simulators
    do with the collision meshes of links; the mesh itself is only visible.
    """

    type: Literal["mesh"] = "mesh"
    file: str
    """STL, OBJ, PLY, GLB or OFF file: an absolute path, or a path relative to the library."""
    units: LengthUnit = "m"
    """Unit of the numbers in the file."""
    scale: Positive | tuple[Positive, Positive, Positive] = 1.0
    """Factor for all axes, or one per axis [–]."""
    collision: Literal["auto", "hull", "decompose", "parts", "link"] = "auto"
    parts: str | None = None
    """OBJ or GLB file whose groups are convex parts in the frame and unit of ``file``."""
    decomposition_threshold: Annotated[float, Field(ge=0.01, le=1, strict=True)] = 0.03
    """Concavity below which CoACD stops cutting [–]."""
    sha256: str | None = None
    """Hash of the file when it was read; a later run refuses a changed file."""

    @field_validator("parts")
    @classmethod
    def _parts_named(cls, value: str | None) -> str | None:
        if value == "":
            raise ValueError("expected the name of a file, found an empty name")
        return value


Primitive = Sphere | Cylinder | Cuboid | Capsule | Ellipsoid
Shape = Annotated[Primitive | Superellipsoid | Mesh, Field(discriminator="type")]


class Part(Description):
    """One of several shapes of a link, with its pose."""

    shape: Shape
    pose: Pose = Pose()
    """Pose of ``shape`` in the link's frame; of a mesh, the pose of its file's frame."""
