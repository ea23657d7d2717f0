"""Gymnasium environments of the learning tasks, alone (``TaskEnv``) or n at once.

Episode i of ``TaskVectorEnv`` equals a ``TaskEnv`` with the seed plus i bit for bit. Importing this
module registers ``softgrasp/<Task>-v0``.
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import numpy as np

from softgrasp.envs.gym_env import CAMERA_PART, EpisodeEnv, Views
from softgrasp.envs.task_simulation import TaskSimulation
from softgrasp.envs.tasks import TASKS
from softgrasp.errors import DescriptionError, did_you_mean, missing_library
from softgrasp.rendering.camera import Camera

try:
    import gymnasium
    from gymnasium.vector import AutoresetMode, VectorEnv
    from gymnasium.vector.utils import batch_space
except ModuleNotFoundError as error:
    raise missing_library(error) from None

OBSERVATIONS = ("state", "tactile", CAMERA_PART)
CAMERA = Camera((0.0, 0.0, -0.06), 0.6, 50.0, -20.0)
FAR_CAMERA = Camera((0.0, 0.0, 0.4), 2.6, 50.0, -20.0)


def task_views(
    task: str, count: int = 1, threads: int = 0, *,
    observations: tuple[str, ...] = ("state",), actions: str = "channels", noise: float = 1.0,
    engine: str = "mujoco",
) -> tuple[TaskSimulation, Views]:  # fmt: skip
    """Compile a task; return its episodes and their views.

    Args:
        task: Its name, a key of ``TASKS``.
        count: Number of episodes.
        threads: Number of threads that step them.
        observations: Some of ``state``, ``tactile`` and ``camera``; a Dict of more than one.
        actions: ``channels`` of the task, or each of their actuators alone (``joints``).
        noise: Factor of the sensor noise; 0 for none.
        engine: ``mujoco``, or ``warp`` for thousands of episodes on a GPU (extra ``gpu``).

    Raises:
        DescriptionError: There is no such task, observation, kind of actions or engine.
    """
    if task not in TASKS:
        raise DescriptionError(f"expected a task, found '{task}'; {did_you_mean(task, TASKS)}")
    for name in observations:
        if name not in OBSERVATIONS:
            hint = did_you_mean(name, OBSERVATIONS)
            raise DescriptionError(
                f"expected an observation, found '{name}'; {hint}", field="observations"
            )
    if actions not in ("channels", "joints"):
        raise DescriptionError(
            f"expected 'channels' or 'joints', found '{actions}'", field="actions"
        )
    simulation = TaskSimulation(TASKS[task], count, threads, actions == "joints", noise, engine)
    camera = FAR_CAMERA if TASKS[task].follows else CAMERA
    return simulation, Views(simulation, observations, camera=camera)


class TaskEnv(EpisodeEnv):
    """One learning task; see ``docs/learning.md``."""

    simulation: TaskSimulation

    def __init__(self, task: str, *, render_mode: str | None = None, **options: Any) -> None:
        """Compile a task.

        Args:
            task: Its name, a key of ``TASKS``.
            render_mode: ``rgb_array`` or None.
            options: ``observations``, ``actions`` and ``noise``, as of ``task_views``.

        Raises:
            DescriptionError: There is no such task, observation or kind of actions.
        """
        super().__init__(*task_views(task, **options), render_mode)
        self.task = self.simulation.task


class TaskVectorEnv(VectorEnv[Any, Any, Any]):
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
        self.num_envs, self.render_mode = num_envs, render_mode
        self.simulation, views = task_views(task, num_envs, min(threads, num_envs), **options)
        self.task, self.views = self.simulation.task, views
        self.single_observation_space, self.single_action_space = views.space, views.actions
        self.observation_space = batch_space(views.space, num_envs)
        self.action_space = batch_space(views.actions, num_envs)
        self._rows = list(range(num_envs))

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin all episodes; episode i has the seed plus i."""
        if not isinstance(seed, list):
            seed = [None if seed is None else seed + row for row in self._rows]
        for row, one in enumerate(seed):
            drawn = None if one is None else gymnasium.utils.seeding.np_random(one)[0]
            self.simulation.reset(row, drawn, options)
        return self.views.read(self._rows), {}

    def close_extras(self, **_: Any) -> None:
        """Release the renderers."""
        self.views.close()

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Simulate one decision of all episodes; ``final_obs`` and ``final_info`` of ended ones."""
        decision = self.simulation.step(np.asarray(actions, dtype=float))
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


def _arrays(observed: Any) -> list[Any]:
    return list(observed.values()) if isinstance(observed, dict) else [observed]


for _task in TASKS.values():
    _name = f"softgrasp/{_task.name}-v0"
    if _name not in gymnasium.registry:
        gymnasium.register(
            id=_name,
            entry_point=f"{__name__}:TaskEnv",
            vector_entry_point=f"{__name__}:TaskVectorEnv",
            kwargs={"task": _task.name},
        )
