"""The object to be grasped: a shape with a mass and a material."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from softgrasp.description.base import Description, NonNegative, Positive, Vec3, Vec4
from softgrasp.description.contact import Contact
from softgrasp.description.problems import FieldError
from softgrasp.description.shapes import Shape

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
