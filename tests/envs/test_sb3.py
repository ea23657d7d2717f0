"""The vector environment of stable-baselines3: rules of its interface, seeds, hindsight replay."""

from typing import Any

import numpy as np
import pytest

pytest.importorskip("stable_baselines3", reason="stable-baselines3 is the extra 'learn'")

from stable_baselines3 import PPO, SAC, HerReplayBuffer
from stable_baselines3.common.env_checker import check_env

from softgrasp.envs.sb3 import TaskVecEnv
from softgrasp.envs.task_env import TaskEnv


@pytest.mark.parametrize("goals", [False, True])
def test_a_task_follows_the_rules_of_stable_baselines(goals):
    check_env(TaskEnv("Lift", goals=goals), skip_render_check=True)


def test_equal_seeds_begin_equal_episodes_and_ends_are_reported():
    env, first = TaskVecEnv("CloseAndHold", 3), []
    for _ in range(2):
        env.seed(5)
        first.append(env.reset())
    np.testing.assert_array_equal(*first)
    steps, infos = 0, [{}]
    ends = np.zeros(3, dtype=bool)
    while not ends.any():
        observed, rewards, ends, infos = env.step(np.zeros((3, 4)))
        steps += 1
    row = int(np.flatnonzero(ends)[0])
    assert rewards.dtype == np.float32
    assert infos[row]["terminal_observation"].shape == observed[row].shape
    assert not np.array_equal(infos[row]["terminal_observation"], observed[row])
    assert infos[row]["TimeLimit.truncated"] == (steps == 100)
    assert not infos[row]["is_success"]


def test_ppo_takes_its_steps():
    model = PPO("MlpPolicy", TaskVecEnv("CloseAndHold", 4), n_steps=16, batch_size=32, seed=0)
    before = model.policy.action_net.weight.detach().numpy().copy()
    model.learn(64)
    assert model.num_timesteps == 64
    assert not np.array_equal(before, model.policy.action_net.weight.detach().numpy())


def test_hindsight_replay_relabels_goals_by_the_reward_of_the_task():
    """Every sample of the buffer has the reward of its own goal, and some relabelled ones are 0."""
    model = SAC(
        "MultiInputPolicy", TaskVecEnv("Valve", 4, goals=True), seed=0, learning_starts=700,
        replay_buffer_class=HerReplayBuffer, replay_buffer_kwargs={"n_sampled_goal": 4},
    )  # fmt: skip
    model.learn(640)
    buffer: Any = model.replay_buffer
    sample = buffer.sample(256)
    reached = [sample.next_observations[part].numpy() for part in ("achieved_goal", "desired_goal")]
    rewards = sample.rewards.numpy()[:, 0]
    np.testing.assert_array_equal(rewards, model.env.env_method("compute_reward", *reached, [])[0])
    assert 0.0 in rewards
