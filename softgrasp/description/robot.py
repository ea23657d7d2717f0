"""A robot of rigid links, rigid joints and bendable segments, as U(C)RDF describes it.

U(C)RDF (paper 002) is URDF with one more element: a ``<bendable>`` is a joint and a link at once, a
segment that bends with constant or polynomial curvature between its parent link and its child link.
"""

from __future__ import annotations

from typing import Annotated, Literal, Self, TypeVar

from pydantic import Field, field_validator, model_validator

from softgrasp.description.base import Description, NonNegative, Number, Vec3, Vec4
from softgrasp.description.bendable import Bendable, Inertial, Name, Origin, Text
from softgrasp.description.control_system import ControlSystem
from softgrasp.description.hydraulic_drive import Hydraulics
from softgrasp.description.problems import FieldError, refuse_twins
from softgrasp.description.robot_tree import check_tree, root_link
from softgrasp.description.shapes import Capsule, Cuboid, Cylinder, Mesh, Sphere
from softgrasp.errors import DescriptionError, did_you_mean

LinkGeometry = Annotated[Sphere | Cylinder | Cuboid | Capsule | Mesh, Field(discriminator="type")]
"""The shapes that URDF has."""


class LinkShape(Description):
    """A shape on a rigid link: what shows or what touches."""

    shape: LinkGeometry
    """A mesh is a file and a scale, and stands where the file's own frame stands."""
    origin: Origin = Origin()
    name: Text = ""
    rgba: Vec4 | None = None
    """Red, green, blue and opacity, 0 to 1."""

    @field_validator("shape")
    @classmethod
    def _as_urdf_has_it(cls, shape: LinkGeometry) -> LinkGeometry:
        if not isinstance(shape, Mesh):
            return shape
        if shape != Mesh(file=shape.file, scale=shape.scale):
            raise FieldError("expected a mesh of file and scale only, found more, such as units")
        if isinstance(shape.scale, tuple) and len(set(shape.scale)) == 1:
            return Mesh(file=shape.file, scale=shape.scale[0])
        return shape


class Link(Description):
    """A rigid link."""

    name: Name
    inertial: Inertial | None = None
    visuals: tuple[LinkShape, ...] = ()
    collisions: tuple[LinkShape, ...] = ()


class Mimic(Description):
    """A joint that follows another: own = multiplier · other + offset."""

    joint: Name
    multiplier: Number = 1.0
    offset: Number = 0.0


class RigidJoint(Description):
    """A URDF joint between two rigid links."""

    name: Name
    type: Literal["fixed", "revolute", "continuous", "prismatic"]
    parent: Name
    child: Name
    origin: Origin = Origin()
    axis: Vec3 = (1.0, 0.0, 0.0)
    lower: Number | None = None
    """Lowest joint variable [rad or m]; revolute and prismatic joints need both limits."""
    upper: Number | None = None
    effort: NonNegative | None = None
    """Largest torque or force [N·m or N]."""
    velocity: NonNegative | None = None
    """Largest speed [rad/s or m/s]."""
    damping: NonNegative = 0.0
    friction: NonNegative = 0.0
    mimic: Mimic | None = None

    @model_validator(mode="after")
    def _limits_in_order(self) -> Self:
        if self.type in ("revolute", "prismatic") and (self.lower is None or self.upper is None):
            raise FieldError(f"expected limits of a {self.type} joint, found none", "lower")
        if self.lower is not None and self.upper is not None and self.lower > self.upper:
            raise FieldError(
                f"expected at most upper ({self.upper:g}), found {self.lower:g}", "lower"
            )
        if self.type != "fixed" and not any(self.axis):
            raise FieldError("expected an axis that is not zero, found (0, 0, 0)", "axis")
        return self


class Robot(Description):
    """Links joined by rigid joints and by bendable segments into one tree."""

    name: Name
    links: Annotated[tuple[Link, ...], Field(min_length=1)]
    joints: tuple[RigidJoint, ...] = ()
    bendables: tuple[Bendable, ...] = ()
    control: tuple[ControlSystem, ...] = ()
    """What ``ros2_control`` elements say: hardware and its interfaces."""
    hydraulics: Hydraulics | None = None
    """What presses water into the chambers of the bendables."""
    source: Text = ""
    """Where it comes from, in words."""

    @model_validator(mode="after")
    def _one_tree(self) -> Self:
        refuse_twins(((k.name, ("links", i, "name")) for i, k in enumerate(self.links)), "link")
        named = [
            *((joint.name, ("joints", i, "name")) for i, joint in enumerate(self.joints)),
            *((part.name, ("bendables", i, "name")) for i, part in enumerate(self.bendables)),
        ]
        refuse_twins(named, "joint or bendable")
        check_tree([link.name for link in self.links], self.joints, self.bendables)
        return self

    @model_validator(mode="after")
    def _control_fits(self) -> Self:
        rigid = {joint.name for joint in self.joints}
        soft = {part.name: part for part in self.bendables}
        for system_index, system in enumerate(self.control):
            for index, controlled in enumerate(system.joints):
                controlled.check(rigid, soft, ("control", system_index, "joints", index))
        return self

    @model_validator(mode="after")
    def _mimics_follow(self) -> Self:
        for index, joint in enumerate(self.joints):
            if joint.mimic is None:
                continue
            others = [other.name for other in self.joints if other is not joint]
            leader = joint.mimic.joint
            if leader not in others:
                hint = f"; {did_you_mean(leader, others)}" if others else ""
                location = ("joints", index, "mimic", "joint")
                raise FieldError(f"expected another rigid joint, found '{leader}'{hint}", *location)
        return self

    @property
    def root(self) -> str:
        """Name of the link that has no parent."""
        return root_link([link.name for link in self.links], self.joints, self.bendables)

    def link(self, name: str) -> Link:
        """The link of a name.

        Raises:
            DescriptionError: There is none.
        """
        return _named("link", name, {link.name: link for link in self.links})

    def bendable(self, name: str) -> Bendable:
        """The bendable of a name.

        Raises:
            DescriptionError: There is none.
        """
        return _named("bendable", name, {part.name: part for part in self.bendables})


T = TypeVar("T")


def _named(kind: str, name: str, known: dict[str, T]) -> T:
    if name not in known:
        raise DescriptionError(f"no {kind} '{name}'; {did_you_mean(name, known)}")
    return known[name]
