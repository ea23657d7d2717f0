"""Gymnasium environments of scenes (extra ``gym``), and what those of learning tasks share.

``EpisodeEnv`` is an environment of one of any ``Episodes``. Importing this module registers
``softgrasp/Grasp-v0`` for ``gymnasium.make``.
"""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from softgrasp._gymnasium import SCENE_ENV
from softgrasp.description.scene import GraspScene
from softgrasp.envs.core import Episodes, check_numbers
from softgrasp.envs.episode import EnvSettings, GraspTask, with_goal
from softgrasp.envs.simulation import SteppedScene
from softgrasp.envs.views import Views, pose, row_of
from softgrasp.errors import (
    DescriptionError,
    SimulationError,
    did_you_mean,
    missing_library,
)
from softgrasp.model import names
from softgrasp.pipeline import compile_scene
from softgrasp.rendering.camera import Camera, geom_corner_points
from softgrasp.rendering.viewpoint import best_camera

try:
    import gymnasium
    from gymnasium.utils import EzPickle
except ModuleNotFoundError as error:
    raise missing_library(error) from None

RENDER_MODES = ("rgb_array",)
SIZE = (480, 360)
"""Width and height of rendered images [pixels]."""

Action = NDArray[np.float32]


class EpisodeEnv(gymnasium.Env[Any, Action]):
    """An environment of one episode at a time, of a scene or a task."""

    metadata: dict[str, Any] = {"render_modes": list(RENDER_MODES), "render_fps": 50}  # noqa: RUF012
    channel = "channel"
    """What one number of an action moves."""

    def __init__(self, simulation: Episodes, views: Views, render_mode: str | None) -> None:
        """Take over the spaces.

        Args:
            simulation: The episodes, of which the first one is used.
            views: Its spaces, observations and images.
            render_mode: ``rgb_array`` or None.
        """
        self.simulation, self.views, self.render_mode = simulation, views, render_mode
        self.observation_space, self.action_space = views.space, views.actions
        self._size, self._state = SIZE, "none"

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin an episode.

        Args:
            seed: Seed of all that is drawn; the same seed gives the same bits.
            options: Values to be used instead of drawn ones: of a task ``goal``, ``density``,
                ``friction``, ``size`` or ``shape``, of a scene none.

        Raises:
            DescriptionError: An option does not exist or does not fit.
            SimulationError: No drawn start is clear of the hand.
        """
        super().reset(seed=seed)
        self.simulation.reset(0, self.np_random, options)
        self._state = ""
        return row_of(self.views.read([0]), 0), self.simulation.info(0)

    def step(self, action: Action) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Simulate an action for one decision period, or to the end of the episode.

        Args:
            action: One number in −1…1 per actuator of a scene, or per channel of a task.

        Returns:
            Observation, reward, terminated (success or failure), truncated, and information: of a
            scene ``is_success``, ``outcome``, ``time_s``, ``in_test``, ``drop_m``,
            ``rotation_rad``, ``creep_m_s`` and ``diverged``; ``outcome`` is empty while the episode
            lasts. Of a task ``is_success``, ``goal_fraction``, ``progress`` and ``goal``.

        Raises:
            DescriptionError: The action has another shape, or contains NaN.
            SimulationError: There is no running episode.
        """
        if self._state:
            raise SimulationError(
                f"expected an episode to go on, found {self._state}: call reset()"
            )
        values = check_numbers(action, (self.simulation.channels,), self.channel)
        decision = self.simulation.step(values[None])
        terminated, truncated = bool(decision.terminated[0]), bool(decision.truncated[0])
        self._state = "one that has ended" if terminated or truncated else ""
        observation = row_of(self.views.read([0]), 0)
        reward = float(decision.reward[0])
        return observation, reward, terminated, truncated, self.simulation.info(0)

    def render(self) -> NDArray[np.uint8] | None:
        """Return an image (height, width, 3); None, with a warning, without a render mode."""
        if self.render_mode is None:
            gymnasium.logger.warn("expected render_mode='rgb_array' in make_env, found none")
            return None
        if self._state == "none":
            raise SimulationError("expected an episode to draw, found none: call reset()")
        return self.views.image(0, self._size)

    def close(self) -> None:
        """Release the renderers."""
        self.views.close()


class GraspEnv(EpisodeEnv, EzPickle):
    """A hand that an agent closes on an object; see ``softgrasp.make_env``.

    ``model`` and ``data`` are those of MuJoCo.
    """

    channel = "actuator"
    simulation: SteppedScene

    def __init__(
        self,
        scene: GraspScene | str | Path,
        *,
        render_mode: str | None = None,
        size: tuple[int, int] = SIZE,
        renderer: str = "auto",
        **settings: Any,
    ) -> None:
        """Build a scene.

        Args:
            scene: The scene, its library name or its file.
            render_mode: ``rgb_array`` or None.
            size: Width and height of images [pixels].
            renderer: Renderer of images: ``auto``, ``gl`` or ``raycast``.
            settings: Fields of ``EnvSettings``.

        Raises:
            DescriptionError: A setting does not exist or does not fit.
            BuildError: The scene makes no model that can be simulated.
        """
        EzPickle.__init__(
            self, scene, render_mode=render_mode, size=size, renderer=renderer, **settings
        )
        if render_mode not in (None, *RENDER_MODES):
            hint = did_you_mean(str(render_mode), RENDER_MODES)
            raise DescriptionError(
                f"expected a render mode, found '{render_mode}'; {hint}", field="render_mode"
            )
        built = compile_scene(with_goal(scene))
        self.task = GraspTask(built, EnvSettings(**settings))
        simulation = SteppedScene(built, self.task)
        views = Views(simulation, list(simulation.bounds), renderer=renderer)
        super().__init__(simulation, views, render_mode)
        self.model, self.data, self._size = simulation.model, simulation.data, size
        fps = max(round(1.0 / self.task.settings.decision_period), 1)
        self.metadata = self.metadata | {"render_fps": fps}

    def render(self) -> NDArray[np.uint8] | None:
        """Return an image from a camera that sees hand and object; see ``EpisodeEnv.render``."""
        if self.views.camera is None and self.render_mode is not None:
            self.views.camera = _camera(self.task, self.model, self._size[0] / self._size[1])
        return super().render()


def _camera(task: GraspTask, model: mujoco.MjModel, aspect: float) -> Camera:
    """Choose a camera that shows hand and object at the start, and after a lift."""
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    pose(model, data, data.qpos.copy())
    cloud = geom_corner_points(model, data)
    if task.scene.lift is not None:
        cloud = np.concatenate([cloud, cloud + np.array([0.0, 0.0, task.scene.lift.height])])
    hand = [model.body(body).id for body in task.bodies]
    return best_camera(model, [data], cloud, hand, [model.body(names.OBJECT).id], aspect)


def register_env(scene: GraspScene | str | Path, **options: Any) -> GraspEnv:
    """Make an environment with the ``spec`` that ``gymnasium.make`` would set."""
    env = GraspEnv(scene, **options)
    spec = deepcopy(gymnasium.spec(SCENE_ENV))
    spec.kwargs = {"scene": scene, **options}
    env.spec = spec
    return env
