"""Many grasps of one topology at once, their physics in ``mujoco.batch``.

Every grasp keeps its own controller, the one that a grasp alone has. Its targets are known ahead
as long as its contacts stay, so all grasps do a block of steps at once, without Python in between;
their forces are judged afterwards. A grasp whose contact changed within a block is put back to
that sample. Results are those of grasps run one by one, bit for bit.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

import mujoco
import numpy as np
from mujoco.batch import Batch
from numpy.typing import NDArray

from softgrasp.description.scene import GraspScene
from softgrasp.errors import SoftgraspError
from softgrasp.mechanics.transforms import Array
from softgrasp.model.scene import BuiltScene, build
from softgrasp.sim.closure_law import ESTABLISHED, LOST, TOUCHING
from softgrasp.sim.compiled import NativeStepper
from softgrasp.sim.contacts import ContactPoint
from softgrasp.sim.controller import ClosureLayout, ClosureState, Integers, Recording
from softgrasp.sim.engine import Workspace, caught_warnings
from softgrasp.sim.grasp_run import LARGEST_SPEED, MAX_ROWS, ClosureRun, Plans, max_rows
from softgrasp.sim.result import GraspResult
from softgrasp.sim.result_builder import result_of
from softgrasp.sim.run_record import FinishedRun
from softgrasp.sim.stepper import STATE, MujocoStepper, Stepper

# --------------------
# Many scenes simulated one after the other, or in batches where they can share one.


WORTHWHILE = 4
"""Grasps for which a batch pays."""


class BatchItem(NamedTuple):
    """What became of one scene of many."""

    result: GraspResult | Exception
    """The error where there is no result."""
    build_time: float = 0.0
    """Wall time that its model took, files and cutting into convex parts included [s]."""


@dataclass
class _Built:
    """A scene on its way to its result."""

    scene: BuiltScene
    build_warnings: list[str]
    taken: float


class BatchRunner:
    """Simulates scenes with what one batch can take over from another."""

    def __init__(self, *, compiled: bool, quality_rate: float | None = None) -> None:
        """Simulate nothing yet.

        Args:
            compiled: Whether to run grasps one by one in compiled code, which is faster than a
                batch where there are enough of them to load it.
            quality_rate: As ``result_of``.
        """
        self._workspace, self._compiled = Workspace(), compiled
        self._quality_rate = quality_rate

    def simulate(self, scenes: Iterable[GraspScene | Exception]) -> Iterator[BatchItem]:
        """Simulate scenes.

        Args:
            scenes: Scenes; what is an error stays one.

        Yields:
            For every scene, in their order, its result, the same that it has alone bit for bit, or
            the error that there is instead.
        """
        built = [scene if isinstance(scene, Exception) else _built(scene) for scene in scenes]
        done = {} if self._compiled else self._batched(built)
        for index, one in enumerate(built):
            if index in done:
                yield done[index]
            elif isinstance(one, _Built):
                yield BatchItem(self._alone(one), one.taken)
            else:
                yield BatchItem(one)

    def _batched(self, built: list[_Built | Exception]) -> dict[int, BatchItem]:
        """Scenes that were simulated side by side, by their places."""
        groups: dict[object, dict[int, _Built]] = {}
        for index, one in enumerate(built):
            if isinstance(one, _Built) and can_be_batched(one.scene):
                groups.setdefault(topology(one.scene), {})[index] = one
        done: dict[int, BatchItem] = {}
        for group in groups.values():
            if len(group) >= WORTHWHILE:
                done |= dict(zip(group, self._in_batch(list(group.values())), strict=True))
        return done

    def _in_batch(self, group: list[_Built]) -> Iterator[BatchItem]:
        begin = time.perf_counter()
        runs = run_batch([one.scene for one in group], workspace=self._workspace)
        try:
            first = next(runs)
        except (ValueError, RuntimeError):  # MuJoCo refuses their models, or the batch itself
            for one in group:
                unload(one.scene)
                yield BatchItem(self._alone(one), one.taken)
            return
        time_per_grasp = (time.perf_counter() - begin) / len(group)  # they have all run by now
        for one, run in zip(group, chain([first], runs), strict=True):
            yield BatchItem(self._result(run, one, time_per_grasp), one.taken)

    def _result(self, run: FinishedRun, one: _Built, taken: float) -> GraspResult:
        return result_of(
            run, one.build_warnings, one.taken + taken, quality_rate=self._quality_rate
        )

    def _alone(self, one: _Built) -> GraspResult | Exception:
        begin = time.perf_counter()
        try:
            kind = NativeStepper if self._compiled else None
            run = ClosureRun(one.scene, stepper=kind, workspace=self._workspace)
            run.run()
            return self._result(run, one, time.perf_counter() - begin)
        except Exception as error:  # noqa: BLE001 - one bad grasp does not end the others
            return error


def _built(scene: GraspScene) -> _Built | Exception:
    begin = time.perf_counter()
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            built = build(scene)
    except SoftgraspError as error:
        return error
    except Exception as error:  # noqa: BLE001 - one bad grasp does not end the others
        return error
    messages = [str(warning.message) for warning in caught]
    return _Built(built, messages, time.perf_counter() - begin)


SIZES = ("nq", "nv", "nu", "na", "nbody", "njnt", "ngeom", "nsite", "npair", "nsensordata",
         "ntendon", "neq", "nmocap", "nuserdata")  # fmt: skip
"""What has to agree for models to run in one batch."""


def can_be_batched(built: BuiltScene) -> bool:
    """Whether a scene can share a batch.

    It has servos, drives that nothing but contact stops, friction that does not switch, no sequence
    and a hold test that is no more than a ramp of gravity, and is not too long. Sensors are read
    sample by sample, and deformable objects run alone, too.
    """
    scene = built.scene
    if scene.sensors or built.model.nflex:
        return False
    alike = scene.actuation == "servo" and scene.closure.grip_force is None
    alike &= not scene.closure.stops_at_torque
    alike &= not built.switching and scene.is_plain
    return alike and max_rows(scene) <= MAX_ROWS


def topology(built: BuiltScene) -> tuple[object, ...]:
    """What two scenes have to have in common to share a batch."""
    model, scene = built.model, built.scene
    sizes = tuple(int(getattr(model, name)) for name in SIZES)
    steps = (float(model.opt.timestep), scene.control_period, scene.closure.threshold)
    slots = tuple(model.sensor_dim.tolist())
    return (*sizes, *steps, scene.closure.samples, int(model.opt.integrator), *built.bodies, slots)


def run_batch(
    builts: Sequence[BuiltScene], threads: int = 1, workspace: Workspace | None = None
) -> Iterator[ClosureRun]:
    """Run grasps of one ``topology`` from start to end.

    A grasp that diverges, or whose solver complains, runs again alone, so that it is told as it
    always is.

    Args:
        builts: Scenes that ``can_be_batched``, each with a model of its own.
        threads: Of the physics.
        workspace: Memory to use, which the next batch may use again; the recordings of this one
            are then gone.

    Yields:
        The finished runs, in the order of the scenes.
    """
    with caught_warnings() as engine_warnings:
        scratch = Scratch(builts[0].model)
        simulator = BatchSimulator(
            [BatchedRun(built, scratch) for built in builts], threads, workspace or Workspace()
        )
        simulator.run(engine_warnings.total)
    for built, run in zip(builts, simulator.runs, strict=True):
        if not run.odd:
            yield run
            continue
        unload(built)
        again = ClosureRun(built)
        again.run()
        yield again


def unload(built: BuiltScene) -> None:
    """Give a scene's model the gravity back that it had before its hold test."""
    built.model.opt.gravity[:] = built.spec.option.gravity


# --------------------
# Grasps side by side in a batch: blocks of steps, judged behind them.


NUMBER = 1
"""Column of a batch's warnings that counts them."""
MIN_BLOCK, LONG = 8, 32
"""Samples of a block. Contact that begins in one block is established in the next one at the
earliest where a block has as many samples as debouncing takes, so that few are stepped in vain.
A long one is for grasps whose contacts have been as they are for a block."""


class BatchSimulator:
    """Grasps side by side; arrays have one row a grasp."""

    def __init__(self, runs: Sequence[BatchedRun], threads: int, workspace: Workspace) -> None:
        """Put all grasps to their starts.

        Args:
            runs: Grasps of one topology that have not begun.
            threads: Of the physics.
            workspace: Where they record.
        """
        self.runs = runs
        first, count = runs[0], len(runs)
        model, layout = first.model, first.layout
        self._layout = layout
        self._block = min(max(layout.samples, MIN_BLOCK), LONG)
        steps = LONG * layout.substeps
        self._batch = Batch(model, count, threads)
        self._batch.set_models([run.model for run in runs])
        # as a run alone starts: nothing is computed before the first step
        self._batch.reset(keyframe=0, stage=mujoco.mjtStage.mjSTAGE_NONE.value)
        self._parts = _parts(model)
        width = layout.force_sum.shape[1]
        self._sensors = slice(layout.first_force, layout.first_force + width)
        self._detector = BatchContactDetector(count, len(first.built.bodies), layout)
        rows, bodies = max(max_rows(run.scene) for run in runs), len(first.built.bodies)
        self._rows = workspace.side_by_side(model, bodies, width, rows, count)
        for slot, run in enumerate(runs):
            run.record_in(self._rows.one(slot))
        self._plan = np.zeros((count, first.look_ahead + 1, model.nu))
        self._until = np.zeros((count, first.look_ahead + 1), dtype=np.int64)
        """Up to which sample of a plan gravity stays as it is at another one."""
        self._position, self._size, self._first = np.zeros((3, count), dtype=np.int64)
        self._loading = np.zeros(count, dtype=bool)
        self._steps = count * steps
        self._outputs = {
            int(STATE): np.empty(count * steps * self._batch.nstate),
            "sensordata": np.empty(count * steps * model.nsensordata),
        }
        self._ctrl = np.zeros((count, model.nu))
        self._last_state = self._batch.state.copy()
        self._last_ctrl = np.zeros((count, model.nu))

    def run(self, complaints: Callable[[], int]) -> None:
        """Run all of them to their ends.

        Args:
            complaints: How often the solver has complained so far; whoever is in work when it
                does is ``odd``.
        """
        left = np.arange(len(self.runs))
        for slot in left.tolist():
            self._take(slot, next(self.runs[slot].plans, None))
        left = self._command_first(left)
        while left.size:
            odd = []
            for slots, samples in self._groups(left):
                before = complaints()
                diverged = self._do_block(slots, samples)
                odd += slots.tolist() if complaints() != before else slots[diverged].tolist()
            for slot in odd:
                self.runs[slot].odd = True
            left = left[~np.isin(left, odd)] if odd else left
            due = left[self._detector.stopped[left] | (self._position[left] == self._size[left])]
            over = [slot for slot in due.tolist() if not self._resume(slot)]
            if over:
                left = left[~np.isin(left, over)]
        for slot, run in enumerate(self.runs):
            run.last = Before(self._last_state[slot], self._last_ctrl[slot])

    def _command_first(self, slots: Integers) -> Integers:
        """The first sample is not stepped: there is nothing to judge. Returns who goes on."""
        self._rows.force[:, 0] = 0.0
        self._rows.qpos[:, 0] = self._batch.state[:, self._parts["qpos"]]
        self._ctrl[:] = self._plan[:, 0]
        self._position[:] = 1
        for slot in slots[self._size == 1].tolist():
            self.runs[slot].odd = not self._resume(slot)  # over before its first step
        return slots[[not run.odd for run in self.runs]]

    def _groups(self, slots: Integers) -> Iterator[tuple[Integers, int]]:
        """Grasps that can go on for a long block, for a whole one, or for less."""
        available = self._available(slots)
        calm = ~self._detector.restless[slots] & (available >= LONG)
        available = np.minimum(available, self._detector.soonest(slots))
        short = ~calm & (available < self._block)
        whole = ~(calm | short)
        if calm.any():
            yield slots[calm], LONG
        if whole.any():
            yield slots[whole], self._block
        if short.any():
            yield slots[short], int(available[short].max())

    def _available(self, slots: Integers) -> Integers:
        """Samples for which targets and gravity of grasps are known."""
        positions = self._position[slots]
        return np.asarray(self._until[slots, positions] - positions)

    def _do_block(self, slots: Integers, samples: int) -> NDArray[np.bool_]:
        """Step grasps by some samples, judge them, and put each to where it really got.

        Returns:
            Which of them only a run alone can tell, (m,).
        """
        whole = slots.size == len(self.runs)
        begin = self._batch.state.copy() if whole else self._batch.state[slots]
        controls = self._controls(slots, samples)
        self._load(slots[self._loading[slots]])
        states, sensors = self._stepped(None if whole else slots, controls)
        positions = self._position[slots]
        available = np.minimum(self._available(slots), samples)
        qvel = states[:, :, self._parts["qvel"]]
        warned = self._batch.warning[slots, :, NUMBER].any(axis=1)
        # written so that a speed that is not a number counts as too fast
        slow = (np.square(qvel).sum(axis=2) < LARGEST_SPEED**2).all(axis=1)
        odd = ~slow | warned
        judgement = self._detector.detect(slots, sensors, available)
        for index, sample, changes in judgement.changes:
            state = begin[index] if sample == 0 else states[index, sample - 1].copy()
            run, before = self.runs[slots[index]], Before(state, controls[index, sample])
            run.record(int(self._first[slots[index]] + positions[index]) + sample, changes, before)
        self._record(slots, states, sensors, judgement.begun)
        self._set_back(slots, begin, states, controls, judgement.begun)
        done = judgement.begun - self._detector.stopped[slots]
        self._position[slots] = positions + done
        moved = np.flatnonzero(done)
        self._ctrl[slots[moved]] = self._plan[slots[moved], positions[moved] + done[moved] - 1]
        return np.asarray(odd)

    def _load(self, slots: Integers) -> None:
        """Give grasps in a hold test the gravity of their coming samples."""
        for slot, position in zip(slots.tolist(), self._position[slots].tolist(), strict=True):
            run = self.runs[slot]
            run.model.opt.gravity[:] = run.loads[position]

    def _controls(self, slots: Integers, samples: int) -> Array:
        """What drives the steps to each sample of a block, (m, block, nu)."""
        ahead = self._position[slots, None] + np.arange(samples - 1)
        planned = np.minimum(ahead, self._size[slots, None] - 1)
        controls = np.empty((slots.size, samples, self._ctrl.shape[1]))
        controls[:, 0] = self._ctrl[slots]
        controls[:, 1:] = self._plan[slots[:, None], planned]
        return controls

    def _stepped(self, slots: Integers | None, controls: Array) -> tuple[Array, Array]:
        """State and contact sensors behind every sample of a block."""
        substeps = self._layout.substeps
        count, steps = controls.shape[0], controls.shape[1] * substeps
        buffers = {
            item: (buffer, buffer.size // self._steps) for item, buffer in self._outputs.items()
        }
        outputs = self._batch.rollout(
            steps,
            control=controls if substeps == 1 else np.repeat(controls, substeps, axis=1),
            record=tuple(self._outputs),
            ids=slots,
            out={
                item: buffer[: count * steps * width].reshape(count, steps, width)
                for item, (buffer, width) in buffers.items()
            },
        )
        samples = slice(substeps - 1, None, substeps)
        return outputs[int(STATE)][:, samples], outputs["sensordata"][:, samples, self._sensors]

    def _record(self, slots: Integers, states: Array, forces: Array, begun: Integers) -> None:
        slot, sample = np.nonzero(np.arange(states.shape[1]) < begun[:, None])
        recorded_slots = slots[slot]
        row = self._first[recorded_slots] + self._position[recorded_slots] + sample
        self._rows.qpos[recorded_slots, row] = states[slot, sample, self._parts["qpos"]]
        self._rows.force[recorded_slots, row] = forces[slot, sample]

    def _set_back(
        self, slots: Integers, begin: Array, states: Array, controls: Array, begun: Integers
    ) -> None:
        """Put grasps whose contact changed to the sample at which it did."""
        early = np.flatnonzero(begun < states.shape[1])
        self._batch.state[slots[early]] = states[early, begun[early] - 1]
        rows = np.arange(slots.size)
        last = begun - 1
        self._last_state[slots] = np.where((last == 0)[:, None], begin, states[rows, last - 1])
        self._last_ctrl[slots] = controls[rows, last]

    def _resume(self, slot: int) -> bool:
        """Let a grasp's controller go on; False where the run is over."""
        run, done = self.runs[slot], int(self._position[slot])
        stopped = bool(self._detector.stopped[slot])
        self._detector.write_state(slot, run.state)
        try:
            plan = run.plans.send(done)
            while not len(plan):  # it only asked for a new one
                plan = run.plans.send(0)
        except StopIteration:
            return False
        if stopped:
            self._ctrl[slot] = run.ctrl
            self._detector.stopped[slot] = False
        self._take(slot, plan)
        return True

    def _take(self, slot: int, plan: Array | None) -> None:
        assert plan is not None
        self._plan[slot, : len(plan)] = plan
        self._position[slot], self._size[slot] = 0, len(plan)
        self._first[slot] = self.runs[slot].recording.rows
        loads = self.runs[slot].loads[: len(plan)]
        self._loading[slot] = len(loads) > 0
        self._until[slot, : len(plan)] = _ends_of_equal_rows(loads) if len(loads) else len(plan)


def _ends_of_equal_rows(rows: Array) -> Integers:
    """For every row, the index behind the last one that is like it and follows it at once."""
    changes = np.flatnonzero((rows[1:] != rows[:-1]).any(axis=1)) + 1
    ends = np.append(changes, len(rows))
    return np.repeat(ends, np.diff(ends, prepend=0))


def _parts(model: mujoco.MjModel) -> dict[str, slice]:
    """Where positions and velocities stand in a state."""
    begin = mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_TIME)
    return {
        "qpos": slice(begin, begin + model.nq),
        "qvel": slice(begin + model.nq, begin + model.nq + model.nv),
    }


# --------------------
# One grasp of a batch: its controller and its log, but no engine state of its own.


LOOK_AHEAD = 256
"""Physics steps whose targets are computed at once."""


class Before(NamedTuple):
    """A grasp right before a control sample is stepped."""

    state: Array
    """Of the engine, (ns,)."""
    ctrl: Array
    """What the step is driven with, (nu,)."""


class Scratch:
    """An engine state in which the last step of one grasp or the other is repeated."""

    def __init__(self, model: mujoco.MjModel) -> None:
        """Make room for a state of the batch's models."""
        self._data = mujoco.MjData(model)
        self._holds: object = None

    def repeated(self, model: mujoco.MjModel, before: Before, substeps: int) -> mujoco.MjData:
        """The engine state behind a sample, as the grasp alone had it.

        Args:
            model: Of the grasp.
            before: The grasp before the sample.
            substeps: Physics steps of a sample.
        """
        if self._holds is not before:  # else it was the last one asked for
            self._holds = before
            mujoco.mj_resetData(model, self._data)
            mujoco.mj_setState(model, self._data, before.state, STATE)
            self._data.ctrl[:] = before.ctrl
            mujoco.mj_step(model, self._data, substeps)
        return self._data


class BatchedStepper(Stepper):
    """The controller of a grasp in a batch, which does its stretches."""

    def __init__(self, layout: ClosureLayout, state: ClosureState, recording: Recording) -> None:
        """Take over a state; arguments as for ``Stepper``."""
        super().__init__(layout, state, recording, LOOK_AHEAD)
        self.ctrl = state.targets

    def run_chunk(self, plan: Array) -> int:
        """Nothing: the batch does it."""
        raise NotImplementedError("a lane of a batch is driven by the batch")

    def _command(self, targets: Array) -> None:
        self.ctrl = targets  # the batch has recorded the positions


class BatchedRun(ClosureRun):
    """A grasp that is run by a batch."""

    def __init__(self, built: BuiltScene, scratch: Scratch) -> None:
        """Take a scene.

        Args:
            built: The scene; the hold test changes its model.
            scratch: Shared by all grasps of the batch.
        """
        self._scratch = scratch
        super().__init__(built)
        self.plans: Plans = self.running()
        """Its controller."""
        self.odd = False
        """Whether something happened that only a run alone can tell."""
        self.last: Before | None = None
        """The grasp before the last sample."""

    @property
    def ctrl(self) -> Array:
        """What the controller has told the drives after a change of contact, (nu,)."""
        assert isinstance(self._stepper, BatchedStepper)
        return self._stepper.ctrl

    @property
    def data(self) -> mujoco.MjData:
        """The state of the engine behind the last sample; valid until another grasp's is read."""
        assert self.last is not None
        return self._scratch.repeated(self.model, self.last, self.layout.substeps)

    def record(self, row: int, changes: list[int], before: Before) -> None:
        """Log what changed at a sample.

        Args:
            row: Of the sample.
            changes: Bits of ``laws``, (nb,).
            before: The grasp before it.
        """
        gravity = self.model.opt.gravity.copy()
        bodies = zip(self.built.bodies, changes, strict=True)
        touched = [body for body, change in bodies if change]

        def points() -> list[ContactPoint]:
            later = self.model.opt.gravity.copy()
            self.model.opt.gravity[:] = gravity
            data = self._scratch.repeated(self.model, before, self.layout.substeps)
            self.model.opt.gravity[:] = later
            return self._contacts.read(data, touched)

        self.log.record(row * self.layout.control_period, changes, points)

    @property
    def loads(self) -> Array:
        """Gravity at the samples of the plan, where it grows, (n, 3) [m/s²]."""
        return self._stepper.loads

    def record_in(self, recording: Recording) -> None:
        """Record in memory of the batch; to be called before the run begins."""
        self._stepper.recording = recording

    def _new_stepper(self, _: type[MujocoStepper] | None) -> Stepper:
        none = Recording.empty(self.model, 0, 0, 0)  # the batch gives it its own
        return BatchedStepper(self.layout, self.state, none)

    def _went_wrong(self) -> bool:
        return False  # the batch looks at every sample

    def _record_changes(self) -> None:
        """Nothing: the batch has noted them."""


# --------------------
# The law of debouncing (``laws.debounce``) over the blocks of many grasps at once.


class Judgement(NamedTuple):
    """What became of the contacts of some grasps within a block."""

    begun: Integers
    """Samples whose forces were judged, (m,): all that there is room for, or up to the one at
    which contact was established or lost."""
    changes: list[tuple[int, int, list[int]]]
    """Index of a grasp in the block, sample, and bits of ``laws``, a touch included."""


class BatchContactDetector:
    """Counters and contacts of grasps side by side."""

    def __init__(self, count: int, bodies: int, layout: ClosureLayout) -> None:
        """Nothing is touched.

        Args:
            count: Grasps.
            bodies: Of each of them.
            layout: Constants of the loop.
        """
        self._threshold, self._needed = layout.threshold, layout.samples
        self._bodies, self._slots = bodies, layout.force_sum.shape[1] // (3 * bodies)
        self._counts, self._changes = np.zeros((2, count, bodies), dtype=np.int64)
        self._touched, self._held = np.zeros((2, count, bodies), dtype=bool)
        self.stopped = np.zeros(count, dtype=bool)
        """Whether contact was established or lost at the last judged sample, (n,)."""

        self.restless = np.zeros(count, dtype=bool)
        """Whether anything was counted in the last block, (n,)."""

    def detect(self, slots: Integers, sensors: Array, available: Integers) -> Judgement:
        """Judge a block, each grasp up to its room or to the first change of targets.

        Args:
            slots: The grasps, (m,).
            sensors: Contact sensors, (m, block, nf) [N].
            available: Samples that may be judged, (m,).
        """
        begun, changes = available.copy(), list[tuple[int, int, list[int]]]()
        self.restless[slots] = False
        normal = sensors.reshape(*sensors.shape[:2], self._bodies, self._slots, 3)[..., 0]
        pressed = normal.any(axis=(1, 2, 3))
        if not pressed.any() and not self._counts[slots].any():
            return Judgement(begun, changes)
        forces = np.zeros(normal.shape[:3])
        for slot in range(self._slots):  # in this order, as the sum of one grasp alone
            forces += normal[..., slot]
        live = self._restless(slots, forces)
        self.restless[slots[live]] = True
        for sample in range(normal.shape[1]):
            live = live[(sample < available[live]) & ~self.stopped[slots[live]]]
            if not live.size:
                break
            self._debounce(slots, live, forces[live, sample], sample, begun, changes)
        return Judgement(begun, changes)

    def soonest(self, slots: Integers) -> Integers:
        """Samples after which contact may be established at the earliest, (m,)."""
        counted = np.where(self._held[slots], 0, self._counts[slots])
        return np.asarray(self._needed - counted.max(axis=1, initial=0))

    def _restless(self, slots: Integers, forces: Array) -> Integers:
        """Grasps for which there is anything to count in a block."""
        held = self._held[slots][:, None]
        above, counts = forces > self._threshold, self._counts[slots]
        steady = (above == held) & ((forces <= 0.0) | self._touched[slots][:, None])
        steady &= np.isfinite(forces)
        settled = counts == np.where(self._held[slots], self._needed, 0)
        return np.flatnonzero(~(steady.all(axis=(1, 2)) & settled.all(axis=1)))

    def _debounce(
        self,
        slots: Integers,
        live: Integers,
        forces: Array,
        sample: int,
        begun: Integers,
        changes: list[tuple[int, int, list[int]]],
    ) -> None:
        live_slots = slots[live]
        counts, touched, held = (
            self._counts[live_slots],
            self._touched[live_slots],
            self._held[live_slots],
        )
        above = forces > self._threshold
        touching = (forces > 0.0) & ~touched
        established = above & (counts == self._needed - 1)
        lost = ~above & held
        self._counts[live_slots] = np.where(above, np.minimum(counts + 1, self._needed), 0)
        self._touched[live_slots] = (touched | touching) & ~lost
        self._held[live_slots] = (held | established) & ~lost
        changes_array = TOUCHING * touching + ESTABLISHED * established + LOST * lost
        self._changes[live_slots] = changes_array
        stops = (established | lost).any(axis=1) | ~np.isfinite(forces.sum(axis=1))
        self.stopped[live_slots] = stops
        begun[live[stops]] = sample + 1
        noted = np.flatnonzero(changes_array.any(axis=1)).tolist()
        changes += [(int(live[index]), sample, changes_array[index].tolist()) for index in noted]

    def write_state(self, slot: int, state: ClosureState) -> None:
        """Hand counters and contacts of one grasp to its controller."""
        state.counts[:] = self._counts[slot].tolist()
        state.touched[:] = self._touched[slot].astype(int).tolist()
        state.in_contact[:] = self._held[slot].astype(int).tolist()
        state.changes[:] = self._changes[slot].tolist()
