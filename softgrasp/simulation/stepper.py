"""The closed loop of one grasp: step, sample, judge, command, record."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator
from functools import cached_property, partial
from typing import NamedTuple, TypeVar

import mujoco
import numpy as np

from softgrasp.mechanics.transforms import Array
from softgrasp.simulation.friction import SlipFriction
from softgrasp.simulation.giving_way import GivingWay
from softgrasp.simulation.laws import debounce, free_drives, latch, light_touches
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
from softgrasp.simulation.target_plan import planned_targets

LOOK_AHEAD = 512
"""Physics steps whose targets are computed at once, and between two looks at the run: some 10 ms
of work, so that little is lost where the user stops it or where it diverges."""
FIRST_AHEAD = 64
"""Samples that are planned after a change of contact, which is often soon followed by another."""

STATE = mujoco.mjtState.mjSTATE_INTEGRATION
"""All of the engine that decides how a step goes, the solver's first guess included."""
FULL = 0.99
"""Share of its limit at which a servo counts as giving all it can."""

Told = TypeVar("Told")


def driven(running: Generator[Array, int, Told], stretch: Callable[[Array], int]) -> Told:
    """Run what yields plans to its end, every plan by a stretch, and return what it returns."""
    try:
        plan = next(running)
        while True:
            plan = running.send(stretch(plan))
    except StopIteration as end:
        told: Told = end.value
        return told


class Stepper(ABC):
    """Advances a closure sample by sample.

    One sample is: step the physics from the sample before (not for the first), read the contact
    forces that this step computed, judge them, move the targets, record a row. As long as contact
    does not change the targets are known in advance, so that the loop itself is short.
    """

    def __init__(
        self,
        layout: ClosureLayout,
        state: ClosureState,
        recording: Recording,
        ahead: int = LOOK_AHEAD,
    ) -> None:
        """Take over a state.

        Args:
            layout: Constants of the loop.
            state: Counters and targets; changed.
            recording: Grows by one row a sample.
            ahead: Physics steps whose targets are computed at once.
        """
        self._layout, self._state, self.recording = layout, state, recording
        self.look_ahead = max(ahead // layout.substeps, 1)
        """Control samples that are best asked for at once."""
        self._path, self._led = np.zeros((0, 0)), slice(0)
        self._ahead = self.look_ahead
        self.loads = np.zeros((0, 3))
        """Gravity at the coming samples, as long as it is not over, (n, 3) [m/s²]."""
        self._replan()

    @abstractmethod
    def stretch(self, plan: Array) -> int:
        """Run the samples of a plan, one row of targets each, until contact changes.

        Returns:
            How many were finished. Where contact has changed, or a force is not a number, the
            next one is begun: its physics is done and its forces are judged, but the joints wait
            for new targets.
        """

    def advance(self, samples: int, idle_limit: int) -> bool:
        """Run up to ``samples`` control samples; True where it stopped because contact changed.

        Stops early, too, when no target has moved for ``idle_limit`` samples.
        """
        return driven(self.advancing(samples, idle_limit), self.stretch)

    def advancing(self, samples: int, idle_limit: int) -> Generator[Array, int, bool]:
        """The same where somebody else runs the stretches: yields plans, takes their outcome."""
        self.recording.reserve(samples)
        end = self.recording.rows + samples
        while True:
            room = min(end - self.recording.rows, self._samples_to_idle(idle_limit))
            plan = self._plan[self._used :][:room]
            before = self._state.in_contact.copy()
            done = yield plan
            self._keep(plan[:done], before)
            if done < len(plan):
                gave = self._give_way()
                if gave or self._paces() != (self._free, self._touching):
                    self._ahead = FIRST_AHEAD
                    self._replan()
                row = self._plan[self._used :][:1]
                self._command(row[0])
                self._keep(row, self._state.in_contact)
                return True
            if self.recording.rows == end or self._state.idle >= idle_limit:
                return False
            if self._used == len(self._plan):
                self._ahead *= 2
                self._replan()

    def lead(self, first: int, path: Array) -> None:
        """Lead the drives from one on along targets of their own, whatever their rates.

        Args:
            first: Index of the first of them.
            path: Targets, one row a sample [rad, m or Pa], (samples, n); the last ones stay.
        """
        self._path, self._led = path, slice(first, first + path.shape[1])
        self._replan()

    def let_go(self) -> None:
        """Let all drives follow their rates again from where they are."""
        self._path = np.zeros((0, 0))
        self._replan()

    def _replan(self) -> None:
        """Plan the coming targets from the contacts as they are."""
        layout, state = self._layout, self._state
        self._free, self._touching = self._paces()
        limits = (layout.lower, layout.upper)
        self._ahead = min(self._ahead, self.look_ahead)
        increments = layout.increments
        if any(self._touching):
            increments = np.where(self._touching, layout.squeeze * increments, increments)
        plan = planned_targets(state.targets, increments, self._free, limits, self._ahead)
        ahead = self._path[: self._ahead]
        if len(ahead):
            plan[1 : 1 + len(ahead), self._led] = ahead
            plan[1 + len(ahead) :, self._led] = ahead[-1]
        self._plan, self._used = plan[1:], 0
        self._moving = _moving_rows(plan)

    def _paces(self) -> tuple[list[bool], list[bool]]:
        """Which drives may move, and which of them squeeze, slower than they closed."""
        layout, state = self._layout, self._state
        if layout.torque_limits is not None:
            return [not held for held in state.strained.reached], [False] * len(layout.stops)
        if layout.grip_force is None:
            return free_drives(layout.stops, state.in_contact), [False] * len(layout.stops)
        free = free_drives(layout.stops, state.gripping)
        return free, [not clear for clear in free_drives(layout.stops, state.pressing)]

    def _give_way(self) -> bool:
        """Take targets of drives that touch, and did not squeeze so far, back to near their joints.

        Returns:
            Whether there were any.
        """
        layout, state = self._layout, self._state
        if layout.grip_force is None:
            return False
        clear = free_drives(layout.stops, state.light)
        drives = [d for d, off in enumerate(clear) if not (off or self._touching[d])]
        if drives:
            state.targets = self._given_way(drives)
        return bool(drives)

    def _given_way(self, drives: list[int]) -> Array:
        """Targets after some drives have given way, (nd,)."""
        raise NotImplementedError("only a grasp with an engine state of its own knows them")

    def _samples_to_idle(self, idle_limit: int) -> int:
        """Samples until no target will have moved for ``idle_limit`` ones, at least one."""
        moving = self._moving - self._used
        idle = idle_limit if moving > 0 else idle_limit - self._state.idle
        return max(max(moving, 0) + idle, 1)

    def _keep(self, targets: Array, in_contact: list[int]) -> None:
        """Record samples that are finished: all but positions and forces, which it has already.

        Args:
            targets: The targets of these samples, (n, nj).
            in_contact: The contacts that held during them, (nb,).
        """
        recording, state, count = self.recording, self._state, len(targets)
        if count == 0:
            return
        first, end = recording.rows, recording.rows + count
        recording.time[first:end] = np.arange(first, end) * self._layout.control_period
        recording.control[first:end] = targets
        recording.in_contact[first:end] = in_contact
        recording.rows = end
        state.targets = targets[-1]
        moved = min(max(self._moving - self._used, 0), count)
        state.idle = count - moved if moved else state.idle + count
        self._used += count
        self._path, self.loads = self._path[count:], self.loads[count:]

    @abstractmethod
    def _command(self, targets: Array) -> None:
        """Give the joints their targets and record the row that ``stretch`` has begun."""


def _moving_rows(plan: Array) -> int:
    """Samples until all targets of a plan stand still; the first row is where they begin."""
    moves = (plan[1:] != plan[:-1]).ravel()[::-1]
    if not moves.any():
        return 0
    still = int(moves.argmax())
    return math.ceil((int(moves.size) - still) / int(plan.shape[1]))


class Saved(NamedTuple):
    """All that decides how a run goes on."""

    engine: Array
    controller: ClosureState
    previous: Array
    friction: tuple[Array | Integers, ...]
    """Coefficients and memory of friction that switches; empty where it does not."""
    sensing: SavedErrors | None
    """What sensors tell later, and how their noise goes on; None without sensors."""


class OwnStepper(Stepper):
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

    def saved(self) -> Saved:
        """The run as it is now."""
        engine = np.empty(mujoco.mj_stateSize(self._model, STATE))
        mujoco.mj_getState(self._model, self._data, engine, STATE)
        memory = tuple(array.copy() for array in self._memory())
        told = None if self._sensing is None else self._sensing.saved()
        return Saved(engine, self._state.copy(), self._previous.copy(), memory, told)

    def put_back(self, saved: Saved) -> None:
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

    def _given_way(self, drives: list[int]) -> Array:
        return self._giving_way.targets(self._data, self._state.targets, drives)

    @cached_property
    def _giving_way(self) -> GivingWay:
        return GivingWay(self._model, self._layout)

    def _command(self, targets: Array) -> None:
        self._data.ctrl[:] = targets
        self.recording.qpos[self.recording.rows] = self._data.qpos


class PlainStepper(OwnStepper):
    """The loop in plain Python; needs nothing but MuJoCo."""

    def _prepare(self) -> None:
        layout = self._layout
        end = layout.first_force + layout.force_sum.shape[1]
        self._raw_forces = self._data.sensordata[layout.first_force : end]
        self._forces = np.zeros(layout.force_sum.shape[0])
        self._previous = self._state.targets
        stopped = layout.grip_force is not None or layout.torque_limits is not None
        self._judges_always = stopped or layout.feels
        one_by_one = layout.prescribed or self._friction is not None
        whole = partial(mujoco.mj_step, self._model, self._data, layout.substeps)
        self._step = self._step_one_by_one if one_by_one else whole

    def stretch(self, plan: Array) -> int:
        """Run the samples of a plan in Python."""
        data, counts = self._data, self._state.counts
        step, judge, control, position = self._step, self._judge, data.ctrl, data.qpos
        first, log = self.recording.rows, self.recording.qpos
        loads, always = self.loads[: len(plan)], self._judges_always
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
            if (data.ncon or always or any(counts)) and judge(row):
                return index
            control[:] = targets
            log[row] = position
        return len(plan)

    def _judge(self, row: int) -> bool:
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
            changed |= self._judge_grip(forces, layout.grip_force)
        if layout.torque_limits is not None:
            shares = np.abs(self._data.actuator_force) / layout.torque_limits
            changed |= debounce(shares.tolist(), FULL, layout.samples, *state.strained)
        # every further step of a state that is not a number would take a tenth of a second
        return changed or not math.isfinite(sum(forces))

    def _judge_grip(self, forces: list[float], asked: float) -> bool:
        """Judge who touches, presses, and presses hard enough; True if anything changed."""
        state, samples = self._state, self._layout.samples
        apart = [float(force <= 0.0) for force in forces]
        changed = debounce(apart, 0.5, APART * samples, *state.apart)
        for body, gone in enumerate(state.apart.reached):
            if gone:
                state.light_counts[body] = 0
        most = LIGHT * samples
        touching = (state.in_contact, state.pressing, most, state.light_counts, state.light)
        changed |= light_touches(forces, *touching)
        changed |= latch(state.in_contact, state.apart.reached, state.pressing)
        changed |= debounce(forces, asked, samples, *state.gripped)
        weak = [int(force < KEPT * asked) for force in forces]
        return latch(state.gripped.reached, weak, state.gripping) or changed

    def _step_one_by_one(self) -> None:
        for substep in range(self._layout.substeps):
            if self._layout.prescribed:
                self._follow(substep)
            mujoco.mj_step(self._model, self._data)
            if self._friction is not None:
                self._friction.judge(self._data)
        self._previous = self._data.ctrl.copy()

    def _follow(self, substep: int) -> None:
        """Put prescribed joints on the straight line from one target to the next."""
        layout = self._layout
        way = self._data.ctrl - self._previous
        self._data.qpos[layout.qpos_of_drive] = self._previous + way * (substep / layout.substeps)
        self._data.qvel[layout.dof_of_drive] = way / (layout.substeps * layout.timestep)
