"""The closed loop of one grasp: step the physics, read forces, detect contact, command, record.

``Stepper`` plans targets ahead and knows when they change; ``MujocoStepper`` runs the samples of a
plan on an engine state, in blocks where it can (``blocks.BlockRollout``). ``TargetBacktracking``
limits the lag of servos at first contact, ``friction.SlipFriction`` switches friction coefficients
with the slip speed.

The loop is plain Python. It was measured against one compiled by numba, which costs a second to
load and had to find MjData's fields in memory (decision 0018).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Generator, Sequence
from functools import cached_property
from itertools import chain
from typing import NamedTuple, TypeVar

import mujoco
import numpy as np

from softgrasp.mechanics.transforms import Array
from softgrasp.sim.approach import Approach
from softgrasp.sim.blocks import BlockRollout, can_step_blocks, ends_of_equal_rows
from softgrasp.sim.contacts import ContactPoint, ContactReader
from softgrasp.sim.control_state import (
    EXCESS_RATIO,
    IN_VAIN,
    LIGHT_TOUCH_FACTOR,
    MAX_RELIEFS,
    RELEASE_RATIO,
    SEPARATION_FACTOR,
    STATE,
    ClosureLayout,
    ClosureState,
    Integers,
    Peaks,
    Recording,
)
from softgrasp.sim.friction import SlipFriction
from softgrasp.sim.laws import (
    debounce,
    free_actuators,
    grip_targets,
    latch,
    light_touches,
    limited_lead,
    relieve_targets,
)
from softgrasp.sim.sensors import SavedErrors, Sensing
from softgrasp.sim.step_refinement import SavedSteps, StepRefinement
from softgrasp.sim.suction import SavedSeals, Suction

PLAN_STEPS = 512
"""Physics steps that are planned at once, and between two checks for divergence and Ctrl-C: about
10 ms of computing."""
FIRST_SAMPLES = 64
"""Samples that are planned after a change of contact, which is often soon followed by another."""
FULL_TORQUE = 0.99
"""Fraction of its torque limit at which a servo counts as being at the limit."""
BACKTRACK_RATIO = 0.8
"""Fraction of the requested force that a finger may press with at first contact. It must close
again, slowly, for the rest, and an object that others have pushed is by then gone."""

Outcome = TypeVar("Outcome")
FrictionState = tuple[Array, list[int]]
"""Coefficients and sliding pairs of switching friction."""
Plans = Generator[Array, int, None]
"""Yields targets of coming samples, (n, nd), and receives the number of finished ones."""


def driven(running: Generator[Array, int, Outcome], run_chunk: Callable[[Array], int]) -> Outcome:
    """Run the samples that a generator yields, send back the results; return its result."""
    try:
        plan = next(running)
        while True:
            plan = running.send(run_chunk(plan))
    except StopIteration as end:
        outcome: Outcome = end.value
        return outcome


class Stepper(ABC):
    """Closed loop of one grasp, advanced sample by sample.

    One sample is: step the physics from the previous sample (not for the first one), read the
    contact forces that this step computed, detect contact, move the targets, record a row. As long
    as contact does not change the targets are known in advance, so the loop itself is short.
    """

    def __init__(self, layout: ClosureLayout, state: ClosureState, recording: Recording) -> None:
        """Start from a state.

        Args:
            layout: Constants of the loop.
            state: Targets and flags; updated.
            recording: Grows by one row per sample.
        """
        self._layout, self._state, self.recording = layout, state, recording
        self.grips = any(layout.leads)
        """Whether a grip force limits servos."""
        self.max_samples = max(PLAN_STEPS // layout.substeps, 1)
        """Largest number of control samples of a plan."""
        self._path, self._led = np.zeros((0, 0)), slice(0)
        self._samples_ahead = self.max_samples
        self._frozen, self._rate_factors = False, np.ones(len(layout.increments))
        self._felt: list[list[float]] = []
        """Forces of the bodies at the last samples, where contact is detected by sensors [N]."""
        self.loads = np.zeros((0, 3))
        """Gravity at the coming samples while it changes, (n, 3) [m/s²]."""
        self._replan()

    @abstractmethod
    def run_chunk(self, plan: Array) -> int:
        """Run planned samples until contact changes.

        Args:
            plan: Targets, one row per sample, (n, nd).

        Returns:
            Number of finished samples. Where contact has changed, or a force is not finite, the
            next one is half done: its physics is stepped and its forces are evaluated, but the
            actuators wait for new targets.
        """

    def advance(self, samples: int, idle_limit: int) -> bool:
        """Run up to ``samples`` control samples; True if it stopped at a change of contact.

        It also stops when no target has moved for ``idle_limit`` samples.
        """
        return driven(self.advancing(samples, idle_limit), self.run_chunk)

    def advancing(self, samples: int, idle_limit: int) -> Generator[Array, int, bool]:
        """Advance as ``advance``, but yield planned samples and receive those that were run."""
        self.recording.reserve(samples)
        end = self.recording.rows + samples
        while True:
            available = min(end - self.recording.rows, self._samples_to_idle(idle_limit))
            planned = slice(self._used, self._used + available)
            plan, sent = self._plan[planned], self._sent[planned]
            before = self._state.in_contact
            done = yield sent
            self._record(plan[:done], before, sent[:done])
            if done < len(plan):
                backtracked = self._limit_new_stops() or self._backtrack()
                if backtracked or self._modes() != (self._free, self._pressing):
                    self._samples_ahead = FIRST_SAMPLES
                    self._replan()
                now = slice(self._used, self._used + 1)
                self._command(self._sent[now][0])
                self._record(self._plan[now], self._state.in_contact, self._sent[now])
                return True
            if self.recording.rows == end or self._state.idle >= idle_limit:
                return False
            if self._used == len(self._plan):
                self._samples_ahead *= 2
                self._replan()

    def lead(self, first: int, path: Array) -> None:
        """Prescribe the targets of actuators from index ``first`` on, instead of their rates.

        Args:
            first: Index of the first of them.
            path: Targets, one row per sample [rad, m or Pa], (samples, n); the last ones persist.
        """
        self._path, self._led = path, slice(first, first + path.shape[1])
        self._replan()

    def follow_rates(self) -> None:
        """Let all actuators move at their rates again from their present targets."""
        self._path, self._frozen = np.zeros((0, 0)), False
        self._rate_factors = np.ones(len(self._layout.increments))
        self._state.full, self._state.reliefs = False, [0] * len(self._layout.bodies)
        self._replan()

    def freeze(self) -> None:
        """Keep the targets of all actuators, whatever touches; only ``lead`` moves some."""
        self._frozen = True
        self._replan()

    @property
    def limits_force(self) -> bool:
        """Whether ``limit_grip`` has to be called while the hand closes."""
        return self.grips or self._layout.stop_force is not None

    def limit_grip(self) -> None:
        """Limit the leads of stopped servos, or the forces, after the last recorded sample."""
        if self._layout.stop_force is not None:
            self._limit_forces(self._layout.stop_force)
            return
        limited = [not free for free in self._free]
        if any(limited) and self._limit(limited, self.recording.qpos[self.recording.rows - 1]):
            self._replan()

    def _limit_forces(self, limit: float) -> None:
        """Move the targets of fingers back that have pressed with more than the limit [N]."""
        state, layout = self._state, self._layout
        slowed, forces = self._slow_down(), self._recent_forces()
        lasting = forces.min(axis=0, initial=math.inf)
        weak = bool(lasting.max(initial=0.0) < RELEASE_RATIO * limit)
        full = state.full and not (weak and max(state.reliefs) < 2 * MAX_RELIEFS)
        pressing = np.where(lasting > EXCESS_RATIO * limit, forces.mean(axis=0), 0.0)
        if max(state.reliefs) >= IN_VAIN and pressing.any():  # the others press the object on it
            touching = (lasting > 0.0) & np.isfinite(lasting)
            pressing = np.where(touching, float(pressing.max()), 0.0)
        if pressing.any() and not self._frozen:
            positions = self.recording.qpos[self.recording.rows - 1][layout.joint_of_actuator]
            stops = [
                bodies if joint >= 0 else ()
                for bodies, joint in zip(layout.stops, layout.joint_of_actuator, strict=True)
            ]
            following = relieve_targets(
                state.targets.tolist(),
                positions.tolist(),
                pressing.tolist(),
                limit / EXCESS_RATIO,
                stops,
            )
            state.targets, state.idle = np.array(following), 0
            over = (pressing > 0.0).tolist()
            state.reliefs = [n + more for n, more in zip(state.reliefs, over, strict=True)]
            full |= max(state.reliefs) >= MAX_RELIEFS
        elif full == state.full and not slowed:
            return
        state.full = full
        self._replan()

    def _slow_down(self) -> bool:
        """Update the factors on the rates of fingers that are about to touch; True on a change."""
        return False

    def _recent_forces(self) -> Array:
        """Return the forces of the bodies that move, at the last samples, (n, nb) [N]."""
        layout, last = self._layout, self.recording.rows
        forces = layout.body_forces(self.recording.force[max(last - layout.samples, 0) : last])
        forces = np.array(self._felt or forces)  # a copy: they can be a view of the recording
        forces[:, sorted({*range(len(layout.bodies))} - {*chain(*layout.stops)})] = 0.0
        return np.asarray(forces)

    def _limit_new_stops(self) -> bool:
        """Limit the leads of the servos that contact has just stopped; True if any changed."""
        if not self.grips:
            return False
        free, _ = self._modes()
        limited = [before and not now for before, now in zip(self._free, free, strict=True)]
        return any(limited) and self._limit(limited, self._sampled_positions())

    def _limit(self, limited: list[bool], qpos: Array) -> bool:
        """Limit the leads of some servos at joint positions; True if any target changed."""
        if not self.grips:
            return False
        layout, state, targets = self._layout, self._state, self._state.targets.tolist()
        positions = qpos[layout.joint_of_actuator].tolist()
        following = grip_targets(
            targets, positions, limited, layout.stops, layout.leads, state.in_contact
        )
        state.targets = np.array(following)
        return bool(following != targets)

    def _sampled_positions(self) -> Array:
        """Return ``qpos`` of the sample at which ``run_chunk`` stopped."""
        return np.asarray(self.recording.qpos[self.recording.rows])

    @abstractmethod
    def _command(self, targets: Array) -> None:
        """Command and record the targets of the sample at which ``run_chunk`` stopped."""

    def _replan(self) -> None:
        """Compute the coming targets from the present contacts."""
        layout, state = self._layout, self._state
        self._free, self._pressing = self._modes()
        limits = (layout.lower, layout.upper)
        count = self._samples_ahead = min(self._samples_ahead, self.max_samples)
        increments = layout.increments * self._rate_factors
        if any(self._pressing):
            increments = np.where(
                self._pressing, layout.contact_rate_scale * layout.increments, increments
            )
        plan = plan_targets(state.targets, increments, self._free, limits, count)
        path = self._path[:count]
        if len(path):
            plan[1 : 1 + len(path), self._led] = path
            plan[1 + len(path) :, self._led] = path[-1]
        self._plan, self._used = plan[1:], 0
        self._sent, self._moving = self._plan, _moving_rows(plan)
        if layout.lags is not None:
            state.lagged = state.lagged or layout.lags.at_rest(state.targets)
            self._sent = layout.lags.follow(self._plan, state.targets, state.lagged)
            sent = np.vstack([state.lagged.values, self._sent])
            self._moving = max(self._moving, _moving_rows(sent))

    def _modes(self) -> tuple[list[bool], list[bool]]:
        """Find the actuators that may move, and those in contact, which move at lower rates."""
        layout, state = self._layout, self._state
        if self._frozen:
            return [False] * len(layout.stops), [False] * len(layout.stops)
        if layout.torque_limits is not None:
            return [not held for held in state.strained.active], [False] * len(layout.stops)
        if layout.stop_force is None:
            return free_actuators(layout.stops, state.in_contact), [False] * len(layout.stops)
        free = free_actuators(layout.stops, state.gripping)
        pressing = [not clear for clear in free_actuators(layout.stops, state.pressing)]
        arriving = (self._rate_factors < 1.0) & ~np.array(pressing)
        if state.full or arriving.any():  # an object that one finger presses would move away
            free = [open_ and not still for open_, still in zip(free, pressing, strict=True)]
        return free, pressing

    def _backtrack(self) -> bool:
        """Move targets at first contact back to near their joints; True if there were any."""
        layout, state = self._layout, self._state
        if layout.stop_force is None or self._frozen:
            return False
        clear = free_actuators(layout.stops, state.light)
        new_touches = [d for d, off in enumerate(clear) if not (off or self._pressing[d])]
        if new_touches:
            state.targets = self._backtracked_targets(new_touches)
        return bool(new_touches)

    def _backtracked_targets(self, actuators: list[int]) -> Array:
        """Return all targets after backtracking of some actuators, (nd,)."""
        raise NotImplementedError("targets backtrack in a grasp with an engine state only")

    def _samples_to_idle(self, idle_limit: int) -> int:
        """Count samples until no target will have moved for ``idle_limit`` ones, at least one."""
        moving = self._moving - self._used
        idle = idle_limit if moving > 0 else idle_limit - self._state.idle
        return max(max(moving, 0) + idle, 1)

    def _record(self, targets: Array, in_contact: list[int], sent: Array) -> None:
        """Record finished samples, (n, nd) each; positions and forces are recorded already."""
        recording, state, count = self.recording, self._state, len(targets)
        if count == 0:
            return
        first, end = recording.rows, recording.rows + count
        recording.time[first:end] = np.arange(first, end) * self._layout.control_period
        recording.control[first:end] = sent
        recording.in_contact[first:end] = in_contact
        recording.rows = end
        if state.lagged is not None:
            state.lagged = state.lagged.after(targets, state.targets, sent)
        state.targets = targets[-1]
        moved = min(max(self._moving - self._used, 0), count)
        state.idle = count - moved if moved else state.idle + count
        self._used += count
        self._path, self.loads = self._path[count:], self.loads[count:]


def plan_targets(
    targets: Array,
    increments: Array,
    free: Sequence[bool],
    limits: tuple[Array, Array],
    samples: int,
) -> Array:
    """Compute targets of the coming control samples as long as contact does not change.

    Each row is ``laws.next_targets`` of the one before, bit for bit: 512 rows of 12 actuators take
    0.1 ms instead of 7 ms, and a grasp makes ten to twenty plans.

    Args:
        targets: Targets of the last sample [rad, m or Pa], (nd,).
        increments: Increment per control sample, zero for an inactive actuator, (nd,).
        free: Whether each actuator may move, (nd,).
        limits: Lower and upper limits, (nd,) each.
        samples: Samples to plan.

    Returns:
        Shape (1 + samples, nd) [rad, m or Pa]; the first row is ``targets``.
    """
    plan = np.empty((1 + samples, len(targets)))
    plan[:] = targets
    moving = np.flatnonzero(np.logical_and(free, increments))
    if moving.size:
        path, steps = plan[1:, moving], increments[moving]
        lowest, highest = (limit[moving] for limit in limits)
        path[:1] = np.minimum(np.maximum(path[:1] + steps, lowest), highest)
        path[1:] = steps
        np.add.accumulate(path, out=path)
        plan[1:, moving] = np.minimum(np.maximum(path, lowest, out=path), highest, out=path)
    return plan


def _moving_rows(plan: Array) -> int:
    """Count samples until all planned targets stand still; the first row is the start."""
    moves = (plan[1:] != plan[:-1]).ravel()[::-1]
    if not moves.any():
        return 0
    still = int(moves.argmax())
    return math.ceil((int(moves.size) - still) / int(plan.shape[1]))


class Snapshot(NamedTuple):
    """Saved state of a run, from which it can continue."""

    engine: Array
    controller: ClosureState
    previous: Array
    friction: FrictionState | None
    """None without switching friction."""
    sensing: SavedErrors | None
    """Delayed readings and random states of the sensors; None without sensors."""
    steps: SavedSteps
    """Time step, and stiffness and damping of all geom pairs."""
    seals: SavedSeals
    """Bodies on which suction cups are sealed."""


class MujocoStepper(Stepper):
    """Steps the planned samples of a grasp on one MuJoCo state."""

    def __init__(
        self,
        model: mujoco.MjModel,
        data: mujoco.MjData,
        layout: ClosureLayout,
        state: ClosureState,
        recording: Recording,
        refinement: StepRefinement,
        friction: SlipFriction | None = None,
        sensing: Sensing | None = None,
        warnings: Counter[str] | None = None,
        suction: Suction | None = None,
    ) -> None:
        """Start from a model and its state.

        Args:
            model: Compiled scene.
            data: Its state at the start.
            layout: Constants of the loop.
            state: Targets and flags; updated.
            recording: Grows by one row per sample.
            refinement: Chooses the time step.
            friction: Switching friction, where the scene has it.
            sensing: The sensors, where the scene has some.
            warnings: MuJoCo's warnings so far, by their texts; none are collected by default.
            suction: The suction cups of the hand, where it has some.
        """
        super().__init__(layout, state, recording)
        self._model, self._data = model, data
        self._friction, self._sensing, self._suction = friction, sensing, suction
        self._gravity, self.refinement = model.opt.gravity, refinement
        """Chooses the time step."""
        end = layout.first_force + layout.force_sum.shape[1]
        self._sensors = data.sensordata[layout.first_force : end]
        self.peaks = Peaks.of(len(layout.bodies))
        """Largest normal forces in any physics step so far."""
        self._previous = state.targets
        """Targets of the sample before the last one, (nd,)."""
        stopped = layout.stop_force is not None or layout.torque_limits is not None
        self._detects_always = stopped or layout.feels
        self._by_substeps = layout.prescribed or friction is not None
        self._blocks: BlockRollout | None = None
        by_sample = (friction, sensing, suction) != (None, None, None)
        if not by_sample and can_step_blocks(model, layout):
            self._blocks = BlockRollout(
                model,
                data,
                layout,
                refinement,
                self.peaks,
                Counter() if warnings is None else warnings,
            )
        self._qpos_of_joints = _slice_or_indices(layout.qpos_of_actuator)
        self._dofs_of_joints = _slice_or_indices(layout.dof_of_actuator)

    def run_chunk(self, plan: Array) -> int:
        """Run planned samples until contact changes; see ``Stepper.run_chunk``."""
        if self._blocks is None or self._data.xfrc_applied.any():  # a block has no applied forces
            return self._run_samples(plan, 0)
        done, moving = 0, self._moving - self._used
        if self.recording.rows == 0:  # the first sample is not stepped
            done = self._run_samples(plan[:1], 0)
            if not done:
                return 0
        loads, first, state = self.loads[: len(plan)], self.recording.rows, self._state
        ends = ends_of_equal_rows(loads) if len(loads) > 1 else None
        if len(loads):
            self._gravity[:] = loads[0]
        while done < len(plan):
            end = min(done + self._blocks.size(state.contact, moving > done), len(plan))
            if ends is not None:
                end, self._gravity[:] = min(end, ends[done]), loads[done]
            block = plan[done:end]
            outcome = self._blocks.run(block, state, self.recording, first + done)
            if outcome is None:  # a single step shows what has happened
                self._blocks = None
                return self._run_samples(plan, done)
            finished, changed = outcome
            done += finished
            if changed:
                return done
        return done

    def _run_samples(self, plan: Array, done: int) -> int:
        """Run planned samples from index ``done`` on one by one, as ``run_chunk``."""
        data, state = self._data, self._state
        control, position = data.ctrl, data.qpos
        first, log = self.recording.rows, self.recording.qpos
        loads, always = self.loads[: len(plan)], self._detects_always
        sensing, detect = self._sensing, self._detect
        controls = self._planned_controls(plan) if self._by_substeps else None
        for index in range(done, len(plan)):
            row = first + index
            if len(loads):
                self._gravity[:] = loads[index]
            if row:
                moves = None if controls is None else controls[index : index + 2]
                self._step_refined(row, plan[index], moves)
            if sensing is not None:
                sensing.sample(row, data)
            # without a contact, and none to lose, there is nothing to detect or to record
            if (data.ncon or always or any(state.contact.counts)) and detect(row):
                return index
            control[:] = plan[index]
            log[row] = position
        return len(plan)

    def _step_refined(self, row: int, after: Array, moves: Array | None) -> None:
        """Step one sample, with short steps where a force begins or ends in it."""
        refinement = self.refinement
        if self._layout.stiffening is not None:
            self._layout.stiffening.apply(self._model, self._data.ctrl)
        if self._suction is not None:
            self._suction.update(row, self._data)
        if not refinement.active:
            self.peaks.update(self._step(moves)[None], float(self._model.opt.timestep), row)
            return
        begin = None if refinement.is_finest else self._engine_state()
        peaks = self._step(moves)
        ahead = refinement.ahead(self._data, after)[None]
        if begin is not None and refinement.first_onset(ahead) is not None:
            self._restore(*begin)
            refinement.refine()
            peaks = self._step(moves)
            ahead = refinement.ahead(self._data, after)[None]
        self.peaks.update(peaks[None], float(self._model.opt.timestep), row)
        refinement.follow(ahead, self._data)

    def _step(self, controls: Array | None) -> Array:
        """Step one sample; return the largest normal force of each body in it, (nb,) [N]."""
        model, data, substeps = self._model, self._data, self.refinement.substeps
        if controls is not None:
            return self._step_by_substeps(controls)
        peaks = np.zeros(len(self._layout.bodies))
        for _ in range(substeps):
            mujoco.mj_step(model, data)
            if data.ncon:
                np.maximum(peaks, self._body_forces(), out=peaks)
        return peaks

    def _body_forces(self) -> Array:
        """Return the normal force of each body in the last step, (nb,) [N]."""
        return self._layout.body_forces(self._sensors)

    def saved(self) -> Snapshot:
        """Return the present state of the run."""
        errors = None if self._sensing is None else self._sensing.saved()
        engine, friction = self._engine_state()
        steps, previous = self.refinement.saved(), self._previous.copy()
        seals = () if self._suction is None else self._suction.saved()
        return Snapshot(engine, self._state.copy(), previous, friction, errors, steps, seals)

    def put_back(self, saved: Snapshot) -> None:
        """Restore an earlier state; recorded rows are kept, and frozen targets remain so."""
        self._restore(saved.engine, saved.friction)
        vars(self._state).update(vars(saved.controller.copy()))
        self._previous = saved.previous.copy()
        self.refinement.put_back(saved.steps)
        if self._sensing is not None and saved.sensing is not None:
            self._sensing.put_back(saved.sensing)
        if self._suction is not None:
            self._suction.put_back(saved.seals)
        self._path = np.zeros((0, 0))
        self._replan()

    def _engine_state(self) -> tuple[Array, FrictionState | None]:
        """Return the state of the engine and of switching friction."""
        engine, law = np.empty(mujoco.mj_stateSize(self._model, STATE)), self._friction
        mujoco.mj_getState(self._model, self._data, engine, STATE)
        return engine, None if law is None else (law.friction.copy(), law.slipping.copy())

    def _restore(self, engine: Array, friction: FrictionState | None) -> None:
        mujoco.mj_setState(self._model, self._data, engine, STATE)
        if self._friction is not None and friction is not None:
            self._friction.friction[:], self._friction.slipping[:] = friction

    def step_sample(self, targets: Array) -> None:
        """Step one sample towards externally set targets; nothing is detected or recorded.

        Args:
            targets: Targets of all actuators, (nd,).
        """
        state, lags = self._state, self._layout.lags
        if lags is not None:
            state.lagged = state.lagged or lags.at_rest(state.targets)
            sent = lags.follow(targets[None], state.targets, state.lagged)
            state.lagged = state.lagged.after(targets[None], state.targets, sent)
            state.targets, targets = targets.copy(), sent[0]
        self._data.ctrl[:] = targets
        controls = np.stack([self._previous, targets]) if self._by_substeps else None
        self._step_refined(0, targets, controls)

    def _planned_controls(self, plan: Array) -> Array:
        """Return the targets before, at and after all samples of a plan, (n + 2, nd)."""
        start = self._data.ctrl if self.recording.rows else self._previous
        return np.vstack([self._previous, start, plan[:-1]])

    def _step_by_substeps(self, controls: Array) -> Array:
        """Step one sample in single steps; prescribed joints move on a line between (2, nd)."""
        model, data, friction = self._model, self._data, self._friction
        substeps, prescribed = self.refinement.substeps, self._layout.prescribed
        joints, dofs = self._qpos_of_joints, self._dofs_of_joints
        move, peaks = controls[1] - controls[0], np.zeros(len(self._layout.bodies))
        velocity = move / (substeps * float(model.opt.timestep))
        for step in range(substeps):
            if prescribed:
                data.qpos[joints] = controls[0] + move * (step / substeps)
                data.qvel[dofs] = velocity
            mujoco.mj_step(model, data)
            if data.ncon:
                np.maximum(peaks, self._body_forces(), out=peaks)
                if friction is not None:
                    friction.update(data)
        self._previous = controls[1]
        return peaks

    def _detect(self, row: int) -> bool:
        """Record the forces of the last step and detect contact; True if it has changed."""
        state, layout = self._state, self._layout
        self.recording.force[row] = self._sensors
        forces = self._body_forces().tolist()
        if layout.feels and self._sensing is not None:
            # noise around zero is no touch
            felt = self._sensing.felt()
            self._felt = [*self._felt, felt][-layout.samples :]
            forces = [force if force > layout.threshold else 0.0 for force in felt]
        state.contact = debounce(forces, layout.threshold, layout.samples, state.contact)
        changed = any(state.contact.changes)
        if layout.stop_force is not None:
            changed |= self._detect_grip(forces, layout.stop_force)
        if layout.torque_limits is not None:
            ratios = (np.abs(self._data.actuator_force) / layout.torque_limits).tolist()
            state.strained = debounce(ratios, FULL_TORQUE, layout.samples, state.strained)
            changed |= any(state.strained.changes)
        # every further step of a state that is not a number would take a tenth of a second
        return changed or not math.isfinite(sum(forces))

    def _detect_grip(self, forces: list[float], target_force: float) -> bool:
        """Update which bodies touch, press, and reach the grip force; True if any changed."""
        state, samples = self._state, self._layout.samples
        apart = [float(force <= 0.0) for force in forces]
        state.separated = debounce(apart, 0.5, SEPARATION_FACTOR * samples, state.separated)
        separated, counts = state.separated.active, state.light_counts
        counts = [0 if off else count for off, count in zip(separated, counts, strict=True)]
        state.light, state.light_counts = light_touches(
            forces, state.in_contact, state.pressing, LIGHT_TOUCH_FACTOR * samples, counts
        )
        pressing = latch(state.in_contact, separated, state.pressing)
        state.gripped = debounce(forces, target_force, samples, state.gripped)
        weak = [int(force < RELEASE_RATIO * target_force) for force in forces]
        gripping = latch(state.gripped.active, weak, state.gripping)
        latched = (pressing, gripping) != (state.pressing, state.gripping)
        state.pressing, state.gripping = pressing, gripping
        changes = (*state.separated.changes, *state.gripped.changes, *state.light)
        return latched or any(changes)

    def _sampled_positions(self) -> Array:
        return np.asarray(self._data.qpos)

    def _command(self, targets: Array) -> None:
        self._data.ctrl[:] = targets
        self.recording.qpos[self.recording.rows] = self._data.qpos

    def _slow_down(self) -> bool:
        before = self._rate_factors
        self._rate_factors = self._approach.factors(self._data, self._state.targets)
        return bool((self._rate_factors != before).any())

    @cached_property
    def _approach(self) -> Approach:
        return Approach(self._model, self._layout)

    def _backtracked_targets(self, actuators: list[int]) -> Array:
        return self._backtracking.targets(self._data, self._state.targets, actuators)

    @cached_property
    def _backtracking(self) -> TargetBacktracking:
        return TargetBacktracking(self._model, self._layout)


def _slice_or_indices(indices: Integers) -> slice | Integers:
    """Return consecutive indices as a slice, with which arrays are assigned faster."""
    if not len(indices):
        return slice(0)
    consecutive = slice(int(indices[0]), int(indices[0]) + len(indices))
    same = np.array_equal(indices, np.arange(consecutive.start, consecutive.stop))
    return consecutive if same else indices


class TargetBacktracking:
    """Limits how far servo targets may lead their joints at first contact.

    Without it the lag of a moving servo presses with a force that depends on its rate. With no lag
    at all nothing stops an object that another finger has hit. So each servo keeps the torque that
    balances a fraction of the requested force, Jᵀ n F, where its finger touches, and the weight of
    the finger as far as it is not compensated.
    """

    def __init__(
        self, model: mujoco.MjModel, layout: ClosureLayout, contacts: ContactReader | None = None
    ) -> None:
        """Look up constant addresses.

        Args:
            model: The compiled scene.
            layout: Constants of a loop whose actuators stop at a force.
            contacts: Reads the contacts; by default those of MuJoCo.
        """
        self._model, self._layout = model, layout
        self._contacts = contacts or ContactReader(model)
        addresses = model.jnt_qposadr.tolist()
        self._dofs = [
            int(model.jnt_dofadr[addresses.index(address)]) if address >= 0 else -1
            for address in layout.joint_of_actuator.tolist()
        ]

    def targets(self, data: mujoco.MjData, targets: Array, actuators: Sequence[int]) -> Array:
        """Return the targets, those of some servos limited to a maximum lead.

        Args:
            data: The state of the engine after a step.
            targets: Targets of the last sample [rad or m], (nd,).
            actuators: Indices of the actuators that have begun to touch.
        """
        adjusted = targets.copy()
        points = self._contacts.read(data)
        for actuator in actuators:
            dof = self._dofs[actuator]
            if dof < 0 or not self._layout.increments[actuator]:
                continue
            joint = float(data.qpos[self._layout.joint_of_actuator[actuator]])
            max_lag = self._max_torque(data, actuator, points) / float(
                self._model.actuator_gainprm[actuator, 0]
            )
            adjusted[actuator] = limited_lead(float(targets[actuator]), joint, max_lag)
        return adjusted

    def _max_torque(
        self, data: mujoco.MjData, actuator: int, points: Sequence[ContactPoint]
    ) -> float:
        """Compute a servo's maximum torque: its fraction of the force, plus the weight."""
        layout, dof = self._layout, self._dofs[actuator]
        assert layout.stop_force is not None
        bodies = {layout.bodies[body] for body in layout.stops[actuator]}
        actuator_points = [point for point in points if point.body in bodies]
        pressing = sum(point.normal_force for point in actuator_points)
        torque = sum(
            point.normal_force * self._moment_arm(data, point, dof) for point in actuator_points
        )
        arm = abs(torque) / pressing if pressing > 0.0 else 0.0
        weight = abs(float(data.qfrc_bias[dof] - data.qfrc_gravcomp[dof]))
        return BACKTRACK_RATIO * layout.stop_force * arm + weight

    def _moment_arm(self, data: mujoco.MjData, point: ContactPoint, dof: int) -> float:
        """Return the torque per force along the contact normal [m]; no unit for sliding joints."""
        jacobian = np.zeros((3, self._model.nv))
        body = self._model.body(point.body).id
        mujoco.mj_jac(self._model, data, jacobian, None, np.array(point.point), body)
        return float(jacobian[:, dof] @ np.array(point.normal))
