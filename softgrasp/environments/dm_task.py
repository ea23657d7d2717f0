"""A scene as a composer task; imported with dm_control only (extra ``dm``).

The same episodes as those of the Gymnasium environment, with dm_control's engine underneath.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import dm_env
import mujoco
import numpy as np
from dm_control import composer
from dm_control.composer.observation import observable
from numpy.typing import NDArray

from softgrasp.build.composer import ComposerScene, composer_scene
from softgrasp.build.names import OBJECT
from softgrasp.build.placing import object_pose
from softgrasp.build.scene import BuiltScene, build
from softgrasp.build.sensors import contact_layout
from softgrasp.description.scene import GraspScene
from softgrasp.environments.episode import Episode
from softgrasp.environments.senses import Observation, Observations, seen
from softgrasp.environments.settings import EnvSettings
from softgrasp.environments.start import Offset, clear_offset, moved_pose, touches_nothing
from softgrasp.environments.task import grasp_task, with_goal
from softgrasp.errors import BuildError
from softgrasp.formats.scene_file import load_scene
from softgrasp.mechanics.transforms import Array

HAND, OBJECT_NAME = "hand/", f"{OBJECT}/{OBJECT}"
"""What names of the hand's parts begin with, and the object's body, in a composed model."""


def dm_environment(
    scene: GraspScene | str | Path, random_state: Any, settings: dict[str, Any]
) -> dm_env.Environment:
    """The environment of ``softgrasp.make_dm_env``."""
    described = scene if isinstance(scene, GraspScene) else load_scene(scene)
    built = build(with_goal(described))
    if built.scene.actuation != "servo" or built.contact.switches_friction:
        field, value = ("contact", "two coefficients of friction")
        if built.scene.actuation != "servo":
            field, value = "actuation", "prescribed joints"
        raise BuildError(f"{field}: expected servos and one friction for dm_control, found {value}")
    task = DmGraspTask(composer_scene(built.scene), built, EnvSettings(**settings))
    return composer.Environment(
        task,
        time_limit=task.grasp.settings.time_limit or float("inf"),
        random_state=random_state,
        recompile_mjcf_every_episode=False,
        strip_singleton_obs_buffer_dim=True,
        raise_exception_on_physics_error=False,
    )


class DmGraspTask(composer.Task):  # type: ignore[misc]
    """Close the hand until its time is up, then hold."""

    def __init__(self, composed: ComposerScene, built: BuiltScene, settings: EnvSettings) -> None:
        """Take over a composed scene.

        Args:
            composed: The scene in dm_control's terms.
            built: The same scene in ours.
            settings: What an agent can do.
        """
        self.grasp = grasp_task(built, settings)
        self._composed, self._built = composed, built
        self._substeps = round(built.scene.control_period / built.model.opt.timestep)
        self._gravity = built.model.opt.gravity.copy()
        self._observations = Observations(self.grasp, built.model)
        self._observation: Observation = {}
        # else they would be read at every physics step
        every = self._substeps * self.grasp.samples_per_action
        self._observables = {
            name: observable.Generic(partial(self._part, name), update_interval=every)
            for name in self._observations.bounds
        }
        for part in self._observables.values():
            part.enabled = True
        self.set_timesteps(settings.decision_period, float(built.model.opt.timestep))

    @property
    def root_entity(self) -> Any:
        """The arena."""
        return self._composed.arena

    @property
    def task_observables(self) -> dict[str, Any]:
        """The parts of an observation, as the Gymnasium environment has them."""
        return self._observables

    def action_spec(self, physics: Any) -> dm_env.specs.BoundedArray:
        """One number in −1…1 a drive."""
        return dm_env.specs.BoundedArray(self.grasp.active.shape, np.float64, -1.0, 1.0, "action")

    def after_compile(self, physics: Any, random_state: Any) -> None:
        """Look up where everything stands in a new model."""
        model = physics.model.ptr
        self._observations = Observations(self.grasp, model, HAND, OBJECT_NAME)
        first, _, self._force_sum = contact_layout(model, list(self.grasp.bodies), 1)
        self._sensors = slice(first, first + self._force_sum.shape[1])
        self._object_body = model.body(OBJECT_NAME).id
        hand = self._composed.hand.mjcf_model
        self._joints = physics.bind(hand.find_all("joint"))
        self._actuators = physics.bind(hand.find_all("actuator"))
        self._begin(physics)

    def initialize_episode(self, physics: Any, random_state: Any) -> None:
        """Put hand and object where they start."""
        physics.model.ptr.opt.gravity[:] = self._gravity
        noise, is_clear = self.grasp.settings.noise, partial(self._is_clear, physics)
        self._put(physics, clear_offset(self.grasp.scene, noise, random_state, is_clear))
        self._begin(physics)

    def before_step(self, physics: Any, action: Any, random_state: Any) -> None:
        """Take an action."""
        self._plan, self._step = self._episode.plan(action), 0
        self._forces: list[Array] = []
        self._poses: list[tuple[Array, ...]] = []

    def before_substep(self, physics: Any, action: Any, random_state: Any) -> None:
        """At the beginning of a control sample, give the targets and put gravity on."""
        sample, late = divmod(self._step, self._substeps)
        plan, count = self._plan, len(self._plan.targets)
        if late or sample >= count:
            return
        if (loaded := sample - count + len(plan.loads)) >= 0:
            physics.model.ptr.opt.gravity[:] = plan.loads[loaded]
        self._actuators.ctrl = plan.targets[sample]

    def after_substep(self, physics: Any, random_state: Any) -> None:
        """At the end of a control sample, note contact forces, and the object while it counts."""
        self._step += 1
        sample, early = divmod(self._step, self._substeps)
        count = len(self._plan.targets)
        if early or sample > count:
            return
        data = physics.data.ptr
        self._forces.append(self._force_sum @ data.sensordata[self._sensors])
        if sample > count - self._plan.samples:
            self._poses.append(tuple(part.copy() for part in self._observations.poses(data)))

    def after_step(self, physics: Any, random_state: Any) -> None:
        """Judge what happened."""
        if len(self._forces) < len(self._plan.targets):
            self._episode.diverge()  # dm_control has stopped the step
            return
        columns = (np.array(column) for column in zip(*self._poses, strict=True))
        self._episode.passed(self._plan, np.array(self._forces), seen(*columns))
        self._observation = self._observations.read(self._episode, physics.data.ptr)

    def get_reward(self, physics: Any) -> float:
        """1 where the object was held, else 0, and the shaping."""
        return self._episode.reward()

    def get_discount(self, physics: Any) -> float:
        """0 with the verdict, else 1."""
        return 0.0 if self._episode.terminated else 1.0

    def should_terminate_episode(self, physics: Any) -> bool:
        """Whether there is a verdict."""
        return self._episode.terminated

    def _begin(self, physics: Any) -> None:
        mujoco.mj_kinematics(physics.model.ptr, physics.data.ptr)
        self._episode = Episode(self.grasp, self._observations.sight(physics.data.ptr))
        self._observation = self._observations.read(self._episode, physics.data.ptr)

    def _part(self, name: str, _: Any) -> NDArray[np.float32]:
        return self._observation[name]

    def _put(self, physics: Any, offset: Offset | None) -> None:
        scene = self.grasp.scene
        self._joints.qpos, self._actuators.ctrl = scene.start, scene.start
        pose = object_pose(scene)
        position, quaternion = np.array(pose.position), np.array(pose.quaternion)
        if offset is not None:
            position, quaternion = moved_pose(position, quaternion, offset)
        self._composed.object.set_pose(physics, position, quaternion)

    def _is_clear(self, physics: Any, offset: Offset) -> bool:
        self._put(physics, offset)
        return touches_nothing(physics.model.ptr, physics.data.ptr, self._object_body)
