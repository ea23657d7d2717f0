"""Hand → bodies, joints and actuators."""

from __future__ import annotations

from typing import Literal

import mujoco
import numpy as np

from softgrasp.build import names
from softgrasp.build.attached_hand import PRESCRIBED_ARMATURE, add_model
from softgrasp.build.palm import add_palms
from softgrasp.build.shapes import (
    add_shape,
    joined_inertia,
    part_name,
    part_pose,
    set_inertia,
)
from softgrasp.build.soft_digit import add_soft_digit
from softgrasp.build.visual import phalanx_rgba
from softgrasp.description.bendable import Inertial
from softgrasp.description.finger import Finger, Phalanx
from softgrasp.description.geometry import Capsule, Pose, Shape
from softgrasp.description.hand import Hand
from softgrasp.mechanics.hand_kinematics import Link, chain_links
from softgrasp.mechanics.transforms import (
    Array,
    position_of,
    quaternion_of,
    rotation_from_euler,
)

MASSLESS = 1e-6
"""Mass [kg] of a link without a body: MuJoCo needs moving bodies to have some."""

LOCKED = 1e-9
"""Width [rad or m] of the range of a joint whose limits coincide: MuJoCo refuses an empty one."""

COUPLING_SOLREF = [4e-3, 1.0]
"""Time constant [s] and damping ratio with which a joint follows: stiffer than any servo."""
COUPLING_SOLIMP = [0.95, 0.99, 1e-3, 0.5, 2.0]

Actuation = Literal["servo", "prescribed"]


def add_hand(
    spec: mujoco.MjSpec,
    hand: Hand,
    pose: Pose,
    actuation: Actuation,
    carrier: mujoco.MjsBody | None = None,
) -> list[str]:
    """Add a hand to a model and return the bodies that can touch, the palm first.

    Args:
        spec: The model to extend.
        hand: The hand.
        pose: Pose of the hand's frame in the world, or in the frame of what carries it.
        actuation: ``servo`` or ``prescribed`` (see ``GraspScene.actuation``).
        carrier: The body that carries it, where there is one.
    """
    base = (carrier or spec.worldbody).add_body(
        name=names.hand_body(hand), pos=list(pose.position), quat=list(pose.quaternion)
    )
    if hand.model is not None:
        return add_model(spec, base, hand.model, actuation)
    touching = add_palms(spec, base, hand)
    stands = {name: palm.name for palm in hand.more_palms for name in palm.fingers}
    for finger in hand.fingers:
        parent = spec.body(finger.on or stands.get(finger.name, names.PALM))
        touching += _add_finger(spec, parent, finger, actuation)
    _add_couplings(spec, hand)
    for digit in hand.soft_fingers:
        palm = spec.body(stands.get(digit.name, names.PALM))
        touching += add_soft_digit(spec, palm, digit)
    return touching


def _add_finger(
    spec: mujoco.MjSpec, parent: mujoco.MjsBody, finger: Finger, actuation: Actuation
) -> list[str]:
    touching = []
    rows = zip(finger.phalanges, chain_links(finger), finger.has_body, strict=True)
    for index, (row, link, has_body) in enumerate(rows):
        name = finger.body_of(row)
        body = parent.add_body(
            name=name, pos=position_of(link.origin), quat=quaternion_of(link.origin), gravcomp=1
        )
        joint = finger.joint_of(row)
        add_joint(body, joint, row, actuation if row.driven else "servo")
        if row.driven:
            add_servo(spec, joint, row, actuation)
        if has_body:
            add_link_body(spec, body, name, row, link, phalanx_rgba(index))
            touching.append(name)
        else:
            add_bodyless(body, row)
        parent = body
    parent.add_site(
        name=names.tip_site(finger.name), pos=link.end.tolist(), size=[0.001] * 3, group=4
    )
    return touching


def add_link_body(
    spec: mujoco.MjSpec,
    body: mujoco.MjsBody,
    name: str,
    row: Phalanx,
    link: Link,
    rgba: tuple[float, ...],
) -> None:
    """Give a link its shapes, mass and inertia."""
    shapes = link_shapes(row, link)
    for index, (shape, pose) in enumerate(shapes):
        add_shape(spec, body, part_name(name, index), shape, pose, rgba=rgba)
    if row.inertial is not None:
        _set_inertial(body, row.inertial)
        return
    set_inertia(body, *joined_inertia(shapes, mass=row.mass, density=row.density or 0.0))


def add_bodyless(body: mujoco.MjsBody, row: Phalanx) -> None:
    """Give a link without shapes the inertia that it states, or next to none."""
    if row.inertial is not None:
        _set_inertial(body, row.inertial)
        return
    set_inertia(body, MASSLESS, np.eye(3) * MASSLESS * row.radius**2, (0.0, 0.0, 0.0))


def link_shapes(row: Phalanx, link: Link) -> list[tuple[Shape, Pose]]:
    """The shapes of a link and where their centres stand: its own ones, or a capsule along it."""
    if row.shape is not None or row.parts:
        link_shape = (
            [] if row.shape is None else [(row.shape, part_pose(row.shape, row.shape_pose))]
        )
        return link_shape + [(part.shape, part_pose(part.shape, part.pose)) for part in row.parts]
    return [link_capsule(row, link)]


def link_capsule(row: Phalanx, link: Link) -> tuple[Shape, Pose]:
    """The capsule along a link, and where its centre stands."""
    length = float(np.linalg.norm(link.end))
    along = link.end / length
    pose = Pose(position=tuple(link.end / 2), quaternion=_quaternion_from_z(along))
    return Capsule(radius=row.radius, length=length), pose


def _quaternion_from_z(direction: Array) -> tuple[float, float, float, float]:
    """The shortest turn that takes z to a unit vector."""
    x, y, z = direction.tolist()
    if z < -1 + 1e-12:
        return (0.0, 1.0, 0.0, 0.0)
    return (1.0 + z, -y, x, 0.0)


def add_joint(body: mujoco.MjsBody, name: str, row: Phalanx, actuation: Actuation) -> None:
    """Give a link the joint of its row."""
    prescribed = actuation == "prescribed"
    turning = row.joint == "revolute"
    body.add_joint(
        name=name,
        type=mujoco.mjtJoint.mjJNT_HINGE if turning else mujoco.mjtJoint.mjJNT_SLIDE,
        axis=[0, 0, 1],
        range=_range(row),
        # a prescribed joint obeys its targets, which keep to the limits themselves
        limited=not prescribed,
        damping=0.0 if prescribed else row.damping,
        frictionloss=0.0 if prescribed else row.friction_loss,
        stiffness=0.0 if prescribed else row.stiffness,
        springref=row.rest_angle,
        armature=PRESCRIBED_ARMATURE if prescribed else row.armature,
    )


def add_servo(spec: mujoco.MjSpec, name: str, row: Phalanx, actuation: Actuation) -> None:
    """Give a joint its position servo; actuators are numbered in the order of these calls."""
    actuator = spec.add_actuator(
        name=name,
        target=name,
        trntype=mujoco.mjtTrn.mjTRN_JOINT,
        ctrlrange=_range(row),
        ctrllimited=True,
    )
    if actuation == "prescribed":
        actuator.gainprm[0] = 0.0  # it pulls at nothing: its control records the joint's target
        return
    actuator.set_to_position(kp=row.servo_stiffness, dampratio=row.servo_damping_ratio)
    actuator.forcerange = [-row.force_limit, row.force_limit]
    actuator.forcelimited = True


def _set_inertial(body: mujoco.MjsBody, inertial: Inertial) -> None:
    """State the inertia of a link that says it."""
    rotation = rotation_from_euler(inertial.origin.rpy)
    ixx, iyy, izz, ixy, ixz, iyz = inertial.inertia or (0.0,) * 6
    about = np.array([[ixx, ixy, ixz], [ixy, iyy, iyz], [ixz, iyz, izz]])
    set_inertia(body, inertial.mass, rotation @ about @ rotation.T, inertial.origin.xyz)


def _add_couplings(spec: mujoco.MjSpec, hand: Hand) -> None:
    """Let joints follow others; MuJoCo's ``mimic`` of URDF is the same equality."""
    for coupling in hand.couplings:
        equality = spec.add_equality(
            name=names.coupling(coupling.joint),
            type=mujoco.mjtEq.mjEQ_JOINT,
            name1=coupling.joint,
            name2=coupling.leader,
            objtype=mujoco.mjtObj.mjOBJ_JOINT,
            solref=COUPLING_SOLREF,
            solimp=COUPLING_SOLIMP,
        )
        equality.data[:2] = [coupling.offset, coupling.ratio]


def _range(row: Phalanx) -> list[float]:
    low, high = row.limits
    return [low, max(high, low + LOCKED)]
