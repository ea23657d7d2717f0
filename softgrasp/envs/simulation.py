"""Simulated system of an environment: control samples in MuJoCo and random start poses.

``EnvSimulation`` runs the samples of an action with the stepper of single runs, ``clear_offset``
draws a start of the object clear of the hand.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

import mujoco
import numpy as np
from numpy.typing import ArrayLike

from softgrasp.description.scene import GraspScene
from softgrasp.description.sweep import PoseNoise
from softgrasp.envs.episode import Episode, GraspTask
from softgrasp.envs.observations import Observations, in_palm_frame
from softgrasp.errors import SimulationError
from softgrasp.mechanics.transforms import Array
from softgrasp.model import names
from softgrasp.model.clearance import START_TOLERANCE
from softgrasp.model.object import PLANAR_JOINTS
from softgrasp.model.scene import BuiltScene, start_targets
from softgrasp.sim.contacts import ContactReader
from softgrasp.sim.control_state import ClosureState, Recording, closure_layout
from softgrasp.sim.engine import caught_warnings, has_diverged
from softgrasp.sim.friction import SlipFriction
from softgrasp.sim.grasp_run import LARGEST_SPEED
from softgrasp.sim.load_balance import LoadSampler, load_balance
from softgrasp.sim.step_refinement import StepRefinement
from softgrasp.sim.stepper import MujocoStepper
from softgrasp.sim.stiffness_feedback import StiffnessFeedback

MAX_DRAWS = 100
"""Largest number of starts that are drawn."""


class EnvSimulation:
    """The simulated scene of an environment in MuJoCo."""

    def __init__(self, built: BuiltScene, task: GraspTask) -> None:
        """Look up addresses in the model of a built scene.

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
        self._stiffness, self._row = StiffnessFeedback(built), 0
        self._sampler = LoadSampler(task.scene, ContactReader(self.model))
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
        self._stiffness, self._row = StiffnessFeedback(self._built), 0
        self._stepper = self._new_stepper()
        return Episode(self._task, self.observations.object_pose(self.data))

    def act(self, episode: Episode, action: ArrayLike) -> None:
        """Simulate an episode for one action, or to its end.

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
                if index == count - 1:
                    self._sampler.start(self.data)
                sensors[index] = sample(targets)
                self._row += 1
                self._stiffness.correct(self.data, self._row)
                if index >= unseen:
                    self._store_poses(index)
        if self._has_failed():
            episode.diverge()
            return
        pose = in_palm_frame(*(kept[unseen:count] for kept in self._poses))
        forces = sensors[:count] @ self._layout.force_sum.T
        episode.update(plan, forces, pose, self._support())

    def _support(self) -> float:
        """Return the fraction of the load that the hand does not bear in the last sample [–]."""
        scene = self._task.scene
        if not scene.surroundings and scene.object_mount == "free":
            return 0.0
        self._sampler.sample(self.data)
        balance = load_balance(self.model, scene, self._sampler.record(self.data, self._row))
        return balance.support if balance.is_loaded else 0.0

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
        steps = StepRefinement(self._layout, self._stiffness, self.model)
        return MujocoStepper(self.model, self.data, self._layout, state, row, steps, friction)

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


class Generator(Protocol):
    """Interface of random generators: numpy's Generator or the older RandomState."""

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
    """Return whether a body overlaps no other; changes only derived quantities of the state.

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
