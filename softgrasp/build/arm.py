"""A serial arm that carries the hand: links to look at, joints with servos."""

from __future__ import annotations

import mujoco
import numpy as np

from softgrasp.build import names
from softgrasp.build.hand import Actuation, add_bodyless, add_joint, add_link_body, add_servo
from softgrasp.build.shapes import VISUAL_GROUP
from softgrasp.description.arm import Arm
from softgrasp.description.geometry import Pose
from softgrasp.mechanics.hand_kinematics import chain_links, forward_kinematics
from softgrasp.mechanics.transforms import (
    Array,
    position_of,
    quaternion_of,
    rotate_about,
    transform,
    translate,
)

RGBA = (0.72, 0.75, 0.78, 1.0)


def arm_base(arm: Arm, hand_pose: Pose) -> Array:
    """Where the arm stands so that the hand starts at its pose, (4, 4) in the world."""
    start = [row.start for row in arm.chain.phalanges]
    tool = transform(arm.tool.position, arm.tool.quaternion)
    hand = transform(hand_pose.position, hand_pose.quaternion)
    return np.asarray(hand @ np.linalg.inv(forward_kinematics(arm.chain, start)[-1] @ tool))


def add_arm(
    spec: mujoco.MjSpec, arm: Arm, hand_pose: Pose, actuation: Actuation
) -> tuple[mujoco.MjsBody, Pose]:
    """Add the links and joints of an arm.

    Args:
        spec: The model to extend.
        arm: The arm.
        hand_pose: Pose of the hand in the world at the start.
        actuation: As for the hand.

    Returns:
        The last link, and the pose of the hand in its frame.
    """
    carry = arm_base(arm, hand_pose)
    body = spec.worldbody.add_body(
        name=names.ARM, pos=position_of(carry), quat=quaternion_of(carry)
    )
    links = chain_links(arm.chain)
    for row, link, has_body in zip(arm.chain.phalanges, links, arm.chain.has_body, strict=True):
        name = names.arm_body(row.name)
        body = body.add_body(
            name=name, pos=position_of(link.origin), quat=quaternion_of(link.origin), gravcomp=1
        )
        add_joint(body, names.arm_joint(row.joint_name), row, actuation)
        if has_body:
            add_link_body(spec, body, name, row, link, RGBA)
        else:
            add_bodyless(body, row)
        for geom in body.geoms:
            geom.group = VISUAL_GROUP
    return body, _hand_in_last_link(arm)


def add_arm_servos(spec: mujoco.MjSpec, arm: Arm, actuation: Actuation) -> None:
    """Give the joints of an arm their servos; behind the hand's, in the order of the targets."""
    for row in arm.chain.phalanges:
        add_servo(spec, names.arm_joint(row.joint_name), row, actuation)


def _hand_in_last_link(arm: Arm) -> Pose:
    """The hand in the last link's frame, which stands at the last joint."""
    chain = arm.chain
    start = [row.start for row in chain.phalanges]
    frames = forward_kinematics(chain, start)
    link = np.eye(4)
    for row, part in zip(chain.phalanges, chain_links(chain), strict=True):
        moved = rotate_about("z", row.start) if row.joint == "revolute" else translate(z=row.start)
        link = link @ part.origin @ moved
    tool = transform(arm.tool.position, arm.tool.quaternion)
    within = np.linalg.inv(link) @ frames[-1] @ tool
    return Pose(position=position_of(within), quaternion=quaternion_of(within))
