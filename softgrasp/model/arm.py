"""A serial arm that carries the hand: links to look at, joints with servos."""

from __future__ import annotations

import math
from functools import lru_cache

import mujoco
import numpy as np
from scipy.interpolate import CubicSpline

from softgrasp.description.arm import Arm, HandCarrier
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

# --------------------
# What carries a hand through the world: from poses of the hand to targets of a wrist or an arm.


APPROACH = 0.10
"""How far an approach without an offset of its own begins from the hand's place [m]."""
STEP = 2e-3
"""Distance of the poses through which an arm is followed to the beginning of an approach [m]."""
KNOTS = 8e-3
"""Time between the samples at which an arm's joints are solved for [s]; a cubic spline between
them is off by less than a micrometre for a shake of 20 mm at 3 Hz."""


def carrier_targets(scene: GraspScene, poses: Array, before: Array) -> Array:
    """Targets of what carries the hand that take it through poses, (n, nc) [m or rad].

    Args:
        scene: A scene whose hand is on a wrist or on an arm.
        poses: Poses of the hand in the world at the coming samples, from rest to rest, (n, 4, 4).
        before: The targets right before, (nc,).

    Raises:
        BuildError: The arm does not reach, or the wrist would turn too far.
    """
    if isinstance(scene.arm, HandCarrier):  # whose scenes have no way to go
        return np.tile(before, (len(poses), 1))
    if scene.arm is None:
        return wrist_values(home_pose(scene), poses, before)
    every = max(int(KNOTS / scene.control_period), 1)
    rows = np.unique([*range(every - 1, len(poses), every), len(poses) - 1])
    knots = _arm_targets(scene.arm, scene.hand_pose, poses[rows], before)
    through = CubicSpline([-1, *rows], np.vstack([before, knots]), bc_type="clamped")
    return np.asarray(through(np.arange(len(poses))))


def with_carried_pose(scene: GraspScene) -> GraspScene:
    """Return the scene with the hand's pose at rest on a carrier that is mounted in the world."""
    if not isinstance(scene.arm, HandCarrier) or not scene.arm.mounted:
        return scene
    return scene.replace(hand_pose=carrier_model(scene.arm).rest(scene).hand)


def home_pose(scene: GraspScene) -> Array:
    """Where the scene has the hand, (4, 4) in the world."""
    return transform(scene.hand_pose.position, scene.hand_pose.quaternion)


def approach_offset(scene: GraspScene) -> Array:
    """Where the hand comes from, in its own frame [m], (3,); zero without an approach."""
    first = scene.phases[0]
    if not isinstance(first, ApproachPhase):
        return np.zeros(3)
    if first.offset is not None:
        return np.array(first.offset)
    return -APPROACH * toward_grasp(scene.hand, scene.preset.center)


def start_pose(scene: GraspScene) -> Array:
    """Where the hand is at the start of a run, (4, 4) in the world."""
    home = home_pose(scene)
    home[:3, 3] += home[:3, :3] @ approach_offset(scene)
    return home


def carrier_start(scene: GraspScene) -> list[float]:
    """Targets of what carries the hand at the start of a run [m, rad, or as its actuators say].

    Raises:
        BuildError: The arm does not reach.
    """
    if isinstance(scene.arm, HandCarrier):
        return list(scene.arm.start)
    offset = approach_offset(scene)
    if scene.arm is not None:
        return list(_arm_start(scene.arm, scene.hand_pose, tuple(offset.tolist())))
    if not scene.on_wrist:
        return [0.0] if scene.lift is not None else []
    return [*(home_pose(scene)[:3, :3] @ offset).tolist(), 0.0, 0.0, 0.0]


def toward_grasp(hand: Hand, center: tuple[float, float, float]) -> Array:
    """Unit vector in the hand's frame from the middle of the finger bases to a grasp's centre."""
    rigid = [finger.base.position for finger in hand.fingers if not finger.on]
    bases = np.mean([*rigid, *(digit.base.position for digit in hand.soft_fingers)], axis=0)
    displacement = np.array(center) - bases
    length = float(np.linalg.norm(displacement))
    return np.asarray(displacement / length if length > 0.0 else np.array([0.0, 0.0, -1.0]))


@lru_cache(maxsize=8)
def _arm_start(arm: Arm, hand_pose: Pose, offset: tuple[float, float, float]) -> tuple[float, ...]:
    """Joints of an arm at the beginning of an approach, followed there from its own start."""
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
    tool = np.linalg.inv(transform(arm.tool.position, arm.tool.quaternion))
    goals = np.linalg.inv(arm_base(arm, hand_pose)) @ poses @ tool
    return joint_path(arm.chain, before.tolist(), goals, "the sequence")


# --------------------
# The hand with the wrist or the arm that carries it; a sweep has one for all its grasps.


@lru_cache(maxsize=8)
def carried_hand(
    mechanism: ActuationModel,
    pose: Pose,
    actuation: Actuation,
    arm: Arm | HandCarrier | None,
    lift: Lift | None,
    on_wrist: bool,
    base: Pose | None = None,
) -> tuple[mujoco.MjSpec, tuple[str, ...]]:
    """The hand with what carries it, to be copied, and its bodies that can touch.

    A sweep asks for the same one with every grasp. The base is that of a compliant carrier at
    rest, whose hand is then where it is.
    """
    if isinstance(arm, HandCarrier):
        return carrier_model(arm).with_hand(mechanism, base or Pose())
    spec = mujoco.MjSpec()
    spec.compiler.degree = False
    if arm is None:
        bodies = add_hand(spec, mechanism.hand, pose, actuation)
        add_mechanism(spec, mechanism)
        palm, prescribed = hand_body(mechanism.hand), actuation == "prescribed"
        if on_wrist:
            add_free_wrist(spec, palm, pose, prescribed=prescribed)
        elif lift is not None:
            add_wrist(spec, palm, pose, lift.height, prescribed=prescribed)
        return spec, tuple(bodies)
    flange, pose = add_arm(spec, arm, pose, actuation)
    bodies = add_hand(spec, mechanism.hand, pose, actuation, flange)
    add_mechanism(spec, mechanism)
    add_arm_servos(spec, arm, actuation)
    return spec, tuple(bodies)


def hand_posture(scene: GraspScene, targets: tuple[float, ...] | list[float]) -> dict[str, float]:
    """Joints of the hand, and sliders, with the drives at their targets, (nd,)."""
    sliders = {slider.name for slider in scene.mechanism.sliders}
    slid = {
        actuator.name: actuator.start for actuator in scene.actuators if actuator.name in sliders
    }
    # where a closure moves joints otherwise than by their servos, no phase moves them before it
    hand_targets = (
        scene.closing_motion.start if scene.mechanism.actuators else targets[: len(scene.actuators)]
    )
    return scene.hand.posture(hand_targets) | slid


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


# --------------------
# The wrist that carries a hand: slides and hinges with stiff position servos.
#
# To lift, a slide along z of the world is enough. A sequence has three slides along the axes of
# the
# world and then three hinges about z, y and x, whose axes are those of the world at home.


CARRIED_MASS = 0.5
"""Mass of palm and flange [kg]; a palm has none of its own."""
FREQUENCY = 30.0
"""Natural frequency of the servo [Hz]: it sags by 0.3 mm under the hand's weight."""
HELD_ARMATURE = 1e4
"""Inertia [kg or kg·m²] that keeps a prescribed wrist on its path whatever hangs from it."""
CARRIED_INERTIA = 5e-3
"""Inertia of what turns with the palm [kg·m²]: the mass above at 0.1 m. With the servo's frequency
it is as stiff as 180 N·m/rad: it gives way by 0.3° under 1 N·m."""


def add_wrist(
    spec: mujoco.MjSpec, palm_name: str, pose: Pose, height: float, *, prescribed: bool
) -> None:
    """Let the palm of a hand slide up.

    Args:
        spec: The model; it holds a hand already.
        palm_name: The body in the hand's frame.
        pose: Pose of the hand in the world.
        height: How far it is lifted [m].
        prescribed: Whether the joint obeys its targets whatever the load.
    """
    palm = spec.body(palm_name)
    upright = transform(quaternion=pose.quaternion)[:3, :3]
    palm.add_joint(
        name=WRIST,
        type=mujoco.mjtJoint.mjJNT_SLIDE,
        axis=(upright.T @ [0.0, 0.0, 1.0]).tolist(),
        armature=HELD_ARMATURE if prescribed else 0.0,
    )
    _weigh(palm)
    actuator = _servo(spec, WRIST, CARRIED_MASS, prescribed=prescribed)
    actuator.ctrlrange = [0.0, height]
    actuator.ctrllimited = True


def add_free_wrist(spec: mujoco.MjSpec, palm_name: str, pose: Pose, *, prescribed: bool) -> None:
    """Let the palm of a hand move and turn; arguments as for ``add_wrist``."""
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
            armature=HELD_ARMATURE if prescribed else armature,
        )
        _servo(spec, name, CARRIED_INERTIA if is_hinge else CARRIED_MASS, prescribed=prescribed)
    _weigh(palm)


def _weigh(palm: mujoco.MjsBody) -> None:
    palm.gravcomp = 1.0
    set_inertia(palm, CARRIED_MASS, np.eye(3) * CARRIED_MASS * 0.02**2, (0.0, 0.0, 0.0))


def _servo(
    spec: mujoco.MjSpec, joint: str, inertia: float, *, prescribed: bool
) -> mujoco.MjsActuator:
    """A critically damped position servo, or one that pulls at nothing for a prescribed joint."""
    actuator = spec.add_actuator(name=joint, target=joint, trntype=mujoco.mjtTrn.mjTRN_JOINT)
    if prescribed:
        actuator.gainprm[0] = 0.0
    else:
        actuator.set_to_position(kp=inertia * (2.0 * math.pi * FREQUENCY) ** 2, dampratio=1.0)
    return actuator
