"""Simulated system of an environment: control samples in MuJoCo, observations, random starts.

``EnvSimulation`` runs the samples of an action with the stepper of single runs, ``Observations``
reads what an agent observes, and ``clear_offset`` draws a start of the object clear of the hand.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple, Protocol

import mujoco
import numpy as np
from numpy.typing import ArrayLike, NDArray

from softgrasp.description.scene import GraspScene
from softgrasp.description.sweep import PoseNoise
from softgrasp.envs.core import Episode, GraspTask, ObjectPose
from softgrasp.errors import SimulationError
from softgrasp.mechanics.transforms import Array
from softgrasp.model import names
from softgrasp.model.clearance import START_TOLERANCE
from softgrasp.model.object import PLANAR_JOINTS
from softgrasp.model.scene import BuiltScene, start_targets
from softgrasp.sim.controller import ClosureState, Recording, closure_layout
from softgrasp.sim.engine import caught_warnings, has_diverged
from softgrasp.sim.grasp_run import LARGEST_SPEED
from softgrasp.sim.stepper import MujocoStepper, SlipFriction

Observation = dict[str, NDArray[np.float32]]
SLACK = 0.5
"""Distance of a joint beyond its compliant limits that is observed [rad or m]."""
WIDEST = 2.0 * np.pi
"""Bound of joints without limits [rad]."""
LARGEST_FORCE = 1e3
"""Largest force that is observed; larger ones are clipped [N]."""
FARTHEST = 1.0
"""Largest coordinate of the object in the palm frame; larger ones are clipped [m]."""
MAX_DRAWS = 100
"""Largest number of starts that are drawn."""


class EnvSimulation:
    """The engine of an environment."""

    def __init__(self, built: BuiltScene, task: GraspTask) -> None:
        """Prepare a built scene.

        Args:
            built: The scene; its model is changed.
            task: The task.
        """
        self.model, self._built = built.model, built
        self.data = mujoco.MjData(self.model)
        self.observations = Observations(task, self.model)
        self._task = task
        self._gravity = self.model.opt.gravity.copy()
        self._pair_friction = self.model.pair_friction.copy()
        self._object = self.model.body(names.OBJECT).id
        self._layout = closure_layout(built)
        width, max_samples = self._layout.force_sum.shape[1], task.samples_per_action
        self._sensors = np.zeros((max_samples, width))
        self._poses = tuple(np.zeros((max_samples, size)) for size in (3, 9, 3, 9))
        self._views = self.observations.poses(self.data)
        self._stepper = self._new_stepper()

    def reset(self, generator: Generator) -> Episode:
        """Return to the start, with a random offset of the object.

        Args:
            generator: Draws the offset.

        Raises:
            SimulationError: No drawn start is clear of the hand.
        """
        self.model.opt.gravity[:] = self._gravity
        self.model.pair_friction[:] = self._pair_friction
        noise = self._task.settings.noise
        self._put(clear_offset(self._task.scene, noise, generator, self._is_clear))
        mujoco.mj_kinematics(self.model, self.data)
        self._stepper = self._new_stepper()
        return Episode(self._task, self.observations.object_pose(self.data))

    def act(self, episode: Episode, action: ArrayLike) -> None:
        """Run an episode for one action, or to its end.

        Args:
            episode: The episode that ``reset`` returned.
            action: One number per active actuator.

        Raises:
            DescriptionError: The action has another shape, or contains NaN.
        """
        plan, gravity = episode.plan(action), self.model.opt.gravity
        sample, sensors = self._stepper.step_sample, self._sensors
        count = len(plan.targets)
        unloaded, unseen = count - len(plan.loads), count - plan.samples
        with caught_warnings():
            for index, targets in enumerate(plan.targets):
                if index >= unloaded:
                    gravity[:] = plan.loads[index - unloaded]
                sensors[index] = sample(targets)
                if index >= unseen:
                    self._store_poses(index)
        if self._has_failed():
            episode.diverge()
            return
        pose = in_palm_frame(*(kept[unseen:count] for kept in self._poses))
        episode.update(plan, sensors[:count] @ self._layout.force_sum.T, pose)

    def _store_poses(self, index: int) -> None:
        """Store the poses of object and palm after a sample."""
        mujoco.mj_kinematics(self.model, self.data)
        object_positions, object_rotations, palm_positions, palm_rotations = self._poses
        (
            object_positions[index],
            object_rotations[index],
            palm_positions[index],
            palm_rotations[index],
        ) = self._views

    def _new_stepper(self) -> MujocoStepper:
        state = ClosureState.at_start(start_targets(self._built.scene), len(self._built.bodies))
        row = Recording.empty(self.model, len(self._built.bodies), self._sensors.shape[1], 1)
        friction = SlipFriction.of(self._built)
        return MujocoStepper(self.model, self.data, self._layout, state, row, friction)

    def _has_failed(self) -> bool:
        # written so that a speed that is not a number counts as too fast
        slow = float(np.linalg.norm(self.data.qvel)) < LARGEST_SPEED
        return not slow or has_diverged(self.data)

    def _is_clear(self, offset: Offset) -> bool:
        self._put(offset)
        return touches_nothing(self.model, self.data, self._object)

    def _put(self, offset: Offset | None) -> None:
        """Set the start state with an offset of the object."""
        mujoco.mj_resetDataKeyframe(self.model, self.data, 0)
        if offset is None:
            return
        qpos = self.data.qpos
        if self._task.scene.object_mount == "planar":
            moves = (offset.position[0], offset.position[2], offset.rotation[1])
            for name, move in zip(PLANAR_JOINTS, moves, strict=True):
                qpos[self.model.joint(name).qposadr[0]] += move
            return
        first = self.model.joint(names.OBJECT).qposadr[0]
        pose = moved_pose(qpos[first : first + 3], qpos[first + 3 : first + 7], offset)
        qpos[first : first + 7] = np.concatenate(pose)


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


class Generator(Protocol):
    """Random generator: numpy's Generator or the older RandomState."""

    def normal(self, *, size: int) -> Array:
        """Return standard normal numbers."""


class Offset(NamedTuple):
    """Offset of the object from its start position."""

    position: Array
    """World frame, (3,) [m]."""
    rotation: Array
    """Rotation vector, world frame, (3,) [rad]."""


def clear_offset(
    scene: GraspScene,
    noise: PoseNoise,
    generator: Generator,
    is_clear: Callable[[Offset], bool],
) -> Offset | None:
    """Draw offsets of the object until it is clear of the hand; None without noise.

    An object on a table stays on it: it moves in the plane and rotates about z. A planar one stays
    in its plane.

    Args:
        scene: The scene.
        noise: Standard deviations.
        generator: Draws numbers.
        is_clear: Whether the object is clear of the hand at an offset.

    Raises:
        SimulationError: None of the draws was clear.
    """
    if not (noise.position or noise.rotation):
        return None
    moves, rotations = np.ones(3), np.ones(3)
    if scene.object_mount == "planar":
        moves, rotations = np.array([1.0, 0.0, 1.0]), np.array([0.0, 1.0, 0.0])
    if scene.table is not None:
        moves, rotations = moves * [1.0, 1.0, 0.0], rotations * [0.0, 0.0, 1.0]
    for _ in range(MAX_DRAWS):
        drawn = generator.normal(size=6)
        offset = Offset(noise.position * moves * drawn[:3], noise.rotation * rotations * drawn[3:])
        if is_clear(offset):
            return offset
    raise SimulationError(
        f"noise: expected a start of the object clear of the hand, found none in {MAX_DRAWS} "
        f"draws with {noise.position:g} m and {noise.rotation:g} rad"
    )


def moved_pose(position: Array, quaternion: Array, offset: Offset) -> tuple[Array, Array]:
    """Apply an offset to a pose in the world."""
    rotation, rotated = np.zeros(4), np.zeros(4)
    angle = float(np.linalg.norm(offset.rotation))
    axis = offset.rotation / angle if angle > 0.0 else np.array([1.0, 0.0, 0.0])
    mujoco.mju_axisAngle2Quat(rotation, axis, angle)
    mujoco.mju_mulQuat(rotated, rotation, quaternion)
    return position + offset.position, rotated


def touches_nothing(model: mujoco.MjModel, data: mujoco.MjData, body: int) -> bool:
    """Whether a body overlaps no other in a state; only derived quantities change.

    Args:
        model: The model.
        data: The state.
        body: Id of the body.
    """
    mujoco.mj_kinematics(model, data)
    mujoco.mj_comPos(model, data)
    mujoco.mj_collision(model, data)
    contact = data.contact
    is_object = (model.geom_bodyid[contact.geom] == body).any(axis=1)
    return not bool((contact.dist[is_object] < -START_TOLERANCE).any())
