"""The closed loop of one grasp: step, sample, judge, command, record."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Sequence
from functools import cached_property, partial
from typing import NamedTuple, TypeVar

import mujoco
import numpy as np
from numpy.typing import NDArray

from softgrasp.mechanics.transforms import Array
from softgrasp.model.scene import BuiltScene
from softgrasp.sim.closure_law import debounce, free_actuators, latch, light_touches, update_slip
from softgrasp.sim.contacts import ContactPoint, ContactReader
from softgrasp.sim.controller import (
    APART,
    KEPT,
    LIGHT,
    ClosureLayout,
    ClosureState,
    Integers,
    Recording,
)
from softgrasp.sim.motion_plan import planned_targets
from softgrasp.sim.sensors import SavedErrors, Sensing

LOOK_AHEAD = 512
"""Physics steps whose targets are computed at once, and between two looks at the run: some 10 ms
of work, so that little is lost where the user stops it or where it diverges."""
FIRST_AHEAD = 64
"""Samples that are planned after a change of contact, which is often soon followed by another."""

Outcome = TypeVar("Outcome")


def driven(running: Generator[Array, int, Outcome], run_chunk: Callable[[Array], int]) -> Outcome:
    """Run what yields plans to its end, every plan by a stretch, and return what it returns."""
    try:
        plan = next(running)
        while True:
            plan = running.send(run_chunk(plan))
    except StopIteration as end:
        outcome: Outcome = end.value
        return outcome


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
    def run_chunk(self, plan: Array) -> int:
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
        return driven(self.advancing(samples, idle_limit), self.run_chunk)

    def advancing(self, samples: int, idle_limit: int) -> Generator[Array, int, bool]:
        """The same where somebody else runs the stretches: yields plans, takes their outcome."""
        self.recording.reserve(samples)
        end = self.recording.rows + samples
        while True:
            available = min(end - self.recording.rows, self._samples_to_idle(idle_limit))
            plan = self._plan[self._used :][:available]
            before = self._state.in_contact.copy()
            done = yield plan
            self._keep(plan[:done], before)
            if done < len(plan):
                gave = self._backtrack()
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
            increments = np.where(
                self._touching, layout.contact_rate_scale * increments, increments
            )
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
            return free_actuators(layout.stops, state.in_contact), [False] * len(layout.stops)
        free = free_actuators(layout.stops, state.gripping)
        return free, [not clear for clear in free_actuators(layout.stops, state.pressing)]

    def _backtrack(self) -> bool:
        """Take targets of drives that touch, and did not squeeze so far, back to near their joints.

        Returns:
            Whether there were any.
        """
        layout, state = self._layout, self._state
        if layout.grip_force is None:
            return False
        clear = free_actuators(layout.stops, state.light)
        new_touches = [d for d, off in enumerate(clear) if not (off or self._touching[d])]
        if new_touches:
            state.targets = self._backtracked_targets(new_touches)
        return bool(new_touches)

    def _backtracked_targets(self, actuators: list[int]) -> Array:
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


# --------------------
# The closed loop on an engine state of its own, a sample after the other.


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


# --------------------
# How far a servo may lag behind its target when its drive begins to squeeze.


SAFETY_FACTOR = 0.8
"""Of the asked force that a finger may press with at once. What it does not press with it must
close again, slowly, and an object that others have pushed is by then gone."""


class TargetBacktracking:
    """Takes targets back from where they have run ahead of their joints."""

    def __init__(self, model: mujoco.MjModel, layout: ClosureLayout) -> None:
        """Look up once what does not change.

        Args:
            model: The compiled scene.
            layout: Of the loop; drives that stop at a force.
        """
        self._model, self._layout = model, layout
        self._contacts = ContactReader(model)
        addresses = model.jnt_qposadr.tolist()
        self._dofs = [
            int(model.jnt_dofadr[addresses.index(address)]) if address >= 0 else -1
            for address in layout.joint_of_actuator.tolist()
        ]

    def targets(self, data: mujoco.MjData, targets: Array, actuators: Sequence[int]) -> Array:
        """Targets with the lag of some drives cut to what holds the finger and presses lightly.

        Without it the lag of a moving servo squeezes with a force that depends on its rate. With
        no lag at all nothing stops an object that another finger has hit. So each servo keeps the
        torque that balances a share of the asked force, Jᵀ n F, where its finger touches, and
        the weight of the finger.

        Args:
            data: The state of the engine, after a step.
            targets: Of the last sample [rad or m], (nd,).
            actuators: Those that have begun to touch.
        """
        adjusted = targets.copy()
        points = self._contacts.read(data)
        for actuator in actuators:
            dof = self._dofs[actuator]
            if dof < 0 or not self._layout.increments[actuator]:
                continue
            joint = float(data.qpos[self._layout.joint_of_actuator[actuator]])
            lag = float(targets[actuator]) - joint
            max_lag = self._torque(data, actuator, points) / float(
                self._model.actuator_gainprm[actuator, 0]
            )
            adjusted[actuator] = joint + min(max(lag, -max_lag), max_lag)
        return adjusted

    def _torque(self, data: mujoco.MjData, actuator: int, points: Sequence[ContactPoint]) -> float:
        """What a servo may give: for its share of the asked force, and for the weight it holds."""
        layout, dof = self._layout, self._dofs[actuator]
        assert layout.grip_force is not None
        bodies = {layout.bodies[body] for body in layout.stops[actuator]}
        actuator_points = [point for point in points if point.body in bodies]
        pressing = sum(point.normal_force for point in actuator_points)
        torque = sum(point.normal_force * self._arm(data, point, dof) for point in actuator_points)
        arm = abs(torque) / pressing if pressing > 0.0 else 0.0
        return SAFETY_FACTOR * layout.grip_force * arm + abs(float(data.qfrc_bias[dof]))

    def _arm(self, data: mujoco.MjData, point: ContactPoint, dof: int) -> float:
        """Torque of a unit force along the normal [m]; no unit for a joint that slides."""
        along = np.zeros((3, self._model.nv))
        body = self._model.body(point.body).id
        mujoco.mj_jac(self._model, data, along, None, np.array(point.point), body)
        return float(along[:, dof] @ np.array(point.normal))


# --------------------
# Static and dynamic friction: the coefficient of a pair follows its slip speed, step by step.
#
# MuJoCo has one coefficient a pair. A pair that slips faster than the critical velocity gets the
# dynamic one for the next step, any other the static one (paper 004, Table 2, "stick-slip").


class SlipFriction(NamedTuple):
    """The law's constants and its memory, for a model whose friction it changes."""

    critical: Array
    """Slip speed above which each pair slides [m/s], (np,)."""
    coefficients: Array
    """Static and dynamic, (np, 2)."""
    pair_of: Integers
    """Index of the pair of two geoms, −1 where its friction does not switch, (ng, ng)."""
    friction: Array
    """``pair_friction`` of the model, (np, 5); changed."""
    slipping: Integers
    """1 for a pair that slides, (np,); changed."""
    seen: Integers
    """Zeros, (np,); scratch."""

    @classmethod
    def of(cls, built: BuiltScene) -> SlipFriction | None:
        """The law of a scene, with every pair sticking; None where its friction does not switch.

        Args:
            built: The scene.
        """
        if not built.switching:
            return None
        model = built.model
        pair_of = np.full((model.ngeom, model.ngeom), -1, dtype=np.int64)
        critical, coefficients = np.zeros(model.npair), np.zeros((model.npair, 2))
        for index in range(model.npair):
            contact = built.switching.get(model.pair(index).name)
            if contact is not None:
                first, second = int(model.pair_geom1[index]), int(model.pair_geom2[index])
                pair_of[first, second] = pair_of[second, first] = index
                critical[index] = contact.critical_velocity
                coefficients[index] = contact.static_friction, contact.kinetic_friction
        slipping, seen = np.zeros((2, model.npair), dtype=np.int64)
        return cls(critical, coefficients, pair_of, model.pair_friction, slipping, seen)

    def update(self, data: mujoco.MjData) -> None:
        """Judge the slip of every contact in the step that has just been computed.

        A pair that has lost contact keeps its coefficient: it may only have hopped.
        """
        if data.ncon == 0:
            return
        contact = data.contact
        geoms: NDArray[np.int32] = contact.geom
        pairs = self.pair_of[geoms[:, 0], geoms[:, 1]].tolist()
        rows, velocities = contact.efc_address.tolist(), data.efc_vel.tolist()
        if update_slip(pairs, rows, velocities, self.critical, self.slipping, self.seen):
            for pair in set(pairs) - {-1}:
                self.friction[pair, :2] = self.coefficients[pair, self.slipping[pair]]
