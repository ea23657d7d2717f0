"""Environments of the learning tasks for Gymnasium, alone (``TaskEnv``) or n at once.

A decision is one call of ``mujoco.rollout`` for all episodes, whose targets are ramps; everything
observed is in its sensors. Episode i of ``TaskVectorEnv`` equals a ``TaskEnv`` with the seed plus i
bit for bit. Importing this module registers ``softgrasp/<Task>-v0``.
"""

from __future__ import annotations

from copy import copy
from typing import Any

import mujoco
import numpy as np
from mujoco.rollout import Rollout
from numpy.typing import NDArray

from softgrasp.envs.task_model import (
    channel_matrix,
    half_height,
    object_of,
    task_model,
    with_object,
)
from softgrasp.envs.task_scenes import ARM_LENGTH, SECOND
from softgrasp.envs.tasks import MAX_SLIP, TASKS, TOUCH, Features, Task, progress
from softgrasp.errors import DescriptionError, SimulationError, did_you_mean, missing_library
from softgrasp.mechanics.transforms import Array
from softgrasp.model import names
from softgrasp.rendering.camera import Camera
from softgrasp.rendering.renderer import open_renderer
from softgrasp.sim.engine import caught_warnings

try:
    import gymnasium
    from gymnasium import spaces
    from gymnasium.vector import AutoresetMode, VectorEnv
    from gymnasium.vector.utils import batch_space
except ModuleNotFoundError as error:
    raise missing_library(error) from None

PERIOD = 0.02
"""Time between two decisions [s]."""
STATE = mujoco.mjtState.mjSTATE_FULLPHYSICS
BOUND = 10.0
"""Bound of all observations, whose units make them of order 1."""
OBSERVATIONS = ("state", "tactile", "camera")
CAMERA_SIZE, IMAGE_SIZE = (64, 64), (480, 360)
"""Width and height of camera observations, and of rendered images [pixels]."""
NOISE = {
    "joint": 2e-3, "target": 0.0, "object": 5e-3, "rotation": 2e-3, "force": 0.02, "goal": 0.0,
    "time": 0.0,
}  # fmt: skip
"""Standard deviation of sensor noise at ``noise=1`` of each part of the state: 2 mrad, 0.5 mm,
2 mm/s and, for small forces, 0.1 N."""
CAMERA = Camera((0.0, 0.0, -0.06), 0.6, 50.0, -20.0)
FAR_CAMERA = Camera((0.0, 0.0, 0.4), 2.6, 50.0, -20.0)
OPTIONS = ("goal", "density", "friction", "size", "shape")
FASTEST = 1e4
"""Largest norm of the velocities above which a motion has diverged."""
Action = NDArray[np.float32]


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
        channels = task.channels
        self._middle, self._half = (
            0.5 * (built.upper + built.lower),
            0.5 * (built.upper - built.lower),
        )
        self._channels = channel_matrix(built, channels)
        if joints:
            moved = self._channels.any(axis=0)
            rates = np.abs(self._channels).max(axis=0)
            channels = tuple(
                f"{built.model.actuator(i).name}@{float(rates[i])!r}" for i in np.flatnonzero(moved)
            )
        self.matrix = channel_matrix(built, channels)
        self.models = [copy(built.model) for _ in range(count)]
        self.datas = [mujoco.MjData(built.model) for _ in range(max(threads, 1))]
        self._rollout = Rollout(nthread=threads if threads > 1 else 0).rollout
        self.substeps = round(PERIOD / built.model.opt.timestep)
        self.states = np.zeros((count, mujoco.mj_stateSize(built.model, STATE)))
        self.sensors = np.zeros((count, built.model.nsensordata))
        fingers = np.arange(built.finger.max(initial=-1) + 1)
        self._of_finger = (built.finger[:, None] == fingers).astype(float)
        self._tangential = [np.roll(built.normal, shift, axis=0) for shift in (1, 2)]
        self.targets = np.tile(built.targets, (count, 1))
        self.goals = np.zeros((count, len(task.goal)))
        self.start = np.zeros((count, 3))
        self.start_rotation = np.zeros((count, 4))
        self.decisions = np.zeros(count, dtype=np.int64)
        self.generators = [np.random.default_rng() for _ in range(count)]
        self.held = np.zeros(count, dtype=np.int64)
        """Decisions since which the goal has been reached without slip, (n,)."""
        self._held_at = np.zeros((count, 3))
        self.potential = np.zeros(count)
        self.reached = np.zeros(count)
        self._noise: Array | None = None
        self._ramp = np.arange(1, self.substeps + 1)[:, None] / self.substeps

    def features(self, rows: slice | list[int] = slice(None)) -> Features:
        """Return the quantities of episodes from their last sensors."""
        sensors, built = self.sensors[rows], self.built
        parts = {name: sensors[:, part] for name, part in built.sensors.items()}
        forces = sensors[:, built.contact]
        extra = [parts[name] for name in self.task.extra]
        first = 1  # time is the first number of a state
        return Features(
            joint=self.states[rows][:, first + built.joints],
            target=(self.targets[rows] - self._middle) / self._half,
            force=forces @ built.normal,
            **{n: parts[n] for n in ("object", "palm", "relative", "rotation", "velocity")},
            extra=np.concatenate(extra, axis=1) if extra else np.zeros((len(sensors), 0)),
            goal=self.goals[rows],
            start=self.start[rows],
            start_rotation=self.start_rotation[rows],
            decision=self.decisions[rows],
            fingers=((forces @ built.normal > TOUCH) @ self._of_finger > 0.0).astype(float),
        )

    # Start of an episode

    def reset(self, row: int, options: dict[str, Any] | None = None) -> None:
        """Draw an episode and prepare its start.

        Args:
            row: Index of the episode.
            options: Values of ``OPTIONS`` that are not drawn.
        """
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
        self.targets[row] = built.targets
        for index in range(model.nu):
            if model.actuator(index).name.removeprefix("second_") in (
                "wrist_x",
                "wrist_y",
                "wrist_z",
            ):
                self.targets[row, index] = qpos[model.jnt_qposadr[model.actuator_trnid[index, 0]]]
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
        self.potential[row] = progress(task, features, task.measure(features))[0]

    def _write_start(
        self, model: mujoco.MjModel, qpos: Array, offset: Array, shape: str, size: float, row: int
    ) -> None:
        """Write the drawn positions into the start state and the model."""
        task, base = self.task, self.built.model
        for name, value in zip(("wrist_x", "wrist_y", "wrist_z"), task.wrist, strict=True):
            shift = dict(zip(("wrist_x", "wrist_y"), offset[1], strict=True)).get(name, 0.0)
            for joint in (name, SECOND + name):
                if mujoco.mj_name2id(base, mujoco.mjtObj.mjOBJ_JOINT, joint) >= 0:
                    qpos[base.joint(joint).qposadr[0]] = value + shift
        body = base.body(names.OBJECT)
        if body.jntnum[0] and base.jnt_type[body.jntadr[0]] == mujoco.mjtJoint.mjJNT_FREE:
            first = base.jnt_qposadr[body.jntadr[0]]
            qpos[first : first + 2] += offset[0]
            if task.table is not None:
                qpos[first + 2] = task.table + half_height(shape, size)
        for name in task.moved:
            moved = base.body(name)
            if moved.jntnum[0]:
                first = base.jnt_qposadr[moved.jntadr[0]]
                qpos[first : first + 2] += offset[2]
            else:
                model.body_pos[moved.id, :2] = base.body_pos[moved.id, :2] + offset[2]
        if task.follows:
            bending, direction = self.goals[row]
            arc = bending / ARM_LENGTH
            aside = (1.0 - np.cos(bending)) / arc
            model.body_pos[body.id] = [
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

    def step(self, actions: Array) -> tuple[Array, NDArray[np.bool_], NDArray[np.bool_], Features]:
        """Step all episodes for one decision.

        Args:
            actions: Actions, clipped to −1…1, (n, na).

        Returns:
            Rewards, successes, failures, each (n,), and the quantities of the episodes.
        """
        task, gravity = self.task, self.built.model.opt.gravity
        if task.gravity_from:
            loads = np.clip((self.decisions - task.gravity_from) / 10.0, 0.0, 1.0)
            for model, load in zip(self.models, loads, strict=True):
                model.opt.gravity[:] = load * gravity
        self.step_rows(list(range(self.count)), np.clip(actions, -1.0, 1.0) @ self.matrix)
        self.decisions += 1
        features = self.features()
        self.reached = task.measure(features)
        after = progress(task, features, self.reached)
        success = self.update_success(features, self.reached)
        nq = self.built.model.nq
        speeds = self.states[:, 1 + nq : 1 + nq + self.built.model.nv]
        # written so that a speed that is not a number counts as too fast
        failed = ~((speeds * speeds).sum(axis=1) < FASTEST**2)
        if not task.follows:
            failed |= features.height < task.lowest
        success &= ~failed
        rewards = np.where(failed, 0.0, after - self.potential) + success
        self.potential = after
        return rewards, success, failed, features

    def update_success(self, features: Features, fraction: Array) -> NDArray[np.bool_]:
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

    def observe(self, features: Features, rows: list[int]) -> Array:
        """Return noisy states, (n, ns), in units that make them of order 1.

        Args:
            features: Quantities of the episodes.
            rows: Their indices.
        """
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

    def touch(self, features: Features, rows: list[int]) -> Array:
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


class _TaskSpaces:
    """Spaces and observations that single and vector environments share."""

    def _set_up(
        self, task: str, count: int, threads: int, observations: tuple[str, ...],
        actions: str, noise: float, render_mode: str | None,
    ) -> None:  # fmt: skip
        if task not in TASKS:
            raise DescriptionError(f"expected a task, found '{task}'; {did_you_mean(task, TASKS)}")
        for name in observations:
            if name not in OBSERVATIONS:
                hint = did_you_mean(name, OBSERVATIONS)
                raise DescriptionError(f"expected an observation, found '{name}'; {hint}",
                                       field="observations")  # fmt: skip
        if actions not in ("channels", "joints"):
            raise DescriptionError(
                f"expected 'channels' or 'joints', found '{actions}'", field="actions"
            )
        self.task, self.render_mode = TASKS[task], render_mode
        self.simulation = TaskSimulation(self.task, count, threads, actions == "joints", noise)
        self._parts = observations
        self._renderers: dict[tuple[int, int], Any] = {}
        simulation = self.simulation
        for row in range(count):
            simulation.generators[row] = np.random.default_rng(row)
        simulation.reset(0)
        features = simulation.features([0])
        state, tactile = simulation.observe(features, [0]), simulation.touch(features, [0])
        sizes = {"state": state.shape[1], "tactile": tactile.shape[1]}
        boxes: dict[str, spaces.Space[Any]] = {
            name: spaces.Box(-BOUND, BOUND, (size,), np.float32) for name, size in sizes.items()
        }
        boxes["camera"] = spaces.Box(0, 255, (*CAMERA_SIZE[::-1], 3), np.uint8)
        self._space: spaces.Space[Any] = spaces.Dict({name: boxes[name] for name in observations})
        if observations == ("state",):
            self._space = boxes["state"]
        channels = len(simulation.matrix)
        self._actions = spaces.Box(-1.0, 1.0, (channels,), np.float32)

    def _observed(self, rows: list[int], features: Features) -> Any:
        state = self.simulation.observe(features, rows).astype(np.float32)
        if self._parts == ("state",):
            return state
        parts: dict[str, NDArray[Any]] = {"state": state}
        if "tactile" in self._parts:
            parts["tactile"] = self.simulation.touch(features, rows).astype(np.float32)
        if "camera" in self._parts:
            parts["camera"] = np.stack([self._image(row, CAMERA_SIZE) for row in rows])
        return {name: parts[name] for name in self._parts}

    def _close_renderers(self) -> None:
        for drawer, _ in self._renderers.values():
            drawer.close()
        self._renderers.clear()

    def _image(self, row: int, size: tuple[int, int]) -> NDArray[np.uint8]:
        simulation = self.simulation
        if size not in self._renderers:
            model = simulation.models[0]
            self._renderers[size] = open_renderer(model, *size, "auto"), mujoco.MjData(model)
        drawer, data = self._renderers[size]
        mujoco.mj_setState(simulation.models[row], data, simulation.states[row], STATE)
        mujoco.mj_kinematics(simulation.models[row], data)
        mujoco.mj_comPos(simulation.models[row], data)
        mujoco.mj_camlight(simulation.models[row], data)
        camera = FAR_CAMERA if self.task.follows else CAMERA
        return np.array(drawer.draw(data, camera, (), {}))


class TaskEnv(_TaskSpaces, gymnasium.Env[Any, Action]):
    """One learning task; see ``docs/learning.md``."""

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"], "render_fps": 50}  # noqa: RUF012

    def __init__(
        self, task: str, *, observations: tuple[str, ...] = ("state",), actions: str = "channels",
        noise: float = 1.0, render_mode: str | None = None,
    ) -> None:  # fmt: skip
        """Compile a task.

        Args:
            task: Its name, a key of ``TASKS``.
            observations: Some of ``state``, ``tactile`` and ``camera``; a Dict of more than one.
            actions: ``channels`` of the task, or each of their actuators alone (``joints``).
            noise: Factor of the sensor noise; 0 for none.
            render_mode: ``rgb_array`` or None.

        Raises:
            DescriptionError: There is no such task, observation or kind of actions.
        """
        self._set_up(task, 1, 0, tuple(observations), actions, noise, render_mode)
        self.observation_space, self.action_space = self._space, self._actions
        self._over = True

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin an episode.

        Args:
            seed: Seed of all that is drawn; the same seed gives the same bits.
            options: ``goal``, ``density``, ``friction``, ``size`` or ``shape`` to be used.

        Raises:
            DescriptionError: An option does not exist or does not fit.
        """
        super().reset(seed=seed)
        self.simulation.generators[0] = self.np_random
        self.simulation.reset(0, options)
        self._over = False
        features = self.simulation.features()
        self.simulation.reached = self.task.measure(features)
        return _first(self._observed([0], features)), _info(self.simulation, features, False)

    def step(self, action: Action) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Simulate one decision.

        Args:
            action: One number in −1…1 per channel.

        Raises:
            DescriptionError: The action has another shape, or contains NaN.
            SimulationError: There is no running episode.
        """
        if self._over:
            raise SimulationError("expected an episode to go on, found none: call reset()")
        values = np.asarray(action, dtype=float)
        if values.shape != self._actions.shape or not np.isfinite(values).all():
            raise DescriptionError(
                f"expected {self._actions.shape[0]} finite numbers, found {values.tolist()}",
                field="action",
            )
        rewards, success, failed, features = self.simulation.step(values[None])
        terminated = bool(success[0] or failed[0])
        truncated = not terminated and int(self.simulation.decisions[0]) >= self.task.steps
        self._over = terminated or truncated
        info = _info(self.simulation, features, bool(success[0]))
        observation = _first(self._observed([0], features))
        return observation, float(rewards[0]), terminated, truncated, info

    def render(self) -> Any:
        """Return an image of the episode (height, width, 3); None without a render mode."""
        return None if self.render_mode is None else self._image(0, IMAGE_SIZE)

    def close(self) -> None:
        """Release the renderers."""
        self._close_renderers()


class TaskVectorEnv(_TaskSpaces, VectorEnv[Any, Any, Any]):
    """n episodes of a task, stepped together; an episode that ends begins anew in the same step."""

    metadata: dict[str, Any] = {  # noqa: RUF012
        "render_modes": ["rgb_array"], "render_fps": 50, "autoreset_mode": AutoresetMode.SAME_STEP,
    }  # fmt: skip

    def __init__(
        self, task: str, num_envs: int = 1, *, threads: int = 2,
        observations: tuple[str, ...] = ("state",), actions: str = "channels", noise: float = 1.0,
        render_mode: str | None = None,
    ) -> None:  # fmt: skip
        """Compile a task; further arguments as for ``TaskEnv``.

        Args:
            task: Its name.
            num_envs: Number of episodes.
            threads: Number of threads.
            observations: As for ``TaskEnv``.
            actions: As for ``TaskEnv``.
            noise: As for ``TaskEnv``.
            render_mode: As for ``TaskEnv``.
        """
        self.num_envs = num_envs
        threads = min(threads, num_envs)
        self._set_up(task, num_envs, threads, tuple(observations), actions, noise, render_mode)
        self.single_observation_space, self.single_action_space = self._space, self._actions
        self.observation_space = batch_space(self._space, num_envs)
        self.action_space = batch_space(self._actions, num_envs)

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin all episodes; episode i has the seed plus i."""
        if not isinstance(seed, list):
            seed = [None if seed is None else seed + row for row in range(self.num_envs)]
        for row, one in enumerate(seed):
            if one is not None:
                self.simulation.generators[row] = gymnasium.utils.seeding.np_random(one)[0]
            self.simulation.reset(row, options)
        rows = list(range(self.num_envs))
        return self._observed(rows, self.simulation.features()), {}

    def close_extras(self, **_: Any) -> None:
        """Release the renderers."""
        self._close_renderers()

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Simulate one decision of all episodes; ``final_obs`` and ``final_info`` of ended ones."""
        simulation = self.simulation
        rewards, success, failed, features = simulation.step(np.asarray(actions, dtype=float))
        terminated = success | failed
        truncated = ~terminated & (simulation.decisions >= self.task.steps)
        rows = list(range(self.num_envs))
        observed = self._observed(rows, features)
        info: dict[str, Any] = {"is_success": success}
        over = np.flatnonzero(terminated | truncated).tolist()
        if over:
            info["final_obs"] = _copied(observed)
            info["final_info"] = {"is_success": success.copy()}
            info["_final_info"] = info["_final_obs"] = terminated | truncated
            for row in over:
                simulation.reset(row)
            fresh = self._observed(over, simulation.features(over))
            if isinstance(observed, dict):
                for name in observed:
                    observed[name][over] = fresh[name]
            else:
                observed[over] = fresh
        return observed, rewards, terminated, truncated, info


def _copied(observed: Any) -> Any:
    if isinstance(observed, dict):
        return {name: part.copy() for name, part in observed.items()}
    return observed.copy()


def _first(observed: Any) -> Any:
    if isinstance(observed, dict):
        return {name: part[0] for name, part in observed.items()}
    return observed[0]


def _info(simulation: TaskSimulation, features: Features, success: bool) -> dict[str, Any]:
    return {
        "is_success": success,
        "goal_fraction": float(simulation.reached[0]),
        "progress": float(simulation.potential[0]),
        "goal": features.goal[0].tolist(),
    }


for _task in TASKS.values():
    _name = f"softgrasp/{_task.name}-v0"
    if _name not in gymnasium.registry:
        gymnasium.register(
            id=_name,
            entry_point=f"{__name__}:TaskEnv",
            vector_entry_point=f"{__name__}:TaskVectorEnv",
            kwargs={"task": _task.name},
        )
