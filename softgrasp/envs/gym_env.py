"""Gymnasium environment of a scene (extra ``gym``), with off-screen images of its episodes.

Importing this module registers ``softgrasp/Grasp-v0`` for ``gymnasium.make``.
"""

from __future__ import annotations

import warnings
from copy import deepcopy
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from softgrasp.description.scene import GraspScene
from softgrasp.envs.episode import EnvSettings, Episode, GraspTask, grasp_task, with_goal
from softgrasp.envs.observations import Bound, Observation
from softgrasp.envs.simulation import EnvSimulation
from softgrasp.errors import (
    DescriptionError,
    SimulationError,
    SoftgraspWarning,
    did_you_mean,
    missing_library,
)
from softgrasp.io.scene import load_scene
from softgrasp.model import names
from softgrasp.model.visual import IN_CONTACT_RGBA
from softgrasp.pipeline import compile_scene
from softgrasp.rendering.camera import geom_corner_points
from softgrasp.rendering.keyframes import best_camera
from softgrasp.rendering.renderer import open_renderer

try:
    import gymnasium
    from gymnasium import spaces
except ModuleNotFoundError as error:
    raise missing_library(error) from None

ENV_ID = "softgrasp/Grasp-v0"
RENDER_MODES = ("rgb_array",)
SIZE = (480, 360)
"""Width and height of an image [pixels]."""

Action = NDArray[np.float32]


class GraspEnv(gymnasium.Env[Observation, Action]):
    """A hand that an agent closes on an object; see ``softgrasp.make_env``.

    ``model`` and ``data`` are those of MuJoCo.
    """

    metadata: dict[str, Any] = {"render_modes": list(RENDER_MODES), "render_fps": 50}  # noqa: RUF012

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
        if render_mode not in (None, *RENDER_MODES):
            hint = did_you_mean(str(render_mode), RENDER_MODES)
            raise DescriptionError(
                f"expected a render mode, found '{render_mode}'; {hint}", field="render_mode"
            )
        described = scene if isinstance(scene, GraspScene) else load_scene(scene)
        if described.sensors:
            warnings.warn(
                f"sensors: {len(described.sensors)} of the scene are left out of the environment, "
                "which has observations of its own",
                SoftgraspWarning,
                stacklevel=2,
            )
        built = compile_scene(with_goal(described))
        self.task = grasp_task(built, EnvSettings(**settings))
        self._simulation = EnvSimulation(built, self.task)
        self.model, self.data = self._simulation.model, self._simulation.data
        self.observation_space = spaces.Dict(  # type: ignore[assignment]
            {name: _box(bound) for name, bound in self._simulation.observations.bounds.items()}
        )
        self.action_space = spaces.Box(-1.0, 1.0, self.task.active.shape, np.float32)
        self.render_mode, self._size, self._renderer = render_mode, size, renderer
        self._episode_renderer: EpisodeRenderer | None = None
        self._episode: Episode | None = None
        self._last: Observation = {}
        fps = max(round(1.0 / self.task.settings.decision_period), 1)
        self.metadata = self.metadata | {"render_fps": fps}

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin an episode.

        Args:
            seed: Seed of the random start; the same seed gives the same bits.
            options: None; there are no options.

        Raises:
            DescriptionError: There are options.
            SimulationError: No drawn start is clear of the hand.
        """
        super().reset(seed=seed)
        if options:
            raise DescriptionError(f"expected no options, found {', '.join(options)}")
        episode = self._episode = self._simulation.reset(self.np_random)
        return self._observe(episode), _info(episode)

    def step(self, action: Action) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Simulate an action for one decision period, or to the end of the episode.

        Args:
            action: One number in −1…1 per active actuator.

        Returns:
            Observation, reward, terminated (success or failure), truncated, and information
            (``is_success``, ``outcome``, ``time_s``, ``in_test``, ``drop_m``, ``rotation_rad``,
            ``creep_m_s``, ``diverged``); ``outcome`` is empty while the episode lasts.

        Raises:
            DescriptionError: The action has another shape, or contains NaN.
            SimulationError: There is no running episode.
        """
        episode = self._episode
        if episode is None or episode.over:
            state = "none" if episode is None else "one that has ended"
            raise SimulationError(f"expected an episode to go on, found {state}: call reset()")
        self._simulation.act(episode, action)
        observation = _copied(self._last) if episode.diverged else self._observe(episode)
        reward = episode.reward()
        return observation, reward, episode.terminated, episode.truncated, _info(episode)

    def render(self) -> NDArray[np.uint8] | None:
        """Return an image (height, width, 3); None, with a warning, without a render mode."""
        if self.render_mode is None:
            gymnasium.logger.warn("expected render_mode='rgb_array' in make_env, found none")
            return None
        if self._episode is None:
            raise SimulationError("expected an episode to draw, found none: call reset()")
        if self._episode_renderer is None:
            self._episode_renderer = EpisodeRenderer(
                self.task, self.model, self._size, self._renderer
            )
        return self._episode_renderer.draw(self.data, self._episode.contact.in_contact)

    def close(self) -> None:
        """Release the renderer."""
        if self._episode_renderer is not None:
            self._episode_renderer.close()
            self._episode_renderer = None

    def _observe(self, episode: Episode) -> Observation:
        observation = self._simulation.observations.read(episode, self.data)
        self._last = _copied(observation)  # the agent may change its observation
        return observation


def registered_env(scene: GraspScene | str | Path, **options: Any) -> GraspEnv:
    """Make an environment with the ``spec`` that ``gymnasium.make`` would set."""
    env = GraspEnv(scene, **options)
    spec = deepcopy(gymnasium.spec(ENV_ID))
    spec.kwargs = {"scene": scene, **options}
    env.spec = spec
    return env


def _copied(observation: Observation) -> Observation:
    return {name: part.copy() for name, part in observation.items()}


def _box(bound: Bound) -> spaces.Box:
    return spaces.Box(bound.low, bound.high, dtype=np.float32)


def _info(episode: Episode) -> dict[str, Any]:
    return {
        "is_success": episode.held is True,
        "outcome": "" if episode.outcome is None else episode.outcome.name,
        "time_s": episode.time,
        "in_test": episode.tested >= 0,
        "drop_m": episode.drop,
        "rotation_rad": episode.rotation,
        "creep_m_s": episode.creep,
        "diverged": episode.diverged,
    }


if ENV_ID not in gymnasium.registry:
    gymnasium.register(id=ENV_ID, entry_point=f"{__name__}:GraspEnv")


class EpisodeRenderer:
    """Renders states of one model from a fixed camera; bodies in contact change colour."""

    def __init__(
        self, task: GraspTask, model: mujoco.MjModel, size: tuple[int, int], renderer: str
    ) -> None:
        """Open a renderer and choose the camera.

        Args:
            task: The task.
            model: Its model.
            size: Width and height [pixels].
            renderer: ``auto``, ``gl`` or ``raycast``.

        Raises:
            BackendUnavailable: The requested renderer is not available.
            DescriptionError: There is no such renderer, or the size is invalid.
        """
        self._model, self._data = model, mujoco.MjData(model)
        self._drawer = open_renderer(model, *size, renderer)
        mujoco.mj_resetDataKeyframe(model, self._data, 0)
        self._pose()
        cloud = geom_corner_points(model, self._data)
        if task.scene.lift is not None:
            lifted = cloud + np.array([0.0, 0.0, task.scene.lift.height])
            cloud = np.concatenate([cloud, lifted])
        hand = [model.body(body).id for body in task.bodies]
        object_body = model.body(names.OBJECT).id
        self._camera = best_camera(model, self._data, cloud, hand, [object_body], size[0] / size[1])
        self._geoms = [np.flatnonzero(model.geom_bodyid == body).tolist() for body in hand]

    def draw(self, data: mujoco.MjData, in_contact: NDArray[np.bool_]) -> NDArray[np.uint8]:
        """Render a state, (height, width, 3); the state is not changed.

        Args:
            data: The state.
            in_contact: Whether each body of the hand is in established contact, (nb,).
        """
        self._data.qpos[:] = data.qpos
        self._pose()
        touching = zip(self._geoms, in_contact.tolist(), strict=True)
        colors = {geom: IN_CONTACT_RGBA for geoms, on in touching if on for geom in geoms}
        return np.array(self._drawer.draw(self._data, self._camera, (), colors))

    def close(self) -> None:
        """Release the renderer."""
        self._drawer.close()

    def _pose(self) -> None:
        mujoco.mj_kinematics(self._model, self._data)
        mujoco.mj_comPos(self._model, self._data)
        mujoco.mj_camlight(self._model, self._data)
