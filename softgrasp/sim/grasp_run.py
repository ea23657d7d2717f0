"""One grasp in MuJoCo from start to end: phases of a sequence, closure, hold test or lift.

``ClosureRun`` has the engine state, the controller, the recording and the contact log of a running
grasp. Its phases are generators of plans (targets of coming control samples). The pushes and pulls
of a hold test are in ``hold_test.py``.
"""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Callable
from functools import cached_property
from typing import Protocol

import mujoco
import numpy as np

from softgrasp.description.arm import HandCarrier
from softgrasp.description.object import Lift
from softgrasp.description.scene import GraspScene
from softgrasp.description.task import ClosePhase, MovePhase, Phase, ReleasePhase, SuccessCriterion
from softgrasp.extensions import CARRIERS
from softgrasp.io.files import delayed_interrupt
from softgrasp.mechanics.transforms import Array
from softgrasp.model.closing_check import closing_obstacle
from softgrasp.model.object import REMOVED, find_removed_bodies
from softgrasp.model.scene import CompiledScene, start_targets
from softgrasp.sim.contacts import ContactPoint, ContactReader, OtherPoint, contact_points
from softgrasp.sim.control_state import (
    ClosureState,
    Peaks,
    Recording,
    Workspace,
    caught_warnings,
    closure_layout,
    has_diverged,
)
from softgrasp.sim.friction import SlipFriction
from softgrasp.sim.hold_test import DisturbanceTests, gravity_steps
from softgrasp.sim.laws import GRIP_INTERVAL
from softgrasp.sim.load_balance import WINDOW, LoadRecord, LoadSampler
from softgrasp.sim.motion_plan import MountTrajectory, PhaseRows, finger_path, lift_path
from softgrasp.sim.run_record import ContactEvent, EngineRecord, EventLog, PullRecord, PushRecord
from softgrasp.sim.sensors import Sensing
from softgrasp.sim.step_refinement import StepRefinement
from softgrasp.sim.stepper import MujocoStepper, Plans, Stepper, driven
from softgrasp.sim.stiffness_feedback import StiffnessFeedback
from softgrasp.sim.suction import Suction

MAX_ROWS = 100_000
"""Rows that the recording has at first; it grows."""
LARGEST_SPEED = 300.0
"""Norm of all joint velocities [rad/s or m/s] above which a run has diverged, before it is NaN."""
FARTHEST, LARGEST_FORCE = 1e3, 1e9
"""Positions [rad or m] and forces [N] from which on rows of a diverged run are discarded."""
SETTLING_SAMPLES = 200
"""Control samples after a guarded move in which wrist and object come to rest."""
GRACE = 0.5
"""Time that a closure without a specified duration may take longer than its slowest joint [s]."""


class Progress(Protocol):
    """Function that is called with the simulated time [s] from time to time."""

    def __call__(self, time: float, /) -> None:
        """Receive the simulated time [s]."""


class ClosureRun:
    """A grasp simulated in MuJoCo: its state, its controller and its event log."""

    def __init__(
        self,
        built: CompiledScene,
        progress: Progress | None = None,
        *,
        workspace: Workspace | None = None,
    ) -> None:
        """Put the scene into its start state.

        Args:
            built: The scene; switching friction and the hold test change its model.
            progress: Called with the simulated time from time to time.
            workspace: Memory to use. The next run may use it again, which overwrites the state and
                the recording of this one.
        """
        self.built, self.scene = built, built.scene
        self.model = built.model
        built.start.write(self.model)
        self.layout = closure_layout(built)
        step = float(self.model.opt.timestep)
        self.engine = EngineRecord("mujoco", mujoco.__version__, self.scene.integrator, step)
        self.state = ClosureState.at_start(
            start_targets(self.scene), len(built.bodies), self.layout.samples
        )
        self.log = EventLog(built)
        self.engine_warnings: Counter[str] = Counter()
        self.diverged = False
        self.finished = False
        """Whether the run came to its end: neither diverged nor interrupted."""
        self.refusal = ""
        """Why the hand cannot close, where it was not moved; else empty."""
        self.remarks: tuple[str, ...] = ()
        """What the engine notes about the run, besides its warnings."""
        self.hold_from: int | None = None
        """Row at which the hold test, or the lift, began: the end of the closure."""
        self._stopped_by: float | None = None
        self.phases: list[PhaseRows] = []
        """Phases so far."""
        self.trials: list[PushRecord] = []
        """Pushes of the hold test so far."""
        self.pulls: list[PullRecord] = []
        """Pulls of the hold test so far."""
        self.loads: list[LoadRecord] = []
        """What bore the object at the ends of loaded parts so far."""
        self.closing_others: list[OtherPoint] = []
        """Contacts other than of the hand on an object at the end of the closure."""
        self._logging = True
        self._closes = False
        self._progress = progress
        self._raise_interrupt: Callable[[], None] = lambda: None
        self._workspace = workspace or Workspace()
        self.sensing = Sensing(built) if self.scene.sensors else None
        self.suction = Suction.of(built)
        self.stiffness = StiffnessFeedback(built)
        self._stepper = self._new_stepper()

    @cached_property
    def data(self) -> mujoco.MjData:
        """MuJoCo state of the run."""
        data = self._workspace.data(self.model)
        mujoco.mj_resetDataKeyframe(self.model, data, 0)
        return data

    @property
    def events(self) -> list[ContactEvent]:
        """Changes of contact so far."""
        return self.log.events

    @property
    def recording(self) -> Recording:
        """Time series recorded so far."""
        return self._stepper.recording

    @property
    def peaks(self) -> Peaks | None:
        """Largest forces in any physics step so far; None in an engine that does not know them."""
        return self._stepper.peaks if isinstance(self._stepper, MujocoStepper) else None

    @property
    def max_samples(self) -> int:
        """Largest number of control samples of a plan."""
        return self._stepper.max_samples

    @property
    def now(self) -> float:
        """Time of the last control sample [s]."""
        return float(self.recording.time[self.recording.rows - 1])

    def contact_points(self) -> list[ContactPoint]:
        """Read the contacts with objects in the state of the last physics step."""
        return contact_points(self.model, self.data)

    def other_points(self) -> list[OtherPoint]:
        """Read the contacts without the hand on an object, of the last physics step."""
        return self._contacts.others(self.data)

    def run(self) -> None:
        """Run the sequence, or the closure, and then the hold test or the lift.

        A run that the user stops after the first sample is left unfinished.

        Raises:
            KeyboardInterrupt: The user has stopped it before.
        """
        warned, interruptible = caught_warnings(self.engine_warnings), delayed_interrupt()
        try:
            with warned, interruptible as self._raise_interrupt:
                driven(self.running(), self._stepper.run_chunk)
        except KeyboardInterrupt:
            if self.recording.rows == 0:
                raise

    def close(self) -> None:
        """Close the hand without a hold test; warnings of MuJoCo are not collected."""
        driven(self._closing(), self._stepper.run_chunk)

    def running(self) -> Plans:
        """Yield the plans of the whole run; see ``Stepper.advancing``."""
        success, lift = self.scene.success, self.scene.lift
        self.refusal = closing_obstacle(self.built)
        if self.refusal:  # the first sample is the start
            yield from self.advancing(1)
            return
        for phase in self.scene.steps:
            yield from self._as_phase(phase.label, self._phase(phase), phase)
        if success is not None and success.gravity is not None:
            yield from self._as_phase("hold test", self._gravity_ramp(success))
        for phase in success.motion if success is not None else ():
            yield from self._as_phase(phase.label, self._phase(phase), phase)
        if success is not None and (success.directions or success.pulls) and not self.diverged:
            yield from self._disturbances(success)
        if lift is not None:
            yield from self._as_phase("lift", self._lifting(lift))
        self.finished = not self.diverged

    def _as_phase(self, name: str, plans: Plans, phase: Phase | None = None) -> Plans:
        """Run a phase unless the run has diverged, and store which rows belong to it."""
        if self.diverged:
            return
        begin, self._stopped_by = max(self.recording.rows - 1, 0), None
        yield from plans
        end = self.recording.rows - 1
        self.phases.append(PhaseRows(name, begin, end, phase, self._stopped_by))

    def _phase(self, phase: Phase) -> Plans:
        if isinstance(phase, ClosePhase):
            self._stepper.follow_rates()
            if len(targets := carrier_path(self.scene, max_rows(self.scene))):
                self._stepper.lead(len(self.scene.actuators), targets)
            self.state.idle = 0
            yield from self._closing()
            if not self.diverged and (self.scene.success or self.scene.lift or self.scene.sequence):
                self.hold_from = self.recording.rows - 1
                self.closing_others = self.other_points()
                self.model.body_pos[find_removed_bodies(self.model, self.scene), 2] -= REMOVED
                if not self.scene.closure.stays_on:
                    self._stepper.freeze()
            return
        samples = max(round(phase.time / self.scene.control_period), 1)
        actuator_count = len(self.scene.actuators)
        path = self._trajectory.through(phase, samples)
        first = actuator_count
        if self.hold_from is None or isinstance(phase, ReleasePhase):  # it moves the fingers, too
            fingers = finger_path(self.scene, phase, self.state.targets[:actuator_count], samples)
            path, first = np.hstack([fingers, path]), 0
            if self.recording.rows == 0:  # the first sample is the start
                path = np.vstack([self.state.targets, path])
            if self.hold_from is not None:
                self._stepper.freeze()
        advancing = self.advancing if self.hold_from is None else self.weighed
        if first == 0 or phase.moves_wrist:
            self._stepper.lead(first, path)
        if isinstance(phase, MovePhase) and phase.max_force is not None:
            yield from self._until_pressed(len(path), phase.max_force)
            path = np.tile(self.state.targets[first:], (SETTLING_SAMPLES, 1))
            self._stepper.lead(first, path)
        yield from advancing(len(path))

    def _until_pressed(self, samples: int, max_force: float) -> Plans:
        """Run a move to its end, or until other things press on hand and object with a force."""
        read, carrier = self._contacts.outside_force, len(self.scene.actuators)
        start, over = read(self.data), 0
        for left in reversed(range(samples)):
            yield from self.advancing(1)
            force = float(np.linalg.norm(read(self.data) - start))
            over = over + 1 if force > max_force else 0
            if self.diverged:
                return
            if over == self.layout.samples:
                self._trajectory.stop(left, self.state.targets[carrier:].copy())
                self._stopped_by = force
                return

    @cached_property
    def _trajectory(self) -> MountTrajectory:
        return MountTrajectory(self.scene)

    def _closing(self) -> Plans:
        scene = self.scene
        has_duration = scene.duration is not None
        total = plan_samples(self.scene) - min(self.recording.rows, 1)
        settle = round(scene.settling_time / scene.control_period)
        self._closes = True
        yield from self.advancing(total, idle_limit=total + 1 if has_duration else max(settle, 1))
        self._closes = False
        if not self.diverged:
            self._stepper.limit_grip()

    def _gravity_ramp(self, criterion: SuccessCriterion) -> Plans:
        period = self.scene.control_period
        steps = [*gravity_steps(criterion, self.model.opt.gravity.copy(), period)]
        samples, loads = zip(*steps, strict=True)
        self._stepper.loads = np.repeat(loads, samples, axis=0)
        yield from self.weighed(sum(samples))

    def _disturbances(self, criterion: SuccessCriterion) -> Plans:
        """Push and pull the object, each time from the present state."""
        assert isinstance(self._stepper, MujocoStepper)
        tests = DisturbanceTests(self, self._stepper, criterion, self._contacts)
        # contacts during a test are not those of the grasp, to whose state every test returns
        self._logging = False
        for test in tests.all():
            yield from self._as_phase(test.label, test.plans)
            if self.diverged:
                return
            test.record(self.phases[-1])
        tests.put_back()
        yield from self._as_phase("closed", self.advancing(1))
        self._logging = True

    def _lifting(self, lift: Lift) -> Plans:
        period = self.scene.control_period
        samples = max(round(lift.time / period), 1)
        self._stepper.lead(len(self.scene.actuators), lift_path(self.scene, lift, samples))
        yield from self.weighed(samples + round(lift.hold_time / period))

    def weighed(self, samples: int) -> Plans:
        """Run the samples of a loaded part, and record what bears the object in the last ones."""
        late = min(WINDOW, samples)
        yield from self.advancing(samples - late)
        sampler = self._sampler
        sampler.start(self.data)
        for _ in range(late):
            yield from self.advancing(1)
            if self.diverged:
                return
            sampler.sample(self.data)
        self.loads.append(sampler.record(self.data, self.recording.rows - 1))

    def advancing(self, samples: int, idle_limit: int | None = None) -> Plans:
        """Run some control samples, or until no target has moved for ``idle_limit`` of them."""
        end = self.recording.rows + samples
        limit = samples + self.state.idle + 1 if idle_limit is None else idle_limit
        while self.recording.rows < end and not self.diverged:
            rows = self.recording.rows
            corrected_row, grip_row = self.stiffness.next_row, self._next_grip_row()
            ends = (end, corrected_row + 1, grip_row + 1)
            samples = min(self._stepper.max_samples, min(ends) - rows)
            changed = yield from self._stepper.advancing(samples, limit)
            if self._has_failed():
                self.diverged = True
                self._discard_diverged_rows()
                return
            if changed:
                self._log_changes()
            if self.recording.rows == corrected_row + 1:
                self.stiffness.correct(self.data, corrected_row)
            if self.recording.rows == grip_row + 1:
                self._stepper.limit_grip()
            if self._progress is not None:
                self._progress(self.now)
            self._raise_interrupt()
            if self.state.idle >= limit:
                return

    def _next_grip_row(self) -> int:
        """Return the next row at which leads of servos are limited; beyond all rows if none is."""
        if not (self._closes and self._stepper.limits_force):
            return sys.maxsize - 1
        return math.ceil(max(self.recording.rows, 1) / GRIP_INTERVAL) * GRIP_INTERVAL

    def _has_failed(self) -> bool:
        # written so that a speed that is not a number counts as too fast
        slow = math.hypot(*self.data.qvel.tolist()) < LARGEST_SPEED
        return not slow or has_diverged(self.data)

    def _discard_diverged_rows(self) -> None:
        recording = self.recording
        with np.errstate(invalid="ignore"):
            # NaN is not below a limit
            valid = (np.abs(recording.qpos[: recording.rows]) < FARTHEST).all(axis=1)
            valid &= (np.abs(recording.force[: recording.rows]) < LARGEST_FORCE).all(axis=1)
        bad = np.flatnonzero(~valid)
        # the row before the first bad one was already diverging
        recording.cut(max(int(bad[0]) - 1, 1) if bad.size else recording.rows)

    @cached_property
    def _contacts(self) -> ContactReader:
        return ContactReader(self.model)

    @cached_property
    def _sampler(self) -> LoadSampler:
        return LoadSampler(self.scene, self._contacts)

    def _log_changes(self) -> None:
        if not self._logging:
            return
        changes = self.state.contact.changes
        bodies = zip(self.built.bodies, changes, strict=True)
        points = self._contacts.read(self.data, [body for body, change in bodies if change])
        self.log.record(self.now, changes, lambda: points)

    def _new_stepper(self) -> Stepper:
        # rows that are not used cost nothing
        bodies, width = len(self.built.bodies), self.layout.force_sum.shape[1]
        rows = min(max_rows(self.scene), MAX_ROWS)
        recording = self._workspace.recording(self.model, bodies, width, rows)
        friction = SlipFriction.of(self.built)
        return MujocoStepper(
            self.model,
            self.data,
            self.layout,
            self.state,
            recording,
            StepRefinement(self.layout, self.stiffness, self.model, self.built.fine),
            friction,
            self.sensing,
            self.engine_warnings,
            self.suction,
        )


def carrier_path(scene: GraspScene, samples: int) -> Array:
    """Compute the prescribed targets of a compliant hand carrier over time, (samples, n).

    Without such a carrier, or with constant targets, there are no rows.
    """
    if not isinstance(scene.arm, HandCarrier):
        return np.zeros((0, 0))
    path: Array = CARRIERS.load(scene.arm.kind, "path")(scene, samples)
    return path


def plan_samples(scene: GraspScene) -> int:
    """Return the largest number of control samples of a closure."""
    lags = [finger.finger.pressure_lag for finger in scene.hand.soft_fingers]
    extra = scene.closure.extra_time(scene.hand, scene.preset)
    extra += max((lag.settling for lag in lags if lag is not None), default=0.0)
    duration = scene.duration or scene.longest_closure + GRACE + extra
    return round(duration / scene.control_period) + 1


def max_rows(scene: GraspScene) -> int:
    """Return the largest number of control samples of a whole run, all phases included."""
    success = scene.success
    parts = len(scene.phases) + SETTLING_SAMPLES * scene.guarded_moves
    parts += 0 if success is None else len(success.directions) + len(success.pulls)
    # one more per part, and two, for what rounding may add
    besides = round(scene.time_besides_closing / scene.control_period)
    return plan_samples(scene) + besides + parts + 1
