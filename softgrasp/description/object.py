"""Objects to be grasped, and their surroundings.

A ``GraspObject`` is a shape with a mass, a material and, if it is deformable, an elasticity;
``PlacedObject`` is a further object of a scene. ``Table``, ``Wall`` and ``Block`` are fixed
surroundings. ``Lift`` is the motion of the wrist that lifts an object off its table.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import Discriminator, Field, Tag, field_validator, model_validator

from softgrasp.description.base import (
    MAX_SUPPORT,
    Description,
    FieldError,
    NonNegative,
    Number,
    Positive,
    UpToOne,
    Vec3,
    Vec4,
)
from softgrasp.description.contact import ContactOverride, SpecifiedContact
from softgrasp.description.geometry import ObjectShape

Mount = Literal["free", "fixed", "planar"]
"""Degrees of freedom of an object in the world."""
Cells = Annotated[int, Field(strict=True, ge=1, le=4)]
DEFORMABLE_SHAPES = ("cuboid", "cylinder", "ellipsoid", "sphere")
"""Shapes that can be deformable."""


class Material(Description):
    """Contact properties of an object's surface."""

    name: str
    static_friction: NonNegative = 0.5
    """µs against the hand [–]."""
    dynamic_friction: NonNegative | None = None
    """µd against the hand [–]; equal to the static coefficient by default."""


class Elasticity(Description):
    """Linear elasticity of a deformable object, meshed with a few trilinear hexahedra.

    With one cell it has 8 nodes, at the corners of its bounding box: it can stretch, shear and
    rotate, and bend slightly; a fingertip makes no local dent (docs/contact.md).
    """

    young: Positive
    """Young's modulus [Pa]."""
    poisson: Annotated[float, Field(ge=0, le=0.49, strict=True)] = 0.3
    """Poisson's ratio [–]."""
    damping: NonNegative = 0.01
    """Rayleigh damping: the damping matrix over the stiffness matrix, a time [s]."""
    cells: tuple[Cells, Cells, Cells] = (1, 1, 1)
    """Number of cells along x, y and z."""
    contact_time: Annotated[float, Field(gt=0, le=1, strict=True)] = 0.004
    """Time constant of the contact of its surface, which is MuJoCo's native contact [s]."""


class GraspObject(Description):
    """An object to be grasped; its frame is at its centre of mass.

    Exactly one of ``mass`` and ``density`` is specified.
    """

    name: Annotated[str, Field(min_length=1)]
    shape: ObjectShape
    """Its shape."""
    mass: Positive | None = None
    """Mass [kg]; instead of ``density``."""
    density: Positive | None = None
    """Density [kg/m³]; instead of ``mass``."""
    material: Material | None = None
    """Material, from which the contact follows where the scene states none."""
    elasticity: Elasticity | None = None
    """Elasticity of a deformable object; rigid by default."""
    upright: bool = False
    """Whether it stands upright in a grasp; otherwise the grasp sets the direction of its z
    axis."""
    standing: Vec3 = (0.0, 0.0, 0.0)
    """Angles about x, y, z of intrinsic z-y-x at which it stands on a table [rad]."""
    rgba: Vec4 = (0.85, 0.45, 0.25, 1.0)
    """Colour in images, each part 0…1."""
    source: str = ""
    """Source of the shape and the numbers."""

    @model_validator(mode="after")
    def _one_of_mass_and_density(self) -> Self:
        if (self.mass is None) == (self.density is None):
            present = "neither" if self.mass is None else "both"
            raise ValueError(f"expected exactly one of mass and density, found {present}")
        return self

    @model_validator(mode="after")
    def _deformable_shape(self) -> Self:
        if self.elasticity is not None and self.shape.type not in DEFORMABLE_SHAPES:
            raise FieldError(
                f"expected none, as only {', '.join(DEFORMABLE_SHAPES[:-1])} and "
                f"{DEFORMABLE_SHAPES[-1]} can be deformable, found one of a {self.shape.type}",
                "elasticity",
            )
        return self

    def weighing(self, *, mass: float | None = None, density: float | None = None) -> GraspObject:
        """Return the object with another mass [kg] or density [kg/m³].

        Raises:
            DescriptionError: Both or neither are specified, or the number is not positive.
        """
        return self.replace(mass=mass, density=density)


class PlacedObject(Description):
    """An object beside the one to be grasped, with its start position."""

    object: GraspObject
    """The object; in files also its name or file."""
    position: Vec3
    """Centre of mass in the world [m]."""
    euler: Vec3 = (0.0, 0.0, 0.0)
    """Angles about x, y, z of intrinsic z-y-x [rad]."""
    mount: Mount = "free"
    """``planar`` moves in the x–z plane of the world and rotates about y."""
    name: str = ""
    """That of the object by default, with a number where it is already used."""
    contact: SpecifiedContact = ContactOverride()  # type: ignore[assignment]
    """Contact with the hand and with other objects; that of the scene, the hand or its material by
    default."""

    @model_validator(mode="before")
    @classmethod
    def _placed(cls, data: Any) -> Any:
        if isinstance(data, dict) and data.get("position") is None:
            raise FieldError(
                "expected the centre of this object in the world [m], found none: only the object "
                "to be grasped has a default, the grasp's centre or its table",
                "position",
            )
        return data


# Fixed surroundings.
class Table(Description):
    """A horizontal, fixed table top."""

    type: Literal["table"] = "table"
    name: str = ""
    """Its kind by default, with a number from the second one on."""
    height: Number | None = None
    """World z of its top [m]; directly below the object by default."""
    center: tuple[Number, Number] | None = None
    """World x and y of its centre [m]; below the object by default."""
    size: tuple[Positive, Positive] = (0.6, 0.6)
    """Edges along x and y of the world [m]."""
    contact: SpecifiedContact = ContactOverride()  # type: ignore[assignment]
    """Contact with objects and hand; theirs by default."""


class Wall(Description):
    """A slab of any orientation, such as a wall, a slope or a ceiling."""

    type: Literal["wall"] = "wall"
    name: str = ""
    """Its kind by default, with a number from the second one on."""
    point: Vec3
    """Centre of its face in the world [m]."""
    normal: Vec3
    """Outward normal of its face in the world, of any length."""
    size: tuple[Positive, Positive] = (0.3, 0.3)
    """Edges of its face [m]: the horizontal one, then the steepest one; of a horizontal face along
    x and y of the world."""
    thickness: Positive = 0.02
    """Behind its face [m]."""
    contact: SpecifiedContact = ContactOverride()  # type: ignore[assignment]
    """Contact with objects and hand; theirs by default."""

    @field_validator("normal")
    @classmethod
    def _points_somewhere(cls, value: Vec3) -> Vec3:
        if max(map(abs, value)) < 1e-9:
            raise ValueError(f"expected a direction that is not zero, found {value}")
        return value


class Block(Description):
    """A fixed box."""

    type: Literal["block"] = "block"
    name: str = ""
    """Its kind by default, with a number from the second one on."""
    position: Vec3
    """Its centre in the world [m]."""
    euler: Vec3 = (0.0, 0.0, 0.0)
    """Angles about x, y, z of intrinsic z-y-x [rad]."""
    size: tuple[Positive, Positive, Positive]
    """Edges along its x, y and z axes [m]."""
    contact: SpecifiedContact = ContactOverride()  # type: ignore[assignment]
    """Contact with objects and hand; theirs by default."""


def _kind(value: Any) -> Any:
    """Return the type of a surrounding (table, wall, block); a table without ``type``."""
    if isinstance(value, dict):
        return value.get("type", "table")
    return getattr(value, "type", "table")


Surrounding = Annotated[
    Annotated[Table, Tag("table")] | Annotated[Wall, Tag("wall")] | Annotated[Block, Tag("block")],
    Discriminator(_kind),
]


# Lifting.
class Lift(Description):
    """Vertical motion of the wrist after the closure, and the limits of the object's motion in it.

    The object is held where it is off the table at the end and has moved in the hand by less than
    the limits since the wrist began to move.
    """

    height: Positive = 0.10
    """Height [m], up along z of the world."""
    time: Positive = 1.0
    """Duration of the motion from rest to rest [s]."""
    hold_time: Positive = 2.0
    """Time at the top [s]."""
    max_drop: Positive = 5e-3
    """Largest distance of the object's centre from its position in the hand at the start [m], hand
    frame."""
    max_rotation: Positive = 0.35
    """Largest rotation of the object in the hand [rad]."""
    max_support: UpToOne = MAX_SUPPORT
    """Largest fraction of its weight that something else than the hand may bear at the end [–]."""
