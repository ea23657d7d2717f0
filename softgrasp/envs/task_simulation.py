"""Simulated episodes of a learning task: what is drawn, steps, reward, end and observations.

An episode has a model of its own, which its start changes within what ``TaskSimulation`` draws. A
``TaskPhysics``, MuJoCo on threads or one of an extension, steps all episodes for one decision, in
which the controls are ramps; everything that is observed is in the sensors of its last step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from typing import Any, Literal, Protocol

import mujoco
import numpy as np
from mujoco.rollout import Rollout
from numpy.typing import NDArray

from softgrasp.description.base import Count, Description, NonNegative, Number, Positive
from softgrasp.envs.core import Appearance, Bound, Decision, Flags, Observation, too_fast
from softgrasp.envs.task_model import SHAPES, Source, channel_matrix, put_object, task_model
from softgrasp.envs.task_scenes import ARM_LENGTH, SECOND
from softgrasp.envs.tasks import MAX_SLIP, TOUCH, Features, Task, progress
from softgrasp.errors import DescriptionError, did_you_mean
from softgrasp.extensions import EPISODE_ENGINES
from softgrasp.mechanics.transforms import Array
from softgrasp.model import names
from softgrasp.sim.control_state import caught_warnings

STATE = mujoco.mjtState.mjSTATE_FULLPHYSICS
CONTROL = int(mujoco.mjtState.mjSTATE_CTRL)


class TaskPhysics(Protocol):
    """n episodes in an engine."""

    states: Array
    """Full physics states of MuJoCo after the last step, (n, ns)."""
    sensors: Array
    """Sensors of the last step, (n, nsensordata)."""
    kinds: int | None
    """Number of kinds of shapes among which episode i always has the kind i modulo this; None where
    every episode may have any."""

    def model(self, row: int) -> mujoco.MjModel:
        """Return the model of an episode; to be changed before ``begin`` only."""

    def begin(self, row: int, model: mujoco.MjModel, data: mujoco.MjData) -> None:
        """Put an episode into the state of a forward pass of its model."""

    def prepare(self, row: int, before: Array, after: Array, gravity: Array) -> None:
        """Step one episode for a decision before it begins; arguments as of ``step``, one row."""

    def step(self, before: Array, after: Array, gravity: Array) -> None:
        """Step all episodes for one decision.

        Args:
            before: Controls at its start, (n, nu).
            after: Controls at its end, which are reached at constant rates, (n, nu).
            gravity: Gravity during it, (n, 3) [m/s²].
        """


class MujocoPhysics:
    """Episodes in MuJoCo; one call of ``rollout`` simulates a decision of all of them."""

    kinds: int | None = None

    def __init__(self, base: mujoco.MjModel, count: int, substeps: int, threads: int) -> None:
        """Copy the model for each episode.

        Args:
            base: The model.
            count: Number of episodes.
            substeps: Steps of a decision.
            threads: Number of threads that step them.
        """
        self._models = [copy(base) for _ in range(count)]
        self._datas = [mujoco.MjData(base) for _ in range(max(threads, 1))]
        self._rollout = Rollout(nthread=threads if threads > 1 else 0).rollout
        self._ramp = np.arange(1, substeps + 1)[:, None] / substeps
        self.states = np.zeros((count, mujoco.mj_stateSize(base, STATE)))
        self.sensors = np.zeros((count, base.nsensordata))

    def model(self, row: int) -> mujoco.MjModel:
        """Return the model of an episode."""
        return self._models[row]

    def begin(self, row: int, model: mujoco.MjModel, data: mujoco.MjData) -> None:
        """Put an episode into the state of a forward pass; see ``TaskPhysics``."""
        mujoco.mj_getState(model, data, self.states[row], STATE)
        self.sensors[row] = data.sensordata

    def prepare(self, row: int, before: Array, after: Array, gravity: Array) -> None:
        """Step one episode for a decision; see ``TaskPhysics``."""
        self._models[row].opt.gravity[:] = gravity
        self._step([row], before[None], after[None])

    def step(self, before: Array, after: Array, gravity: Array) -> None:
        """Step all episodes for one decision; see ``TaskPhysics``."""
        for model, load in zip(self._models, gravity, strict=True):
            model.opt.gravity[:] = load
        self._step(list(range(len(self._models))), before, after)

    def _step(self, rows: list[int], before: Array, after: Array) -> None:
        # arrays are made here, as the checks of rollout cost a tenth of the physics
        count, steps = len(rows), len(self._ramp)
        states = np.empty((count, steps, self.states.shape[1]))
        sensors = np.empty((count, steps, self.sensors.shape[1]))
        models = [self._models[row] for row in rows]
        with caught_warnings():
            self._rollout(
                models, self._datas, self.states[rows],
                before[:, None] + self._ramp * (after - before)[:, None],
                control_spec=CONTROL, skip_checks=True, nstep=steps,
                initial_warmstart=np.zeros((count, models[0].nv)),
                state=states, sensordata=sensors,
            )  # fmt: skip
        self.states[rows], self.sensors[rows] = states[:, -1], sensors[:, -1]


PERIOD = 0.02
"""Time between two decisions [s]."""
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
GOAL_PARTS = ("observation", "achieved_goal", "desired_goal")
"""Parts of an observation of goal environments."""
PUSHED_FROM = 0.01
"""Height above its start from which on an object is pushed [m]."""
FASTEST = 1e4
"""Largest norm of the velocities above which a motion has diverged."""


class TaskSettings(Description):
    """Episodes, observations, actions and engine of the environments of a task."""

    num_envs: Count = 1
    """Number of episodes."""
    observations: tuple[
        Literal["state", "tactile", "rgb", "depth", "segmentation", "points"], ...
    ] = ("state",)
    """Parts of an observation, which is a Dict unless ``state`` alone."""
    actions: Literal["channels", "joints"] = "channels"
    """``channels`` of the task, or each of their actuators alone."""
    noise: NonNegative = 1.0
    """Factor of the sensor noise."""
    engine: str = "mujoco"
    """``mujoco``, or ``warp`` for thousands of episodes on a GPU (extra ``gpu``)."""
    goals: bool = False
    """Whether it is a goal environment: observations are ``observation``, ``achieved_goal`` and
    ``desired_goal``, the reward is that of ``compute_reward``."""
    visuals: bool = False
    """Whether colours, light and camera of images are drawn for each episode."""


class ResetOptions(Description):
    """Values of an episode that are used instead of drawn ones."""

    goal: tuple[Number, ...] | None = None
    density: Positive | None = None
    """[kg/m³]"""
    friction: Positive | None = None
    """Factor of the friction of the object [–]."""
    size: Positive | None = None
    """Half-width of the object [m]."""
    shape: str | None = None


class TaskSimulation:
    """n independent episodes of a task."""

    def __init__(self, task: Task, settings: TaskSettings, threads: int) -> None:
        """Compile the model and put its episodes into the engine.

        Args:
            task: The task.
            settings: Number of episodes, observations, actions and engine.
            threads: Number of threads that step them.

        Raises:
            DescriptionError: There is no such engine, or the task has no goal environment.
        """
        if settings.goals and task.achieved is None:
            raise DescriptionError(
                f"expected a task with goals, found '{task.name}'", field="goals"
            )
        self.task, self.noise = task, settings.noise
        self.count = count = settings.num_envs
        self.goals_observed, self._draws_visuals = settings.goals, settings.visuals
        self.built = built = task_model(task.source(), task.extra, task.objects)
        self._channels = self.matrix = channel_matrix(built, task.channels)
        if settings.actions == "joints":
            rates = np.abs(self._channels).max(axis=0)
            self.matrix = np.diag(rates)[self._channels.any(axis=0)]
        self.channels = len(self.matrix)
        self.substeps = round(PERIOD / built.model.opt.timestep)
        self._data = mujoco.MjData(built.model)
        self.physics = self._physics(settings.engine, min(threads, count))
        self._tangential = [np.roll(built.normal, shift, axis=0) for shift in (1, 2)]
        self.targets = np.tile(built.targets(built.qpos), (count, 1))
        self.goals, self._pushes = np.zeros((count, len(task.goal))), np.zeros((count, 3))
        self.start, self.start_rotation = np.zeros((count, 3)), np.zeros((count, 4))
        self.decisions, self.held = np.zeros((2, count), dtype=np.int64)
        """Decisions so far, and since the goal has been reached without slip, (n,)."""
        self._held_at = np.zeros((count, 3))
        self.potential, self.reached = np.zeros((2, count))
        self.success = np.zeros(count, dtype=bool)
        self._noise: Array | None = None
        self._latest: Features | None = None
        self.generators = [np.random.default_rng(row) for row in range(count)]
        self._labels, self._palm = _labels(built.model, built.source)
        self._visuals: list[tuple[dict[int, Any], Any]] = [({}, (0.0, 0.0, 1.0))] * count
        self.reset(0)
        first = self.observe([0], GOAL_PARTS if settings.goals else ("state", "tactile"))
        ones = {name: np.ones(part.shape[1], np.float32) for name, part in first.items()}
        self.bounds = {name: Bound(-BOUND * item, BOUND * item) for name, item in ones.items()}

    def _physics(self, engine: str, threads: int) -> TaskPhysics:
        """Return the episodes in an engine; errors as ``__init__``."""
        model, size, density = self.built.model, self.task.size[0], self.task.density[0]
        if engine == "mujoco":
            return MujocoPhysics(model, self.count, self.substeps, threads)
        if engine not in EPISODE_ENGINES:
            hint = did_you_mean(engine, ["mujoco", *EPISODE_ENGINES])
            raise DescriptionError(f"expected an engine, found '{engine}'; {hint}", field="engine")
        models = [copy(model) for _ in self.task.shapes] or [model]
        for kind, shape in zip(models, self.task.shapes, strict=False):
            put_object(self.built, kind, self._data, shape, size, density)
        physics: TaskPhysics = EPISODE_ENGINES.load(engine)(models, self.count, self.substeps)
        return physics

    def features(self, rows: slice | list[int] = slice(None)) -> Features:
        """Return the quantities of episodes from their last sensors."""
        sensors, built = self.physics.sensors[rows], self.built
        middle, half = 0.5 * (built.upper + built.lower), 0.5 * (built.upper - built.lower)
        parts = {name: sensors[:, part] for name, part in built.sensors.items()}
        force = sensors[:, built.contact] @ built.normal
        extra = [parts[name] for name in self.task.extra]
        return Features(
            joint=self.physics.states[rows][:, TIME + built.joints],
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
            options: Fields of ``ResetOptions``.

        Raises:
            DescriptionError: An option does not exist or does not fit.
        """
        self.generators[row] = generator or self.generators[row]
        chosen = _check_options(self.task, options or {})
        task, built, draw = self.task, self.built, self.generators[row]
        model, base, data = self.physics.model(row), built.model, self._data
        qpos = built.qpos.copy()
        density = chosen.get("density", draw.uniform(*task.density))
        friction = chosen.get("friction", draw.uniform(*task.friction))
        size = chosen.get("size", draw.uniform(*task.size))
        self._pushes[row] = task.push * draw.uniform(-1.0, 1.0, 3) if task.push else 0.0
        kind = int(draw.integers(len(task.shapes))) if task.shapes else 0
        shape = self._shape(row, kind, chosen.get("shape"))
        goal = np.array([draw.uniform(*bounds) for bounds in task.goal])
        goal *= draw.choice([-1.0, 1.0]) if task.signed else 1.0
        self.goals[row] = chosen.get("goal", goal)
        offset = draw.uniform(-1.0, 1.0, size=(3, 2)) * [
            [task.position], [task.wrist_range], [task.moved_range],
        ]  # fmt: skip
        if task.shapes:
            put_object(built, model, data, shape, size, density)
        model.pair_friction[built.object_pairs] = base.pair_friction[built.object_pairs] * friction
        self._write_start(model, qpos, offset, shape, size, row)
        if task.yaw:
            half = 0.5 * draw.uniform(-task.yaw, task.yaw)
            first = built.addresses[names.OBJECT] + 3
            qpos[first : first + 4] = np.cos(half), 0.0, 0.0, np.sin(half)
        data.qpos[:], data.qvel[:], data.time = qpos, 0.0, 0.0
        self.targets[row] = built.targets(qpos)
        action, count = task.preparation
        self.decisions[row] = self.held[row] = 0
        model.opt.gravity[:] = base.opt.gravity * self._load(np.zeros(1, dtype=np.int64))[0]
        data.act[:], data.ctrl[:], data.qacc_warmstart[:] = 0.0, self.targets[row], 0.0
        mujoco.mj_forward(model, data)
        if self._draws_visuals:
            self._visuals[row] = _draw_visuals(draw, model, base)
        self.physics.begin(row, model, data)
        for _ in range(count):
            before = self.targets[row].copy()
            self.targets[row] = self._moved(before, np.array(action) @ self._channels)
            self.physics.prepare(row, before, self.targets[row], np.zeros(3))
        features = self.features([row])
        self.start[row], self.start_rotation[row] = features.object[0], features.rotation[0]
        features = self.features([row])
        reached = task.measure(features)
        self.reached[row], self.potential[row] = reached[0], progress(task, features, reached)[0]
        self.success[row], self._latest = False, None

    def _shape(self, row: int, kind: int, chosen: str | None) -> str:
        """Return the shape of an episode: the chosen one, or else of the drawn kind."""
        shapes, kinds = self.task.shapes, self.physics.kinds
        if not shapes:
            return chosen or ""
        if kinds is None:
            return chosen or shapes[kind]
        if chosen not in (None, shapes[row % kinds]):
            raise DescriptionError(
                f"expected '{shapes[row % kinds]}', the shape that episode {row} has in this "
                f"engine, found '{chosen}'",
                field="shape",
            )
        return shapes[row % kinds]

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
                qpos[first + 2] = task.table + self.built.half_height(shape, size)
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

    # Steps

    def _moved(self, targets: Array, speeds: Array) -> Array:
        """Return targets after a decision at some speeds, (…, nu)."""
        return np.asarray(np.clip(targets + PERIOD * speeds, self.built.lower, self.built.upper))

    def _load(self, decisions: NDArray[np.int64]) -> Array:
        """Return the fraction of gravity that acts in decisions, (n,)."""
        if not (first := self.task.gravity_from):
            return np.ones(len(decisions))
        return np.asarray(np.clip((decisions - first) / 10.0, 0.0, 1.0))

    def step(self, actions: Array) -> Decision:
        """Step all episodes for one decision.

        Args:
            actions: Actions, clipped to −1…1, (n, na).
        """
        task, before = self.task, self.targets
        gravity = self._load(self.decisions)[:, None] * self.built.model.opt.gravity
        self.targets = self._moved(before, np.clip(actions, -1.0, 1.0) @ self.matrix)
        if task.push:
            known = self._latest or self.features()
            gravity = gravity + (known.height > PUSHED_FROM)[:, None] * self._pushes
        self.physics.step(before, self.targets, gravity)
        self.decisions += 1
        self._latest = features = self.features()
        self.reached = task.measure(features)
        after = progress(task, features, self.reached)
        success = self.update_success(features, self.reached)
        nq, nv = self.built.model.nq, self.built.model.nv
        failed = too_fast(self.physics.states[:, TIME + nq : TIME + nq + nv], FASTEST)
        if not task.follows:
            failed |= features.height < task.lowest
        self.success = success & ~failed
        rewards = np.where(failed, 0.0, after - self.potential) + self.success
        self.potential = after
        if self.goals_observed:
            return self._goal_decision(features, failed)
        over = self.success | failed
        return Decision(rewards, self.success, over, ~over & (self.decisions >= task.steps))

    def _goal_decision(self, features: Features, failed: Flags) -> Decision:
        """Return the decision of goal environments, which end at their last decision only."""
        rewards = self.compute_reward(*self._achieved_and_desired(features))
        self.success = (rewards > -0.5) & ~failed
        never = np.zeros(self.count, dtype=bool)
        return Decision(rewards, self.success, never, failed | (self.decisions >= self.task.steps))

    def _achieved_and_desired(self, features: Features) -> tuple[Array, Array]:
        assert self.task.achieved is not None
        achieved = self.task.achieved(features)
        desired = features.object if self.task.follows else features.goal
        return achieved.astype(np.float32), desired.astype(np.float32)

    def compute_reward(self, achieved: Any, desired: Any, info: Any = None) -> Any:  # noqa: ARG002
        """Return 0 for goals that are reached, else −1, (n,) or a number.

        Args:
            achieved: Achieved goals, (n, ng) or (ng,).
            desired: Desired goals of the same shape.
            info: Not used.
        """
        away = np.linalg.norm(np.subtract(achieved, desired), axis=-1)
        return -(~(away <= self.task.tolerance)).astype(float)  # NaN is not reached

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
        if self.goals_observed:
            parts3 = (self._state(features, rows), *self._achieved_and_desired(features))
            return {n: p.astype(np.float32) for n, p in zip(GOAL_PARTS, parts3, strict=True)}
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

    def shown(self, row: int) -> Appearance:
        """Return the state that an image shows; colours that are not drawn are the model's."""
        positions = self.physics.states[row, TIME : TIME + self.built.model.nq]
        colors, camera = self._visuals[row]
        return Appearance(
            self.physics.model(row), positions, colors, self._labels, self._palm, camera
        )

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
            "goal": features.goal * task.goal_scale,
            "time": features.decision[:, None] / task.steps,
        }  # fmt: skip
        if self.goals_observed:
            del parts["goal"]  # a relabelled one would contradict it
        state = np.concatenate(list(parts.values()), axis=1)
        if self.noise:
            if self._noise is None:
                scales = [np.full(part.shape[1], NOISE[name]) for name, part in parts.items()]
                self._noise = self.noise * np.concatenate(scales)
            self._add_noise(state, self._noise, rows)
        return np.asarray(np.minimum(np.maximum(state, -BOUND), BOUND))

    def _touch(self, features: Features, rows: list[int]) -> Array:
        """Return noisy normal and friction forces of each body, (n, 2·nb) [5 N]."""
        forces = self.physics.sensors[rows][:, self.built.contact]
        friction = np.hypot(*(forces @ matrix for matrix in self._tangential))
        touch = np.concatenate([features.force, friction], axis=1) / 5.0
        self._add_noise(touch, np.full(touch.shape[1], self.noise * NOISE["force"]), rows)
        return np.asarray(np.minimum(np.maximum(touch, -BOUND), BOUND))

    def _add_noise(self, values: Array, scales: Array, rows: list[int]) -> None:
        drawn = np.empty_like(values)
        for row, numbers in zip(rows, drawn, strict=True):
            self.generators[row].standard_normal(out=numbers)
        values += scales * drawn


def _labels(model: mujoco.MjModel, source: Source) -> tuple[NDArray[np.int64], int]:
    """Return the label of each geom as of ``views.LABELS``, (ngeom,), and the palm's body."""
    palm = int(model.body(source.palm).id)
    hand, labels = {palm, *(int(model.body(name).id) for name in source.bodies)}, []
    for body in model.geom_bodyid.tolist():
        if model.body(body).name == names.OBJECT:
            labels.append(1)
        elif body in hand or model.body_rootid[body] == model.body_rootid[palm] != 0:
            labels.append(2)
        else:
            labels.append(3 if model.body_weldid[body] else 0)
    return np.array(labels), palm


def _draw_visuals(
    draw: np.random.Generator, model: mujoco.MjModel, base: mujoco.MjModel
) -> tuple[dict[int, Any], tuple[float, float, float]]:
    """Draw colours of geoms and the change of the camera; write the direction of the light."""
    colors = {geom: (*draw.uniform(0.1, 0.9, 3).tolist(), 1.0) for geom in range(model.ngeom)}
    model.light_dir[:] = base.light_dir + draw.uniform(-0.5, 0.5, (model.nlight, 3))
    azimuth, elevation, distance = draw.uniform(-1.0, 1.0, 3).tolist()
    return colors, (20.0 * azimuth, 10.0 * elevation, 1.0 + 0.15 * distance)


def _check_options(task: Task, options: Any) -> dict[str, Any]:
    """Return the values that are not drawn; errors as of ``reset``."""
    if not isinstance(options, Mapping):
        raise DescriptionError(f"expected options by name, found {options!r:.60}", field="options")
    chosen = ResetOptions(**options)
    shapes = [*SHAPES, *task.objects]
    if chosen.shape is not None and chosen.shape not in shapes:
        hint = did_you_mean(chosen.shape, shapes)
        raise DescriptionError(f"expected a shape, found '{chosen.shape}'; {hint}", field="shape")
    if chosen.goal is not None and len(chosen.goal) != len(task.goal):
        message = f"expected {len(task.goal)} numbers, found {len(chosen.goal)}"
        raise DescriptionError(message, field="goal")
    return chosen.model_dump(exclude_none=True)
