"""A water-hydraulic arm → a robot of bendable segments, and its model (paper 003).

Every cell of a section has a slide, a twist and two bends in its middle, and a chamber is one fixed
tendon along all cells of its section, with the coefficients 1, −r cos α and −r sin α of l, u and v;
its control is the pressure.
"""

from __future__ import annotations

import math

import mujoco

from softgrasp.build.bendable_names import slide_joints, twist_joints
from softgrasp.build.compiling import compiled
from softgrasp.build.robot import robot_spec
from softgrasp.build.visual import Rgba
from softgrasp.description.bendable import (
    DEFAULT_LINKS,
    Backbone,
    Bendable,
    CurvatureLimits,
    Inertial,
)
from softgrasp.description.hydraulic_arm import ArmSection, HydraulicArm
from softgrasp.description.robot import Link, Robot

BASE = "base"
"""The link that stands still."""
LARGEST_BEND = math.tau
"""Of a section [rad]; the description asks for one, the simulation does not stop there."""

SECTION_RGBA: tuple[Rgba, ...] = ((0.42, 0.57, 0.73, 1.0), (0.93, 0.78, 0.55, 1.0))
"""In pictures sections alternate between these two, from the base outwards."""


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
    )


def arm_spec(arm: HydraulicArm, links: int = DEFAULT_LINKS) -> mujoco.MjSpec:
    """The arm as an MjSpec with its own gravity and the damping of each of its strains.

    Drag and the load at the tip are forces of a run, and no part of it.

    Raises:
        DescriptionError: The number of links is none.
        BuildError: MuJoCo refuses it.
    """
    robot = arm_robot(arm, links)
    spec = robot_spec(robot)
    spec.option.gravity = arm.gravity
    for section, part in zip(arm.sections, robot.bendables, strict=True):
        damp_cells(spec, section, part)
    return spec


def damp_cells(spec: mujoco.MjSpec, section: ArmSection, part: Bendable) -> None:
    """Give stretch and twist of a section's cells their own damping."""
    per_cell = part.backbone.links / section.length
    for names, damping in (
        (slide_joints(part), section.damping.axial),
        (twist_joints(part), section.damping.torsion),
    ):
        for name in names:
            spec.joint(name).damping = [damping * per_cell, 0.0, 0.0]


def arm_model(arm: HydraulicArm, links: int = DEFAULT_LINKS) -> mujoco.MjModel:
    """The arm as a compiled model; see ``arm_spec``.

    Raises:
        DescriptionError: The number of links is none.
        BuildError: MuJoCo refuses it.
    """
    return compiled(arm_spec(arm, links), arm.name)


def end_link(section: ArmSection) -> str:
    """Name of the link at the end of a section."""
    return f"{section.name}_end"


def _bendable(section: ArmSection, parent: str, child: str, links: int) -> Bendable:
    return Bendable(
        name=section.name,
        parent=parent,
        child=child,
        limits=CurvatureLimits(theta_max=LARGEST_BEND),
        backbone=Backbone(
            length=section.length,
            radius=section.radius,
            bending_stiffness=section.bending_stiffness,
            axial_stiffness=section.axial_stiffness,
            torsion_stiffness=section.torsion_stiffness,
            damping=section.damping.bending,
            links=links,
        ),
        actuation=section.chambers,
        inertial=Inertial(mass=section.mass),
    )
