"""A URDF robot of rigid links as a hand: palm, fingers, couplings, servos, and found grasps.

The hand's frame is that of the robot's root link.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from softgrasp.description.actuator import Rates
from softgrasp.description.finger import Coupling, Finger
from softgrasp.description.hand import GraspPreset, Grasps, Hand, Palm
from softgrasp.description.robot import Link, Robot
from softgrasp.errors import DescriptionError, SoftgraspWarning
from softgrasp.formats.grasp_preset import preset_of
from softgrasp.formats.hand_doubts import warn_about_units
from softgrasp.formats.link_surfaces import link_surfaces
from softgrasp.formats.urdf.bodies import believable_density
from softgrasp.formats.urdf.chains import Machine, finger_of
from softgrasp.formats.urdf.mimics import followed, ranges
from softgrasp.formats.urdf.naming import renamed, usable_names
from softgrasp.formats.urdf.servos import HAND, ServoRules
from softgrasp.formats.urdf.shapes import parts_of, touching
from softgrasp.formats.urdf.tree import HandTree, hand_tree
from softgrasp.grasp_synthesis import DescribedHand, synthesize_grasps
from softgrasp.mechanics.robot_kinematics import fused

UNFOUND = GraspPreset(center=(0.0, 0.0, 0.0), rates=Rates((0.0,)))


@dataclass(frozen=True)
class HandSettings:
    """What a side file says about a hand of a robot."""

    density: float | None = None
    """Instead of all stated masses [kg/m³]."""
    rows: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Fields of rows by the names of their joints in the file."""


def urdf_hand(robot: Robot, settings: HandSettings | None = None) -> Hand:
    """Make a hand of rigid fingers.

    Args:
        robot: A robot without bendables.
        settings: Changes.

    Raises:
        DescriptionError: Nothing moves, a joint has no limits, a moving link has no inertia, a
            or a mimic goes in a circle.

    Warns:
        SoftgraspWarning: Masses or limits cannot be true, and what holds instead; angles look like
            degrees, or lengths like millimetres.
    """
    settings = settings or HandSettings()
    machine = machine_of(robot, HAND, settings.density)
    if not machine.robot.joints:
        raise DescriptionError(
            f"expected joints that move in '{robot.name}', found none", location=("joints",)
        )
    tree = hand_tree(machine.robot)
    fingers = _fingers(machine, tree, settings)
    root = machine.robot.link(tree.root)
    couplings = tuple(
        Coupling(
            joint=machine.joint_names[name],
            leader=machine.joint_names[follow.leader],
            ratio=follow.ratio,
            offset=follow.offset,
        )
        for name, follow in machine.follows.items()
    )
    hand = Hand(
        name=robot.name,
        fingers=fingers,
        couplings=couplings,
        grasps=Grasps(power=UNFOUND, precision=UNFOUND),
        palm=_palm(root),
        palm_rgba=next((shape.rgba for shape in root.visuals if shape.rgba), None),
        source=robot.source,
        notes=tuple(machine.notes),
    )
    warn_about_units(hand)
    return with_synthesized_grasps(hand, _fastest(machine))


def machine_of(robot: Robot, rules: ServoRules, density: float | None = None) -> Machine:
    """A robot made ready for its chains: fixed joints fused, ranges and names settled."""
    whole, link_poses = fused(robot)
    follows = followed(robot)
    links = usable_names(link.name for link in whole.links if link.name != whole.root)
    joints = usable_names(joint.name for joint in whole.joints)
    return Machine(
        robot=whole,
        link_poses=link_poses,
        follows=follows,
        ranges=ranges(robot, follows, rules.endless),
        density=believable_density(whole, density) if rules is HAND else density,
        rules=rules,
        bodies=links,
        joint_names=joints,
        notes=[*renamed("link", links), *renamed("joint", joints)],
    )


def with_synthesized_grasps(hand: Hand, fastest: Mapping[str, float]) -> Hand:
    """A hand with its two grasps found from its shapes, standing open.

    Args:
        hand: The hand; its own grasps are not looked at.
        fastest: Largest rate of drives by name [rad/s or m/s], where one is known.

    Warns:
        SoftgraspWarning: No place was found where its fingers oppose one another.
    """
    synthesized = synthesize_grasps(DescribedHand(hand, link_surfaces(hand)), fastest)
    for name, grasp in (("power", synthesized.power), ("precision", synthesized.precision)):
        if not grasp.enclosed:
            warnings.warn(
                f"hand '{hand.name}': found no place where its fingers meet a ball from opposing "
                f"sides ({name}); give the grasp in a side file",
                SoftgraspWarning,
                stacklevel=2,
            )
    posture = hand.posture(synthesized.power.start)
    fingers = tuple(_standing(finger, posture) for finger in hand.fingers)
    grasps = Grasps(power=preset_of(synthesized.power), precision=preset_of(synthesized.precision))
    return hand.replace(fingers=fingers, grasps=grasps)


def _standing(finger: Finger, posture: Mapping[str, float]) -> Finger:
    """A finger whose rows start in a posture."""
    rows = []
    for row in finger.phalanges:
        low, high = row.limits
        rows.append(row.replace(start=min(max(posture[finger.joint_of(row)], low), high)))
    return finger.replace(phalanges=tuple(rows))


def _fingers(machine: Machine, tree: HandTree, settings: HandSettings) -> tuple[Finger, ...]:
    rows = {machine.joint_names[name]: fields for name, fields in settings.rows.items()}
    fingers = []
    for chain in tree.chains:
        on = "" if chain.on == tree.root else machine.bodies[chain.on]
        finger = finger_of(machine, chain, on)
        phalanges = (row.replace(**rows.get(row.joint_name, {})) for row in finger.phalanges)
        fingers.append(finger.replace(phalanges=tuple(phalanges)))
    return tuple(fingers)


def _palm(root: Link) -> Palm:
    if not touching(root):
        return Palm(kind="none")
    first, *others = parts_of(root, np.eye(4))
    return Palm(kind="shape", shape=first.shape, pose=first.pose, parts=tuple(others))


def _fastest(machine: Machine) -> dict[str, float]:
    """Largest rate of each drive, such that none of its followers is too fast either."""
    speeds: dict[str, float] = {}
    for joint in machine.robot.joints:
        if not joint.velocity:  # missing, or 0, which would not move
            continue
        follow = machine.follows.get(joint.name)
        leader, ratio = (joint.name, 1.0) if follow is None else (follow.leader, follow.ratio)
        if ratio != 0.0:
            name = machine.joint_names[leader]
            speeds[name] = min(speeds.get(name, np.inf), joint.velocity / abs(ratio))
    return speeds
