"""What an agent is told: joints, targets, contact forces, the object in the frame of the palm."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import mujoco
import numpy as np
from numpy.typing import NDArray

from softgrasp.build import names
from softgrasp.environments.episode import Episode, Sight
from softgrasp.environments.task import GraspTask
from softgrasp.mechanics.transforms import Array

Observation = dict[str, NDArray[np.float32]]
SLACK = 0.5
"""A joint may be this far beyond its limits, which give a little [rad or m]."""
WIDEST = 2.0 * np.pi
"""Bound of joints without limits."""
LARGEST_FORCE = 1e3
"""Larger forces are told as this one [N]."""
FARTHEST = 1.0
"""An object farther from the palm along an axis is told to be here [m]."""


class Bound(NamedTuple):
    """Ends of one part of an observation."""

    low: NDArray[np.float32]
    high: NDArray[np.float32]


class Observations:
    """Reads observations of one model."""

    def __init__(
        self,
        task: GraspTask,
        model: mujoco.MjModel,
        prefix: str = "",
        object_name: str = names.OBJECT,
    ) -> None:
        """Look up where everything stands.

        Args:
            task: The task.
            model: Its model.
            prefix: What the names of the hand's parts begin with in the model.
            object_name: Name of the object's body in it.
        """
        joints = names.joint_names(task.scene.hand)
        model_joints = [model.joint(prefix + name) for name in joints]
        self._joints = np.array([joint.qposadr[0] for joint in model_joints])
        self._palm = model.body(prefix + names.hand_body(task.scene.hand)).id
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
        """Ends of each part; what lies outside is told as the nearer end."""
        self._low = np.concatenate([bound.low for bound in self.bounds.values()])
        self._high = np.concatenate([bound.high for bound in self.bounds.values()])
        sizes = np.cumsum([0, *(len(bound.low) for bound in self.bounds.values())]).tolist()
        self._slices = [slice(*ends) for ends in pairwise(sizes)]

    def sight(self, data: mujoco.MjData) -> Sight:
        """The object in a state whose kinematics are done, one row."""
        return seen(*(part[None] for part in self.poses(data)))

    def poses(self, data: mujoco.MjData) -> tuple[Array, Array, Array, Array]:
        """Positions (3,) and rotations (9,) of object and palm in the world; views of the state."""
        positions, rotations, obj, palm = data.xpos, data.xmat, self._object_body, self._palm
        return positions[obj], rotations[obj], positions[palm], rotations[palm]

    def read(self, episode: Episode, data: mujoco.MjData) -> Observation:
        """The observation of an episode; its parts are views of one new array.

        Args:
            episode: The episode.
            data: The state of the engine.
        """
        # as one array: seven times as fast as part by part; in the order of the bounds
        parts = (
            data.qpos[self._joints],
            episode.targets[: len(episode.task.actuators)],
            episode.touch.forces,
            episode.touch.in_contact,
            episode.sight.position[-1],
            _quaternion(episode.sight.rotation[-1]),
            np.array(episode.progress),
        )
        values = np.concatenate(parts, dtype=np.float32)
        np.minimum(np.maximum(values, self._low, out=values), self._high, out=values)
        return {
            name: values[positions]
            for name, positions in zip(self.bounds, self._slices, strict=True)
        }


def seen(positions: Array, rotations: Array, palm_positions: Array, palm_rotations: Array) -> Sight:
    """An object in the frame of a palm.

    Args:
        positions: Positions of the object in the world [m], (m, 3).
        rotations: Its rotations, (m, 9).
        palm_positions: Positions of the palm [m], (m, 3).
        palm_rotations: Its rotations, (m, 9).
    """
    back = palm_rotations.reshape(-1, 3, 3).transpose(0, 2, 1)
    offset = (back @ (positions - palm_positions)[:, :, None])[:, :, 0]
    return Sight(offset, back @ rotations.reshape(-1, 3, 3))


def _quaternion(rotation: Array) -> Array:
    """Unit quaternion (w, x, y, z), w not negative."""
    quaternion = np.zeros(4)
    mujoco.mju_mat2Quat(quaternion, rotation.ravel())
    return -quaternion if quaternion[0] < 0.0 else quaternion


def _range(joint: object) -> tuple[float, float]:
    low, high = getattr(joint, "range")  # noqa: B009 - MuJoCo's view has no type
    return (-WIDEST, WIDEST) if low == high == 0.0 else (float(low), float(high))


def _bound(low: object, high: object) -> Bound:
    return Bound(np.asarray(low, dtype=np.float32), np.asarray(high, dtype=np.float32))
