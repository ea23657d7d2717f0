"""One grasp in MuJoCo from start to end: a sequence around a closure, and its hold test."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from functools import cached_property, partial
from typing import NamedTuple, Protocol

import mujoco
import numpy as np

from softgrasp.description.arm import HandCarrier
from softgrasp.description.base import Vec3
from softgrasp.description.object import Lift
from softgrasp.description.scene import GraspScene
from softgrasp.description.task import ClosePhase, Phase, Pull, SuccessCriterion
from softgrasp.extensions import CARRIERS, load
from softgrasp.mechanics.transforms import Array
from softgrasp.model import names
from softgrasp.model.deformable import node_bodies
from softgrasp.model.scene import BuiltScene, start_targets
from softgrasp.sim.compiled import NativeStepper, native_pays
from softgrasp.sim.compiled_loop import data_map
from softgrasp.sim.contacts import ContactPoint, ContactReader, OtherPoint, contact_points
from softgrasp.sim.controller import ClosureState, Recording, closure_layout
from softgrasp.sim.engine import Workspace, caught_warnings, has_diverged, held_back
from softgrasp.sim.hold_test import (
    SLIP_TIME,
    Gone,
    Pulled,
    SlipWatch,
    Trial,
    direction_label,
    friction_limit,
    pull_forces,
    pull_rate,
    push_steps,
)
from softgrasp.sim.motion_plan import (
    MountTrajectory,
    PhaseRows,
    finger_path,
    gravity_steps,
    lift_path,
)
from softgrasp.sim.result import ContactEvent
from softgrasp.sim.run_record import Engine, EventLog, FinishedRun
from softgrasp.sim.sensors import Sensing
from softgrasp.sim.stepper import MujocoStepper, PlainStepper, SlipFriction, Stepper, driven

Plans = Generator[Array, int, None]
"""Yields targets of coming samples, and takes how many of them were finished."""


MAX_ROWS = 100_000
"""Rows of the recording to begin with; it grows."""
LARGEST_SPEED = 300.0
"""Speed [rad/s or m/s] no part of a grasp reaches: the state has diverged before it is NaN."""
FARTHEST, LARGEST_FORCE = 1e3, 1e9
"""Angles, places and forces [rad or m, N] that no grasp reaches either; rows that have them are
not kept."""
GRACE = 0.5
"""Without a given duration a closure may take this much longer than its longest joint [s]."""

Progress = Callable[[float], None]
"""Called with the simulated time [s]."""


class ClosureRun:
    """A running grasp: its engine state, its controller and its log."""

    def __init__(
        self,
        built: BuiltScene,
        progress: Progress | None = None,
        *,
        stepper: type[MujocoStepper] | None = None,
        workspace: Workspace | None = None,
    ) -> None:
        """Put the scene into its start state.

        Args:
            built: The scene; the friction law and the hold test change its model.
            progress: Called with the simulated time now and then.
            stepper: How to run the closed loop; the faster one where it is not given.
            workspace: Memory to use, which the next run may use again; this one's state and
                recording are then gone.
        """
        self.built, self.scene = built, built.scene
        self.model = built.model
        self.layout = closure_layout(built)
        step = float(self.model.opt.timestep)
        self.engine = Engine("mujoco", mujoco.__version__, self.scene.integrator, step)
        self.state = ClosureState.at_start(
            start_targets(self.scene), len(built.bodies), self.layout.samples
        )
        self.log = EventLog(built)
        self.engine_warnings: Counter[str] = Counter()
        self.diverged = False
        self.finished = False
        """Whether the run came to its own end: neither diverged nor interrupted."""
        self.hold_from: int | None = None
        """Row at which the hold test, or the lift, began: the end of the closure."""
        self.phases: list[PhaseRows] = []
        """What it has gone through."""
        self.trials: list[Trial] = []
        """Directions of the hold test that were tried."""
        self.pulls: list[Pulled] = []
        """Pulls of the hold test."""
        self._silent = False
        self._progress = progress
        self._let_interrupt: Callable[[], None] = lambda: None
        self._workspace = workspace or Workspace()
        self.sensing = Sensing(built) if self.scene.sensors else None
        self._stepper = self._new_stepper(stepper)

    @cached_property
    def data(self) -> mujoco.MjData:
        """The state of the engine."""
        data = self._workspace.data(self.model)
        mujoco.mj_resetDataKeyframe(self.model, data, 0)
        return data

    @property
    def events(self) -> list[ContactEvent]:
        """Contacts that began or ended so far."""
        return self.log.events

    @property
    def recording(self) -> Recording:
        """The rows so far."""
        return self._stepper.recording

    @property
    def look_ahead(self) -> int:
        """Most control samples of a plan."""
        return self._stepper.look_ahead

    @property
    def now(self) -> float:
        """Time of the last control sample [s]."""
        return float(self.recording.time[self.recording.rows - 1])

    def contact_points(self) -> list[ContactPoint]:
        """Contacts with objects in the state of the last physics step."""
        return contact_points(self.model, self.data)

    def other_points(self) -> list[OtherPoint]:
        """Contacts in which the hand touches no object, in the state of the last physics step."""
        return self._contacts.others(self.data)

    def run(self) -> None:
        """Go through the sequence, or close the hand, and then the hold test or the lift."""
        with caught_warnings() as self.engine_warnings, held_back() as self._let_interrupt:
            driven(self.running(), self._stepper.run_chunk)

    def close(self) -> None:
        """Close the hand; ``run`` does this and the hold test, and keeps the engine's warnings."""
        driven(self._closing(), self._stepper.run_chunk)

    def running(self) -> Plans:
        """The whole run, where somebody else does its stretches; see ``Stepper.advancing``."""
        success, lift = self.scene.success, self.scene.lift
        for phase in self.scene.sequence or (ClosePhase(),):
            yield from self._noted(phase.label, self._going_through(phase))
        if success is not None and success.gravity is not None:
            yield from self._noted("hold test", self._loading(success))
        for phase in success.motion if success is not None else ():
            yield from self._noted(phase.label, self._going_through(phase))
        if success is not None and (success.directions or success.pulls) and not self.diverged:
            yield from self._trying(success)
        if lift is not None:
            yield from self._noted("lift", self._lifting(lift))
        self.finished = not self.diverged

    def _noted(self, name: str, plans: Plans) -> Plans:
        """Run a part of the whole, where nothing has gone wrong yet, and note where it was."""
        if self.diverged:
            return
        begin = max(self.recording.rows - 1, 0)
        yield from plans
        self.phases.append(PhaseRows(name, begin, self.recording.rows - 1))

    def _going_through(self, phase: Phase) -> Plans:
        if isinstance(phase, ClosePhase):
            self._stepper.let_go()
            if len(targets := carrier_path(self.scene, max_rows(self.scene))):
                self._stepper.lead(len(self.scene.actuators), targets)
            self.state.idle = 0
            yield from self._closing()
            if not self.diverged and (self.scene.success or self.scene.lift or self.scene.sequence):
                self.hold_from = self.recording.rows - 1
            return
        samples = max(round(phase.time / self.scene.control_period), 1)
        actuator_count = len(self.scene.actuators)
        path = self._trajectory.through(phase, samples)
        if self.hold_from is None:  # before the closure the fingers are led, too
            fingers = finger_path(self.scene, phase, self.state.targets[:actuator_count], samples)
            path = np.hstack([fingers, path])
            if self.recording.rows == 0:  # the first sample is the start, before any way
                path = np.vstack([self.state.targets, path])
            self._stepper.lead(0, path)
        elif phase.moves_wrist:
            self._stepper.lead(actuator_count, path)
        yield from self.advancing(len(path))

    @cached_property
    def _trajectory(self) -> MountTrajectory:
        return MountTrajectory(self.scene)

    def _closing(self) -> Plans:
        scene = self.scene
        has_duration = scene.duration is not None
        total = planned_samples(self.scene) - min(self.recording.rows, 1)
        settle = round(scene.settling_time / scene.control_period)
        yield from self.advancing(total, idle_limit=total + 1 if has_duration else max(settle, 1))

    def _empty_recording(self) -> Recording:
        # rows that are not used cost nothing
        bodies, width = len(self.built.bodies), self.layout.force_sum.shape[1]
        return self._workspace.recording(
            self.model, bodies, width, min(max_rows(self.scene), MAX_ROWS)
        )

    def _new_stepper(self, kind: type[MujocoStepper] | None) -> Stepper:
        recording = self._empty_recording()
        friction = SlipFriction.of(self.built)
        if kind is None:
            kind = NativeStepper if native_pays(planned_samples(self.scene)) else PlainStepper
        if friction is not None and data_map() is None:
            kind = PlainStepper  # compiled code does not find the contacts
        if self.layout.grip_force is not None or self.layout.torque_limits is not None:
            kind = PlainStepper  # compiled code judges contact only
        if self.sensing is not None:
            kind = PlainStepper  # sensors are read in Python
        run = (self.model, self.data, self.layout, self.state, recording)
        return kind(*run, friction, self.sensing)

    def _loading(self, criterion: SuccessCriterion) -> Plans:
        period = self.scene.control_period
        steps = [*gravity_steps(criterion, self.model.opt.gravity.copy(), period)]
        samples, loads = zip(*steps, strict=True)
        self._stepper.loads = np.repeat(loads, samples, axis=0)
        yield from self.advancing(sum(samples))

    def _trying(self, criterion: SuccessCriterion) -> Plans:
        """Push and pull the object, each time from the state that there is now."""
        assert isinstance(self._stepper, MujocoStepper)  # can_be_batched
        attempts = Attempts(self, self._stepper, criterion, self._contacts)
        # contacts of a trial are not those of the grasp, to whose state every one goes back
        self._silent = True
        for attempt in attempts.all():
            yield from self._noted(attempt.label, attempt.plans)
            if self.diverged:
                return
            attempt.end(self.phases[-1])
        attempts.put_back()
        yield from self._noted("closed", self.advancing(1))
        self._silent = False

    def _lifting(self, lift: Lift) -> Plans:
        period = self.scene.control_period
        samples = max(round(lift.time / period), 1)
        self._stepper.lead(len(self.scene.actuators), lift_path(self.scene, lift, samples))
        yield from self.advancing(samples + round(lift.hold_time / period))

    def advancing(self, samples: int, idle_limit: int | None = None) -> Plans:
        """Go on for some control samples, or until ``idle_limit`` of them have changed nothing."""
        end = self.recording.rows + samples
        limit = samples + self.state.idle + 1 if idle_limit is None else idle_limit
        while self.recording.rows < end and not self.diverged:
            samples = min(self._stepper.look_ahead, end - self.recording.rows)
            changed = yield from self._stepper.advancing(samples, limit)
            if self._went_wrong():
                self.diverged = True
                self._forget_diverged_rows()
                return
            if changed:
                self._record_changes()
            if self._progress is not None:
                self._progress(self.now)
            self._let_interrupt()
            if self.state.idle >= limit:
                return

    def _went_wrong(self) -> bool:
        # written so that a speed that is not a number counts as too fast
        slow = math.hypot(*self.data.qvel.tolist()) < LARGEST_SPEED
        return not slow or has_diverged(self.data)

    def _forget_diverged_rows(self) -> None:
        recording = self.recording
        with np.errstate(invalid="ignore"):
            # a number that is not one is not below a limit
            sane = (np.abs(recording.qpos[: recording.rows]) < FARTHEST).all(axis=1)
            sane &= (np.abs(recording.force[: recording.rows]) < LARGEST_FORCE).all(axis=1)
        bad = np.flatnonzero(~sane)
        # the row before the first bad one was already on its way there
        recording.cut(max(int(bad[0]) - 1, 1) if bad.size else recording.rows)

    @cached_property
    def _contacts(self) -> ContactReader:
        return ContactReader(self.model)

    def _record_changes(self) -> None:
        if self._silent:
            return
        bodies = zip(self.built.bodies, self.state.changes, strict=True)
        points = self._contacts.read(self.data, [body for body, change in bodies if change])
        self.log.record(self.now, self.state.changes, lambda: points)


def carrier_path(scene: GraspScene, samples: int) -> Array:
    """Compute the prescribed targets of a compliant carrier in time, (samples, n).

    No rows where there is no such carrier, or nothing changes its targets.
    """
    if not isinstance(scene.arm, HandCarrier):
        return np.zeros((0, 0))
    path: Array = load(CARRIERS[scene.arm.kind].path)(scene, samples)
    return path


def planned_samples(scene: GraspScene) -> int:
    """Most control samples that a closure takes."""
    extra = scene.closure.extra_time(scene.hand, scene.preset)
    duration = scene.duration or scene.longest_closure + GRACE + extra
    return round(duration / scene.control_period) + 1


def max_rows(scene: GraspScene) -> int:
    """Most control samples of a whole run, all phases and the hold test or the lift included."""
    success = scene.success
    parts = len(scene.phases)
    parts += 0 if success is None else len(success.directions) + len(success.pulls)
    # two, and one for each part, for what rounding may add
    besides = round(scene.time_besides_closing / scene.control_period)
    return planned_samples(scene) + besides + parts + 1


# --------------------
# Pushes and pulls of a hold test, each from one and the same closed state.


class RunningGrasp(FinishedRun, Protocol):
    """A run that goes on."""

    def advancing(self, samples: int) -> Plans:
        """Go on for some control samples."""


class Attempt(NamedTuple):
    """A push or a pull that is to be made."""

    label: str
    plans: Plans
    """Runs it."""
    end: Callable[[PhaseRows], None]
    """Notes what came of it; its rows are those of the phase."""


class Attempts:
    """All pushes and pulls of a criterion, in its order."""

    def __init__(
        self,
        run: RunningGrasp,
        stepper: MujocoStepper,
        criterion: SuccessCriterion,
        contacts: ContactReader,
    ) -> None:
        """Remember the closed state.

        Args:
            run: The run, with the hand closed; its trials and pulls grow.
            stepper: Its stepper.
            criterion: The hold test.
            contacts: Reads the run's contacts.
        """
        self._run, self._stepper, self._criterion = run, stepper, criterion
        self._contacts = contacts
        self._closed, self._gone = stepper.saved(), Gone(criterion, run.model, run.data)
        self._friction = friction_limit(run.model, run.data, list(run.built.bodies))
        self._begin = run.recording.rows - 1
        self._bodies = node_bodies(run.model) or [run.model.body(names.OBJECT).id]
        self._masses = np.array(run.model.body_mass[self._bodies])

    def all(self) -> Iterator[Attempt]:
        """One after the other; each is to be run to its end before the next."""
        for force in self._criterion.directions:
            yield Attempt(
                f"push {direction_label(force)}",
                self._pushing(force),
                partial(self._pushed, force),
            )
        for pull in self._criterion.pulls:
            rate = pull_rate(self._run.model, pull, self._friction)
            watch = SlipWatch(max(round(SLIP_TIME / self._run.scene.control_period), 1))
            yield Attempt(
                f"pull {direction_label(pull.direction)}",
                self._pulling(pull, rate, watch),
                partial(self._pulled, pull, rate, watch),
            )

    def put_back(self) -> None:
        """Go back to the closed state."""
        self._stepper.put_back(self._closed)

    def _pushing(self, load: Vec3) -> Plans:
        self.put_back()
        for samples, fraction in push_steps(self._criterion, self._run.scene.control_period):
            self._load(fraction * np.outer(self._masses, load))
            yield from self._run.advancing(samples)
            if self._run.diverged or self._gone(self._run.data):
                return

    def _pushed(self, load: Vec3, phase: PhaseRows) -> None:
        contacts = sum(self._run.state.in_contact)
        self._run.trials.append(Trial(load, self._begin, phase.begin + 1, phase.end, contacts))

    def _pulling(self, pull: Pull, rate: float, watch: SlipWatch) -> Plans:
        self.put_back()
        run, weights = self._run, self._masses / self._masses.sum()
        for force in pull_forces(pull, rate, run.scene.control_period):
            self._load(np.outer(weights, force))
            yield from run.advancing(1)
            points = self._contacts.read(run.data, run.built.bodies)
            object_points = [point for point in points if point.object_name == names.OBJECT]
            if run.diverged or watch.check(object_points, run.recording.rows - 1):
                return

    def _pulled(self, pull: Pull, rate: float, watch: SlipWatch, phase: PhaseRows) -> None:
        first = phase.begin + 1
        self._run.pulls.append(
            Pulled(pull, self._begin, first, phase.end, self._friction, rate, watch.since)
        )

    def _load(self, forces: Array) -> None:
        self._run.data.xfrc_applied[self._bodies, :3] = forces
