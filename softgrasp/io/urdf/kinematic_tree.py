"""Kinematic tree of a URDF robot: palm, wrist, and chains of joints as fingers.

The palm is the first link from the root outwards that carries more than one moving joint, or on
which the only one closes as a jaw; the joints before it are the wrist. A chain becomes a finger of
placed phalanges, z along each joint axis.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from os.path import commonprefix
from typing import Any, NamedTuple

import numpy as np

from softgrasp.description.base import Vec3
from softgrasp.description.finger import Finger, Phalanx
from softgrasp.description.robot import RigidJoint, Robot
from softgrasp.io.grasp_presets import FAR_END, closes_on, jaw_positions, surface_points
from softgrasp.io.urdf.links import (
    FOLLOWER_ARMATURE,
    Followed,
    Range,
    ServoRules,
    body_fields,
    frame_along,
    joint_fields,
    parts_of,
    servo_fields,
    touching,
)
from softgrasp.mechanics.hand_kinematics import pose_of
from softgrasp.mechanics.robot_kinematics import LinkPose, joint_frame, origin_frame
from softgrasp.mechanics.transforms import Array, triple

WRIST = "wrist"
SHORTEST_TIP = 1e-3
"""Distance of a fixed link from its joint from which on it marks the end of a link [m]."""


class Chain(NamedTuple):
    """Joints in series, of which only the last link may branch."""

    name: str
    on: str
    """Parent link of the first joint."""
    joints: tuple[RigidJoint, ...]


class HandTree(NamedTuple):
    """Palm and finger chains of a robot whose fixed joints are merged."""

    root: str
    """The fixed link."""
    palm: str
    """The link that carries the fingers: the root, or the last link of the wrist."""
    chains: tuple[Chain, ...]
    """The wrist first, if there is one; then fingers, each after the chain that carries it."""


@dataclass
class Machine:
    """Intermediate data of a robot while its chains are made; ``notes`` is appended to."""

    robot: Robot
    """Without fixed joints."""
    link_poses: Mapping[str, LinkPose]
    """Fused link and frame of each link of the file."""
    follows: Mapping[str, Followed]
    ranges: Mapping[str, Range]
    density: float | None
    rules: ServoRules
    bodies: Mapping[str, str]
    """Body names by link."""
    joint_names: Mapping[str, str]
    notes: list[str] = field(default_factory=list)
    tips: dict[str, Vec3] = field(default_factory=dict)
    """Cache of link ends."""

    def row_frame(self, link: str) -> Array:
        """Frame of a phalanx in the frame of its link, (4, 4)."""
        moving = next((joint for joint in self.robot.joints if joint.child == link), None)
        return np.eye(4) if moving is None else frame_along(moving.axis)

    def origin(self, joint: RigidJoint) -> Array:
        """Compute the frame of a joint at zero in the frame of its parent phalanx, (4, 4)."""
        back = np.linalg.inv(self.row_frame(joint.parent))
        return np.asarray(back @ origin_frame(joint.origin) @ self.row_frame(joint.child))


def hand_tree(machine: Machine) -> HandTree:
    """Find palm, wrist and fingers.

    A robot that does not branch is one finger on its root, or where its last link closes on the one
    before, as a jaw on a fixed jaw, an arm with a gripper.
    """
    robot = machine.robot
    before, palm = run(robot, robot.root)
    fingers = list(_chains(robot, palm))
    if len(before) > 1 and not fingers and _is_jaw(machine, before[-1]):
        *arm, jaw = before
        before, palm, fingers = tuple(arm), jaw.parent, [Chain("", jaw.parent, (jaw,))]
    if not fingers:  # a single chain
        return HandTree(robot.root, robot.root, _name([Chain("", robot.root, before)]))
    wrist = [Chain(WRIST, robot.root, before)] if before else []
    return HandTree(robot.root, palm, _name([*wrist, *fingers]))


def wrist_joints(robot: Robot) -> list[str]:
    """Name the joints before a link that carries none or several, but not the last of a chain."""
    before, palm = run(robot, robot.root)
    return [joint.name for joint in (before if on_link(robot, palm) else before[:-1])]


def palms_of_arms(machine: Machine) -> list[RigidJoint]:
    """Return the first joint on the palm of each hand at the end of an arm of its own."""
    robot, palms = machine.robot, []
    for link in (item.name for item in robot.links):
        if _arm_before(robot, link) < MIN_ARM:
            continue
        joints = on_link(robot, link)
        fingers = [not on_link(robot, run(robot, joint.child)[1]) for joint in joints]
        has_jaw = len(joints) == 1 and not on_link(robot, joints[0].child)
        has_jaw = has_jaw and _is_jaw(machine, joints[0])
        if sum(fingers) > 1 or has_jaw:
            palms.append(joints[0])
    return palms


def _arm_before(robot: Robot, link: str) -> int:
    """Return the number of joints in series before a link, down to a link that carries several."""
    parents, count = {joint.child: joint.parent for joint in robot.joints}, 0
    while link in parents and len(on_link(robot, parents[link])) == 1:
        link, count = parents[link], count + 1
    return count + (link in parents)


def finger_of(machine: Machine, chain: Chain, on: str) -> Finger:
    """Make a finger from a chain of a robot on a body; "" for the palm."""
    first, last = chain.joints[0], chain.joints[-1]
    rows = tuple(_row(machine, joint, is_first=joint is first) for joint in chain.joints)
    return Finger(
        name=chain.name,
        on=on,
        base=pose_of(machine.origin(first)),
        convention="placed",
        phalanges=rows,
        tip=_tip(machine, last.child),
        verbatim_names=True,
    )


def _is_jaw(machine: Machine, joint: RigidJoint) -> bool:
    """Return whether the link of a joint closes on the link that carries it."""
    link, other = (machine.robot.link(name) for name in (joint.child, joint.parent))
    if not (touching(link) and touching(other)):
        return False
    surface, carrier = (
        surface_points([(part.shape, part.pose) for part in parts_of(item, np.eye(4))])
        for item in (link, other)
    )
    positions = jaw_positions(machine.ranges[joint.name], is_hinge=joint.type != "prismatic")
    frames = [joint_frame(joint, value) for value in positions]
    return closes_on(surface, carrier, frames, np.zeros(3))


# Chains
MIN_ARM = 3
"""Number of joints in series before a palm from which they are an arm."""


def _chains(robot: Robot, link: str) -> Iterator[Chain]:
    """Yield the chains on a link, each followed by the chains on its end."""
    for joint in on_link(robot, link):
        behind, last = run(robot, joint.child)
        yield Chain("", link, (joint, *behind))
        yield from _chains(robot, last)


def run(robot: Robot, link: str) -> tuple[tuple[RigidJoint, ...], str]:
    """Return joints from a link outwards to the first link that carries none or several."""
    chain: list[RigidJoint] = []
    while len(children := on_link(robot, link)) == 1:
        chain.append(children[0])
        link = children[0].child
    return tuple(chain), link


def on_link(robot: Robot, link: str) -> list[RigidJoint]:
    """Return the joints that a link carries."""
    return [joint for joint in robot.joints if joint.parent == link]


def _name(chains: Sequence[Chain]) -> tuple[Chain, ...]:
    """Name chains by the common prefix of their links."""
    preferred = [chain.name or _common([joint.child for joint in chain.joints]) for chain in chains]
    return tuple(
        chain._replace(name=name if preferred.count(name) == 1 else chain.joints[0].child)
        for chain, name in zip(chains, preferred, strict=True)
    )


def _common(links: Sequence[str]) -> str:
    """Common leading words of link names, or the first name if there are none.

    Example: ``index_L1`` and ``index_L2`` give ``index``.
    """
    alike = commonprefix([name.split("_") for name in links])  # noqa: RUF071 - lists of words
    return "_".join(alike) or links[0]


# Rows of a finger
def _row(machine: Machine, joint: RigidJoint, *, is_first: bool) -> Phalanx:
    link, frame = machine.robot.link(joint.child), machine.row_frame(joint.child)
    parts = parts_of(link, frame)
    if link.visuals and not link.collisions:
        machine.notes.append(f"link '{link.name}' has no <collision>; its visuals are used")
    fields: dict[str, Any] = {}
    if parts:
        fields = {"shape": parts[0].shape, "shape_pose": parts[0].pose}
    if not is_first:
        fields["origin"] = pose_of(machine.origin(joint))
    if joint.name in machine.follows:
        fields |= {"driven": False, "armature": FOLLOWER_ARMATURE[joint.type == "prismatic"]}
    else:
        fields |= _driven(machine, joint)
    return Phalanx(
        name=machine.bodies[link.name],
        joint_name=machine.joint_names[joint.name],
        **joint_fields(joint, machine.ranges[joint.name]),
        **fields,
        parts=parts[1:],
        **body_fields(link, frame, machine.density, machine.notes),
    )


def _driven(machine: Machine, joint: RigidJoint) -> dict[str, float]:
    led = {name for name, follow in machine.follows.items() if follow.leader == joint.name}
    moved = {joint.child: joint.parent}
    moved |= {other.child: other.parent for other in machine.robot.joints if other.name in led}
    parents = {other.child: other.parent for other in machine.robot.joints}
    ends = []  # those that no other of the joints moves
    for child, link in moved.items():
        while link in parents and link not in moved:
            link = parents[link]
        ends += [] if link in moved else [child]
    reach = sum(_reach(machine, link) for link in ends)
    mass = sum(_move_mass(machine, link) for link in ends)
    return servo_fields(joint, reach, mass, machine.rules, machine.notes)


def _reach(machine: Machine, link: str) -> float:
    """Length of the longest chain from a link outwards [m]."""
    ends = [
        float(np.linalg.norm(joint.origin.xyz)) + _reach(machine, joint.child)
        for joint in on_link(machine.robot, link)
    ]
    return max(ends, default=float(np.linalg.norm(_tip(machine, link))))


def _move_mass(machine: Machine, link: str) -> float:
    """Mass of a link and of all that it carries [kg]; 0 where the stated masses are replaced."""
    if machine.density is not None:
        return 0.0
    inertial = machine.robot.link(link).inertial
    mass = 0.0 if inertial is None else inertial.mass
    return mass + sum(_move_mass(machine, joint.child) for joint in on_link(machine.robot, link))


def _tip(machine: Machine, link: str) -> Vec3:
    """Return the end of a link in its phalanx frame: its only fixed child link, or far end."""
    if link not in machine.tips:
        marks, frame = _marks(machine, link), machine.row_frame(link)
        link_element = machine.robot.link(link)
        end = np.zeros(3)
        if len(marks) == 1:
            end = (np.linalg.inv(frame) @ marks[0].frame)[:3, 3]
        is_marked = np.linalg.norm(end) >= SHORTEST_TIP
        if not is_marked and touching(link_element):
            points = surface_points([(p.shape, p.pose) for p in parts_of(link_element, frame)])
            far = np.linalg.norm(points, axis=1)
            end = points[far >= FAR_END * far.max()].mean(axis=0)
        elif not is_marked and link_element.inertial is not None:
            end = frame[:3, :3].T @ link_element.inertial.origin.xyz
        machine.tips[link] = triple(end)
    return machine.tips[link]


def _marks(machine: Machine, link: str) -> list[LinkPose]:
    """Return the poses of links that carry no joint and were fixed to a given link."""
    if on_link(machine.robot, link):
        return []
    return [pose for name, pose in machine.link_poses.items() if pose.link == link != name]
