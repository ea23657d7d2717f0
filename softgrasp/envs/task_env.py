"""Gymnasium environments of the learning tasks, alone (``TaskEnv``) or n at once.

Episode i of ``TaskVectorEnv`` equals a ``TaskEnv`` with the seed plus i bit for bit. A pickled
environment is made anew from its arguments, before its first episode.
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import numpy as np

from softgrasp.envs.core import check_numbers
from softgrasp.envs.gym_env import EpisodeEnv
from softgrasp.envs.task_simulation import GOAL_PARTS, TaskSettings, TaskSimulation
from softgrasp.envs.tasks import TASKS, variant
from softgrasp.envs.views import Views
from softgrasp.errors import DescriptionError, SimulationError, did_you_mean, missing_library
from softgrasp.rendering.camera import Camera

try:
    from gymnasium.utils import EzPickle
    from gymnasium.utils.seeding import np_random
    from gymnasium.vector import AutoresetMode, VectorEnv
    from gymnasium.vector.utils import batch_space
except ModuleNotFoundError as error:
    raise missing_library(error) from None

CAMERA = Camera((0.0, 0.0, -0.06), 0.6, 50.0, -20.0)
FAR_CAMERA = Camera((0.0, 0.0, 0.4), 2.6, 50.0, -20.0)


def task_views(
    task: str, threads: int = 0, *, hand: Any = None, objects: Any = None, **settings: Any
) -> tuple[TaskSimulation, Views]:
    """Compile a task; return its episodes and their views.

    Args:
        task: Its name, a key of ``TASKS``.
        threads: Number of threads that step the episodes.
        hand: Name or file of the hand of ``LiftAny``.
        objects: Names of shapes, or a folder of meshes, from which each object is drawn.
        settings: Fields of ``TaskSettings``.

    Raises:
        DescriptionError: There is no such task, setting or engine, or the task has no goals.
    """
    if task not in TASKS:
        raise DescriptionError(f"expected a task, found '{task}'; {did_you_mean(task, TASKS)}")
    chosen = TaskSettings(**settings)
    simulation = TaskSimulation(variant(TASKS[task], hand, objects), chosen, threads)
    parts = GOAL_PARTS if chosen.goals else chosen.observations
    camera = FAR_CAMERA if TASKS[task].follows else CAMERA
    return simulation, Views(simulation, parts, camera=camera)


class TaskEnv(EpisodeEnv, EzPickle):
    """One learning task; see ``docs/learning.md``."""

    simulation: TaskSimulation

    def __init__(self, task: str, *, render_mode: str | None = None, **options: Any) -> None:
        """Compile a task.

        Args:
            task: Its name, a key of ``TASKS``.
            render_mode: ``rgb_array`` or None.
            options: ``observations``, ``actions`` and others of ``task_views``.

        Raises:
            DescriptionError: As of ``task_views``.
        """
        EzPickle.__init__(self, task, render_mode=render_mode, **options)
        super().__init__(*task_views(task, **options), render_mode)
        self.task = self.simulation.task
        if self.simulation.goals_observed:
            self.compute_reward = self.simulation.compute_reward


class TaskVectorEnv(VectorEnv[Any, Any, Any], EzPickle):
    """n episodes of a task, stepped together; an episode that ends begins anew in the same step."""

    metadata: dict[str, Any] = EpisodeEnv.metadata | {"autoreset_mode": AutoresetMode.SAME_STEP}

    def __init__(
        self, task: str, num_envs: int = 1, *, threads: int = 2, render_mode: str | None = None,
        **options: Any,
    ) -> None:  # fmt: skip
        """Compile a task.

        Args:
            task: Its name, a key of ``TASKS``.
            num_envs: Number of episodes.
            threads: Number of threads.
            render_mode: ``rgb_array`` or None.
            options: As for ``TaskEnv``.
        """
        EzPickle.__init__(self, task, num_envs, threads=threads, render_mode=render_mode, **options)
        self.num_envs, self.render_mode = num_envs, render_mode
        self.simulation, views = task_views(task, threads, num_envs=num_envs, **options)
        self.task, self.views = self.simulation.task, views
        if self.simulation.goals_observed:
            self.compute_reward = self.simulation.compute_reward
        self.single_observation_space, self.single_action_space = views.space, views.actions
        self.observation_space = batch_space(views.space, num_envs)
        self.action_space = batch_space(views.actions, num_envs)
        self._rows, self._running = list(range(num_envs)), False

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin all episodes.

        Args:
            seed: Seed of the first episode, episode i has the seed plus i; or one of each.
            options: As of ``TaskEnv``, for all episodes.

        Raises:
            DescriptionError: A seed is no whole number of at least 0, there are not as many as
                episodes, or an option does not exist or does not fit.
        """
        for row, item in enumerate(self._seeds(seed)):
            drawn = None if item is None else np_random(item)[0]
            self.simulation.reset(row, drawn, options)
        self._running = True
        return self.views.read(self._rows), {}

    def _seeds(self, seed: Any) -> list[int | None]:
        """Return the seed of each episode."""
        several, count = isinstance(seed, list | tuple | np.ndarray), self.num_envs
        known = [None if item is None else _seed(item) for item in (seed if several else [seed])]
        if -1 in known or (several and len(known) != count):
            message = (
                f"expected a whole number of at least 0, or {count} of them, found {seed!r:.60}"
            )
            raise DescriptionError(message, field="seed")
        first = known[0]
        return known if several else [None if first is None else first + i for i in self._rows]

    def close_extras(self, **_: Any) -> None:
        """Release the renderers."""
        self.views.close()

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Simulate one decision of all episodes.

        Args:
            actions: Numbers in −1…1, (n, channels).

        Returns:
            As of ``TaskEnv`` for n episodes; ``final_obs`` and ``final_info`` of ended ones.

        Raises:
            DescriptionError: The actions have another shape, or contain NaN.
            SimulationError: ``reset`` has not been called.
        """
        if not self._running:
            raise SimulationError("expected episodes to go on, found none: call reset()")
        shape = (self.num_envs, self.simulation.channels)
        decision = self.simulation.step(check_numbers(actions, shape, "episode and channel"))
        observed = self.views.read(self._rows)
        info: dict[str, Any] = {"is_success": decision.success.copy()}
        ended = decision.terminated | decision.truncated
        if ended.any():
            info["final_obs"] = deepcopy(observed)
            info["final_info"] = {"is_success": decision.success.copy()}
            info["_final_info"] = info["_final_obs"] = ended
            over = np.flatnonzero(ended).tolist()
            for row in over:
                self.simulation.reset(row)
            fresh = self.views.read(over)
            for part, new in zip(_arrays(observed), _arrays(fresh), strict=True):
                part[over] = new
        return observed, decision.reward, decision.terminated, decision.truncated, info


def _seed(value: Any) -> int:
    """Return a seed; -1 for a value that is none."""
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    return int(value) if whole and value >= 0 else -1


def _arrays(observed: Any) -> list[Any]:
    return list(observed.values()) if isinstance(observed, dict) else [observed]
