"""Chains of URDF joints as fingers of placed rows, z turned onto each joint's axis."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from softgrasp.description.base import Vec3
from softgrasp.description.finger import Finger, Phalanx
from softgrasp.description.robot import RigidJoint, Robot
from softgrasp.formats.link_surfaces import surface_points
from softgrasp.formats.urdf.bodies import body_fields
from softgrasp.formats.urdf.mimics import Followed, Range
from softgrasp.formats.urdf.servos import (
    FOLLOWER_ARMATURE,
    ServoRules,
    joint_fields,
    servo_fields,
)
from softgrasp.formats.urdf.shapes import frame_along, parts_of, pose_of, touching
from softgrasp.formats.urdf.tree import Chain
from softgrasp.mechanics.robot_kinematics import LinkPose, origin_frame
from softgrasp.mechanics.transforms import Array

FAR_END = 0.97
"""Points beyond this part of the largest distance from the joint are the end of a link [–]."""


@dataclass
class Machine:
    """What is known of a robot while its chains are made; notes grow."""

    robot: Robot
    """Without fixed joints."""
    link_poses: Mapping[str, LinkPose]
    """Where the links of the file went."""
    follows: Mapping[str, Followed]
    ranges: Mapping[str, Range]
    density: float | None
    rules: ServoRules
    bodies: Mapping[str, str]
    """What links are called."""
    joint_names: Mapping[str, str]
    notes: list[str] = field(default_factory=list)
    tips: dict[str, Vec3] = field(default_factory=dict)
    """Ends of links that were looked for already."""

    def row_frame(self, link: str) -> Array:
        """The frame of a link's row in the link's own one, (4, 4)."""
        moving = next((joint for joint in self.robot.joints if joint.child == link), None)
        return np.eye(4) if moving is None else frame_along(moving.axis)

    def origin(self, joint: RigidJoint) -> Array:
        """The row of a joint at zero in that of its parent link, (4, 4)."""
        back = np.linalg.inv(self.row_frame(joint.parent))
        return np.asarray(back @ origin_frame(joint.origin) @ self.row_frame(joint.child))


def finger_of(machine: Machine, chain: Chain, on: str) -> Finger:
    """A chain as a finger, with the bodies and joints called as the machine says.

    Args:
        machine: The robot.
        chain: Its joints.
        on: What the body is called on which it stands; "" for the palm.
    """
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


def _row(machine: Machine, joint: RigidJoint, *, is_first: bool) -> Phalanx:
    names = [link.name for link in machine.robot.links]
    index = names.index(joint.child)
    link, frame = machine.robot.links[index], machine.row_frame(joint.child)
    parts = parts_of(link, frame)
    if link.visuals and not link.collisions:
        machine.notes.append(f"link '{link.name}' has no <collision>: what is seen touches")
    carries = any(other.parent == link.name for other in machine.robot.joints)
    shape = {} if not parts else {"shape": parts[0].shape, "shape_pose": parts[0].pose}
    follower = joint.name in machine.follows
    return Phalanx(
        name=machine.bodies[link.name],
        joint_name=machine.joint_names[joint.name],
        **({} if is_first else {"origin": pose_of(machine.origin(joint))}),
        **joint_fields(joint, machine.ranges[joint.name]),
        **(_following(joint) if follower else _driven(machine, joint)),
        **shape,
        parts=parts[1:],
        **body_fields(
            link, frame, machine.density, index=index, carries=carries, notes=machine.notes
        ),
    )


def _following(joint: RigidJoint) -> dict[str, float | bool]:
    return {"driven": False, "armature": FOLLOWER_ARMATURE[joint.type == "prismatic"]}


def _driven(machine: Machine, joint: RigidJoint) -> dict[str, float]:
    moved = [joint, *(j for j in machine.robot.joints if _leads(machine, joint, j))]
    reach = sum(_reach(machine, one.child) for one in moved if _is_outermost(machine, one, moved))
    return servo_fields(joint, reach, machine.rules, machine.notes)


def _leads(machine: Machine, joint: RigidJoint, other: RigidJoint) -> bool:
    follow = machine.follows.get(other.name)
    return follow is not None and follow.leader == joint.name


def _is_outermost(machine: Machine, joint: RigidJoint, moved: list[RigidJoint]) -> bool:
    """Whether none of the other joints carries this one: of a finger, the first one counts."""
    parents = {other.child: other.parent for other in machine.robot.joints}
    above, link = [], joint.parent
    while link in parents:
        above.append(link)
        link = parents[link]
    return not any(other is not joint and other.child in above for other in moved)


def _reach(machine: Machine, link: str) -> float:
    """Length of the longest chain from a link outwards [m]."""
    ends = [
        float(np.linalg.norm(joint.origin.xyz)) + _reach(machine, joint.child)
        for joint in machine.robot.joints
        if joint.parent == link
    ]
    return max(ends, default=float(np.linalg.norm(_tip(machine, link))))


def _tip(machine: Machine, link: str) -> Vec3:
    """End of a link in its row's frame: the one empty link fixed to it, or its far end."""
    if link not in machine.tips:
        machine.tips[link] = _detected_tip(machine, link)
    return machine.tips[link]


def _detected_tip(machine: Machine, link: str) -> Vec3:
    marks, frame = _marks(machine, link), machine.row_frame(link)
    link_element = next(one for one in machine.robot.links if one.name == link)
    end = np.zeros(3)
    if len(marks) == 1:
        end = (np.linalg.inv(frame) @ marks[0].frame)[:3, 3]
    elif touching(link_element):
        points = surface_points([(p.shape, p.pose) for p in parts_of(link_element, frame)])
        far = np.linalg.norm(points, axis=1)
        end = points[far >= FAR_END * far.max()].mean(axis=0)
    elif link_element.inertial is not None:
        end = frame[:3, :3].T @ link_element.inertial.origin.xyz
    x, y, z = end.tolist()
    return (x, y, z)


def _marks(machine: Machine, link: str) -> list[LinkPose]:
    """Where links of the file were fixed to a link that carries no joint, as its end."""
    carried = any(joint.parent == link for joint in machine.robot.joints)
    attached = [
        frame for name, frame in machine.link_poses.items() if frame.link == link and name != link
    ]
    return [] if carried else attached
