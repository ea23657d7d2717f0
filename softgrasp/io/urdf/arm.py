"""Serial arms from URDF and xacro files, with a hand at the tool link."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from softgrasp.description.arm import Arm
from softgrasp.description.geometry import Pose
from softgrasp.description.robot import Robot
from softgrasp.errors import DescriptionError, did_you_mean
from softgrasp.io.urdf.hand import machine_of
from softgrasp.io.urdf.kinematic_tree import Chain, Machine, finger_of
from softgrasp.io.urdf.links import ARM
from softgrasp.io.urdf.reader import make_of_robot
from softgrasp.mechanics.hand_kinematics import pose_of
from softgrasp.mechanics.transforms import transform


def read_urdf_arm(
    path: Path,
    *,
    start: Sequence[float] | None = None,
    tool: Pose | None = None,
    tool_link: str | None = None,
) -> Arm:
    """Read an arm from a URDF or xacro file.

    Args:
        path: The file.
        start: Initial joint angles, one per joint [rad]; by default zeros, or the nearest limits.
        tool: Frame of the hand in the frame of the tool link.
        tool_link: Link that carries the hand; by default the link that is fixed to the last
            moving link, or that link itself.

    Raises:
        DescriptionError: The file is wrong, its robot branches or has no moving joints, a joint
            follows another one, or there is no such tool link; names file, line and element.
        BackendUnavailable: It is a xacro file, and the xacro package is not installed.

    Warns:
        SoftgraspWarning: Something in the file is not kept.
    """
    return make_of_robot(path, lambda robot: urdf_arm(robot, start, tool or Pose(), tool_link))


def urdf_arm(robot: Robot, start: Sequence[float] | None, tool: Pose, tool_link: str | None) -> Arm:
    """Make an arm from a robot; arguments as in ``read_urdf_arm``."""
    if robot.bendables:
        raise DescriptionError(
            f"expected rigid joints, found bendable '{robot.bendables[0].name}'",
            location=("bendables", 0),
        )
    machine = machine_of(robot, ARM)
    chain = finger_of(machine, _only_chain(robot, machine), "")
    rows = chain.phalanges
    if start is not None:
        if len(start) != len(rows):
            raise DescriptionError(
                f"expected {len(rows)} numbers, one per joint, found {len(start)}", field="start"
            )
        rows = tuple(row.replace(start=float(v)) for row, v in zip(rows, start, strict=True))
    link = _tool_link(robot, machine, tool_link, chain.body_of(rows[-1]))
    back = np.linalg.inv(machine.row_frame(machine.link_poses[link].link))
    flange = back @ machine.link_poses[link].frame @ transform(tool.position, tool.quaternion)
    return Arm(
        name=robot.name,
        chain=chain.replace(name=robot.name, phalanges=rows, verbatim_names=False),
        tool=pose_of(flange),
        source=robot.source,
    )


def _only_chain(robot: Robot, machine: Machine) -> Chain:
    """All moving joints in series."""
    whole, joints = machine.robot, []
    link = whole.root
    while children := [joint for joint in whole.joints if joint.parent == link]:
        if len(children) > 1:
            names = ", ".join(f"'{joint.name}'" for joint in children)
            index = [joint.name for joint in robot.joints].index(children[1].name)
            raise DescriptionError(
                f"expected an arm whose joints are in series, found {names} on '{link}'",
                location=("joints", index, "parent"),
            )
        joints.append(children[0])
        link = children[0].child
    for joint in joints:
        if joint.name in machine.follows:
            index = [other.name for other in robot.joints].index(joint.name)
            raise DescriptionError(
                f"expected joints without mimic, found '{joint.name}', which follows another joint",
                location=("joints", index, "mimic"),
            )
    if not joints:
        raise DescriptionError(
            f"expected joints that move in '{robot.name}', found none", location=("joints",)
        )
    return Chain(robot.name, whole.root, tuple(joints))


def _tool_link(robot: Robot, machine: Machine, tool_link_name: str | None, last_body: str) -> str:
    """Name of the link that carries the hand, fixed to the last moving link."""
    last = next(name for name, body in machine.bodies.items() if body == last_body)
    children = [name for name, placed in machine.link_poses.items() if placed.link == last]
    if tool_link_name is not None:
        if tool_link_name not in children:
            raise DescriptionError(
                f"expected the last moving link '{last}' or a link fixed to it, found "
                f"'{tool_link_name}'; {did_you_mean(tool_link_name, children)}",
                field="tool_link",
            )
        return tool_link_name
    carriers = {joint.parent for joint in robot.joints}
    ends = [name for name in children if name not in carriers]
    return ends[0] if len(ends) == 1 else last
