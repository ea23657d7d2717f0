"""The simulated hand under an agent: one control sample after the other, as in a run."""

from __future__ import annotations

import mujoco
import numpy as np
from numpy.typing import ArrayLike

from softgrasp.build import names
from softgrasp.build.objects import PLANAR_JOINTS
from softgrasp.build.scene import BuiltScene, start_targets
from softgrasp.environments.episode import Episode
from softgrasp.environments.senses import Observations, seen
from softgrasp.environments.start import (
    Generator,
    Offset,
    clear_offset,
    moved_pose,
    touches_nothing,
)
from softgrasp.environments.task import GraspTask
from softgrasp.mechanics.transforms import Array
from softgrasp.simulation.closure_run import LARGEST_SPEED
from softgrasp.simulation.engine_warnings import caught_warnings, has_diverged
from softgrasp.simulation.friction import SlipFriction
from softgrasp.simulation.own_stepper import PlainStepper
from softgrasp.simulation.state import ClosureState, Recording, closure_layout


class SampleStepper(PlainStepper):
    """Steps one control sample at a time with targets that come from outside."""

    def sample(self, targets: Array) -> Array:
        """Step one sample with these targets; returns the contact sensors, a view."""
        self._data.ctrl[:] = targets
        self._step()
        sensors: Array = self._raw_forces
        return sensors

    def normal_forces(self, sensors: Array) -> Array:
        """Normal force of each body at some samples [N], (n, nb), of their sensors."""
        return np.asarray(sensors @ self._layout.force_sum.T)


class EnvSimulation:
    """The engine's side of an environment."""

    def __init__(self, built: BuiltScene, task: GraspTask) -> None:
        """Take over a built scene, whose model it changes.

        Args:
            built: The scene.
            task: What is done with it.
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
        """Go back to the start, with the object off its place at random.

        Args:
            generator: Draws how far it is off.

        Raises:
            SimulationError: No start that was drawn is clear of the hand.
        """
        self.model.opt.gravity[:] = self._gravity
        self.model.pair_friction[:] = self._pair_friction
        noise = self._task.settings.noise
        self._put(clear_offset(self._task.scene, noise, generator, self._is_clear))
        mujoco.mj_kinematics(self.model, self.data)
        self._stepper = self._new_stepper()
        return Episode(self._task, self.observations.sight(self.data))

    def act(self, episode: Episode, action: ArrayLike) -> None:
        """Run an episode on for one action, or to its end.

        Args:
            episode: The episode that this plant was reset with.
            action: One number an active drive.

        Raises:
            DescriptionError: The action has another shape, or holds what is not a number.
        """
        plan, gravity = episode.plan(action), self.model.opt.gravity
        sample, sensors = self._stepper.sample, self._sensors
        count = len(plan.targets)
        unloaded, unseen = count - len(plan.loads), count - plan.samples
        with caught_warnings():
            for index, targets in enumerate(plan.targets):
                if index >= unloaded:
                    gravity[:] = plan.loads[index - unloaded]
                sensors[index] = sample(targets)
                if index >= unseen:
                    self._see(index)
        if self._went_wrong():
            episode.diverge()
            return
        sight = seen(*(kept[unseen:count] for kept in self._poses))
        episode.passed(plan, self._stepper.normal_forces(sensors[:count]), sight)

    def _see(self, index: int) -> None:
        """Keep where object and palm are after a sample."""
        mujoco.mj_kinematics(self.model, self.data)
        object_positions, object_rotations, palm_positions, palm_rotations = self._poses
        (
            object_positions[index],
            object_rotations[index],
            palm_positions[index],
            palm_rotations[index],
        ) = self._views

    def _new_stepper(self) -> SampleStepper:
        state = ClosureState.at_start(start_targets(self._built.scene), len(self._built.bodies))
        row = Recording.empty(self.model, len(self._built.bodies), self._sensors.shape[1], 1)
        friction = SlipFriction.of(self._built)
        return SampleStepper(self.model, self.data, self._layout, state, row, friction)

    def _went_wrong(self) -> bool:
        # written so that a speed that is not a number counts as too fast
        slow = float(np.linalg.norm(self.data.qvel)) < LARGEST_SPEED
        return not slow or has_diverged(self.data)

    def _is_clear(self, offset: Offset) -> bool:
        self._put(offset)
        return touches_nothing(self.model, self.data, self._object)

    def _put(self, offset: Offset | None) -> None:
        """The start state, with the object off its place."""
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
