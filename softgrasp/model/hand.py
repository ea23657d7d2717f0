"""Hands in a model: fingers, palms, servos, couplings, attached models and closure mechanisms.

Rigid links have MuJoCo's gravity compensation (``gravcomp``); soft fingers bear their weight, and
attached models keep their own setting.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Literal

import mujoco
import numpy as np
from scipy.spatial import ConvexHull

from softgrasp.description.bendable import Inertial
from softgrasp.description.closure_base import ActuationModel, ClosureActuator
from softgrasp.description.contact import AdhesionPad, SuctionCup, adhesion_actuator
from softgrasp.description.finger import Finger, Phalanx
from softgrasp.description.geometry import Capsule, Part, Pose, Shape
from softgrasp.description.hand import Hand, HandModel, Palm
from softgrasp.io.mjcf.model import attach, source_model
from softgrasp.io.mjcf.tree import closed
from softgrasp.mechanics.geometry import swollen_points
from softgrasp.mechanics.hand_kinematics import Link, chain_links, lowest_point
from softgrasp.mechanics.transforms import Array, position_of, quaternion_of, rotation_from_euler
from softgrasp.model import names
from softgrasp.model.compile import compiled
from softgrasp.model.names import PALM
from softgrasp.model.shapes import (
    add_shape,
    inertia_tensor,
    join_inertia,
    part_name,
    part_pose,
    set_inertia,
)
from softgrasp.model.soft_finger import add_soft_digit
from softgrasp.model.visual import FLOOR_GAP, PALM_RGBA, add_visuals, phalanx_rgba

MASSLESS = 1e-6
"""Mass of a link without a body [kg], as moving bodies need some in MuJoCo."""
LOCKED = 1e-9
"""Width of the range of a joint whose limits coincide [rad or m], as MuJoCo rejects empty ones."""
COUPLING_SOLREF = [4e-3, 1.0]
"""Time constant [s] and damping ratio of joint couplings, stiffer than any servo."""
COUPLING_SOLIMP = [0.95, 0.99, 1e-3, 0.5, 2.0]
"""Impedance of joint couplings."""
COINCIDENT = 1e-4
"""Extent of the finger bases below which there is no automatic palm [m]."""
MARGIN_PER_RADIUS = 0.9
"""Margin of an automatic palm around the finger bases over the finger radius [–]."""
PRESCRIBED_ARMATURE = 1e4
"""Inertia that keeps a prescribed joint on its trajectory under any load [kg·m² or kg]."""
Actuation = Literal["servo", "prescribed"]
SLIDER_MASS = 1e-6
"""Mass of the body of a slider [kg], as moving bodies need some in MuJoCo."""

# Hand without a scene


def build_hand_spec(hand: Hand) -> mujoco.MjSpec:
    """Build the spec of a hand with its servos, without an object; keyframe 0 is its start."""
    spec = mujoco.MjSpec()
    spec.modelname = hand.name
    spec.compiler.degree = False
    add_hand(spec, hand, Pose(), "servo")
    start = [actuator.start for actuator in hand.actuators]
    rigid = hand.posture(start)
    bent = [0.0] * (len(names.joint_names(hand)) - len(rigid))
    if hand.model is None:
        spec.add_key(name=names.START, qpos=[*rigid.values(), *bent], ctrl=start)
    else:
        spec = spec.copy()  # see ``attach``
        model = compiled(spec, hand.name)
        position = np.array(model.qpos0)
        for name, value in rigid.items():
            position[model.joint(name).qposadr[0]] = value
        targets: list[float] = settle(model, hand, position).tolist()
        spec.add_key(name=names.START, qpos=targets, ctrl=start)
    straight = dict.fromkeys(rigid, 0.0)
    lowest = [lowest_point(hand, straight, np.eye(4))] if hand.fingers else []
    lowest += [digit.base.position[2] - digit.length for digit in hand.soft_fingers]
    add_visuals(spec, min(lowest) - FLOOR_GAP)
    return spec


def hand_to_mjcf(hand: Hand) -> str:
    """Return a hand without a scene as MJCF text.

    Raises:
        BuildError: MuJoCo rejects the hand.
    """
    spec = build_hand_spec(hand)
    compiled(spec, hand.name)
    return str(spec.to_xml())


# Hand in a scene


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
        pose: Pose of the hand frame in the world, or in the frame of its carrier.
        actuation: ``servo`` or ``prescribed`` (see ``GraspScene.actuation``).
        carrier: Body that carries the hand; None for the world.
    """
    base = (carrier or spec.worldbody).add_body(
        name=names.hand_body(hand), pos=list(pose.position), quat=list(pose.quaternion)
    )
    if hand.model is not None:
        return add_model(spec, base, hand.model, actuation)
    touching = add_palms(spec, base, hand)
    palm_of = {name: palm.name for palm in hand.more_palms for name in palm.fingers}
    for finger in hand.fingers:
        parent = spec.body(finger.on or palm_of.get(finger.name, names.PALM))
        touching += _add_finger(spec, parent, finger, actuation)
    _add_couplings(spec, hand)
    for body, adhesion in hand.adhesions:
        _add_adhesion(spec, body, adhesion)
    for digit in hand.soft_fingers:
        palm = spec.body(palm_of.get(digit.name, names.PALM))
        touching += add_soft_digit(spec, palm, digit)
    return touching


def _add_finger(
    spec: mujoco.MjSpec, parent: mujoco.MjsBody, finger: Finger, actuation: Actuation
) -> list[str]:
    """Add the links of a finger and return those that can touch."""
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
    """Add shapes, mass and inertia to the body of a link."""
    shapes = link_shapes(row, link)
    for index, (shape, pose) in enumerate(shapes):
        add_shape(spec, body, part_name(name, index), shape, pose, rgba=rgba)
    if row.inertial is not None:
        _set_inertial(body, row.inertial)
        return
    set_inertia(body, *join_inertia(shapes, mass=row.mass, density=row.density or 0.0))


def add_bodyless(body: mujoco.MjsBody, row: Phalanx) -> None:
    """Set the inertia of a link without shapes: as described, or a negligible one."""
    if row.inertial is not None:
        _set_inertial(body, row.inertial)
        return
    set_inertia(body, MASSLESS, np.eye(3) * MASSLESS * row.radius**2, (0.0, 0.0, 0.0))


def _set_inertial(body: mujoco.MjsBody, inertial: Inertial) -> None:
    """Set a described inertia."""
    rotation = rotation_from_euler(inertial.origin.rpy)
    about = inertia_tensor(inertial.inertia or (0.0,) * 6)
    set_inertia(body, inertial.mass, rotation @ about @ rotation.T, inertial.origin.xyz)


def link_shapes(row: Phalanx, link: Link) -> list[tuple[Shape, Pose]]:
    """Return the shapes of a link with the poses of their centres; by default a capsule."""
    if row.shape is not None or row.parts:
        link_shape = (
            [] if row.shape is None else [(row.shape, part_pose(row.shape, row.shape_pose))]
        )
        return link_shape + [(part.shape, part_pose(part.shape, part.pose)) for part in row.parts]
    return [link_capsule(row, link)]


def link_capsule(row: Phalanx, link: Link) -> tuple[Shape, Pose]:
    """Return the capsule along a link and the pose of its centre."""
    length = float(np.linalg.norm(link.end))
    along = link.end / length
    pose = Pose(position=tuple(link.end / 2), quaternion=_quaternion_from_z(along))
    return Capsule(radius=row.radius, length=length), pose


def _quaternion_from_z(direction: Array) -> tuple[float, float, float, float]:
    """Compute the quaternion of the shortest rotation from z to a unit vector."""
    x, y, z = direction.tolist()
    if z < -1 + 1e-12:
        return (0.0, 1.0, 0.0, 0.0)
    return (1.0 + z, -y, x, 0.0)


def add_joint(body: mujoco.MjsBody, name: str, row: Phalanx, actuation: Actuation) -> None:
    """Add the joint of a phalanx to its body."""
    prescribed = actuation == "prescribed"
    is_hinge = row.joint == "revolute"
    body.add_joint(
        name=name,
        type=mujoco.mjtJoint.mjJNT_HINGE if is_hinge else mujoco.mjtJoint.mjJNT_SLIDE,
        axis=[0, 0, 1],
        range=_range(row),
        # the targets of a prescribed joint are within its limits
        limited=not prescribed,
        damping=0.0 if prescribed else row.damping,
        frictionloss=0.0 if prescribed else row.friction_loss,
        stiffness=0.0 if prescribed else row.stiffness,
        springref=row.rest_angle,
        armature=PRESCRIBED_ARMATURE if prescribed else row.armature,
    )


def add_servo(spec: mujoco.MjSpec, name: str, row: Phalanx, actuation: Actuation) -> None:
    """Add the position servo of a joint; the order of calls is the order of actuators."""
    actuator = spec.add_actuator(
        name=name,
        target=name,
        trntype=mujoco.mjtTrn.mjTRN_JOINT,
        ctrlrange=_range(row),
        ctrllimited=True,
    )
    if actuation == "prescribed":
        actuator.gainprm[0] = 0.0  # no force: its control records the target of the joint
        return
    actuator.set_to_position(kp=row.servo_stiffness, dampratio=row.servo_damping_ratio)
    actuator.forcerange = [-row.force_limit, row.force_limit]
    actuator.forcelimited = True


def _add_adhesion(spec: mujoco.MjSpec, body: str, adhesion: SuctionCup | AdhesionPad) -> None:
    """Add the actuator of a cup or pad: pressure times area, evenly over the contacts of a body."""
    made = adhesion_actuator(body, adhesion)
    actuator = spec.add_actuator(
        name=made.name,
        target=body,
        trntype=mujoco.mjtTrn.mjTRN_BODY,
        ctrlrange=made.limits,
        ctrllimited=True,
    )
    actuator.gainprm[0] = adhesion.area
    if adhesion.time_constant:
        actuator.dyntype = mujoco.mjtDyn.mjDYN_FILTEREXACT
        actuator.dynprm[0] = adhesion.time_constant


def extend_reach(spec: mujoco.MjSpec, hand: Hand) -> None:
    """Let the contact pairs of cups and pads exist, without force, as far as adhesion acts."""
    parts = ((item.reach, spec.body(body).geoms) for body, item in hand.adhesions)
    reaches = {geom.name: reach for reach, geoms in parts for geom in geoms}
    for pair in spec.pairs if reaches else ():
        pair.gap = max(reaches.get(pair.geomname1, 0.0), reaches.get(pair.geomname2, 0.0))


def limit_torques(spec: mujoco.MjSpec, actuators: Iterable[str], torque: float) -> None:
    """Limit the torques or forces of servos of a file, which may have lower limits.

    Args:
        spec: The model to change.
        actuators: Names of the servos.
        torque: Largest torque or force on what they move [N·m or N].
    """
    for name in actuators:
        servo = spec.actuator(name)
        limit = torque / (abs(float(servo.gear[0])) or 1.0)
        low, high = (float(end) for end in servo.forcerange)
        limits = (low, high) if low < high else (-limit, limit)  # equal ends are no limits
        servo.forcerange = [max(limits[0], -limit), min(limits[1], limit)]
        servo.forcelimited = True


def _range(row: Phalanx) -> list[float]:
    """Return the limits of a joint, separated by at least ``LOCKED``."""
    low, high = row.limits
    return [low, max(high, low + LOCKED)]


def _add_couplings(spec: mujoco.MjSpec, hand: Hand) -> None:
    """Couple joints to their leaders by equalities, as MuJoCo does for ``mimic`` of URDF."""
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


# Palms


def palm_points(hand: Hand, palm: Palm | None = None) -> Array | None:
    """Compute the vertices of an automatic palm, (n, 3) [m], hand frame; None if bases coincide.

    Args:
        hand: The hand.
        palm: One of its palms; None for the first one.
    """
    palm = palm or hand.palm
    fingers = [item for item in hand.fingers if not palm.fingers or item.name in palm.fingers]
    digits = [item for item in hand.soft_fingers if not palm.fingers or item.name in palm.fingers]
    rigid = [chain_links(item)[0].origin[:3, 3] for item in fingers if not item.on]
    soft = [np.array(digit.base.position) for digit in digits]
    bases = np.array(rigid + soft)
    if np.ptp(bases, axis=0).max() < COINCIDENT:
        return None
    widths = [0.5 * max(digit.finger.links[0].size[1:]) for digit in digits]
    radius = max([row.radius for finger in fingers for row in finger.phalanges] + widths)
    points = swollen_points(bases, palm.margin or MARGIN_PER_RADIUS * radius)
    return np.asarray(points[ConvexHull(points).vertices])


def add_palms(spec: mujoco.MjSpec, base: mujoco.MjsBody, hand: Hand) -> list[str]:
    """Add the palm to the base body of the hand, and further palms as separate bodies.

    Returns:
        The bodies with geoms.
    """
    bodies = [PALM] if _add_palm(spec, base, hand, hand.palm, PALM) else []
    for palm in hand.more_palms:
        body = base.add_body(name=palm.name)
        if _add_palm(spec, body, hand, palm, palm.name):
            bodies.append(palm.name)
    return bodies


def _add_palm(spec: mujoco.MjSpec, body: mujoco.MjsBody, hand: Hand, palm: Palm, name: str) -> bool:
    """Add the geoms of a palm to a body; return whether there are any."""
    rgba = hand.palm_rgba or PALM_RGBA
    if palm.kind == "shape" and palm.shape is not None:
        first = Part(shape=palm.shape, pose=palm.pose)
        for index, part in enumerate((first, *palm.parts)):
            pose = part_pose(part.shape, part.pose)
            add_shape(spec, body, part_name(name, index), part.shape, pose, rgba=rgba)
        return True
    points = palm_points(hand, palm) if palm.kind == "auto" else None
    if points is None:
        return False
    spec.add_mesh(name=name, uservert=points.ravel())
    body.add_geom(
        name=name,
        type=mujoco.mjtGeom.mjGEOM_MESH,
        meshname=name,
        rgba=rgba,
        mass=0.0,
        contype=0,
        conaffinity=0,
    )
    return True


# Attached hand models


def add_model(
    spec: mujoco.MjSpec, base: mujoco.MjsBody, model: HandModel, actuation: Actuation
) -> list[str]:
    """Attach the model of a hand to a body and return its bodies that can touch.

    Args:
        spec: The scene; to be copied before it is compiled.
        base: Body that carries the model.
        model: The model.
        actuation: If ``prescribed``, joints lose their servos, springs and friction.

    Raises:
        DescriptionError: The file is missing, invalid, or has changed.
    """
    source, weightless = source_model(model), model.gravity_compensation
    attach(spec, source, base, model.pose, model.servos, weightless=weightless)
    for driven in model.actuators if actuation == "prescribed" else ():
        joint, actuator = spec.joint(driven.joint), spec.actuator(driven.actuator)
        joint.armature, joint.limited = PRESCRIBED_ARMATURE, mujoco.mjtLimited.mjLIMITED_FALSE
        joint.damping[:] = joint.stiffness[:] = 0.0
        joint.frictionloss = 0.0
        actuator.gainprm[:] = actuator.biasprm[:] = 0.0
    return list(model.touching)


def silence(spec: mujoco.MjSpec, bodies: Iterable[str]) -> None:
    """Disable the built-in contacts of an attached hand model, as scenes add explicit pairs.

    Args:
        spec: A scene with an attached hand model; changed.
        bodies: Its bodies that can touch.
    """
    for body in bodies:
        for geom in spec.body(body).geoms:
            geom.contype = geom.conaffinity = 0
    for pair in [pair for pair in spec.pairs if "|" not in pair.name]:
        spec.delete(pair)


def settle(model: mujoco.MjModel, hand: Hand, position: Array) -> Array:
    """Compute a posture that satisfies the equalities of the hand, with its actuators fixed.

    Args:
        model: The compiled scene.
        hand: Its hand.
        position: ``qpos``, (nq,).
    """
    if hand.model is None or not model.neq:
        return position
    data = mujoco.MjData(model)
    data.qpos[:] = position
    hand_joints = [name for f in hand.fingers for name in map(f.joint_of, f.phalanges)]
    led = {move.joint for model_actuator in hand.model.actuators for move in model_actuator.moves}
    held = np.ones(model.nv, dtype=bool)
    # joints of the model that have no phalanx, such as ball joints, may move too
    for joint in range(model.njnt):
        name = model.joint(joint).name
        if name in hand_joints and name not in led:
            held[int(model.jnt_dofadr[joint])] = False
    closed(model, data, held)
    return np.array(data.qpos)


# Closure mechanisms: sliders, tendons and their actuators


def add_mechanism(spec: mujoco.MjSpec, mechanism: ActuationModel) -> None:
    """Add the sliders, tendons and actuators of a closure.

    Args:
        spec: A model with the hand, whose actuators come first.
        mechanism: Mechanism of the closure.
    """
    if not mechanism.actuators:
        return
    for slider in mechanism.sliders:
        body = spec.worldbody.add_body(name=slider.name, gravcomp=1)
        body.mass = SLIDER_MASS
        body.inertia = [SLIDER_MASS] * 3
        body.explicitinertial = True
        body.add_joint(
            name=slider.name,
            type=mujoco.mjtJoint.mjJNT_SLIDE,
            axis=[1, 0, 0],
            armature=slider.inertia,
        )
    model = spec.copy().compile()
    joints = (model.joint(index) for index in range(model.njnt))
    inertia = {joint.name: float(model.dof_M0[joint.dofadr[0]]) for joint in joints}
    for actuator in mechanism.actuators:
        _add_actuator(spec, actuator, inertia)


def _add_actuator(
    spec: mujoco.MjSpec, actuator: ClosureActuator, inertia: Mapping[str, float]
) -> None:
    """Add a tendon with its motor or position servo."""
    name, (low, high) = actuator.actuator.name, actuator.actuator.limits
    tendon = spec.add_tendon(name=name)
    for joint, arm in actuator.arms:
        tendon.wrap_joint(joint, arm)
    element = spec.add_actuator(
        name=name,
        target=name,
        trntype=mujoco.mjtTrn.mjTRN_TENDON,
        ctrlrange=[low, max(high, low + LOCKED)],
        ctrllimited=True,
        forcerange=list(actuator.force_limits),
        forcelimited=True,
    )
    if not actuator.stiffness:
        element.set_to_motor()
        return
    stiffness = actuator.stiffness
    element.gaintype = mujoco.mjtGain.mjGAIN_FIXED
    element.biastype = mujoco.mjtBias.mjBIAS_AFFINE
    element.gainprm[0] = stiffness
    element.biasprm[:3] = [stiffness * actuator.zero, -stiffness, -_damping(actuator, inertia)]


def _damping(actuator: ClosureActuator, inertia: Mapping[str, float]) -> float:
    """Compute the velocity gain 2 ζ √(k m) of a servo with m = 1/Σ(arm²/M) along its tendon."""
    mobility = sum(arm**2 / inertia[joint] for joint, arm in actuator.arms)
    return 2.0 * actuator.damping_ratio * math.sqrt(actuator.stiffness / mobility)
