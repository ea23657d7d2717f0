"""The hand poses of a grasp plan: drawn at random, pulled back where hand and object overlap."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy.spatial.transform import Rotation

from softgrasp.build.carrier import toward_grasp
from softgrasp.build.placing import object_pose, on_its_table
from softgrasp.build.pulling_back import PullBack
from softgrasp.description.grasp_plan import GraspPlan, PoseSampling
from softgrasp.description.scene import GraspScene
from softgrasp.description.sweep_plan import Axis, SweepPlan
from softgrasp.mechanics.random_poses import direction_in_cone, point_in_ball, quaternion_between
from softgrasp.mechanics.transforms import (
    Array,
    euler_from_quaternions,
    position_of,
    quaternion_of,
    transform,
)


class Candidate(NamedTuple):
    """One pose of the hand that is tried."""

    row: int
    direction: Array
    """Where the hand is, seen from the object: unit vector against the approach, in the frame of
    the object, (3,)."""
    roll: float
    """Turn of the hand about its approach [rad]."""
    offset: Array
    """Of the object's centre from where the scene has it, in the hand's frame [m], (3,)."""
    preshape: str | None
    pulled_back: float | None
    """How far the hand was pulled back [m]; None where no way led out of the object."""
    pose: Array
    """Of the object in the hand's frame, ``T_hand_object``, (4, 4)."""


def candidates_of(plan: GraspPlan) -> list[Candidate]:
    """All candidates of a plan, in their order; the same for the same plan.

    Raises:
        BuildError: The hand, or the object, cannot be built.
    """
    return list(_candidates(plan))


def _candidates(plan: GraspPlan) -> Iterator[Candidate]:
    reference = object_in_hand(standing(plan.scene))
    probes: dict[str | None, PullBack] = {}
    for row in range(plan.candidates):
        random = np.random.default_rng([plan.seed, row])
        rotation, direction, roll = _drawn_rotation(plan, reference, random)
        offset = point_in_ball(random, plan.poses.offset)
        preshape = _preshape(plan, random)
        if preshape not in probes:
            changes = {} if preshape is None else {"preshape": preshape}
            probes[preshape] = PullBack(plan.scene.replace(**changes))
        probe, pose = probes[preshape], np.eye(4)
        pose[:3, :3], pose[:3, 3] = rotation, reference[:3, 3] + offset
        distance = probe.distance(pose, plan.poses.gap)
        pose[:3, 3] += (distance or 0.0) * probe.approach
        yield Candidate(row, direction, roll, offset, preshape, distance, pose)


def _drawn_rotation(
    plan: GraspPlan, reference: Array, random: np.random.Generator
) -> tuple[Array, Array, float]:
    """Orientation of the object in the hand (3, 3), direction in its frame (3,) and roll.

    The hand is turned about its approach and then tilted until it looks from a direction: for a
    whole sphere and whole turns that is uniform over all rotations.
    """
    scene, poses = plan.scene, plan.poses
    back = -approach_of(scene)
    seen_from = direction_in_cone(random, back, poses.cone)
    roll = (2.0 * random.random() - 1.0) * poses.roll
    about = Rotation.from_rotvec(roll * back).as_matrix()
    hand = quaternion_between(back, seen_from) @ about
    return hand.T @ reference[:3, :3], reference[:3, :3].T @ seen_from, roll


def _preshape(plan: GraspPlan, random: np.random.Generator) -> str | None:
    if not plan.preshapes:
        return None
    return plan.preshapes[int(random.integers(len(plan.preshapes)))]


def approach_of(scene: GraspScene) -> Array:
    """Unit vector in the hand's frame from the finger bases to the grasp's centre, (3,)."""
    return toward_grasp(scene.hand, scene.preset.center)


def standing(scene: GraspScene) -> GraspScene:
    """The scene with the place of its object filled in, on its table where there is one."""
    scene = on_its_table(scene)
    pose = object_pose(scene)
    x, y, z = euler_from_quaternions(pose.quaternion).tolist()
    return scene.replace(object_position=pose.position, object_euler=(x, y, z))


def object_in_hand(scene: GraspScene) -> Array:
    """Pose of the object in the hand's frame as the scene has it, (4, 4)."""
    obj = object_pose(scene)
    hand = transform(scene.hand_pose.position, scene.hand_pose.quaternion)
    return np.asarray(np.linalg.inv(hand) @ transform(obj.position, obj.quaternion))


def sweep_plan_of(plan: GraspPlan, candidates: list[Candidate]) -> SweepPlan:
    """The sweep that tries candidates, a row each."""
    scene = standing(plan.scene)
    placed = [_fields(scene, plan.poses, candidate.pose) for candidate in candidates]
    axes = [Axis(path=path, values=tuple(one[path] for one in placed)) for path in placed[0]]
    if plan.preshapes:
        axes.append(Axis(path="preshape", values=tuple(one.preshape for one in candidates)))
    quality = plan.rank_by == "quality_epsilon"  # it takes a tenth of a closure
    return SweepPlan(scene=scene, axes=tuple(axes), method="list", seed=plan.seed, quality=quality)


def _fields(scene: GraspScene, poses: PoseSampling, pose: Array) -> dict[str, Any]:
    """Fields of the scene in which the object is at a pose in the hand; lists, as JSON has them."""
    if poses.moves == "object":
        hand = transform(scene.hand_pose.position, scene.hand_pose.quaternion)
        object_frame = hand @ pose
        euler = euler_from_quaternions(quaternion_of(object_frame))
        return {"object_position": list(position_of(object_frame)), "object_euler": euler.tolist()}
    stands = object_pose(scene)
    hand = transform(stands.position, stands.quaternion) @ np.linalg.inv(pose)
    pose_fields = {"position": list(position_of(hand)), "quaternion": list(quaternion_of(hand))}
    return {"hand_pose": pose_fields}
