"""Simulated scene of an environment: control samples in MuJoCo, and observations of an episode.

``SceneSimulation`` has an episode in any engine that simulates control samples, and observes
joints, targets, forces and the object in the palm frame; ``SteppedScene`` simulates the samples
with the stepper of single runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, pairwise
from typing import Any

import mujoco
import numpy as np

from softgrasp.envs.core import (
    Appearance,
    Bound,
    Decision,
    Generator,
    Observation,
    Offset,
    clear_offset,
    in_palm_frame,
    move_pose,
    too_fast,
    touches_nothing,
)
from softgrasp.envs.episode import Episode, GraspTask
from softgrasp.errors import DescriptionError
from softgrasp.mechanics.transforms import Array
from softgrasp.model import names
from softgrasp.model.contact_sensors import contact_layout
from softgrasp.model.object import PLANAR_JOINTS
from softgrasp.model.scene import CompiledScene, start_targets
from softgrasp.model.visual import IN_CONTACT_RGBA
from softgrasp.sim.contacts import ContactReader
from softgrasp.sim.control_state import (
    ClosureState,
    Recording,
    caught_warnings,
    closure_layout,
    has_diverged,
)
from softgrasp.sim.friction import SlipFriction
from softgrasp.sim.grasp_run import LARGEST_SPEED
from softgrasp.sim.hold_test import palm_body
from softgrasp.sim.load_balance import LoadSampler, load_balance
from softgrasp.sim.step_refinement import StepRefinement
from softgrasp.sim.stepper import MujocoStepper
from softgrasp.sim.stiffness_feedback import StiffnessFeedback
from softgrasp.sim.suction import Suction

SLACK = 0.5
"""Distance of a joint beyond its compliant limits that is observed [rad or m]."""
WIDEST = 2.0 * np.pi
"""Bound of joints without limits [rad]."""
LARGEST_FORCE = 1e3
"""Largest force that is observed; larger ones are clipped [N]."""
FARTHEST = 1.0
"""Largest coordinate of the object in the palm frame; larger ones are clipped [m]."""


PARTS = (
    "joint_position", "target", "normal_force", "in_contact", "object_position",
    "object_quat_wxyz", "progress",
)  # fmt: skip
"""Parts of an observation."""


class SceneSimulation:
    """An episode of a scene in an engine that simulates its control samples one after another."""

    def __init__(
        self,
        built: CompiledScene,
        task: GraspTask,
        model: mujoco.MjModel,
        data: mujoco.MjData,
        prefix: str = "",
        object_name: str = names.OBJECT,
    ) -> None:
        """Appearance up addresses in the model of the engine.

        Args:
            built: The scene.
            task: The task.
            model: Model of the scene with the start as key frame; it is changed.
            data: State of the engine.
            prefix: Prefix of the names of the hand's parts in the model.
            object_name: Name of the object's body in the model.
        """
        self.model, self.data, self._built, self._task = model, data, built, task
        joints = [model.joint(prefix + name) for name in names.joint_names(task.scene.hand)]
        self._joints = np.array([joint.qposadr[0] for joint in joints])
        self.bounds, self.channels = _bounds(task, joints, prefix), len(task.active)
        self._low = np.concatenate([bound.low for bound in self.bounds.values()])
        self._high = np.concatenate([bound.high for bound in self.bounds.values()])
        sizes = np.cumsum([0, *(len(bound.low) for bound in self.bounds.values())]).tolist()
        self._slices = [slice(*ends) for ends in pairwise(sizes)]
        self._gravity, self._pair_friction = model.opt.gravity.copy(), model.pair_friction.copy()
        self._object, palm = model.body(object_name).id, palm_body(model, task.scene.hand, prefix)
        frames = ((data.xpos[body], data.xmat[body]) for body in (self._object, palm))
        self._views = tuple(chain(*frames))
        first, _, self._force_sum = contact_layout(model, built.bodies, 1)
        self._sensors = data.sensordata[first : first + self._force_sum.shape[1]]
        self._forces = np.zeros((task.samples_per_action, len(self._sensors)))
        self._poses = tuple(np.zeros((task.samples_per_action, size)) for size in (3, 9, 3, 9))
        is_supported = task.scene.surroundings or task.scene.object_mount != "free"
        self._sampler = LoadSampler(task.scene, ContactReader(model)) if is_supported else None
        self._last: Observation = {}
        self._begin()

    def reset(
        self, row: int, generator: Generator | None, options: dict[str, Any] | None = None
    ) -> None:
        """Return to the start, with a random offset of the object.

        Args:
            row: Zero.
            generator: Draws the offset.
            options: None; there are no options.

        Raises:
            DescriptionError: There are options.
            SimulationError: No drawn start is clear of the hand.
        """
        if options:
            raise DescriptionError(f"expected no options, found {', '.join(options)}")
        self.model.opt.gravity[:] = self._gravity
        self.model.pair_friction[:] = self._pair_friction
        generator, noise = generator or np.random.default_rng(row), self._task.settings.noise
        self._put(clear_offset(self._task.scene, noise, generator, self._is_clear))
        self._begin()

    def _begin(self) -> None:
        """Begin an episode at the present state."""
        mujoco.mj_kinematics(self.model, self.data)
        self.stiffness, self._row = StiffnessFeedback(self._built, self.model), 0
        pose = in_palm_frame(*(view[None] for view in self._views))
        self.episode = Episode(self._task, pose)

    def plan(self, action: Array) -> int:
        """Plan an action, (na,); return its control samples."""
        self._plan = self.episode.plan(action)
        return len(self._plan.targets)

    def begin_sample(self, index: int) -> Array:
        """Set the gravity of a control sample of the plan; return its targets, (nu,)."""
        plan, count = self._plan, len(self._plan.targets)
        if (loaded := index - count + len(plan.loads)) >= 0:
            self.model.opt.gravity[:] = plan.loads[loaded]
        if self._sampler is not None and index == count - 1:
            self._sampler.start(self.data)
        return np.asarray(plan.targets[index])

    def end_sample(self, index: int) -> None:
        """Store contact forces, and poses where they are needed, and correct the stiffness."""
        self._forces[index] = self._sensors
        self._row += 1
        self.stiffness.correct(self.data, self._row)
        if index >= len(self._plan.targets) - self._plan.samples:
            mujoco.mj_kinematics(self.model, self.data)
            for kept, view in zip(self._poses, self._views, strict=True):
                kept[index] = view

    def finish(self, *, failed: bool) -> None:
        """Evaluate the samples of the plan.

        Args:
            failed: Whether the motion has diverged.
        """
        if failed:
            self.episode.diverge()
            return
        count, seen = len(self._plan.targets), self._plan.samples
        pose = in_palm_frame(*(kept[count - seen : count] for kept in self._poses))
        forces = self._forces[:count] @ self._force_sum.T
        self.episode.update(self._plan, forces, pose, self._support())

    def observe(self, rows: list[int], parts: Sequence[str]) -> Observation:  # noqa: ARG002
        """Return the observation, (1, size) each; the last valid one of a motion that diverged."""
        if not self.episode.diverged:
            self._last = self._read()
        # the agent may change its observation
        return {name: self._last[name][None].copy() for name in parts}

    def _read(self) -> Observation:
        """Return the observation; its parts are views of one new array."""
        episode = self.episode
        # one array is seven times as fast as separate parts; in the order of ``PARTS``
        parts = (
            self.data.qpos[self._joints],
            episode.targets[: len(self._task.actuators)],
            episode.forces,
            episode.in_contact,
            episode.pose.position[-1],
            _quaternion(episode.pose.rotation[-1]),
            np.array(episode.progress),
        )
        values = np.concatenate(parts, dtype=np.float32)
        np.minimum(np.maximum(values, self._low, out=values), self._high, out=values)
        return {name: values[part] for name, part in zip(PARTS, self._slices, strict=True)}

    def info(self, row: int) -> dict[str, Any]:  # noqa: ARG002
        """Return outcome, time and motion of the object; ``outcome`` is empty while it lasts."""
        episode = self.episode
        return {
            "is_success": episode.held is True,
            "outcome": "" if episode.outcome is None else episode.outcome.name,
            "time_s": episode.time,
            "in_test": episode.tested >= 0,
            "drop_m": episode.drop,
            "rotation_rad": episode.rotation,
            "creep_m_s": episode.creep,
            "diverged": episode.diverged,
        }

    def _support(self) -> float:
        """Return the fraction of the load that the hand does not bear in the last sample [–]."""
        if self._sampler is None:
            return 0.0
        self._sampler.sample(self.data)
        record = self._sampler.record(self.data, self._row)
        balance = load_balance(self.model, self._task.scene, record)
        return balance.support if balance.is_loaded else 0.0

    def _is_clear(self, offset: Offset) -> bool:
        self._put(offset)
        return touches_nothing(self.model, self.data, self._object)

    def _put(self, offset: Offset | None) -> None:
        """Set the start state with an offset of the object."""
        mujoco.mj_resetDataKeyframe(self.model, self.data, 0)
        if offset is None:
            return
        qpos, joint = self.data.qpos, self._built.model.joint
        if self._task.scene.object_mount == "planar":
            moves = (offset.position[0], offset.position[2], offset.rotation[1])
            for name, move in zip(PLANAR_JOINTS, moves, strict=True):
                qpos[joint(name).qposadr[0]] += move
            return
        first = joint(names.OBJECT).qposadr[0]
        pose = move_pose(qpos[first : first + 3], qpos[first + 3 : first + 7], offset)
        qpos[first : first + 7] = np.concatenate(pose)


class SteppedScene(SceneSimulation):
    """An episode of a scene that is simulated by the stepper of single runs."""

    def __init__(self, built: CompiledScene, task: GraspTask) -> None:
        """Appearance up addresses in the model of a built scene.

        Args:
            built: The scene; its model is changed.
            task: The task.
        """
        self._layout = closure_layout(built)
        super().__init__(built, task, built.model, mujoco.MjData(built.model))

    def _begin(self) -> None:
        super()._begin()
        bodies, width = len(self._built.bodies), len(self._sensors)
        self.stepper = MujocoStepper(
            self.model,
            self.data,
            self._layout,
            ClosureState.at_start(start_targets(self._built.scene), bodies),
            Recording.empty(self.model, bodies, width, 1),
            StepRefinement(self._layout, self.stiffness, self.model),
            SlipFriction.of(self._built),
            suction=Suction.of(self._built),
        )

    def step(self, actions: Array) -> Decision:
        """Simulate the episode for one action, or to its end, from actions (1, na)."""
        with caught_warnings():
            for index in range(self.plan(actions[0])):
                self.stepper.step_sample(self.begin_sample(index))
                self.end_sample(index)
        too_quick = bool(too_fast(self.data.qvel[None], LARGEST_SPEED)[0])
        self.finish(failed=too_quick or has_diverged(self.data))
        episode = self.episode
        ended = (episode.held is True, episode.terminated, episode.truncated)
        return Decision(np.array([episode.reward()]), *(np.array([flag]) for flag in ended))

    def shown(self, row: int) -> Appearance:  # noqa: ARG002
        """Return model, positions and the colours of geoms whose body is in contact."""
        model, touching = self.model, np.flatnonzero(self.episode.in_contact)
        bodies = [model.body(self._task.bodies[index]).id for index in touching]
        geoms = np.flatnonzero(np.isin(model.geom_bodyid, bodies)).tolist()
        return Appearance(model, self.data.qpos, dict.fromkeys(geoms, IN_CONTACT_RGBA))


def _quaternion(rotation: Array) -> Array:
    """Return the unit quaternion (w, x, y, z) with w ≥ 0."""
    quaternion = np.zeros(4)
    mujoco.mju_mat2Quat(quaternion, rotation.ravel())
    return -quaternion if quaternion[0] < 0.0 else quaternion


def _range(joint: object) -> tuple[float, float]:
    low, high = getattr(joint, "range")  # noqa: B009 - MuJoCo's view has no type
    return (-WIDEST, WIDEST) if low == high == 0.0 else (float(low), float(high))


def _bounds(task: GraspTask, joints: Sequence[Any], prefix: str) -> dict[str, Bound]:
    """Return the bounds of each part of an observation; values outside are clipped."""
    limits = dict(zip(task.actuators, task.scene.limits, strict=True))
    ends = [limits.get(joint.name.removeprefix(prefix)) or _range(joint) for joint in joints]
    bodies = len(task.bodies)
    bounds = (
        ([low - SLACK for low, _ in ends], [high + SLACK for _, high in ends]),
        (task.lower, task.upper),
        ([0.0] * bodies, [LARGEST_FORCE] * bodies),
        ([0.0] * bodies, [1.0] * bodies),
        ([-FARTHEST] * 3, [FARTHEST] * 3),
        ([0.0, -1.0, -1.0, -1.0], [1.0] * 4),
        ([0.0, 0.0], [1.0, 1.0]),
    )
    known = zip(PARTS, bounds, strict=True)
    return {n: Bound(*(np.asarray(end, dtype=np.float32) for end in pair)) for n, pair in known}
