"""What an agent is told: joints, targets, contact forces, the object in the frame of the palm."""

from __future__ import annotations

from typing import NamedTuple

import mujoco
import numpy as np
from numpy.typing import NDArray

from softgrasp.build import names
from softgrasp.environments.episode import Episode, object_in_palm
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


class Senses:
    """Reads observations of one model."""

    def __init__(
        self, task: GraspTask, model: mujoco.MjModel, prefix: str = "", thing: str = names.OBJECT
    ) -> None:
        """Look up where everything stands.

        Args:
            task: The task.
            model: Its model.
            prefix: What the names of the hand's parts begin with in the model.
            thing: Name of the object's body in it.
        """
        joints = names.joint_names(task.scene.hand)
        found = [model.joint(prefix + name) for name in joints]
        self._joints = np.array([joint.qposadr[0] for joint in found])
        self._palm = model.body(prefix + names.PALM).id
        self._thing = model.body(thing).id
        limits = dict(zip(task.drives, task.scene.limits, strict=True))
        ends = [limits.get(name) or _range(joint) for name, joint in zip(joints, found, strict=True)]
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

    def object(self, data: mujoco.MjData) -> tuple[Array, Array]:
        """Position and quaternion of the object in the frame of the palm."""
        return object_in_palm(data, self._thing, self._palm)

    def read(self, episode: Episode, data: mujoco.MjData, forces: Array) -> Observation:
        """The observation of a state whose kinematics are done.

        Args:
            episode: The episode.
            data: The state of the engine.
            forces: Normal force of each body [N], (nb,).
        """
        position, quaternion = self.object(data)
        parts = {
            "joint_position": data.qpos[self._joints],
            "target": episode.targets[: len(episode.task.drives)],
            "normal_force": forces,
            "in_contact": np.array(episode.contacts.in_contact),
            "object_position": position,
            "object_quat_wxyz": quaternion,
            "progress": np.array(episode.progress),
        }
        return {
            name: np.clip(part.astype(np.float32), *self.bounds[name])
            for name, part in parts.items()
        }


def _range(joint: object) -> tuple[float, float]:
    low, high = getattr(joint, "range")  # noqa: B009 - MuJoCo's view has no type
    return (-WIDEST, WIDEST) if low == high == 0.0 else (float(low), float(high))


def _bound(low: object, high: object) -> Bound:
    return Bound(np.asarray(low, dtype=np.float32), np.asarray(high, dtype=np.float32))
