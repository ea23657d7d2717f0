"""Simulated episodes of a learning task: what is drawn, steps, reward, end and observations.

A decision is one call of ``mujoco.rollout`` for all episodes, whose targets are ramps; everything
observed is in its sensors.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any

import mujoco
import numpy as np
from mujoco.rollout import Rollout

from softgrasp.envs.core import Bound, Decision, Flags, Observation, too_fast
from softgrasp.envs.task_model import (
    channel_matrix,
    half_height,
    object_of,
    task_model,
    with_object,
)
from softgrasp.envs.task_scenes import ARM_LENGTH, SECOND
from softgrasp.envs.tasks import MAX_SLIP, TOUCH, Features, Task, progress
from softgrasp.errors import DescriptionError, did_you_mean
from softgrasp.mechanics.transforms import Array
from softgrasp.model import names
from softgrasp.sim.engine import caught_warnings

PERIOD = 0.02
"""Time between two decisions [s]."""
STATE = mujoco.mjtState.mjSTATE_FULLPHYSICS
TIME = 1
"""Numbers of a state before the positions: the time."""
BOUND = 10.0
"""Bound of all observations, whose units make them of order 1."""
NOISE = {
    "joint": 2e-3, "target": 0.0, "object": 5e-3, "rotation": 2e-3, "force": 0.02, "goal": 0.0,
    "time": 0.0,
}  # fmt: skip
"""Standard deviation of sensor noise at ``noise=1`` of each part of the state: 2 mrad, 0.5 mm,
2 mm/s and, for small forces, 0.1 N."""
OPTIONS = ("goal", "density", "friction", "size", "shape")
FASTEST = 1e4
"""Largest norm of the velocities above which a motion has diverged."""


class TaskSimulation:
    """n independent episodes of a task, one model each."""

    def __init__(self, task: Task, count: int, threads: int, joints: bool, noise: float) -> None:
        """Compile the model and copy it for each episode.

        Args:
            task: The task.
            count: Number of episodes.
            threads: Number of threads that step them.
            joints: Whether each actuator is an action, instead of the task's channels.
            noise: Factor of the sensor noise.
        """
        self.task, self.count, self.noise = task, count, noise
        self.built = built = task_model(task.source(), task.extra)
        self._channels = self.matrix = channel_matrix(built, task.channels)
        if joints:
            rates = np.abs(self._channels).max(axis=0)
            self.matrix = np.diag(rates)[self._channels.any(axis=0)]
        self.channels = len(self.matrix)
        self.models = [copy(built.model) for _ in range(count)]
        self.datas = [mujoco.MjData(built.model) for _ in range(max(threads, 1))]
        self._rollout = Rollout(nthread=threads if threads > 1 else 0).rollout
        self.substeps = round(PERIOD / built.model.opt.timestep)
        self._ramp = np.arange(1, self.substeps + 1)[:, None] / self.substeps
        self.states = np.zeros((count, mujoco.mj_stateSize(built.model, STATE)))
        self.sensors = np.zeros((count, built.model.nsensordata))
        self._tangential = [np.roll(built.normal, shift, axis=0) for shift in (1, 2)]
        self.targets = np.tile(built.targets(built.qpos), (count, 1))
        self.goals = np.zeros((count, len(task.goal)))
        self.start, self.start_rotation = np.zeros((count, 3)), np.zeros((count, 4))
        self.decisions, self.held = np.zeros((2, count), dtype=np.int64)
        """Decisions so far, and since the goal has been reached without slip, (n,)."""
        self._held_at = np.zeros((count, 3))
        self.potential, self.reached = np.zeros((2, count))
        self.success = np.zeros(count, dtype=bool)
        self._noise: Array | None = None
        self._latest: Features | None = None
        self.generators = [np.random.default_rng(row) for row in range(count)]
        self.reset(0)
        first = self.observe([0], ("state", "tactile"))
        ones = {name: np.ones(part.shape[1], np.float32) for name, part in first.items()}
        self.bounds = {name: Bound(-BOUND * one, BOUND * one) for name, one in ones.items()}

    def features(self, rows: slice | list[int] = slice(None)) -> Features:
        """Return the quantities of episodes from their last sensors."""
        sensors, built = self.sensors[rows], self.built
        middle, half = 0.5 * (built.upper + built.lower), 0.5 * (built.upper - built.lower)
        parts = {name: sensors[:, part] for name, part in built.sensors.items()}
        force = sensors[:, built.contact] @ built.normal
        extra = [parts[name] for name in self.task.extra]
        return Features(
            joint=self.states[rows][:, TIME + built.joints],
            target=(self.targets[rows] - middle) / half,
            force=force,
            **{n: parts[n] for n in ("object", "palm", "relative", "rotation", "velocity")},
            extra=np.concatenate(extra, axis=1) if extra else np.zeros((len(sensors), 0)),
            goal=self.goals[rows],
            start=self.start[rows],
            start_rotation=self.start_rotation[rows],
            decision=self.decisions[rows],
            fingers=((force > TOUCH) @ built.fingers > 0.0).astype(float),
        )

    # Start of an episode

    def reset(
        self,
        row: int,
        generator: np.random.Generator | None = None,
        options: dict[str, Any] | None = None,
    ) -> None:
        """Draw an episode and prepare its start.

        Args:
            row: Index of the episode.
            generator: Draws it; None to go on with the last one.
            options: Values of ``OPTIONS`` that are not drawn.

        Raises:
            DescriptionError: An option does not exist or does not fit.
        """
        self.generators[row] = generator or self.generators[row]
        chosen = _checked_options(self.task, options or {})
        task, built, draw = self.task, self.built, self.generators[row]
        model, base, data = self.models[row], built.model, self.datas[0]
        qpos = built.qpos.copy()
        density = chosen.get("density", draw.uniform(*task.density))
        friction = chosen.get("friction", draw.uniform(*task.friction))
        size = chosen.get("size", draw.uniform(*task.size))
        shape = chosen.get(
            "shape", task.shapes[draw.integers(len(task.shapes))] if task.shapes else ""
        )
        goal = [draw.uniform(*bounds) for bounds in task.goal]
        self.goals[row] = chosen.get("goal", goal)
        offset = draw.uniform(-1.0, 1.0, size=(3, 2)) * [
            [task.position], [task.wrist_range], [task.moved_range],
        ]  # fmt: skip
        if task.shapes:
            with_object(model, data, object_of(shape, size, density))
        model.pair_friction[built.object_pairs] = base.pair_friction[built.object_pairs] * friction
        self._write_start(model, qpos, offset, shape, size, row)
        data.qpos[:], data.qvel[:], data.time = qpos, 0.0, 0.0
        self.targets[row] = built.targets(qpos)
        action, count = task.preparation
        self.decisions[row] = self.held[row] = 0
        self._begin(row, data)
        model.opt.gravity[:] = 0.0 if count or task.gravity_from else base.opt.gravity
        for _ in range(count):
            self.step_rows([row], np.array([action]) @ self._channels)
        if not task.gravity_from:
            model.opt.gravity[:] = base.opt.gravity
        features = self.features([row])
        self.start[row], self.start_rotation[row] = features.object[0], features.rotation[0]
        features = self.features([row])
        reached = task.measure(features)
        self.reached[row], self.potential[row] = reached[0], progress(task, features, reached)[0]
        self.success[row], self._latest = False, None

    def _write_start(
        self, model: mujoco.MjModel, qpos: Array, offset: Array, shape: str, size: float, row: int
    ) -> None:
        """Write the drawn positions into the start state and the model."""
        task, base, joints = self.task, self.built.model, self.built.addresses
        start = np.add(task.wrist, [*offset[1], 0.0])
        for name, value in zip(("wrist_x", "wrist_y", "wrist_z"), start, strict=True):
            for joint in {name, SECOND + name} & joints.keys():
                qpos[joints[joint]] = value
        if (first := joints.get(names.OBJECT)) is not None:
            qpos[first : first + 2] += offset[0]
            if task.table is not None:
                qpos[first + 2] = task.table + half_height(shape, size)
        for name in task.moved:
            if (first := joints.get(name)) is not None:
                qpos[first : first + 2] += offset[2]
            else:
                body = base.body(name).id
                model.body_pos[body, :2] = base.body_pos[body, :2] + offset[2]
        if task.follows:
            bending, direction = self.goals[row]
            arc = bending / ARM_LENGTH
            aside = (1.0 - np.cos(bending)) / arc
            model.body_pos[base.body(names.OBJECT).id] = [
                aside * np.cos(direction), aside * np.sin(direction), np.sin(bending) / arc,
            ]  # fmt: skip

    def _begin(self, row: int, data: mujoco.MjData) -> None:
        model = self.models[row]
        data.act[:], data.ctrl[:], data.qacc_warmstart[:] = 0.0, self.targets[row], 0.0
        mujoco.mj_forward(model, data)
        mujoco.mj_getState(model, data, self.states[row], STATE)
        self.sensors[row] = data.sensordata

    # Steps

    def step_rows(self, rows: list[int], speeds: Array) -> None:
        """Step some episodes for one decision with ramps of the targets.

        Args:
            rows: Indices of the episodes.
            speeds: Speeds of their targets, (n, nu).
        """
        before = self.targets[rows]
        after = np.clip(before + PERIOD * speeds, self.built.lower, self.built.upper)
        control = before[:, None] + self._ramp * (after - before)[:, None]
        models = [self.models[row] for row in rows]
        # arrays are made here, as the checks of rollout cost a tenth of the physics
        count, steps = len(rows), self.substeps
        states = np.empty((count, steps, self.states.shape[1]))
        sensors = np.empty((count, steps, self.sensors.shape[1]))
        with caught_warnings():
            self._rollout(
                models, self.datas, self.states[rows], control,
                control_spec=int(mujoco.mjtState.mjSTATE_CTRL), skip_checks=True, nstep=steps,
                initial_warmstart=np.zeros((count, self.built.model.nv)),
                state=states, sensordata=sensors,
            )  # fmt: skip
        self.states[rows], self.sensors[rows] = states[:, -1], sensors[:, -1]
        self.targets[rows] = after

    def step(self, actions: Array) -> Decision:
        """Step all episodes for one decision.

        Args:
            actions: Actions, clipped to −1…1, (n, na).
        """
        task, gravity = self.task, self.built.model.opt.gravity
        if task.gravity_from:
            loads = np.clip((self.decisions - task.gravity_from) / 10.0, 0.0, 1.0)
            for model, load in zip(self.models, loads, strict=True):
                model.opt.gravity[:] = load * gravity
        self.step_rows(list(range(self.count)), np.clip(actions, -1.0, 1.0) @ self.matrix)
        self.decisions += 1
        self._latest = features = self.features()
        self.reached = task.measure(features)
        after = progress(task, features, self.reached)
        success = self.update_success(features, self.reached)
        nq, nv = self.built.model.nq, self.built.model.nv
        failed = too_fast(self.states[:, TIME + nq : TIME + nq + nv], FASTEST)
        if not task.follows:
            failed |= features.height < task.lowest
        self.success = success & ~failed
        rewards = np.where(failed, 0.0, after - self.potential) + self.success
        self.potential = after
        over = self.success | failed
        return Decision(rewards, self.success, over, ~over & (self.decisions >= task.steps))

    def update_success(self, features: Features, fraction: Array) -> Flags:
        """Count decisions with a reached goal, without slip where it is held; return successes.

        Args:
            features: Quantities of all episodes.
            fraction: Fraction of the goal that is reached, (n,).
        """
        reached = fraction >= 1.0 - 1e-9
        if self.task.holds:
            reached &= features.fingers.sum(axis=1) >= 2
            moved = features.relative - self._held_at
            self.held[(moved * moved).sum(axis=1) > MAX_SLIP**2] = 0
        self.held = np.where(reached, self.held + 1, 0)
        begins = self.held == 1
        self._held_at[begins] = features.relative[begins]
        return self.held >= self.task.window

    def observe(self, rows: list[int], parts: Sequence[str]) -> Observation:
        """Return noisy observations of some episodes, (rows, size) each.

        Args:
            rows: Indices of the episodes.
            parts: ``tactile`` for forces besides the ``state``.
        """
        known = self._latest if len(rows) == self.count else None
        features = known or self.features(rows)
        observed = {"state": self._state(features, rows)}
        if "tactile" in parts:
            observed["tactile"] = self._touch(features, rows)
        return {name: part.astype(np.float32) for name, part in observed.items()}

    def info(self, row: int) -> dict[str, Any]:
        """Return success, the reached fraction of the goal, progress and goal of an episode."""
        return {
            "is_success": bool(self.success[row]),
            "goal_fraction": float(self.reached[row]),
            "progress": float(self.potential[row]),
            "goal": self.goals[row].tolist(),
        }

    def shown(self, row: int) -> tuple[mujoco.MjModel, Array, dict[int, Any]]:
        """Return model and positions of an episode, whose geoms keep their colours."""
        return self.models[row], self.states[row, TIME : TIME + self.built.model.nq], {}

    def _state(self, features: Features, rows: list[int]) -> Array:
        """Return noisy states, (n, ns), in units that make them of order 1."""
        task = self.task
        parts = {
            "joint": features.joint,
            "target": features.target,
            "object": np.concatenate(
                [features.relative - np.array(task.center), features.palm - features.start,
                 features.object - features.start, features.extra], axis=1
            ) * 10.0,
            "rotation": np.concatenate([features.rotation, features.velocity], axis=1),
            "force": np.tanh(features.force / 5.0),
            "goal": features.goal * (1.0 if task.follows else 10.0),
            "time": features.decision[:, None] / task.steps,
        }  # fmt: skip
        state = np.concatenate(list(parts.values()), axis=1)
        if self.noise:
            if self._noise is None:
                scales = [np.full(part.shape[1], NOISE[name]) for name, part in parts.items()]
                self._noise = self.noise * np.concatenate(scales)
            self._add_noise(state, self._noise, rows)
        return np.asarray(np.minimum(np.maximum(state, -BOUND), BOUND))

    def _touch(self, features: Features, rows: list[int]) -> Array:
        """Return noisy normal and friction forces of each body, (n, 2·nb) [5 N]."""
        forces = self.sensors[rows][:, self.built.contact]
        friction = np.hypot(*(forces @ matrix for matrix in self._tangential))
        touch = np.concatenate([features.force, friction], axis=1) / 5.0
        self._add_noise(touch, np.full(touch.shape[1], self.noise * NOISE["force"]), rows)
        return np.asarray(np.minimum(np.maximum(touch, -BOUND), BOUND))

    def _add_noise(self, values: Array, scales: Array, rows: list[int]) -> None:
        for index, row in enumerate(rows):
            values[index] += scales * self.generators[row].standard_normal(len(scales))


def _checked_options(task: Task, options: dict[str, Any]) -> dict[str, Any]:
    for name in options:
        if name not in OPTIONS:
            raise DescriptionError(
                f"expected an option of reset, found '{name}'; {did_you_mean(name, OPTIONS)}"
            )
    goal = options.get("goal")
    if goal is not None and np.shape(goal) != (len(task.goal),):
        raise DescriptionError(
            f"expected {len(task.goal)} numbers, found shape {np.shape(goal)}", field="goal"
        )
    return options
