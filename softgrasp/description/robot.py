"""Robots of rigid links, rigid joints and bendable segments, as in a U(C)RDF file.

U(C)RDF (paper 002) is URDF with one more element: a ``<bendable>`` is a joint and a link in one, a
segment with constant or polynomial curvature between its parent and its child link (see
``bendable.py``). Links, joints and bendables form one tree: one root, one parent per link, no
cycle. ``ControlSystem`` holds what a ``ros2_control`` element declares: a hardware class and the
interfaces that it offers.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Annotated, Literal, Protocol, Self, TypeVar

from pydantic import Field, field_validator, model_validator

from softgrasp.description.base import (
    Description,
    FieldError,
    FieldPath,
    NonNegative,
    Number,
    Vec3,
    Vec4,
    refuse_above,
    require_unique,
)
from softgrasp.description.bendable import Bendable, Hydraulics, Inertial, Name, Origin, Text
from softgrasp.description.geometry import Capsule, Cuboid, Cylinder, Mesh, Sphere
from softgrasp.errors import DescriptionError, did_you_mean, either

# Links, joints and the robot.

LinkGeometry = Annotated[Sphere | Cylinder | Cuboid | Capsule | Mesh, Field(discriminator="type")]
"""The shapes that URDF has."""


class LinkShape(Description):
    """A visual or collision shape of a rigid link."""

    shape: LinkGeometry
    """A mesh has a file and a scale only; its frame is that of the file."""
    origin: Origin = Origin()
    """Pose in the frame of the link."""
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
        if isinstance(shape.scale, tuple) and len(set(shape.scale)) == 1 and shape.scale[0] > 0.0:
            return Mesh(file=shape.file, scale=shape.scale[0])
        return shape


class Link(Description):
    """A rigid link."""

    name: Name
    inertial: Inertial | None = None
    """Mass and inertia."""
    visuals: tuple[LinkShape, ...] = ()
    """Shapes that are drawn."""
    collisions: tuple[LinkShape, ...] = ()
    """Shapes that collide."""


class Mimic(Description):
    """A joint that follows another one: variable = multiplier · other variable + offset."""

    joint: Name
    multiplier: Number = 1.0
    offset: Number = 0.0


class RigidJoint(Description):
    """A URDF joint between two rigid links."""

    name: Name
    type: Literal["fixed", "revolute", "continuous", "prismatic"]
    """Kind of motion."""
    parent: Name
    """Link before the joint."""
    child: Name
    """Link after it."""
    origin: Origin = Origin()
    """Frame of the joint in the parent link."""
    axis: Vec3 = (1.0, 0.0, 0.0)
    """Axis in that frame."""
    lower: Number | None = None
    """Smallest joint variable [rad or m]; revolute and prismatic joints need both limits."""
    upper: Number | None = None
    """Largest joint variable [rad or m]."""
    effort: NonNegative | None = None
    """Largest torque or force [N·m or N]."""
    velocity: NonNegative | None = None
    """Largest speed [rad/s or m/s]."""
    damping: NonNegative = 0.0
    """Damping [N·m·s/rad or N·s/m]."""
    friction: NonNegative = 0.0
    """Dry friction [N·m or N]."""
    mimic: Mimic | None = None
    """The joint that it follows."""

    @model_validator(mode="after")
    def _limits_in_order(self) -> Self:
        if self.type in ("revolute", "prismatic") and (self.lower is None or self.upper is None):
            raise FieldError(f"expected limits of a {self.type} joint, found none", "lower")
        refuse_above(self.lower, self.upper, "upper", "lower")
        if self.type != "fixed" and not any(self.axis):
            raise FieldError("expected an axis that is not zero, found (0, 0, 0)", "axis")
        return self


RIGID_INTERFACES = ("position", "velocity", "effort")
"""Interfaces of rigid joints."""


class Interface(Description):
    """A quantity that can be commanded or read, such as ``kappa`` or ``phi``."""

    name: Name
    initial_value: Number | None = None
    """Value at the start."""
    min: Number | None = None
    """Smallest command."""
    max: Number | None = None
    """Largest command."""

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        low, high, value = self.min, self.max, self.initial_value
        refuse_above(low, high, "max", "min")
        if value is None:
            return self
        if (low is not None and value < low) or (high is not None and value > high):
            message = f"expected a value between min ({low}) and max ({high}), found {value:g}"
            raise FieldError(message, "initial_value")
        return self


class ControlledJoint(Description):
    """A joint or bendable with its interfaces."""

    name: Name
    commands: tuple[Interface, ...] = ()
    """Quantities that can be commanded."""
    states: tuple[Interface, ...] = ()
    """Quantities that can be read."""

    def check(
        self, rigid: Collection[str], bendables: Mapping[str, Bendable], location: FieldPath
    ) -> None:
        """Refuse a name of no joint, and interfaces that the joint cannot have.

        Args:
            rigid: Names of the rigid joints.
            bendables: Bendables by name.
            location: Path of this field in the robot.

        Raises:
            FieldError: A name or interface does not fit.
        """
        if self.name not in rigid and self.name not in bendables:
            hint = did_you_mean(self.name, [*rigid, *bendables])
            raise FieldError(f"no bendable or joint '{self.name}'; {hint}", *location, "name")
        known: tuple[str, ...] = RIGID_INTERFACES
        if self.name in bendables:
            known = curvature_interfaces(bendables[self.name])
        for kind in ("commands", "states"):
            interfaces = enumerate(part.name for part in getattr(self, kind))
            names = [(name, (*location, kind, index, "name")) for index, name in interfaces]
            require_unique(names, "interface")
            for name, path in names:
                if name not in known:
                    raise FieldError(f"expected {either(known)}, found '{name}'", *path)
        commanded = {part.name for part in self.commands}
        if "phi" in commanded and not any(name.startswith("kappa") for name in commanded):
            raise FieldError("expected kappa beside phi, found phi alone", *location, "commands")


class ControlSystem(Description):
    """One ``ros2_control`` element."""

    name: Name
    type: Literal["system", "actuator", "sensor"] = "system"
    """Kind of the hardware."""
    plugin: Name
    """Hardware class that controls it."""
    params: tuple[tuple[str, str], ...] = ()
    """Parameters (name, value) as written in the file."""
    joints: tuple[ControlledJoint, ...] = ()
    """Joints and bendables that it has."""

    @model_validator(mode="after")
    def _unique_joints(self) -> Self:
        names = ((joint.name, ("joints", i, "name")) for i, joint in enumerate(self.joints))
        require_unique(names, "joint")
        return self


def curvature_interfaces(part: Bendable) -> tuple[str, ...]:
    """Return the interfaces of a bendable: ``kappa`` or ``kappa/0`` …, ``phi`` and ``l``."""
    if part.model == "pcc":
        return ("kappa", "phi", "l")
    return (*(f"kappa/{power}" for power in range(part.degree + 1)), "phi", "l")


class Robot(Description):
    """Links that rigid joints and bendable segments connect to one tree."""

    name: Name
    links: Annotated[tuple[Link, ...], Field(min_length=1)]
    """Its rigid links."""
    joints: tuple[RigidJoint, ...] = ()
    """Joints between two links."""
    bendables: tuple[Bendable, ...] = ()
    """Segments that bend."""
    control: tuple[ControlSystem, ...] = ()
    """Hardware and interfaces from ``ros2_control`` elements."""
    hydraulics: Hydraulics | None = None
    """Hydraulic system that pressurises the chambers of the bendables."""
    source: Text = ""
    """Source of the description."""

    @model_validator(mode="after")
    def _one_tree(self) -> Self:
        require_unique(((k.name, ("links", i, "name")) for i, k in enumerate(self.links)), "link")
        named = [
            *((joint.name, ("joints", i, "name")) for i, joint in enumerate(self.joints)),
            *((part.name, ("bendables", i, "name")) for i, part in enumerate(self.bendables)),
        ]
        require_unique(named, "joint or bendable")
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
        """Name of the link without a parent."""
        return root_link([link.name for link in self.links], self.joints, self.bendables)

    def link(self, name: str) -> Link:
        """Return the link of a name.

        Raises:
            DescriptionError: There is none.
        """
        return _name("link", name, {link.name: link for link in self.links})

    def bendable(self, name: str) -> Bendable:
        """Return the bendable of a name.

        Raises:
            DescriptionError: There is none.
        """
        return _name("bendable", name, {part.name: part for part in self.bendables})


T = TypeVar("T")


def _name(kind: str, name: str, known: dict[str, T]) -> T:
    """Return the item of a name."""
    if name not in known:
        raise DescriptionError(f"no {kind} '{name}'; {did_you_mean(name, known)}")
    return known[name]


# The tree of links.
class Edge(Protocol):
    """Connection of a parent link and a child link by a joint or bendable."""

    @property
    def name(self) -> str: ...  # noqa: D102
    @property
    def parent(self) -> str: ...  # noqa: D102
    @property
    def child(self) -> str: ...  # noqa: D102


def check_tree(links: Sequence[str], joints: Sequence[Edge], bendables: Sequence[Edge]) -> None:
    """Refuse links that do not form one tree.

    Raises:
        FieldError: A link does not exist, has two parents, lies on a cycle, or is not connected to
            the root.
    """
    known, into = set(links), dict[str, tuple[Edge, FieldPath]]()
    for edge, location in _with_paths(joints, bendables):
        for end in ("parent", "child"):
            name = getattr(edge, end)
            if name not in known:
                raise FieldError(f"no link '{name}'; {did_you_mean(name, links)}", *location, end)
        if edge.child in into:
            raise FieldError(
                f"expected one parent of link '{edge.child}', found "
                f"'{into[edge.child][0].parent}' and '{edge.parent}'",
                *(*location, "child"),
            )
        into[edge.child] = (edge, location)
    _refuse_cycles(into)
    roots = [index for index, link in enumerate(links) if link not in into]
    if len(roots) > 1:
        names = ", ".join(links[index] for index in roots)
        raise FieldError(
            f"expected one root link, found {len(roots)}: {names}", "links", roots[1], "name"
        )


def root_link(links: Sequence[str], joints: Sequence[Edge], bendables: Sequence[Edge]) -> str:
    """Return the link without a parent, of links that form one tree."""
    children = {edge.child for edge, _ in _with_paths(joints, bendables)}
    return next(link for link in links if link not in children)


def _with_paths(joints: Sequence[Edge], bendables: Sequence[Edge]) -> list[tuple[Edge, FieldPath]]:
    """Return all connections with the paths of their fields in the description."""
    return [
        *((edge, ("joints", index)) for index, edge in enumerate(joints)),
        *((edge, ("bendables", index)) for index, edge in enumerate(bendables)),
    ]


def _refuse_cycles(into: Mapping[str, tuple[Edge, FieldPath]]) -> None:
    """Refuse a link that is its own ancestor; ``into`` maps child links to their connections."""
    rooted: set[str] = set()
    for start in into:
        visited = dict.fromkeys([start])
        link = start
        while link in into and link not in rooted:
            edge, location = into[link]
            link = edge.parent
            if link in visited:
                cycle = list(visited)[list(visited).index(link) :]
                text = " → ".join(reversed([*cycle, link]))
                raise FieldError(f"expected no cycle, found {text}", *location, "parent")
            visited[link] = None
        rooted.update(visited)
