"""Rigid poses, and solid shapes: primitives, meshes and compounds of them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Annotated, Any, Literal, Self

from pydantic import Field, field_validator

from softgrasp.description.base import Description, FieldError, Positive, Vec3, Vec4, divide_by_norm
from softgrasp.errors import DescriptionError
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
        return divide_by_norm(value, norm)

    @classmethod
    def from_matrix(cls, matrix: Iterable[Iterable[float]]) -> Self:
        """Return the pose of a matrix ``T_parent_child``.

        Args:
            matrix: Homogeneous matrix (4, 4), or rotation matrix (3, 3); position in m.

        Raises:
            DescriptionError: It has another shape, or its rotation is none within 1e-3.
        """
        rows = [[float(value) for value in row] for row in matrix]
        if [len(row) for row in rows] not in ([3] * 3, [4] * 4):
            raise DescriptionError(f"expected a matrix (3, 3) or (4, 4), found {rows}")
        x, y, z = (row[3] if len(rows) == 4 else 0.0 for row in rows[:3])
        rotation = [row[:3] for row in rows[:3]]
        products = [
            sum(x * y for x, y in zip(a, b, strict=True)) - (a is b)
            for a in rotation for b in rotation
        ]  # fmt: skip
        (ax, ay, az), (bx, by, bz), (cx, cy, cz) = rotation
        volume = ax * (by * cz - bz * cy) + ay * (bz * cx - bx * cz) + az * (bx * cy - by * cx)
        if not (max(map(abs, products)) <= ROTATION_TOLERANCE and volume > 0.0):
            raise DescriptionError(
                "expected a rotation: orthonormal rows and determinant 1, found "
                f"{rotation}; a scaled or mirrored frame is no pose"
            )
        return cls(position=(x, y, z), quaternion=_quaternion(rotation))

    @classmethod
    def from_euler(
        cls, euler: Iterable[float], position: Vec3 = (0.0, 0.0, 0.0), *, degrees: bool = False
    ) -> Self:
        """Return the pose of a position [m] and angles about x, y and z, intrinsic z-y-x.

        Args:
            euler: Angles about x, y and z [rad]; as ``object_euler`` of a scene, and as roll,
                pitch and yaw of URDF.
            position: Origin of the child frame in the parent frame [m].
            degrees: Whether the angles are in degrees.
        """
        half = [0.5 * (math.radians(angle) if degrees else float(angle)) for angle in euler]
        (cx, cy, cz), (sx, sy, sz) = map(math.cos, half), map(math.sin, half)
        quaternion = (
            cz * cy * cx + sz * sy * sx,
            cz * cy * sx - sz * sy * cx,
            cz * sy * cx + sz * cy * sx,
            sz * cy * cx - cz * sy * sx,
        )
        return cls(position=position, quaternion=quaternion)


ROTATION_TOLERANCE = 1e-3
"""Largest deviation of the products of the rows of a rotation from those of the identity [–]."""


def _quaternion(rows: list[list[float]]) -> Vec4:
    """Convert a rotation matrix to a quaternion (w, x, y, z), by its largest component.

    After Shepperd, *Journal of Guidance and Control* 1 (1978) 223.
    """
    (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = rows
    by_x, by_y, by_z = zy - yz, xz - zx, yx - xy  # four times the products with w
    products: tuple[Vec4, Vec4, Vec4, Vec4] = (
        (1 + xx + yy + zz, by_x, by_y, by_z),
        (by_x, 1 + xx - yy - zz, yx + xy, xz + zx),
        (by_y, yx + xy, 1 - xx + yy - zz, zy + yz),
        (by_z, xz + zx, zy + yz, 1 - xx - yy + zz),
    )
    row = products[max(range(4), key=lambda i: products[i][i])]
    return divide_by_norm(row, math.hypot(*row))


class Sphere(Description):
    """A solid sphere."""

    type: Literal["sphere"] = "sphere"
    radius: Positive
    """Radius [m]."""


class Cylinder(Description):
    """A circular cylinder with its axis along z."""

    type: Literal["cylinder"] = "cylinder"
    radius: Positive
    """Radius [m]."""
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
    """Radius of cylinder and ends [m]."""
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
    """STL, OBJ, PLY, GLB, OFF or DAE file: an absolute path, or a path relative to the library."""
    units: LengthUnit = "m"
    """Unit of the numbers in the file."""
    scale: Positive | Vec3 = 1.0
    """Factor for all axes, or one per axis, of which negative ones mirror [–]."""
    collision: Literal["auto", "hull", "decompose", "parts", "link"] = "auto"
    """Collision geometry: convex ``hull``, pieces by CoACD (``decompose``), the file ``parts``, or
    the hull for mass properties, too (``link``); ``auto`` chooses."""
    parts: str | None = None
    """OBJ or GLB file whose groups are convex parts in the frame and unit of ``file``."""
    decomposition_threshold: Annotated[float, Field(ge=0.01, le=1, strict=True)] = 0.03
    """Concavity below which CoACD stops cutting [–]."""
    sha256: str | None = None
    """Hash of the file when it was read; a later run refuses a changed file."""

    @field_validator("scale")
    @classmethod
    def _not_flat(cls, value: float | Vec3) -> float | Vec3:
        if isinstance(value, tuple) and 0.0 in value:
            raise FieldError(f"expected factors that are not 0, found {value}")
        return value

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
    """The shape."""
    pose: Pose = Pose()
    """Pose of ``shape`` in the link's frame; of a mesh, the pose of its file's frame."""


class Compound(Description):
    """Several shapes rigidly joined; the object's frame is placed at its centre of mass."""

    type: Literal["compound"] = "compound"
    parts: Annotated[tuple[Part, ...], Field(min_length=1)]
    """Shapes that can touch, with their poses in the frame of the compound."""
    visuals: tuple[Part, ...] = ()
    """Shapes that are drawn in place of the parts."""
    center_of_mass: Vec3 | None = None
    """In the frame of the compound [m]; by default that of parts of uniform density."""
    inertia_per_mass: tuple[float, float, float, float, float, float] | None = None
    """Components xx, yy, zz, xy, xz, yz of the inertia about the centre of mass over the mass [m²];
    by default those of parts of uniform density."""
    scale: Positive = 1.0
    """Factor for all lengths [–]; a stated mass is kept."""

    def at_scale(self) -> Compound:
        """Return the compound of scale 1 with its lengths multiplied by ``scale``."""
        factor = self.scale
        if factor == 1.0:
            return self
        center, inertia = self.center_of_mass, self.inertia_per_mass
        return self.replace(
            parts=tuple(_scale_part(part, factor) for part in self.parts),
            visuals=tuple(_scale_part(part, factor) for part in self.visuals),
            center_of_mass=None if center is None else _times(center, factor),
            inertia_per_mass=None if inertia is None else _times(inertia, factor**2),
            scale=1.0,
        )


def _scale_part(part: Part, factor: float) -> Part:
    """Multiply all lengths of a part by a factor."""
    if isinstance(part.shape, Mesh):
        lengths = {"scale": _times(part.shape.scale, factor)}
    else:
        kept = ("type", "exponents")
        lengths = {name: _times(value, factor) for name, value in part.shape if name not in kept}
    pose = part.pose.replace(position=_times(part.pose.position, factor))
    return Part(shape=part.shape.replace(**lengths), pose=pose)


def _times(value: Any, factor: float) -> Any:
    """Multiply a number or a tuple of numbers by a factor."""
    return tuple(x * factor for x in value) if isinstance(value, tuple) else value * factor


ObjectShape = Annotated[Primitive | Superellipsoid | Mesh | Compound, Field(discriminator="type")]
"""Shape of an object; links and palms have lists of parts instead of compounds."""
