"""Carriers of a hand in a model: serial arm, lifting wrist, six-axis wrist; and their targets.

A wrist that lifts is a slide along z of the world. A wrist that moves through a sequence has three
slides along the axes of the world and then three hinges about z, y and x, whose axes are those of
the world at the home pose. All have stiff position servos.
"""

from __future__ import annotations

import math
from functools import lru_cache

import mujoco
import numpy as np
import scipy

from softgrasp.description.arm import Arm, HandCarrier
from softgrasp.description.base import Vec3
from softgrasp.description.closure_base import ActuationModel
from softgrasp.description.geometry import Pose
from softgrasp.description.hand import Hand
from softgrasp.description.object import Lift
from softgrasp.description.scene import GraspScene
from softgrasp.description.task import ApproachPhase
from softgrasp.mechanics.hand_kinematics import chain_links, forward_kinematics
from softgrasp.mechanics.trajectory import joint_path, wrist_values
from softgrasp.mechanics.transforms import (
    Array,
    position_of,
    quaternion_of,
    rotate_about,
    transform,
    translate,
)
from softgrasp.model import names
from softgrasp.model.hand import (
    PRESCRIBED_ARMATURE,
    Actuation,
    add_bodyless,
    add_hand,
    add_joint,
    add_link_body,
    add_mechanism,
    add_servo,
)
from softgrasp.model.hand_carrier import carrier_model
from softgrasp.model.names import WRIST, WRIST_JOINTS, hand_body
from softgrasp.model.shapes import VISUAL_GROUP, set_inertia

APPROACH = 0.10
"""Length of an approach without a specified offset [m]."""
STEP = 2e-3
"""Distance between poses on the path of an arm to the start of an approach [m]."""
KNOTS = 8e-3
"""Time between samples of inverse kinematics of an arm [s]; the cubic spline between them has an
error below 1 µm for a shake of 20 mm at 3 Hz."""
RGBA = (0.72, 0.75, 0.78, 1.0)
"""Colour of the links of an arm."""
CARRIED_MASS = 0.5
"""Mass of palm and flange [kg], as palms have no described mass."""
FREQUENCY = 30.0
"""Natural frequency of the servos [Hz], which sag by 0.3 mm under the weight of the hand."""
CARRIED_INERTIA = 5e-3
"""Inertia of the rotating palm [kg·m²]: the mass above at 0.1 m. With the natural frequency the
servo stiffness is 180 N·m/rad, a deflection of 0.3° under 1 N·m."""

# Hand with its carrier


@lru_cache(maxsize=8)
def carry_hand(
    mechanism: ActuationModel,
    pose: Pose,
    actuation: Actuation,
    arm: Arm | HandCarrier | None,
    lift: Lift | None,
    center: Vec3 | None,
    base: Pose | None = None,
) -> tuple[mujoco.MjSpec, tuple[str, ...]]:
    """Build the hand on its carrier as a spec to be copied; return its bodies that can touch.

    Cached, as the grasps of a sweep have the same hand. ``center`` is the centre of the hinges of a
    wrist, see ``wrist_center``; ``base`` is the pose of a compliant carrier at rest.
    """
    if isinstance(arm, HandCarrier):
        return carrier_model(arm).with_hand(mechanism, base or Pose())
    spec = mujoco.MjSpec()
    spec.compiler.degree = False
    if arm is None:
        bodies = add_hand(spec, mechanism.hand, pose, actuation)
        add_mechanism(spec, mechanism)
        palm, prescribed = hand_body(mechanism.hand), actuation == "prescribed"
        if center is not None:
            add_free_wrist(spec, palm, pose, center, prescribed=prescribed)
        elif lift is not None:
            add_wrist(spec, palm, pose, lift.height, prescribed=prescribed)
        return spec, tuple(bodies)
    flange, pose = add_arm(spec, arm, pose, actuation)
    bodies = add_hand(spec, mechanism.hand, pose, actuation, flange)
    add_mechanism(spec, mechanism)
    for row in arm.chain.phalanges:
        add_servo(spec, names.arm_joint(row.joint_name), row, actuation)
    return spec, tuple(bodies)


def hand_posture(scene: GraspScene, targets: tuple[float, ...] | list[float]) -> dict[str, float]:
    """Return joint variables of the hand, and sliders, at actuator targets (nd,)."""
    sliders = {slider.name for slider in scene.mechanism.sliders}
    slid = {
        actuator.name: actuator.start for actuator in scene.actuators if actuator.name in sliders
    }
    driven = targets[: len(scene.actuators)]
    if scene.mechanism.actuators:  # no phase before the closure moves what a mechanism actuates
        driven = scene.closing_motion.start
    return scene.hand.posture(driven) | slid


# Targets of the carrier


def carrier_targets(scene: GraspScene, poses: Array, before: Array) -> Array:
    """Compute the carrier targets that move the hand through poses, (n, nc) [m or rad].

    Args:
        scene: A scene whose hand is on a wrist or on an arm.
        poses: Poses of the hand at the next samples, from rest to rest, (n, 4, 4), world frame.
        before: Previous targets, (nc,).

    Raises:
        BuildError: The arm cannot reach a pose, or the wrist would rotate too far.
    """
    if isinstance(scene.arm, HandCarrier):  # whose scenes have no sequence
        return np.tile(before, (len(poses), 1))
    if scene.arm is None:
        return wrist_values(home_pose(scene), poses, before, scene.preset.center)
    every = max(int(KNOTS / scene.control_period), 1)
    rows = np.unique([*range(every - 1, len(poses), every), len(poses) - 1])
    knots = _arm_targets(scene.arm, scene.hand_pose, poses[rows], before)
    values = np.vstack([before, knots])
    through = scipy.interpolate.CubicSpline([-1, *rows], values, bc_type="clamped")
    return np.asarray(through(np.arange(len(poses))))


def carrier_start(scene: GraspScene) -> list[float]:
    """Return the carrier targets at the start of a run [m, rad, or the unit of its actuators].

    Raises:
        BuildError: The arm cannot reach the start pose.
    """
    if isinstance(scene.arm, HandCarrier):
        return list(scene.arm.start)
    offset = approach_offset(scene)
    if scene.arm is not None:
        return list(_arm_start(scene.arm, scene.hand_pose, tuple(offset.tolist())))
    if not scene.on_wrist:
        return [0.0] if scene.lift is not None else []
    return [*(home_pose(scene)[:3, :3] @ offset).tolist(), 0.0, 0.0, 0.0]


def with_carried_pose(scene: GraspScene) -> GraspScene:
    """Return the scene with the pose of the hand at rest on a carrier mounted in the world."""
    if not isinstance(scene.arm, HandCarrier) or not scene.arm.mounted:
        return scene
    return scene.choose(hand_pose=carrier_model(scene.arm).rest(scene).hand)


def home_pose(scene: GraspScene) -> Array:
    """Return the home pose of the hand, (4, 4), world frame."""
    return transform(scene.hand_pose.position, scene.hand_pose.quaternion)


def wrist_center(scene: GraspScene) -> Vec3 | None:
    """Return the centre of the hinges of a wrist, the grasp's centre, in the hand frame [m].

    The engine leaves the centripetal acceleration ω²·R of the object's centre about these hinges
    out of its friction constraint; what sticks then drifts at ω²·R/b (decision 0006). With hinges
    at the grasp's centre R is small.
    """
    return scene.preset.center if scene.on_wrist else None


def start_pose(scene: GraspScene) -> Array:
    """Return the pose of the hand at the start of a run, (4, 4), world frame."""
    home = home_pose(scene)
    home[:3, 3] += home[:3, :3] @ approach_offset(scene)
    return home


def approach_offset(scene: GraspScene) -> Array:
    """Return the offset from which the hand approaches, (3,) [m], hand frame; else zero."""
    first = scene.phases[0]
    if not isinstance(first, ApproachPhase):
        return np.zeros(3)
    if first.offset is not None:
        return np.array(first.offset)
    return -APPROACH * toward_grasp(scene.hand, scene.preset.center)


def finger_base(hand: Hand) -> Array:
    """Compute the middle of the finger bases, (3,) [m], hand frame."""
    rigid = [finger.base.position for finger in hand.fingers if not finger.on]
    soft = [digit.base.position for digit in hand.soft_fingers]
    return np.asarray(np.mean([*rigid, *soft], axis=0))


def toward_grasp(hand: Hand, center: tuple[float, float, float]) -> Array:
    """Compute the unit vector from the middle of the finger bases to a grasp centre, hand frame."""
    displacement = np.array(center) - finger_base(hand)
    length = float(np.linalg.norm(displacement))
    return np.asarray(displacement / length if length > 0.0 else np.array([0.0, 0.0, -1.0]))


@lru_cache(maxsize=8)
def _arm_start(arm: Arm, hand_pose: Pose, offset: tuple[float, float, float]) -> tuple[float, ...]:
    """Solve the joints of an arm at the start of an approach along the path from its home."""
    start = np.array([row.start for row in arm.chain.phalanges])
    length = float(np.linalg.norm(offset))
    if length == 0.0:
        return tuple(start.tolist())
    home = transform(hand_pose.position, hand_pose.quaternion)
    steps = np.linspace(0.0, 1.0, max(round(length / STEP), 1) + 1)[1:]
    poses = np.tile(home, (len(steps), 1, 1))
    poses[:, :3, 3] += steps[:, None] * (home[:3, :3] @ offset)
    return tuple(_arm_targets(arm, hand_pose, poses, start)[-1].tolist())


def _arm_targets(arm: Arm, hand_pose: Pose, poses: Array, before: Array) -> Array:
    """Solve the inverse kinematics of an arm for poses of the hand, (n, nj)."""
    tool = np.linalg.inv(transform(arm.tool.position, arm.tool.quaternion))
    goals = np.linalg.inv(arm_base(arm, hand_pose)) @ poses @ tool
    return joint_path(arm.chain, before.tolist(), goals, "the sequence")


# Arm


def arm_base(arm: Arm, hand_pose: Pose) -> Array:
    """Compute the arm base pose for which the hand is at its home pose, (4, 4), world frame."""
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
        hand_pose: Home pose of the hand in the world.
        actuation: ``servo`` or ``prescribed``, as for the hand.

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


def _hand_in_last_link(arm: Arm) -> Pose:
    """Compute the pose of the hand in the frame of the last link, which is at the last joint."""
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


# Wrist


def add_wrist(
    spec: mujoco.MjSpec, palm_name: str, pose: Pose, height: float, *, prescribed: bool
) -> None:
    """Add a vertical slide joint to the palm of a hand.

    Args:
        spec: The model with a hand.
        palm_name: Body with the hand frame.
        pose: Pose of the hand in the world.
        height: Height of the lift [m].
        prescribed: Whether the joint follows its targets under any load.
    """
    palm = spec.body(palm_name)
    upright = transform(quaternion=pose.quaternion)[:3, :3]
    palm.add_joint(
        name=WRIST,
        type=mujoco.mjtJoint.mjJNT_SLIDE,
        axis=(upright.T @ [0.0, 0.0, 1.0]).tolist(),
        armature=PRESCRIBED_ARMATURE if prescribed else 0.0,
    )
    _set_palm_inertia(palm)
    actuator = _servo(spec, WRIST, CARRIED_MASS, prescribed=prescribed)
    actuator.ctrlrange = [0.0, height]
    actuator.ctrllimited = True


def add_free_wrist(
    spec: mujoco.MjSpec, palm_name: str, pose: Pose, center: Vec3, *, prescribed: bool
) -> None:
    """Add three slides and three hinges to the palm; arguments as for ``add_wrist``.

    The hinges are at ``center`` [m], frame of the palm.
    """
    palm = spec.body(palm_name)
    axes = transform(quaternion=pose.quaternion)[:3, :3]  # row k: axis k of the world in the palm
    slide, hinge = mujoco.mjtJoint.mjJNT_SLIDE, mujoco.mjtJoint.mjJNT_HINGE
    for index, (name, axis) in enumerate(zip(WRIST_JOINTS, (0, 1, 2, 2, 1, 0), strict=True)):
        is_hinge = index >= 3
        armature = CARRIED_INERTIA if is_hinge else 0.0
        palm.add_joint(
            name=name,
            type=hinge if is_hinge else slide,
            axis=axes[axis].tolist(),
            pos=list(center),
            armature=PRESCRIBED_ARMATURE if prescribed else armature,
        )
        _servo(spec, name, CARRIED_INERTIA if is_hinge else CARRIED_MASS, prescribed=prescribed)
    _set_palm_inertia(palm)


def _set_palm_inertia(palm: mujoco.MjsBody) -> None:
    """Set mass and inertia of the palm, with gravity compensation."""
    palm.gravcomp = 1.0
    set_inertia(palm, CARRIED_MASS, np.eye(3) * CARRIED_MASS * 0.02**2, (0.0, 0.0, 0.0))


def _servo(
    spec: mujoco.MjSpec, joint: str, inertia: float, *, prescribed: bool
) -> mujoco.MjsActuator:
    """Add a critically damped position servo, or one without force for a prescribed joint."""
    actuator = spec.add_actuator(name=joint, target=joint, trntype=mujoco.mjtTrn.mjTRN_JOINT)
    if prescribed:
        actuator.gainprm[0] = 0.0
    else:
        actuator.set_to_position(kp=inertia * (2.0 * math.pi * FREQUENCY) ** 2, dampratio=1.0)
    return actuator
