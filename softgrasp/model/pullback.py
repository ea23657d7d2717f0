"""How far a hand has to be pulled back from an object that it would stand in."""

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
from softgrasp.model.scene import build

MAX_DISTANCE = 0.15
"""How far a hand is pulled back at most [m]."""
STEP = 2e-4
"""Least step of the search, and so the most by which a way is too long [m]."""
ASIDE = 10.0
"""Where the object waits while the model is built [m]."""


class PullBack:
    """Asks how far a hand in its start posture stands clear of an object.

    The object is taken as rigid, and everything else of the scene is left out.
    """

    def __init__(self, scene: GraspScene) -> None:
        """Build the model of hand and object.

        Args:
            scene: The scene, whose poses play no part.
        """
        model = build(_bare(scene)).model
        self._model, self._data = model, mujoco.MjData(model)
        mujoco.mj_resetDataKeyframe(model, self._data, 0)
        first = int(model.jnt_qposadr[int(model.body(names.OBJECT).jntadr[0])])
        self._object_pose = self._data.qpos[first : first + 7]
        self._pairs = [_ids(model, pair) for pair in object_pairs(model)]
        self.approach = toward_grasp(scene.hand, scene.preset.center)
        """Unit vector in the hand's frame from the finger bases to the grasp's centre, (3,)."""

    def distance(self, pose: Array, gap: float) -> float | None:
        """How far the object goes along the approach, or the hand back, until it is clear [m].

        Two convex bodies that stand in each other by a depth have to be moved at least so far in
        any direction, so the search takes no step beyond the first clear place but ``STEP``.

        Args:
            pose: Of the object in the hand's frame, (4, 4).
            gap: What has to be between them [m].

        Returns:
            0 where it is clear as it is; None where it is not within ``MAX_DISTANCE``.
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

    def _distance(self, max_distance: float) -> float:
        """Between hand and object [m], at most ``max_distance``; negative where they overlap."""
        mujoco.mj_kinematics(self._model, self._data)
        reach = max(max_distance, 1e-6)
        distances = [
            mujoco.mj_geomDistance(self._model, self._data, hand, object_geom, reach, None)
            for hand, object_geom in self._near(reach)
        ]
        return float(min(distances, default=reach))

    def _near(self, reach: float) -> list[tuple[int, int]]:
        """Pairs whose bounding balls are so near."""
        first, second = np.array(self._pairs).T
        radius, centre = self._model.geom_rbound, self._data.geom_xpos
        apart = np.linalg.norm(centre[first] - centre[second], axis=1)
        near = apart <= radius[first] + radius[second] + reach
        near |= (radius[first] == 0.0) | (radius[second] == 0.0)  # a plane has no ball
        return [self._pairs[index] for index in np.flatnonzero(near)]


def _ids(model: mujoco.MjModel, pair: Pair) -> tuple[int, int]:
    return int(model.geom(pair.first).id), int(model.geom(pair.second).id)


def _bare(scene: GraspScene) -> GraspScene:
    """Hand and object alone, far from each other, the hand where it closes from."""
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
