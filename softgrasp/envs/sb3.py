"""Learning tasks as a vector environment of stable-baselines3 (extra ``learn``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from softgrasp.envs.task_env import TaskVectorEnv
from softgrasp.envs.views import row_of
from softgrasp.errors import missing_library

try:
    from stable_baselines3.common.vec_env import VecEnv
except ModuleNotFoundError as error:
    raise missing_library(error) from None


class TaskVecEnv(VecEnv):
    """n episodes of a learning task that stable-baselines3 steps together."""

    def __init__(self, task: str, num_envs: int = 8, **options: Any) -> None:
        """Compile a task.

        Args:
            task: Name of the task.
            num_envs: Number of episodes.
            options: As of ``TaskVectorEnv``, such as ``goals=True`` for hindsight replay.

        Raises:
            DescriptionError: There is no such task or option.
        """
        self.env = TaskVectorEnv(task, num_envs, **options)
        self._actions = np.zeros(self.env.action_space.shape or ())
        super().__init__(num_envs, self.env.single_observation_space, self.env.single_action_space)

    def reset(self) -> Any:
        """Begin all episodes, with the seeds that were set, and return their observations."""
        seeds = None if None in self._seeds else self._seeds
        observed, _ = self.env.reset(seed=seeds)
        self._reset_seeds()
        self._reset_options()
        return observed

    def step_async(self, actions: Any) -> None:
        """Take over the actions, (n, channels)."""
        self._actions = actions

    def step_wait(self) -> Any:
        """Simulate a decision; return observations, rewards, ends and information."""
        observed, rewards, terminated, truncated, info = self.env.step(self._actions)
        infos: list[dict[str, Any]] = [{"is_success": bool(item)} for item in info["is_success"]]
        over = terminated | truncated
        for row in np.flatnonzero(over).tolist():
            infos[row]["terminal_observation"] = row_of(info["final_obs"], row)
            infos[row]["TimeLimit.truncated"] = bool(truncated[row])
        return observed, rewards.astype(np.float32), over, infos

    def close(self) -> None:
        """Release the renderers."""
        self.env.close()

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """Return an attribute of the vector environment once for each episode."""
        return [getattr(self.env, attr_name, None)] * len(self._rows(indices))

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:  # noqa: ARG002
        """Set an attribute of the vector environment."""
        setattr(self.env, attr_name, value)

    def env_method(
        self, method_name: str, *arguments: Any, indices: Any = None, **options: Any
    ) -> list[Any]:
        """Call a method of the vector environment; return its result once for each episode."""
        result = getattr(self.env, method_name)(*arguments, **options)
        return [result] * len(self._rows(indices))

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:  # noqa: ARG002
        """Return that no episode is in a wrapper."""
        return [False] * len(self._rows(indices))

    def _rows(self, indices: Any) -> Sequence[int]:
        return list(self._get_indices(indices))
