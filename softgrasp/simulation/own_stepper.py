"""The closed loop on an engine state of its own, a sample after the other."""

from __future__ import annotations

import math
from abc import abstractmethod
from functools import cached_property, partial
from typing import NamedTuple

import mujoco
import numpy as np

from softgrasp.mechanics.transforms import Array
from softgrasp.simulation.friction import SlipFriction
from softgrasp.simulation.giving_way import TargetBacktracking
from softgrasp.simulation.laws import debounce, latch, light_touches
from softgrasp.simulation.sensing import Sensing
from softgrasp.simulation.sensor_errors import SavedErrors
from softgrasp.simulation.state import (
    APART,
    KEPT,
    LIGHT,
    ClosureLayout,
    ClosureState,
    Integers,
    Recording,
)
from softgrasp.simulation.stepper import Stepper

STATE = mujoco.mjtState.mjSTATE_INTEGRATION
"""All of the engine that decides how a step goes, the solver's first guess included."""
FULL = 0.99
"""Share of its limit at which a servo counts as giving all it can."""


class Snapshot(NamedTuple):
    """All that decides how a run goes on."""

    engine: Array
    controller: ClosureState
    previous: Array
    friction: tuple[Array | Integers, ...]
    """Coefficients and memory of friction that switches; empty where it does not."""
    sensing: SavedErrors | None
    """What sensors tell later, and how their noise goes on; None without sensors."""


class MujocoStepper(Stepper):
    """Steps an engine state of its own."""

    _previous: Array
    """Targets of the sample before the last one, (nd,)."""

    def __init__(
        self,
        model: mujoco.MjModel,
        data: mujoco.MjData,
        layout: ClosureLayout,
        state: ClosureState,
        recording: Recording,
        friction: SlipFriction | None = None,
        sensing: Sensing | None = None,
    ) -> None:
        """Take over a model and its state.

        Args:
            model: Compiled scene.
            data: Its state, at the start.
            layout: Constants of the loop.
            state: Counters and targets; changed.
            recording: Grows by one row a sample.
            friction: How friction switches, where it does.
            sensing: The sensors, where there are some; only the plain loop reads them.
        """
        super().__init__(layout, state, recording)
        self._model, self._data, self._friction = model, data, friction
        self._sensing = sensing
        self._gravity = model.opt.gravity
        self._prepare()

    @abstractmethod
    def _prepare(self) -> None:
        """Make what the loop needs besides."""

    def saved(self) -> Snapshot:
        """The run as it is now."""
        engine = np.empty(mujoco.mj_stateSize(self._model, STATE))
        mujoco.mj_getState(self._model, self._data, engine, STATE)
        memory = tuple(array.copy() for array in self._memory())
        sensor_memory = None if self._sensing is None else self._sensing.saved()
        return Snapshot(engine, self._state.copy(), self._previous.copy(), memory, sensor_memory)

    def put_back(self, saved: Snapshot) -> None:
        """Go back to a run as it was; its rows stay."""
        mujoco.mj_setState(self._model, self._data, saved.engine, STATE)
        vars(self._state).update(vars(saved.controller.copy()))
        self._previous = saved.previous.copy()
        for array, kept in zip(self._memory(), saved.friction, strict=True):
            array[:] = kept
        if self._sensing is not None and saved.sensing is not None:
            self._sensing.put_back(saved.sensing)
        self.let_go()

    def _memory(self) -> tuple[Array | Integers, ...]:
        law = self._friction
        return () if law is None else (law.friction, law.slipping)

    def _backtracked_targets(self, actuators: list[int]) -> Array:
        return self._backtracking.targets(self._data, self._state.targets, actuators)

    @cached_property
    def _backtracking(self) -> TargetBacktracking:
        return TargetBacktracking(self._model, self._layout)

    def _command(self, targets: Array) -> None:
        self._data.ctrl[:] = targets
        self.recording.qpos[self.recording.rows] = self._data.qpos


class PlainStepper(MujocoStepper):
    """The loop in plain Python; needs nothing but MuJoCo."""

    def _prepare(self) -> None:
        layout = self._layout
        end = layout.first_force + layout.force_sum.shape[1]
        self._raw_forces = self._data.sensordata[layout.first_force : end]
        self._forces = np.zeros(layout.force_sum.shape[0])
        self._previous = self._state.targets
        stopped = layout.grip_force is not None or layout.torque_limits is not None
        self._samples_always = stopped or layout.feels
        one_by_one = layout.prescribed or self._friction is not None
        whole = partial(mujoco.mj_step, self._model, self._data, layout.substeps)
        self._step = self._step_one_by_one if one_by_one else whole

    def run_chunk(self, plan: Array) -> int:
        """Run the samples of a plan in Python."""
        data, counts = self._data, self._state.counts
        step, sample_contacts, control, position = (
            self._step,
            self._sample_contacts,
            data.ctrl,
            data.qpos,
        )
        first, log = self.recording.rows, self.recording.qpos
        loads, always = self.loads[: len(plan)], self._samples_always
        sensing = self._sensing
        for index, targets in enumerate(plan):
            row = first + index
            if len(loads):
                self._gravity[:] = loads[index]
            if row:
                step()
            if sensing is not None:
                sensing.sample(row, data)
            # without a contact, and none to lose, there is nothing to judge or to record
            if (data.ncon or always or any(counts)) and sample_contacts(row):
                return index
            control[:] = targets
            log[row] = position
        return len(plan)

    def _sample_contacts(self, row: int) -> bool:
        """Record and judge the forces of the last step; True where contact has changed."""
        state, layout = self._state, self._layout
        self.recording.force[row] = self._raw_forces
        np.dot(layout.force_sum, self._raw_forces, out=self._forces)
        forces = self._forces.tolist()
        if layout.feels and self._sensing is not None:
            # noise around zero is no touch
            felt = self._sensing.felt()
            forces = [force if force > layout.threshold else 0.0 for force in felt]
        changed = debounce(
            forces,
            layout.threshold,
            layout.samples,
            state.counts,
            state.touched,
            state.in_contact,
            state.changes,
        )
        if layout.grip_force is not None:
            changed |= self._sample_grip(forces, layout.grip_force)
        if layout.torque_limits is not None:
            load_ratios = np.abs(self._data.actuator_force) / layout.torque_limits
            changed |= debounce(load_ratios.tolist(), FULL, layout.samples, *state.strained)
        # every further step of a state that is not a number would take a tenth of a second
        return changed or not math.isfinite(sum(forces))

    def _sample_grip(self, forces: list[float], target_force: float) -> bool:
        """Judge who touches, presses, and presses hard enough; True if anything changed."""
        state, samples = self._state, self._layout.samples
        apart = [float(force <= 0.0) for force in forces]
        changed = debounce(apart, 0.5, APART * samples, *state.apart)
        for body, gone in enumerate(state.apart.reached):
            if gone:
                state.light_counts[body] = 0
        max_samples = LIGHT * samples
        touching = (state.in_contact, state.pressing, max_samples, state.light_counts, state.light)
        changed |= light_touches(forces, *touching)
        changed |= latch(state.in_contact, state.apart.reached, state.pressing)
        changed |= debounce(forces, target_force, samples, *state.gripped)
        weak = [int(force < KEPT * target_force) for force in forces]
        return latch(state.gripped.reached, weak, state.gripping) or changed

    def _step_one_by_one(self) -> None:
        for substep in range(self._layout.substeps):
            if self._layout.prescribed:
                self._follow(substep)
            mujoco.mj_step(self._model, self._data)
            if self._friction is not None:
                self._friction.update(self._data)
        self._previous = self._data.ctrl.copy()

    def _follow(self, substep: int) -> None:
        """Put prescribed joints on the straight line from one target to the next."""
        layout = self._layout
        step = self._data.ctrl - self._previous
        self._data.qpos[layout.qpos_of_actuator] = self._previous + step * (
            substep / layout.substeps
        )
        self._data.qvel[layout.dof_of_actuator] = step / (layout.substeps * layout.timestep)
