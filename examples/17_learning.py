"""Learn two closing rates of a hand in a Gymnasium environment, by the cross-entropy method."""

import sys

import numpy as np

import softgrasp as sg

try:
    env = sg.make_env("four_finger_sphere", closing_time=0.6, shaping=0.5)
except sg.BackendUnavailable as missing:
    sys.exit(print(missing))

GENERATIONS = 6
rng = np.random.default_rng(0)
mean, spread = np.zeros(2), np.ones(2)  # closing rates before and after three contacts


def episode(rates):
    """Run a policy; return the sum of its rewards and whether the ball was held."""
    observation, _ = env.reset(seed=0)
    total, over = 0.0, False
    while not over:
        rate = rates[1] if observation["in_contact"].sum() >= 3 else rates[0]
        action = np.full(env.action_space.shape, rate, dtype=np.float32).clip(-1, 1)
        observation, reward, terminated, truncated, info = env.step(action)
        total, over = total + reward, terminated or truncated
    return total, info["is_success"]


for generation in range(GENERATIONS):  # cross-entropy method: the best three of ten
    policies = rng.normal(mean, spread, (10, 2))
    returns, held = zip(*map(episode, policies), strict=True)
    best = policies[np.argsort(returns)[-3:]]
    mean, spread = best.mean(axis=0), best.std(axis=0) + 0.05
    print(f"generation {generation}: {sum(held)} of {len(held)} held, rates {mean.round(2)}")
