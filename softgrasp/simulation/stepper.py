"""The closed loop of one grasp, in plain Python: step, sample, judge, command, record."""

from __future__ import annotations

from collections.abc import Callable

import mujoco
import numpy as np

from softgrasp.simulation.laws import advance_targets, debounce
from softgrasp.simulation.state import ClosureLayout, ClosureState, Recording

StepHook = Callable[[], None]


class PlainStepper:
    """Advances a closure sample by sample; needs nothing but MuJoCo.

    One sample is: step the physics from the sample before (not for the first), read the contact
    forces that this step computed, judge them, move the targets, record a row.
    """

    def __init__(
        self,
        model: mujoco.MjModel,
        data: mujoco.MjData,
        layout: ClosureLayout,
        state: ClosureState,
        recording: Recording,
        after_step: StepHook | None = None,
    ) -> None:
        """Take over a model and its state.

        Args:
            model: Compiled scene.
            data: Its state, at the start.
            layout: Constants of the loop.
            state: Counters and targets; changed.
            recording: Grows by one row a sample.
            after_step: Called behind every physics step, such as a friction law.
        """
        self._model, self._data = model, data
        self._layout, self._state, self.recording = layout, state, recording
        self._after_step = after_step
        end = layout.first_force + layout.force_sum.shape[1]
        self._raw_forces = data.sensordata[layout.first_force : end]
        self._forces = np.zeros(layout.force_sum.shape[0])
        self._lists = _Lists(layout)
        self._one_by_one = layout.prescribed or after_step is not None

    def advance(self, samples: int, idle_limit: int) -> bool:
        """Run up to ``samples`` control samples; True where it stopped because contact changed.

        Stops early, too, when no target has moved for ``idle_limit`` samples.
        """
        state, lists = self._state, self._lists
        self.recording.reserve(samples)
        for _ in range(samples):
            if self.recording.rows:
                self._step()
            np.dot(self._layout.force_sum, self._raw_forces, out=self._forces)
            changed = debounce(
                self._forces.tolist(),
                lists.threshold,
                lists.samples,
                state.counts,
                state.touched,
                state.in_contact,
                state.changes,
            )
            if self._layout.prescribed:
                state.previous[:] = state.targets
            moved = advance_targets(
                state.targets,
                lists.increments,
                lists.lower,
                lists.upper,
                lists.body_of_joint,
                lists.last_of_finger,
                state.in_contact,
            )
            state.idle = 0 if moved else state.idle + 1
            if moved or not self.recording.rows:
                self._data.ctrl[:] = state.targets
            self._record()
            if changed:
                return True
            if state.idle >= idle_limit:
                return False
        return False

    def _record(self) -> None:
        recording, data, row = self.recording, self._data, self.recording.rows
        recording.time[row] = row * self._layout.control_period
        recording.qpos[row] = data.qpos
        recording.control[row] = data.ctrl
        recording.force[row] = self._raw_forces
        recording.in_contact[row] = self._state.in_contact
        recording.rows = row + 1

    def _step(self) -> None:
        if not self._one_by_one:
            mujoco.mj_step(self._model, self._data, self._layout.substeps)
            return
        for substep in range(self._layout.substeps):
            if self._layout.prescribed:
                self._follow(substep)
            mujoco.mj_step(self._model, self._data)
            if self._after_step is not None:
                self._after_step()

    def _follow(self, substep: int) -> None:
        """Put prescribed joints on the straight line from one target to the next."""
        layout, state = self._layout, self._state
        start = np.array(state.previous)
        way = np.array(state.targets) - start
        self._data.qpos[layout.qpos_of_joint] = start + way * (substep / layout.substeps)
        self._data.qvel[layout.dof_of_joint] = way / (layout.substeps * layout.timestep)


class _Lists:
    """The layout's arrays as lists: the laws read single numbers, which lists give faster."""

    def __init__(self, layout: ClosureLayout) -> None:
        self.threshold, self.samples = layout.threshold, layout.samples
        self.increments: list[float] = layout.increments.tolist()
        self.lower: list[float] = layout.lower.tolist()
        self.upper: list[float] = layout.upper.tolist()
        self.body_of_joint: list[int] = layout.body_of_joint.tolist()
        self.last_of_finger: list[int] = layout.last_of_finger.tolist()
