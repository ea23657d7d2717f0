"""Many grasps with equal model structure simulated in parallel, by ``mujoco.batch``.

``BatchRunner`` simulates scenes, side by side where they share a batch. ``BatchSimulator`` steps
blocks of samples: every grasp has the controller of a single run (``ClosureRun.running``), whose
targets are known in advance as long as contacts stay, so all grasps step a block without Python in
between; their forces are evaluated afterwards by ``BatchContactDetector``. A grasp whose contact
changed within a block is set back to that sample (decision 0011). Results equal those of single
runs bit for bit.
"""

from __future__ import annotations

import math
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
from softgrasp.sim.contacts import ContactPoint
from softgrasp.sim.control_state import (
    ClosureLayout,
    ClosureState,
    DebouncedFlags,
    Integers,
    Recording,
)
from softgrasp.sim.debounced_closing import TOUCHING
from softgrasp.sim.engine import Workspace, caught_warnings
from softgrasp.sim.grasp_run import LARGEST_SPEED, MAX_ROWS, ClosureRun, max_rows
from softgrasp.sim.result import GraspResult
from softgrasp.sim.result_builder import result_of
from softgrasp.sim.run_record import FinishedRun
from softgrasp.sim.stepper import STATE, Plans, Stepper

MIN_GRASPS = 4
"""Number of grasps from which a batch is faster than single runs."""
SIZES = ("nq", "nv", "nu", "na", "nbody", "njnt", "ngeom", "nsite", "npair", "nsensordata",
         "ntendon", "neq", "nmocap", "nuserdata")  # fmt: skip
"""Sizes that models in one batch have in common."""
PLAN_STEPS = 256
"""Physics steps that are planned at once."""
MIN_BLOCK, LONG_BLOCK = 8, 32
"""Control samples of a block. Contact that begins in one block is established in the next one
at the earliest where a block has as many samples as debouncing takes, so that few are stepped in
vain. A long one is for grasps whose contacts did not change in the last block."""
WARNING_COUNT = 1
"""Column of ``Batch.warning`` that counts warnings."""


class BatchItem(NamedTuple):
    """Result or error of one scene in a batch."""

    result: GraspResult | Exception
    """The result, or the error that prevented it."""
    build_time: float = 0.0
    """Wall time of building the model, reading files and decomposing meshes included [s]."""


@dataclass
class _Built:
    """A compiled scene that waits for its simulation."""

    scene: BuiltScene
    warnings: list[str]
    build_time: float


class BatchRunner:
    """Simulates scenes one after the other or in batches, and reuses memory between them."""

    def __init__(self, *, quality_rate: float | None = None) -> None:
        """Start without any memory.

        Args:
            quality_rate: As for ``result_of``.
        """
        self._workspace, self._quality_rate = Workspace(), quality_rate

    def simulate(self, scenes: Iterable[GraspScene | Exception]) -> Iterator[BatchItem]:
        """Simulate scenes.

        Args:
            scenes: Scenes; an error in place of a scene is passed on.

        Yields:
            For every scene, in their order, the same result bit for bit as from ``simulate``, or
            the error that prevented it.
        """
        built = [scene if isinstance(scene, Exception) else _built(scene) for scene in scenes]
        done = self._batched(built)
        for index, one in enumerate(built):
            if index in done:
                yield done[index]
            elif isinstance(one, _Built):
                yield BatchItem(self._single(one), one.build_time)
            else:
                yield BatchItem(one)

    def _batched(self, built: list[_Built | Exception]) -> dict[int, BatchItem]:
        """Simulate the scenes that can share batches; items by index of the scene."""
        groups: dict[object, dict[int, _Built]] = {}
        for index, one in enumerate(built):
            if isinstance(one, _Built) and can_be_batched(one.scene):
                groups.setdefault(topology(one.scene), {})[index] = one
        done: dict[int, BatchItem] = {}
        for group in groups.values():
            if len(group) >= MIN_GRASPS:
                done |= dict(zip(group, self._in_batch(list(group.values())), strict=True))
        return done

    def _in_batch(self, group: list[_Built]) -> Iterator[BatchItem]:
        begin = time.perf_counter()
        runs = run_batch([one.scene for one in group], workspace=self._workspace)
        try:
            first = next(runs)
        except (ValueError, RuntimeError):  # MuJoCo refuses their models, or the batch itself
            for one in group:
                reset_gravity(one.scene)
                yield BatchItem(self._single(one), one.build_time)
            return
        time_per_grasp = (time.perf_counter() - begin) / len(group)  # all have run by now
        for one, run in zip(group, chain([first], runs), strict=True):
            yield BatchItem(self._result(run, one, time_per_grasp), one.build_time)

    def _single(self, one: _Built) -> GraspResult | Exception:
        begin = time.perf_counter()
        try:
            run = ClosureRun(one.scene, workspace=self._workspace)
            run.run()
            return self._result(run, one, time.perf_counter() - begin)
        except Exception as error:  # noqa: BLE001 - one bad grasp does not end the others
            return error

    def _result(self, run: FinishedRun, one: _Built, run_time: float) -> GraspResult:
        return result_of(
            run, one.warnings, one.build_time + run_time, quality_rate=self._quality_rate
        )


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


def can_be_batched(built: BuiltScene) -> bool:
    """Whether a scene can share a batch.

    It needs servos, actuators that only contact stops, friction that does not switch, no sequence,
    and a hold test that is a ramp of gravity and not too long. Scenes with sensors, which are read
    at every sample, and with deformable objects run alone, too.
    """
    scene = built.scene
    if scene.sensors or built.model.nflex:
        return False
    alike = scene.actuation == "servo" and scene.closure.stop_force is None
    alike &= not scene.closure.stops_at_torque
    alike &= not built.switching and scene.is_plain
    return alike and max_rows(scene) <= MAX_ROWS


def topology(built: BuiltScene) -> tuple[object, ...]:
    """Return the properties that scenes in one batch must have in common, as a key."""
    model, scene = built.model, built.scene
    sizes = tuple(int(getattr(model, name)) for name in SIZES)
    steps = (float(model.opt.timestep), scene.control_period, scene.closure.threshold)
    slots = tuple(model.sensor_dim.tolist())
    return (*sizes, *steps, scene.closure.samples, int(model.opt.integrator), *built.bodies, slots)


def run_batch(
    builts: Sequence[BuiltScene], threads: int = 1, workspace: Workspace | None = None
) -> Iterator[ClosureRun]:
    """Run grasps of one ``topology`` from start to end.

    A grasp that diverges, or at which MuJoCo warns, is repeated as a single run, which reports it
    as usual.

    Args:
        builts: Scenes that ``can_be_batched``, each with its own model.
        threads: Threads of the physics.
        workspace: Memory to use. The next batch may use it again, which overwrites the recordings
            of this one.

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
        if not run.to_repeat:
            yield run
            continue
        reset_gravity(built)
        again = ClosureRun(built)
        again.run()
        yield again


def reset_gravity(built: BuiltScene) -> None:
    """Restore the gravity that a scene's model had before its hold test."""
    built.model.opt.gravity[:] = built.spec.option.gravity


class BatchSimulator:
    """Simulates grasps side by side; arrays have one row per grasp (batch slot)."""

    def __init__(self, runs: Sequence[BatchedRun], threads: int, workspace: Workspace) -> None:
        """Put all grasps into their start states.

        Args:
            runs: Grasps of one topology that have not begun.
            threads: Threads of the physics.
            workspace: Memory of their recordings.
        """
        self.runs = runs
        first, count = runs[0], len(runs)
        model, layout = first.model, first.layout
        self._layout = layout
        self._block = min(max(layout.samples, MIN_BLOCK), LONG_BLOCK)
        steps = LONG_BLOCK * layout.substeps
        self._batch = Batch(model, count, threads)
        self._batch.set_models([run.model for run in runs])
        # as a run alone starts: nothing is computed before the first step
        self._batch.reset(keyframe=0, stage=mujoco.mjtStage.mjSTAGE_NONE.value)
        self._parts = _parts(model)
        width = layout.force_sum.shape[1]
        self._sensors = slice(layout.first_force, layout.first_force + width)
        rows, bodies = max(max_rows(run.scene) for run in runs), len(first.built.bodies)
        self._rows = workspace.side_by_side(model, bodies, width, rows, count)
        for slot, run in enumerate(runs):
            run.record_in(self._rows.one(slot))
        self._detector = BatchContactDetector([run.state.contact for run in runs], layout)
        self._plan = np.zeros((count, first.max_samples + 1, model.nu))
        self._until = np.zeros((count, first.max_samples + 1), dtype=np.int64)
        """For each sample of a plan, the end of the samples with the same gravity."""
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

    def run(self, warning_count: Callable[[], int]) -> None:
        """Simulate all grasps to their ends.

        Args:
            warning_count: Returns how many warnings MuJoCo has issued so far; grasps that are
                stepped while it rises are to be repeated.
        """
        left = np.arange(len(self.runs))
        for slot in left.tolist():
            self._take(slot, next(self.runs[slot].plans, None))
        left = self._command_first(left)
        while left.size:
            to_repeat: list[int] = []
            for slots, samples in self._groups(left):
                before = warning_count()
                diverged = self._do_block(slots, samples)
                to_repeat += (
                    slots.tolist() if warning_count() != before else slots[diverged].tolist()
                )
            for slot in to_repeat:
                self.runs[slot].to_repeat = True
            left = left[~np.isin(left, to_repeat)] if to_repeat else left
            due = left[self._detector.stopped[left] | (self._position[left] == self._size[left])]
            over = [slot for slot in due.tolist() if not self._resume(slot)]
            if over:
                left = left[~np.isin(left, over)]
        for slot, run in enumerate(self.runs):
            run.last = Before(self._last_state[slot], self._last_ctrl[slot])

    def _command_first(self, slots: Integers) -> Integers:
        """Set the controls of the first sample, which is not stepped; return unfinished slots."""
        self._rows.force[:, 0] = 0.0
        self._rows.qpos[:, 0] = self._batch.state[:, self._parts["qpos"]]
        self._ctrl[:] = self._plan[:, 0]
        self._position[:] = 1
        for slot in slots[self._size == 1].tolist():
            self.runs[slot].to_repeat = not self._resume(slot)  # over before its first step
        return slots[[not run.to_repeat for run in self.runs]]

    def _groups(self, slots: Integers) -> Iterator[tuple[Integers, int]]:
        """Group batch slots by the samples they can step: a long block, a block, fewer."""
        available = self._available(slots)
        calm = ~self._detector.counting[slots] & (available >= LONG_BLOCK)
        available = np.minimum(available, self._detector.samples_to_contact(slots))
        short = ~calm & (available < self._block)
        whole = ~(calm | short)
        if calm.any():
            yield slots[calm], LONG_BLOCK
        if whole.any():
            yield slots[whole], self._block
        if short.any():
            yield slots[short], int(available[short].max())

    def _available(self, slots: Integers) -> Integers:
        """Count the coming samples for which targets and gravity are known already, (m,)."""
        positions = self._position[slots]
        return np.asarray(self._until[slots, positions] - positions)

    def _do_block(self, slots: Integers, samples: int) -> NDArray[np.bool_]:
        """Step grasps by a block of samples, detect contacts, and reset those with changes.

        Returns:
            Whether each of them has to be repeated as a single run, (m,).
        """
        whole = slots.size == len(self.runs)
        begin = self._batch.state.copy() if whole else self._batch.state[slots]
        controls = self._controls(slots, samples)
        self._load(slots[self._loading[slots]])
        states, sensors = self._stepped(None if whole else slots, controls)
        positions = self._position[slots]
        available = np.minimum(self._available(slots), samples)
        qvel = states[:, :, self._parts["qvel"]]
        warned = self._batch.warning[slots, :, WARNING_COUNT].any(axis=1)
        # written so that a speed that is not a number counts as too fast
        slow = (np.square(qvel).sum(axis=2) < LARGEST_SPEED**2).all(axis=1)
        to_repeat = ~slow | warned
        detection = self._detector.detect(slots, sensors, available)
        for index, sample, changes in detection.changes:
            state = begin[index] if sample == 0 else states[index, sample - 1].copy()
            run, before = self.runs[slots[index]], Before(state, controls[index, sample])
            run.record(int(self._first[slots[index]] + positions[index]) + sample, changes, before)
        self._record(slots, states, sensors, detection.begun)
        self._set_back(slots, begin, states, controls, detection.begun)
        done = detection.begun - self._detector.stopped[slots]
        self._position[slots] = positions + done
        moved = np.flatnonzero(done)
        self._ctrl[slots[moved]] = self._plan[slots[moved], positions[moved] + done[moved] - 1]
        return np.asarray(to_repeat)

    def _load(self, slots: Integers) -> None:
        """Set the gravity at the coming samples of grasps in a hold test."""
        for slot, position in zip(slots.tolist(), self._position[slots].tolist(), strict=True):
            run = self.runs[slot]
            run.model.opt.gravity[:] = run.loads[position]

    def _controls(self, slots: Integers, samples: int) -> Array:
        """Collect the controls of all time steps of a block, (m, block, nu)."""
        ahead = self._position[slots, None] + np.arange(samples - 1)
        planned = np.minimum(ahead, self._size[slots, None] - 1)
        controls = np.empty((slots.size, samples, self._ctrl.shape[1]))
        controls[:, 0] = self._ctrl[slots]
        controls[:, 1:] = self._plan[slots[:, None], planned]
        return controls

    def _stepped(self, slots: Integers | None, controls: Array) -> tuple[Array, Array]:
        """Step a block; return states and contact sensors after every sample."""
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
        """Reset grasps whose contact changed to the sample of the change."""
        early = np.flatnonzero(begun < states.shape[1])
        self._batch.state[slots[early]] = states[early, begun[early] - 1]
        rows = np.arange(slots.size)
        last = begun - 1
        self._last_state[slots] = np.where((last == 0)[:, None], begin, states[rows, last - 1])
        self._last_ctrl[slots] = controls[rows, last]

    def _resume(self, slot: int) -> bool:
        """Run the controller of a grasp at its present sample; False where the run is over."""
        run, done = self.runs[slot], int(self._position[slot])
        run.last = Before(self._last_state[slot].copy(), self._last_ctrl[slot].copy())
        stopped = bool(self._detector.stopped[slot])
        try:
            plan = run.plans.send(done)
            while not len(plan):
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
    """Return for every row the end of the block of equal consecutive rows, (n,)."""
    changes = np.flatnonzero((rows[1:] != rows[:-1]).any(axis=1)) + 1
    ends = np.append(changes, len(rows))
    return np.repeat(ends, np.diff(ends, prepend=0))


def _parts(model: mujoco.MjModel) -> dict[str, slice]:
    """Return the positions of ``qpos`` and ``qvel`` in a state vector."""
    begin = mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_TIME)
    return {
        "qpos": slice(begin, begin + model.nq),
        "qvel": slice(begin + model.nq, begin + model.nq + model.nv),
    }


class Detection(NamedTuple):
    """Contact changes of m grasps within a block of samples."""

    begun: Integers
    """Samples whose forces were evaluated, (m,): all available ones, or up to the one at which
    contact was established or lost."""
    changes: list[tuple[int, int, list[int]]]
    """Index of a grasp in the block, sample, and bits of ``debounced_closing`` for each body."""


class BatchContactDetector:
    """Detects contacts of grasps in a batch by the same debouncing as single runs.

    Most grasps have nothing to count in a block; arrays find those that have, whose samples are
    then debounced one by one.
    """

    def __init__(self, flags: Sequence[DebouncedFlags], layout: ClosureLayout) -> None:
        """Start without contacts.

        Args:
            flags: Contact flags of each grasp's controller; updated.
            layout: Constants of the loop.
        """
        self._flags = flags
        self._threshold, self._samples = layout.threshold, layout.samples
        self._bodies = len(layout.bodies)
        self._slots = layout.force_sum.shape[1] // (3 * self._bodies)
        shape = (len(flags), self._bodies)
        self._counts = np.zeros(shape, dtype=np.int64)
        self._touched, self._in_contact = np.zeros((2, *shape), dtype=bool)
        self.stopped = np.zeros(len(flags), dtype=bool)
        """Whether contact was established or lost at the last evaluated sample, (n,)."""
        self.counting = np.zeros(len(flags), dtype=bool)
        """Whether anything was counted in the last block, (n,)."""

    def detect(self, slots: Integers, sensors: Array, available: Integers) -> Detection:
        """Detect contacts in a block, for each grasp up to the first change.

        Args:
            slots: Batch slots of the grasps, (m,).
            sensors: Contact sensors, (m, block, nf) [N].
            available: Samples that may be evaluated, (m,).
        """
        result = Detection(available.copy(), [])
        self.counting[slots] = False
        normal = sensors.reshape(*sensors.shape[:2], self._bodies, self._slots, 3)[..., 0]
        if not normal.any() and not self._counts[slots].any():
            return result
        forces = np.zeros(normal.shape[:3])
        for slot in range(self._slots):  # in this order, as the sum of a single run
            forces += normal[..., slot]
        counting = np.flatnonzero(~self._is_settled(slots, forces))
        self.counting[slots[counting]] = True
        for index in counting.tolist():
            self._debounce(index, int(slots[index]), forces[index], result)
        return result

    def samples_to_contact(self, slots: Integers) -> Integers:
        """Return after how many samples contact may be established at the earliest, (m,)."""
        counted = np.where(self._in_contact[slots], 0, self._counts[slots])
        return np.asarray(self._samples - counted.max(axis=1, initial=0))

    def _is_settled(self, slots: Integers, forces: Array) -> NDArray[np.bool_]:
        """Return whether a block's forces change no debounce counter of each grasp, (m,)."""
        in_contact = self._in_contact[slots][:, None]
        settled = ((forces > self._threshold) == in_contact) & np.isfinite(forces)
        settled &= (forces <= 0.0) | self._touched[slots][:, None]
        counted = self._counts[slots] == np.where(self._in_contact[slots], self._samples, 0)
        return np.asarray(settled.all(axis=(1, 2)) & counted.all(axis=1))

    def _debounce(self, index: int, slot: int, forces: Array, result: Detection) -> None:
        """Debounce the samples of one grasp, (block, nb), up to the first change of contact."""
        flags = self._flags[slot]
        for sample, row in enumerate(forces[: result.begun[index]].tolist()):
            changed = flags.update(row, self._threshold, self._samples)
            if changed:
                result.changes.append((index, sample, flags.changes.copy()))
            if (changed and max(flags.changes) > TOUCHING) or not math.isfinite(sum(row)):
                self.stopped[slot] = True
                result.begun[index] = sample + 1
                break
        self._counts[slot], self._touched[slot] = flags.counts, flags.touched
        self._in_contact[slot] = flags.active


class Before(NamedTuple):
    """State of a grasp before a control sample is stepped."""

    state: Array
    """State vector of the engine, (ns,)."""
    ctrl: Array
    """Controls of the step, (nu,)."""


class Scratch:
    """A MuJoCo state in which the last sample of a grasp of the batch can be repeated."""

    def __init__(self, model: mujoco.MjModel) -> None:
        """Allocate a state of the batch's models."""
        self._data = mujoco.MjData(model)
        self._holds: object = None

    def repeated(self, model: mujoco.MjModel, before: Before, substeps: int) -> mujoco.MjData:
        """Repeat a sample and return the MuJoCo state after it, as in a single run.

        Args:
            model: Model of the grasp.
            before: The grasp before the sample.
            substeps: Physics steps of a sample.
        """
        if self._holds is not before:
            self._holds = before
            mujoco.mj_resetData(model, self._data)
            mujoco.mj_setState(model, self._data, before.state, STATE)
            self._data.ctrl[:] = before.ctrl
            mujoco.mj_step(model, self._data, substeps)
        return self._data


class BatchedStepper(Stepper):
    """The controller of a grasp whose samples are stepped by the batch."""

    def __init__(self, layout: ClosureLayout, state: ClosureState, recording: Recording) -> None:
        """Start from a state; arguments as for ``Stepper``."""
        super().__init__(layout, state, recording, PLAN_STEPS)
        self.ctrl = state.targets

    def run_chunk(self, plan: Array) -> int:
        """Raise an error, as the batch steps the samples."""
        raise NotImplementedError("the plans of a batched grasp are run by the batch")

    def _command(self, targets: Array) -> None:
        self.ctrl = targets  # the batch has recorded the positions


class BatchedRun(ClosureRun):
    """A grasp run whose samples are stepped by a batch."""

    def __init__(self, built: BuiltScene, scratch: Scratch) -> None:
        """Compile the scene of a grasp and set its start state.

        Args:
            built: The scene; the hold test changes its model.
            scratch: Shared by all grasps of the batch.
        """
        self._scratch = scratch
        super().__init__(built)
        self.plans: Plans = self.running()
        """Its controller."""
        self.to_repeat = False
        """Whether something happened that only a single run reports."""
        self.last: Before | None = None
        """The grasp before the last sample."""

    @property
    def ctrl(self) -> Array:
        """Controls after a change of contact, (nu,)."""
        assert isinstance(self._stepper, BatchedStepper)
        return self._stepper.ctrl

    @property
    def data(self) -> mujoco.MjData:
        """MuJoCo state after the last sample; valid until that of another grasp is read."""
        assert self.last is not None
        return self._scratch.repeated(self.model, self.last, self.layout.substeps)

    def record(self, row: int, changes: list[int], before: Before) -> None:
        """Log the changes of contact at a sample.

        Args:
            row: Row of the sample.
            changes: Bits of ``debounced_closing``, (nb,).
            before: The grasp before the sample.
        """
        variables = (self.model.opt.gravity, self.model.pair_solref)
        then = [values.copy() for values in variables]
        bodies = zip(self.built.bodies, changes, strict=True)
        touched = [body for body, change in bodies if change]

        def points() -> list[ContactPoint]:
            later = [values.copy() for values in variables]
            _assign(variables, then)
            data = self._scratch.repeated(self.model, before, self.layout.substeps)
            _assign(variables, later)
            return self._contacts.read(data, touched)

        self.log.record(row * self.layout.control_period, changes, points)

    @property
    def loads(self) -> Array:
        """Gravity at the coming samples while the load grows, (n, 3) [m/s²]."""
        return self._stepper.loads

    def record_in(self, recording: Recording) -> None:
        """Record into memory of the batch; call it before the run begins."""
        self._stepper.recording = recording

    def _new_stepper(self) -> Stepper:
        none = Recording.empty(self.model, 0, 0, 0)  # replaced by the batch
        return BatchedStepper(self.layout, self.state, none)

    def _has_failed(self) -> bool:
        return False  # the batch checks every sample

    def _log_changes(self) -> None:
        """Do nothing, as the batch logs the changes of contact."""


def _assign(arrays: Sequence[Array], values: Sequence[Array]) -> None:
    """Overwrite arrays."""
    for array, value in zip(arrays, values, strict=True):
        array[:] = value
