"""What carries a hand through the world: from poses of the hand to targets of a wrist or an arm."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from scipy.interpolate import CubicSpline

from softgrasp.build.arm import arm_base
from softgrasp.build.carrier_model import carrier_model
from softgrasp.description.arm import Arm, HandCarrier
from softgrasp.description.geometry import Pose
from softgrasp.description.hand import Hand
from softgrasp.description.scene import GraspScene
from softgrasp.description.task import ApproachPhase
from softgrasp.mechanics.trajectory import joint_path, wrist_values
from softgrasp.mechanics.transforms import Array, transform

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
