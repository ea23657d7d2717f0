"""Train a policy for a learning task, and compare it with a scripted and a random policy.

A network is fitted to the scripted policy, then PPO of stable-baselines3 improves it on the reward
(extra ``learn``); ``--from-scratch`` leaves the first step out. Seeds are fixed. Written are the
weights (``assets/policies/TASK.npz``), which numpy alone evaluates, and scores and curve
(``docs/data/learning.json``).

    python benchmarks/learning.py TASK... [--steps N] [--from-scratch] [--evaluate]
    python benchmarks/learning.py --table [--episodes N] [--steps N]
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
from scripted_policies import SCRIPTS

from softgrasp.envs.policies import evaluate, load_policy, network, successes
from softgrasp.envs.task_env import TaskVectorEnv
from softgrasp.envs.tasks import TASKS

ROOT = Path(__file__).resolve().parents[1]
POLICIES, SCORES = ROOT / "assets" / "policies", ROOT / "docs" / "data" / "learning.json"
TABLE = SCORES.with_name("learning_table.json")
TRAINED = ("CloseAndHold", "Lift", "LiftAny", "InHandRotation", "Insertion", "Valve", "TwoHands")
"""Tasks on which PPO and SAC are tried from random weights for the table."""
EPISODES, COUNT, SEED = 100, 16, 7
"""Episodes of an evaluation, environments side by side, and the seed of training."""
EVALUATION_SEED = 10_000
HIDDEN = 64


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tasks", nargs="*", choices=[*TASKS, []])
    parser.add_argument("--steps", type=int, default=40_000)
    parser.add_argument("--from-scratch", action="store_true")
    parser.add_argument("--evaluate", action="store_true", help="evaluate without training")
    parser.add_argument("--table", action="store_true", help="evaluate all policies on all tasks")
    parser.add_argument("--episodes", type=int, default=EPISODES, help="of each cell of the table")
    options = parser.parse_args()
    if options.table:
        fill_table(options.tasks or list(TASKS), options.episodes, options.steps)
    for task in [] if options.table else options.tasks:
        if options.evaluate:
            scores = baselines(task, EPISODES)
            if (POLICIES / f"{task}.npz").exists():
                policy = load_policy(task)
                scores["learned"] = evaluate(task, policy, EPISODES, EVALUATION_SEED)
            store(task, scores)
        else:
            train(task, options.steps, from_scratch=options.from_scratch)


def train(task: str, steps: int, *, from_scratch: bool) -> None:
    """Train, evaluate and store a policy."""
    import torch
    from stable_baselines3 import PPO

    torch.set_num_threads(1)
    begin = time.process_time()
    env = training_env(task)
    model = PPO(
        "MlpPolicy", env, seed=SEED, n_steps=128, batch_size=256, n_epochs=5, gamma=0.98,
        learning_rate=3e-4 if from_scratch else 1e-4, clip_range=0.2 if from_scratch else 0.1,
        device="cpu",
        policy_kwargs={
            "net_arch": [HIDDEN, HIDDEN], "log_std_init": -0.5 if from_scratch else -2.0
        },
    )  # fmt: skip
    curve: list[tuple[int, float]] = []
    if not from_scratch:
        imitate(task, model)
    fitted = scored(task, model)
    curve.append((0, fitted))
    best, weights = fitted, weights_of(model)
    for part in range(4):
        model.learn(steps // 4, reset_num_timesteps=False)
        curve.append(((part + 1) * (steps // 4), scored(task, model)))
        if curve[-1][1] > best:
            best, weights = curve[-1][1], weights_of(model)
    if from_scratch:  # without help of the scripted policy; not stored
        score = evaluate(task, network(weights), EPISODES, EVALUATION_SEED)
        seconds = round(time.process_time() - begin)
        store(task, {"scratch": {"learned": score, "steps": steps, "cpu_seconds": seconds,
                                 "curve": curve}})  # fmt: skip
        return
    POLICIES.mkdir(exist_ok=True)
    np.savez_compressed(POLICIES / f"{task}.npz", **weights)
    seconds = time.process_time() - begin
    store(task, {
        "learned": evaluate(task, load_policy(task), EPISODES, EVALUATION_SEED),
        **baselines(task, EPISODES),
        "fitted": fitted, "steps": steps, "cpu_seconds": round(seconds), "curve": curve,
    })  # fmt: skip


def baselines(task: str, episodes: int) -> dict[str, float]:
    """Return the success rates of random actions and of the scripted policy."""
    script = SCRIPTS[task]
    return {
        "random": evaluate(task, None, episodes, EVALUATION_SEED),
        "scripted": evaluate(task, script, episodes, EVALUATION_SEED, privileged=True),
    }


def training_env(task: str, **options: Any) -> Any:
    """Return the vectorised environment with the interface of stable-baselines3."""
    from stable_baselines3.common.vec_env import VecMonitor

    from softgrasp.envs.sb3 import TaskVecEnv

    env = TaskVecEnv(task, COUNT, threads=1, **options)
    env.seed(SEED)
    return VecMonitor(env, info_keywords=("is_success",))


def imitate(task: str, model: Any, decisions: int = 20_000) -> None:
    """Fit the mean of a policy to the scripted one, on the states that noisy actions reach."""
    import torch

    env = TaskVectorEnv(task, COUNT, threads=1)
    draw = np.random.default_rng(SEED)
    observed, _ = env.reset(seed=SEED + 1000)
    states, actions = [], []
    for _ in range(decisions // COUNT):
        action = np.clip(SCRIPTS[task](env.simulation.features()), -1.0, 1.0)
        states.append(observed)
        actions.append(action)
        noise = draw.normal(0.0, 0.3, action.shape) * (draw.random((COUNT, 1)) < 0.5)
        observed, *_ = env.step(action + noise)
    inputs = torch.tensor(np.concatenate(states), dtype=torch.float32)
    outputs = torch.tensor(np.concatenate(actions), dtype=torch.float32)
    optimizer = torch.optim.Adam(model.policy.parameters(), lr=1e-3)
    generator = torch.Generator().manual_seed(SEED)
    for _ in range(30):
        for rows in torch.randperm(len(inputs), generator=generator).split(256):
            mean = model.policy.get_distribution(inputs[rows]).distribution.mean
            loss = ((mean - outputs[rows]) ** 2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


def weights_of(model: Any) -> dict[str, np.ndarray]:
    """Return the weights of the layers of the mean action."""
    layers = [*model.policy.mlp_extractor.policy_net, model.policy.action_net]
    linear = [layer for layer in layers if hasattr(layer, "weight")]
    return {
        f"{name}{index}": getattr(layer, name).detach().numpy().copy()
        for index, layer in enumerate(linear)
        for name in ("weight", "bias")
    }


def scored(task: str, model: Any) -> float:
    """Return the success rate of a policy in training, of 32 episodes."""
    return evaluate(task, network(weights_of(model)), 32, EVALUATION_SEED // 2)


def store(task: str, scores: dict[str, Any]) -> None:
    """Write the scores of one task beside those of the others."""
    known = json.loads(SCORES.read_text("utf-8")) if SCORES.exists() else {}
    known[task] = known.get(task, {}) | scores
    SCORES.parent.mkdir(exist_ok=True)
    SCORES.write_text(json.dumps({name: known[name] for name in TASKS if name in known}, indent=1))
    print(f"{task}: {json.dumps(scores)}", flush=True)


def fill_table(tasks: list[str], episodes: int, steps: int) -> None:
    """Write the success rates of constants, random actions, scripts, PPO and SAC, and print them.

    A constant is the best of -1, 0 and 1 for all channels, each with a third of the episodes.
    """
    known = json.loads(TABLE.read_text("utf-8")) if TABLE.exists() else {}
    for task in tasks:
        begin, count = time.process_time(), -(-episodes // 3)
        channels = TaskVectorEnv(task).simulation.channels
        actions = np.repeat([-1.0, 0.0, 1.0], count)[:, None] * np.ones(channels)
        solved = successes(task, lambda _, held=actions: held, len(actions), EVALUATION_SEED)
        known[task] = known.get(task, {}) | {
            "episodes": episodes,
            "constant": float(solved.reshape(3, -1).mean(axis=1).max()),
            **baselines(task, episodes),
        }
        if task in TRAINED and steps:
            known[task] |= {"steps": steps} | {
                name: learned(task, name, episodes, steps) for name in ("PPO", "SAC")
            }
        known[task]["cpu_seconds"] = round(time.process_time() - begin)
        ordered = {name: known[name] for name in TASKS if name in known}
        TABLE.write_text(json.dumps(ordered, indent=1) + "\n", "utf-8")
    print(
        "| task | constant | random | scripted | PPO | SAC | episodes |\n"
        "|---|---|---|---|---|---|---|"
    )
    for task, row in known.items():
        cells = [
            f"{row[name]:.0%}" if name in row else "not run"
            for name in ("constant", "random", "scripted", "PPO", "SAC")
        ]
        print(f"| `{task}` | {' | '.join(cells)} | {row['episodes']} |")


def learned(task: str, name: str, episodes: int, steps: int) -> float:
    """Return the success rate of PPO or SAC after some decisions from random weights."""
    import stable_baselines3
    import torch

    torch.set_num_threads(1)
    further = {"n_steps": 128, "gamma": 0.98} if name == "PPO" else {"train_freq": 4}
    model = getattr(stable_baselines3, name)(
        "MlpPolicy", training_env(task), seed=SEED, device="cpu", **further
    )
    model.learn(steps)
    return evaluate(
        task, lambda seen: model.predict(seen, deterministic=True)[0], episodes, EVALUATION_SEED
    )


if __name__ == "__main__":
    main()
