"""A hydraulic arm as a robot of bendable segments, and back."""

from __future__ import annotations

import math

from softgrasp.description.bendable import (
    DEFAULT_LINKS,
    Backbone,
    Bendable,
    Chamber,
    CurvatureLimits,
    Inertial,
    Origin,
)
from softgrasp.description.hydraulic_arm import ArmSection, HydraulicArm, SectionDamping
from softgrasp.description.hydraulic_drive import Hydraulics
from softgrasp.description.problems import FieldPath, path_text
from softgrasp.description.robot import Link, Robot
from softgrasp.errors import DescriptionError

BASE = "base"
"""The link that stands still."""
LARGEST_BEND = math.tau
"""Of a section [rad]; the description asks for one, the simulation does not stop there."""
DAMPINGS = {
    "bending": "damping",
    "axial": "axial_damping",
    "torsion": "torsion_damping",
    "drag": "drag",
    "rotational_drag": "rotational_drag",
}
"""Fields of a backbone by those of a section's damping."""
STIFFNESSES = ("bending_stiffness", "axial_stiffness", "torsion_stiffness")


def arm_robot(arm: HydraulicArm, links: int = DEFAULT_LINKS) -> Robot:
    """The sections as bendable segments, one after another.

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


def end_link(section: ArmSection) -> str:
    """Name of the link at the end of a section."""
    return f"{section.name}_end"


def arm_of_robot(robot: Robot) -> HydraulicArm:
    """The arm whose sections are the bendables of a robot, from its root link outwards.

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


def _chain(robot: Robot) -> list[int]:
    """Indices of the bendables from the root link outwards."""
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
            chambers=part.actuation,
        )
    except DescriptionError as error:
        raise _mistake(error.message, *where, *_in_bendable(error.location)) from None


def _refuse_other_segments(part: Bendable, where: FieldPath) -> None:
    """Refuse what a section of an arm is not."""
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
    """Where a bendable has a field of a section."""
    if location[:1] == ("chambers",):
        return ("actuation", *location[1:])
    if location[:1] == ("damping",):
        return ("backbone", *(DAMPINGS[str(key)] for key in location[1:]))
    return ("backbone", *location)


def _mistake(message: str, *location: int | str) -> DescriptionError:
    return DescriptionError(message, field=path_text(location), location=location)
