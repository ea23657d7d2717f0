"""The object to be grasped: a shape with a mass and a material."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import Discriminator, Field, Tag, field_validator, model_validator

from softgrasp.description.base import (
    Description,
    FieldError,
    NonNegative,
    Number,
    Positive,
    Vec3,
    Vec4,
)
from softgrasp.description.contact import Contact
from softgrasp.description.geometry import Shape

Mount = Literal["free", "fixed", "planar"]


class Material(Description):
    """What an object is made of, as far as its contacts are concerned."""

    name: str
    static_friction: NonNegative = 0.5
    """µs against the hand [–]."""
    dynamic_friction: NonNegative | None = None
    """µd against the hand [–]; as the static one where it is not given."""


Cells = Annotated[int, Field(strict=True, ge=1, le=4)]
DEFORMABLE_SHAPES = ("cuboid", "cylinder", "ellipsoid", "sphere")


class Elasticity(Description):
    """What makes an object deformable: a linear elastic solid in one or a few trilinear cells.

    With one cell it has 8 nodes, at the corners of the box around it, so it can be stretched,
    sheared and turned, and bend a little; it has no dent of its own under a fingertip
    (docs/contact_models/deformable.md).
    """

    young: Positive
    """Young's modulus [Pa]."""
    poisson: Annotated[float, Field(ge=0, le=0.49, strict=True)] = 0.3
    """Poisson's ratio [–]."""
    damping: NonNegative = 0.01
    """Stress rate over stress: a time, as of Rayleigh damping in proportion to stiffness [s]."""
    cells: tuple[Cells, Cells, Cells] = (1, 1, 1)
    """Cells along x, y and z."""
    contact_time: Annotated[float, Field(gt=0, le=1, strict=True)] = 0.004
    """Time constant of the contact of its surface, which is MuJoCo's own [s]."""


class GraspObject(Description):
    """An object to be grasped; its frame stands at its centre of mass.

    Exactly one of ``mass`` and ``density`` is given.
    """

    name: Annotated[str, Field(min_length=1)]
    shape: Shape
    mass: Positive | None = None
    """[kg]"""
    density: Positive | None = None
    """[kg/m³]"""
    material: Material | None = None
    elasticity: Elasticity | None = None
    """What makes it deformable; rigid where it is not given."""
    upright: bool = False
    """Whether it stands upright in a grasp; otherwise its z axis lies as the grasp says."""
    standing: Vec3 = (0.0, 0.0, 0.0)
    """Turns about x, y, z of intrinsic z-y-x in which it stands on a table [rad]."""
    rgba: Vec4 = (0.85, 0.45, 0.25, 1.0)
    """Colour in pictures, each part 0…1."""
    source: str = ""
    """Where the shape and the numbers come from."""

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
        """The same object with another mass [kg] or density [kg/m³].

        Raises:
            DescriptionError: Both or neither are given, or the number is not positive.
        """
        return self.replace(mass=mass, density=density)


class PlacedObject(Description):
    """A further object beside the one to be grasped, and where it starts."""

    object: GraspObject
    position: Vec3
    """Centre of mass in the world [m]."""
    euler: Vec3 = (0.0, 0.0, 0.0)
    """Turns about x, y, z of intrinsic z-y-x [rad]."""
    mount: Mount = "free"
    """``planar`` moves in the x–z plane of the world and turns about y."""
    name: str = ""
    """That of the object, with a number where it is taken, if it is not given."""
    contact: Contact | None = None
    """Its contact with the hand and with other objects; where it is not given that of the scene,
    the hand, or its material."""

    @model_validator(mode="before")
    @classmethod
    def _placed(cls, data: Any) -> Any:
        if isinstance(data, dict) and data.get("position") is None:
            raise FieldError(
                "expected where the middle of this object stands in the world [m], found nothing: "
                "only the object to be grasped finds its own place, at the grasp's centre or on "
                "its table",
                "position",
            )
        return data


# --------------------
# What stands around a grasp and does not move: tables, walls and blocks.


class Table(Description):
    """A horizontal table top that does not move."""

    type: Literal["table"] = "table"
    name: str = ""
    """Its kind, with a number from the second one on, where it is not given."""
    height: Number | None = None
    """World z of its top [m]; right under the object where it is not given."""
    center: tuple[Number, Number] | None = None
    """World x and y of its middle [m]; under the object where it is not given."""
    size: tuple[Positive, Positive] = (0.6, 0.6)
    """Edges along x and y of the world [m]."""
    contact: Contact | None = None
    """Its contact with objects and hand; as theirs where it is not given."""


class Wall(Description):
    """A slab whose face looks along a normal: upright, sloping, or a ceiling."""

    type: Literal["wall"] = "wall"
    name: str = ""
    """Its kind, with a number from the second one on, where it is not given."""
    point: Vec3
    """Middle of its face in the world [m]."""
    normal: Vec3
    """Out of its face, in the world; of any length."""
    size: tuple[Positive, Positive] = (0.3, 0.3)
    """Edges of its face [m]: the level one, then the one that rises most; of a level face along x
    and y of the world."""
    thickness: Positive = 0.02
    """Behind its face [m]."""
    contact: Contact | None = None
    """Its contact with objects and hand; as theirs where it is not given."""

    @field_validator("normal")
    @classmethod
    def _points_somewhere(cls, value: Vec3) -> Vec3:
        if max(map(abs, value)) < 1e-9:
            raise ValueError(f"expected a direction that is not zero, found {value}")
        return value


class Block(Description):
    """A box that does not move."""

    type: Literal["block"] = "block"
    name: str = ""
    """Its kind, with a number from the second one on, where it is not given."""
    position: Vec3
    """Its middle in the world [m]."""
    euler: Vec3 = (0.0, 0.0, 0.0)
    """Turns about x, y, z of intrinsic z-y-x [rad]."""
    size: tuple[Positive, Positive, Positive]
    """Edges along its own x, y and z [m]."""
    contact: Contact | None = None
    """Its contact with objects and hand; as theirs where it is not given."""


def _kind(value: Any) -> Any:
    """A table where nothing else is said: it was the only kind once."""
    if isinstance(value, dict):
        return value.get("type", "table")
    return getattr(value, "type", "table")


Surrounding = Annotated[
    Annotated[Table, Tag("table")] | Annotated[Wall, Tag("wall")] | Annotated[Block, Tag("block")],
    Discriminator(_kind),
]


class Lift(Description):
    """What the hand's wrist does after the closure: lift the object, and hold it there.

    The object is held where it is off the table at the end and has drifted in the hand by less
    than is allowed since the wrist began to move.
    """

    height: Positive = 0.10
    """[m], up along z of the world."""
    time: Positive = 1.0
    """The wrist starts and ends at rest and takes this long [s]."""
    hold_time: Positive = 2.0
    """Time at the top [s]."""
    max_drop: Positive = 5e-3
    """Largest distance of the object's centre from where the hand took it [m], hand frame."""
    max_rotation: Positive = 0.35
    """Largest turn of the object in the hand [rad]."""
