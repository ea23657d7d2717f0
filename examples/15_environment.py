"""A grasp as a Gymnasium environment: a hand-written policy closes until three fingers touch."""

import sys

import numpy as np

import softgrasp as sg

try:
    env = sg.make_env(
        "four_finger_sphere",
        noise=sg.description.PoseNoise(position=1e-3),  # of the ball's start, drawn from the seed
        shaping=0.1,
    )
except sg.BackendUnavailable as missing:
    sys.exit(print(missing))

bodies = env.task.bodies
held, episodes = 0, 5
for seed in range(episodes):
    observation, info = env.reset(seed=seed)
    gain, over = 0.0, False
    while not over:
        touching = [body for body, on in zip(bodies, observation["in_contact"], strict=True) if on]
        action = np.full(env.action_space.shape, 1.0, dtype=np.float32)
        if len(touching) >= 3:
            action *= 0.2 * (observation["normal_force"].max() < 8.0)  # squeeze gently
        observation, reward, terminated, truncated, info = env.step(action)
        gain, over = gain + reward, terminated or truncated
    held += info["is_success"]
    forces = observation["normal_force"][observation["in_contact"] > 0].round(1)
    print(f"seed {seed}: return {gain:.2f}, dropped {info['drop_m'] * 1e6:.0f} µm, {forces} N")
print(f"held {held} of {episodes}")
