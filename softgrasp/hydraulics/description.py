"""Descriptions of water-hydraulic arms: sections, chambers, loads, and arms that carry a hand.

Sections are bent by the pressure of water in their chambers (Chen et al. 2022). An arm converts to
a robot of bendable segments, as U(C)RDF files have it, and back.
"""

from __future__ import annotations

import math
from itertools import combinations, pairwise
from typing import Annotated, ClassVar, Self, cast

from pydantic import Field, StringConstraints, model_validator

from softgrasp.description import (
    DEFAULT_LINKS,
    Backbone,
    Bendable,
    Chamber,
    CurvatureLimits,
    HandCarrier,
    Hydraulics,
    Inertial,
    Link,
    Origin,
    Pose,
    Robot,
    TipLoad,
)
from softgrasp.errors import DescriptionError
from softgrasp.plugin_api import (
    Description,
    FieldError,
    NonNegative,
    Number,
    Positive,
    path_text,
    require_unique,
)

FieldPath = tuple[int | str, ...]
Name = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
BASE = "base"
"""Name of the fixed link."""
LARGEST_BEND = math.tau
"""Bending limit of a section [rad]; required by the description, not enforced in simulation."""
DAMPINGS = {
    "bending": "damping",
    "axial": "axial_damping",
    "torsion": "torsion_damping",
    "drag": "drag",
    "rotational_drag": "rotational_drag",
}
"""Fields of a backbone by those of a section's damping."""
STIFFNESSES = ("bending_stiffness", "axial_stiffness", "torsion_stiffness")
CARRIER_LINKS = 4
"""Cells a section of an arm that carries a hand."""
ALONG_ARM = Pose(quaternion=(0.0, 1.0, 0.0, 0.0))
"""Half a revolution about x: the hand's −z, along the fingers, is the axis of the arm."""


def arm_robot(arm: HydraulicArm, links: int = DEFAULT_LINKS) -> Robot:
    """Convert an arm to a robot whose bendable segments are its sections.

    Args:
        arm: The arm.
        links: Rigid cells a section.

    Raises:
        DescriptionError: The number of links is none.
    """
    ends = [BASE, *(end_link(section) for section in arm.sections)]
    parts = [
        _bendable(section, parent, child, links)
        for section, parent, child in zip(arm.sections, ends[:-1], ends[1:], strict=True)
    ]
    return Robot(
        name=arm.name,
        source=arm.source,
        links=tuple(Link(name=name) for name in ends),
        bendables=tuple(parts),
        hydraulics=Hydraulics(**{key: getattr(arm, key) for key in Hydraulics.model_fields}),
    )


def _bendable(section: ArmSection, parent: str, child: str, links: int) -> Bendable:
    return Bendable(
        name=section.name,
        parent=parent,
        child=child,
        limits=CurvatureLimits(theta_max=LARGEST_BEND),
        backbone=Backbone(
            length=section.length,
            radius=section.radius,
            links=links,
            **{key: getattr(section, key) for key in STIFFNESSES},
            **{there: getattr(section.damping, here) for here, there in DAMPINGS.items()},
        ),
        actuation=section.chambers,
        inertial=Inertial(mass=section.mass),
    )


def end_link(section: ArmSection) -> str:
    """Return the name of the link at the end of a section."""
    return f"{section.name}_end"


def arm_of_robot(robot: Robot) -> HydraulicArm:
    """Make an arm of the bendable segments of a robot, from its root link outwards.

    Limits of the curvature, numbers of cells and discs, names and shapes of links are no part of
    it. Without a damping of its own a strain has that of the material (``Backbone.damping_of``).

    Raises:
        DescriptionError: The robot has no hydraulics, is no chain of bendables, or has what an arm
            cannot have; knows its location in the robot.
    """
    if robot.hydraulics is None:
        raise _mistake(
            "expected hydraulics with the drive of the chambers, found none", "hydraulics"
        )
    _refuse_rigid_parts(robot)
    sections = [_section(robot.bendables[index], index) for index in _chain(robot)]
    return HydraulicArm(
        name=robot.name,
        source=robot.source,
        sections=tuple(sections),
        **{key: getattr(robot.hydraulics, key) for key in Hydraulics.model_fields},
    )


def _refuse_rigid_parts(robot: Robot) -> None:
    for index, joint in enumerate(robot.joints):
        raise _mistake(
            "expected an arm of bendables only, one at the end of another, found "
            f"a {joint.type} joint from '{joint.parent}' to '{joint.child}'",
            "joints",
            index,
        )
    for index, link in enumerate(robot.links):
        if link.inertial is not None and link.name != robot.root:
            raise _mistake(
                "expected a link without mass, as an arm has all of it in its bendables, found "
                f"{link.inertial.mass:g} kg",
                "links",
                index,
                "inertial",
            )


def _mistake(message: str, *location: int | str) -> DescriptionError:
    return DescriptionError(message, field=path_text(location), location=location)


def _section(part: Bendable, index: int) -> ArmSection:
    where: FieldPath = ("bendables", index)
    _refuse_other_segments(part, where)
    backbone = part.backbone
    for name in STIFFNESSES:
        stiffness = getattr(backbone, name)
        if not stiffness:
            stiffness_text = "none" if stiffness is None else f"{stiffness:g}"
            raise _mistake(
                f"expected a number above 0, found {stiffness_text}", *where, "backbone", name
            )
    if part.inertial is None:
        raise _mistake("expected the mass of the section, found none", *where, "inertial")
    try:
        return ArmSection(
            name=part.name,
            length=backbone.length,
            radius=backbone.radius,
            mass=part.inertial.mass,
            **{key: getattr(backbone, key) for key in STIFFNESSES},
            damping=_damping(backbone),
            chambers=cast("tuple[Chamber, ...]", part.actuation),  # tendons are refused
        )
    except DescriptionError as error:
        raise _mistake(error.message, *where, *_in_bendable(error.location)) from None


def _refuse_other_segments(part: Bendable, where: FieldPath) -> None:
    """Refuse properties of a bendable that an arm section cannot have."""
    if part.model != "pcc":
        raise _mistake(f"expected pcc, as arms bend in arcs, found {part.model}", *where, "model")
    if part.frame != "bishop":
        raise _mistake(f"expected bishop frames, found {part.frame}", *where, "frame")
    if part.origin != Origin():
        raise _mistake(
            "expected none, as a section begins where the one before ends, found xyz "
            f"{part.origin.xyz} and rpy {part.origin.rpy}",
            *where,
            "origin",
        )
    if part.inertial is not None and part.inertial != Inertial(mass=part.inertial.mass):
        raise _mistake(
            "expected a mass alone, as a section is a uniform cylinder, found more",
            *where,
            "inertial",
        )
    if not all(isinstance(actuator, Chamber) for actuator in part.actuation):
        raise _mistake("expected chambers, found tendons", *where, "actuation")
    if not part.actuation:
        raise _mistake("expected chambers, found none", *where, "actuation")


def _damping(backbone: Backbone) -> SectionDamping:
    damping_values = {here: getattr(backbone, there) for here, there in DAMPINGS.items()}
    for strain in ("axial", "torsion"):
        if damping_values[strain] is None:
            damping_values[strain] = backbone.damping_of(getattr(backbone, f"{strain}_stiffness"))
    return SectionDamping(**{key: value or 0.0 for key, value in damping_values.items()})


def _in_bendable(location: FieldPath) -> FieldPath:
    """Return the field of a bendable that contains a field of a section."""
    if location[:1] == ("chambers",):
        return ("actuation", *location[1:])
    if location[:1] == ("damping",):
        return ("backbone", *(DAMPINGS[str(key)] for key in location[1:]))
    return ("backbone", *location)


def _chain(robot: Robot) -> list[int]:
    """Return indices of the bendables from the root link outwards."""
    after: dict[str, int] = {}
    for index, part in enumerate(robot.bendables):
        if part.parent in after:
            other = robot.bendables[after[part.parent]].name
            raise _mistake(
                f"expected one bendable at the end of another, found '{other}' and '{part.name}' "
                f"on link '{part.parent}'",
                "bendables",
                index,
                "parent",
            )
        after[part.parent] = index
    chain, link_name = [], robot.root
    while link_name in after:
        chain.append(after[link_name])
        link_name = robot.bendables[chain[-1]].child
    if not chain:
        raise _mistake("expected bendables, the sections of the arm, found none", "bendables")
    return chain


class SectionDamping(Description):
    """Damping of a section by its material and by the surrounding fluid."""

    bending: NonNegative = 0.0
    """Moment over rate of curvature [N·m²·s]."""
    axial: NonNegative = 0.0
    """Force over rate of strain [N·s]."""
    torsion: NonNegative = 0.0
    """Moment over rate of twist [N·m²·s]."""
    drag: NonNegative = 0.0
    """Force of the surroundings over velocity, of the whole section [N·s/m] (eq 24)."""
    rotational_drag: NonNegative = 0.0
    """Moment of the surroundings over angular velocity, of the whole section [N·m·s] (eq 24)."""


class ArmSection(Description):
    """A bundle of fluid chambers that bends, elongates and twists as one beam."""

    name: Name
    length: Positive
    """Length of the axis at rest [m]."""
    radius: Positive
    """Outer [m]."""
    mass: Positive
    """Mass [kg]."""
    bending_stiffness: Positive
    """EI [N·m²]."""
    axial_stiffness: Positive
    """EA [N]."""
    torsion_stiffness: Positive
    """GJ [N·m²]."""
    damping: SectionDamping = SectionDamping()
    chambers: Annotated[tuple[Chamber, ...], Field(min_length=1)]
    """Their angles count in the frame of the section's base."""

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if self.radius > self.length:
            raise FieldError(
                f"expected at most the length ({self.length:g} m), found {self.radius:g} m",
                "radius",
            )
        for (_, first), (index, second) in combinations(enumerate(self.chambers), 2):
            if abs(math.remainder(second.angle - first.angle, math.tau)) < 1e-6:
                raise FieldError(
                    f"expected chambers at different angles, found two at {second.angle:g} rad",
                    *("chambers", index, "angle"),
                )
        for index, chamber in enumerate(self.chambers):
            if chamber.radius > self.radius:
                raise FieldError(
                    f"expected at most the section's radius ({self.radius:g} m), "
                    f"found {chamber.radius:g} m",
                    *("chambers", index, "radius"),
                )
        return self


class HydraulicArm(Hydraulics):
    """A chain of sections, and the hydraulic drives of their chambers.

    The z axis of the base is the straight arm.
    """

    name: Name
    source: Annotated[str, StringConstraints(strip_whitespace=True)] = ""
    """Source of the description."""
    sections: Annotated[tuple[ArmSection, ...], Field(min_length=1)]
    """From the base outwards."""

    @model_validator(mode="after")
    def _different_names(self) -> Self:
        names = ((part.name, ("sections", i, "name")) for i, part in enumerate(self.sections))
        require_unique(names, "section")
        return self

    @property
    def chambers(self) -> tuple[Chamber, ...]:
        """Chambers of all sections, from the base outwards."""
        return tuple(chamber for section in self.sections for chamber in section.chambers)


class HydraulicCarrier(HandCarrier):
    """A hydraulic arm that carries a hand, with its pressures or torques during a grasp.

    It bears the weight of the hand and of the grasped object, and deflects under both. At the
    start it is at rest under its pressures and the hand's weight.
    """

    kind: ClassVar[str] = "hydraulic"
    motion_hint: ClassVar[str] = "its torques move it (arm.torques)"

    hydraulic: HydraulicArm
    """Its own gravity is ignored: the scene's gravity acts. It has no load at the tip but
    the hand."""
    pressures: tuple[Number, ...] = ()
    """Initial pressures of all chambers [Pa], constant without torques; zeros by default."""
    torques: tuple[tuple[Number, ...], ...] = ()
    """Motor torques in time: rows with the time since the start of the run [s] and one torque per
    chamber [N·m], linearly interpolated. The drives convert them into pressures."""
    links: Annotated[int, Field(strict=True, ge=1, le=64)] = CARRIER_LINKS
    """Rigid cells a section."""
    base: Pose | None = None
    """Pose of the arm's base in the world; its end then determines where the hand starts, and the
    scene's ``hand_pose`` is not looked at. Where it is not given, it is mounted so that the hand
    starts at ``hand_pose``."""
    tool: Pose = ALONG_ARM
    """Frame of the hand in that of the arm's end."""
    palm_mass: NonNegative = 0.0
    """Mass of palm and flange, at the origin of the hand's frame [kg]; a palm has none of its
    own, but that of a hand from a URDF or MJCF file may."""

    @property
    def name(self) -> str:
        """Name of the arm."""
        return self.hydraulic.name

    @property
    def start(self) -> tuple[float, ...]:
        """Pressures at the start, one per chamber [Pa]."""
        return self.pressures or (0.0,) * len(self.hydraulic.chambers)

    @property
    def mounted(self) -> bool:
        """Return whether the pose of the arm's base in the world is specified."""
        return self.base is not None

    @model_validator(mode="after")
    def _bears_only_the_hand(self) -> Self:
        if self.hydraulic.tip_load.replace(frame="tip") != TipLoad():
            raise FieldError(
                "expected none besides the hand, found another one", "hydraulic", "tip_load"
            )
        for index, section in enumerate(self.hydraulic.sections):
            if section.damping.rotational_drag:
                raise FieldError(
                    "expected none of an arm that carries a hand, found "
                    f"{section.damping.rotational_drag:g} N·m·s",
                    *("hydraulic", "sections", index, "damping", "rotational_drag"),
                )
        return self

    @model_validator(mode="after")
    def _has_its_chambers(self) -> Self:
        chambers = self.hydraulic.chambers
        if self.pressures and len(self.pressures) != len(chambers):
            raise FieldError(
                f"expected one per chamber ({len(chambers)}), found {len(self.pressures)}",
                "pressures",
            )
        for index, (chamber, pressure) in enumerate(zip(chambers, self.start, strict=True)):
            high = chamber.pressure_max
            if pressure < chamber.pressure_min or (high is not None and pressure > high):
                top = "any" if high is None else f"{high:g}"
                raise FieldError(
                    f"expected {chamber.pressure_min:g} to {top} Pa, found {pressure:g} Pa",
                    *("pressures", index),
                )
        return self

    @model_validator(mode="after")
    def _torques_in_time(self) -> Self:
        width = 1 + len(self.hydraulic.chambers)
        largest = self.hydraulic.drive.screw.torque_max
        for index, row in enumerate(self.torques):
            if len(row) != width:
                raise FieldError(
                    f"expected a time and one torque per chamber ({width} numbers), "
                    f"found {len(row)}",
                    *("torques", index),
                )
            strongest = max(row[1:], key=abs)
            if largest is not None and abs(strongest) > largest:
                raise FieldError(
                    f"expected torques of at most {largest:g} N·m, found {strongest:g} N·m",
                    *("torques", index),
                )
        for index, (above, below) in enumerate(pairwise(self.torques), start=1):
            if below[0] <= above[0]:
                raise FieldError(
                    f"expected a time after {above[0]:g} s, found {below[0]:g} s",
                    *("torques", index, 0),
                )
        return self
