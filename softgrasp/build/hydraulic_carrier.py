"""A water-hydraulic arm under a hand: its cells, its chambers, and the drag on it."""

from __future__ import annotations

from collections.abc import Iterator

import mujoco
import numpy as np

from softgrasp.build.bendable import add_bendable
from softgrasp.build.bendable_drives import add_segment_actuators
from softgrasp.build.bendable_names import (
    bend_joints,
    segment_actuator_names,
    slide_joints,
    twist_joints,
)
from softgrasp.build.hand import add_hand
from softgrasp.build.hydraulic_arm import SECTION_RGBA
from softgrasp.build.mechanism import add_mechanism
from softgrasp.build.names import ARM, hand_body
from softgrasp.build.shapes import set_inertia
from softgrasp.build.visual import Rgba
from softgrasp.description.bendable import Bendable
from softgrasp.description.hydraulic_arm import ArmSection
from softgrasp.description.hydraulic_carrier import HydraulicCarrier
from softgrasp.description.hydraulic_robot import arm_robot
from softgrasp.description.mechanism import ActuationModel
from softgrasp.description.pose import Pose
from softgrasp.mechanics.transforms import position_of, quaternion_of, transform

FAR = 1e4
"""Distance of the points to which a damper holds a cell of the arm [m]: over a way of 1 m its
direction is off by a ten-thousandth."""
HIDDEN = 5
"""Group of sites and tendons that no picture shows."""
GYRATION = 0.02
"""Radius of gyration of palm and flange [m]."""


def carrier_parts(carrier: HydraulicCarrier) -> tuple[Bendable, ...]:
    """The sections as bendable segments, in the names that they have under a hand."""
    return arm_robot(
        carrier.hydraulic.replace(sections=_sections(carrier)), carrier.links
    ).bendables


def cell_joints(carrier: HydraulicCarrier) -> list[str]:
    """Joints of all cells: bends, slides, twists, a section after the other."""
    return [
        name
        for part in carrier_parts(carrier)
        for name in (
            *(bend for bend, _ in bend_joints(part)),
            *slide_joints(part),
            *twist_joints(part),
        )
    ]


def chamber_actuators(carrier: HydraulicCarrier) -> list[str]:
    """Actuators of the chambers, from the base outwards."""
    return [name for part in carrier_parts(carrier) for name in segment_actuator_names(part)]


def add_hydraulic_arm(
    spec: mujoco.MjSpec, carrier: HydraulicCarrier, base: Pose
) -> tuple[mujoco.MjsBody, Pose]:
    """Add the cells of an arm, and the drag on them; its chambers come behind the hand's drives.

    Args:
        spec: The model to extend.
        carrier: The arm.
        base: Pose of its base in the world.

    Returns:
        The last cell, and the pose of the hand in its frame.
    """
    body = spec.worldbody.add_body(name=ARM, pos=base.position, quat=base.quaternion)
    frame = np.eye(4)
    pairs = zip(_sections(carrier), carrier_parts(carrier), strict=True)
    for index, (section, part) in enumerate(pairs):
        body, frame = add_bendable(spec, body, part, frame, driven=False)
        _show(spec, part, SECTION_RGBA[index % len(SECTION_RGBA)])
        _add_drag(spec, section, part)
    # the far ends of dampers are no part of the scene's size
    spec.stat.extent = 2.0 * sum(section.length for section in carrier.hydraulic.sections)
    spec.stat.center = base.position
    hand = frame @ transform(carrier.tool.position, carrier.tool.quaternion)
    return body, Pose(position=position_of(hand), quaternion=quaternion_of(hand))


def add_chambers(spec: mujoco.MjSpec, carrier: HydraulicCarrier) -> None:
    """Add the tendons and actuators of the chambers."""
    for part in carrier_parts(carrier):
        add_segment_actuators(spec, part)


def load_with(spec: mujoco.MjSpec, carrier: HydraulicCarrier, palm: str) -> None:
    """Let a hand weigh on its arm: nothing of it floats, and its palm has a mass.

    Args:
        spec: The model; arm and hand are in it.
        carrier: The arm.
        palm: Body in the hand's frame.
    """
    for body in _with_all_below(spec.body(palm)):
        body.gravcomp = 0.0
    if carrier.palm_mass:
        flange = spec.body(palm).add_body(name=f"{ARM}_flange")
        inertia = carrier.palm_mass * GYRATION**2 * np.eye(3)
        set_inertia(flange, carrier.palm_mass, inertia)


def hand_on_arm(
    mechanism: ActuationModel, carrier: HydraulicCarrier, base: Pose
) -> tuple[mujoco.MjSpec, tuple[str, ...]]:
    """The hand on a hydraulic arm whose base is there, and its bodies that can touch."""
    spec = mujoco.MjSpec()
    spec.compiler.degree = False
    end, pose = add_hydraulic_arm(spec, carrier, base)
    bodies = add_hand(spec, mechanism.hand, pose, "servo", end)
    add_mechanism(spec, mechanism)
    add_chambers(spec, carrier)
    load_with(spec, carrier, hand_body(mechanism.hand))
    return spec, tuple(bodies)


def _sections(carrier: HydraulicCarrier) -> tuple[ArmSection, ...]:
    return tuple(
        section.replace(name=f"{ARM}_{section.name}") for section in carrier.hydraulic.sections
    )


def _with_all_below(body: mujoco.MjsBody) -> Iterator[mujoco.MjsBody]:
    yield body
    for child in body.bodies:
        yield from _with_all_below(child)


def _show(spec: mujoco.MjSpec, part: Bendable, rgba: Rgba) -> None:
    """Leave only what is seen of the cells: like other arms, this one touches nothing."""
    for index in range(part.backbone.links + 1):
        body = spec.body(f"{part.name}_{index}")
        spec.delete(spec.geom(body.name))
        for geom in body.geoms:
            geom.rgba = rgba


def _add_drag(spec: mujoco.MjSpec, section: ArmSection, part: Bendable) -> None:
    """Dampers from every cell to points so far along x, y and z that they hardly turn.

    MuJoCo has no drag of single bodies; a share of the section's goes to each cell by its mass.
    """
    if not section.damping.drag:
        return
    far: list[str] = []
    for position in FAR * np.eye(3):
        name = f"{part.name}_far_{len(far)}"
        spec.worldbody.add_site(name=name, pos=position.tolist(), group=HIDDEN)
        far.append(name)
    for index in range(part.backbone.links + 1):
        body = spec.body(f"{part.name}_{index}")
        middle = f"{body.name}_middle"
        body.add_site(name=middle, pos=body.ipos, group=HIDDEN)
        for axis_index, end in enumerate(far):
            tendon = spec.add_tendon(name=f"{body.name}_drag_{axis_index}", group=HIDDEN)
            tendon.damping = [section.damping.drag * body.mass / section.mass, 0.0, 0.0]
            tendon.wrap_site(middle)
            tendon.wrap_site(end)
