"""Policies of the learning tasks: their success, and trained networks in numpy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softgrasp.assets import root
from softgrasp.errors import DescriptionError, did_you_mean
from softgrasp.mechanics.transforms import Array

Policy = Callable[[Any], Array]
"""Observations, or ``Features``, to actions of n episodes, (n, na)."""


def network(weights: Mapping[str, Array]) -> Policy:
    """Return a network of tanh layers as a policy.

    Args:
        weights: ``weight0``, ``bias0`` and so on, of the layers from the observation on.
    """
    layers = [(weights[f"weight{i}"], weights[f"bias{i}"]) for i in range(len(weights) // 2)]

    def policy(observations: Array) -> Array:
        values = np.asarray(observations, dtype=float)
        for weight, bias in layers[:-1]:
            values = np.tanh(values @ weight.T + bias)
        return np.clip(values @ layers[-1][0].T + layers[-1][1], -1.0, 1.0)

    return policy


def load_policy(task: str) -> Policy:
    """Read the trained policy of a task.

    Raises:
        DescriptionError: There is none.
    """
    policies = root() / "assets" / "policies"
    known = sorted(path.stem for path in policies.glob("*.npz"))
    if task not in known:
        hint = did_you_mean(task, known)
        raise DescriptionError(f"expected a task with a trained policy, found '{task}'; {hint}")
    with np.load(policies / f"{task}.npz") as stored:
        return network(dict(stored))


def evaluate(task: str, policy: Policy | None, episodes: int, seed: int, **options: Any) -> float:
    """Return the success rate of a policy; arguments as of ``successes``."""
    return float(successes(task, policy, episodes, seed, **options).mean())


def successes(
    task: str, policy: Policy | None, episodes: int, seed: int, *,
    privileged: bool = False, **options: Any,
) -> NDArray[np.bool_]:  # fmt: skip
    """Return which episodes a policy solves without exploration, (episodes,).

    Args:
        task: Name of the task.
        policy: The policy; None for uniformly random actions.
        episodes: Number of episodes; episode i has the seed plus i.
        seed: Seed of the first episode.
        privileged: Whether the policy gets noise-free ``Features`` instead of observations.
        options: As of ``TaskVectorEnv``.
    """
    from softgrasp.envs.task_env import TaskVectorEnv

    env = TaskVectorEnv(task, episodes, threads=1, **options)
    observed, _ = env.reset(seed=seed)
    draw = np.random.default_rng(seed)
    over, succeeded = np.zeros((2, episodes), dtype=bool)
    while not over.all():
        if policy is None:
            actions = draw.uniform(-1.0, 1.0, env.action_space.shape)
        else:
            actions = policy(env.simulation.features() if privileged else observed)
        observed, _, terminated, truncated, info = env.step(actions)
        succeeded |= info["is_success"] & ~over
        over |= terminated | truncated
    return np.asarray(succeeded)
