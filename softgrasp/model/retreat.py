"""Retreat distance of a hand that would otherwise penetrate an object at the start."""

from __future__ import annotations

import mujoco
import numpy as np

from softgrasp.description.geometry import Pose
from softgrasp.description.scene import GraspScene
from softgrasp.description.task import PreshapePhase
from softgrasp.mechanics.transforms import Array, quaternion_of
from softgrasp.model import names
from softgrasp.model.arm import toward_grasp
from softgrasp.model.contact_pairs import Pair, object_pairs
from softgrasp.model.hand import settle
from softgrasp.model.scene import build
from softgrasp.model.timestep import as_resolved

MAX_DISTANCE = 0.15
"""Largest retreat of a hand [m]."""
STEP = 2e-4
"""Smallest step of the search, which bounds the excess of a result [m]."""
ASIDE = 10.0
"""Height of the object while the model is built [m]."""


class HandRetreat:
    """Search for the retreat distance of a hand in its start posture from an object.

    The object is rigid; everything else of the scene is left out.
    """

    def __init__(self, scene: GraspScene) -> None:
        """Build the model of hand and object.

        Args:
            scene: The scene; its poses are ignored.
        """
        self.built = build(as_resolved(hand_and_object(scene)))
        """Hand and object alone; the hand is at the world frame."""
        self.model, self.data = self.built.model, mujoco.MjData(self.built.model)
        mujoco.mj_resetDataKeyframe(self.model, self.data, 0)
        first = int(self.model.jnt_qposadr[int(self.model.body(names.OBJECT).jntadr[0])])
        self._object_pose = self.data.qpos[first : first + 7]
        self.pairs = [_ids(self.model, pair) for pair in object_pairs(self.model)]
        """Geoms of the hand with geoms of the object."""
        self._hand = scene.hand
        self.approach = toward_grasp(scene.hand, scene.preset.center)
        """Unit vector in the hand's frame from the finger bases to the grasp's centre, (3,)."""

    def open_to(self, targets: Array) -> None:
        """Put the hand into another start posture.

        Args:
            targets: Actuator targets, (nu,).
        """
        position = self.data.qpos.copy()
        for joint, value in self._hand.posture(targets.tolist()).items():
            position[self.model.joint(joint).qposadr[0]] = value
        self.data.qpos[:] = settle(self.model, self._hand, position)

    def pose_at(self, pose: Array, targets: Array) -> None:
        """Put object and hand into a posture, and compute the frames of their geoms.

        Args:
            pose: Pose of the object in the hand frame, (4, 4).
            targets: Actuator targets, (nu,).
        """
        self.open_to(targets)
        self._object_pose[:3], self._object_pose[3:] = pose[:3, 3], quaternion_of(pose)
        mujoco.mj_kinematics(self.model, self.data)

    def distance(self, pose: Array, gap: float) -> float | None:
        """Compute the retreat of the hand along its approach until the object is clear [m].

        Two convex bodies with a penetration depth have to be displaced at least by that depth in
        any direction, so the result exceeds the smallest one by at most ``STEP``.

        Args:
            pose: Pose of the object in the hand frame, (4, 4).
            gap: Required gap between hand and object [m].

        Returns:
            0 where the object is clear already; None where it is not within ``MAX_DISTANCE``.
        """
        self._object_pose[3:] = quaternion_of(pose)
        distance, start = 0.0, pose[:3, 3]
        while distance <= MAX_DISTANCE:
            self._object_pose[:3] = start + distance * self.approach
            lacking = gap - self._distance(gap)
            if lacking <= 1e-9:
                return distance
            distance += max(lacking, STEP)
        return None

    def height(self, plane: Array) -> float:
        """Compute a lower bound of the height of the hand above a plane, in the present pose [m].

        Args:
            plane: Upward unit normal n and offset d of its points n·x = d in the object's frame,
                (4,).
        """
        mujoco.mj_kinematics(self.model, self.data)
        model, data = self.model, self.data
        body = model.body(names.OBJECT).id
        normal = data.xmat[body].reshape(3, 3) @ plane[:3]
        offset = plane[3] + normal @ data.xpos[body]
        geoms = sorted({hand for hand, _ in self.pairs})
        local = data.geom_xmat[geoms].reshape(-1, 3, 3).transpose(0, 2, 1) @ normal
        boxes = model.geom_aabb[geoms]
        centres = data.geom_xpos[geoms] @ normal + (local * boxes[:, :3]).sum(axis=1)
        return float((centres - (np.abs(local) * boxes[:, 3:]).sum(axis=1)).min() - offset)

    def _distance(self, max_distance: float) -> float:
        """Compute the distance of hand and object [m], capped; negative inside."""
        mujoco.mj_kinematics(self.model, self.data)
        reach = max(max_distance, 1e-6)
        distances = [
            mujoco.mj_geomDistance(self.model, self.data, hand, object_geom, reach, None)
            for hand, object_geom in self.near(reach)
        ]
        return float(min(distances, default=reach))

    def near(self, reach: float) -> list[tuple[int, int]]:
        """Return the pairs whose bounding spheres are within a distance."""
        first, second = np.array(self.pairs).T
        radius, centre = self.model.geom_rbound, self.data.geom_xpos
        apart = np.linalg.norm(centre[first] - centre[second], axis=1)
        near = apart <= radius[first] + radius[second] + reach
        near |= (radius[first] == 0.0) | (radius[second] == 0.0)  # a plane has no bounding sphere
        return [self.pairs[index] for index in np.flatnonzero(near)]


def _ids(model: mujoco.MjModel, pair: Pair) -> tuple[int, int]:
    """Return the geom ids of a pair."""
    return int(model.geom(pair.first).id), int(model.geom(pair.second).id)


def hand_and_object(scene: GraspScene) -> GraspScene:
    """Return the scene reduced to open hand and object, far from each other."""
    shaped = [phase.preshape for phase in scene.sequence if isinstance(phase, PreshapePhase)]
    return scene.replace(
        object=scene.object.replace(elasticity=None),
        object_position=(0.0, 0.0, ASIDE),
        object_euler=(0.0, 0.0, 0.0),
        object_mount="free",
        objects=(),
        surroundings=(),
        hand_pose=Pose(),
        arm=None,
        preshape=shaped[-1] if shaped else scene.preshape,
        sequence=(),
        success=None,
        lift=None,
        sensors=(),
    )
