"""The simulated hand under an agent: one control sample after the other, as in a run."""

from __future__ import annotations

from collections.abc import Callable

import mujoco
import numpy as np

from softgrasp.build import names
from softgrasp.build.objects import PLANAR_JOINTS
from softgrasp.build.scene import BuiltScene, start_targets
from softgrasp.description.sweep_plan import PoseNoise
from softgrasp.environments.episode import Episode
from softgrasp.environments.start import (
    Generator,
    Offset,
    clear_offset,
    moved_pose,
    touches_nothing,
)
from softgrasp.mechanics.transforms import Array
from softgrasp.simulation.closure_run import LARGEST_SPEED
from softgrasp.simulation.engine_warnings import caught_warnings, has_diverged
from softgrasp.simulation.friction import SlipFriction
from softgrasp.simulation.state import ClosureState, Recording, closure_layout
from softgrasp.simulation.stepper import PlainStepper

See = Callable[[mujoco.MjData], tuple[Array, Array]]
"""Position and quaternion of the object in the frame of the palm, of a state with kinematics."""


class SampleStepper(PlainStepper):
    """Steps one control sample at a time with targets that come from outside."""

    def restart(self, state: ClosureState) -> None:
        """Begin again with a fresh state."""
        self._state = state
        self._prepare()

    def sample(self, targets: Array) -> None:
        """Step one sample with these targets and debounce its contact forces."""
        self._data.ctrl[:] = targets
        self._step()
        # without a contact, and none to lose, there is nothing to judge
        if self._data.ncon or any(self._state.counts):
            self._judge(0)
        else:
            self._forces[:] = 0.0

    @property
    def forces(self) -> Array:
        """Normal force of each body in the last step [N], (nb,)."""
        return self._forces


class Plant:
    """The engine's side of an environment."""

    def __init__(self, built: BuiltScene) -> None:
        """Take over a built scene, whose model it changes.

        Args:
            built: The scene.
        """
        self.model, self._scene = built.model, built.scene
        self.data = mujoco.MjData(self.model)
        self._gravity = self.model.opt.gravity.copy()
        self._pair_friction = self.model.pair_friction.copy()
        self._friction = SlipFriction.of(built)
        layout = closure_layout(built)
        state = ClosureState.at_start(start_targets(self._scene), len(built.bodies))
        row = Recording.empty(self.model, len(built.bodies), layout.force_sum.shape[1], 1)
        self._stepper = SampleStepper(self.model, self.data, layout, state, row, self._friction)
        self._object = self.model.body(names.OBJECT).id

    @property
    def forces(self) -> Array:
        """Normal force of each body in the last physics step [N], (nb,)."""
        return self._stepper.forces

    def reset(self, state: ClosureState, noise: PoseNoise, generator: Generator) -> None:
        """Go back to the start, with the object off its place at random.

        Args:
            state: Fresh counters of contacts, changed by what follows.
            noise: Of the object's start.
            generator: Draws it.

        Raises:
            SimulationError: No start that was drawn is clear of the hand.
        """
        self.model.opt.gravity[:] = self._gravity
        self.model.pair_friction[:] = self._pair_friction
        if self._friction is not None:
            self._friction.slipping[:] = 0
        self._put(clear_offset(self._scene, noise, generator, self._is_clear))
        mujoco.mj_kinematics(self.model, self.data)
        self._stepper.restart(state)

    def act(self, episode: Episode, action: Array, see: See) -> None:
        """Run an episode on for one action, or to its end.

        Args:
            episode: The episode, whose ``contacts`` this plant was reset with.
            action: As ``Episode.checked`` returns it.
            see: Sees the object.
        """
        model, data, sample = self.model, self.data, self._stepper.sample
        with caught_warnings():
            for _ in range(episode.task.samples_per_action):
                if (load := episode.load) is not None:
                    model.opt.gravity[:] = load
                sample(episode.move(action))
                if episode.passed():
                    mujoco.mj_kinematics(model, data)
                    episode.look(*see(data))
                if episode.over:
                    break
            mujoco.mj_kinematics(model, data)
        if self._went_wrong():
            episode.diverge()
        elif episode.tested < 0:
            episode.look(*see(data))

    def _went_wrong(self) -> bool:
        # written so that a speed that is not a number counts as too fast
        slow = float(np.linalg.norm(self.data.qvel)) < LARGEST_SPEED
        return not slow or has_diverged(self.data)

    def _is_clear(self, offset: Offset) -> bool:
        self._put(offset)
        return touches_nothing(self.model, self.data, self._object)

    def _put(self, offset: Offset | None) -> None:
        """The start state, with the object off its place."""
        mujoco.mj_resetDataKeyframe(self.model, self.data, 0)
        if offset is None:
            return
        qpos = self.data.qpos
        if self._scene.object_mount == "planar":
            moves = (offset.position[0], offset.position[2], offset.rotation[1])
            for name, move in zip(PLANAR_JOINTS, moves, strict=True):
                qpos[self.model.joint(name).qposadr[0]] += move
            return
        first = self.model.joint(names.OBJECT).qposadr[0]
        pose = moved_pose(qpos[first : first + 3], qpos[first + 3 : first + 7], offset)
        qpos[first : first + 7] = np.concatenate(pose)
