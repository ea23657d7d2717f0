"""Observations of an environment: joints, targets, contact forces, the object in the palm frame."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import mujoco
import numpy as np
from numpy.typing import NDArray

from softgrasp.envs.episode import Episode, GraspTask, ObjectPose
from softgrasp.mechanics.transforms import Array
from softgrasp.model import names
from softgrasp.sim.hold_test import palm_body

Observation = dict[str, NDArray[np.float32]]
SLACK = 0.5
"""Distance of a joint beyond its compliant limits that is observed [rad or m]."""
WIDEST = 2.0 * np.pi
"""Bound of joints without limits [rad]."""
LARGEST_FORCE = 1e3
"""Largest force that is observed; larger ones are clipped [N]."""
FARTHEST = 1.0
"""Largest coordinate of the object in the palm frame; larger ones are clipped [m]."""


class Bound(NamedTuple):
    """Bounds of one part of an observation."""

    low: NDArray[np.float32]
    high: NDArray[np.float32]


class Observations:
    """Reads joints, targets, forces and the object in the palm frame as observations."""

    def __init__(
        self,
        task: GraspTask,
        model: mujoco.MjModel,
        prefix: str = "",
        object_name: str = names.OBJECT,
    ) -> None:
        """Look up addresses in the model.

        Args:
            task: The task.
            model: Its model.
            prefix: Prefix of the names of the hand's parts in the model.
            object_name: Name of the object's body in the model.
        """
        joints = names.joint_names(task.scene.hand)
        model_joints = [model.joint(prefix + name) for name in joints]
        self._joints = np.array([joint.qposadr[0] for joint in model_joints])
        self._palm = palm_body(model, task.scene.hand, prefix)
        self._object_body = model.body(object_name).id
        limits = dict(zip(task.actuators, task.scene.limits, strict=True))
        ends = [
            limits.get(name) or _range(joint)
            for name, joint in zip(joints, model_joints, strict=True)
        ]
        force, far = np.full(len(task.bodies), LARGEST_FORCE), np.full(3, FARTHEST)
        self.bounds = {
            "joint_position": _bound([a - SLACK for a, _ in ends], [b + SLACK for _, b in ends]),
            "target": _bound(task.lower, task.upper),
            "normal_force": _bound(0.0 * force, force),
            "in_contact": _bound(np.zeros(len(force)), np.ones(len(force))),
            "object_position": _bound(-far, far),
            "object_quat_wxyz": _bound([0.0, -1.0, -1.0, -1.0], [1.0] * 4),
            "progress": _bound([0.0, 0.0], [1.0, 1.0]),
        }
        """Bounds of each part; values outside are clipped."""
        self._low = np.concatenate([bound.low for bound in self.bounds.values()])
        self._high = np.concatenate([bound.high for bound in self.bounds.values()])
        sizes = np.cumsum([0, *(len(bound.low) for bound in self.bounds.values())]).tolist()
        self._slices = [slice(*ends) for ends in pairwise(sizes)]

    def object_pose(self, data: mujoco.MjData) -> ObjectPose:
        """Return the object in the palm frame, of a state with kinematics, one row."""
        return in_palm_frame(*(part[None] for part in self.poses(data)))

    def poses(self, data: mujoco.MjData) -> tuple[Array, Array, Array, Array]:
        """Return views of positions (3,) and rotations (9,) of object and palm in the world."""
        positions, rotations, obj, palm = data.xpos, data.xmat, self._object_body, self._palm
        return positions[obj], rotations[obj], positions[palm], rotations[palm]

    def read(self, episode: Episode, data: mujoco.MjData) -> Observation:
        """Return the observation of an episode; its parts are views of one new array.

        Args:
            episode: The episode.
            data: The state of the engine.
        """
        # one array is seven times as fast as separate parts; in the order of the bounds
        parts = (
            data.qpos[self._joints],
            episode.targets[: len(episode.task.actuators)],
            episode.contact.forces,
            episode.contact.in_contact,
            episode.pose.position[-1],
            _quaternion(episode.pose.rotation[-1]),
            np.array(episode.progress),
        )
        values = np.concatenate(parts, dtype=np.float32)
        np.minimum(np.maximum(values, self._low, out=values), self._high, out=values)
        return {
            name: values[positions]
            for name, positions in zip(self.bounds, self._slices, strict=True)
        }


def in_palm_frame(
    positions: Array, rotations: Array, palm_positions: Array, palm_rotations: Array
) -> ObjectPose:
    """Transform poses of the object to the palm frame.

    Args:
        positions: Positions of the object in the world [m], (m, 3).
        rotations: Its rotations, (m, 9).
        palm_positions: Positions of the palm [m], (m, 3).
        palm_rotations: Its rotations, (m, 9).
    """
    back = palm_rotations.reshape(-1, 3, 3).transpose(0, 2, 1)
    offset = (back @ (positions - palm_positions)[:, :, None])[:, :, 0]
    return ObjectPose(offset, back @ rotations.reshape(-1, 3, 3))


def _quaternion(rotation: Array) -> Array:
    """Return the unit quaternion (w, x, y, z) with w ≥ 0."""
    quaternion = np.zeros(4)
    mujoco.mju_mat2Quat(quaternion, rotation.ravel())
    return -quaternion if quaternion[0] < 0.0 else quaternion


def _range(joint: object) -> tuple[float, float]:
    low, high = getattr(joint, "range")  # noqa: B009 - MuJoCo's view has no type
    return (-WIDEST, WIDEST) if low == high == 0.0 else (float(low), float(high))


def _bound(low: object, high: object) -> Bound:
    return Bound(np.asarray(low, dtype=np.float32), np.asarray(high, dtype=np.float32))
